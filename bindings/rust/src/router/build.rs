//! From a configuration to a router.

use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::{AccountTier, Billing, RouteOptions};
use omniroute_core::{Capability, Env, ModelFact, ModelFacts, Provider};
use omniroute_providers::credentials::{CredentialError, CredentialSource, EnvKey, Fixed, Held};
use omniroute_providers::{Availability, Catalog, HttpProvider, Medium, Status, Terms, WireId};
use omniroute_route::{ComboConfig, Connection, Execution, OptionValue, Router, RouterBuilder};

use super::config::{ConnectionLine, Key, ModelLine, ProviderLine, RouterConfig, Routing};
use super::parts::Parts;
use crate::error::Error;
use crate::variants::{Counter, Variants};

/// Name of the connection of a provider that is the host's own.
const OWN: &str = "host";

/// Puts a router together. Every mistake is collected.
pub(super) fn router(config: &RouterConfig, parts: Parts, env: Env) -> Result<Router, Error> {
    let mut mistakes = Vec::new();
    let catalog = catalog(config, &mut mistakes);
    let mut builder = Router::builder(env)
        .seed(config.routing.seed)
        .execution(execution(&config.routing))
        .options(options(&config.routing));
    let mut known: Vec<&str> = Vec::new();
    for (n, line) in config.connections.iter().enumerate() {
        let place = format!("connections[{n}]");
        let Some((provider, name)) = line.id.split_once('/') else { continue };
        if config.connections.iter().take(n).any(|other| other.id == line.id) {
            mistakes.push(format!("{place}.id: {:?} is there twice", line.id));
            continue;
        }
        let Some((connection, vendor)) = connection(&catalog, line, (provider, name), &place, &mut mistakes)
        else {
            continue;
        };
        builder = builder.connection(connection, vendor);
        if !known.contains(&provider) {
            known.push(provider);
            builder = models(builder, &catalog, config, provider);
        }
    }
    for own in parts.providers {
        let id = own.id().as_str().to_owned();
        builder = builder.connection(Connection::new(id.as_str(), OWN), own.shared());
        for model in own.models() {
            builder = builder.model(&id, model, ModelFact::default());
        }
    }
    let mut compresses = config.compression.plan() != "off";
    for combo in &config.combos {
        let own = parts.strategies.iter().find(|strategy| strategy.id() == combo.strategy);
        let mut combo = combo.clone();
        if !config.compression.enabled() {
            combo.options.remove("compression");
        }
        compresses |= combo.options.contains_key("compression");
        builder = match own {
            Some(strategy) => builder.route(&combo.name, Arc::clone(strategy), combo.steps.clone()),
            None => builder.combo(with_usual(combo, &config.routing)),
        };
    }
    for (from, to) in &config.aliases {
        builder = builder.mapping(from, to);
    }
    if compresses {
        let variants = Variants::new(config.compression.clone())?;
        let plan = config.compression.plan();
        builder = builder.compressor(Arc::new(variants.get(plan, Counter::OfBody)?));
    }
    match builder.build() {
        Ok(router) if mistakes.is_empty() => Ok(router),
        Ok(_) => Err(Error::config(mistakes)),
        Err(errors) => {
            mistakes.extend(errors.0.iter().map(ToString::to_string));
            Err(Error::config(mistakes))
        }
    }
}

