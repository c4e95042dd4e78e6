//! A router over a configuration: facts of models from the catalogue, calls to whoever the caller says.

use std::sync::Arc;

use omniroute_core::route::{AccountTier, Billing, RouteOptions};
use omniroute_core::{Capability, Env, ModelFact, ModelFacts, Provider};
use omniroute_providers::{Availability, Catalog, Medium, Status, Terms};
use omniroute_route::{Connection, Execution, OptionReader, Router, RouterBuilder, strategy};

use super::config::{self, Config, ConnectionLine, ModelLine};
use crate::exit::{Failure, note};

/// A router of the configuration. `keys`: a connection without its key cannot be used; else nobody asks.
pub(super) fn router(
    config: &Config,
    env: Env,
    keys: bool,
    vendor: impl Fn(&str, &str) -> Arc<dyn Provider>,
) -> Result<Router, Failure> {
    router_with(config, &Catalog::embedded(), env, keys, vendor, |builder| builder)
}

/// [`router`] over another catalogue, with what `more` adds.
pub(crate) fn router_with(
    config: &Config,
    catalog: &Catalog,
    env: Env,
    keys: bool,
    vendor: impl Fn(&str, &str) -> Arc<dyn Provider>,
    more: impl FnOnce(RouterBuilder) -> RouterBuilder,
) -> Result<Router, Failure> {
    let mut builder = Router::builder(env).seed(config.routing.seed);
    let mut known: Vec<&str> = Vec::new();
    for (number, line) in (1..).zip(&config.connections) {
        let place = format!("connections[{number}].id");
        let (provider, name) =
            line.id.split_once('/').filter(|(_, name)| !name.is_empty()).ok_or_else(|| {
                Failure::failed(format!("{place} is {:?}, it has to be provider/name", line.id))
            })?;
        if config.connections.iter().take(number - 1).any(|other| other.id == line.id) {
            return Err(Failure::failed(format!("{place} is {:?}, which is there twice", line.id)));
        }
        let declared = config.providers.iter().any(|own| own.id == provider);
        let mut connection = connection(line, provider, name, keys);
        match catalog.provider(provider).filter(|row| row.id == provider) {
            Some(row) => {
                let state = Availability::of(&row);
                if !declared && !matches!(state, Availability::Built | Availability::NeedsBaseUrl) {
                    return Err(Failure::failed(format!(
                        "{place} names provider {provider:?}, which cannot be called: {}",
                        state.reason()
                    )));
                }
                // Somebody has to name those who need no key, and those whose terms are against programs.
                let shy = row.terms == Terms::Avoid || (row.anonymous && line.secrets().next().is_none());
                connection.only_named = line.only_named.unwrap_or(shy);
            }
            None if declared => connection.only_named = line.only_named.unwrap_or(false),
            None => {
                return Err(Failure::not_found(format!(
                    "{place} names provider {provider:?}, which is neither in the catalogue nor under providers{}",
                    meant(catalog, provider)
                )));
            }
        }
        builder = builder.connection(connection, vendor(provider, name));
        if known.contains(&provider) {
            continue;
        }
        known.push(provider);
        for row in catalog.models_of(provider) {
            let speaks = row.outputs.is_none_or(|outputs| outputs.has(Medium::Text));
            if speaks && row.status != Status::Removed {
                builder =
                    builder.model(provider, &row.id, catalog.lookup(provider, &row.id).unwrap_or_default());
            }
        }
        for own in config.providers.iter().filter(|own| own.id == provider) {
            for model in &own.models {
                builder = builder.model(provider, &model.id, fact(model));
            }
        }
    }
    for combo in config.combos() {
        builder = builder.combo(combo);
    }
    let mut options = RouteOptions::default();
    options.budget = config.routing.auto.budget_usd_per_request;
    builder = builder.options(options);
    if let Some(most) = config.routing.max_attempts {
        let mut execution = Execution::default();
        execution.max_attempts = most;
        builder = builder.execution(execution);
    }
    if let (Some(map), Ok(entry)) = (config.routing.auto.options(), strategy("auto", "routing.auto")) {
        let mut reader = OptionReader::new("routing.auto", &map);
        let strategy = (entry.build)(&mut reader);
        reader.finish().map_err(|errors| {
            Failure::config(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        builder = builder.auto(strategy);
    }
    for (from, to) in &config.models.aliases {
        builder = builder.mapping(from, to);
    }
    let router = more(builder).build().map_err(|errors| {
        Failure::failed(errors.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n       "))
    })?;
    router.warnings().iter().for_each(|warning| note(warning));
    Ok(router)
}

fn connection(line: &ConnectionLine, provider: &str, name: &str, keys: bool) -> Connection {
    let mut connection = Connection::new(provider, name);
    connection.account = match line.account {
        config::Account::Free => AccountTier::Free,
        config::Account::Standard => AccountTier::Standard,
        config::Account::Pro => AccountTier::Pro,
        config::Account::Ultra => AccountTier::Ultra,
    };
    connection.billing = match line.billing {
        config::Billing::Metered => Billing::Metered,
        config::Billing::Subscription => Billing::Subscription,
        config::Billing::Free => Billing::Free,
    };
    connection.disabled = line.disabled;
    // Without any of the keys that are named there is nothing to sign in with.
    let named = line.secrets().next().is_some();
    connection.no_credential = keys && named && !line.secrets().any(crate::config::secret::Secret::is_there);
    connection
}

fn fact(line: &ModelLine) -> ModelFact {
    let mut fact = ModelFact::default().usd(line.input_usd, line.output_usd);
    fact.context_window = line.context;
    fact.max_output = line.max_output;
    fact.capabilities.set(Capability::Tools, line.tools);
    fact.capabilities.set(Capability::ImageInput, line.vision);
    fact
}

/// The provider that was probably meant: one that begins alike.
fn meant(catalog: &Catalog, name: &str) -> String {
    if let Some(row) = catalog.provider(name) {
        return format!("; did you mean {:?}", row.id);
    }
    let stem = name.get(..3).unwrap_or(name);
    let near: Vec<String> = catalog
        .providers()
        .filter(|row| row.id.starts_with(stem) && matches!(Availability::of(row), Availability::Built))
        .map(|row| row.id.to_string())
        .take(5)
        .collect();
    if near.is_empty() { String::new() } else { format!("; there are {}", near.join(", ")) }
}
