//! Whole processes over one server that goes away: limits are divided, what each decided holds for all afterwards.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use omniroute_core::{
    Clock, ConnectionId, Failure, FailureKind, Mono, Permit, Principal, ProviderId, QuotaWindow,
    ResilienceStore, Scope, Target, Unit, UnixMs,
};
use omniroute_resilience::{
    AcquireLease, Acquired, AdmitContext, Blocked, Class, Config, ConnectionSpec, Denial, Dimension,
    EventKind, FenceError, Handle, OwnerToken, PoolSpec, RedisStore, Resilience, Status,
};

use super::{config, hasty, key, put_at_last, until_connected};
use crate::server::{Memory, Server};
use crate::support::{Pool, RealClock, pause};

/// One process, as far as the store can tell.
struct Process {
    store: Arc<RedisStore>,
    clock: Arc<RealClock>,
    resilience: Resilience,
    picks: Vec<Handle>,
}

impl Process {
    fn new(server: &Server, specs: &[ConnectionSpec]) -> Process {
        Process::with(config(server.url()), specs)
    }

    fn with(config: omniroute_resilience::RedisConfig, specs: &[ConnectionSpec]) -> Process {
        let clock = RealClock::new();
        let store = Arc::new(block_on(RedisStore::open(config, clock.clone(), Pool::new(4))).unwrap());
        let mut config = Config::default();
        config.lease.enabled = true;
        config.lease.allow_volatile = true;
        // Every call asks the store: the tests are about what it says.
        config.mirror_max_age = omniroute_resilience::Span::ms(1);
        config.store_retry = omniroute_resilience::Span::ms(100);
        let dynamic: Arc<dyn ResilienceStore> = store.clone();
        let resilience = Resilience::builder(dynamic, clock.clone()).config(config).build().unwrap();
        resilience.configure(specs);
        let targets: Vec<Target> = specs
            .iter()
            .map(|spec| Target::new(spec.provider.as_str(), spec.connection.as_str(), "m"))
            .collect();
        let picks = resilience.register(&targets).into_iter().map(Option::unwrap).collect();
        Process { store, clock, resilience, picks }
    }

    fn admit(&self) -> Result<Permit, Denial> {
        pause(Duration::from_millis(3));
        block_on(self.resilience.admit(&self.picks, &AdmitContext::new(Principal::new("c"))))
    }

    fn admit_at(&self, at: usize) -> Result<Permit, Denial> {
        pause(Duration::from_millis(3));
        let cx = AdmitContext::new(Principal::new("c"));
        block_on(self.resilience.admit(&self.picks[at..=at], &cx))
    }

    /// As many as are granted, 20 at most, and why no more.
    fn admit_all(&self) -> (Vec<Permit>, Option<Blocked>) {
        let mut permits = Vec::new();
        while permits.len() < 20 {
            match self.admit() {
                Ok(permit) => permits.push(permit),
                Err(denial) => return (permits, Some(denial.reason)),
            }
        }
        (permits, None)
    }

    fn end(&self, permit: Permit, failure: Option<Failure>) {
        let mut outcome = permit.outcome(self.clock.now());
        outcome.failure = failure;
        block_on(permit.report(outcome));
    }

    fn acquire(&self, owner: &OwnerToken) -> Result<Acquired, FenceError> {
        let ask = AcquireLease {
            owner: owner.hash(),
            consumer: Principal::new("c"),
            candidates: self.picks[..1].to_vec(),
            ttl: None,
        };
        block_on(self.resilience.leases().acquire(&ask))
    }
}

/// Lets both note that the other is there, then takes the server away.
fn part(server: &mut Server, processes: [&Process; 2]) {
    for _ in 0..2_000 {
        if processes.iter().all(|process| process.store.health().processes == 2) {
            server.kill();
            for process in processes {
                until_connected(&process.store, false);
            }
            return;
        }
        // A process says that it is there every few seconds, with what it asks for anyway.
        for process in processes {
            let _ = block_on(process.store.get(&[]));
        }
        pause(Duration::from_millis(10));
    }
    panic!("{:?}", processes.map(|process| process.store.health()));
}

