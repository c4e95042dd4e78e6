//! Combos: named lists of steps with a strategy, checked when they are loaded and not at the first request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::RoutingStrategy;

use crate::directory::Directory;
use crate::error::{ConfigCode, ConfigError};
use crate::names::nearest;
use crate::options::{OptionMap, OptionReader};
use crate::registry::{StrategyEntry, strategy};

/// Levels of combos inside combos.
const DEPTH: usize = 3;
/// Longest extra text of a step, in bytes.
const PROMPT: usize = 32 * 1_024;

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

/// A step as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepConfig {
    /// `provider/model`, `provider/*`, or a model that only one provider has.
    pub model: Option<String>,
    /// Another combo instead of a model.
    pub combo: Option<String>,
    /// Share of the traffic, 0 to 100. Default: 1.
    pub weight: Option<f64>,
    /// Only these accounts; none: all.
    pub accounts: Option<Vec<String>>,
    /// What requests may ask for.
    pub tags: Vec<String>,
    /// Name for people.
    pub label: Option<String>,
    /// Extra system text; only chains use it.
    pub prompt: Option<String>,
    /// Opens only when every step before is out of quota.
    pub only_on_quota_exhaustion: bool,
}

impl StepConfig {
    /// A step of a model with the defaults.
    pub fn model(model: &str) -> Self {
        StepConfig { model: Some(model.to_owned()), ..StepConfig::default() }
    }

    /// A step that is another combo.
    pub fn combo(name: &str) -> Self {
        StepConfig { combo: Some(name.to_owned()), ..StepConfig::default() }
    }
}

/// How attempts of a combo are made. Nothing here is decided by a strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Execution {
    /// Attempts at most.
    pub max_attempts: u32,
    /// More attempts at the same target, where a failure allows it.
    pub same_target_retries: u32,
    /// Wait between targets.
    pub fallback_delay: Duration,
    /// Further passes over the whole list.
    pub set_retries: u32,
    /// Time for one attempt.
    pub target_timeout: Duration,
    /// Time for the request; none: no limit.
    pub deadline: Option<Duration>,
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
                check_step(step, &path, &names, directory, &mut errors, &mut combos.warnings);
            }
            match build(&config, &path, &mut combos.warnings) {
                Ok(combo) => {
                    combos.index.entry(combo.name.clone()).or_insert(combos.combos.len());
                    combos.combos.push(combo);
                }
                Err(more) => errors.extend(more),
            }
        }
        if errors.is_empty() {
            combos.nesting(&mut errors);
        }
        if errors.is_empty() { Ok(combos) } else { Err(errors) }
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

fn check_step(
    step: &StepConfig,
    path: &str,
    names: &[String],
    directory: &dyn Directory,
    errors: &mut Vec<ConfigError>,
    warnings: &mut Vec<String>,
) {
    let mut error = |code, key: &str, message: String| {
        let path = if key.is_empty() { path.to_owned() } else { format!("{path}.{key}") };
        errors.push(ConfigError::new(code, &path, format!("{path} {message}")));
    };
    match (&step.model, &step.combo) {
        (None, None) => error(ConfigCode::BadValue, "", "names neither a model nor a combo".to_owned()),
        (Some(_), Some(_)) => error(ConfigCode::BadValue, "", "names both a model and a combo".to_owned()),
        (None, Some(combo)) if !names.contains(combo) => {
            let near = nearest(combo, names.iter().map(String::as_str), 1);
            let hint = near.first().map_or_else(String::new, |name| format!("; did you mean {name:?}"));
            error(ConfigCode::MissingReference, "combo", format!("is {combo:?}, which is no combo{hint}"));
        }
        (None, Some(_)) => {}
        (Some(model), None) => match split(model, directory) {
            Ok((provider, model)) => {
                if &*model != "*" && directory.facts(&provider, &model).is_none() {
                    warnings.push(format!(
                        "{path}.model is \"{provider}/{model}\", which is not in the catalogue"
                    ));
                }
                if let Some(accounts) = &step.accounts {
                    let known = |account: &String| {
                        directory
                            .connections()
                            .iter()
                            .any(|connection| connection.provider == provider && *connection.id == **account)
                    };
                    for account in accounts.iter().filter(|account| !known(account)) {
                        warnings.push(format!(
                            "{path}.accounts has {account:?}, which {provider} has not; it is ignored"
                        ));
                    }
                }
            }
            Err(hint) => error(ConfigCode::MissingReference, "model", format!("is {model:?}, {hint}")),
        },
    }
    if step.accounts.as_ref().is_some_and(Vec::is_empty) {
        error(
            ConfigCode::EmptyAccounts,
            "accounts",
            "is empty, which means nobody; leave it out for all".to_owned(),
        );
    }
    if let Some(weight) = step.weight.filter(|weight| !(0.0..=100.0).contains(weight)) {
        error(ConfigCode::BadWeight, "weight", format!("is {weight}, allowed is 0 to 100"));
    }
    if step.prompt.as_ref().is_some_and(|prompt| prompt.len() > PROMPT) {
        error(ConfigCode::BadValue, "prompt", format!("has more than {PROMPT} bytes"));
    }
}

