//! A step: what it may name, and what is wrong or odd about it.

use std::sync::Arc;

use crate::directory::{Directory, Named, named};
use crate::error::{ConfigCode, ConfigError};
use crate::names::nearest;

/// Longest extra text of a step, in bytes.
const PROMPT: usize = 32 * 1_024;

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

/// What is wrong with a step, and what is odd about it.
pub(super) fn check(
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
    if text.ends_with('/') {
        return Err("which has no model".to_owned());
    }
    let providers = directory.providers();
    match named(text, &providers, directory) {
        Named::Full(provider, model) => Ok((provider, model)),
        Named::Bare(provider) => Ok((provider, text.into())),
        Named::Nobody => {
            let name = text.split_once('/').map_or(text, |(provider, _)| provider);
            let near = nearest(name, providers.iter().map(|provider| &**provider), 1);
            Err(match near.first() {
                Some(near) => format!("which no configured provider has; did you mean provider {near:?}"),
                None => "which no configured provider has".to_owned(),
            })
        }
        Named::Several(owners) => {
            let all: Vec<String> = owners.iter().take(5).map(|owner| format!("{owner}/{text}")).collect();
            Err(format!("which several providers have: {}", all.join(", ")))
        }
    }
}
