#![doc = include_str!("../README.md")]

mod affinity;
mod codec;
mod config;
mod join;
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
    EgressConfig, LastResortConfig, LeaseConfig, LockoutConfig, QuotaConfig, RefreshConfig, RetryConfig,
    SlotConfig, WaitConfig,
};
pub use join::{ByKind, Join, Joined, LaterEnd};
pub use layers::effect::Trust;
pub use lease::{
    AcquireLease, Acquired, EndReason, FenceError, LeaseContextInvalid, LeaseState, LeaseView, Leases,
    OwnerHash, OwnerToken, Renewed, Status,
};
pub use limits::rate::Limits;
pub use refresh::{Refresh, RefreshEnd, RefreshLock};
pub use resilience::{Builder, ResetFilter, Resilience};
pub use rng::Rng;
pub use shell::admit::{AdmitContext, AllUnhealthy, LeaseClaim};
pub use shell::budget::Budget;
pub use shell::denial::{Blocked, Denial, Refusal};
pub use shell::events::{Event, EventKind, Events, connection_ref};
pub use shell::health::{BreakerHealth, Columns, ConnectionHealth, Counts, Health, Standing};
pub use shell::spec::{ConnectionSpec, Dimension, ModelCap, PoolMember, PoolSpec};
pub use shell::table::Handle;
pub use span::Span;
#[cfg(feature = "testing")]
pub use store::conformance;
#[cfg(feature = "store-sqlite")]
pub use store::{Damaged, SqliteConfig, SqliteStore};
pub use store::{MemoryStore, MemoryUse};
#[cfg(feature = "store-redis")]
pub use store::{RedisConfig, RedisHealth, RedisStore};
