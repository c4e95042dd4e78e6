//! From the configuration to everything that serves: catalogue, credentials, stores, router, keys.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use omniroute_compress::Compress;
use omniroute_core::route::RouteOptions;
use omniroute_core::{Clock, Env, HttpTransport, Offload, Provider, ResilienceStore};
use omniroute_providers::credentials::{CredentialError, CredentialSource, EnvKey, Held, KeyRing, RingOrder};
use omniroute_providers::transport::{ReqwestTransport, TokioClock};
use omniroute_providers::{Availability, Catalog, HttpProvider, ProviderBuilder};
use omniroute_resilience::{
    Class, ConnectionSpec, MemoryStore, RedisConfig, RedisStore, Resilience, SqliteConfig, SqliteStore,
};

use super::gateway::{Gateway, Limits, Line, Stopping, Telling};
use super::guard::{Guard, is_loopback};
use super::keys::{Keys, Scope, Scopes};
use crate::config::model::{Config, ConnectionLine, KeyStrategy, StoreLine};
use crate::config::secret::Secret;
use crate::exit::{Failure, note};

/// Address where nothing else is said.
pub(super) const LISTEN: &str = "127.0.0.1:20128";

/// Where to listen. Anything but loopback needs a key.
pub(super) fn listen(config: &Config, flag: Option<&str>) -> Result<Vec<SocketAddr>, Failure> {
    let said = flag.or(config.gateway.listen.as_deref()).unwrap_or(LISTEN);
    let wrong = || {
        Failure::config(format!(
            "gateway.listen is {said:?}, it has to be an address and a port, such as {LISTEN}"
        ))
    };
    let (host, port) = said.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    if is_loopback(host) {
        // `localhost` is one family for some clients and the other for others.
        let both =
            [SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([0u16, 0, 0, 0, 0, 0, 0, 1], port))];
        return Ok(match said.parse() {
            Ok(one) if one != both[0] => vec![one],
            _ => both.to_vec(),
        });
    }
    let one: SocketAddr = said.parse().map_err(|_| wrong())?;
    if config.gateway.keys.is_empty() {
        return Err(Failure::config(format!(
            "refusing to listen on {said} without a key; add [[gateway.keys]] or bind 127.0.0.1"
        )));
    }
    Ok(vec![one])
}

/// A key where the configuration says it is. It is fetched when it is needed first, and again when it was refused: a
/// file may hold a new one by then.
#[derive(Debug)]
struct Named {
    place: String,
    secret: Secret,
    held: Mutex<Option<Held>>,
}

#[async_trait::async_trait]
impl CredentialSource for Named {
    async fn get(&self, _: &Env, refused: Option<&Held>) -> Result<Held, CredentialError> {
        let mut held = self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &*held {
            Some(known) if !refused.is_some_and(|refused| refused.is_same(known)) => Ok(known.clone()),
            _ => {
                let failed = |message| CredentialError::Failed { place: self.place.clone(), message };
                let fetched = Held::key(self.secret.fetch().map_err(failed)?);
                *held = Some(fetched.clone());
                Ok(fetched)
            }
        }
    }
}

/// The keys of a connection: one, or several in turn.
fn credentials(builder: ProviderBuilder, line: &ConnectionLine, salt: u64) -> ProviderBuilder {
    let mut secrets = line.secrets();
    let place = line.id.clone();
    match (secrets.next(), line.secrets().count()) {
        (None, _) => builder,
        (Some(secret), 1) => {
            builder.credentials(Named { place, secret: secret.clone(), held: Mutex::new(None) })
        }
        _ => {
            let order = match line.key_strategy {
                KeyStrategy::RoundRobin => RingOrder::RoundRobin,
                KeyStrategy::LeastRecent => RingOrder::LeastRecent,
                KeyStrategy::FirstHealthy => RingOrder::FirstHealthy,
            };
            let fetched = line.secrets().filter_map(|secret| match secret.fetch() {
                Ok(key) => Some(Held::key(key)),
                Err(why) => {
                    note(&format!("a key of {place} is left out: {why}"));
                    None
                }
            });
            let keys = fetched.collect();
            builder.credentials(KeyRing::new(place.clone(), keys, order, salt))
        }
    }
}

