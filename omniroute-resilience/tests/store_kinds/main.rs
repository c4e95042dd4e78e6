//! All kinds of stores: the public conformance suite, then what is special to files and servers.

#![expect(clippy::unwrap_used, reason = "a failure shall stop the test")]

mod clocks;
mod conformance;
mod kills;
mod kills_few;
mod redis;
mod server;
mod sqlite;
mod support;
