//! What all requests share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use omniroute_compress::Compress;
use omniroute_core::route::RouteOptions;
use omniroute_core::{Env, Mono, UnixMs};
use omniroute_providers::{Catalog, HttpProvider};
use omniroute_resilience::Resilience;
use omniroute_route::{Receipt, RouteReceipt, Router};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::fault::Fault;
use super::guard::Guard;
use super::keys::{Caller, Keys, allow};
use super::ops::Op;

/// How much is told in headers of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Full,
    Minimal,
    Nothing,
}

/// A connection that can be called.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) provider: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) http: Arc<HttpProvider>,
    /// It can sign in, as far as we know.
    pub(super) ready: bool,
    pub(super) auth: &'static str,
    pub(super) tags: Vec<String>,
}

/// Numbers the operator set.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// Longest body of a request for a model, in bytes.
    pub(super) body: usize,
    /// Requests for models at the same time.
    pub(super) in_flight: usize,
    /// Streams say that they are alive after so long a silence; zero: never.
    pub(super) ping: Duration,
    /// Decisions that are kept.
    pub(super) decisions: usize,
    /// How long streams may go on after the signal to end.
    pub(super) grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 16 << 20,
            in_flight: 1_024,
            ping: Duration::from_secs(15),
            decisions: 1_000,
            grace: Duration::from_secs(30),
        }
    }
}

/// One request that was decided about.
#[derive(Debug, Clone)]
pub(super) struct Decided {
    pub(super) id: u64,
    pub(super) at: UnixMs,
    pub(super) caller: Arc<str>,
    pub(super) model: String,
    pub(super) session: Option<String>,
    receipt: Kept,
}

#[derive(Debug, Clone)]
enum Kept {
    Growing(Receipt),
    Whole(Box<RouteReceipt>),
}

/// What is told of one.
#[derive(Debug, Serialize)]
pub(super) struct ToldDecision {
    pub(super) id: String,
    pub(super) at: String,
    pub(super) caller: String,
    pub(super) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    pub(super) outcome: &'static str,
    pub(super) receipt: RouteReceipt,
}

impl Decided {
    pub(super) fn told(&self) -> ToldDecision {
        let receipt = match &self.receipt {
            Kept::Growing(receipt) => receipt.now(),
            Kept::Whole(receipt) => (**receipt).clone(),
        };
        let outcome = match (&receipt.answered, receipt.finished) {
            (Some(_), true) => "answered",
            (Some(_), false) => "running",
            (None, _) => "failed",
        };
        ToldDecision {
            id: receipt_id(self.id),
            at: super::moment::rfc3339(self.at),
            caller: self.caller.to_string(),
            model: self.model.clone(),
            session: self.session.clone(),
            outcome,
            receipt,
        }
    }
}

/// How a decision is named in headers and addresses.
pub(super) fn receipt_id(number: u64) -> String {
    format!("rcp_{number:x}")
}

/// A program that is told to end.
#[derive(Debug, Clone)]
pub(super) struct Stopping {
    /// No new requests any more.
    pub(super) begun: Shared<BoxFuture<'static, ()>>,
    /// Streams end now.
    pub(super) now: Shared<BoxFuture<'static, ()>>,
}

/// What all requests share.
#[derive(Debug)]
pub(super) struct Gateway {
    pub(super) env: Env,
    pub(super) router: Router,
    pub(super) resilience: Resilience,
    pub(super) compress: Option<Compress>,
    pub(super) plan: String,
    /// Plans, combos and settings of compression.
    pub(super) section: omniroute::Config,
    pub(super) catalog: Catalog,
    pub(super) lines: Vec<Line>,
    pub(super) keys: Keys,
    pub(super) guard: Guard,
    pub(super) limits: Limits,
    pub(super) telling: Telling,
    /// What an absent model means; none: it is refused.
    pub(super) default_model: Option<String>,
    /// What requests ask for that do not say otherwise.
    pub(super) defaults: RouteOptions,
    pub(super) started: Mono,
    pub(super) stopping: Stopping,
    pub(super) running: Arc<AtomicUsize>,
    pub(super) streams: Arc<AtomicUsize>,
    pub(super) decided: Mutex<VecDeque<Decided>>,
    pub(super) number: AtomicU64,
    /// Makes names of requests of this process differ from those of others.
    pub(super) salt: u64,
}

/// A place among the requests that run; it is given back when dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Place {
    pub(super) fn of(counter: &Arc<AtomicUsize>) -> Place {
        counter.fetch_add(1, Relaxed);
        Place(Arc::clone(counter))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Gateway {
    /// A place for one more request for a model.
    ///
    /// # Errors
    /// All are taken.
    pub(super) fn place(&self) -> Result<Place, Fault> {
        let place = Place::of(&self.running);
        if self.running.load(Relaxed) <= self.limits.in_flight {
            return Ok(place);
        }
        let now = self.env.clock.now().wall;
        let mut fault =
            Fault::new(503, "too_many_requests_in_flight", "all places are taken; try again in a second");
        fault.retry = Some((UnixMs(now.0 + 1_000), 1));
        Err(fault)
    }

    /// Who calls, if it may do what the operation does.
    pub(super) fn admit(&self, headers: &http::HeaderMap, gemini: bool, op: &Op) -> Result<Caller, Fault> {
        let caller = self.keys.caller(headers, gemini)?;
        allow(&caller, op.scopes)?;
        Ok(caller)
    }

    /// Keeps a decision and gives its number.
    pub(super) fn keep(&self, caller: &Caller, model: &str, session: Option<&str>, receipt: Receipt) -> u64 {
        let id = self.number.fetch_add(1, Relaxed);
        let at = self.env.clock.now().wall;
        // Names of sessions are kept as stand-ins only.
        let session = session.map(|name| {
            Sha256::digest(name.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
        });
        let caller: Arc<str> = caller.principal.as_str().into();
        let model = model.chars().take(200).collect();
        let one = Decided { id, at, caller, model, session, receipt: Kept::Growing(receipt) };
        let mut decided = self.decisions();
        if self.limits.decisions == 0 {
            return id;
        }
        // What a receipt shares with its request is let go when the request is over.
        if let Some(before) = decided.len().checked_sub(64).and_then(|at| decided.get_mut(at))
            && let Kept::Growing(receipt) = &before.receipt
        {
            before.receipt = Kept::Whole(Box::new(receipt.now()));
        }
        while decided.len() >= self.limits.decisions {
            decided.pop_front();
        }
        decided.push_back(one);
        id
    }

    pub(super) fn decisions(&self) -> std::sync::MutexGuard<'_, VecDeque<Decided>> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name for a request that has none: time first, then what no other has.
    pub(super) fn request_id(&self) -> String {
        const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let at = u64::try_from(self.env.clock.now().wall.0).unwrap_or_default();
        let number = self.number.fetch_add(1, Relaxed);
        let mixed = u128::from(self.salt ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 16
            | u128::from(number & 0xffff);
        let mut out = String::from("req_");
        let mut put = |value: u128, digits: u32| {
            for at in (0..digits).rev() {
                let digit = usize::try_from(value >> (5 * at) & 31).unwrap_or_default();
                out.push(char::from(DIGITS[digit]));
            }
        };
        put(u128::from(at), 10);
        put(mixed, 16);
        out
    }
}
