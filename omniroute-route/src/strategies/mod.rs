//! One file per strategy. Each has an `ENTRY`, which the registry lists.

pub(crate) mod cache_optimized;
pub(crate) mod context_optimized;
pub(crate) mod context_relay;
pub(crate) mod cost_optimized;
pub(crate) mod fill_first;
pub(crate) mod fusion;
pub(crate) mod headroom;
pub(crate) mod least_used;
pub(crate) mod lkgp;
pub(crate) mod order;
pub(crate) mod p2c;
pub(crate) mod pipeline;
pub(crate) mod priority;
pub(crate) mod quota_share;
pub(crate) mod random;
pub(crate) mod reset_aware;
pub(crate) mod reset_window;
pub(crate) mod round_robin;
pub(crate) mod sticky;
pub(crate) mod strict_random;
pub(crate) mod weighted;

#[cfg(test)]
pub(crate) mod bench;
