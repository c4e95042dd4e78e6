//! Combos: named lists of steps with a strategy, checked when they are loaded and not at the first request.

mod execution;
mod handover;
mod media;
mod rules;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use omniroute_core::route::RoutingStrategy;

use crate::directory::Directory;
use crate::error::{ConfigCode, ConfigError};
use crate::options::{OptionMap, OptionReader, OptionValue};
use crate::registry::{StrategyEntry, strategy};
pub use execution::{Execution, StrictStream};
pub use handover::Handover;
pub use media::{Bridge, MediaRules};
pub use rules::ReplyRules;
pub use step::StepConfig;
pub(crate) use step::split;

/// Levels of combos inside combos.
const DEPTH: usize = 3;

/// A combo as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComboConfig {
    /// Its name: 1 to 80 of letters, digits, `.`, `_`, `/`, `-`.
    pub name: String,
    /// Its strategy. There is no default.
    pub strategy: String,
    /// Settings of the strategy and of the execution, by name.
    pub options: OptionMap,
    /// How the account of a step is chosen; none: the strategy's business.
    pub account_strategy: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<StepConfig>,
}

impl ComboConfig {
    /// A combo with the defaults.
    pub fn new(name: &str, strategy: &str, steps: Vec<StepConfig>) -> Self {
        ComboConfig { name: name.to_owned(), strategy: strategy.to_owned(), steps, ..ComboConfig::default() }
    }
}

/// A checked combo.
#[derive(Debug, Clone)]
pub struct Combo {
    /// Its name.
    pub name: Arc<str>,
    /// Its strategy, ready.
    pub strategy: Arc<dyn RoutingStrategy>,
    /// The strategy's entry.
    pub entry: &'static StrategyEntry,
    /// How the account of a step is chosen.
    pub accounts: Option<Arc<dyn RoutingStrategy>>,
    /// How attempts are made.
    pub execution: Execution,
    /// How a session is handed over; none: the strategy does not.
    pub handover: Option<Handover>,
    /// Combos inside it decide for themselves, each as one candidate; else their steps take its place.
    pub executes: bool,
    /// The judge of a panel.
    pub judge: Option<Arc<str>>,
    pub(crate) steps: Vec<StepConfig>,
}

/// All combos, checked together.
#[derive(Debug, Clone, Default)]
pub struct Combos {
    combos: Vec<Combo>,
    index: BTreeMap<Arc<str>, usize>,
    /// What is odd but not wrong, each with its place.
    pub warnings: Vec<String>,
}

impl Combos {
    /// Checks combos, and that all of them lead somewhere.
    ///
    /// # Errors
    /// All mistakes at once, each with its place and the value that was probably meant.
    pub fn load(configs: Vec<ComboConfig>, directory: &dyn Directory) -> Result<Combos, Vec<ConfigError>> {
        let mut combos = Combos::default();
        let mut errors = Vec::new();
        let names: Vec<String> = configs.iter().map(|config| config.name.clone()).collect();
        for config in configs {
            let path = format!("combo.{}", config.name.chars().take(80).collect::<String>());
            combos.name(&config, &path, directory, &mut errors);
            for (number, step) in config.steps.iter().enumerate() {
                let path = format!("{path}.step[{}]", number + 1);
                step::check(step, &path, &names, directory, &mut errors, &mut combos.warnings);
            }
            match build(&config, &path, directory, &mut combos.warnings) {
                Ok(combo) => {
                    combos.index.entry(combo.name.clone()).or_insert(combos.combos.len());
                    combos.combos.push(combo);
                }
                Err(more) => errors.extend(more),
            }
        }
        for combo in &combos.combos {
            let wrong =
                |handover: &Handover| handover.check(&format!("combo.{}", combo.name), &combos, directory);
            errors.extend(combo.handover.as_ref().and_then(wrong));
            let describer = combo.execution.media.describer.as_deref();
            let path = format!("combo.{}.describer", combo.name);
            let wrong = |model: &str| combos.helper(model, &path, "describe", directory);
            errors.extend(describer.and_then(wrong));
        }
        combos.orders(&mut errors);
        if errors.is_empty() {
            combos.nesting(&mut errors);
        }
        if errors.is_empty() { Ok(combos) } else { Err(errors) }
    }

