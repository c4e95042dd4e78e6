//! Limits that count: slots, rates, quotas, and who comes next when there is not enough. Pure.

pub mod drr;
pub mod learned;
pub mod quota;
pub mod rate;
pub mod share;
pub mod slots;
