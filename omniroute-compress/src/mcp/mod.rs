//! Text that reaches a model through the Model Context Protocol: lists of tools and snapshots of pages.
//!
//! Plain functions for hosts that pass such texts on; no plan uses them. Same input, same output: a list of tools
//! stands first in a prompt, so it has to be the same bytes in every request.

mod listing;
mod snapshot;

pub use listing::{Listing, ListingOptions, compress_listing};
pub use snapshot::{Snapshot, SnapshotOptions, filter_snapshot};
