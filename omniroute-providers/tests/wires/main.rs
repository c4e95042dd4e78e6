//! The wires of this crate against recorded vendor exchanges and against the matrix of what each wire can say.
//!
//! Recordings, matrix and aggregator are those of the core's tests. Without the recordings the tests that need them
//! say so.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, also outside of their functions; counts are printed"
)]

#[path = "../../../omniroute-core/tests/wire/coverage.rs"]
mod coverage;
#[path = "../../../omniroute-core/tests/wire/exchanges.rs"]
mod exchanges;
#[path = "../../../omniroute-core/tests/wire/kept.rs"]
mod kept;
#[path = "../../../omniroute-core/tests/wire/matrix.rs"]
mod matrix;
#[path = "../../../omniroute-core/tests/wire/neutral.rs"]
mod neutral;
#[path = "../../../omniroute-core/tests/wire/noted.rs"]
mod noted;

mod crossing;
mod errors;
mod lost;
mod pitfalls;
mod props;
mod replies;
mod requests;
mod snapshots;
