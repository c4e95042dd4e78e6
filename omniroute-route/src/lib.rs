#![doc = include_str!("../README.md")]

pub mod attempts;
mod auto;
mod auto_name;
mod bounded;
mod classify;
mod combo;
mod cost;
mod directory;
mod error;
mod expand;
mod explain;
mod fitness;
mod gates;
mod last_good;
mod layers;
pub mod learn;
mod names;
mod nested;
mod options;
mod planner;
pub mod prefix;
mod receipt;
mod registry;
pub mod rendezvous;
mod resolve;
mod router;
mod specificity;
mod stats;
mod strategies;

pub use attempts::Hint;
pub use auto::auto;
pub use auto::factors::{FACTORS, FactorInfo};
pub use auto::weights::{Weights, mode};
pub use auto_name::{AutoName, Filter, Price, auto_name, auto_names};
pub use classify::{Clues, Points, Steady, classify, points};
pub use combo::{
    Bridge, Combo, ComboConfig, Combos, Execution, Handover, MediaRules, ReplyRules, StepConfig, StrictStream,
};
pub use directory::{Connection, Directory, Listed};
pub use error::{ConfigCode, ConfigError};
pub use expand::{auto_pool, combo_pool, model_pool};
pub use explain::{Explanation, ToldDrop, ToldPick};
pub use fitness::Fitness;
pub use last_good::LastGood;
pub use options::{OptionMap, OptionReader, OptionValue};
pub use planner::{Ask, Decision, Planner, Work};
pub use receipt::{AttemptReceipt, Bridged, CompressedBy, PlanSource, Receipt, Role, RouteReceipt, Tokens};
pub use registry::{RESERVED, STRATEGIES, StrategyEntry, strategy};
pub use resolve::{Mapping, Resolved, Route, Rule, resolve};
pub use router::{
    BuildError, ChatError, ChatOptions, ChatReply, ReplyBody, ReplyStream, Router, RouterBuilder,
    RouterHealth,
};
pub use specificity::{Signs, specificity};
pub use stats::{Stats, fill_prices};
pub use strategies::quota_share::QuotaShare;
