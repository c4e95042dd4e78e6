//! The trait of everything that chooses, and what it is told afterwards.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::candidates::Candidates;
use super::context::RouteContext;
use super::error::RouteError;
use super::plan::{Plan, Sequence};
use super::request::TaskClass;
use crate::clock::UnixMs;
use crate::ids::{Principal, SessionId};
use crate::outcome::Outcome;
use crate::permit::{PermitId, Purpose};
use crate::target::Target;

/// Chooses among candidates.
pub trait RoutingStrategy: Send + Sync + fmt::Debug + 'static {
    /// Its name in configurations.
    fn id(&self) -> &str;

    /// Whom to ask, in which order.
    ///
    /// # Behavior
    /// - Pure: the same context, candidates and observed state give the same plan. No I/O, no clock, no other randomness
    ///   than the context's.
    /// - Changes nothing: planning twice gives the same plan twice.
    /// - A sequence lists each candidate at most once, as many as [`super::RouteOptions::depth`] says; with a depth of
    ///   `usize::MAX` it is a permutation of the candidates, and a smaller depth gives the beginning of it.
    /// - What is unknown is neutral. A number that is none never decides.
    ///
    /// # Errors
    /// Without candidates; otherwise only panels and chains that are too large.
    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError>;

    /// An order is final: the rules around the strategy have moved what they may. For what depends on who is first.
    fn settled(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, sequence: &mut Sequence) {
        let _ = (cx, candidates, sequence);
    }

    /// A plan will be used; explanations do not tell. This is where budgets of trials are spent and where a strategy
    /// takes notice of the state its candidates are in. Called once per request, after [`RoutingStrategy::plan`].
    fn planned(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, plan: &Plan) {
        let _ = (cx, candidates, plan);
    }

    /// How one attempt ended. Cheap; a short lock at most.
    fn observe(&self, outcome: &Outcome) {
        let _ = outcome;
    }

    /// How one attempt of a session ended. By default the session does not matter.
    fn observe_in(&self, session: &SessionId, outcome: &Outcome) {
        let _ = session;
        self.observe(outcome);
    }

    /// How good an answer was.
    fn feedback(&self, feedback: &Feedback) {
        let _ = feedback;
    }

    /// What the rules around it have to know.
    fn traits(&self) -> StrategyTraits {
        StrategyTraits::default()
    }

    /// What operators should know of it, in words; shown by health. By default nothing.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What it has learned, with a version; no text of requests. None: it does not learn.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Takes back what [`RoutingStrategy::save`] gave.
    ///
    /// # Errors
    /// If it cannot be read; what was learned before stays.
    fn load(&self, state: &[u8]) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }
}

/// Which part of the order nobody but the strategy may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Owns {
    /// None of it: a session may bring its connection to the front.
    #[default]
    Nothing,
    /// The order of steps; inside a step others may choose the connection.
    Steps,
}

/// What the rules around a strategy have to know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StrategyTraits {
    /// What it owns of the order.
    pub owns: Owns,
    /// Its picks have scores that can be equal.
    pub scored: bool,
    /// It already chooses by prefix.
    pub by_prefix: bool,
    /// Its plans are panels or chains, whose order nobody may change.
    pub many: bool,
    /// Its tickets start anew when the set of candidates changes.
    pub by_set: bool,
    /// A first candidate that rests only for a moment may be waited for.
    pub patient: bool,
}

impl StrategyTraits {
    const NONE: StrategyTraits = StrategyTraits {
        owns: Owns::Nothing,
        scored: false,
        by_prefix: false,
        many: false,
        by_set: false,
        patient: false,
    };
    /// Owns the order of steps.
    pub const STEPS: StrategyTraits = StrategyTraits { owns: Owns::Steps, ..StrategyTraits::NONE };
    /// Owns nothing, has scores.
    pub const SCORED: StrategyTraits = StrategyTraits { scored: true, ..StrategyTraits::NONE };
    /// Chooses by prefix.
    pub const PREFIX: StrategyTraits = StrategyTraits { by_prefix: true, ..StrategyTraits::NONE };
    /// A panel or a chain.
    pub const MANY: StrategyTraits = StrategyTraits { owns: Owns::Steps, many: true, ..StrategyTraits::NONE };
    /// Deals every candidate once before any comes again.
    pub const DECK: StrategyTraits = StrategyTraits { by_set: true, ..StrategyTraits::NONE };

    /// The same, with patience or without.
    #[must_use]
    pub const fn with_patience(mut self, patient: bool) -> StrategyTraits {
        self.patient = patient;
        self
    }
}

/// How good an answer was, as somebody judged it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Feedback {
    /// Of which request.
    pub request: Arc<str>,
    /// Who had answered.
    pub target: Target,
    /// What kind of work it was.
    pub class: TaskClass,
    /// For whom.
    pub consumer: Principal,
    /// When it was judged.
    pub at: UnixMs,
    /// From 0, useless, to 1, perfect.
    pub reward: f32,
    /// How much the judgement counts, 0..1.
    pub weight: f32,
    /// A judgement of the same request that this one replaces: reward and weight.
    pub replaces: Option<(f32, f32)>,
}

impl Feedback {
    /// A judgement that counts fully and replaces none.
    pub fn new(
        request: impl Into<Arc<str>>,
        target: Target,
        class: TaskClass,
        at: UnixMs,
        reward: f32,
    ) -> Self {
        Feedback {
            request: request.into(),
            target,
            class,
            consumer: Principal::default(),
            at,
            reward,
            weight: 1.0,
            replaces: None,
        }
    }
}

/// Why learned state was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// Written by another version: ignored, learning starts anew.
    Version(u32),
    /// Not readable.
    Corrupt(String),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Version(version) => {
                write!(f, "learned state has version {version}, which is not read here")
            }
            StateError::Corrupt(what) => write!(f, "learned state is not readable: {what}"),
        }
    }
}

impl std::error::Error for StateError {}

impl Outcome {
    /// An attempt that needed no permit, for logs that are played again and for tests: it took no time and succeeded.
    pub fn replayed(target: Target, at: UnixMs) -> Outcome {
        Outcome {
            request: None,
            permit: PermitId { process: 0, number: 0 },
            target,
            class: None,
            explored: false,
            purpose: Purpose::Production,
            consumer: Principal::default(),
            at,
            latency: Duration::ZERO,
            first_content: None,
            spend: None,
            limits: Vec::new(),
            failure: None,
        }
    }
}

const _: fn(&dyn RoutingStrategy) = |_| {};
