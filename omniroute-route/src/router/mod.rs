//! The router: a request in, an answer out, whoever gives it.

mod attempt;
mod books;
mod bridge;
mod build;
mod chat;
mod error;
mod handover;
mod job;
mod look;
mod memory;
mod panel;
mod quota;
mod relay;
mod reply;
pub(crate) mod slot;
mod stages;
mod stream;
mod windows;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::HeaderMap;
use omniroute_core::route::{Feedback, RouteError, RouteOptions, RoutingStrategy};
use omniroute_core::wire::Wire;
use omniroute_core::{ChatRequest, Compressor, ConnectionId, Env, Provider, ProviderId};
use omniroute_resilience::{Health, LeaseClaim, Resilience};

pub use build::RouterBuilder;
pub use error::{BuildError, ChatError};
pub use stream::ReplyStream;

use crate::auto::auto;
use crate::auto_name::auto_names;
use crate::bounded::Bounded;
use crate::combo::{Combos, Execution};
use crate::directory::Directory;
use crate::expand::{auto_pool, combo_levels, model_pool};
use crate::explain::Explanation;
use crate::planner::Planner;
use crate::receipt::{Receipt, RouteReceipt};
use crate::registry::STRATEGIES;
use crate::resolve::{Mapping, Route, resolve};
use crate::stats::Stats;
use memory::Memory;
use quota::Quotas;
use slot::{Desk, Slot};
use windows::Windows;

/// Single models whose routes are kept.
const MODELS: usize = 1_000;

/// Answers requests. Cloning shares it.
///
/// # Behavior
/// - Runs on any executor: it waits only for providers, the clock, the store and the place for heavy work of its [`Env`].
/// - Dropping a future or a stream ends the call at the vendor and frees what was held; nobody is blamed.
/// - The answer is in the wire of the request, whoever gave it.
#[derive(Debug, Clone)]
pub struct Router {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    env: Env,
    resilience: Resilience,
    directory: Arc<dyn Directory>,
    combos: Combos,
    mappings: Vec<Mapping>,
    providers: BTreeMap<(ProviderId, ConnectionId), Arc<dyn Provider>>,
    caps: BTreeMap<(ProviderId, ConnectionId), u32>,
    compressor: Option<Arc<dyn Compressor>>,
    seed: u64,
    options: RouteOptions,
    execution: Execution,
    /// The strategy of the name `auto`, if it is not the built-in one.
    auto: Option<Arc<dyn RoutingStrategy>>,
    slots: Mutex<Slots>,
    desks: Mutex<Vec<Desk>>,
    stats: Stats,
    quotas: Quotas,
    windows: Windows,
    memory: Memory,
    descriptions: bridge::Descriptions,
    number: AtomicU64,
}

#[derive(Debug)]
struct Slots {
    named: BTreeMap<Arc<str>, Arc<Slot>>,
    models: Bounded<Arc<str>, Arc<Slot>>,
    version: u64,
}

impl Default for Slots {
    fn default() -> Self {
        Slots { named: BTreeMap::new(), models: Bounded::new(MODELS), version: 0 }
    }
}

/// What one request asks for beside its body.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ChatOptions {
    /// What it asks of routing; none: what the router asks for.
    pub route: Option<RouteOptions>,
    /// Tags that a step has to carry.
    pub tags: Vec<Arc<str>>,
    /// Only this connection.
    pub connection: Option<ConnectionId>,
    /// The exclusive lease it is sent under; its connection and no other may answer then.
    pub lease: Option<LeaseClaim>,
    /// The plan of compression, by name.
    pub profile: Option<String>,
    /// Headers of the caller. Providers pass a few names on, never keys.
    pub headers: HeaderMap,
    /// The name of the request; none: one is made up.
    pub request: Option<Arc<str>>,
}

/// An answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChatReply {
    /// The wire it is written in: that of the request.
    pub wire: Wire,
    /// The answer itself.
    pub body: ReplyBody,
    receipt: Receipt,
}

impl ChatReply {
    /// The receipt as it stands. Of a stream it is complete when the stream has ended.
    pub fn receipt(&self) -> RouteReceipt {
        self.receipt.now()
    }

    /// The receipt itself, for those who take the body out.
    pub fn receipt_handle(&self) -> Receipt {
        self.receipt.clone()
    }