    /// Gives a combo a strategy that no configuration knows.
    pub(crate) fn own(&mut self, name: &str, strategy: Arc<dyn RoutingStrategy>) {
        if let Some(at) = self.index.get(name) {
            self.combos[*at].strategy = strategy;
        }
    }

    /// The combo of a name. Case counts.
    pub fn get(&self, name: &str) -> Option<&Combo> {
        self.index.get(name).map(|at| &self.combos[*at])
    }

    /// All combos, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &Combo> {
        self.combos.iter()
    }

    fn name(
        &mut self,
        config: &ComboConfig,
        path: &str,
        directory: &dyn Directory,
        errors: &mut Vec<ConfigError>,
    ) {
        let name = config.name.as_str();
        let mut error = |code, message: String| errors.push(ConfigError::new(code, path, message));
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
        if name.is_empty() || name.len() > 80 || !name.chars().all(allowed) {
            let rule = "a name has 1 to 80 letters, digits, dots, underscores, slashes and hyphens";
            error(ConfigCode::BadName, format!("{path} is not well formed; {rule}"));
        }
        let lower = name.to_ascii_lowercase();
        if lower == "auto" || lower.starts_with("auto/") {
            let rule = "auto chooses among connections, never among combos";
            error(ConfigCode::ReservedName, format!("{path} has a name that is taken; {rule}"));
        }
        if self.index.contains_key(name) {
            error(ConfigCode::BadName, format!("{path} is there twice"));
        }
        let owners =
            directory.providers().iter().filter(|provider| directory.facts(provider, name).is_some()).count();
        if owners > 0 {
            self.warnings.push(format!("{path} has the name of a model; the combo is used"));
        }
    }

    /// What is executed inside another combo has to make an order.
    fn orders(&self, errors: &mut Vec<ConfigError>) {
        for combo in self.combos.iter().filter(|combo| combo.executes) {
            for (number, step) in combo.steps.iter().enumerate() {
                let Some(child) = step.combo.as_deref().and_then(|name| self.get(name)) else { continue };
                if child.strategy.traits().many {
                    let path = format!("combo.{}.step[{}].combo", combo.name, number + 1);
                    let rule = "only a combo that makes an order can stand inside one";
                    let message = format!("{path} is {:?}, a {}; {rule}", child.name, child.entry.id);
                    errors.push(ConfigError::new(ConfigCode::BadValue, &path, message));
                }
            }
        }
    }

    /// No combo leads back to itself, none is nested too deeply.
    fn nesting(&self, errors: &mut Vec<ConfigError>) {
        for combo in &self.combos {
            let mut trail = vec![&*combo.name];
            self.walk(combo, &mut trail, errors);
        }
    }

    fn walk<'a>(&'a self, combo: &'a Combo, trail: &mut Vec<&'a str>, errors: &mut Vec<ConfigError>) {
        for (number, step) in combo.steps.iter().enumerate() {
            let Some(next) = step.combo.as_deref().and_then(|name| self.get(name)) else { continue };
            let path = format!("combo.{}.step[{}].combo", combo.name, number + 1);
            if trail.contains(&&*next.name) {
                // Found once, from the first combo of the circle.
                if trail[0] == &*next.name {
                    let circle = format!("{} → {}", trail.join(" → "), next.name);
                    errors.push(ConfigError::new(
                        ConfigCode::Cycle,
                        &path,
                        format!("{path} leads in a circle: {circle}"),
                    ));
                }
                continue;
            }
            if trail.len() > DEPTH {
                let message = format!(
                    "{path} is the level {} of combos inside combos, allowed are {DEPTH}",
                    trail.len()
                );
                errors.push(ConfigError::new(ConfigCode::Depth, &path, message));
                continue;
            }
            trail.push(&next.name);
            self.walk(next, trail, errors);
            trail.pop();
        }
    }
}