/// A connection and who answers for it.
fn connection(
    catalog: &Catalog,
    line: &ConnectionLine,
    (provider, name): (&str, &str),
    place: &str,
    mistakes: &mut Vec<String>,
) -> Option<(Connection, Arc<dyn Provider>)> {
    let Some(row) = catalog.provider(provider).filter(|row| row.id == provider) else {
        let meant = catalog.provider(provider).map(|row| row.id.to_string());
        let hint = meant.map_or_else(
            || "; one of your own needs \"base_url\"".to_owned(),
            |id| format!("; did you mean {id:?}?"),
        );
        mistakes.push(format!("{place}.id: provider {provider:?} is not in the catalogue{hint}"));
        return None;
    };
    let state = Availability::of(&row);
    let moved = line.base_url.is_some();
    if !matches!(state, Availability::Built | Availability::NeedsBaseUrl) {
        mistakes.push(format!("{place}.id: provider {provider:?} cannot be called: {}", state.reason()));
        return None;
    }
    let mut connection = Connection::new(provider, name);
    connection.account = match line.account.as_deref() {
        Some("free") => AccountTier::Free,
        Some("pro") => AccountTier::Pro,
        Some("ultra") => AccountTier::Ultra,
        _ => AccountTier::Standard,
    };
    connection.billing = match line.billing.as_deref() {
        Some("subscription") => Billing::Subscription,
        Some("free") => Billing::Free,
        _ => Billing::Metered,
    };
    connection.disabled = line.disabled;
    // Somebody has to name those who need no key, and those whose terms are against programs.
    let shy = row.terms == Terms::Avoid || (row.anonymous && line.key.is_none());
    connection.only_named = line.only_named.unwrap_or(shy);
    let mut builder = HttpProvider::builder(catalog, provider);
    builder = match &line.key {
        Some(Key::Itself(key)) => builder.credentials(Fixed(Held::key(key))),
        Some(Key::Variable(variable)) => {
            builder.credentials(Variable { provider: provider.to_owned(), variable: variable.clone() })
        }
        None if row.auth.optional || row.anonymous => builder,
        // The row's variables belong to the row's host.
        None if moved => builder,
        None => builder.credentials(EnvKey::of(&row)),
    };
    for (name, value) in &line.values {
        builder = builder.value(name, value);
    }
    if let Some(url) = &line.base_url {
        builder = builder.base_url(url);
    }
    if let Some(word) = &line.wire {
        match WireId::from_word(word) {
            Some(wire) => builder = builder.wire(wire),
            None => mistakes.push(wire_rule(&format!("{place}.wire"), word)),
        }
    }
    drop(row);
    match builder.build() {
        Ok(http) => Some((connection, Arc::new(http))),
        Err(error) => {
            mistakes.push(format!("{place}: {error}"));
            None
        }
    }
}

fn wire_rule(place: &str, word: &str) -> String {
    let shown: String = word.chars().take(40).collect();
    format!(
        "{place}: {shown:?} is not one of openai-chat, openai-responses, anthropic-messages, gemini, ollama, cohere"
    )
}

/// A key in a variable, looked up when it is needed.
#[derive(Debug, Clone)]
struct Variable {
    provider: String,
    variable: String,
}

#[async_trait::async_trait]
impl CredentialSource for Variable {
    async fn get(&self, _: &Env, _: Option<&Held>) -> Result<Held, CredentialError> {
        match std::env::var(&self.variable) {
            Ok(key) if !key.is_empty() => Ok(Held::key(key)),
            _ => Err(CredentialError::Failed {
                place: self.provider.clone(),
                message: format!("the variable {} is not set", self.variable),
            }),
        }
    }
}

fn models(
    mut builder: RouterBuilder,
    catalog: &Catalog,
    config: &RouterConfig,
    provider: &str,
) -> RouterBuilder {
    for row in catalog.models_of(provider) {
        let speaks = row.outputs.is_none_or(|outputs| outputs.has(Medium::Text));
        if speaks && row.status != Status::Removed {
            let facts = catalog.lookup(provider, &row.id).unwrap_or_default();
            builder = builder.model(provider, &row.id, facts);
        }
    }
    let mut told: Vec<&str> = Vec::new();
    for own in config.providers.iter().filter(|own| own.id == provider) {
        for model in &own.models {
            told.push(&model.id);
            builder = builder.model(provider, &model.id, fact(model));
        }
    }
    // What a combo names of a provider that lists nothing is there as well.
    for step in config.combos.iter().flat_map(|combo| &combo.steps) {
        let named = step.model.as_deref().and_then(|model| model.strip_prefix(provider)?.strip_prefix('/'));
        let Some(model) = named.filter(|model| *model != "*" && !told.contains(model)) else { continue };
        if catalog.lookup(provider, model).is_none() {
            told.push(model);
            builder = builder.model(provider, model, ModelFact::default());
        }
    }
    builder
}

fn fact(line: &ModelLine) -> ModelFact {
    let mut fact = ModelFact::default().usd(line.input_usd, line.output_usd);
    fact.context_window = line.context;
    fact.max_output = line.max_output;
    fact.capabilities.set(Capability::Tools, line.tools);
    fact.capabilities.set(Capability::ImageInput, line.vision);
    fact
}

