//! From the configuration to everything that serves: catalogue, credentials, stores, router, keys.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use omniroute_compress::{Compress, Plan};
use omniroute_core::{Clock, Env, HttpTransport, Offload, Provider, ResilienceStore};
use omniroute_providers::credentials::{CredentialError, CredentialSource, EnvKey, Held};
use omniroute_providers::transport::{ReqwestTransport, TokioClock};
use omniroute_providers::{Availability, Catalog, HttpProvider};
use omniroute_resilience::{
    Class, Config as Knobs, ConnectionSpec, MemoryStore, RedisConfig, RedisStore, Resilience, Span,
    SqliteConfig, SqliteStore,
};
use serde::Deserialize;

use super::gateway::{Gateway, Limits, Line, Stopping, Telling};
use super::guard::{Guard, is_loopback};
use super::keys::{Keys, Scope, Scopes};
use crate::exit::{Failure, note};
use crate::route::config::{Config, ConnectionLine};

/// The section `[gateway]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GatewayLine {
    listen: Option<String>,
    allowed_hosts: Vec<String>,
    headers: Option<String>,
    keys: Vec<KeyLine>,
    cors: CorsLine,
    max_in_flight: Option<usize>,
    max_body_bytes: Option<usize>,
    shutdown_grace_ms: Option<u64>,
    ping_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyLine {
    name: String,
    hash: String,
    scopes: Vec<String>,
    #[serde(default)]
    connections: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CorsLine {
    origins: Vec<String>,
    management: bool,
}

/// The section `[compression]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CompressionLine {
    mode: Option<String>,
}

/// The section `[store]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreLine {
    kind: Option<String>,
    path: Option<PathBuf>,
    url: Option<UrlLine>,
    /// The server keeps every acknowledged write.
    durable: bool,
}

/// An address that may hold a password.
#[derive(Deserialize)]
#[serde(untagged)]
enum UrlLine {
    Plain(String),
    Variable { env: String },
}

impl std::fmt::Debug for UrlLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UrlLine(..)")
    }
}

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

/// A key where the configuration says it is, looked up when it is needed.
#[derive(Debug, Clone)]
struct Named {
    provider: String,
    variable: String,
}

#[async_trait::async_trait]
impl CredentialSource for Named {
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
        let own = row.key_variables().any(|name| set(&name));
        let ready = match &line.env {
            Some(name) => set(name),
            None => own || row.anonymous || row.auth.optional,
        };
        let builder = HttpProvider::builder(&catalog, provider);
        let builder = match &line.env {
            Some(variable) => {
                builder.credentials(Named { provider: provider.to_owned(), variable: variable.clone() })
            }
            None if own => builder.credentials(EnvKey::of(&row)),
            None => builder,
        };
        let http = Arc::new(builder.build().map_err(Failure::failed)?);
        let class = if row.class == omniroute_providers::Class::Local { Class::Local } else { Class::ApiKey };
        specs.push(ConnectionSpec::new(provider, name, class));
        let auth = if line.env.is_some() || own { "api_key" } else { "none" };
        lines.push(Line {
            provider: provider.into(),
            name: name.into(),
            http,
            ready,
            auth,
            tags: Vec::new(),
        });
    }
    let salt = getrandom::u64().map_err(|error| Failure::failed(format!("no random numbers: {error}")))?;
    if config.routing.seed == 0 {
        config.routing.seed = salt >> 1;
    }
    let resilience = resilience(config, &clock, &env.offload, salt).await?;
    resilience.configure(&specs);
    let mode = config.compression.mode.clone().unwrap_or_else(|| "safe".to_owned());
    let plan = Plan::parse(&mode).map_err(|error| Failure::config(format!("compression.mode: {error}")))?;
    let compress = if plan.steps().is_empty() {
        None
    } else {
        Some(
            Compress::builder()
                .plan(plan.name())
                .build()
                .map_err(|error| Failure::config(error.to_string()))?,
        )
    };
    let (shared, compressor, within) = (lines.clone(), compress.clone(), resilience.clone());
    let vendor = move |provider: &str, name: &str| -> Arc<dyn Provider> {
        let line = shared.iter().find(|line| &*line.provider == provider && &*line.name == name);
        line.map(|line| Arc::clone(&line.http) as Arc<dyn Provider>)
            .expect("every connection has its provider")
    };
    let router = crate::route::market::router_with(config, &catalog, env.clone(), true, vendor, |builder| {
        let builder = builder.resilience(within);
        match compressor {
            Some(compressor) => builder.compressor(Arc::new(compressor)),
            None => builder,
        }
    })?;
    let keys = keys(config)?;
    let line = &config.gateway;
    let mut limits = Limits::default();
    limits.in_flight = line.max_in_flight.unwrap_or(limits.in_flight);
    limits.body = line.max_body_bytes.unwrap_or(limits.body);
    limits.grace = line.shutdown_grace_ms.map_or(limits.grace, std::time::Duration::from_millis);
    limits.ping = line.ping_ms.map_or(limits.ping, std::time::Duration::from_millis);
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
    let started = clock.now().mono;
    let plan = if compress.is_some() { mode } else { "off".to_owned() };
    Ok(Gateway {
        env,
        router,
        resilience,
        compress,
        plan,
        catalog,
        lines,
        keys,
        guard,
        limits,
        telling,
        default_model: Some("auto".to_owned()),
        started,
        stopping,
        running: Arc::new(AtomicUsize::new(0)),
        streams: Arc::new(AtomicUsize::new(0)),
        decided: Mutex::new(VecDeque::new()),
        number: AtomicU64::new(0),
        salt,
    })
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

/// Where state is kept between runs if nothing is said: the user's own folder for such things.
fn state_file() -> Option<PathBuf> {
    let own = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = own("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(own("HOME")?.join(".local/state")))?;
    Some(folder.join("omniroute").join("omniroute.db"))
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
            let path = path.clone().or_else(state_file).ok_or_else(nowhere)?;
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
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let url = match url {
                UrlLine::Plain(url) => url.clone(),
                UrlLine::Variable { env } => variable(env)
                    .ok_or_else(|| Failure::config(format!("store.url: the variable {env} is not set")))?,
            };
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
    let mut knobs = Knobs::default();
    knobs.affinity.ttl = Span::minutes(30);
    knobs.lease.enabled =
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
