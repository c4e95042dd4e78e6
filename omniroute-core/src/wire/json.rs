//! Writing JSON piece by piece; what is raw already is copied as it is.

use crate::doc::{Doc, escape_into};
use crate::hub::{Extra, Json, Str};

/// Writes one JSON document. Commas and colons are its business; balance is the caller's.
///
/// ```
/// use omniroute_core::wire::JsonWriter;
/// let mut out = JsonWriter::default();
/// out.object();
/// out.key("n").raw("1.0");
/// out.key("list").array();
/// out.text("a").text("b").end_array();
/// out.end_object();
/// assert_eq!(out.finish(), r#"{"n":1.0,"list":["a","b"]}"#);
/// ```
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: String,
    comma: bool,
}

impl JsonWriter {
    /// A writer with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        JsonWriter { out: String::with_capacity(bytes), comma: false }
    }

    /// The document.
    pub fn finish(self) -> String {
        self.out
    }

    /// What is written so far.
    pub fn as_str(&self) -> &str {
        &self.out
    }

    /// Forgets what is written and keeps the room.
    pub fn clear(&mut self) {
        self.out.clear();
        self.comma = false;
    }

    fn begin(&mut self) {
        if self.comma {
            self.out.push(',');
        }
        self.comma = true;
    }

    /// `{`
    pub fn object(&mut self) -> &mut Self {
        self.begin();
        self.out.push('{');
        self.comma = false;
        self
    }

    /// `}`
    pub fn end_object(&mut self) -> &mut Self {
        self.out.push('}');
        self.comma = true;
        self
    }

    /// `[`
    pub fn array(&mut self) -> &mut Self {
        self.begin();
        self.out.push('[');
        self.comma = false;
        self
    }

    /// `]`
    pub fn end_array(&mut self) -> &mut Self {
        self.out.push(']');
        self.comma = true;
        self
    }

    /// The name of the next value.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.begin();
        escape_into(name, &mut self.out);
        self.out.push(':');
        self.comma = false;
        self
    }

    /// A string.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.begin();
        escape_into(text, &mut self.out);
        self
    }

    /// A string; a literal is copied with the escapes it has.
    pub fn str(&mut self, text: &Str<'_>) -> &mut Self {
        match text {
            Str::Chars(chars) => self.text(chars),
            Str::Literal(literal) => {
                self.begin();
                self.out.push('"');
                self.out.push_str(std::str::from_utf8(literal.raw()).unwrap_or("")); // checked at parse
                self.out.push('"');
                self
            }
        }
    }

    /// A string made of several, as if they stood together.
    pub fn texts<'a, 'd: 'a>(&mut self, parts: impl Iterator<Item = &'a Str<'d>>) -> &mut Self {
        self.begin();
        let at = self.out.len();
        self.out.push('"');
        for part in parts {
            match part {
                Str::Literal(literal) => {
                    self.out.push_str(std::str::from_utf8(literal.raw()).unwrap_or(""));
                }
                Str::Chars(chars) => {
                    let quote = self.out.len();
                    escape_into(chars, &mut self.out);
                    self.out.remove(quote); // moves this text only
                    self.out.pop();
                }
            }
        }
        debug_assert!(self.out.len() > at);
        self.out.push('"');
        self
    }

    /// A JSON document as it is.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.begin();
        self.out.push_str(json);
        self
    }

    /// A value as it is.
    pub fn json(&mut self, value: &Json<'_>) -> &mut Self {
        self.raw(value.raw())
    }

    /// A whole number.
    pub fn number(&mut self, number: impl std::fmt::Display) -> &mut Self {
        use std::fmt::Write;
        self.begin();
        let _ = write!(self.out, "{number}"); // writing to a string cannot fail
        self
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.raw(if value { "true" } else { "false" })
    }

    /// `null`.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// A member, if there is a value.
    pub fn opt_str(&mut self, name: &str, value: Option<&Str<'_>>) -> &mut Self {
        if let Some(value) = value {
            self.key(name).str(value);
        }
        self
    }

    /// A member, if there is a value.
    pub fn opt_json(&mut self, name: &str, value: Option<&Json<'_>>) -> &mut Self {
        if let Some(value) = value {
            self.key(name).json(value);
        }
        self
    }

    /// A member, if there is a value.
    pub fn opt_bool(&mut self, name: &str, value: Option<bool>) -> &mut Self {
        if let Some(value) = value {
            self.key(name).bool(value);
        }
        self
    }

    /// Members that nobody models.
    pub fn extra(&mut self, extra: &Extra<'_>) -> &mut Self {
        for (name, value) in extra {
            self.str(name);
            self.out.push(':');
            self.comma = false;
            self.json(value);
        }
        self
    }
}

/// `text` if it is one JSON object, what to send instead if it is not, and whether that loses something.
///
/// Nothing and `null` become `{}`, another JSON value `{"value": ..}`, what is no JSON `{"_raw": "..."}`.
pub fn object_of(text: &str) -> (std::borrow::Cow<'_, str>, bool) {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return ("{}".into(), false);
    }
    if Doc::check(trimmed).is_err() {
        let mut out = JsonWriter::with_capacity(trimmed.len() + 16);
        out.object().key("_raw").text(text).end_object();
        return (out.finish().into(), true);
    }
    if trimmed.starts_with('{') {
        return (trimmed.into(), false);
    }
    (format!("{{\"value\":{trimmed}}}").into(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_always_become_an_object() {
        for (text, object, lossy) in [
            ("", "{}", false),
            (" {\"a\": 1.0} ", "{\"a\": 1.0}", false),
            ("[1]", "{\"value\":[1]}", false),
            ("{\"a", "{\"_raw\":\"{\\\"a\"}", true),
        ] {
            let (found, lost) = object_of(text);
            assert_eq!((found.as_ref(), lost), (object, lossy));
        }
    }

    #[test]
    fn literals_keep_their_escapes() {
        let doc = Doc::parse(r#"{"a":"caf\u00e9"}"#).unwrap();
        let text = Str::at(&doc, doc.get(doc.root(), "a").unwrap()).unwrap();
        let mut out = JsonWriter::default();
        out.array().str(&text).texts([&text, &Str::from("\n!")].into_iter()).end_array();
        assert_eq!(out.finish(), r#"["caf\u00e9","caf\u00e9\n!"]"#);
    }
}
