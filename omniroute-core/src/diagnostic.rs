//! A remark about a request: what was noticed, where, and what was done about it.

use std::borrow::Cow;

/// One remark. Never holds text of the request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Stable code for programs, for instance `"engine_error"`.
    pub code: &'static str,
    /// The place: a JSON pointer or a segment id; empty for the whole request.
    pub pointer: String,
    /// What was done, for people.
    pub action: Cow<'static, str>,
}

impl Diagnostic {
    /// A remark with its place and consequence.
    pub fn new(code: &'static str, pointer: impl Into<String>, action: impl Into<Cow<'static, str>>) -> Self {
        Diagnostic { code, pointer: pointer.into(), action: action.into() }
    }
}
