//! What a failure does to the three layers: one table, kind by scope. Reading HTTP happened elsewhere.

use std::sync::Arc;

use omniroute_core::{Evidence, Failure, FailureKind, Phase, Scope, Wider};

use crate::config::{Class, Config};
use crate::layers::breaker::Verdict;
use crate::layers::connection::{Hit, Reason, Terminal, Wait};
use crate::layers::lockout;

/// How far a connection's declared times are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The vendor's own API: up to 31 days.
    #[default]
    Direct,
    /// Something in between: up to 10 minutes.
    Proxy,
    /// Not at all.
    None,
}

/// What the table must know about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its class.
    pub class: Class,
    /// How far its times are believed.
    pub trust: Trust,
    /// Whether its allowances are counted for each model.
    pub per_model: bool,
    /// Our date when the failure was read, for the wait until `retry_at`.
    pub now: i64,
}

/// Which lock is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockTarget {
    /// The model at this connection.
    Model,
    /// All models of the connection that share a quota.
    Quota(Arc<str>),
    /// The model at every connection of the provider.
    Everywhere,
}

/// A model to lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHit {
    /// For how long.
    pub wait: lockout::Wait,
    /// Why.
    pub reason: lockout::Reason,
    /// Which.
    pub target: LockTarget,
}

/// Who else rests with the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nobody.
    One,
    /// Its group.
    Group,
    /// Everything of the provider on the same network path.
    Egress,
}

/// What a failure does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What the breaker hears.
    pub verdict: Verdict,
    /// What happens to the connection.
    pub connection: Option<Hit>,
    /// Who rests with it.
    pub reach: Reach,
    /// What happens to the model.
    pub lock: Option<LockHit>,
    /// The session should not come back here.
    pub evict_pin: bool,
    /// The credential may only need a refresh.
    pub refresh: bool,
    /// An operator has to look at it.
    pub operator: bool,
    /// A failure of the network, subject to the rule about our own network.
    pub transport: bool,
}

impl Effect {
    fn nothing(verdict: Verdict) -> Effect {
        Effect {
            verdict,
            connection: None,
            reach: Reach::One,
            lock: None,
            evict_pin: false,
            refresh: false,
            operator: false,
            transport: false,
        }
    }

    fn rest(mut self, wait: Wait, reason: Reason) -> Effect {
        self.connection = Some(Hit::Rest(wait, reason));
        self
    }

    fn lock(mut self, wait: lockout::Wait, reason: lockout::Reason, target: LockTarget) -> Effect {
        self.lock = Some(LockHit { wait, reason, target });
        self
    }
}

/// The wait a failure names: by the provider, as far as it is believed, or by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Declared(i64),
    Fixed(i64),
    No,
}

fn named(failure: &Failure, facts: &Facts, config: &Config) -> Named {
    let Some(retry_at) = failure.retry_at else { return Named::No };
    let ms = retry_at.0.saturating_sub(facts.now);
    if ms <= 0 {
        return Named::No;
    }
    match (failure.declared, facts.trust) {
        (false, _) => Named::Fixed(ms),
        (true, Trust::None) => Named::No,
        (true, Trust::Direct) => Named::Declared(ms.min(config.cooldown.declared_max.signed())),
        (true, Trust::Proxy) => Named::Declared(ms.min(config.cooldown.declared_max_proxy.signed())),
    }
}

