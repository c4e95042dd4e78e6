//! The one table of stable error codes, and the error that carries them to every language.

use std::fmt;

use omniroute_compress::CompressError;

use crate::config::ConfigErrors;

/// One stable code. Codes are never renamed; a code has exactly one class in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Code {
    /// What programs compare, for instance `"bad_body"`.
    pub code: &'static str,
    /// The class that Python and Node raise for it.
    pub class: &'static str,
    /// One line for people.
    pub summary: &'static str,
}

const fn row(code: &'static str, class: &'static str, summary: &'static str) -> Code {
    Code { code, class, summary }
}

/// Every code this release can give. First what the library itself says, then how a provider's answer is classified.
pub const CODES: &[Code] = &[
    row("config", "ConfigError", "the configuration is wrong; every mistake is listed"),
    row("bad_argument", "RequestError", "an argument of the call is wrong"),
    row("bad_body", "RequestError", "strict: the body is not a request"),
    row("unknown_wire", "RequestError", "no wire knows the body, or there is no wire of that name"),
    row("unknown_plan", "RequestError", "there is no plan of that name"),
    row("use_async", "RequestError", "a part of the caller can only be used by the asynchronous call"),
    row("internal", "Internal", "a bug in this library"),
    row("unavailable", "Unavailable", "the provider does not work right now"),
    row("overloaded", "Unavailable", "the provider has no room for the call"),
    row("model_unavailable", "Unavailable", "the target does not have the model"),
    row("bad_reply", "Unavailable", "the answer could not be read or was cut off"),
    row("timeout", "Timeout", "no answer in time"),
    row("rate_limited", "RateLimited", "too many calls; later is fine"),
    row("quota_exhausted", "QuotaExhausted", "an allowance is used up until it resets"),
    row("credits_exhausted", "QuotaExhausted", "the account has no money left"),
    row("unauthorized", "AuthenticationError", "the credential was not accepted"),
    row("forbidden", "AuthenticationError", "the credential may not do this"),
    row("banned", "AuthenticationError", "the account was closed"),
    row("context_too_long", "ContextTooLong", "the request is longer than the model's context"),
    row("too_large", "RequestError", "the body is larger than the provider takes"),
    row("invalid_request", "RequestError", "the request itself is wrong"),
    row("unsupported", "RequestError", "the target cannot do what is asked"),
    row("filtered", "Filtered", "refused by a content filter"),
    row("cancelled", "Cancelled", "given up at our own deadline"),
];

/// The row of a code.
///
/// ```
/// assert_eq!(omniroute::error::find("bad_body").map(|row| row.class), Some("RequestError"));
/// ```
pub fn find(code: &str) -> Option<&'static Code> {
    CODES.iter().find(|row| row.code == code)
}

/// Why a call has no result. Holds no text of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: &'static str,
    message: String,
    mistakes: Vec<String>,
}

impl Error {
    /// An error with a code of [`CODES`].
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(find(code).is_some(), "code {code} is not in the table");
        Error { code, message: message.into(), mistakes: Vec::new() }
    }

    /// Stable code for programs.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The class that Python and Node raise.
    pub fn class(&self) -> &'static str {
        find(self.code).map_or("Internal", |row| row.class)
    }

    /// For a wrong configuration: every mistake, each with its place.
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }
}

impl fmt::Display for Error {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<ConfigErrors> for Error {
    fn from(errors: ConfigErrors) -> Self {
        let mistakes = errors.iter().map(ToString::to_string).collect();
        Error { code: "config", message: errors.to_string(), mistakes }
    }
}

impl From<CompressError> for Error {
    fn from(error: CompressError) -> Self {
        let mistakes = match &error {
            CompressError::Config(errors) => errors.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let code = find(error.code()).map_or("internal", |row| row.code);
        Error { code, message: error.to_string(), mistakes }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use omniroute_core::FailureKind;

    use super::*;

    /// The classes of the public surface, besides the base class.
    const CLASSES: [&str; 12] = [
        "ConfigError",
        "RequestError",
        "AuthenticationError",
        "RateLimited",
        "QuotaExhausted",
        "Unavailable",
        "Timeout",
        "NoCandidate",
        "ContextTooLong",
        "Filtered",
        "Cancelled",
        "Internal",
    ];

    fn missing(table: &[Code]) -> Vec<&'static str> {
        FailureKind::ALL
            .iter()
            .map(|kind| kind.code())
            .filter(|c| table.iter().all(|r| r.code != *c))
            .collect()
    }

    #[test]
    fn every_code_is_there_once_with_a_known_class() {
        let codes: HashSet<&str> = CODES.iter().map(|row| row.code).collect();
        assert_eq!(codes.len(), CODES.len());
        for row in CODES {
            assert!(CLASSES.contains(&row.class), "{row:?}");
        }
        assert_eq!(missing(CODES), Vec::<&str>::new());
        // The same check sees a table without a row.
        assert_eq!(missing(&CODES[..CODES.len() - 1]), ["cancelled"]);
    }

    #[test]
    fn errors_of_compression_keep_their_code() {
        let error = Error::from(CompressError::UnknownWire);
        assert_eq!((error.code(), error.class()), ("unknown_wire", "RequestError"));
    }
}
