//! The library itself on the stage: one `Resilience` for each process, all over one store.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use omniroute_core::{ConnectionId, Permit, Principal, ProviderId, ResilienceStore, SessionId, Target};
use omniroute_resilience::{
    AcquireLease, Acquired, AdmitContext, Advice, Blocked, Class, ConnectionSpec, Handle, LeaseClaim, Limits,
    MemoryStore, Pin, Resilience, Span, advise,
};

use crate::sim::client::Scene;
use crate::sim::owners;
use crate::sim::plan::{Event, Plan};
use crate::sim::run::Props;
use crate::sim::stage::Stage;
use crate::sim::store::{self, Breakage, Opener, Shared};
use crate::sim::subject::{Ask, Refusal, Subject, ids};
use crate::sim::time::{Spawner, Time};

/// One process.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) library: Resilience,
    store: store::Handle,
    /// By account, then model.
    handles: Rc<Vec<Vec<Handle>>>,
}

/// Makes the empty state behind a run, and says how a process opens it.
pub(crate) type MakeStore = Rc<dyn Fn(&Time) -> Opener>;

/// All processes.
pub(crate) struct Library {
    processes: RefCell<Vec<Process>>,
    shared: Arc<Shared>,
    time: Time,
    plan: Plan,
    seed: u64,
    started: RefCell<u64>,
    specs: Vec<ConnectionSpec>,
    targets: Vec<Vec<Target>>,
    vendors: usize,
}

/// The memory store, shared by simulated processes.
pub(crate) fn memory() -> MakeStore {
    Rc::new(|time: &Time| {
        let store: Arc<dyn ResilienceStore> = Arc::new(MemoryStore::new(time.clock(0)).shared().durable());
        Arc::new(move || Arc::clone(&store)) as Opener
    })
}

/// The library over a store, broken or not.
pub(crate) fn library(make: MakeStore, breakage: Breakage) -> impl Fn(&Props) -> Rc<dyn Stage> {
    move |props| Rc::new(LibraryStage(Rc::new(Library::new(props, &make, breakage))))
}

struct LibraryStage(Rc<Library>);

impl Library {
    fn new(props: &Props, make: &MakeStore, breakage: Breakage) -> Library {
        let world = props.world.lock().unwrap_or_else(PoisonError::into_inner);
        let specs = (0..world.accounts.len())
            .map(|account| {
                let entry = &world.accounts[account];
                let class: Class = world.classes[entry.vendor];
                let mut spec =
                    ConnectionSpec::new(format!("v{}", entry.vendor), format!("c{account}"), class);
                if props.plan.tell_caps {
                    let max_concurrent = entry.cap.and_then(|cap| u32::try_from(cap).ok());
                    spec.limits = Limits { max_concurrent, ..Limits::default() };
                }
                spec
            })
            .collect();
        let targets = (0..world.accounts.len())
            .map(|account| (0..world.models).map(|model| world.target(account, model)).collect())
            .collect();
        let lease = i64::try_from(props.plan.config.slots.lease.as_ms()).unwrap_or(i64::MAX);
        let shared = Shared::new(make(&props.time), props.log.clone(), props.time.clone(), lease, breakage);
        let mut plan = props.plan.clone();
        if breakage == Breakage::LongSlots {
            plan.config.slots.lease = Span::minutes(10);
        }
        let library = Library {
            processes: RefCell::default(),
            shared,
            time: props.time.clone(),
            plan,
            seed: props.seed,
            started: RefCell::default(),
            specs,
            targets,
            vendors: world.classes.len(),
        };
        let processes = (1..=props.plan.hosts).map(|host| library.process(host)).collect();
        library.processes.replace(processes);
        library
    }

    fn process(&self, host: usize) -> Process {
        let number = {
            let mut started = self.started.borrow_mut();
            *started += 1;
            *started
        };
        let newer = self.plan.mixed && host % 2 == 1;
        let store = self.shared.handle(newer);
        let library = Resilience::builder(Arc::new(store.clone()), self.time.clock(host))
            .config(self.plan.config.clone())
            .seed(self.seed ^ (number << 32))
            .process(number)
            .build()
            .expect("the plan's configuration is valid");
        library.configure(&self.specs);
        let handles = self
            .targets
            .iter()
            .map(|models| {
                library.register(models).into_iter().map(|h| h.expect("all are configured")).collect()
            })
            .collect();
        Process { library, store, handles: Rc::new(handles) }
    }