fn reunite(server: &mut Server, processes: [&Process; 2]) {
    server.restart();
    for process in processes {
        until_connected(&process.store, true);
        assert_eq!(process.store.health().unsettled, 0);
    }
}

fn one(limit: u32) -> Vec<ConnectionSpec> {
    let mut spec = ConnectionSpec::new("p", "c", Class::ApiKey);
    spec.limits.max_concurrent = Some(limit);
    vec![spec]
}

#[test]
fn slots_are_divided_while_apart_and_counted_together_afterwards() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let (one, two) = (Process::new(&server, &one(6)), Process::new(&server, &one(6)));
    let before = one.admit().unwrap();
    let kept = two.admit().unwrap();
    part(&mut server, [&one, &two]);
    assert!(one.store.status().apart);
    let (first, why) = one.admit_all();
    // Half of six, of which one was taken before.
    assert_eq!((first.len(), why), (2, Some(Blocked::Slots)));
    let (second, why) = two.admit_all();
    assert_eq!((second.len(), why), (2, Some(Blocked::Slots)));
    one.end(before, None);
    let again = one.admit().unwrap();

    reunite(&mut server, [&one, &two]);
    assert_eq!(two.admit_all().0.len(), 0, "three of each are held");
    for permit in first.into_iter().chain([again]) {
        one.end(permit, None);
    }
    assert_eq!(two.admit_all().0.len(), 3, "what was given back is free for all");
    drop((second, kept));
}

#[test]
fn quotas_are_divided_while_apart_and_added_up_afterwards() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let specs = vec![ConnectionSpec::new("p", "c", Class::ApiKey)];
    let (one, two) = (Process::new(&server, &specs), Process::new(&server, &specs));
    for process in [&one, &two] {
        let mut pool = PoolSpec::new("pool", vec![(ProviderId::new("p"), ConnectionId::new("c"))]);
        pool.dimensions = vec![Dimension { unit: Unit::Requests, window: QuotaWindow::Day, limit: 12 }];
        process.resilience.configure_pools(vec![pool]);
    }
    let spend = |process: &Process, most: usize| {
        let mut granted = 0;
        while granted < most
            && let Ok(permit) = process.admit()
        {
            granted += 1;
            process.end(permit, None);
        }
        granted
    };
    assert_eq!((spend(&one, 1), spend(&two, 3)), (1, 3));
    // Both have seen what was used so far.
    let _ = (one.admit(), two.admit());
    part(&mut server, [&one, &two]);
    assert_eq!(spend(&one, 20), 4, "half of the eight that were left");
    assert_eq!(spend(&two, 2), 2);
    reunite(&mut server, [&one, &two]);
    assert_eq!(spend(&one, 20) + spend(&two, 20), 2, "12 - 4 - 4 - 2");
}

#[test]
fn bans_and_rests_of_one_hold_for_all_afterwards_and_the_outage_is_told() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let specs: Vec<_> =
        ["a", "b"].into_iter().map(|name| ConnectionSpec::new("p", name, Class::ApiKey)).collect();
    let (one, two) = (Process::new(&server, &specs), Process::new(&server, &specs));
    part(&mut server, [&one, &two]);
    // One process rests a for ten minutes, the other one for one; only the first knows of b.
    let declared = |process: &Process, minutes: i64| {
        let mut failure = Failure::new(FailureKind::RateLimited, Scope::Connection, "test");
        failure.status = Some(429);
        failure.retry_at = Some(UnixMs(process.clock.now().wall.0 + minutes * 60_000));
        failure.declared = true;
        failure
    };
    for (process, minutes) in [(&one, 10), (&two, 1)] {
        let permit = process.admit().unwrap();
        assert_eq!(permit.target().connection, ConnectionId::new("a"));
        process.end(permit, Some(declared(process, minutes)));
    }
    let permit = one.admit().unwrap();
    assert_eq!(permit.target().connection, ConnectionId::new("b"));
    one.end(permit, Some(declared(&one, 5)));
    assert!(two.admit().is_ok(), "it has not heard of b");
    let health = one.resilience.health();
    assert!(health.store_degraded && health.store.apart && health.store.unsettled > 0, "{health:?}");

    reunite(&mut server, [&one, &two]);
    for process in [&one, &two] {
        let denial = process.admit().unwrap_err();
        assert_eq!(denial.reason, Blocked::RateLimited);
        let until = |at: usize| {
            let connections = process.resilience.health().connections;
            connections[at].until.unwrap().0 - process.clock.now().wall.0
        };
        assert!(until(0) > 9 * 60_000 && until(1) > 4 * 60_000, "{} {}", until(0), until(1));
        let health = process.resilience.health();
        assert!(!health.store_degraded && health.store.outages == 1, "{health:?}");
        let events = process.resilience.events(0).events;
        let told = |wanted: fn(&EventKind) -> bool| events.iter().filter(|event| wanted(&event.kind)).count();
        assert_eq!(told(|kind| matches!(kind, EventKind::StoreDegraded { .. })), 1, "{events:?}");
        assert_eq!(told(|kind| matches!(kind, EventKind::StoreRecovered)), 1, "{events:?}");
    }
}

