#![doc = include_str!("../README.md")]

pub mod config;
mod edits;
mod engine;
pub mod error;
mod host;
mod paths;
#[cfg(feature = "router")]
pub mod router;
mod stats;
#[cfg(feature = "tokens-exact")]
mod tokens;
mod variants;

pub use config::{Config, Count};
pub use edits::{Edited, Step, TextEdit};
pub use engine::{Compressed, CompressedText, Compressor, Options, TextOptions, receipt_json, receipt_line};
pub use error::Error;
pub use host::Stopwatch;
pub use omniroute_compress as compress;
pub use omniroute_core as core;
pub use paths::{error_body, list_member, wire_of_path};
pub use stats::Stats;
#[cfg(feature = "tokens-exact")]
pub use tokens::{ExactTokens, Vocabulary};
