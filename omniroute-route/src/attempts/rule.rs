//! What a failure does to one request: who leaves its list, who may be tried again, whether anybody else may.

use omniroute_core::{Evidence, Failure, FailureKind, Phase, Scope};

/// Who leaves the list of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Leaves {
    /// This target alone.
    Target,
    /// Every model of the connection.
    Connection,
    /// The model at every connection of the provider.
    Offering,
    /// The whole provider.
    Provider,
    /// Everything whose window is not strictly larger, or smaller than what the answer asked for.
    Smaller,
}

/// Whether the list goes on after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Onward {
    /// It does.
    Next,
    /// It does until two providers have said so.
    TwoProviders,
    /// It ends here: nobody else would answer better.
    Stop,
}

/// What a failure does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Consequence {
    /// Whether the same target may be tried once more first.
    pub again: bool,
    /// Whether the list goes on.
    pub onward: Onward,
    /// Who leaves it.
    pub leaves: Leaves,
    /// Waiting may help: a later pass over the list may try it again.
    pub passes: bool,
}

impl Consequence {
    const fn next(leaves: Leaves) -> Self {
        Consequence { again: false, onward: Onward::Next, leaves, passes: false }
    }

    const fn passing(leaves: Leaves) -> Self {
        Consequence { passes: true, ..Consequence::next(leaves) }
    }

    const fn stop() -> Self {
        Consequence { onward: Onward::Stop, ..Consequence::next(Leaves::Target) }
    }
}

/// The table. `filtered_next`: a refusal of a content filter lets the next target try.
///
/// ```
/// use omniroute_core::{Failure, FailureKind, Scope};
/// use omniroute_route::attempts::{Leaves, Onward, consequence};
/// let out_of_money = Failure::new(FailureKind::CreditsExhausted, Scope::Connection, "no credit");
/// let rule = consequence(&out_of_money, false);
/// assert_eq!((rule.onward, rule.leaves), (Onward::Next, Leaves::Connection));
/// ```
pub fn consequence(failure: &Failure, filtered_next: bool) -> Consequence {
    use FailureKind as K;
    match failure.kind {
        K::Cancelled => Consequence::stop(),
        // No answer at all: the connection's other models would meet the same; the origin may be away as a whole.
        K::Unavailable | K::Timeout if failure.phase == Phase::Transport => Consequence {
            again: failure.kind == K::Unavailable,
            ..Consequence::passing(match failure.scope {
                Scope::Provider => Leaves::Provider,
                _ => Leaves::Connection,
            })
        },
        K::Unavailable | K::Timeout | K::Overloaded | K::RateLimited => {
            Consequence::passing(if failure.scope == Scope::Model {
                Leaves::Target
            } else {
                Leaves::Connection
            })
        }
        K::QuotaExhausted => Consequence::next(match failure.scope {
            Scope::Provider => Leaves::Provider,
            Scope::Model => Leaves::Target,
            _ => Leaves::Connection,
        }),
        // One account out of money, or refused, says nothing of the others.
        K::CreditsExhausted | K::Unauthorized | K::Forbidden | K::Banned => {
            Consequence::next(if failure.scope == Scope::Model { Leaves::Target } else { Leaves::Connection })
        }
        K::ModelUnavailable | K::Unsupported => Consequence::next(Leaves::Offering),
        K::ContextTooLong | K::TooLarge => Consequence::next(Leaves::Smaller),
        K::Filtered if filtered_next => Consequence::next(Leaves::Offering),
        K::Filtered => Consequence::stop(),
        // Words that nobody knows may be about this one model; the same twice are about the request.
        K::InvalidRequest if failure.evidence == Evidence::Status && !failure.origin_local => {
            Consequence { onward: Onward::TwoProviders, ..Consequence::next(Leaves::Offering) }
        }
        K::InvalidRequest => Consequence::stop(),
        // A page instead of an answer is about the way there, an empty answer about the model.
        K::BadReply if matches!(failure.scope, Scope::Connection) => Consequence::passing(Leaves::Connection),
        K::BadReply => Consequence { again: true, ..Consequence::passing(Leaves::Offering) },
        // Kinds of a newer core: the next one may do better.
        _ => Consequence::passing(Leaves::Target),
    }
}
