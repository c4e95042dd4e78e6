#![doc = include_str!("../README.md")]

mod budget;
pub mod caveman;
pub mod ccr;
mod combos;
mod compress;
mod config;
pub mod cost;
mod engines;
mod entry;
mod expand;
pub mod gain;
mod gates;
mod guard;
mod hash;

mod layout;
mod marker;
pub mod mcp;
mod memo;
mod pipeline;
mod plan;
pub mod protect;
pub mod redact;
mod registry;
mod result;
mod rewrite;
pub mod rtk;
mod sessions;
mod shell;
#[cfg(feature = "store-sqlite")]
mod sqlite;
mod style;
mod terminal;
mod text;

pub use combos::{Combo, ComboError, Combos};
pub use compress::{CallOptions, Compress, CompressBuilder, CompressError, Compressed, compress};
pub use config::{ConfigError, ConfigErrors, ConfigField, Settings, Step, Value};
pub use engines::rows;
pub use entry::{EngineEntry, Parts};
pub use expand::{ExpandError, Expanded, expand, expand_with};
pub use gates::Gates;
pub use memo::MemoLimits;
pub use plan::Plan;
pub use registry::{ENGINES, engine, settings_json};
pub use rewrite::Rewrite;
pub use rtk::FilterSet;
pub use sessions::{MemorySessions, SessionKey, SessionStore};
#[cfg(feature = "store-sqlite")]
pub use sqlite::SqliteBlobs;
pub use style::OutputStyle;
pub use text::{CompressedText, ToolOutput};
