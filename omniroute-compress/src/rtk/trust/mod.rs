//! Whether a file with filters may be loaded, and reading it exactly once.
//!
//! A repository that can bring filters can bring the hash that vouches for them, so by default a project's file is
//! loaded only if the project's `.rtk/trust.json` **and** the user's own store name its SHA-256. Whatever goes wrong
//! on the way means "not trusted": a file is absent then, a request never fails. Nothing here reads the working
//! directory, the environment or a clock; the embedder gives all three.
//!
//! ```text
//! <root>/.rtk/filters.{json,toml}       project: gated
//! <root>/.rtk/trust.json                what the project says: {"filtersSha256": …, "filtersTomlSha256": …}
//! <data_dir>/rtk/filters.{json,toml}    user: loaded, a change since the first load is noticed
//! <data_dir>/rtk/trusted.json           what the user has looked at
//! ```
//!
//! Bytes are read once, hashed and handed on; nobody opens the file again, so it cannot be swapped between check and
//! use. Decisions and remarks hold no content, no absolute path and no value of the environment.

mod decision;
mod digest;
mod gate;
mod preview;
mod project;
mod read;
mod sources;
mod store;
mod write;

#[cfg(test)]
mod tests;

pub use decision::{Decision, Note, Reason, Refusal, TrustedFile};
pub use digest::Digest;
pub use gate::{Outcome, load};
pub use preview::{Preview, RiskSummary, TrustError};
pub use read::{DiskReader, ReadError, Reader, Snapshot, Stamp};
pub use sources::{EnvView, FilterSources, Format, Scope, TRUST_VARIABLE, Trust, TrustPolicy};
pub use store::{StoreError, TrustEntry, TrustStore};
pub use write::{InstallError, install};