/// Provider and model of a step's text, or why there are none.
pub(crate) fn split(text: &str, directory: &dyn Directory) -> Result<(Arc<str>, Arc<str>), String> {
    let providers = directory.providers();
    if let Some((provider, model)) = text.split_once('/')
        && let Some(provider) = providers.iter().find(|known| known.eq_ignore_ascii_case(provider))
    {
        return if model.is_empty() {
            Err("which has no model".to_owned())
        } else {
            Ok((provider.clone(), model.into()))
        };
    }
    let owners: Vec<&Arc<str>> =
        providers.iter().filter(|provider| directory.facts(provider, text).is_some()).collect();
    match owners.as_slice() {
        [owner] => Ok(((*owner).clone(), text.into())),
        [] => {
            let name = text.split_once('/').map_or(text, |(provider, _)| provider);
            let near = nearest(name, providers.iter().map(|provider| &**provider), 1);
            Err(match near.first() {
                Some(near) => format!("which no configured provider has; did you mean provider {near:?}"),
                None => "which no configured provider has".to_owned(),
            })
        }
        several => {
            let all: Vec<String> = several.iter().take(5).map(|owner| format!("{owner}/{text}")).collect();
            Err(format!("which several providers have: {}", all.join(", ")))
        }
    }
}

fn build(config: &ComboConfig, path: &str, warnings: &mut Vec<String>) -> Result<Combo, Vec<ConfigError>> {
    let entry = strategy(&config.strategy, &format!("{path}.strategy")).map_err(|error| vec![error]);
    let accounts = config.account_strategy.as_deref().map(|name| {
        let path = format!("{path}.account_strategy");
        let entry = strategy(name, &path)?;
        if !entry.for_accounts {
            let message = format!("{path} is {name:?}, which cannot choose among accounts");
            return Err(ConfigError::new(ConfigCode::BadValue, path, message));
        }
        Ok((entry.build)(&mut OptionReader::new(path, &OptionMap::new())))
    });
    let mut errors = Vec::new();
    let mut reader = OptionReader::new(path, &config.options);
    let execution = Execution::read(&mut reader);
    let built = match entry {
        Ok(entry) => Some((entry, (entry.build)(&mut reader))),
        Err(more) => {
            errors.extend(more);
            None
        }
    };
    let judge = match config.options.get("judge") {
        Some(crate::options::OptionValue::Text(judge)) => Some(Arc::<str>::from(judge.as_str())),
        _ => None,
    };
    if judge.is_some() && built.as_ref().is_some_and(|(entry, _)| entry.id != "fusion") {
        warnings.push(format!("{path}.judge is only used by fusion"));
        let _used = reader.text("judge");
    }
    if built.is_some()
        && let Err(more) = reader.finish()
    {
        errors.extend(more);
    }
    let accounts = accounts.transpose().unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    match (built, errors.is_empty()) {
        (Some((entry, strategy)), true) => Ok(Combo {
            name: config.name.as_str().into(),
            strategy,
            entry,
            accounts,
            execution,
            judge,
            steps: config.steps.clone(),
        }),
        _ => Err(errors),
    }
}

impl Execution {
    fn read(reader: &mut OptionReader<'_>) -> Execution {
        let mut seconds =
            |key, default, low, high| Duration::from_secs_f64(reader.number(key, default, low, high));
        let fallback_delay = seconds("fallback_delay", 0.0, 0.0, 5.0);
        let target_timeout = seconds("target_timeout", 120.0, 1.0, 600.0);
        let deadline = seconds("deadline", 600.0, 0.0, 86_400.0);
        Execution {
            max_attempts: reader.whole("max_attempts", 8, 1, 30),
            same_target_retries: reader.whole("same_target_retries", 1, 0, 5),
            fallback_delay,
            set_retries: reader.whole("set_retries", 0, 0, 10),
            target_timeout,
            deadline: (!deadline.is_zero()).then_some(deadline),
        }
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::ModelFact;

    use super::*;
    use crate::directory::{Connection, Listed};
    use crate::options::OptionValue;

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
        let execution = combos.get("gpt-4o").unwrap().execution;
        assert_eq!((execution.max_attempts, execution.deadline), (8, Some(Duration::from_secs(600))));
    }
}
