//! A strategy that is written in JavaScript. Called while a call is polled, on the thread that polls it: there is no lock
//! and no other thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use napi::Env;
use napi::bindgen_prelude::{FnArgs, FunctionRef};
use omniroute::core::Outcome;
use omniroute::core::route::{
    Candidates, Layer, Pick, Plan, Reason, RouteContext, RouteError, RouteErrorKind, RoutingStrategy,
    Sequence, Why,
};
use serde::Deserialize;
use serde_json::json;

/// What a call of the host takes: the number of the strategy, whether it plans, and JSON text. It gives JSON text and throws
/// nothing.
pub(crate) type Host = FunctionRef<FnArgs<(u32, bool, String)>, String>;

thread_local! {
    /// The host of the call that is being polled on this thread.
    static CURRENT: RefCell<Option<(Env, Rc<Host>)>> = const { RefCell::new(None) };
    /// Strategies that are being asked on this thread.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// A strategy may ask its router for an explanation, which asks the strategy; one that always does would never end.
const MOST_ASKED: usize = 4;

/// Does `work` as a call of this host.
pub(crate) fn within<T>(env: Env, host: Option<Host>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also when `work` panics.
    struct Back(Option<(Env, Rc<Host>)>);
    impl Drop for Back {
        fn drop(&mut self) {
            let before = self.0.take();
            CURRENT.with(|current| *current.borrow_mut() = before);
        }
    }
    let now = host.map(|host| (env, Rc::new(host)));
    let before = CURRENT.with(|current| std::mem::replace(&mut *current.borrow_mut(), now));
    let _back = Back(before);
    work()
}

/// A strategy of the host, by its number.
#[derive(Debug)]
pub(crate) struct HostStrategy {
    id: String,
    number: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Order(Vec<usize>),
    Failed(String),
}

impl HostStrategy {
    pub(crate) fn new(id: String, number: u32) -> Self {
        HostStrategy { id, number }
    }

    fn ask(&self, plans: bool, told: String) -> Result<String, String> {
        let current = CURRENT.with(|current| current.borrow().clone());
        let Some((env, host)) = current else {
            return Err("it can only be asked on the thread that made the router, by its calls".to_owned());
        };
        let asked = ASKED.get();
        if asked == MOST_ASKED {
            return Err("it asks a router that asks it".to_owned());
        }
        let function = host.borrow_back(&env).map_err(|error| error.to_string())?;
        // Nothing in between unwinds: an exception of JavaScript comes back as an error.
        ASKED.set(asked + 1);
        let said = function.call((self.number, plans, told).into());
        ASKED.set(asked);
        said.map_err(|error| error.to_string())
    }

    fn wrong(&self, why: &str) -> RouteError {
        RouteError::new(RouteErrorKind::StrategyError, format!("strategy {:?} {why}", self.id))
    }
}

impl RoutingStrategy for HostStrategy {
    fn id(&self) -> &str {
        &self.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        let told = json!([
            around(cx),
            candidates
                .iter()
                .map(|one| json!({
                    "key": one.entry.target.to_string(),
                    "provider": one.entry.target.provider.as_str(),
                    "connection": one.entry.target.connection.as_str(),
                    "model": one.entry.target.model.as_str(),
                    "rank": one.entry.rank,
                    "weight": one.entry.weight,
                    "tags": one.entry.tags.iter().map(|tag| &**tag).collect::<Vec<_>>(),
                    "context": one.entry.model.context_window,
                    "priceIn": one.facts.price_in,
                    "priceOut": one.facts.price_out,
                    "meanMs": one.facts.mean_ms,
                    "errorRate": one.facts.error_rate,
                    "quotaLeft": one.facts.quota_left,
                    "inFlight": one.facts.in_flight,
                }))
                .collect::<Vec<_>>()
        ]);
        let said = self.ask(true, told.to_string()).map_err(|why| self.wrong(&format!("failed: {why}")))?;
        let order = match serde_json::from_str(&said) {
            Ok(Said::Order(order)) => order,
            Ok(Said::Failed(why)) => return Err(self.wrong(&format!("failed: {why}"))),
            Err(_) => return Err(self.wrong("gave no list of positions")),
        };
        let mut picks: Vec<Pick> = Vec::with_capacity(order.len());
        for position in order {
            let Some(one) = candidates.get(position) else {
                let most = candidates.len();
                return Err(self.wrong(&format!("gave candidate {position}, there are {most}, from 0 on")));
            };
            if let Some(twice) = picks.iter().position(|pick| pick.candidate == one.index) {
                return Err(self.wrong(&format!("gave candidate {position} twice, as number {twice}")));
            }
            picks.push(Pick::new(one.index, Why::of(Layer::Strategy, Reason::Named)));
        }
        Ok(Plan::Sequence(Sequence::new(picks, 0)))
    }

    fn observe(&self, outcome: &Outcome) {
        let told = json!({
            "key": outcome.target.to_string(),
            "failed": outcome.failure.as_ref().map(|failure| failure.kind.code()),
            "latencyMs": outcome.latency.as_secs_f64() * 1e3,
            "firstMs": outcome.first_content.map(|time| time.as_secs_f64() * 1e3),
        });
        // Nobody waits for it; the host itself says what its code throws.
        let _ = self.ask(false, told.to_string());
    }
}

/// What a strategy may know of a request. Never its text.
fn around(cx: &RouteContext<'_>) -> serde_json::Value {
    json!({
        "inputTokens": cx.request.input_tokens,
        "maxOutput": cx.request.max_output,
        "task": cx.request.class.name(),
        "session": cx.session.map(|session| session.id.as_str()),
        // As many bits as a number of JavaScript holds.
        "seed": cx.seed >> 11,
        "ticket": cx.ticket,
        "nowMs": cx.now.wall.0,
    })
}
