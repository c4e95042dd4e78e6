#![doc = include_str!("../README.md")]

mod availability;
mod call;
mod catalog;
mod check;
mod classify;
mod cost;
pub mod credentials;
mod data;
pub mod free_tiers;
mod listing;
mod prepare;
#[cfg(feature = "radar")]
pub mod radar;
mod redact;
pub mod report;
mod suggest;
#[cfg(any(feature = "transport-reqwest", feature = "clock-tokio"))]
pub mod transport;
pub mod wires;

pub use availability::Availability;
pub use call::{
    Call, HttpProvider, Lesson, Lessons, MemoryLessons, Passed, ProviderBuilder, Surface, Timeouts, Upload,
};
pub use catalog::{Catalog, ResolveError, Resolved};
pub use check::{Finding, Rule, check_files};
pub use classify::{Dialect, Scene, classify, classify_error, classify_transport, limits_seen};
pub use cost::{Bill, BillLine, Part, PriceAge, STALE_AFTER_DAYS, cost};
pub use data::{
    Access, Aliases, AltWire, Auth, AuthKind, Category, Class, Effort, Efforts, FileError, FreeKind,
    Implement, Kind, LongContext, Medium, Meta, Modalities, ModelFile, ModelRow, Prices, ProviderFile,
    ProviderRow, Skipped, Status, Terms, Tier, ToolCalling, WireId,
};
pub use listing::{ModelFilter, ModelLine, ProviderFilter, ProviderLine, model_table, provider_table};
pub use prepare::{Credential, KeyOrigin, PrepareError, Secret, Settings, key_from, prepare};
pub use redact::Redactor;