    /// The process on a host (from 1).
    pub(crate) fn on(&self, host: usize) -> Process {
        self.processes.borrow()[host - 1].clone()
    }
}

impl Process {
    /// The handle of a target.
    pub(crate) fn handle(&self, target: &Target) -> Handle {
        let (_, account, model) = ids(target);
        self.handles[account][model]
    }

    /// Where the session stays at a vendor, if it does, and what to do about it.
    async fn pin(&self, consumer: &Principal, session: &SessionId, target: &Target) -> Option<(Pin, Advice)> {
        let pin = self.library.pin(consumer, &target.provider, session).await.ok()??;
        let pinned = Target { connection: pin.connection.clone(), ..target.clone() };
        let standing = self.library.look(self.handle(&pinned));
        let blocked = standing.blocked.map(|reason| (reason, standing.not_before));
        let now = omniroute_core::Mono(0);
        let advice = advise(&self.library.config().affinity, blocked, pin.diversions, false, now);
        Some((pin, advice))
    }
}

/// The reason in a word, for people.
fn name(reason: Blocked) -> &'static str {
    match reason {
        Blocked::Terminal(_) => "terminal",
        Blocked::Breaker => "breaker",
        Blocked::ProviderRamp => "ramp",
        Blocked::Slots => "slots",
        Blocked::Attempts => "attempts",
        Blocked::RetryBudget => "retry budget",
        Blocked::RateLimited => "rate limited",
        Blocked::ServerError => "server error",
        Blocked::QuotaExhausted => "quota",
        Blocked::LeaseHeld | Blocked::LeaseMismatch | Blocked::LeaseStale | Blocked::LeaseRequired => "lease",
        _ => "other",
    }
}

pub(crate) fn consumer(number: usize) -> Principal {
    Principal::new(format!("k{number}"))
}

fn session(number: u64) -> SessionId {
    SessionId::new(format!("s{number}"))
}

impl Subject for Library {
    fn admit<'a>(&'a self, host: usize, ask: &'a Ask) -> LocalBoxFuture<'a, Result<Permit, Refusal>> {
        async move {
            let process = self.on(host);
            let mut targets = ask.targets.clone();
            let mut cx = AdmitContext::new(consumer(ask.consumer));
            cx.purpose = ask.purpose;
            cx.deadline = Some(ask.deadline);
            cx.estimate = 1_000;
            cx.budget = Some(ask.budget.clone());
            cx.lease = ask.lease.map(|(owner, generation)| LeaseClaim { owner, generation });
            if let Some(number) = ask.session {
                let session = session(number);
                // The session's vendor comes first, and there its pin.
                let vendor = usize::try_from(number).unwrap_or(0) % self.vendors;
                targets.sort_by_key(|target| ids(target).0 != vendor);
                let pinned = match targets.first().filter(|target| ids(target).0 == vendor).cloned() {
                    Some(target) => {
                        process.pin(&cx.consumer, &session, &target).await.map(|pin| (target, pin))
                    }
                    None => None,
                };
                if let Some((target, (pin, Advice::Use | Advice::Wait(_)))) = pinned {
                    let pinned = Target { connection: pin.connection, ..target };
                    if !ask.tried.contains(&ids(&pinned).1) {
                        targets.retain(|target| target.connection != pinned.connection);
                        targets.insert(0, pinned);
                    }
                }
                cx.session = Some(session);
            }
            let handles: Vec<Handle> = targets.iter().map(|target| process.handle(target)).collect();
            let asked_at = self.time.moment(host).mono;
            match process.library.admit_or_wait(&handles, &cx).await {
                Ok(permit) => Ok(permit),
                Err(denial) => {
                    let now = self.time.moment(host).mono;
                    let wait = denial
                        .not_before
                        .map(|at| i64::try_from(at.since(now).as_millis()).unwrap_or(i64::MAX));
                    let waited = i64::try_from(now.since(asked_at).as_millis()).unwrap_or(0);
                    Err(Refusal { wait, reason: name(denial.reason), waited })
                }
            }
        }
        .boxed_local()
    }