/// Heavy work goes to threads that may block.
#[derive(Debug)]
struct Pool;

impl Offload for Pool {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        tokio::task::spawn_blocking(job);
    }
}

/// Puts everything together. Has to be called inside the runtime.
pub(super) async fn gateway(config: &mut Config, stopping: Stopping) -> Result<Gateway, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
    let http: Arc<dyn HttpTransport> = Arc::new(ReqwestTransport::new().map_err(Failure::failed)?);
    let env = Env { clock: Arc::clone(&clock), http, offload: Arc::new(Pool) };
    let catalog = catalog(config)?;
    if config.connections.is_empty() {
        found(config, &catalog);
    }
    let salt = getrandom::u64().map_err(|error| Failure::failed(format!("no random numbers: {error}")))?;
    let mut lines = Vec::new();
    let mut specs = Vec::new();
    for line in &config.connections {
        let Some((provider, name)) = line.id.split_once('/') else { continue };
        let built = Availability::of(&catalog.provider(provider).ok_or_else(|| unknown(&line.id))?);
        if !matches!(built, Availability::Built | Availability::NeedsBaseUrl) {
            continue;
        }
        let row = catalog.provider(provider).ok_or_else(|| unknown(&line.id))?;
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        // The usual key goes to the provider's own host only.
        let elsewhere = line.base_url.as_deref().is_some_and(|url| {
            !row.base_url.as_ref().is_some_and(|known| crate::config::net::same_origin(known, url))
        });
        let own = !elsewhere && row.key_variables().any(|name| set(&name));
        let named = line.secrets().next().is_some();
        let ready = match named {
            true => line.secrets().any(Secret::is_there),
            false => own || row.anonymous || row.auth.optional,
        };
        let builder = HttpProvider::builder(&catalog, provider);
        let builder = match &line.base_url {
            Some(url) => builder.base_url(url),
            None => builder,
        };
        let builder = match named {
            true => credentials(builder, line, salt),
            false if own => builder.credentials(EnvKey::of(&row)),
            false => builder,
        };
        let http = Arc::new(builder.build().map_err(Failure::failed)?);
        let class = if row.class == omniroute_providers::Class::Local { Class::Local } else { Class::ApiKey };
        let mut spec = ConnectionSpec::new(provider, name, class);
        spec.limits.max_concurrent = line.max_concurrent;
        (spec.limits.rpm, spec.limits.tpm) = (line.rpm, line.tpm);
        (spec.limits.rpd, spec.limits.tpd) = (line.rpd, line.tpd);
        specs.push(spec);
        let auth = if named || own { "api_key" } else { "none" };
        lines.push(Line {
            provider: provider.into(),
            name: name.into(),
            http,
            ready,
            auth,
            tags: line.tags.clone(),
        });
    }
    if config.routing.seed == 0 {
        config.routing.seed = salt >> 1;
    }
    let resilience = resilience(config, &clock, &env.offload, salt).await?;
    resilience.configure(&specs);
    let mode = config.compression.plan().to_owned();
    let compress = compressor(config)?;
    let (shared, compressor, within) = (lines.clone(), compress.clone(), resilience.clone());
    let vendor = move |provider: &str, name: &str| -> Arc<dyn Provider> {
        let line = shared.iter().find(|line| &*line.provider == provider && &*line.name == name);
        line.map(|line| Arc::clone(&line.http) as Arc<dyn Provider>)
            .expect("every connection has its provider")
    };
    let router = crate::route::market::router_with(config, &catalog, env.clone(), true, vendor, |builder| {
        let builder = specs.into_iter().fold(builder.resilience(within), |builder, spec| builder.spec(spec));
        match compressor {
            Some(compressor) => builder.compressor(Arc::new(compressor)),
            None => builder,
        }
    })?;
    let keys = keys(config)?;
    let line = &config.gateway;
    let mut limits = Limits::default();
    limits.in_flight = line.max_in_flight.unwrap_or(limits.in_flight);
    limits.body = line.max_body().unwrap_or(limits.body);
    limits.grace = line.shutdown_grace().unwrap_or(limits.grace);
    limits.ping = line.ping().unwrap_or(limits.ping);
    if keys.is_empty() && line.cors.origins.iter().any(|origin| origin == "*") {
        return Err(Failure::config("gateway.cors.origins has \"*\", which needs keys"));
    }
    let telling = match line.headers.as_deref() {
        None | Some("full") => Telling::Full,
        Some("minimal") => Telling::Minimal,
        Some("none") => Telling::Nothing,
        Some(other) => {
            return Err(Failure::config(format!(
                "gateway.headers is {other:?}, allowed are full, minimal, none"
            )));
        }
    };
    let guard = Guard {
        hosts: line.allowed_hosts.clone(),
        origins: line.cors.origins.clone(),
        management: line.cors.management,
    };
    let mut defaults = RouteOptions::default();
    defaults.budget = config.routing.auto.budget_usd_per_request;
    let started = clock.now().mono;
    let plan = if compress.is_some() { mode } else { "off".to_owned() };
    Ok(Gateway {
        env,
        router,
        resilience,
        compress,
        plan,
        section: config.compression.clone(),
        catalog,
        lines,
        keys,
        guard,
        limits,
        telling,
        default_model: match config.routing.default.as_deref() {
            Some("error") => None,
            said => Some(said.unwrap_or("auto").to_owned()),
        },
        defaults,
        started,
        stopping,
        running: Arc::new(AtomicUsize::new(0)),
        streams: Arc::new(AtomicUsize::new(0)),
        decided: Mutex::new(VecDeque::new()),
        number: AtomicU64::new(0),
        salt,
    })
}