/// The table.
pub fn effect(failure: &Failure, facts: &Facts, config: &Config) -> Effect {
    use FailureKind as K;
    let answered = failure.status.is_some() || failure.phase != Phase::Transport;
    let heard = if answered { Verdict::Alive } else { Verdict::Neutral };
    if failure.origin_local {
        return Effect::nothing(Verdict::Neutral);
    }
    let named = named(failure, facts, config);
    let rest = |otherwise: Wait| match named {
        Named::Declared(ms) => Wait::Declared(ms),
        Named::Fixed(ms) => Wait::Fixed(ms),
        Named::No => otherwise,
    };
    let standard =
        lockout::Wait::Computed { base: config.lockout.base.signed(), max: config.lockout.max.signed() };
    let lock = |otherwise: lockout::Wait| match named {
        Named::Declared(ms) => lockout::Wait::Declared(ms),
        Named::Fixed(ms) => lockout::Wait::Fixed(ms),
        Named::No => otherwise,
    };
    let mut effect = match (failure.kind, failure.scope) {
        (K::Cancelled, _) | (K::Timeout, Scope::Request | Scope::None) => Effect::nothing(Verdict::Neutral),
        (_, Scope::None) => Effect::nothing(heard),
        (K::ContextTooLong | K::TooLarge | K::Filtered | K::InvalidRequest | K::Unsupported, _) => {
            Effect::nothing(heard)
        }

        // The certificate or the region is wrong on this path: not the service, and not this account alone.
        (K::Unavailable, Scope::Provider) if failure.wider == Wider::ProviderEgress => {
            let mut effect =
                Effect::nothing(Verdict::Alive).rest(rest(Wait::Fixed(60_000)), Reason::Transport);
            effect.operator = true;
            effect
        }
        (K::Unavailable | K::Timeout | K::BadReply, Scope::Provider) => trip(failure, facts, config, named),
        (K::Unavailable | K::Timeout, Scope::Connection) => {
            let reason =
                if failure.phase == Phase::Transport { Reason::Transport } else { Reason::ServerError };
            Effect::nothing(heard).rest(rest(Wait::Computed), reason)
        }
        (K::Unavailable | K::Timeout, Scope::Model) => {
            Effect::nothing(heard).lock(lock(standard), lockout::Reason::ServerError, LockTarget::Model)
        }

        (K::Overloaded, Scope::Provider | Scope::Connection) => {
            let wait = rest(Wait::Fixed(config.cooldown.overload.signed()));
            Effect::nothing(heard).rest(wait, Reason::Overloaded)
        }
        (K::Overloaded, Scope::Model) => {
            let wait = lock(lockout::Wait::Fixed(config.lockout.capacity.signed()));
            Effect::nothing(heard).lock(wait, lockout::Reason::Capacity, LockTarget::Model)
        }

        (K::RateLimited, Scope::Provider | Scope::Connection) if !facts.per_model => {
            Effect::nothing(heard).rest(rest(Wait::Computed), Reason::RateLimited)
        }
        (K::RateLimited, Scope::Provider | Scope::Connection | Scope::Model) => {
            let base = config.classes.of(facts.class).cooldown_base.signed();
            let wait = lock(lockout::Wait::Computed { base, max: config.lockout.max.signed() });
            Effect::nothing(heard).lock(wait, lockout::Reason::RateLimited, LockTarget::Model)
        }

        (K::QuotaExhausted, Scope::Provider | Scope::Connection) if !facts.per_model => {
            Effect::nothing(heard)
                .rest(rest(Wait::Fixed(quota_wait(failure, config))), Reason::QuotaExhausted)
        }
        (K::QuotaExhausted, Scope::Provider | Scope::Connection | Scope::Model) => {
            let wait = lock(lockout::Wait::Fixed(quota_wait(failure, config)));
            Effect::nothing(heard).lock(wait, lockout::Reason::QuotaExhausted, LockTarget::Model)
        }

        (K::Unauthorized, Scope::Provider | Scope::Connection) => {
            unauthorized(failure, facts, rest(Wait::Computed))
        }
        (K::Unauthorized | K::Forbidden, Scope::Model) => {
            Effect::nothing(heard).lock(lock(standard), lockout::Reason::Forbidden, LockTarget::Model)
        }
        (K::Forbidden, Scope::Provider | Scope::Connection) => forbidden(failure, config, rest),

        (K::Banned, Scope::Provider | Scope::Connection | Scope::Model) => {
            if failure.evidence == Evidence::Structured {
                let mut effect = Effect::nothing(Verdict::Alive);
                effect.connection = Some(Hit::End(Terminal::Banned));
                effect.operator = true;
                effect
            } else {
                forbidden(failure, config, rest)
            }
        }
        (K::CreditsExhausted, Scope::Provider | Scope::Connection) => {
            let mut effect = Effect::nothing(heard);
            let strong = failure.status == Some(402) || failure.evidence != Evidence::Status;
            effect.connection = Some(if facts.trust == Trust::Direct && strong {
                Hit::End(Terminal::CreditsExhausted)
            } else {
                let wait = rest(Wait::Fixed(config.cooldown.credits_proxy.signed()));
                Hit::Suspect(Terminal::CreditsExhausted, wait, Reason::QuotaExhausted)
            });
            effect
        }
        (K::CreditsExhausted, Scope::Model) => {
            Effect::nothing(heard).lock(lock(standard), lockout::Reason::QuotaExhausted, LockTarget::Model)
        }

        (K::ModelUnavailable, Scope::Model) => {
            let wait = if facts.class == Class::Local {
                let (base, max) = (config.lockout.local_base.signed(), config.lockout.local_max.signed());
                lockout::Wait::Computed { base, max }
            } else {
                standard
            };
            Effect::nothing(heard).lock(lock(wait), lockout::Reason::NotFound, LockTarget::Model)
        }
        // The address itself is not there: somebody has to look at the settings.
        (K::ModelUnavailable, Scope::Provider | Scope::Connection) => {
            let mut effect = Effect::nothing(heard).rest(rest(Wait::Computed), Reason::Forbidden);
            effect.operator = true;
            effect
        }

        (K::BadReply, Scope::Connection) => {
            Effect::nothing(heard).rest(rest(Wait::Computed), Reason::HtmlPage)
        }
        (K::BadReply, Scope::Model) => {
            let (base, max) = (config.lockout.base.signed(), config.lockout.max.signed());
            let wait = lockout::Wait::InRow { of: config.lockout.empty_in_row, base, max };
            Effect::nothing(heard).lock(lock(wait), lockout::Reason::EmptyContent, LockTarget::Model)
        }
        // Cut off: the pin moves; after content it also counts.
        (K::BadReply, Scope::Request) => {
            let cut = failure.phase == Phase::MidStream;
            Effect::nothing(if cut { Verdict::ProviderFailure } else { Verdict::Neutral })
        }
        (_, Scope::Request) => Effect::nothing(heard),
        // Kinds and scopes of a newer core: harmless.
        _ => Effect::nothing(Verdict::Neutral),
    };
    widen(&mut effect, failure);
    effect.evict_pin = evicts(failure);
    effect
}

