//! Stores that come with this crate. Anything that implements `ResilienceStore` may stand in their place.

#[cfg(any(feature = "store-sqlite", feature = "store-redis"))]
mod blocking;
#[cfg(feature = "testing")]
pub mod conformance;
mod memory;
#[cfg(feature = "store-redis")]
mod redis;
#[cfg(feature = "store-sqlite")]
mod sqlite;
#[cfg(any(feature = "store-sqlite", feature = "store-redis"))]
mod time;

pub use memory::{MemoryStore, MemoryUse};
#[cfg(feature = "store-redis")]
pub use redis::{RedisConfig, RedisHealth, RedisStore};
#[cfg(feature = "store-sqlite")]
pub use sqlite::{Damaged, SqliteConfig, SqliteStore};
