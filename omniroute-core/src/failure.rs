//! Why a call of a model failed, in words that routing and resilience act on. They never see HTTP.

use crate::clock::UnixMs;

/// What happened. Each kind says who may try again.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider does not work right now; another target may.
    Unavailable,
    /// The provider works but has no room for this call.
    Overloaded,
    /// No answer in time.
    Timeout,
    /// Too many calls; later is fine.
    RateLimited,
    /// An allowance is used up until it resets.
    QuotaExhausted,
    /// The credential was not accepted.
    Unauthorized,
    /// The credential is fine and may not do this.
    Forbidden,
    /// The account was closed; needs structured proof.
    Banned,
    /// The account has no money left.
    CreditsExhausted,
    /// This target does not have the model.
    ModelUnavailable,
    /// The request is longer than the model's context.
    ContextTooLong,
    /// The body is larger than the provider takes.
    TooLarge,
    /// Refused by a content filter.
    Filtered,
    /// The request itself is wrong; nobody can serve it.
    InvalidRequest,
    /// This target cannot do what is asked.
    Unsupported,
    /// The answer could not be read or was cut off.
    BadReply,
    /// The caller gave up.
    Cancelled,
}

impl FailureKind {
    /// Stable code for programs and other languages.
    pub fn code(self) -> &'static str {
        match self {
            FailureKind::Unavailable => "unavailable",
            FailureKind::Overloaded => "overloaded",
            FailureKind::Timeout => "timeout",
            FailureKind::RateLimited => "rate_limited",
            FailureKind::QuotaExhausted => "quota_exhausted",
            FailureKind::Unauthorized => "unauthorized",
            FailureKind::Forbidden => "forbidden",
            FailureKind::Banned => "banned",
            FailureKind::CreditsExhausted => "credits_exhausted",
            FailureKind::ModelUnavailable => "model_unavailable",
            FailureKind::ContextTooLong => "context_too_long",
            FailureKind::TooLarge => "too_large",
            FailureKind::Filtered => "filtered",
            FailureKind::InvalidRequest => "invalid_request",
            FailureKind::Unsupported => "unsupported",
            FailureKind::BadReply => "bad_reply",
            FailureKind::Cancelled => "cancelled",
        }
    }
}

/// Who is to blame, hence which layer reacts.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole provider.
    Provider,
    /// One connection: a key or an account.
    Connection,
    /// One model of one connection.
    Model,
    /// The request.
    Request,
    /// Nobody, for instance when the caller gave up.
    None,
}

/// A failed call.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", kind.code())]
pub struct Failure {
    /// What happened.
    pub kind: FailureKind,
    /// Who is to blame.
    pub scope: Scope,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// When trying again makes sense, if known.
    pub retry_at: Option<UnixMs>,
    /// For people; never a secret, never a whole body.
    pub message: String,
}

impl Failure {
    /// A failure with no status and no known time.
    pub fn new(kind: FailureKind, scope: Scope, message: impl Into<String>) -> Self {
        Failure { kind, scope, status: None, retry_at: None, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_starts_with_the_code() {
        let failure = Failure::new(FailureKind::RateLimited, Scope::Connection, "60 calls a minute");
        assert_eq!(failure.to_string(), "rate_limited: 60 calls a minute");
        assert_eq!(
            serde_json::to_string(&failure.kind).unwrap(),
            "\"rate_limited\"",
            "code and serde name agree"
        );
    }
}
