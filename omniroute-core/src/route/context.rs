//! What a strategy is told about one request, and the memory it may use while it thinks.

use std::cell::RefCell;

use super::request::RequestFacts;
use super::rng::{Salt, Stream};
use crate::clock::Moment;
use crate::ids::SessionId;
use crate::target::{ConnectionId, ProviderId, Target};

/// What a caller wants of `auto`. Each is a set of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// A bit of everything.
    Default,
    /// Soon.
    ShipFast,
    /// Cheap.
    CostSaver,
    /// Good.
    QualityFirst,
    /// With what is there.
    OfflineFriendly,
    /// Surely.
    ReliabilityFirst,
}

/// What a caller may ask for. [`RouteOptions::default`] asks for nothing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RouteOptions {
    /// Picks that are listed. Default: 16.
    pub depth: usize,
    /// The set of weights; none: that of the name.
    pub mode: Option<Mode>,
    /// USD that the request may cost.
    pub budget: Option<f64>,
    /// Nothing is sent if nothing fits the budget. Default: the cheapest is used.
    pub budget_strict: bool,
    /// A step needs all tags, not just one of them.
    pub tags_all: bool,
    /// If no step has the tags, they do not count.
    pub tags_optional: bool,
    /// Used share of an allowance at which a candidate is dropped. Default: 1.
    pub quota_cutoff: f32,
    /// Models of which nobody knows whether they see may be sent images.
    pub vision_unknown: bool,
    /// A full connection is put behind the others instead of dropped. Default: true.
    pub queue: bool,
    /// If only breakers and low scores are in the way, try anyway.
    pub try_anyway: bool,
    /// Sessions stay on their connection. Default: true.
    pub session_affinity: bool,
    /// Prefixes stay on their connection. Default: true.
    pub cache_affinity: bool,
    /// What worked last breaks ties. Default: true.
    pub last_good: bool,
    /// Something may be tried out. Default: true; the strategy decides how often.
    pub explore: bool,
}

impl Default for RouteOptions {
    fn default() -> Self {
        RouteOptions {
            depth: 16,
            mode: None,
            budget: None,
            budget_strict: false,
            tags_all: false,
            tags_optional: false,
            quota_cutoff: 1.0,
            vision_unknown: false,
            queue: true,
            try_anyway: false,
            session_affinity: true,
            cache_affinity: true,
            last_good: true,
            explore: true,
        }
    }
}

/// What is known of the conversation a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionFacts {
    /// Which conversation.
    pub id: SessionId,
    /// Where it stays.
    pub pin: Option<(ProviderId, ConnectionId)>,
    /// Answers it has got in the last half hour.
    pub turns: u32,
    /// Where the last answer came from.
    pub last: Option<Target>,
    /// The request ends with the result of a tool.
    pub tool_result_tail: bool,
    /// A summary for the next account is ready.
    pub relay_ready: bool,
}

impl SessionFacts {
    /// A conversation of which nothing is known but its name.
    pub fn new(id: SessionId) -> Self {
        SessionFacts { id, pin: None, turns: 0, last: None, tool_result_tail: false, relay_ready: false }
    }
}

/// Memory for sums and orders, kept between plans so that none of them has to ask for it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Scratch {
    /// Scores, by position.
    pub scores: RefCell<Vec<f32>>,
    /// Columns of numbers of those that may be used.
    pub floats: RefCell<[Vec<f32>; 2]>,
    /// Orders and groups.
    pub order: RefCell<Vec<u32>>,
    /// Counters by connection, provider or offering.
    pub counts: RefCell<[Vec<u32>; 3]>,
}

/// One request, as a strategy sees it.
#[derive(Debug, Clone, Copy)]
pub struct RouteContext<'a> {
    /// What is known of the request.
    pub request: &'a RequestFacts,
    /// What is known of its conversation.
    pub session: Option<&'a SessionFacts>,
    /// What the caller asks for.
    pub options: &'a RouteOptions,
    /// When.
    pub now: Moment,
    /// Every random number of this request comes from it.
    pub seed: u64,
    /// Requests of this route that were planned before.
    pub ticket: u64,
    /// Memory to think in.
    pub scratch: &'a Scratch,
}

impl RouteContext<'_> {
    /// Random numbers for one purpose: same seed and salt, same numbers.
    pub fn rng(&self, salt: Salt) -> Stream {
        Stream::new(self.seed, salt)
    }
}
