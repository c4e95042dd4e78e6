//! What a strategy answers: in which order to try, or whom to ask together, or one after the other; each with a reason.

use std::time::Duration;

/// Which rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Layer {
    /// Only one candidate was left.
    Gates,
    /// The request asked for it.
    Request,
    /// The strategy.
    Strategy,
    /// The session stays on its connection.
    Session,
    /// A connection whose cache may know the beginning of the request.
    PrefixCache,
    /// It worked the last time, and the scores were equal.
    LastGood,
    /// Everything was equal, the lower rank won.
    Rank,
}

/// Why a candidate stands where it stands. Text is made of it only when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// By its rank.
    Rank,
    /// Drawn by weight.
    Weight,
    /// It is its turn.
    Turn,
    /// It stays for a few requests more.
    Sticky,
    /// Drawn at random.
    Random,
    /// The better one of two.
    BetterOfTwo,
    /// Least used.
    Usage,
    /// Cheapest.
    Cost,
    /// Allowance that would go unused.
    Reset,
    /// Most left of its allowance.
    Headroom,
    /// Its window.
    Window,
    /// It worked the last time.
    LastGood,
    /// The prefix belongs to it.
    Prefix,
    /// Highest score.
    Score,
    /// Tried to learn about it.
    Explored,
    /// Named by the request or the operator.
    Named,
    /// Its share of a pool.
    Share,
    /// It has room, those before it have not.
    Room,
    /// It surely can what the request needs; of those before it nobody knows.
    Certain,
    /// Nothing fits the budget, this comes closest.
    BudgetRelaxed,
}

/// Who decided and by what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Why {
    /// Which rule.
    pub layer: Layer,
    /// Which reason.
    pub reason: Reason,
    /// The largest contributions to the score: number of the factor and what it added. 255: none.
    pub top: [(u8, f32); 3],
}

impl Why {
    /// A reason of the strategy.
    pub const fn strategy(reason: Reason) -> Why {
        Why::of(Layer::Strategy, reason)
    }

    /// A reason of a layer.
    pub const fn of(layer: Layer, reason: Reason) -> Why {
        Why { layer, reason, top: [(255, 0.0); 3] }
    }
}

/// One candidate in a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Pick {
    /// Its index in the pool.
    pub candidate: u32,
    /// Its score; 0 where the strategy has none.
    pub score: f32,
    /// Why it stands here.
    pub why: Why,
}

impl Pick {
    /// A pick without a score.
    pub const fn new(candidate: u32, why: Why) -> Pick {
        Pick { candidate, score: 0.0, why }
    }

    /// A pick with a score.
    pub const fn scored(candidate: u32, score: f32, why: Why) -> Pick {
        Pick { candidate, score, why }
    }
}

/// Something worth knowing about a plan that is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// Nothing fit the budget; the cheapest is used.
    BudgetRelaxed,
    /// Nobody reached the floor of the task class; it was not applied.
    FloorIgnored,
    /// Most providers are down; nothing is tried out.
    Incident,
    /// Everything was excluded for doing badly; all that pass the gates are used.
    ExclusionIgnored,
    /// A candidate was tried to learn about it; the second pick is the one that would have been used.
    Explored,
    /// The named mode is none; the default is used.
    UnknownMode,
    /// No candidate has the tag; tags are optional here.
    TagsIgnored,
    /// A strategy of the host failed; the order is by rank.
    StrategyError,
    /// Only candidates that do badly were left; they are tried anyway.
    TriedAnyway,
}

/// What to do about a session that changes its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relay {
    /// The allowance is nearly used up: prepare a summary in the background.
    Prepare,
    /// Another account takes over: put the summary in front.
    Inject,
}

/// An order in which to try.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Sequence {
    /// The first of the order, at least one, as many as were asked for.
    pub picks: Vec<Pick>,
    /// Candidates that follow and were not listed.
    pub unlisted: u32,
    /// What the session's summary needs.
    pub relay: Option<Relay>,
    /// What else is to be known.
    pub notes: Vec<Note>,
}

impl Sequence {
    /// An order of which `unlisted` candidates are left out.
    pub fn new(picks: Vec<Pick>, unlisted: usize) -> Self {
        Sequence {
            picks,
            unlisted: u32::try_from(unlisted).unwrap_or(u32::MAX),
            relay: None,
            notes: Vec::new(),
        }
    }
}

/// One link of a chain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// In which order to try.
    pub sequence: Sequence,
    /// The step, for its prompt.
    pub step: u32,
    /// The original request goes along with the previous answer.
    pub carry_input: bool,
}

impl Stage {
    /// A link.
    pub fn new(sequence: Sequence, step: u32, carry_input: bool) -> Self {
        Stage { sequence, step, carry_input }
    }
}

/// What a strategy answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Plan {
    /// One after the other, until one answers.
    Sequence(Sequence),
    /// All together, then a judge.
    Panel {
        /// Who is asked.
        members: Vec<Pick>,
        /// Who writes the answer; none: the first that answered, by rank.
        judge: Option<Pick>,
        /// Answers that are enough.
        quorum: u8,
        /// Time for the others after that.
        grace: Duration,
        /// Time for all.
        limit: Duration,
    },
    /// Each works on the answer of the one before.
    Chain(Vec<Stage>),
}

impl Plan {
    /// The first pick.
    pub fn first(&self) -> Option<&Pick> {
        match self {
            Plan::Sequence(sequence) => sequence.picks.first(),
            Plan::Panel { members, .. } => members.first(),
            Plan::Chain(stages) => stages.first()?.sequence.picks.first(),
        }
    }

    /// The order, if it is one.
    pub fn sequence(&self) -> Option<&Sequence> {
        match self {
            Plan::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }
}
