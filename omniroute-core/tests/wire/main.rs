//! Wires against recorded vendor exchanges and against the matrix of what each wire can say.
//!
//! The recordings stay in `OMNIROUTE_DATA` (default: `../shared/data` beside the workspace); without them the tests
//! that need them say how many checks they skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, also outside of their functions; counts are printed"
)]

mod coverage;
mod crossing;
mod errors;
mod exchanges;
mod kept;
mod lost;
mod matrix;
mod neutral;
mod noted;
mod pitfalls;
mod props;
mod replies;
mod requests;
mod schemas;
mod snapshots;
