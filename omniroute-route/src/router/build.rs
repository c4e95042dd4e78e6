//! Puts a router together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use omniroute_core::route::{RouteOptions, RoutingStrategy};
use omniroute_core::{Compressor, ConnectionId, Env, ModelFact, Provider, ProviderId};
use omniroute_resilience::{Class, ConnectionSpec, MemoryStore, Resilience};

use super::error::BuildError;
use super::memory::Memory;
use super::quota::Quotas;
use super::windows::Windows;
use super::{Inner, Router};
use crate::combo::{ComboConfig, Combos, Execution, StepConfig};
use crate::directory::{Connection, Directory, Listed};
use crate::error::{ConfigCode, ConfigError};
use crate::resolve::Mapping;
use crate::stats::Stats;

/// Puts a [`Router`] together.
#[derive(Debug)]
pub struct RouterBuilder {
    env: Env,
    listed: Listed,
    directory: Option<Arc<dyn Directory>>,
    providers: BTreeMap<(ProviderId, ConnectionId), Arc<dyn Provider>>,
    specs: Vec<ConnectionSpec>,
    configs: Vec<ComboConfig>,
    own: Vec<(String, Arc<dyn RoutingStrategy>)>,
    mappings: Vec<Mapping>,
    resilience: Option<Resilience>,
    compressor: Option<Arc<dyn Compressor>>,
    seed: u64,
    options: RouteOptions,
    execution: Execution,
    auto: Option<Arc<dyn RoutingStrategy>>,
}

impl RouterBuilder {
    pub(super) fn new(env: Env) -> Self {
        RouterBuilder {
            env,
            listed: Listed::new(),
            directory: None,
            providers: BTreeMap::new(),
            specs: Vec::new(),
            configs: Vec::new(),
            own: Vec::new(),
            mappings: Vec::new(),
            resilience: None,
            compressor: None,
            seed: 0,
            options: RouteOptions::default(),
            execution: Execution::default(),
            auto: None,
        }
    }

    /// A connection, and who answers for it. The order of connections is the operator's order.
    #[must_use]
    pub fn connection(mut self, connection: Connection, provider: Arc<dyn Provider>) -> Self {
        let class = if connection.sign_in { Class::OAuth } else { Class::ApiKey };
        let spec = ConnectionSpec::new(connection.provider.clone(), connection.id.clone(), class);
        let key = (ProviderId::new(connection.provider.clone()), ConnectionId::new(connection.id.clone()));
        self.providers.insert(key, provider);
        self.specs.push(spec);
        self.listed = self.listed.connection(connection);
        self
    }

    /// A model of a provider.
    #[must_use]
    pub fn model(mut self, provider: &str, model: &str, facts: ModelFact) -> Self {
        self.listed = self.listed.model(provider, model, facts);
        self
    }

    /// Where connections and models are looked up, instead of what [`RouterBuilder::connection`] and
    /// [`RouterBuilder::model`] said. Its connections need somebody who answers for them all the same.
    #[must_use]
    pub fn directory(mut self, directory: Arc<dyn Directory>) -> Self {
        self.directory = Some(directory);
        self
    }

    /// What resilience is told of a connection, instead of what goes without saying: limits, group, class.
    #[must_use]
    pub fn spec(mut self, spec: ConnectionSpec) -> Self {
        self.specs.retain(|known| (&known.provider, &known.connection) != (&spec.provider, &spec.connection));
        self.specs.push(spec);
        self
    }

    /// A combo.
    #[must_use]
    pub fn combo(mut self, combo: ComboConfig) -> Self {
        self.configs.push(combo);
        self
    }

    /// A combo whose strategy is code of yours.
    #[must_use]
    pub fn route(mut self, name: &str, strategy: Arc<dyn RoutingStrategy>, steps: Vec<StepConfig>) -> Self {
        let config = ComboConfig {
            name: name.to_owned(),
            strategy: "priority".to_owned(),
            steps,
            ..ComboConfig::default()
        };
        self.configs.push(config);
        self.own.push((name.to_owned(), strategy));
        self
    }

    /// A name that clients may use for something else.
    #[must_use]
    pub fn mapping(mut self, from: &str, to: &str) -> Self {
        self.mappings.push(Mapping { from: from.to_owned(), to: to.to_owned() });
        self
    }

