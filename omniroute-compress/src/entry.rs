//! What a registered engine is made of.

use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineInfo};

use crate::config::{ConfigField, Settings};

/// How an engine is made: what it is, what can be set, and the constructor.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EngineEntry {
    /// What it is.
    pub info: EngineInfo,
    /// Other names users may write.
    pub aliases: &'static [&'static str],
    /// What can be set.
    pub fields: &'static [ConfigField],
    /// Makes one instance for one step, with checked settings.
    pub build: fn(&Settings) -> Arc<dyn CompressionEngine>,
}

impl EngineEntry {
    /// An entry without aliases and settings.
    pub const fn new(info: EngineInfo, build: fn(&Settings) -> Arc<dyn CompressionEngine>) -> Self {
        EngineEntry { info, aliases: &[], fields: &[], build }
    }

    /// Sets the other names.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets what can be set.
    #[must_use]
    pub const fn fields(mut self, fields: &'static [ConfigField]) -> Self {
        self.fields = fields;
        self
    }
}
