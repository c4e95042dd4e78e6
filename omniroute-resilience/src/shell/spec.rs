//! What the host tells us about connections and pools.

use std::sync::Arc;

use omniroute_core::{ConnectionId, ModelId, ProviderId, QuotaWindow, Unit};

use crate::Span;
use crate::config::Class;
use crate::layers::effect::Trust;
use crate::limits::quota::Allocation;
use crate::limits::rate::Limits;

/// One connection: exactly one credential of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionSpec {
    /// Whose API.
    pub provider: ProviderId,
    /// Its name.
    pub connection: ConnectionId,
    /// What kind of credential; decides thresholds.
    pub class: Class,
    /// Scheme, host and port, where the provider has several; each has a breaker of its own.
    pub origin: Option<Arc<str>>,
    /// The network path: `direct`, or the name of a proxy.
    pub egress: Arc<str>,
    /// Connections that account-wide answers reach together, for instance keys of one organisation.
    pub group: Option<Arc<str>>,
    /// How far its declared times are believed.
    pub trust: Trust,
    /// Whether its allowances are counted for each model.
    pub per_model_quota: bool,
    /// Computed cooldowns do not happen to it.
    pub no_cooldown: bool,
    /// Switched off by an operator.
    pub disabled: bool,
    /// Its limits; none by default. With `per_model_quota` each model (or each shared quota) has them for itself,
    /// but for `max_concurrent`, which is always about the whole connection.
    pub limits: Limits,
    /// Limits of single models: a model whose name starts with the text has these, the longest start wins. They
    /// are counted for each model, or together for the models of a shared quota. `max_concurrent` means nothing here.
    pub model_limits: Arc<[(Arc<str>, Limits)]>,
    /// Models that share a quota: a model whose name starts with the first belongs to the second.
    pub quota_scopes: Arc<[(Arc<str>, Arc<str>)]>,
}

impl ConnectionSpec {
    /// A connection of a class, with what goes without saying for that class.
    pub fn new(provider: impl Into<Arc<str>>, connection: impl Into<Arc<str>>, class: Class) -> Self {
        ConnectionSpec {
            provider: ProviderId::new(provider),
            connection: ConnectionId::new(connection),
            class,
            origin: None,
            egress: Arc::from("direct"),
            group: None,
            trust: match class {
                Class::OAuth | Class::ApiKey => Trust::Direct,
                Class::WebSession | Class::NoAuth => Trust::Proxy,
                Class::Local => Trust::None,
            },
            per_model_quota: false,
            no_cooldown: false,
            disabled: false,
            limits: Limits::default(),
            model_limits: Arc::from([]),
            quota_scopes: Arc::from([]),
        }
    }
}

/// What is said of models whose names start like this one's. The longest start wins.
pub(crate) fn by_start<'s, T>(said: &'s [(Arc<str>, T)], model: &ModelId) -> Option<&'s T> {
    let fits = said.iter().filter(|(start, _)| model.as_str().starts_with(&**start));
    fits.max_by_key(|(start, _)| start.len()).map(|(_, what)| what)
}

/// One counted allowance of a pool. An unknown limit is left out, not guessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// What is counted.
    pub unit: Unit,
    /// Over which span.
    pub window: QuotaWindow,
    /// How much one account allows; a pool of k accounts has k times as much.
    pub limit: u64,
}

/// A connection of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolMember {
    /// Whose API.
    pub provider: ProviderId,
    /// Which connection.
    pub connection: ConnectionId,
    /// How much of the pool's attempts it takes, beside the others; 1 by default, 0 only when all have 0.
    pub weight: u32,
}

impl PoolMember {
    /// A member of weight 1.
    pub fn new(provider: ProviderId, connection: ConnectionId) -> Self {
        PoolMember { provider, connection, weight: 1 }
    }
}

/// How much one consumer may use of one model of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCap {
    /// Who.
    pub consumer: Arc<str>,
    /// Of which model.
    pub model: ModelId,
    /// What is counted.
    pub unit: Unit,
    /// Over which span; an hour by default.
    pub window: QuotaWindow,
    /// How much, in all of the pool.
    pub limit: u64,
}

impl ModelCap {
    /// A cap for an hour.
    pub fn new(consumer: impl Into<Arc<str>>, model: ModelId, unit: Unit, limit: u64) -> Self {
        ModelCap { consumer: consumer.into(), model, unit, window: QuotaWindow::Hour, limit }
    }
}

/// Connections whose allowance several consumers share.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolSpec {
    /// Its name.
    pub id: Arc<str>,
    /// Its connections, all of one provider.
    pub members: Vec<PoolMember>,
    /// What is counted.
    pub dimensions: Vec<Dimension>,
    /// Who shares it. A consumer that is not listed is refused only when nothing is left.
    pub allocations: Vec<Allocation>,
    /// What single consumers may use of single models.
    pub caps: Vec<ModelCap>,
    /// Lower tiers are used first.
    pub tier: u32,
    /// How long a request of [`Resilience::admit_pools`](crate::Resilience::admit_pools) waits for this pool before
    /// it spills to a higher tier; none: `quota.tier_patience`.
    pub tier_patience: Option<Span>,
}

impl PoolSpec {
    /// A pool of tier 0 without dimensions, allocations and caps, whose members have weight 1.
    pub fn new(id: impl Into<Arc<str>>, members: Vec<(ProviderId, ConnectionId)>) -> Self {
        PoolSpec {
            id: id.into(),
            members: members.into_iter().map(|(provider, id)| PoolMember::new(provider, id)).collect(),
            dimensions: Vec::new(),
            allocations: Vec::new(),
            caps: Vec::new(),
            tier: 0,
            tier_patience: None,
        }
    }
}
