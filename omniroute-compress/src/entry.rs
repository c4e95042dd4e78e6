//! What a registered engine is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineInfo};

use crate::caveman::{Preserve, RulePacks};
use crate::config::{ConfigError, ConfigField, Settings, Step, Value};
use crate::rtk::FilterSet;

/// What the builder hands to the engines it makes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Parts {
    /// Filters for command output.
    pub filters: Arc<FilterSet>,
    /// Rules for prose besides the built-in ones.
    pub rule_packs: Arc<RulePacks>,
    /// Patterns of the user: what they find stays.
    pub preserve: Preserve,
    /// Settings of engines by id, for every step that does not set them itself.
    pub defaults: BTreeMap<String, Vec<(String, Value)>>,
}

impl Parts {
    /// Changes whenever the same settings give other output because of the parts.
    ///
    /// Defaults are part of the settings of each step.
    pub(crate) fn identity(&self) -> String {
        format!("{}{}{}", self.filters.identity(), self.rule_packs.identity(), self.preserve.identity())
    }
}

impl Parts {
    /// The step with the settings that hold for its engine everywhere.
    pub(crate) fn with_defaults(&self, step: Step, id: &str) -> Step {
        let defaults = self.defaults.get(id).map_or(&[][..], Vec::as_slice);
        defaults.iter().fold(step, |step, (key, value)| step.or_with(key, value.clone()))
    }
}

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
    /// The setting that a level in a plan (`rtk:minimal`) stands for.
    pub level: Option<&'static str>,
    /// The fixed name of a technique in records of rewritten histories, for engines that work on older turns.
    pub technique: fn(&str) -> Option<&'static str>,
    /// What the types and ranges of the settings do not tell: each mistake with the key and the rule.
    pub check: Option<fn(&Settings, &Parts) -> Vec<ConfigError>>,
    /// Makes one instance for one step, with checked settings.
    pub build: fn(&Settings, &Parts) -> Arc<dyn CompressionEngine>,
}

impl EngineEntry {
    /// An entry without aliases and settings.
    pub const fn new(info: EngineInfo, build: fn(&Settings, &Parts) -> Arc<dyn CompressionEngine>) -> Self {
        EngineEntry { info, aliases: &[], fields: &[], level: None, technique: |_| None, check: None, build }
    }

    /// Sets the other names.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets which setting is the level.
    #[must_use]
    pub const fn level(mut self, key: &'static str) -> Self {
        self.level = Some(key);
        self
    }

    /// Sets the techniques that the engine uses on older turns.
    #[must_use]
    pub const fn technique(mut self, technique: fn(&str) -> Option<&'static str>) -> Self {
        self.technique = technique;
        self
    }

    /// Sets a check of the settings beyond their types and ranges.
    #[must_use]
    pub const fn check(mut self, check: fn(&Settings, &Parts) -> Vec<ConfigError>) -> Self {
        self.check = Some(check);
        self
    }

    /// Sets what can be set.
    #[must_use]
    pub const fn fields(mut self, fields: &'static [ConfigField]) -> Self {
        self.fields = fields;
        self
    }
}

/// The one of `known` that is `name`.
pub(crate) fn one_of(known: &[&'static str], name: &str) -> Option<&'static str> {
    known.iter().copied().find(|known| *known == name)
}
