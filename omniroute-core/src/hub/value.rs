//! Texts and values that may still stand in the document they were read from.

use std::borrow::Cow;
use std::fmt;

use crate::doc::{Doc, JsonStr, NodeId};

/// A text: a literal of a document, or characters of our own. Cloning a literal is free.
#[derive(Clone)]
pub enum Str<'d> {
    /// A string of a document, not yet decoded.
    Literal(JsonStr<'d>),
    /// Characters.
    Chars(Cow<'d, str>),
}

impl<'d> Str<'d> {
    /// The string at `node`; nothing if something else stands there.
    pub fn at(doc: &'d Doc, node: NodeId) -> Option<Self> {
        doc.json_str(node).map(Str::Literal)
    }

    /// The characters.
    pub fn decode(&self) -> Cow<'_, str> {
        match self {
            Str::Literal(literal) => literal.decode(),
            Str::Chars(text) => Cow::Borrowed(text),
        }
    }

    /// The characters, for as long as the document lives.
    pub fn into_chars(self) -> Cow<'d, str> {
        match self {
            Str::Literal(literal) => literal.decode(),
            Str::Chars(text) => text,
        }
    }

    /// Whether the text equals `other`.
    pub fn is(&self, other: &str) -> bool {
        match self {
            Str::Literal(literal) => literal.is(other),
            Str::Chars(text) => text == other,
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Str::Literal(literal) => literal.is_empty(),
            Str::Chars(text) => text.is_empty(),
        }
    }

    /// The same text without the document.
    pub fn into_owned(self) -> Str<'static> {
        Str::Chars(Cow::Owned(self.into_chars().into_owned()))
    }
}

impl<'d> From<&'d str> for Str<'d> {
    fn from(text: &'d str) -> Self {
        Str::Chars(Cow::Borrowed(text))
    }
}

impl From<String> for Str<'_> {
    fn from(text: String) -> Self {
        Str::Chars(Cow::Owned(text))
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.decode() == other.decode()
    }
}

impl fmt::Debug for Str<'_> {
    /// Length only: a text may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = match self {
            Str::Literal(literal) => literal.raw().len(),
            Str::Chars(text) => text.len(),
        };
        write!(f, "Str({length} bytes)")
    }
}

/// One JSON value as it is written, digits and key order included.
#[derive(Clone, PartialEq)]
pub struct Json<'d>(Cow<'d, str>);

impl<'d> Json<'d> {
    /// The value at `node`.
    pub fn at(doc: &'d Doc, node: NodeId) -> Self {
        Json(Cow::Borrowed(doc.raw(node)))
    }

    /// A value that is known to be one JSON document: a number, a literal or what a writer made.
    pub fn of(text: impl Into<Cow<'d, str>>) -> Self {
        Json(text.into())
    }

    /// The value as JSON text.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Whether it is `true`; nothing if it is no boolean.
    pub fn bool(&self) -> Option<bool> {
        match self.raw() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// A whole number that is not negative; nothing if it is something else.
    pub fn count(&self) -> Option<u64> {
        self.raw().parse().ok()
    }

    /// A number; nothing if it is something else.
    pub fn number(&self) -> Option<f64> {
        let starts = self.raw().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if starts { self.raw().parse().ok() } else { None }
    }

    /// The characters if it is a string.
    pub fn text(&self) -> Option<String> {
        if !self.raw().starts_with('"') {
            return None;
        }
        let doc = Doc::parse_with_limit(self.raw().to_owned(), usize::MAX).ok()?;
        doc.str(doc.root()).map(Cow::into_owned)
    }

    /// The same value without the document.
    pub fn into_owned(self) -> Json<'static> {
        Json(Cow::Owned(self.0.into_owned()))
    }
}

impl fmt::Debug for Json<'_> {
    /// Length only: a value may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}

/// Members that are not modelled: name and value, in order.
pub type Extra<'d> = Vec<(Str<'d>, Json<'d>)>;

/// The same members without the document.
pub(crate) fn own_extra(extra: Extra<'_>) -> Extra<'static> {
    extra.into_iter().map(|(k, v)| (k.into_owned(), v.into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_and_its_characters_are_equal() {
        let doc = Doc::parse(r#""caf\u00e9""#).unwrap();
        let literal = Str::at(&doc, doc.root()).unwrap();
        assert_eq!(literal, Str::from("café"));
        assert_eq!(format!("{literal:?}"), "Str(9 bytes)", "no text in debug output");
    }

    #[test]
    fn values_keep_their_digits() {
        let doc = Doc::parse("1.10").unwrap();
        let value = Json::at(&doc, doc.root());
        assert_eq!((value.raw(), value.number(), value.count()), ("1.10", Some(1.1), None));
        assert_eq!(Json::of("\"a\\nb\"").text().as_deref(), Some("a\nb"));
        assert_eq!(Json::of("null").bool(), None);
    }
}
