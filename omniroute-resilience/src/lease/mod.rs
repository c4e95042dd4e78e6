//! Exclusive leases: one owner holds one connection across idle gaps, restarts and hosts.

mod api;
pub(crate) mod record;
mod token;

pub use api::{AcquireLease, Acquired, FenceError, LeaseView, Leases, Renewed, Status};
pub use record::{EndReason, LeaseState};
pub use token::{LeaseContextInvalid, OwnerHash, OwnerToken};
