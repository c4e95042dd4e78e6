//! The rows of the catalogue and their two forms: one JSON line for people, packed bytes for the binary.
//!
//! The build script compiles this folder too, so it uses nothing of the rest of the crate.

mod codec;
mod file;
mod model;
mod pack;
mod price;
mod provider;
mod table;
mod words;

pub use file::{Aliases, FileError, Meta, ModelFile, ProviderFile, Skipped};
pub use model::{Effort, Efforts, FreeKind, Medium, Modalities, ModelRow, Tier};
pub(crate) use pack::{Packed, pack};
pub use price::{LongContext, Prices};
pub use provider::{
    Access, AltWire, Auth, AuthKind, Category, Class, Implement, Kind, ProviderRow, Status, Terms,
    ToolCalling, WireId,
};
