//! Exclusive leases: one owner holds one connection across idle gaps, restarts and hosts.

mod acquire;
mod api;
pub(crate) mod record;
mod token;
mod view;

pub use api::Leases;
pub use record::{EndReason, LeaseState};
pub use token::{LeaseContextInvalid, OwnerHash, OwnerToken};
pub use view::{AcquireLease, Acquired, FenceError, LeaseView, Renewed, Status};
