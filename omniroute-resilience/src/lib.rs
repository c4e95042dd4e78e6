#![doc = include_str!("../README.md")]

mod affinity;
mod codec;
mod config;
pub mod layers;
mod lease;
pub mod limits;
mod refresh;
mod resilience;
mod rng;
mod shell;
mod span;
mod store;

pub use affinity::{Advice, Pin, advise, session_key};
pub use config::{
    AffinityConfig, BreakerConfig, Class, ClassConfig, Classes, Config, ConfigError, CooldownConfig,
    LastResortConfig, LeaseConfig, LockoutConfig, QuotaConfig, RefreshConfig, RetryConfig, SlotConfig,
    WaitConfig,
};
pub use layers::effect::Trust;
pub use lease::{
    AcquireLease, Acquired, EndReason, FenceError, LeaseContextInvalid, LeaseState, LeaseView, Leases,
    OwnerHash, OwnerToken, Renewed, Status,
};
pub use limits::rate::Limits;
pub use refresh::{Refresh, RefreshEnd, RefreshLock};
pub use resilience::{Builder, ResetFilter, Resilience};
pub use rng::Rng;
pub use shell::admit::{AdmitContext, LeaseClaim};
pub use shell::budget::Budget;
pub use shell::denial::{Blocked, Denial, Refusal};
pub use shell::events::{Event, EventKind, Events, connection_ref};
pub use shell::health::{BreakerHealth, Columns, ConnectionHealth, Counts, Health, Standing};
pub use shell::spec::{ConnectionSpec, Dimension, PoolSpec};
pub use shell::table::Handle;
pub use span::Span;
pub use store::{MemoryStore, MemoryUse};
