//! What is wrong with a configuration, with the place in it.

use std::fmt;

/// What kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigCode {
    /// No strategy of this name.
    UnknownStrategy,
    /// Combos that lead back to themselves.
    Cycle,
    /// Combos nested too deeply.
    Depth,
    /// A combo, provider or account that does not exist.
    MissingReference,
    /// A weight that is no number from 0 to 100.
    BadWeight,
    /// A key nobody reads.
    UnknownKey,
    /// A name that is taken by the software.
    ReservedName,
    /// A name that is not well formed, or used twice.
    BadName,
    /// A list of accounts without accounts.
    EmptyAccounts,
    /// A value outside its bounds, or of the wrong kind.
    BadValue,
}

impl ConfigCode {
    /// Stable code for programs and other languages.
    pub const fn code(self) -> &'static str {
        match self {
            ConfigCode::UnknownStrategy => "unknown_strategy",
            ConfigCode::Cycle => "cycle",
            ConfigCode::Depth => "depth",
            ConfigCode::MissingReference => "missing_reference",
            ConfigCode::BadWeight => "bad_weight",
            ConfigCode::UnknownKey => "unknown_key",
            ConfigCode::ReservedName => "reserved_name",
            ConfigCode::BadName => "bad_name",
            ConfigCode::EmptyAccounts => "empty_accounts",
            ConfigCode::BadValue => "bad_value",
        }
    }
}

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// What kind.
    pub code: ConfigCode,
    /// Where, for instance `combo.daily.step[2].weight`.
    pub path: String,
    /// In words; names the place too.
    pub message: String,
}

impl ConfigError {
    /// A mistake at a place.
    pub fn new(code: ConfigCode, path: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError { code, path: path.into(), message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}
