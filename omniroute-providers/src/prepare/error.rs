//! Why a request is not made.

use crate::data::{Access, WireId};

/// Why [`prepare`](crate::prepare()) makes no request. Never holds a key or a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The provider is listed and never built: it cannot be called by documented means.
    #[error("provider {provider}: not built by policy, {reason} (access {access})")]
    ByPolicy {
        /// Id of the row.
        provider: String,
        /// By what right it is reached.
        access: Access,
        /// Why that is refused.
        reason: &'static str,
    },
    /// The provider can be built and is not yet.
    #[error("provider {provider}: not built yet, {reason}")]
    NotYet {
        /// Id of the row.
        provider: String,
        /// What is missing.
        reason: String,
    },
    /// The catalogue does not know the address, and the settings do not give it.
    #[error("provider {provider}: no base address is known, set base_url")]
    MissingBaseUrl {
        /// Id of the row.
        provider: String,
    },
    /// The address has a placeholder that no setting fills.
    #[error("provider {provider}: address needs the setting {name:?}")]
    MissingSetting {
        /// Id of the row.
        provider: String,
        /// Name of the setting.
        name: String,
    },
    /// A setting cannot stand where it would go.
    #[error("provider {provider}: setting {name:?} must be {rule}")]
    BadSetting {
        /// Id of the row.
        provider: String,
        /// Name of the setting.
        name: String,
        /// What it must be.
        rule: &'static str,
    },
    /// The provider does not speak the wire, or it is not known where.
    #[error("provider {provider}: does not speak {wire} at a known address")]
    Wire {
        /// Id of the row.
        provider: String,
        /// The wire.
        wire: WireId,
    },
    /// A key or token is needed.
    #[error("provider {provider}: no {wanted}, looked for {}", tried.join(", "))]
    MissingCredential {
        /// Id of the row.
        provider: String,
        /// `key`, `token` or both.
        wanted: &'static str,
        /// Names of variables and settings that may hold it.
        tried: Vec<String>,
    },
    /// The key is of a kind the provider does not take.
    #[error("provider {provider}: takes {wanted}, not {given}")]
    WrongCredential {
        /// Id of the row.
        provider: String,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        given: &'static str,
    },
    /// The key has characters that no header can carry.
    #[error("provider {provider}: the {given} has characters that a header cannot carry")]
    UnsendableCredential {
        /// Id of the row.
        provider: String,
        /// `key` or `token`.
        given: &'static str,
    },
    /// A key from the row's environment variable would leave for another host.
    #[error(
        "provider {provider}: the key comes from an environment variable for {row_host}; \
         give {host} a key of its own"
    )]
    KeyForAnotherHost {
        /// Id of the row.
        provider: String,
        /// Host of the address.
        host: String,
        /// Host of the row.
        row_host: String,
    },
    /// Plain `http` to a host that is not this machine.
    #[error("provider {provider}: plain http goes to loopback only, {host} needs https")]
    PlainHttp {
        /// Id of the row.
        provider: String,
        /// Host of the address.
        host: String,
    },
}
