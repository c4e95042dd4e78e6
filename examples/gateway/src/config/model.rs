//! A configuration without mistakes, as the program uses it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use omniroute_route::{ComboConfig, OptionMap, OptionValue, StepConfig};
use serde::Deserialize;
use serde_json::Value as Plain;

use super::Sources;
use super::secret::Secret;
use crate::exit::Failure;

/// A configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Config {
    pub(crate) connections: Vec<ConnectionLine>,
    pub(crate) providers: Vec<ProviderLine>,
    pub(crate) models: Models,
    combos: Vec<ComboLine>,
    pub(crate) routing: Routing,
    pub(crate) gateway: GatewayLine,
    pub(crate) store: StoreLine,
    #[serde(skip)]
    pub(crate) compression: omniroute::Config,
    #[serde(skip)]
    pub(crate) resilience: omniroute_resilience::Config,
}

/// A connection.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ConnectionLine {
    /// `provider/name`.
    pub(crate) id: String,
    key: Option<Secret>,
    keys: Vec<Secret>,
    pub(crate) key_strategy: KeyStrategy,
    pub(crate) base_url: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) account: Account,
    pub(crate) billing: Billing,
    pub(crate) disabled: bool,
    pub(crate) only_named: Option<bool>,
    pub(crate) max_concurrent: Option<u32>,
    pub(crate) rpm: Option<u32>,
    pub(crate) tpm: Option<u64>,
    pub(crate) rpd: Option<u32>,
    pub(crate) tpd: Option<u64>,
}

impl ConnectionLine {
    /// One of which nothing else is said.
    pub(crate) fn named(id: String) -> ConnectionLine {
        ConnectionLine { id, ..ConnectionLine::default() }
    }

    /// Its keys, in order.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.key.iter().chain(&self.keys)
    }
}

/// Which of several keys comes next.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyStrategy {
    #[default]
    RoundRobin,
    LeastRecent,
    FirstHealthy,
}

/// What kind of account.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Account {
    Free,
    #[default]
    Standard,
    Pro,
    Ultra,
}

/// How calls are paid.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Billing {
    #[default]
    Metered,
    Subscription,
    Free,
}

/// A provider that the catalogue lacks, or more models of one that it has.
#[derive(Debug, Deserialize)]
pub(crate) struct ProviderLine {
    pub(crate) id: String,
    pub(crate) wire: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) class: Option<String>,
    #[serde(default)]
    pub(crate) models: Vec<ModelLine>,
}

/// A model that the catalogue lacks. Prices are USD for a million tokens.
#[derive(Debug, Deserialize)]
pub(crate) struct ModelLine {
    pub(crate) id: String,
    pub(crate) context: Option<u64>,
    pub(crate) max_output: Option<u64>,
    pub(crate) input_usd: Option<f64>,
    pub(crate) output_usd: Option<f64>,
    pub(crate) tools: Option<bool>,
    pub(crate) vision: Option<bool>,
}

/// Other names of models.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Models {
    pub(crate) aliases: BTreeMap<String, String>,
}

/// What holds for all routes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Routing {
    pub(crate) default: Option<String>,
    pub(crate) seed: u64,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) auto: AutoLine,
}

/// The strategy behind the name `auto`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AutoLine {
    mode: Option<String>,
    exploration: Option<f64>,
    pub(crate) budget_usd_per_request: Option<f64>,
    weights: BTreeMap<String, f64>,
}

impl AutoLine {
    /// Its settings as those of the strategy; none: nothing is said.
    pub(crate) fn options(&self) -> Option<OptionMap> {
        let mut out = OptionMap::new();
        if let Some(mode) = &self.mode {
            out.insert("pack".to_owned(), OptionValue::Text(mode.clone()));
        }
        if let Some(share) = self.exploration.filter(|share| *share > 0.0) {
            out.insert("router".to_owned(), OptionValue::Text("adaptive".to_owned()));
            out.insert("exploration".to_owned(), OptionValue::Number(share));
        }
        if !self.weights.is_empty() {
            let weights =
                self.weights.iter().map(|(name, weight)| (name.clone(), OptionValue::Number(*weight)));
            out.insert("weights".to_owned(), OptionValue::Map(weights.collect()));
        }
        (!out.is_empty()).then_some(out)
    }
}

#[derive(Debug, Deserialize)]
struct ComboLine {
    name: String,
    strategy: String,
    account_strategy: Option<String>,
    steps: Vec<StepLine>,
    judge: Option<String>,
    compression: Option<String>,
    #[serde(default)]
    options: serde_json::Map<String, Plain>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StepLine {
    model: Option<String>,
    combo: Option<String>,
    weight: Option<f64>,
    connection: Option<String>,
    connections: Option<Vec<String>>,
    tags: Vec<String>,
    label: Option<String>,
    prompt: Option<String>,
    only_on_quota_exhaustion: bool,
}

/// The section `[gateway]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GatewayLine {
    pub(crate) listen: Option<String>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) headers: Option<String>,
    pub(crate) keys: Vec<KeyLine>,
    pub(crate) cors: CorsLine,
    pub(crate) max_in_flight: Option<usize>,
    max_body: Option<usize>,
    max_body_bytes: Option<usize>,
    shutdown_grace: Option<u64>,
    shutdown_grace_ms: Option<u64>,
    ping: Option<u64>,
    ping_ms: Option<u64>,
}

