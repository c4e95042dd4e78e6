//! Why a call of a model failed, in words that routing and resilience act on. They never see HTTP.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

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
    /// Every kind, in the order of declaration.
    pub const ALL: [FailureKind; 17] = [
        FailureKind::Unavailable,
        FailureKind::Overloaded,
        FailureKind::Timeout,
        FailureKind::RateLimited,
        FailureKind::QuotaExhausted,
        FailureKind::Unauthorized,
        FailureKind::Forbidden,
        FailureKind::Banned,
        FailureKind::CreditsExhausted,
        FailureKind::ModelUnavailable,
        FailureKind::ContextTooLong,
        FailureKind::TooLarge,
        FailureKind::Filtered,
        FailureKind::InvalidRequest,
        FailureKind::Unsupported,
        FailureKind::BadReply,
        FailureKind::Cancelled,
    ];

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

impl Scope {
    /// Every scope, widest first.
    pub const ALL: [Scope; 5] =
        [Scope::Provider, Scope::Connection, Scope::Model, Scope::Request, Scope::None];
}

/// Who else is meant, beyond the one that [`Scope`] names.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Wider {
    /// Nobody else.
    #[default]
    None,
    /// Every connection of the same group, for instance all keys of one organisation.
    Group,
    /// Every connection of the provider that leaves by the same network path.
    ProviderEgress,
    /// All models of the connection that share this quota, by the dialect's name for it.
    QuotaScope(Arc<str>),
    /// The model at every connection of the provider.
    AllConnections,
}

/// How sure the reader of the answer was.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A documented code or type said so.
    Structured,
    /// A phrase in the provider's message said so.
    Text,
    /// Only the status or the transport said so.
    #[default]
    Status,
}

/// How far the call had come.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing was sent.
    PreDispatch,
    /// No answer came: name, connection, encryption, reset, time.
    Transport,
    /// The head of the answer was there.
    #[default]
    Headers,
    /// The whole body was there.
    BodyComplete,
    /// A stream was open and had no content yet.
    BeforeFirstContent,
    /// A stream had content already.
    MidStream,
    /// The answer was complete and not good enough.
    QualityGate,
}

/// The span over which a provider counts an allowance.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaWindow {
    /// 60 seconds.
    Minute,
    /// One hour.
    Hour,
    /// Five hours, as subscriptions have it.
    FiveHours,
    /// A day in the provider's zone.
    Day,
    /// Seven days.
    Week,
    /// 30 days.
    Month,
}

impl QuotaWindow {
    /// All windows, shortest first.
    pub const ALL: [QuotaWindow; 6] = [
        QuotaWindow::Minute,
        QuotaWindow::Hour,
        QuotaWindow::FiveHours,
        QuotaWindow::Day,
        QuotaWindow::Week,
        QuotaWindow::Month,
    ];

    /// Its length.
    pub fn length(self) -> Duration {
        Duration::from_secs(match self {
            QuotaWindow::Minute => 60,
            QuotaWindow::Hour => 3_600,
            QuotaWindow::FiveHours => 5 * 3_600,
            QuotaWindow::Day => 24 * 3_600,
            QuotaWindow::Week => 7 * 24 * 3_600,
            QuotaWindow::Month => 30 * 24 * 3_600,
        })
    }
}

/// What was asked for and what would have been allowed, for failures about size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Exceeded {
    /// What the request had, if the answer says so.
    pub asked: Option<u64>,
    /// What the target takes, if the answer says so.
    pub max: Option<u64>,
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
    /// Who else is meant.
    pub wider: Wider,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// When trying again makes sense, if known.
    pub retry_at: Option<UnixMs>,
    /// True if the provider named `retry_at`, false if it is our fixed wait for this kind of answer.
    pub declared: bool,
    /// Which rule read the answer, for instance `http.429.rate`; empty if none.
    pub rule: Cow<'static, str>,
    /// How sure that rule is.
    pub evidence: Evidence,
    /// The provider's own code, if it gave one.
    pub code: Option<String>,
    /// The allowance that is used up, if the answer names it.
    pub window: Option<QuotaWindow>,
    /// Sizes, for failures about size.
    pub limits: Exceeded,
    /// How far the call had come.
    pub phase: Phase,
    /// The provider's name for this request, if it gave one.
    pub request_id: Option<String>,
    /// True if we made this failure ourselves (a queue, a limit, a deadline): nobody is punished for it.
    pub origin_local: bool,
    /// For people; never a secret, never a whole body.
    pub message: String,
}

impl Failure {
    /// A failure with no status and no known time, read from a status alone.
    pub fn new(kind: FailureKind, scope: Scope, message: impl Into<String>) -> Self {
        Failure {
            kind,
            scope,
            wider: Wider::None,
            status: None,
            retry_at: None,
            declared: false,
            rule: Cow::Borrowed(""),
            evidence: Evidence::Status,
            code: None,
            window: None,
            limits: Exceeded::default(),
            phase: Phase::Headers,
            request_id: None,
            origin_local: false,
            message: message.into(),
        }
    }

    /// A failure of our own making.
    pub fn local(kind: FailureKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        let mut failure = Failure::new(kind, Scope::Request, message);
        failure.origin_local = true;
        failure.phase = Phase::PreDispatch;
        failure.code = Some(code.into());
        failure
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
