//! Stores that come with this crate. Anything that implements `ResilienceStore` may stand in their place.

mod memory;

pub use memory::{MemoryStore, MemoryUse};