    fn moved<'a>(&'a self, host: usize, ask: &'a Ask) -> LocalBoxFuture<'a, bool> {
        async move {
            let Some((owner, generation)) = ask.lease else { return false };
            let process = self.on(host);
            let candidates = self.targets.iter().map(|models| {
                let model = ask.targets.first().map_or(0, |target| ids(target).2);
                process.handle(&models[model])
            });
            let ask = AcquireLease {
                owner,
                consumer: consumer(ask.consumer),
                candidates: candidates.collect(),
                ttl: None,
            };
            match process.library.leases().acquire(&ask).await {
                Ok(Acquired::Reused(view) | Acquired::Transitioned(view)) => view.generation == generation,
                // A new one is not what the request runs under.
                _ => false,
            }
        }
        .boxed_local()
    }

    fn answered<'a>(&'a self, host: usize, ask: &'a Ask, target: &'a Target) -> LocalBoxFuture<'a, ()> {
        async move {
            let Some(number) = ask.session else { return };
            let (process, consumer, session) = (self.on(host), consumer(ask.consumer), session(number));
            let home = usize::try_from(number).unwrap_or(0) % self.vendors;
            if ids(target).0 != home {
                return;
            }
            let (provider, here): (&ProviderId, &ConnectionId) = (&target.provider, &target.connection);
            match process.pin(&consumer, &session, target).await {
                None => {
                    let _pin = process.library.bind(&consumer, provider, &session, here).await;
                }
                Some((pin, _)) if pin.connection == *here => {
                    let _written = process.library.touch_pin(&consumer, provider, &session, false).await;
                }
                Some((pin, Advice::Rebind | Advice::Delete)) => {
                    let _pin = process.library.rebind(&consumer, provider, &session, &pin, here).await;
                }
                Some(_) => {
                    let _written = process.library.touch_pin(&consumer, provider, &session, true).await;
                }
            }
        }
        .boxed_local()
    }
}

impl Stage for LibraryStage {
    fn subject(&self) -> Rc<dyn Subject> {
        self.0.clone()
    }

    fn event(&self, event: Event) {
        let library = &self.0;
        match event {
            Event::Freeze => library.shared.freeze(true),
            Event::Thaw => library.shared.freeze(false),
            Event::Wipe => library.shared.wipe(),
            Event::Slow(ms) => library.shared.slow(ms),
            Event::Kill(host) => {
                library.on(host).store.cut();
                let new = library.process(host);
                library.processes.borrow_mut()[host - 1] = new;
            }
            Event::Jump(..) => {}
        }
    }

    fn start(&self, spawner: &Spawner, scene: &Rc<Scene>) {
        owners::start(&self.0, spawner, scene);
    }

    fn idle(&self) -> Vec<(&'static str, String)> {
        // What is flushed here must not wait for a slow store: time has ended.
        self.0.shared.slow(0);
        let mut found = Vec::new();
        for (host, process) in self.0.processes.borrow().iter().enumerate() {
            let host = host + 1;
            process.library.flush().now_or_never();
            let busy: u32 = self.0.targets.iter().map(|models| process.library.in_flight(&models[0])).sum();
            if busy > 0 {
                found.push(("I-5", format!("host {host} counts {busy} attempts in flight")));
            }
            let (health, counts) = (process.library.health(), process.library.counts());
            if health.outbox > 0 || health.waiting > 0 {
                found.push((
                    "I-5",
                    format!("host {host}: outbox {}, waiting {}", health.outbox, health.waiting),
                ));
            }
            if counts.corrupt > 0 || counts.outbox_dropped > 0 {
                let text =
                    format!("host {host}: corrupt {}, dropped {}", counts.corrupt, counts.outbox_dropped);
                found.push(("corrupt", text));
            }
            let config = process.library.config();
            if health.pins > u64::from(config.affinity.max_pins) {
                found.push(("I-13", format!("host {host} holds {} pins", health.pins)));
            }
            let events = format!("{:?}", process.library.events(0));
            // The owners' tokens are 32 bytes of 7 after the first: in base64url a row of the same letters.
            if events.contains("vlo_") || events.contains("BwcHBwcH") {
                found.push(("I-14", format!("host {host}: an event shows a lease token")));
            }
        }
        found.extend(self.0.shared.held_slots().into_iter().map(|text| ("I-5", text)));
        found
    }

    fn traffic(&self) -> (u64, u64) {
        self.0.shared.traffic()
    }
}