#[test]
fn leases_fail_closed_and_a_server_without_memory_ends_them_all() {
    let Some(mut server) = Server::start(Memory::Forgets) else { return };
    // A connection that can be leased, and another provider's with slots.
    let mut specs = vec![ConnectionSpec::new("p", "c", Class::ApiKey)];
    specs.push(ConnectionSpec::new("q", "d", Class::ApiKey));
    specs[1].limits.max_concurrent = Some(9);
    let (one, two) = (Process::new(&server, &specs), Process::new(&server, &specs));
    let owner = OwnerToken::from_entropy([1; 32]);
    let Ok(Acquired::Acquired(lease)) = one.acquire(&owner) else { panic!("a free connection") };
    // It has seen who holds the connection.
    drop(two.admit_at(0).unwrap_err());
    part(&mut server, [&one, &two]);
    for process in [&one, &two] {
        assert!(process.acquire(&OwnerToken::from_entropy([2; 32])).is_err(), "nobody can confirm it");
        assert_eq!(process.admit_at(0).unwrap_err().reason, Blocked::LeaseHeld, "others keep off");
        let asked = process.resilience.counts().commits;
        drop(process.admit_at(1).unwrap());
        assert!(
            process.resilience.counts().commits > asked,
            "what is not about leases still goes to the store"
        );
    }
    reunite(&mut server, [&one, &two]);
    let status =
        block_on(one.resilience.leases().status(owner.hash(), &Principal::new("c"), lease.generation));
    assert!(!matches!(status, Ok(Status::Active(..))), "{status:?}");
    assert!(one.store.health().overruled + two.store.health().overruled > 0, "told, not hidden");
    let Ok(Acquired::Acquired(again)) = one.acquire(&owner) else { panic!("free again") };
    assert!(again.generation > lease.generation, "no generation is used twice");
}

#[test]
fn a_frozen_server_holds_an_admission_for_one_command_at_most() {
    let Some(server) = Server::start(Memory::Keeps) else { return };
    let specs = one(100);
    let process = Process::with(hasty(server.url()), &specs);
    put_at_last(&process.store, &key(0), "v");
    server.freeze();
    let (mut times, mut timers, mut held) = (Vec::new(), Vec::new(), Vec::new());
    let took = |before: Mono| process.clock.now().mono.since(before).as_millis();
    while process.store.health().connected {
        pause(Duration::from_millis(3));
        let before = process.clock.now().mono;
        let cx = AdmitContext::new(Principal::new("c"));
        held.extend(block_on(process.resilience.admit(&process.picks, &cx)));
        times.push(took(before));
        assert!(times.len() < 10_000, "never given up");
        if times.last().is_some_and(|ms| *ms >= 50) {
            // What the machine makes of a bare timer of the same length, at the same time.
            let before = process.clock.now().mono;
            block_on(process.clock.sleep_until(before.after(Duration::from_millis(50))));
            timers.push(took(before));
        }
    }
    let in_store: Vec<u128> = times.iter().copied().filter(|ms| *ms >= 50).collect();
    println!(
        "frozen: {} admissions until the server was given up; those that asked it took ms {in_store:?}; bare timers \
         of 50 ms after them {timers:?}",
        times.len()
    );
    assert!(!held.is_empty(), "ordinary traffic goes on");
    server.thaw();
    until_connected(&process.store, true);
}
