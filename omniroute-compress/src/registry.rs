//! All built-in engines. Plans, docs and bindings read this list.

use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineInfo};

use crate::config::{ConfigField, Settings};
use crate::engines;

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

/// All built-in engines, by priority.
pub const ENGINES: &[EngineEntry] =
    &[engines::repeat::ENTRY, engines::lite::ENTRY, engines::rows::ENTRY, engines::session_dedup::ENTRY];

/// The engine with this id or alias.
pub fn engine(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|e| e.info.id == name || e.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut names = Vec::new();
        for entry in ENGINES {
            names.push(entry.info.id);
            names.extend(entry.aliases);
            assert!(!entry.info.summary.is_empty(), "{} has no summary", entry.info.id);
            assert_eq!(
                (entry.build)(&crate::Step::new("x").resolve(entry.fields, &mut Vec::new())).info(),
                &entry.info
            );
        }
        for name in &names {
            let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(
                name.len() <= 32 && name.bytes().all(ok) && name.as_bytes()[0].is_ascii_lowercase(),
                "{name}"
            );
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(ENGINES.is_sorted_by_key(|e| e.info.priority));
    }
}