    /// The whole answer; none: it is a stream.
    pub fn whole(&self) -> Option<&Bytes> {
        match &self.body {
            ReplyBody::Whole(body) => Some(body),
            ReplyBody::Stream(_) => None,
        }
    }
}

/// Whole or in pieces.
#[derive(Debug)]
pub enum ReplyBody {
    /// Whole.
    Whole(Bytes),
    /// In pieces.
    Stream(ReplyStream),
}

/// How a router is doing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RouterHealth {
    /// Requests so far.
    pub requests: u64,
    /// Routes that are ready.
    pub routes: usize,
    /// What operators should know, with the name of the route in front.
    pub notes: Vec<String>,
    /// How everybody stands.
    pub resilience: Health,
}

impl Router {
    /// Starts to put one together.
    ///
    /// ```
    /// let host = omniroute_core::testing::host(&omniroute_core::testing::VirtualClock::default());
    /// let router = omniroute_route::Router::builder(host).seed(7).build()?;
    /// assert_eq!(router.health().requests, 0);
    /// # Ok::<(), omniroute_route::BuildError>(())
    /// ```
    pub fn builder(env: Env) -> RouterBuilder {
        RouterBuilder::new(env)
    }

    /// Who would be asked, and why. Nothing is sent, nothing is learned, no turn is taken.
    ///
    /// # Errors
    /// As for a request, with who was dropped and why.
    pub fn explain(&self, request: &ChatRequest) -> Result<Explanation, Box<ChatError>> {
        self.explain_with(request, &ChatOptions::default())
    }

    /// [`Router::explain`] for a request that asks for something.
    ///
    /// # Errors
    /// As for a request; [`ChatError::receipt`] has who was dropped and why, under `skipped`.
    pub fn explain_with(
        &self,
        request: &ChatRequest,
        options: &ChatOptions,
    ) -> Result<Explanation, Box<ChatError>> {
        self.inner.explain(request, options)
    }

    /// The plan of compression of the route that a name means, where it has one of its own (`compression` among the
    /// options of a combo).
    pub fn compression_of(&self, model: &str) -> Option<Arc<str>> {
        self.inner.compression_of(model)
    }

    /// How everything stands.
    pub fn health(&self) -> RouterHealth {
        let slots = self.inner.slots();
        let told = |(name, slot): (&Arc<str>, &Arc<Slot>)| {
            let notes = slot.planner.strategy().notes();
            notes.into_iter().map(|note| format!("{name}: {note}")).collect::<Vec<_>>()
        };
        RouterHealth {
            notes: slots.named.iter().flat_map(told).collect(),
            requests: self.inner.number.load(std::sync::atomic::Ordering::Relaxed),
            routes: slots.named.len(),
            resilience: self.inner.resilience.health(),
        }
    }

    /// Who may be used now, for operators.
    pub fn resilience(&self) -> &Resilience {
        &self.inner.resilience
    }

    /// How good the answer of a request was, from 0, useless, to 1, perfect. `weight` is how much the judgement counts, 0
    /// to 1. A second judgement of the same request replaces the first. False: nobody remembers the request.
    pub fn feedback(&self, request: &str, reward: f32, weight: f32) -> bool {
        let request: Arc<str> = request.into();
        let (reward, weight) = (reward.clamp(0.0, 1.0), weight.clamp(0.0, 1.0));
        if reward.is_nan() || weight.is_nan() {
            return false;
        }
        let Some(asked) = self.inner.memory.judge(&request, reward, weight) else { return false };
        let at = self.inner.env.clock.now().wall;
        let mut feedback = Feedback::new(request, asked.target, asked.class, at, reward);
        feedback.weight = weight;
        feedback.consumer = asked.consumer;
        feedback.replaces = asked.judged;
        asked.slot.planner.feedback(&feedback);
        true
    }

    /// What the strategies have learned, by the name of the route.
    pub fn save(&self) -> Vec<(Arc<str>, Vec<u8>)> {
        let slots = self.inner.slots();
        slots.named.iter().filter_map(|(name, slot)| Some((name.clone(), slot.planner.save()?))).collect()
    }