/// The provider failed as a service. The account rests briefly and without growing: it is not its fault.
fn trip(failure: &Failure, facts: &Facts, config: &Config, named: Named) -> Effect {
    let transport = failure.phase == Phase::Transport;
    let base = config.classes.of(facts.class).cooldown_base.signed();
    let wait = match named {
        Named::Declared(ms) if ms <= 60_000 => Wait::Declared(ms),
        Named::Fixed(ms) => Wait::Fixed(ms),
        Named::Declared(_) | Named::No => Wait::Fixed(base),
    };
    let reason = if transport { Reason::Transport } else { Reason::ServerError };
    let mut effect = Effect::nothing(Verdict::ProviderFailure).rest(wait, reason);
    effect.transport = transport;
    effect
}

fn unauthorized(failure: &Failure, facts: &Facts, wait: Wait) -> Effect {
    let mut effect = Effect::nothing(Verdict::Alive);
    effect.refresh = facts.class == Class::OAuth;
    let proof = facts.class == Class::ApiKey && failure.evidence == Evidence::Structured;
    effect.connection = Some(if proof {
        Hit::Suspect(Terminal::Expired, wait, Reason::AuthRetry)
    } else {
        Hit::Rest(wait, Reason::AuthRetry)
    });
    effect
}

fn forbidden(failure: &Failure, config: &Config, rest: impl Fn(Wait) -> Wait) -> Effect {
    let geo = failure.wider == Wider::ProviderEgress;
    let mut effect = if geo {
        Effect::nothing(Verdict::Alive).rest(rest(Wait::Fixed(86_400_000)), Reason::GeoBlocked)
    } else {
        let wait = rest(Wait::Grow(config.cooldown.forbidden.signed()));
        Effect::nothing(Verdict::Alive).rest(wait, Reason::Forbidden)
    };
    effect.operator = geo;
    effect
}

/// Nobody says until when: until a window of that length must have ended, at most a day.
fn quota_wait(failure: &Failure, config: &Config) -> i64 {
    let unknown = config.cooldown.quota_unknown.signed();
    failure.window.map_or(unknown, |window| {
        let length = i64::try_from(window.length().as_millis()).unwrap_or(i64::MAX);
        match window {
            omniroute_core::QuotaWindow::FiveHours => unknown,
            _ => length.min(86_400_000),
        }
    })
}

fn widen(effect: &mut Effect, failure: &Failure) {
    match &failure.wider {
        Wider::Group => effect.reach = Reach::Group,
        Wider::ProviderEgress => effect.reach = Reach::Egress,
        Wider::QuotaScope(name) => {
            let quota = matches!(failure.kind, FailureKind::QuotaExhausted | FailureKind::RateLimited);
            if !quota {
                return;
            }
            if let Some(lock) = &mut effect.lock {
                lock.target = LockTarget::Quota(Arc::clone(name));
            } else if let Some(Hit::Rest(wait, _)) = effect.connection.take() {
                let wait = match wait {
                    Wait::Declared(ms) => lockout::Wait::Declared(ms),
                    Wait::Fixed(ms) => lockout::Wait::Fixed(ms),
                    Wait::Computed => lockout::Wait::Computed { base: 3_000, max: 1_800_000 },
                    Wait::Grow(base) => lockout::Wait::Computed { base, max: 1_800_000 },
                };
                let reason = if failure.kind == FailureKind::QuotaExhausted {
                    lockout::Reason::QuotaExhausted
                } else {
                    lockout::Reason::RateLimited
                };
                effect.lock = Some(LockHit { wait, reason, target: LockTarget::Quota(Arc::clone(name)) });
            }
        }
        Wider::AllConnections => {
            if let Some(lock) = &mut effect.lock {
                lock.target = LockTarget::Everywhere;
            }
        }
        _ => {}
    }
}

/// Failures after which a session should look for another place.
fn evicts(failure: &Failure) -> bool {
    use FailureKind as K;
    match failure.kind {
        K::RateLimited | K::QuotaExhausted | K::Unauthorized | K::Banned | K::CreditsExhausted => {
            failure.scope != Scope::None
        }
        K::Timeout => failure.scope == Scope::Provider || failure.scope == Scope::Connection,
        K::BadReply => failure.scope == Scope::Request,
        K::Forbidden => failure.scope == Scope::Connection,
        _ => false,
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
