//! What a vendor says when it does not answer.

use super::value::Json;
use crate::failure::Exceeded;

/// An error body, read but not judged: what it means is decided by rules that know the vendor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ErrorBody {
    /// HTTP status, or the status an event names.
    pub status: Option<u16>,
    /// The vendor's type, for instance `invalid_request_error`.
    pub kind: Option<String>,
    /// The vendor's code, numbers as text.
    pub code: Option<String>,
    /// For people, at most 8 KiB. Of a page in HTML only its title.
    pub message: String,
    /// The parameter that is meant.
    pub param: Option<String>,
    /// The vendor's name for the request.
    pub request_id: Option<String>,
    /// Sizes, where the body gives them as numbers.
    pub limits: Exceeded,
    /// Structured details as the vendor wrote them, at most 8 KiB.
    pub details: Option<Json<'static>>,
    /// Whether the body was an HTML page.
    pub html: bool,
}

impl ErrorBody {
    /// Longest text that is kept, in bytes.
    pub const MAX: usize = 8 << 10;

    /// An error of our own: a code and words.
    pub fn own(code: &str, message: impl Into<String>) -> Self {
        ErrorBody { code: Some(code.to_owned()), message: message.into(), ..ErrorBody::default() }
    }
}

/// `text` cut to `max` bytes at a character boundary.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}
