//! What the caller hears when no target answered: one status, one code, and whether trying again makes sense.

use omniroute_core::{Failure, FailureKind, UnixMs};
use omniroute_resilience::Denial;

use super::{Failed, Spot};

/// Which of several failures the caller hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ErrorMode {
    /// The last.
    #[default]
    Last,
    /// The first.
    First,
    /// The most useful status, and all of them in words.
    Aggregated,
}

/// What the caller could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hint {
    /// Try again: it passes.
    Retry,
    /// Use another combo: here it does not pass.
    SwitchCombo,
    /// Let `auto` choose among everything that is configured.
    TryAuto,
}

impl Hint {
    /// As clients read it.
    pub const fn code(self) -> &'static str {
        match self {
            Hint::Retry => "retry",
            Hint::SwitchCombo => "switch-combo",
            Hint::TryAuto => "try-auto",
        }
    }
}

/// How a request ended that nobody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// HTTP status for a gateway.
    pub status: u16,
    /// Stable code.
    pub code: String,
    /// For people; no text of the request by us.
    pub message: String,
    /// When trying again makes sense; only with 429 and 503.
    pub retry_at: Option<UnixMs>,
    /// What the caller could do.
    pub hint: Hint,
    /// The failure that decided, if one did.
    pub failure: Option<Failure>,
}

/// What is known about the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) deadline: bool,
    pub(super) stopped: bool,
    /// Everything left the list.
    pub(super) overflow: bool,
}

impl Ending {
    pub(super) fn of(
        spots: &[Spot],
        failed: &[Failed],
        denial: Option<&Denial>,
        mode: ErrorMode,
        how: How,
    ) -> Ending {
        if how.deadline {
            let message = match failed.last() {
                Some(last) => format!(
                    "the time for the request is up, after {} attempts; the last: {}",
                    failed.len(),
                    short(spots, last)
                ),
                None => "the time for the request is up before anybody could be tried".to_owned(),
            };
            let failure = failed.last().map(|last| last.failure.clone());
            return Ending { failure, ..Ending::own(504, "combo_timeout", message, Hint::Retry) };
        }
        let chosen = match mode {
            _ if how.stopped => failed.last(),
            ErrorMode::Last => failed.last(),
            ErrorMode::First => failed.first(),
            ErrorMode::Aggregated => failed.iter().min_by_key(|failed| order(status(&failed.failure))),
        };
        let Some(chosen) = chosen else {
            return match denial {
                Some(denial) => Ending {
                    retry_at: denial.retry_at,
                    ..Ending::own(denial.status, denial.code, denial.failure().message, hint(denial.status))
                },
                None => Ending::own(
                    404,
                    "no_executable_targets",
                    "there is nobody to try".to_owned(),
                    Hint::TryAuto,
                ),
            };
        };
        let failure = chosen.failure.clone();
        let status = status(&failure);
        let code = match failure.kind {
            FailureKind::ContextTooLong if how.overflow => "context_length_exceeded".to_owned(),
            _ if how.stopped => failure.code.clone().unwrap_or_else(|| failure.kind.code().to_owned()),
            _ => "upstream_failed".to_owned(),
        };
        let message = if mode == ErrorMode::Aggregated && !how.stopped {
            let all: Vec<String> = failed.iter().take(5).map(|failed| short(spots, failed)).collect();
            let more = failed.len().saturating_sub(5);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("no target answered: {}{more}", all.join(", "))
        } else {
            failure.message.clone()
        };
        let retry_at = if matches!(status, 429 | 503) { failure.retry_at } else { None };
        Ending { status, code, message, retry_at, hint: hint(status), failure: Some(failure) }
    }

    fn own(status: u16, code: &str, message: String, hint: Hint) -> Ending {
        Ending { status, code: code.to_owned(), message, retry_at: None, hint, failure: None }
    }
}

/// `provider/model: code`.
fn short(spots: &[Spot], failed: &Failed) -> String {
    let target = &spots[failed.id].target;
    format!("{}/{}: {}", target.provider, target.model, failed.failure.kind.code())
}

/// The status a caller gets for a failure.
pub fn status(failure: &Failure) -> u16 {
    use FailureKind as K;
    match failure.kind {
        // An answer that is none has no status of its own.
        K::BadReply => 502,
        _ if failure.status.is_some_and(|status| status >= 400) => failure.status.unwrap_or(502),
        K::Unavailable => 503,
        K::Overloaded => 529,
        K::Timeout => 504,
        K::RateLimited | K::QuotaExhausted => 429,
        K::Unauthorized => 401,
        K::Forbidden | K::Banned => 403,
        K::CreditsExhausted => 402,
        K::ModelUnavailable => 404,
        K::TooLarge => 413,
        K::Cancelled => 499,
        K::ContextTooLong | K::Filtered | K::InvalidRequest | K::Unsupported => 400,
        _ => 502,
    }
}

/// Most useful first.
fn order(status: u16) -> u8 {
    match status {
        429 => 0,
        503 => 1,
        500.. => 2,
        _ => 3,
    }
}

fn hint(status: u16) -> Hint {
    match status {
        408 | 425 | 429 | 500.. => Hint::Retry,
        404 => Hint::TryAuto,
        _ => Hint::SwitchCombo,
    }
}
