//! Providers called over HTTP: vendors that replay recorded bytes, over a scripted transport and over real sockets.
//!
//! Recordings are those of the core's tests; without them the tests that need them say how many they skip.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, also outside of their functions; counts are printed"
)]

#[expect(dead_code, reason = "each test binary uses a part")]
#[path = "../../../omniroute-core/tests/wire/exchanges.rs"]
mod exchanges;
#[path = "../scripted/mod.rs"]
mod scripted;

#[cfg(feature = "transport-reqwest")]
mod client;
mod clouds;
mod hosted;
mod leaks;
mod loopback;
mod pitfalls;
mod recorded;
mod restored;
mod samples;
mod server;
mod socket;
mod surfaces;
#[cfg(feature = "transport-reqwest")]
mod tls;
mod tokens;
