//! What can go wrong when a body is read or written.

use crate::doc::DocError;
use crate::hub::ErrorBody;

/// A body that cannot be read as, or written to, a wire.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WireError {
    /// It is not a body of this wire. Nobody can serve the request.
    #[error(transparent)]
    Shape(#[from] DocError),
    /// The request contradicts itself. Nobody can serve it.
    #[error("{message} ({pointer})")]
    Invalid {
        /// Stable code, for instance `duplicate_tool`.
        code: &'static str,
        /// The place.
        pointer: String,
        /// For people.
        message: String,
    },
    /// This target cannot take the request; another may.
    #[error("{message} ({pointer})")]
    Incapable {
        /// Stable code, for instance `unsupported_param`.
        code: &'static str,
        /// The place.
        pointer: String,
        /// For people.
        message: String,
    },
    /// The body is an error of the vendor, or an answer without content.
    #[error("{}", .0.message)]
    Vendor(Box<ErrorBody>),
    /// The wire does not do that.
    #[error("wire \"{wire}\" cannot {what}")]
    Unsupported {
        /// The wire.
        wire: &'static str,
        /// What was asked of it.
        what: &'static str,
    },
}

impl WireError {
    /// This target cannot take the request.
    pub fn incapable(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        WireError::Incapable { code, pointer: pointer.into(), message: message.into() }
    }

    /// Nobody can take the request.
    pub fn invalid(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        WireError::Invalid { code, pointer: pointer.into(), message: message.into() }
    }

    /// Stable code.
    pub fn code(&self) -> &str {
        match self {
            WireError::Shape(error) => error.rule().code(),
            WireError::Invalid { code, .. } | WireError::Incapable { code, .. } => code,
            WireError::Vendor(error) => error.code.as_deref().unwrap_or("vendor_error"),
            WireError::Unsupported { .. } => "unsupported",
        }
    }
}
