//! The seam of routing: what a strategy is given, what it answers, what it is told afterwards.
//!
//! Candidates are columns of numbers, not objects: thousands of them are scored without following a pointer, and a
//! strategy in another language receives them in one go. The text of a request never comes here; what routing needs to
//! know of it is derived once, as [`RequestFacts`].

mod candidates;
mod columns;
mod context;
mod drop;
mod error;
mod plan;
mod pool;
mod request;
mod rng;
mod strategy;

pub use candidates::{Candidate, Candidates};
pub use columns::{Columns, Facts, Health, Window};
pub use context::{Mode, RouteContext, RouteOptions, Scratch, SessionFacts};
pub use drop::DropReason;
pub use error::{RouteError, RouteErrorKind};
pub use plan::{Layer, Note, Pick, Plan, Reason, Relay, Sequence, Stage, Why};
pub use pool::{AccountTier, Billing, Entry, OfferTier, Pool, Step};
pub use request::{Need, Needs, RequestFacts, TaskClass};
pub use rng::{Salt, Stream, hash, mix, unit};
pub use strategy::{Feedback, Owns, RoutingStrategy, StateError, StrategyTraits};
