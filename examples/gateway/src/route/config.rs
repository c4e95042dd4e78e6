//! The configuration of routes: connections, models that the catalogue lacks, combos, other names. Keys are never in
//! it, only the names of variables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use omniroute_route::{ComboConfig, OptionMap, OptionValue, StepConfig};
use serde::Deserialize;

use crate::exit::Failure;
use crate::input;
use crate::progress::Progress;

/// Where the configuration comes from.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Configuration; by default the file that OMNIROUTE_CONFIG names. No folder is searched
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A connection beside those of the configuration, such as openai/work; several times for several
    #[arg(long, value_name = "PROVIDER/NAME")]
    connection: Vec<String>,
    /// Where random numbers start, instead of the seed of the configuration
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

/// A configuration as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) connections: Vec<ConnectionLine>,
    pub(crate) providers: Vec<ProviderLine>,
    pub(super) models: Models,
    combos: Vec<ComboLine>,
    pub(crate) routing: Routing,
    #[cfg(feature = "serve")]
    pub(crate) gateway: crate::serve::GatewayLine,
    #[cfg(feature = "serve")]
    pub(crate) compression: crate::serve::CompressionLine,
    #[cfg(feature = "serve")]
    pub(crate) store: crate::serve::StoreLine,
}

/// A connection.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectionLine {
    /// `provider/name`.
    pub(crate) id: String,
    /// Kept as a value, so that no message can show a key that somebody wrote here.
    #[serde(default)]
    key: Option<toml::Value>,
    /// The variable that holds the key; read from `key`.
    #[serde(skip)]
    pub(crate) env: Option<String>,
    #[serde(default)]
    pub(super) account: Account,
    #[serde(default)]
    pub(super) billing: Billing,
    #[serde(default)]
    pub(super) disabled: bool,
    pub(super) only_named: Option<bool>,
}

#[cfg(feature = "serve")]
impl ConnectionLine {
    /// One of which nothing else is said.
    pub(crate) fn named(id: String) -> ConnectionLine {
        ConnectionLine { id, ..ConnectionLine::default() }
    }
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
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderLine {
    pub(crate) id: String,
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only who calls it needs it"))]
    pub(crate) wire: Option<String>,
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only who calls it needs it"))]
    pub(crate) base_url: Option<String>,
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only who calls it needs it"))]
    pub(crate) class: Option<String>,
    #[serde(default)]
    pub(super) models: Vec<ModelLine>,
}

/// A model that the catalogue lacks. Prices are USD for a million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelLine {
    pub(super) id: String,
    pub(super) context: Option<u64>,
    pub(super) max_output: Option<u64>,
    pub(super) input_usd: Option<f64>,
    pub(super) output_usd: Option<f64>,
    pub(super) tools: Option<bool>,
    pub(super) vision: Option<bool>,
}

/// Other names of models.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Models {
    pub(super) aliases: BTreeMap<String, String>,
}