    /// Takes back what [`Router::save`] gave. The names of those that could not be read.
    pub fn load(&self, saved: &[(Arc<str>, Vec<u8>)]) -> Vec<Arc<str>> {
        let read = |(name, state): &(Arc<str>, Vec<u8>)| {
            let slot = self.inner.slot(name).ok()?;
            slot.planner.load(state).ok()
        };
        saved.iter().filter(|one| read(one).is_none()).map(|(name, _)| name.clone()).collect()
    }

    /// What is odd about the combos but not wrong, each with its place.
    pub fn warnings(&self) -> &[String] {
        &self.inner.combos.warnings
    }

    /// Names that requests may use: combos, `auto` names, models of providers.
    pub fn models(&self) -> Vec<String> {
        let mut names: Vec<String> = self.inner.combos.iter().map(|combo| combo.name.to_string()).collect();
        names.extend(auto_names());
        for provider in self.inner.directory.providers() {
            let models = self.inner.directory.models(&provider);
            names.extend(models.iter().map(|model| format!("{provider}/{model}")));
        }
        names
    }
}

impl Inner {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The route that a model's name means.
    fn slot(&self, model: &str) -> Result<Arc<Slot>, RouteError> {
        let found = resolve(model, &self.combos, &self.mappings, &*self.directory)?;
        let key: Arc<str> = match &found.route {
            Route::Combo(name) => name.clone(),
            // Every `auto` name has a route of its own, whatever clients call it: what was learned can be found again.
            Route::Auto(_) => found.meant.trim_end_matches('/').to_ascii_lowercase().into(),
            Route::Model { provider, model } => format!("{provider}/{model}").into(),
        };
        let single = matches!(found.route, Route::Model { .. });
        {
            let slots = self.slots();
            let known = if single { slots.models.get(&key) } else { slots.named.get(&key) };
            if let Some(slot) = known {
                return Ok(slot.clone());
            }
        }
        let slot = Arc::new(self.make(&key, &found.route));
        let mut slots = self.slots();
        if single {
            slots.models.insert(key, slot.clone());
        } else {
            // Whoever was first stays: its planner may have given out turns.
            return Ok(slots.named.entry(key).or_insert(slot).clone());
        }
        Ok(slot)
    }

    fn make(&self, key: &Arc<str>, route: &Route) -> Slot {
        let version = {
            let mut slots = self.slots();
            slots.version += 1;
            slots.version
        };
        let mut execution = self.execution.clone();
        let (mut left_out, mut handover) = (0, None);
        let (name, pool, planner) = match route {
            Route::Combo(name) => {
                let combo = self.combos.get(name).expect("resolving found the combo");
                execution.clone_from(&combo.execution);
                handover.clone_from(&combo.handover);
                let name: Arc<str> = format!("combo {name:?}").into();
                let (pool, children) = combo_levels(version, combo, &self.combos, &*self.directory);
                let planner = Planner::new(name.clone(), combo.strategy.clone())
                    .with_accounts(combo.accounts.clone())
                    .with_children(children);
                (name, pool, planner)
            }
            Route::Auto(auto_name) => {
                let (pool, out) = auto_pool(version, auto_name, &*self.directory);
                left_out = out;
                let own = self.auto.clone().filter(|_| &**key == "auto");
                (key.clone(), pool, Planner::new(key.clone(), own.unwrap_or_else(|| auto(auto_name, None))))
            }
            Route::Model { provider, model } => {
                let first = STRATEGIES.iter().find(|entry| entry.id == "fill-first");
                let entry = first.expect("the strategy is built in");
                let strategy = (entry.build)(&mut crate::options::OptionReader::new("", &BTreeMap::new()));
                let pool = model_pool(version, provider, model, &*self.directory);
                (key.clone(), pool, Planner::new(key.clone(), strategy))
            }
        };
        let handles = self.resilience.register(&Slot::targets(&pool));
        let of = |target: &omniroute_core::Target| (target.provider.clone(), target.connection.clone());
        let caps = pool.entries().iter().map(|entry| self.caps.get(&of(&entry.target)).copied()).collect();
        // Who has nobody to answer for it cannot be used.
        let answered = |entry: &omniroute_core::route::Entry| self.providers.contains_key(&of(&entry.target));
        let handles = pool
            .entries()
            .iter()
            .zip(handles)
            .map(|(entry, handle)| handle.filter(|_| answered(entry)))
            .collect();
        Slot { name, pool, planner, handles, caps, execution, handover, left_out }
    }
}