/// What makes requests shorter; none: compression is off.
fn compressor(config: &Config) -> Result<Option<Compress>, Failure> {
    let section = &config.compression;
    let own = config.combos().iter().any(|combo| combo.options.contains_key("compression"));
    if section.steps(section.plan()).unwrap_or_default().is_empty() && !own {
        return Ok(None);
    }
    let builder = section.builder(section.plan()).map_err(|error| Failure::config(error.to_string()))?;
    builder.build().map(Some).map_err(|error| Failure::config(error.to_string()))
}

fn unknown(id: &str) -> Failure {
    Failure::config(format!(
        "connection {id:?} names a provider that is neither in the catalogue nor under providers"
    ))
}

/// The catalogue with the configuration's own providers.
fn catalog(config: &Config) -> Result<Catalog, Failure> {
    let catalog = Catalog::embedded();
    let rows: Vec<serde_json::Value> = config
        .providers
        .iter()
        .filter_map(|own| {
            let base_url = own.base_url.as_ref()?;
            let wire = own.wire.as_deref().unwrap_or("openai-chat");
            let auth = match wire {
                "anthropic-messages" => serde_json::json!({
                    "kind": "header", "header": "x-api-key", "optional": true,
                    "extra": { "anthropic-version": "2023-06-01" },
                }),
                "gemini" => {
                    serde_json::json!({ "kind": "header", "header": "x-goog-api-key", "optional": true })
                }
                _ => serde_json::json!({ "kind": "bearer", "optional": true }),
            };
            Some(serde_json::json!({
                "id": own.id, "aliases": [], "name": own.id, "category": "local", "access": "local-server",
                "class": own.class.as_deref().unwrap_or("api_key"),
                "kinds": ["chat", "embedding", "rerank", "image", "tts", "stt", "moderation"],
                "wire": wire, "base_url": base_url, "auth": auth, "free": false, "terms": "ok",
                "terms_src": "default", "passthrough_models": true, "status": "active", "implement": "yes",
                "seen": [],
            }))
        })
        .collect();
    if rows.is_empty() {
        return Ok(catalog);
    }
    let file = serde_json::json!({ "meta": { "schema": 1, "as_of": catalog.as_of() }, "providers": rows })
        .to_string();
    let (catalog, skipped) =
        catalog.with_files(Some(&file), None).map_err(|error| Failure::config(error.to_string()))?;
    match skipped.first() {
        None => Ok(catalog),
        Some(row) => Err(Failure::config(format!("provider {:?}: {}", row.row, row.reason))),
    }
}