/// The catalogue with providers of the configuration's own. A connection with an address of a provider that nobody
/// knows makes one.
fn catalog(config: &RouterConfig, mistakes: &mut Vec<String>) -> Catalog {
    let catalog = Catalog::embedded();
    let mut lines: Vec<ProviderLine> = config.providers.clone();
    for line in &config.connections {
        let Some((provider, _)) = line.id.split_once('/') else { continue };
        let known = catalog.provider(provider).is_some() || lines.iter().any(|own| own.id == provider);
        if !known && line.base_url.is_some() {
            let (wire, base_url) = (line.wire.clone(), line.base_url.clone());
            lines.push(ProviderLine { id: provider.to_owned(), wire, base_url, models: Vec::new() });
        }
    }
    let rows: Vec<serde_json::Value> = lines.iter().filter_map(|own| row(own, mistakes)).collect();
    if rows.is_empty() {
        return catalog;
    }
    let file = serde_json::json!({ "meta": { "schema": 1, "as_of": catalog.as_of() }, "providers": rows });
    match catalog.with_files(Some(&file.to_string()), None) {
        Ok((more, skipped)) => {
            mistakes.extend(skipped.iter().map(|row| format!("providers: {:?}: {}", row.row, row.reason)));
            more
        }
        Err(error) => {
            mistakes.push(format!("providers: {error}"));
            catalog
        }
    }
}

fn row(own: &ProviderLine, mistakes: &mut Vec<String>) -> Option<serde_json::Value> {
    let base_url = own.base_url.as_ref()?;
    let wire = own.wire.as_deref().unwrap_or("openai-chat");
    if WireId::from_word(wire).is_none() {
        mistakes.push(wire_rule(&format!("provider {:?}", own.id), wire));
        return None;
    }
    let auth = match wire {
        "anthropic-messages" => serde_json::json!({
            "kind": "header", "header": "x-api-key", "optional": true,
            "extra": { "anthropic-version": "2023-06-01" },
        }),
        "gemini" => serde_json::json!({ "kind": "header", "header": "x-goog-api-key", "optional": true }),
        _ => serde_json::json!({ "kind": "bearer", "optional": true }),
    };
    Some(serde_json::json!({
        "id": own.id, "aliases": [], "name": own.id, "category": "local", "access": "local-server",
        "class": "api_key", "kinds": ["chat"], "wire": wire, "base_url": base_url, "auth": auth, "free": false,
        "terms": "ok", "terms_src": "default", "passthrough_models": true, "status": "active",
        "implement": "yes", "seen": [],
    }))
}

fn execution(routing: &Routing) -> Execution {
    let mut out = Execution::default();
    let time = |seconds: Option<f64>, usual: Duration| seconds.map_or(usual, Duration::from_secs_f64);
    out.max_attempts = routing.max_attempts.unwrap_or(out.max_attempts);
    out.same_target_retries = routing.same_target_retries.unwrap_or(out.same_target_retries);
    out.set_retries = routing.set_retries.unwrap_or(out.set_retries);
    out.fallback_delay = time(routing.fallback_delay, out.fallback_delay);
    out.target_timeout = time(routing.target_timeout, out.target_timeout);
    out.deadline = routing.deadline.map(Duration::from_secs_f64).or(out.deadline);
    out
}

/// A combo takes from the section `routing` what it does not say itself.
fn with_usual(mut combo: ComboConfig, routing: &Routing) -> ComboConfig {
    let usual = [
        ("max_attempts", routing.max_attempts.map(f64::from)),
        ("same_target_retries", routing.same_target_retries.map(f64::from)),
        ("set_retries", routing.set_retries.map(f64::from)),
        ("fallback_delay", routing.fallback_delay),
        ("target_timeout", routing.target_timeout),
        ("deadline", routing.deadline),
    ];
    for (key, value) in usual {
        if let Some(value) = value {
            combo.options.entry(key.to_owned()).or_insert(OptionValue::Number(value));
        }
    }
    combo
}

fn options(routing: &Routing) -> RouteOptions {
    let mut out = RouteOptions::default();
    out.explore = routing.explore.unwrap_or(out.explore);
    out.queue = routing.queue.unwrap_or(out.queue);
    out.session_affinity = routing.session_affinity.unwrap_or(out.session_affinity);
    out.cache_affinity = routing.cache_affinity.unwrap_or(out.cache_affinity);
    out
}
