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
    // What routing says before anybody is asked, or when nobody answered.
    row("bad_request", "RequestError", "the body cannot be read as a request"),
    row("missing_model", "RequestError", "the request names no model"),
    row("ambiguous_model", "RequestError", "several providers have a model of this name"),
    row("unknown_model", "NoCandidate", "nobody has a model of this name"),
    row("unknown_auto_name", "RequestError", "a name that begins like auto and is none of its forms"),
    row("bad_budget", "RequestError", "the budget is no positive number"),
    row("capability_mismatch", "NoCandidate", "nobody can do what the request needs"),
    row("context_length_exceeded", "ContextTooLong", "the request is larger than every window"),
    row("empty_panel", "ConfigError", "a panel without members"),
    row("empty_pipeline", "ConfigError", "a chain without steps"),
    row("panel_too_large", "ConfigError", "more members than a panel may have"),
    row("budget_exceeded", "NoCandidate", "everybody costs more than the request may"),
    row("no_executable_targets", "NoCandidate", "there is nobody to try"),
    row("no_connection_configured", "NoCandidate", "the provider has no connection"),
    row("all_credentials_terminal", "AuthenticationError", "every credential is switched off or refused"),
    row("quota_cutoff", "QuotaExhausted", "every allowance is below its cutoff"),
    row("quota_share_exceeded", "QuotaExhausted", "the share of an allowance is used up"),
    row("all_connections_cooling", "RateLimited", "every connection rests"),
    row("model_cooldown", "RateLimited", "the model rests at every connection"),
    row("local_capacity", "RateLimited", "every connection has as many attempts as it may have"),
    row("provider_circuit_open", "Unavailable", "every provider rests after failures"),
    row("upstream_failed", "Unavailable", "no target answered"),
    row("upstream_interrupted", "Unavailable", "the answer broke off"),
    row("panel_failed", "Unavailable", "a panel has no answer"),
    row("pipeline_step_failed", "Unavailable", "a step of a chain has no answer"),
    row("combo_timeout", "Timeout", "the time that the route gives a request is up"),
    row("deadline_exceeded", "Timeout", "the time for the request is up"),
    row("strategy_error", "Internal", "a strategy gave no plan"),
    row("closed", "RequestError", "the router was closed"),
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
    facts: Option<Box<Facts>>,
}

/// What is known of a call that was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// HTTP status for a gateway.
    pub status: Option<u16>,
    /// When trying again makes sense, in milliseconds since 1970.
    pub retry_at_ms: Option<i64>,
    /// The vendor's name for the call.
    pub request_id: Option<String>,
    /// The code in the vendor's own words.
    pub vendor_code: Option<String>,
    /// What the caller could do: `retry`, `switch-combo`, `try-auto`.
    pub hint: Option<&'static str>,
    /// The receipt as JSON text.
    pub receipt: Option<String>,
}

impl Error {
    /// A plan that there is not, with the nearest name.
    pub(crate) fn unknown_plan(config: &crate::Config, plan: &str) -> Error {
        if plan.contains([',', ':'])
            && let Err(errors) = omniroute_compress::Plan::parse(plan)
        {
            return Error::new("unknown_plan", errors.to_string());
        }
        let shown: String = plan.chars().take(40).collect();
        let hint = config.plan_hint(plan);
        Error::new("unknown_plan", format!("plan {shown:?} is not a plan, an engine or a combo{hint}"))
    }

    /// An error with a code of [`CODES`].
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(find(code).is_some(), "code {code} is not in the table");
        Error { code, message: message.into(), mistakes: Vec::new(), facts: None }
    }

    /// A wrong configuration, with every mistake.
    #[cfg(feature = "router")]
    pub(crate) fn config(mistakes: Vec<String>) -> Self {
        Error { code: "config", message: mistakes.join("; "), mistakes, facts: None }
    }

    /// Stable code for programs.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The class that Python and Node raise.
    pub fn class(&self) -> &'static str {
        find(self.code).map_or("Internal", |row| row.class)
    }

    /// For a call: what is known of it.
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_deref()
    }

    #[cfg(feature = "router")]
    pub(crate) fn with_facts(mut self, facts: Facts) -> Self {
        self.facts = Some(Box::new(facts));
        self
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
        Error { code: "config", message: errors.to_string(), mistakes, facts: None }
    }
}

impl From<CompressError> for Error {
    fn from(error: CompressError) -> Self {
        let mistakes = match &error {
            CompressError::Config(errors) => errors.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let code = find(error.code()).map_or("internal", |row| row.code);
        Error { code, message: error.to_string(), mistakes, facts: None }
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
        let less: Vec<Code> = CODES.iter().copied().filter(|row| row.code != "cancelled").collect();
        assert_eq!(missing(&less), ["cancelled"]);
        for kind in omniroute_core::route::RouteErrorKind::ALL {
            assert!(find(kind.code()).is_some(), "{}", kind.code());
        }
    }

    #[test]
    fn errors_of_compression_keep_their_code() {
        let error = Error::from(CompressError::UnknownWire);
        assert_eq!((error.code(), error.class()), ("unknown_wire", "RequestError"));
    }
}
