//! What became of one request: who was asked, why, how long it took, what it cost. No text of requests or answers, no
//! credentials.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::route::TaskClass;
use omniroute_core::{FailureKind, Scope};
use serde::Serialize;

use crate::explain::{Explanation, ToldDrop, text};
use crate::planner::Decision;
use crate::router::slot::Slot;

/// Places that are listed of those that were passed over.
const MOST: usize = 64;

/// The receipt of one request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RouteReceipt {
    /// Names the request, also for feedback.
    pub request: String,
    /// What the model's name meant, for instance `combo "daily"`.
    pub route: String,
    /// What kind of work it was taken for.
    pub class: TaskClass,
    /// Who was to be asked, who was dropped, and why; none: there was no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Explanation>,
    /// Who was passed over because it could not be used when its turn came.
    pub skipped: Vec<ToldDrop>,
    /// What was sent, in order of the starts.
    pub attempts: Vec<AttemptReceipt>,
    /// Time that was waited for somebody to be free, in milliseconds.
    pub waited_ms: u64,
    /// Who answered: provider, connection and model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<String>,
    /// The answer is a stream.
    pub streamed: bool,
    /// Something of the answer reached the caller, or could have.
    pub committed: bool,
    /// The answer is complete.
    pub finished: bool,
    /// Somebody was tried to learn about it.
    pub explored: bool,
    /// The answer is one of a panel, without the judge.
    pub degraded: bool,
    /// Tokens of all attempts.
    pub tokens: Tokens,
    /// Millionths of a US dollar of all attempts whose price is known.
    pub micro_usd: u64,
    /// Tokens before and after compression, if there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed: Option<(u64, u64)>,
    /// By which plan, and what it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressedBy>,
    /// Media that were put into words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bridged: Vec<Bridged>,
    /// What else is to be known, as codes.
    pub notes: Vec<&'static str>,
}

/// The plan of compression that made the body which was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CompressedBy {
    /// Its name.
    pub plan: String,
    /// Who named it.
    pub source: PlanSource,
    /// What changed texts: engine and technique, and how often. Empty: every text went as it came.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, u32>,
}

/// Who named the plan of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PlanSource {
    /// Nobody: the compressor has one.
    #[default]
    Default,
    /// The request.
    Request,
    /// The route.
    Route,
    /// The request was too long for the plan before.
    Overflow,
}

impl PlanSource {
    /// The word in receipts: `default`, `request`, `route`, `overflow`.
    pub fn word(self) -> &'static str {
        match self {
            PlanSource::Default => "default",
            PlanSource::Request => "request",
            PlanSource::Route => "route",
            PlanSource::Overflow => "overflow",
        }
    }
}

/// Media of one kind that were put into words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Bridged {
    /// `image`, `audio` or `video`.
    pub kind: &'static str,
    /// How many.
    pub parts: u32,
    /// Who described them, as the route names it.
    pub model: String,
}

/// Tokens as providers count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Tokens {
    /// All input.
    pub input: u64,
    /// The part of it that a provider's cache served.
    pub cached: u64,
    /// All output.
    pub output: u64,
}

/// What an attempt was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// The answer.
    #[default]
    Answer,
    /// One voice of a panel.
    Member,
    /// The judge of a panel.
    Judge,
    /// A step of a chain that is not the last.
    Stage,
    /// What the session's next account will be told.
    Summary,
    /// Media in words, for a target that cannot take it.
    Describe,
}

/// One attempt. Times are milliseconds since the request came.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AttemptReceipt {
    /// Provider, connection and model.
    #[serde(serialize_with = "text")]
    pub key: Arc<str>,
    /// What for.
    pub role: Role,
    /// When it began.
    pub started_ms: u64,
    /// When the first content was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// When it ended; none: it was dropped, or runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailureKind>,
    /// Who was to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// HTTP status of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Which rule read the failure.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub rule: String,
    /// The caller could have seen something of it.
    pub committed: bool,
    /// It was made to learn about the target.
    pub explored: bool,
    /// Tokens, if told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Millionths of a US dollar, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
}

/// A receipt that grows while the answer is read. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Receipt(Arc<Mutex<Open>>);

/// A receipt, and the plan that nobody has asked to be told yet.
#[derive(Debug)]
struct Open {
    receipt: RouteReceipt,
    plan: Option<(Decision, Arc<Slot>)>,
}

impl Receipt {
    pub(crate) fn new(request: &str, route: String) -> Receipt {
        let receipt = RouteReceipt {
            request: request.to_string(),
            route,
            class: TaskClass::Default,
            plan: None,
            skipped: Vec::new(),
            attempts: Vec::new(),
            waited_ms: 0,
            answered: None,
            streamed: false,
            committed: false,
            finished: false,
            explored: false,
            degraded: false,
            tokens: Tokens::default(),
            micro_usd: 0,
            compressed: None,
            compression: None,
            bridged: Vec::new(),
            notes: Vec::new(),
        };
        Receipt(Arc::new(Mutex::new(Open { receipt, plan: None })))
    }

    /// As it stands now. Of a streamed answer it is complete when the stream has ended.
    pub fn now(&self) -> RouteReceipt {
        let mut open = self.open();
        if let Some((decision, slot)) = open.plan.take() {
            let strategy = slot.planner.strategy();
            open.receipt.plan = Some(Explanation::of(&decision, strategy.id(), &slot.pool));
        }
        open.receipt.clone()
    }

    /// What was decided; it is told when somebody wants to know.
    pub(crate) fn planned(&self, decision: Decision, slot: &Arc<Slot>) {
        self.open().plan = Some((decision, Arc::clone(slot)));
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut RouteReceipt) -> T) -> T {
        change(&mut self.open().receipt)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn skip(&self, dropped: ToldDrop) {
        self.with(|receipt| {
            if receipt.skipped.len() < MOST && !receipt.skipped.contains(&dropped) {
                receipt.skipped.push(dropped);
            }
        });
    }

    pub(crate) fn note(&self, code: &'static str) {
        self.with(|receipt| {
            if !receipt.notes.contains(&code) {
                receipt.notes.push(code);
            }
        });
    }
}
