//! What a vendor does, and when.

use std::time::Duration;

use omniroute_core::{FailureKind, Scope};

/// What one connection does. Outside its phases it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// How long an answer takes.
    pub latency: Duration,
    /// Tokens of each answer.
    pub answer_tokens: u64,
    /// When it does something else. Of several that hold, the first one counts.
    pub phases: Vec<Phase>,
}

/// A span of time in which a vendor does one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Begin, counted from the start of the play.
    pub from: Duration,
    /// End; the phase is over then.
    pub until: Duration,
    /// What it does.
    pub does: Does,
    /// After how long it says that trying again makes sense; none: it does not say.
    pub retry_after: Option<Duration>,
}

/// What a vendor does with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Answers.
    Answer,
    /// Never answers.
    Hang,
    /// Fails.
    Fail(FailureKind),
}

impl Does {
    /// Everything that scripts may name, with the word for it.
    pub const ALL: [(&'static str, Does); 11] = [
        ("answer", Does::Answer),
        ("hang", Does::Hang),
        ("rate_limited", Does::Fail(FailureKind::RateLimited)),
        ("unavailable", Does::Fail(FailureKind::Unavailable)),
        ("overloaded", Does::Fail(FailureKind::Overloaded)),
        ("quota_exhausted", Does::Fail(FailureKind::QuotaExhausted)),
        ("credits_exhausted", Does::Fail(FailureKind::CreditsExhausted)),
        ("unauthorized", Does::Fail(FailureKind::Unauthorized)),
        ("forbidden", Does::Fail(FailureKind::Forbidden)),
        ("model_unavailable", Does::Fail(FailureKind::ModelUnavailable)),
        ("bad_reply", Does::Fail(FailureKind::BadReply)),
    ];

    /// What a word means.
    pub fn parse(word: &str) -> Option<Does> {
        Does::ALL.iter().find(|(known, _)| *known == word).map(|(_, does)| *does)
    }
}

impl Script {
    /// What is done so long after the start.
    pub fn at(&self, at: Duration) -> (Does, Option<Duration>) {
        let phase = self.phases.iter().find(|phase| phase.from <= at && at < phase.until);
        phase.map_or((Does::Answer, None), |phase| (phase.does, phase.retry_after))
    }
}

/// Who is to blame for a failure, and its HTTP status.
pub(crate) fn blame(kind: FailureKind) -> (Scope, Option<u16>) {
    match kind {
        FailureKind::RateLimited | FailureKind::QuotaExhausted => (Scope::Connection, Some(429)),
        FailureKind::CreditsExhausted => (Scope::Connection, Some(402)),
        FailureKind::Unauthorized => (Scope::Connection, Some(401)),
        FailureKind::Forbidden => (Scope::Connection, Some(403)),
        FailureKind::ModelUnavailable => (Scope::Model, Some(404)),
        FailureKind::BadReply => (Scope::Model, Some(200)),
        FailureKind::Overloaded => (Scope::Provider, Some(529)),
        _ => (Scope::Provider, Some(503)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_begins_and_ends() {
        let second = Duration::from_secs;
        let phase = Phase {
            from: second(5),
            until: second(9),
            does: Does::Fail(FailureKind::RateLimited),
            retry_after: Some(second(3)),
        };
        let script = Script { phases: vec![phase], ..Script::default() };
        for (at, does) in [(4, Does::Answer), (5, phase.does), (8, phase.does), (9, Does::Answer)] {
            assert_eq!(script.at(second(at)).0, does, "{at}");
        }
        for (word, does) in Does::ALL {
            assert_eq!(Does::parse(word), Some(does));
            if let Does::Fail(kind) = does {
                assert_eq!(kind.code(), word);
            }
        }
        assert_eq!(Does::parse("slow"), None);
    }
}