impl GatewayLine {
    /// Longest body of a request, in bytes.
    pub(crate) fn max_body(&self) -> Option<usize> {
        self.max_body.or(self.max_body_bytes)
    }

    /// How long streams may go on after the signal to end.
    pub(crate) fn shutdown_grace(&self) -> Option<Duration> {
        self.shutdown_grace.or(self.shutdown_grace_ms).map(Duration::from_millis)
    }

    /// The silence after which streams say that they are alive.
    pub(crate) fn ping(&self) -> Option<Duration> {
        self.ping.or(self.ping_ms).map(Duration::from_millis)
    }
}

/// A key of a caller.
#[derive(Debug, Deserialize)]
pub(crate) struct KeyLine {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) scopes: Vec<String>,
    #[serde(default)]
    pub(crate) connections: Vec<String>,
}

/// Pages of browsers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CorsLine {
    pub(crate) origins: Vec<String>,
    pub(crate) management: bool,
}

/// The section `[store]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StoreLine {
    pub(crate) kind: Option<String>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) url: Option<Secret>,
    /// The server keeps every acknowledged write.
    pub(crate) durable: bool,
}

impl Config {
    /// The configuration of sources without errors.
    ///
    /// # Errors
    /// All mistakes, as they are told.
    pub(crate) fn of(sources: &Sources) -> Result<Config, Failure> {
        if sources.mistakes.iter().any(super::Mistake::is_error) {
            return Err(Failure::told(sources.text(crate::terminal::Paint::stderr())));
        }
        // What the walk lets through fits; if not, that is said and nothing is started.
        let mut config: Config = serde_json::from_value(sources.plain.clone())
            .map_err(|error| Failure::config(format!("the configuration cannot be used: {error}")))?;
        let folder =
            |number: usize| sources.list.get(number).map(|source| source.folder.clone()).unwrap_or_default();
        for line in &mut config.connections {
            for secret in line.key.iter_mut().chain(&mut line.keys) {
                secret.from(&folder(secret.source));
            }
        }
        if let Some(url) = &mut config.store.url {
            url.from(&folder(url.source));
        }
        if let (Some(path), Some(node)) = (&mut config.store.path, sources.root.find(&["store", "path"])) {
            *path = folder(node.spot.source).join(&path);
        }
        (config.compression, config.resilience) =
            super::check::sections::read(&sources.root, &mut Vec::new());
        Ok(config)
    }

    /// The combos, for a router.
    pub(crate) fn combos(&self) -> Vec<ComboConfig> {
        let mut combos: Vec<ComboConfig> = self.combos.iter().map(combo).collect();
        // What is switched off altogether stays off.
        if self.compression.plan() == "off" && !self.compression.enabled() {
            combos.iter_mut().for_each(|combo| drop(combo.options.remove("compression")));
        }
        combos
    }
}

fn combo(line: &ComboLine) -> ComboConfig {
    let steps = line.steps.iter().map(|step| StepConfig {
        model: step.model.clone(),
        combo: step.combo.clone(),
        weight: step.weight,
        accounts: accounts(step.connection.as_deref(), step.connections.as_deref()),
        tags: step.tags.clone(),
        label: step.label.clone(),
        prompt: step.prompt.clone(),
        only_on_quota_exhaustion: step.only_on_quota_exhaustion,
    });
    let mut combo = ComboConfig::new(&line.name, &line.strategy, steps.collect());
    combo.options =
        line.options.iter().filter_map(|(key, value)| Some((key.clone(), option(value)?))).collect();
    if let Some(judge) = &line.judge {
        combo.options.insert("judge".to_owned(), OptionValue::Text(judge.clone()));
    }
    if let Some(plan) = &line.compression {
        combo.options.insert("compression".to_owned(), OptionValue::Text(plan.clone()));
    }
    combo.account_strategy.clone_from(&line.account_strategy);
    combo
}

/// Names of connections, without their provider.
pub(super) fn accounts(one: Option<&str>, several: Option<&[String]>) -> Option<Vec<String>> {
    let name = |id: &str| id.split_once('/').map_or(id, |(_, name)| name).to_owned();
    match (one, several) {
        (None, None) => None,
        (one, several) => Some(
            one.into_iter().chain(several.unwrap_or_default().iter().map(String::as_str)).map(name).collect(),
        ),
    }
}

/// A setting in the router's words.
pub(super) fn option(value: &Plain) -> Option<OptionValue> {
    Some(match value {
        Plain::String(text) => OptionValue::Text(text.clone()),
        Plain::Number(number) => OptionValue::Number(number.as_f64()?),
        Plain::Bool(flag) => OptionValue::Flag(*flag),
        Plain::Array(items) => OptionValue::List(items.iter().map(option).collect::<Option<_>>()?),
        Plain::Object(map) => OptionValue::Map(
            map.iter().map(|(key, value)| Some((key.clone(), option(value)?))).collect::<Option<_>>()?,
        ),
        Plain::Null => return None,
    })
}
