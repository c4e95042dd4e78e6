//! Why a store could not answer.

/// Why a store could not answer.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached or cannot write. Try again later.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// It did not answer in time. A commit may or may not have happened.
    #[error("store did not answer in {0} ms")]
    Timeout(u64),
    /// A record cannot be read.
    #[error("record {0} cannot be read")]
    Corrupt(String),
    /// It was written by a newer version.
    #[error("store has schema {found}, this version knows {supported}")]
    SchemaTooNew {
        /// What is there.
        found: u32,
        /// The newest we know.
        supported: u32,
    },
    /// It is full and nothing in it may be dropped.
    #[error("store is full: {0} records of kind {1}")]
    Full(usize, &'static str),
    /// It cannot do what was asked.
    #[error("store cannot do this: {0}")]
    Unsupported(&'static str),
    /// Others kept changing the same records.
    #[error("{0} attempts to commit met a conflict each")]
    Contended(u32),
    /// The call itself was wrong.
    #[error("store call is wrong: {0}")]
    Invalid(String),
}
