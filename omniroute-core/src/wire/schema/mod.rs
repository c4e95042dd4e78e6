//! JSON Schema in the dialect of a target. Keywords are chosen from a list of those that are known to work, so a new
//! one never leaks; names of properties are never touched. What a dialect cannot say is told in the description where
//! it is short, and named to the caller.

mod gemini;
mod keywords;
mod merge;
mod tree;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::doc::Doc;

use gemini::Fit;
use tree::Node;

/// Most keywords that one remark names.
const NAMED: usize = 16;

/// What schemas a target takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// What Gemini takes in `parametersJsonSchema` and `responseJsonSchema`: a part of JSON Schema.
    GeminiJson,
    /// What older hosts of Gemini take in `parameters` and `responseSchema`: a part of OpenAPI's schemas, without
    /// references and without `null` as a type.
    GeminiOpenapi,
}

/// A schema as a target takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted<'s> {
    /// The schema; the one that was given where nothing had to be changed.
    pub schema: Cow<'s, str>,
    /// Every keyword that was left out or is said in another way, in alphabetical order.
    pub changed: BTreeSet<String>,
}

impl Fitted<'_> {
    /// The remark for what was changed, if anything was.
    pub fn note(&self, pointer: impl Into<String>) -> Option<Diagnostic> {
        let mut named: Vec<&str> = self.changed.iter().take(NAMED).map(String::as_str).collect();
        let more = self.changed.len().saturating_sub(NAMED);
        let more_text = format!("{more} more");
        if more > 0 {
            named.push(&more_text);
        }
        let action = format!(
            "what the target does not know is left out or said in another way, limits in the description: {}",
            named.join(", ")
        );
        (!named.is_empty()).then(|| Diagnostic::new("schema_simplified", pointer, action))
    }
}

/// The schema in a dialect. The result fitted again is the same. What is no JSON stays as it is.
///
/// ```
/// use omniroute_core::wire::schema::{Dialect, fit};
/// let fitted = fit(r#"{"type":["string","null"],"pattern":"^a"}"#, Dialect::GeminiJson);
/// assert_eq!(fitted.schema, r#"{"type":["string","null"],"description":"(pattern ^a)"}"#);
/// assert!(fitted.changed.contains("pattern"));
/// ```
pub fn fit(schema: &str, dialect: Dialect) -> Fitted<'_> {
    let same = Fitted { schema: schema.into(), changed: BTreeSet::new() };
    let Ok(doc) = Doc::parse_with_limit(schema.to_owned(), usize::MAX) else { return same };
    let root = Node::of(&doc, doc.root());
    let mut fit = Fit::new(dialect, &root, schema.len());
    let fitted = fit.schema(root.clone(), 0);
    if fit.changed.is_empty() {
        return same;
    }
    Fitted { schema: fitted.written(schema.len()).into(), changed: fit.changed }
}
