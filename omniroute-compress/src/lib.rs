#![doc = include_str!("../README.md")]

mod compress;
mod config;
pub mod cost;
mod engines;
mod entry;
mod expand;
mod guard;
mod hash;

mod layout;
mod marker;
mod memo;
mod pipeline;
mod plan;
mod registry;
mod result;
mod shell;
mod terminal;
mod text;

pub use compress::{Compress, CompressBuilder, CompressError, Compressed, compress};
pub use config::{ConfigError, ConfigErrors, ConfigField, Settings, Step, Value};
pub use engines::rows;
pub use entry::EngineEntry;
pub use expand::{ExpandError, Expanded, expand, expand_with};
pub use memo::MemoLimits;
pub use plan::Plan;
pub use registry::{ENGINES, engine};
pub use text::CompressedText;
