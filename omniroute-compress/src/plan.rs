//! Plans: which engines run, in which order, with which settings.

use std::fmt::Write as _;
use std::sync::Arc;

use omniroute_core::CompressionEngine;
use sha2::{Digest, Sha256};

use crate::caveman::Preserve;
use crate::config::{ConfigError, ConfigErrors, Step, suggestion};
use crate::entry::Parts;
use crate::gates::Gates;
use crate::registry::{ENGINES, engine};
use crate::rewrite::Rewrite;
use crate::style::OutputStyle;

/// Raised when the pipeline itself changes what comes out for the same steps.
const PIPELINE_VERSION: u32 = 1;

/// Names of plans and the steps behind them.
const NAMED: &[(&str, &[&str])] = &[
    ("off", &[]),
    ("lite", &["lite"]),
    ("rtk", &["rtk"]),
    ("standard", &["caveman:full"]),
    ("stacked", &["rtk", "caveman:full"]),
    ("aggressive", &["caveman:full", "aggressive"]),
    ("ultra", &["caveman:full", "ultra"]),
    ("relevance", &["relevance"]),
    ("safe", &["repeat", "ionizer", "rtk", "rows", "session-dedup", "read-lifecycle", "ccr"]),
    ("api-data", &["repeat", "ionizer", "rows", "ccr"]),
];

/// An ordered list of steps with a name.
///
/// | name | steps |
/// | --- | --- |
/// | `off` | none; the body is not even parsed |
/// | `lite` | `lite` |
/// | `rtk` | `rtk` |
/// | `standard` | `caveman:full` |
/// | `stacked` | `rtk`, `caveman:full` |
/// | `aggressive` | `caveman:full`, `aggressive` |
/// | `ultra` | `caveman:full`, `ultra` |
/// | `relevance` | `relevance` |
/// | `safe` (default) | `repeat`, `ionizer`, `rtk`, `rows`, `session-dedup`, `read-lifecycle`, `ccr` |
/// | `api-data` | `repeat`, `ionizer`, `rows`, `ccr` |
///
/// ```
/// use omniroute_compress::Plan;
/// assert_eq!(Plan::parse("rows, session-dedup")?.steps().len(), 2);
/// let error = Plan::parse("saef").unwrap_err().to_string();
/// assert_eq!(error, "plan: \"saef\" is not known; did you mean \"safe\"?");
/// # Ok::<(), omniroute_compress::ConfigErrors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    name: String,
    steps: Vec<Step>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan::named("safe").expect("the default plan is in the table")
    }
}

impl Plan {
    /// Reads the name of a plan, or a list of engines separated by commas.
    ///
    /// # Errors
    /// Every unknown name with the nearest known one, every engine named twice.
    pub fn parse(text: &str) -> Result<Plan, ConfigErrors> {
        let text = text.trim();
        if let Some(plan) = Plan::named(text) {
            return Ok(plan);
        }
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        let steps: Vec<Step> = names.iter().map(|n| Step::new(*n)).collect();
        let mut errors = Vec::new();
        for step in &steps {
            match find(step.engine(), names.len() == 1) {
                Err(error) => errors.push(error),
                Ok(entry) => {
                    step.clone().with_level_as(entry.level, &mut errors).resolve(entry.fields, &mut errors);
                }
            }
        }
        twice(&steps, &mut errors);
        if errors.is_empty() { Ok(Plan::of(steps)) } else { Err(ConfigErrors(errors)) }
    }