/// What holds for all routes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Routing {
    pub(crate) seed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComboLine {
    name: String,
    strategy: String,
    account_strategy: Option<String>,
    steps: Vec<toml::Value>,
    #[serde(default)]
    options: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepLine {
    model: Option<String>,
    combo: Option<String>,
    weight: Option<f64>,
    connections: Option<Vec<String>>,
    #[serde(default)]
    tags: Vec<String>,
    label: Option<String>,
    prompt: Option<String>,
    #[serde(default)]
    only_on_quota_exhaustion: bool,
}

impl ConfigArgs {
    /// Reads it.
    pub(super) fn read(&self) -> Result<Config, Failure> {
        let config = self.read_or_empty()?;
        if config.connections.is_empty() {
            return Err(Failure::usage(
                "no connections are configured: name a file with --config, or a connection with --connection",
            ));
        }
        Ok(config)
    }

    /// Reads it; without one there is nothing in it.
    pub(crate) fn read_or_empty(&self) -> Result<Config, Failure> {
        let named = std::env::var_os("OMNIROUTE_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
        let mut config = match self.config.as_ref().or(named.as_ref()) {
            Some(path) => Config::parse(path, &text(path)?)?,
            None => Config::default(),
        };
        for id in &self.connection {
            config.connections.push(ConnectionLine { id: id.clone(), ..ConnectionLine::default() });
        }
        config.routing.seed = self.seed.unwrap_or(config.routing.seed);
        Ok(config)
    }
}

impl Config {
    fn parse(path: &Path, text: &str) -> Result<Config, Failure> {
        let mut config: Config = toml::from_str(text).map_err(|error| wrong(path, text, &error))?;
        for (number, connection) in (1..).zip(&mut config.connections) {
            connection.env = match connection.key.take() {
                None => None,
                Some(toml::Value::Table(table))
                    if table.len() == 1 && table.get("env").is_some_and(toml::Value::is_str) =>
                {
                    table.get("env").and_then(toml::Value::as_str).map(str::to_owned)
                }
                Some(_) => {
                    return Err(Failure::failed(format!(
                        "\"{}\": connections[{number}].key has to be {{ env = \"NAME\" }}; keys themselves are not read here",
                        path.display()
                    )));
                }
            };
        }
        // So that what is wrong with a combo is said with the name of the file.
        config.combos().map_err(|what| Failure::failed(format!("\"{}\": {what}", path.display())))?;
        Ok(config)
    }

    /// The combos, for a router.
    pub(super) fn combos(&self) -> Result<Vec<ComboConfig>, String> {
        self.combos.iter().map(combo).collect()
    }
}

/// Text of a file.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = input::read(Some(path), false, &mut Progress::new(true))?;
    match input::as_text(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Failure::failed(format!("cannot read \"{}\": {error}", path.display()))),
    }
}

/// A mistake with its line and column. The line itself is not shown.
pub(super) fn wrong(path: &Path, text: &str, error: &toml::de::Error) -> Failure {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Failure::failed(format!("\"{}\":{line}:{column}: {}", path.display(), error.message()))
}

fn combo(line: &ComboLine) -> Result<ComboConfig, String> {
    let place = |number: usize| format!("combo.{}.step[{}]", line.name, number + 1);
    let steps = line.steps.iter().enumerate().map(|(number, value)| {
        if let toml::Value::String(model) = value {
            return Ok(StepConfig::model(model));
        }
        let step: StepLine = value
            .clone()
            .try_into()
            .map_err(|e: toml::de::Error| format!("{}: {}", place(number), e.message()))?;
        Ok(StepConfig {
            model: step.model,
            combo: step.combo,
            weight: step.weight,
            accounts: step.connections,
            tags: step.tags,
            label: step.label,
            prompt: step.prompt,
            only_on_quota_exhaustion: step.only_on_quota_exhaustion,
        })
    });
    let steps = steps.collect::<Result<_, String>>()?;
    let options = options(&line.options).map_err(|key| {
        format!(
            "combo.{}.options.{key} is a date, allowed are numbers, texts, flags, lists and tables",
            line.name
        )
    })?;
    let mut combo = ComboConfig::new(&line.name, &line.strategy, steps);
    combo.options = options;
    combo.account_strategy.clone_from(&line.account_strategy);
    Ok(combo)
}

/// Settings in the router's words; the error is the key of a value that no setting can be.
fn options(table: &toml::Table) -> Result<OptionMap, String> {
    table.iter().map(|(key, value)| Ok((key.clone(), option(value).ok_or_else(|| key.clone())?))).collect()
}

fn option(value: &toml::Value) -> Option<OptionValue> {
    Some(match value {
        toml::Value::String(text) => OptionValue::Text(text.clone()),
        #[expect(clippy::cast_precision_loss, reason = "settings are far below 2^53, and bounds are checked")]
        toml::Value::Integer(number) => OptionValue::Number(*number as f64),
        toml::Value::Float(number) => OptionValue::Number(*number),
        toml::Value::Boolean(flag) => OptionValue::Flag(*flag),
        toml::Value::Array(items) => OptionValue::List(items.iter().map(option).collect::<Option<_>>()?),
        toml::Value::Table(table) => OptionValue::Map(options(table).ok()?),
        toml::Value::Datetime(_) => return None,
    })
}