    /// Who may be used now, shared with others of the host. It is used as it is configured, which
    /// has to be done before the first request. Default: one of its own, in memory, configured with the connections.
    #[must_use]
    pub fn resilience(mut self, resilience: Resilience) -> Self {
        self.resilience = Some(resilience);
        self
    }

    /// Compresses requests before they are planned. Default: nobody does.
    #[must_use]
    pub fn compressor(mut self, compressor: Arc<dyn Compressor>) -> Self {
        self.compressor = Some(compressor);
        self
    }

    /// Where random numbers start. Default: 0. The number of the request goes into it.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What every request asks for that does not say otherwise.
    #[must_use]
    pub fn options(mut self, options: RouteOptions) -> Self {
        self.options = options;
        self
    }

    /// How attempts are made where no combo says so.
    #[must_use]
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// The strategy behind the name `auto`, instead of the built-in one with its usual weights. Names such as `auto/coding`
    /// keep their own.
    #[must_use]
    pub fn auto(mut self, strategy: Arc<dyn RoutingStrategy>) -> Self {
        self.auto = Some(strategy);
        self
    }

    /// Checks everything and builds.
    ///
    /// # Errors
    /// Every mistake of the configuration, with its place.
    pub fn build(self) -> Result<Router, BuildError> {
        let directory = self.directory.unwrap_or_else(|| Arc::new(self.listed));
        let mut combos = Combos::load(self.configs, &*directory).map_err(BuildError)?;
        let own = ("execution".to_owned(), &self.execution);
        let all = combos.iter().map(|combo| (format!("combo.{}", combo.name), &combo.execution));
        let idle: Vec<ConfigError> = all
            .chain([own])
            .filter(|_| self.compressor.is_none())
            .flat_map(|(path, execution)| {
                let wrong = |key: &str, value: &str| {
                    let path = format!("{path}.{key}");
                    let message = format!("{path} is {value:?}, which needs a compressor");
                    ConfigError::new(ConfigCode::BadValue, path, message)
                };
                let overflow = execution.overflow_profile.as_ref().map(|_| wrong("on_overflow", "compress"));
                let plan = execution.compression.as_deref().map(|plan| wrong("compression", plan));
                overflow.into_iter().chain(plan).collect::<Vec<_>>()
            })
            .collect();
        let describer = self.execution.media.describer.as_deref();
        let wrong = |model: &str| combos.helper(model, "execution.describer", "describe", &*directory);
        let idle: Vec<ConfigError> = idle.into_iter().chain(describer.and_then(wrong)).collect();
        if !idle.is_empty() {
            return Err(BuildError(idle));
        }
        for (name, strategy) in self.own {
            combos.own(&name, strategy);
        }
        let resilience = match self.resilience {
            Some(resilience) => resilience,
            None => {
                let store = Arc::new(MemoryStore::new(Arc::clone(&self.env.clock)));
                let built = Resilience::builder(store, Arc::clone(&self.env.clock)).seed(self.seed).build();
                let resilience = built.map_err(|errors| {
                    let wrong = |error: &omniroute_resilience::ConfigError| {
                        ConfigError::new(ConfigCode::BadValue, "resilience", error.to_string())
                    };
                    BuildError(errors.iter().map(wrong).collect())
                })?;
                resilience.configure(&self.specs);
                resilience
            }
        };
        let caps = self
            .specs
            .iter()
            .filter_map(|spec| {
                let most = spec.limits.concurrent()?;
                Some(((spec.provider.clone(), spec.connection.clone()), most))
            })
            .collect();
        let inner = Inner {
            env: self.env,
            resilience,
            directory,
            combos,
            mappings: self.mappings,
            providers: self.providers,
            caps,
            compressor: self.compressor,
            seed: self.seed,
            options: self.options,
            execution: self.execution,
            auto: self.auto,
            slots: std::sync::Mutex::default(),
            desks: std::sync::Mutex::default(),
            stats: Stats::default(),
            quotas: Quotas::default(),
            windows: Windows::default(),
            memory: Memory::default(),
            descriptions: super::bridge::Descriptions::default(),
            number: AtomicU64::new(0),
        };
        Ok(Router { inner: Arc::new(inner) })
    }
}
