//! Configuration: TOML text or JSON text in, a checked [`Config`] or every mistake out.

mod combos;
mod error;
pub(crate) mod read;
mod suggest;
pub(crate) mod tree;

use std::collections::BTreeMap;

use omniroute_compress::caveman::Preserve;
use omniroute_compress::{Combo, Combos, Compress, CompressBuilder, MemoLimits, Plan, Step, Value};

pub use error::{ConfigErrors, Mistake, Place};
pub(crate) use suggest::suggestion;

use crate::error::Error;

/// What counts the tokens of receipts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Count {
    /// An estimator for the model that the request names.
    #[default]
    Estimate,
    /// The model's own vocabulary where it is public, else the estimator; the receipt says which.
    #[cfg(feature = "tokens-exact")]
    Exact,
}

/// Everything a compressor is made from. Reads no file, no environment, no network.
///
/// ```
/// use omniroute::Config;
/// let config = Config::from_toml("[compression]\nplan = \"safe\"\n")?;
/// assert_eq!(config.plan(), "safe");
/// let errors = Config::from_toml("[compression]\nplan = \"saef\"\nstrickt = true\n").unwrap_err();
/// assert_eq!(
///     errors.to_string(),
///     "line 2, column 8: compression.plan: \"saef\" is not a plan, an engine or a combo; did you mean \"safe\"?; \
///      line 3, column 1: compression.strickt: this key is not known; did you mean \"strict\"?"
/// );
/// # Ok::<(), omniroute::config::ConfigErrors>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub(crate) enabled: bool,
    pub(crate) plan: String,
    pub(crate) strict: bool,
    pub(crate) max_body_bytes: Option<usize>,
    pub(crate) count: Count,
    pub(crate) memo: MemoLimits,
    pub(crate) engines: BTreeMap<String, Vec<(String, Value)>>,
    pub(crate) combos: Vec<Combo>,
    pub(crate) preserve: Preserve,
}

impl Default for Config {
    /// Plan `safe`, estimated counts, not strict, memory for one program.
    fn default() -> Self {
        Config {
            enabled: true,
            plan: "safe".to_owned(),
            strict: false,
            max_body_bytes: None,
            count: Count::default(),
            memo: MemoLimits::default(),
            engines: BTreeMap::new(),
            combos: Vec::new(),
            preserve: Preserve::default(),
        }
    }
}

impl Config {
    /// Reads TOML with the section `[compression]`.
    ///
    /// # Errors
    /// Every mistake with line and column.
    pub fn from_toml(text: &str) -> Result<Config, ConfigErrors> {
        let mut mistakes = Vec::new();
        let root = tree::from_toml(text, &mut mistakes);
        read::document(&root, mistakes)
    }

    /// Reads a JSON object: the whole document (`{"compression": {...}}`) or what stands in `compression`.
    ///
    /// # Errors
    /// Every mistake with the way to its value.
    pub fn from_json(text: &str) -> Result<Config, ConfigErrors> {
        let mut mistakes = Vec::new();
        let root = tree::from_json(text, &mut mistakes);
        read::document(&root, mistakes)
    }

    /// The plan of calls that name none; `off` if compression is disabled.
    pub fn plan(&self) -> &str {
        if self.enabled { &self.plan } else { "off" }
    }

    /// Whether a body that cannot be read is an error.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// Sets the plan: a name, an engine, engines separated by commas, or a combo. Checked when the compressor is made.
    #[must_use]
    pub fn with_plan(mut self, plan: impl Into<String>) -> Self {
        self.plan = plan.into();
        self
    }

    /// Sets whether a body that cannot be read is an error instead of coming back unchanged; default no.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets what counts tokens; default the estimator.
    #[must_use]
    pub fn with_count(mut self, count: Count) -> Self {
        self.count = count;
        self
    }

    /// Sets the bounds of what is remembered between calls.
    #[must_use]
    pub fn with_memo(mut self, memo: MemoLimits) -> Self {
        self.memo = memo;
        self
    }

    /// `; did you mean "x"?` if a plan, an engine or a combo has nearly this name.
    pub(crate) fn plan_hint(&self, name: &str) -> String {
        let engines =
            omniroute_compress::ENGINES.iter().flat_map(|e| e.aliases.iter().copied().chain([e.info.id]));
        let mut known: Vec<&str> = Plan::names().chain(engines).collect();
        known.extend(self.combos.iter().map(Combo::name));
        suggestion(name, known.into_iter())
    }

    /// The bounds of what is remembered between calls.
    pub fn memo(&self) -> MemoLimits {
        self.memo
    }

    /// Longest body that is worked on, in bytes; none: the compressor's own bound.
    pub fn max_body_bytes(&self) -> Option<usize> {
        self.max_body_bytes
    }

    /// A compressor of the plan with everything that is said here, but for the counter: bounds, patterns, combos.
    ///
    /// # Errors
    /// There is no such plan.
    pub fn builder(&self, plan: &str) -> Result<CompressBuilder, Error> {
        if !self.knows_plan(plan) {
            return Err(Error::unknown_plan(self, plan));
        }
        let mut combos = Combos::default();
        for combo in &self.combos {
            // Checked when it was read.
            let added = combos.add(combo.clone());
            debug_assert!(added.is_ok(), "{added:?}");
        }
        let mut builder = Compress::builder().memo(self.memo).strict(self.strict).combos(combos);
        builder = builder.preserve(self.preserve.clone()).plan(plan);
        for (engine, settings) in &self.engines {
            builder = builder.defaults(engine, settings.iter().cloned());
        }
        Ok(match self.max_body_bytes {
            Some(bytes) => builder.max_body_bytes(bytes),
            None => builder,
        })
    }

    /// The preset or the combo of this configuration with this name; case does not matter.
    fn combo(&self, name: &str) -> Option<Combo> {
        self.combos
            .iter()
            .find(|combo| combo.name().to_lowercase() == name.to_lowercase())
            .cloned()
            .or_else(|| Combos::default().get(name).cloned())
            .filter(|_| Plan::parse(name).is_err())
    }

    /// Whether anything may be compressed at all; `enabled`.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// The plan, engine or combo whose name is nearest to one that there is not.
    pub fn nearest_plan(&self, name: &str) -> Option<String> {
        let hint = self.plan_hint(name);
        hint.split('"').nth(1).map(str::to_owned)
    }

    /// Whether calls may name this as their plan.
    pub fn knows_plan(&self, name: &str) -> bool {
        Plan::parse(name).is_ok() || self.combo(name).is_some()
    }

    /// The steps of a plan, with the settings of its engines; `None` if there is no such plan.
    pub fn steps(&self, plan: &str) -> Option<Vec<Step>> {
        let steps = match self.combo(plan) {
            Some(combo) => combo.steps().to_vec(),
            None => Plan::parse(plan).ok()?.steps().to_vec(),
        };
        Some(steps.into_iter().map(|step| self.with_settings(step)).collect())
    }

    /// A setting that the step has itself wins over the one of its engine.
    fn with_settings(&self, step: Step) -> Step {
        let id = omniroute_compress::engine(step.engine()).map_or(step.engine(), |entry| entry.info.id);
        let Some(settings) = self.engines.get(id) else { return step };
        let mut out = match step.level() {
            Some(level) => Step::new(format!("{id}:{level}")),
            None => Step::new(id),
        };
        let level_key = omniroute_compress::engine(id).and_then(|entry| entry.level);
        for (key, value) in settings {
            if step.level().is_none() || Some(key.as_str()) != level_key {
                out = out.with(key.clone(), value.clone());
            }
        }
        out
    }
}