    /// A plan of one's own. Checked when the compressor is built.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Plan {
        let steps: Vec<Step> = steps.into_iter().collect();
        let name = steps.iter().map(Step::label).collect::<Vec<_>>().join(",");
        Plan { name, steps }
    }

    /// Names of the plans that need no list.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// The name, or the list of engines.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn named(name: &str) -> Option<Plan> {
        let (name, steps) = NAMED.iter().find(|(n, _)| *n == name)?;
        Some(Plan { name: (*name).to_owned(), steps: steps.iter().map(|s| Step::new(*s)).collect() })
    }

    /// Makes the engines. `extra` are engines of the caller, found by id.
    pub(crate) fn build(
        &self,
        extra: &[Arc<dyn CompressionEngine>],
        parts: &Parts,
    ) -> Result<Steps, ConfigErrors> {
        let mut errors = Vec::new();
        own_ids(extra, &mut errors);
        twice(&self.steps, &mut errors);
        let mut engines = Vec::new();
        let (mut user_blocks, mut user_at_rewrite) = (false, false);
        let mut identity = format!("pipeline {PIPELINE_VERSION}\n{}", parts.identity());
        for step in &self.steps {
            if let Some(own) = extra.iter().find(|e| e.info().id == step.engine()) {
                step.clone().with_level_as(None, &mut errors).resolve(&[], &mut errors);
                let _ = writeln!(identity, "own {} {}", own.info().id, own.info().version);
                engines.push(own.clone());
                continue;
            }
            match find(step.engine(), false) {
                Err(error) => errors.push(error),
                Ok(entry) => {
                    let step = step.clone().with_level_as(entry.level, &mut errors);
                    let step = parts.with_defaults(step, entry.info.id);
                    let known = errors.len();
                    let settings = step.resolve(entry.fields, &mut errors);
                    if let (Some(check), true) = (entry.check, errors.len() == known) {
                        errors.extend(check(&settings, parts));
                    }
                    let _ = writeln!(
                        identity,
                        "{} {} {}",
                        entry.info.id,
                        entry.info.version,
                        settings.canonical()
                    );
                    user_blocks |= settings.bool("user_blocks");
                    user_at_rewrite |= settings.word("user_text") == "at_rewrite";
                    engines.push((entry.build)(&settings, parts));
                }
            }
        }
        if errors.is_empty() {
            Ok(Steps {
                name: self.name.clone(),
                identity,
                engines,
                lossless_only: false,
                user_blocks,
                user_at_rewrite,
                rewrite: None,
                style: None,
                gates: Gates::default(),
                preserve: parts.preserve.clone(),
            })
        } else {
            Err(ConfigErrors(errors))
        }
    }
}

/// The entry of an engine, or an error with the nearest name.
fn find(name: &str, or_plan: bool) -> Result<&'static crate::entry::EngineEntry, ConfigError> {
    let Some(entry) = engine(name) else {
        let engines = ENGINES.iter().flat_map(|e| e.aliases.iter().copied().chain([e.info.id]));
        let plans = NAMED.iter().map(|(n, _)| *n).filter(|_| or_plan);
        let hint = suggestion(name, engines.chain(plans));
        let message = match (name.is_empty(), or_plan) {
            (true, _) => "an engine name is empty".to_owned(),
            (_, true) => format!("\"{name}\" is not known{hint}"),
            (_, false) => format!("engine \"{name}\" is not known{hint}"),
        };
        return Err(ConfigError::new("plan", message));
    };
    Ok(entry)
}

/// Reports engines of the caller whose id is malformed or given twice.
fn own_ids(extra: &[Arc<dyn CompressionEngine>], errors: &mut Vec<ConfigError>) {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    for (i, engine) in extra.iter().enumerate() {
        let id = engine.info().id;
        if !(1..=32).contains(&id.len())
            || !id.bytes().all(inner)
            || !id.starts_with(|c: char| c.is_ascii_lowercase())
        {
            let rule = "lower-case letters, digits and dashes, a letter first, at most 32";
            errors.push(ConfigError::new("engine", format!("id {id:?} is not made of {rule}")));
        }
        if extra.iter().take(i).any(|e| e.info().id == id) {
            errors.push(ConfigError::new("engine", format!("id \"{id}\" is given to two engines")));
        }
    }
}

/// Reports engines that a plan names twice, also under another name.
fn twice(steps: &[Step], errors: &mut Vec<ConfigError>) {
    let id = |s: &Step| engine(s.engine()).map_or_else(|| s.engine().to_owned(), |e| e.info.id.to_owned());
    let ids: Vec<String> = steps.iter().map(id).collect();
    for (i, name) in ids.iter().enumerate() {
        if ids.iter().take(i).any(|n| n == name) {
            errors.push(ConfigError::new("plan", format!("engine \"{name}\" is named twice")));
        }
    }
}

/// A plan with its engines made.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    pub(crate) name: String,
    identity: String,
    pub(crate) engines: Vec<Arc<dyn CompressionEngine>>,
    /// Only what can be computed back from the request is taken out of it.
    pub(crate) lossless_only: bool,
    /// Long texts of the user may change once, when a later one is there.
    pub(crate) user_blocks: bool,
    /// Older texts of the user may change where the history is rewritten.
    pub(crate) user_at_rewrite: bool,
    /// When older turns may change; none: as the compressor was told.
    pub(crate) rewrite: Option<Rewrite>,
    /// What answers are asked to be like.
    pub(crate) style: Option<OutputStyle>,
    /// What a text and a change must bring with them.
    pub(crate) gates: Gates,
    /// What must stay in sight, whatever a step makes of a text.
    preserve: Preserve,
}

impl Steps {
    /// The same steps, of which only lossless ones act.
    pub(crate) fn lossless_only(mut self, on: bool) -> Steps {
        if on && !self.lossless_only {
            self.lossless_only = true;
            self.identity.push_str("lossless only\n");
        }
        self
    }

    /// The same under another name.
    pub(crate) fn named(mut self, name: &str) -> Steps {
        self.name = name.to_owned();
        self
    }