fn build(
    config: &ComboConfig,
    path: &str,
    directory: &dyn Directory,
    warnings: &mut Vec<String>,
) -> Result<Combo, Vec<ConfigError>> {
    let mut errors = Vec::new();
    let mut reader = OptionReader::new(path, &config.options);
    let execution = Execution::read(&mut reader);
    let nested = reader.word("nested", 2, &["flatten", "execute"]);
    let built = strategy(&config.strategy, &format!("{path}.strategy"))
        .map(|entry| (entry, (entry.build)(&mut reader)))
        .map_err(|error| errors.push(error))
        .ok();
    let handover = match &built {
        Some((entry, _)) if entry.id == "context-relay" => {
            Some(Handover::read(&mut OptionReader::new(path, &config.options)))
        }
        _ => None,
    };
    let judge = match (&built, config.options.get("judge")) {
        (Some((entry, _)), Some(OptionValue::Text(judge))) if entry.id == "fusion" => Some(judge.as_str()),
        (Some(_), Some(OptionValue::Text(_))) => {
            warnings.push(format!("{path}.judge is only used by fusion"));
            let _used = reader.text("judge");
            None
        }
        _ => None,
    };
    if built.is_some()
        && let Err(more) = reader.finish()
    {
        errors.extend(more);
    }
    if let Some(judge) = judge
        && let Err(hint) = split(judge, directory)
    {
        let path = format!("{path}.judge");
        let message = format!("{path} is {judge:?}, {hint}");
        errors.push(ConfigError::new(ConfigCode::MissingReference, path, message));
    }
    let accounts = config.account_strategy.as_deref().map(|name| {
        let path = format!("{path}.account_strategy");
        let entry = strategy(name, &path)?;
        if !entry.for_accounts {
            let message = format!("{path} is {name:?}, which cannot choose among accounts");
            return Err(ConfigError::new(ConfigCode::BadValue, path, message));
        }
        Ok((entry.build)(&mut OptionReader::new(path, &OptionMap::new())))
    });
    let accounts = accounts.transpose().unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    match (built, errors.is_empty()) {
        (Some((entry, strategy)), true) => Ok(Combo {
            name: config.name.as_str().into(),
            strategy: strategy.clone(),
            entry,
            accounts,
            execution,
            handover,
            // A combo is one voice of a panel, or one step of a chain.
            executes: nested == 1 || nested == 2 && strategy.traits().many,
            judge: judge.map(Arc::from),
            steps: config.steps.clone(),
        }),
        _ => Err(errors),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use omniroute_core::ModelFact;

    use super::*;
    use crate::directory::{Connection, Listed};

    fn directory() -> Listed {
        Listed::new()
            .connection(Connection::new("openai", "acct-1"))
            .connection(Connection::new("anthropic", "acct-1"))
            .model("openai", "gpt-4o", ModelFact::default())
            .model("openai", "shared", ModelFact::default())
            .model("anthropic", "claude-sonnet-4-5", ModelFact::default())
            .model("anthropic", "shared", ModelFact::default())
    }

    fn combo(name: &str, steps: Vec<StepConfig>) -> ComboConfig {
        ComboConfig {
            name: name.to_owned(),
            strategy: "priority".to_owned(),
            steps,
            ..ComboConfig::default()
        }
    }

    fn errors(configs: Vec<ComboConfig>) -> Vec<String> {
        Combos::load(configs, &directory()).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_mistake_is_found_at_load_with_its_place() {
        let mut daily = combo(
            "daily",
            vec![
                StepConfig::model("opnai/gpt-4o"),
                StepConfig::combo("nigthly"),
                StepConfig::model("shared"),
            ],
        );
        daily.steps[0].weight = Some(101.0);
        daily.steps[1].accounts = Some(Vec::new());
        daily.strategy = "priorty".to_owned();
        let mut nightly = combo("nightly", vec![StepConfig::default()]);
        nightly.options.insert("max_attempts".to_owned(), OptionValue::Number(31.0));
        nightly.options.insert("max_atempts".to_owned(), OptionValue::Number(3.0));
        nightly.account_strategy = Some("fusion".to_owned());
        assert_eq!(
            errors(vec![daily, nightly, combo("auto/x", vec![]), combo("b ad", vec![])]),
            [
                "combo.daily.step[1].model is \"opnai/gpt-4o\", which no configured provider has; did you mean provider \"openai\"",
                "combo.daily.step[1].weight is 101, allowed is 0 to 100",
                "combo.daily.step[2].combo is \"nigthly\", which is no combo; did you mean \"nightly\"",
                "combo.daily.step[2].accounts is empty, which means nobody; leave it out for all",
                "combo.daily.step[3].model is \"shared\", which several providers have: openai/shared, anthropic/shared",
                "combo.daily.strategy names strategy \"priorty\", which is not known; did you mean \"priority\"",
                "combo.nightly.step[1] names neither a model nor a combo",
                "combo.nightly.max_attempts is 31, allowed is 1 to 30",
                "combo.nightly.max_atempts is no known key; did you mean \"max_attempts\"",
                "combo.nightly.account_strategy is \"fusion\", which cannot choose among accounts",
                "combo.auto/x has a name that is taken; auto chooses among connections, never among combos",
                "combo.b ad is not well formed; a name has 1 to 80 letters, digits, dots, underscores, slashes and hyphens",
            ]
        );
    }

    #[test]
    fn circles_and_depth_are_found() {
        let to = |name: &str, next: &str| combo(name, vec![StepConfig::combo(next)]);
        assert_eq!(
            errors(vec![to("a", "b"), to("b", "a")]),
            [
                "combo.b.step[1].combo leads in a circle: a → b → a",
                "combo.a.step[1].combo leads in a circle: b → a → b"
            ]
        );
        let end = combo("e", vec![StepConfig::model("openai/gpt-4o")]);
        let chain = vec![to("a", "b"), to("b", "c"), to("c", "d"), end.clone(), to("d", "e")];
        assert_eq!(
            errors(chain),
            ["combo.d.step[1].combo is the level 4 of combos inside combos, allowed are 3"]
        );
        let chain = vec![to("b", "c"), to("c", "d"), end, to("d", "e")];
        assert!(Combos::load(chain, &directory()).is_ok());
    }

    #[test]
    fn odd_things_are_warnings() {
        let mut odd = combo("gpt-4o", vec![StepConfig::model("openai/gpt-9")]);
        odd.steps[0].accounts = Some(vec!["acct-1".to_owned(), "acct-7".to_owned()]);
        let combos = Combos::load(vec![odd], &directory()).unwrap();
        assert_eq!(
            combos.warnings,
            [
                "combo.gpt-4o has the name of a model; the combo is used",
                "combo.gpt-4o.step[1].model is \"openai/gpt-9\", which is not in the catalogue",
                "combo.gpt-4o.step[1].accounts has \"acct-7\", which openai has not; it is ignored",
            ]
        );
        let execution = combos.get("gpt-4o").unwrap().execution.clone();
        assert_eq!((execution.max_attempts, execution.deadline), (8, Some(Duration::from_secs(600))));
    }

    #[test]
    fn a_judge_has_to_be_somebody() {
        let mut panel = combo("panel", vec![StepConfig::model("openai/gpt-4o")]);
        panel.options.insert("judge".to_owned(), OptionValue::Text("opnai/gpt-4o".to_owned()));
        let combos = Combos::load(vec![panel.clone()], &directory()).unwrap();
        assert_eq!(combos.warnings, ["combo.panel.judge is only used by fusion"]);
        assert_eq!(combos.get("panel").unwrap().judge, None);
        panel.strategy = "fusion".to_owned();
        assert_eq!(
            errors(vec![panel]),
            [
                "combo.panel.judge is \"opnai/gpt-4o\", which no configured provider has; did you mean provider \"openai\""
            ]
        );
    }
}