/// Without a configuration: every provider whose usual variable is set.
fn found(config: &mut Config, catalog: &Catalog) {
    for row in catalog.providers() {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let variable = row.key_variables().find(|name| set(name)).map(|name| name.into_owned());
        let Some(variable) = variable.filter(|_| matches!(Availability::of(&row), Availability::Built))
        else {
            continue;
        };
        note(&format!("using {} (variable {variable})", row.id));
        config.connections.push(ConnectionLine::named(format!("{}/env", row.id)));
    }
}

async fn store(
    line: &StoreLine,
    clock: &Arc<dyn Clock>,
    offload: &Arc<dyn Offload>,
) -> Result<Arc<dyn ResilienceStore>, Failure> {
    let (clock, offload) = (Arc::clone(clock), Arc::clone(offload));
    let kind = line.kind.as_deref().unwrap_or("sqlite");
    match (kind, &line.path, &line.url) {
        ("memory", None, None) => Ok(Arc::new(MemoryStore::new(clock))),
        ("sqlite", path, None) => {
            let nowhere =
                || Failure::config("store.path is missing, and neither XDG_STATE_HOME nor HOME is set");
            let path = path.clone().or_else(crate::config::state_file).ok_or_else(nowhere)?;
            let opened = SqliteStore::open(SqliteConfig::new(&path), clock, offload).await;
            let store = opened
                .map_err(|error| Failure::config(format!("store.path \"{}\": {error}", path.display())))?;
            if let Some(aside) = store.set_aside() {
                note(&format!(
                    "the store was damaged: it is now \"{}\", and an empty one was begun",
                    aside.display()
                ));
            }
            Ok(Arc::new(store))
        }
        ("redis", None, Some(url)) => {
            let url = url.fetch().map_err(|why| Failure::config(format!("store.url: {why}")))?;
            let mut settings = RedisConfig::new(url);
            settings.durable = line.durable;
            let opened = RedisStore::open(settings, clock, offload).await;
            Ok(Arc::new(opened.map_err(|error| Failure::config(format!("store: {error}")))?))
        }
        ("redis", _, None) => {
            Err(Failure::config("store.url is missing: redis needs the address of a server"))
        }
        ("memory" | "sqlite" | "redis", ..) => {
            Err(Failure::config(format!("store.kind is {kind:?}: path goes with sqlite, url with redis")))
        }
        _ => Err(Failure::config(format!("store.kind is {kind:?}, allowed are memory, sqlite, redis"))),
    }
}

async fn resilience(
    config: &Config,
    clock: &Arc<dyn Clock>,
    offload: &Arc<dyn Offload>,
    process: u64,
) -> Result<Resilience, Failure> {
    let store = store(&config.store, clock, offload).await?;
    let mut knobs = config.resilience.clone();
    knobs.lease.enabled |=
        config.gateway.keys.iter().any(|key| key.scopes.iter().any(|name| name == Scope::Lease.name()));
    let builder = Resilience::builder(store, Arc::clone(clock)).config(knobs);
    let built = builder.seed(config.routing.seed).process(process).build();
    let told = |errors: Vec<omniroute_resilience::ConfigError>| {
        Failure::config(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    built.map_err(told)
}

fn keys(config: &Config) -> Result<Keys, Failure> {
    let mut keys = Keys::default();
    for (number, line) in (1..).zip(&config.gateway.keys) {
        let wrong = |what: String| Failure::config(format!("gateway.keys[{number}].{what}"));
        let hex = line.hash.strip_prefix("sha256:").filter(|hex| hex.len() == 64);
        let bytes: Option<Vec<u8>> = hex.and_then(|hex| {
            (0..64).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
        });
        let hash = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let hash = hash.ok_or_else(|| wrong("hash has to be sha256: and 64 hex digits".to_owned()))?;
        let names = line.scopes.iter().map(String::as_str);
        let scopes = Scopes::parse(names).map_err(|name| {
            let known: Vec<&str> = Scope::ALL.iter().map(|(_, name)| *name).collect();
            wrong(format!(
                "scopes: {name:?} is not known; allowed are {}, read:*, write:*, *",
                known.join(", ")
            ))
        })?;
        if scopes.has(Scope::Lease) && line.connections.is_empty() {
            return Err(wrong("connections is empty, but the key has scope lease:exclusive".to_owned()));
        }
        keys.add(&line.name, hash, scopes, line.connections.clone());
    }
    Ok(keys)
}