    /// The same with its own rule for older turns.
    pub(crate) fn rewrite(mut self, rewrite: Option<Rewrite>) -> Steps {
        self.rewrite = rewrite;
        self
    }

    /// The same with a style of answers, unless it has one.
    pub(crate) fn style(mut self, style: Option<&OutputStyle>) -> Steps {
        if let (None, Some(style)) = (&self.style, style) {
            self.style = Some(style.clone());
            let _ = writeln!(self.identity, "style {style}");
        }
        self
    }

    /// The reason not to send `after` in place of `before`, beside those that hold for every plan.
    pub(crate) fn refuse(
        &self,
        before: &str,
        after: &str,
        tokens: (u32, u32),
        lossless: bool,
    ) -> Option<&'static str> {
        let worth = || self.gates.refuse_text(before).or_else(|| self.gates.refuse_gain(tokens.0, tokens.1));
        worth().or_else(|| (!lossless && self.loses(before, after)).then_some("preserved"))
    }

    /// Whether something that must stay in sight would be lost.
    pub(crate) fn loses(&self, before: &str, after: &str) -> bool {
        self.preserve.loses(before, after)
    }

    /// The same with other gates.
    pub(crate) fn gates(mut self, gates: Gates) -> Steps {
        if gates != self.gates {
            self.gates = gates;
            let _ = writeln!(self.identity, "gates {gates}");
        }
        self
    }

    /// Whether nothing is done at all.
    pub(crate) fn is_off(&self) -> bool {
        self.engines.is_empty() && self.style.is_none()
    }

    /// Equal for two plans exactly if they give equal output with the counter named.
    pub(crate) fn fingerprint(&self, counter: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.identity.as_bytes());
        hash.update(counter.as_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names_and_lists() {
        assert_eq!(Plan::parse("safe").unwrap(), Plan::default());
        assert!(Plan::parse("off").unwrap().steps().is_empty());
        assert_eq!(Plan::parse(" repeat ,headroom").unwrap().name(), "repeat,headroom");
        for (text, message) in [
            ("lit", "plan: \"lit\" is not known; did you mean \"lite\"?"),
            ("cavemen", "plan: \"cavemen\" is not known; did you mean \"caveman\"?"),
            ("caveman:max", "engine \"caveman\": key \"level\": max is not one of lite, full, ultra"),
            ("rows,rwos", "plan: engine \"rwos\" is not known; did you mean \"rows\"?"),
            ("rows,headroom", "plan: engine \"rows\" is named twice"),
            ("rows:max", "plan: level \"max\" is not known: engine \"rows\" has no levels"),
            ("rtk:max", "engine \"rtk\": key \"intensity\": max is not one of minimal, standard, aggressive"),
            ("rows,,lite", "plan: an engine name is empty"),
            ("", "plan: an engine name is empty"),
            ("foo,bar", "plan: engine \"foo\" is not known; plan: engine \"bar\" is not known"),
        ] {
            assert_eq!(Plan::parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[derive(Debug)]
    struct Own(omniroute_core::EngineInfo);

    impl CompressionEngine for Own {
        fn info(&self) -> &omniroute_core::EngineInfo {
            &self.0
        }
    }

    #[test]
    fn engines_of_the_caller_need_ids_of_their_own() {
        let own = |id| -> Arc<dyn CompressionEngine> {
            Arc::new(Own(omniroute_core::EngineInfo::new(id, omniroute_core::Loss::Lossy)))
        };
        let build = |ids: &[&'static str]| {
            let engines: Vec<_> = ids.iter().map(|id| own(id)).collect();
            Plan::default().build(&engines, &Parts::default()).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(build(&["mine", "other"]), Ok(()));
        assert_eq!(build(&["mine", "mine"]).unwrap_err(), "engine: id \"mine\" is given to two engines");
        assert!(
            build(&["Mine"])
                .unwrap_err()
                .starts_with("engine: id \"Mine\" is not made of lower-case letters")
        );
        assert!(build(&[""]).is_err() && build(&["1a"]).is_err());
    }

    #[test]
    fn fingerprints_tell_settings_and_counters_apart() {
        let plain = Plan::parse("session-dedup").unwrap().build(&[], &Parts::default()).unwrap();
        let other = Plan::of([Step::new("session-dedup").with("min_lines", 3)])
            .build(&[], &Parts::default())
            .unwrap();
        assert_eq!(
            plain.fingerprint("a"),
            Plan::of([Step::new("session-dedup")]).build(&[], &Parts::default()).unwrap().fingerprint("a")
        );
        assert_ne!(plain.fingerprint("a"), other.fingerprint("a"));
        assert_ne!(plain.fingerprint("a"), plain.fingerprint("b"));
    }
}
