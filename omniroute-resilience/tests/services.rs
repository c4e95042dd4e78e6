//! Leases, pins, refresh, shared quotas and waiting: what stands beside the three layers.

mod common;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use common::*;
use futures::executor::block_on;
use omniroute_core::{
    ConnectionId, Principal, ProviderId, QuotaWindow, ResilienceStore, SessionId, Spend, Unit,
};
use omniroute_resilience::limits::quota::{Allocation, Policy};
use omniroute_resilience::{
    AcquireLease, Acquired, AdmitContext, Blocked, Budget, Config, Dimension, EndReason, FenceError, Handle,
    LeaseClaim, LeaseView, OwnerToken, PoolSpec, Refresh, RefreshEnd, Renewed, Resilience, Span, Status,
};

fn leased(connections: usize) -> World {
    let mut config = Config::default();
    config.lease.enabled = true;
    config.lease.allow_volatile = true;
    World::with(keys("p", connections), config, true)
}

fn owner(n: u8) -> OwnerToken {
    OwnerToken::from_entropy([n; 32])
}

fn ask(world: &World, owner: &OwnerToken, consumer: &str, picks: &[Handle]) -> Acquired {
    acquire(&world.resilience, owner, consumer, picks).expect("the store answers")
}

fn acquire(
    resilience: &Resilience,
    owner: &OwnerToken,
    consumer: &str,
    picks: &[Handle],
) -> Result<Acquired, FenceError> {
    let ask = AcquireLease {
        owner: owner.hash(),
        consumer: Principal::new(consumer),
        candidates: picks.to_vec(),
        ttl: None,
    };
    block_on(resilience.leases().acquire(&ask))
}

fn view(acquired: Acquired) -> LeaseView {
    match acquired {
        Acquired::Acquired(view) | Acquired::Reused(view) | Acquired::Transitioned(view) => view,
        other => panic!("{other:?}"),
    }
}

fn managed(owner: &OwnerToken, consumer: &str, generation: u64) -> AdmitContext {
    let mut cx = AdmitContext::new(Principal::new(consumer));
    cx.lease = Some(LeaseClaim { owner: owner.hash(), generation });
    cx
}

#[test]
fn t_6_01_the_states_of_a_lease_row_by_row() {
    let world = leased(2);
    let picks = world.targets("m");
    let (a, b, c) = (owner(1), owner(2), owner(3));
    let leases = world.resilience.leases();
    let key = Principal::new("k");
    let first = ask(&world, &a, "k", &picks);
    assert!(matches!(first, Acquired::Acquired(view) if view.generation == 1));
    assert!(matches!(ask(&world, &a, "k", &picks), Acquired::Reused(view) if view.generation == 1));
    assert_eq!(ask(&world, &a, "other", &picks), Acquired::OwnerActiveElsewhere);
    assert!(matches!(ask(&world, &b, "k", &picks), Acquired::Acquired(_)));
    let Acquired::CapacityUnavailable { retry_at, eligible } = ask(&world, &c, "k", &picks) else { panic!() };
    assert_eq!((retry_at, eligible), (view(first).expires_at, 2));
    world.wait(60_000);
    let renewed = block_on(leases.renew(a.hash(), &key, 1, None)).unwrap();
    assert!(matches!(renewed, Renewed::Done(view) if view.expires_at.0 == START + 180_000));
    assert_eq!(block_on(leases.renew(a.hash(), &key, 2, None)).unwrap(), Renewed::Stale);
    assert_eq!(
        block_on(leases.renew(a.hash(), &Principal::new("x"), 1, None)).unwrap(),
        Renewed::Stale,
        "t_6_05"
    );
    assert!(matches!(block_on(leases.status(a.hash(), &key, 1)).unwrap(), Status::Active(..)));
    for _ in 0..2 {
        let released = block_on(leases.release(a.hash(), &key, 1, EndReason::OwnerExit)).unwrap();
        assert!(matches!(released, Renewed::Done(_)), "twice gives the same");
    }
    assert_eq!(block_on(leases.release(a.hash(), &key, 7, EndReason::OwnerExit)).unwrap(), Renewed::Stale);
    assert_eq!(block_on(leases.status(a.hash(), &key, 1)).unwrap(), Status::Stale);
    assert!(matches!(ask(&world, &c, "k", &picks), Acquired::Acquired(_)), "the freed one");
    world.wait(121_000);
    assert!(
        matches!(ask(&world, &a, "k", &picks), Acquired::Acquired(view) if view.generation == 2),
        "t_6_06, t_6_08"
    );
}

#[test]
fn p19_leases_exclude_only_while_they_live_and_only_their_connection() {
    let world = leased(2);
    let picks = world.targets("m");
    let a = owner(1);
    world.attempt(&picks, None).unwrap();
    let lease = view(ask(&world, &a, "k", &picks));
    assert_eq!(world.admit(&picks).unwrap().grant().position, 1, "ordinary traffic goes around it");
    assert_eq!(world.admit(&picks[..1]).unwrap_err().code, "LEASE_CAPACITY_UNAVAILABLE");
    let permit = block_on(world.resilience.admit(&picks, &managed(&a, "k", lease.generation))).unwrap();
    assert_eq!(permit.grant().position, 0);
    assert!(permit.grant().fence.is_some());
    let wrong = block_on(world.resilience.admit(&picks[1..], &managed(&a, "k", lease.generation)));
    assert_eq!(wrong.unwrap_err().code, "LEASE_CONNECTION_MISMATCH");
    let stale = block_on(world.resilience.admit(&picks, &managed(&a, "k", 9))).unwrap_err();
    let foreign = block_on(world.resilience.admit(&picks, &managed(&a, "x", 1))).unwrap_err();
    assert!(stale.refusals.iter().all(|refusal| refusal.reason == Blocked::LeaseStale));
    assert_eq!(foreign.refusals[0].reason, Blocked::LeaseStale, "an attacker learns nothing");
    let none = block_on(world.resilience.admit(&picks, &managed(&owner(9), "k", 1))).unwrap_err();
    assert_eq!(none.refusals[0].reason, Blocked::LeaseRequired);
    world.wait(120_000);
    assert!(block_on(permit.check()).is_err(), "in flight may finish, but not be resent");
    assert_eq!(world.admit(&picks).unwrap().grant().position, 0, "it has ended");
    assert_eq!(acquire(&world.resilience, &a, "k", &[]), Err(FenceError::NoConnections), "t_6_10");
}

#[test]
fn t_6_04_a_move_keeps_the_generation_and_changes_the_fence() {
    let world = leased(2);
    let picks = world.targets("m");
    let a = owner(1);
    let lease = view(ask(&world, &a, "k", &picks));
    let permit = block_on(world.resilience.admit(&picks, &managed(&a, "k", 1))).unwrap();
    let before = permit.grant().fence;
    assert!(block_on(permit.check()).is_ok());
    let moved = ask(&world, &a, "k", &picks[1..]);
    assert!(matches!(moved, Acquired::Transitioned(view) if view.generation == lease.generation));
    let refused = block_on(permit.check()).unwrap_err();
    assert_eq!(refused.code.as_deref(), Some("LEASE_FENCE_STALE"));
    let after = block_on(world.resilience.admit(&picks[1..], &managed(&a, "k", 1))).unwrap();
    assert!(after.grant().fence > before);
    world.wait(251);
    assert_eq!(world.admit(&picks).unwrap().grant().position, 0, "the old connection is free again");
    let leases = world.resilience.leases();
    let (provider, connection) = (ProviderId::new("p"), ConnectionId::new("p-1"));
    let invalidated = leases.invalidate(&provider, &connection, EndReason::ManagedKeyRevoked);
    assert!(block_on(invalidated).unwrap());
    assert!(block_on(after.check()).is_err());
}

#[test]
fn leases_fail_closed() {
    let mut world = leased(1);
    let picks = world.targets("m");
    let a = owner(1);
    view(ask(&world, &a, "k", &picks));
    let permit = block_on(world.resilience.admit(&picks, &managed(&a, "k", 1))).unwrap();
    world.store.away.store(true, Relaxed);
    assert_eq!(block_on(permit.check()).unwrap_err().code.as_deref(), Some("LEASE_SERVICE_UNAVAILABLE"));
    let denial = block_on(world.resilience.admit(&picks, &managed(&a, "k", 1))).unwrap_err();
    assert_eq!((denial.status, denial.code), (503, "LEASE_SERVICE_UNAVAILABLE"));
    assert!(matches!(acquire(&world.resilience, &a, "k", &picks), Err(FenceError::Store(_))));
    world.store.away.store(false, Relaxed);
    world.config.lease.allow_volatile = false;
    let strict = world.process();
    let picks = handles(&strict, &world.specs, "m");
    assert_eq!(acquire(&strict, &a, "k", &picks), Err(FenceError::Volatile("memory")));
}

/// Which connections are held, by owner; an error if one is held twice.
fn holders(world: &World, owners: &[(OwnerToken, u64)]) -> Result<usize, String> {
    let leases = world.resilience.leases();
    let mut held = std::collections::BTreeMap::new();
    for (n, (owner, generation)) in owners.iter().enumerate() {
        let status = block_on(leases.status(owner.hash(), &Principal::new("k"), *generation));
        if let Ok(Status::Active(_, _, connection)) = status
            && let Some(other) = held.insert(connection.clone(), n)
        {
            return Err(format!("{connection} is held by {other} and {n}"));
        }
    }
    Ok(held.len())
}

#[test]
fn t_6_02_many_owners_over_few_connections_never_share_one() {
    let mut world = leased(4);
    let processes: Vec<Resilience> = (0..4).map(|_| world.process()).collect();
    let picks: Vec<Vec<Handle>> = processes.iter().map(|p| handles(p, &world.specs, "m")).collect();
    let mut owners: Vec<(OwnerToken, u64)> = (0..12).map(|n| (owner(n), 0)).collect();
    let key = Principal::new("k");
    let (mut most, mut refused) = (0, 0);
    for round in 0_usize..600 {
        let (at, who) = (round % 4, round * 7 % 12);
        let hash = owners[who].0.hash();
        match acquire(&processes[at], &owners[who].0, "k", &picks[at]).unwrap() {
            Acquired::Acquired(view) | Acquired::Reused(view) | Acquired::Transitioned(view) => {
                assert!(view.generation >= owners[who].1, "generations never repeat");
                owners[who].1 = view.generation;
                if round % 3 == 0 {
                    let leases = processes[(at + 1) % 4].leases();
                    block_on(leases.release(hash, &key, view.generation, EndReason::OwnerExit)).unwrap();
                }
            }
            _ => refused += 1,
        }
        most = most.max(holders(&world, &owners).unwrap());
        world.wait(if round % 5 == 0 { 9_000 } else { 10 });
    }
    assert_eq!(most, 4);
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_lease_that_is_used_lives_on() {
    let world = leased(1);
    let picks = world.targets("m");
    let a = owner(1);
    view(ask(&world, &a, "k", &picks));
    for _ in 0..20 {
        world.wait(50_000);
        let permit = block_on(world.resilience.admit(&picks, &managed(&a, "k", 1))).unwrap();
        world.succeed(permit);
    }
    world.wait(119_000);
    assert_eq!(world.admit(&picks).unwrap_err().code, "LEASE_CAPACITY_UNAVAILABLE");
    world.wait(1_000);
    assert!(world.admit(&picks).is_ok());
}

#[test]
fn i_14_no_event_or_record_shows_a_token() {
    let world = leased(1);
    let picks = world.targets("m");
    let a = owner(77);
    view(ask(&world, &a, "k", &picks));
    let events = serde_json::to_string(&world.resilience.events(0)).unwrap();
    let debug = format!("{:?} {:?}", world.resilience.health(), world.resilience);
    let mut stored = String::new();
    block_on(world.store.scan("", &mut |key, record| stored.push_str(&format!("{key:?}{record:?}"))))
        .unwrap();
    for text in [&events, &debug, &stored] {
        assert!(!text.contains(&a.reveal()));
    }
    assert!(!events.contains(&a.hash().hex()));
}

fn pinned() -> World {
    let mut config = Config::default();
    config.affinity.ttl = Span::minutes(30);
    World::with(keys("p", 10), config, true)
}

#[test]
fn t_5_04_sessions_that_start_at_once_end_on_one_connection() {
    let mut world = pinned();
    let (me, provider, session) = (Principal::new("me"), ProviderId::new("p"), SessionId::new("s"));
    let mut ends = Vec::new();
    for n in 0..100 {
        let process = if n % 25 == 0 { world.process() } else { world.resilience.clone() };
        let proposed = ConnectionId::new(format!("p-{}", n % 10));
        ends.push(block_on(process.bind(&me, &provider, &session, &proposed)).unwrap().unwrap().connection);
    }
    assert!(ends.iter().all(|end| *end == ends[0]));
    // Moving from an old version loses to whoever moved first.
    let pin = block_on(world.resilience.pin(&me, &provider, &session)).unwrap().unwrap();
    let other = world.process();
    let (x, y) = (ConnectionId::new("p-7"), ConnectionId::new("p-8"));
    let first = block_on(world.resilience.rebind(&me, &provider, &session, &pin, &x)).unwrap().unwrap();
    let second = block_on(other.rebind(&me, &provider, &session, &pin, &y)).unwrap().unwrap();
    assert_eq!((first.connection.clone(), second.connection), (x.clone(), x.clone()));
    assert!(!block_on(other.evict_pin(&me, &provider, &session, &y)).unwrap());
    assert!(block_on(other.evict_pin(&me, &provider, &session, &x)).unwrap());
}

#[test]
fn pins_live_as_long_as_they_are_used_and_are_written_seldom() {
    let world = pinned();
    let (me, provider, session) = (Principal::new("me"), ProviderId::new("p"), SessionId::new("s"));
    let to = ConnectionId::new("p-3");
    block_on(world.resilience.bind(&me, &provider, &session, &to)).unwrap();
    for _ in 0..120 {
        world.wait(60_000);
        block_on(world.resilience.touch_pin(&me, &provider, &session, false)).unwrap();
    }
    assert!(block_on(world.resilience.pin(&me, &provider, &session)).unwrap().is_some());
    assert!(world.store.calls().1 <= 42, "{:?}: not every time", world.store.calls());
    world.wait(30 * 60_000);
    assert!(block_on(world.resilience.pin(&me, &provider, &session)).unwrap().is_none());
    // t_5_02: off means that nobody is asked.
    let off = World::new(1);
    assert!(block_on(off.resilience.bind(&me, &provider, &session, &to)).unwrap().is_none());
    assert_eq!(off.store.calls(), (0, 0));
}

#[test]
fn p30_t_8_06_one_refreshes_and_the_others_follow() {
    let mut world = World::with(keys("p", 1), Config::default(), true);
    let other = world.process();
    let (p, c) = (ProviderId::new("p"), ConnectionId::new("p-0"));
    // The vendor revokes everything when a token is used twice.
    let (mut version, used) = (0, AtomicU32::new(0));
    for round in 0..200 {
        let first = block_on(world.resilience.refresh_begin(&p, &c, version, None)).unwrap();
        let Refresh::Lead(lock) = first else { panic!("{round}: {first:?}") };
        assert!(matches!(block_on(other.refresh_begin(&p, &c, version, None)).unwrap(), Refresh::Follow(_)));
        used.fetch_add(1, Relaxed);
        let next = block_on(world.resilience.refresh_finish(&lock, RefreshEnd::Renewed)).unwrap();
        assert_eq!(
            block_on(other.refresh_begin(&p, &c, version, None)).unwrap(),
            Refresh::AlreadyNewer(next)
        );
        version = next;
    }
    assert_eq!((used.load(Relaxed), version), (200, 200));
    // t_8_07: the one that leads dies; another takes over after 45 s, and the late one renews nothing twice.
    let Refresh::Lead(dead) = block_on(world.resilience.refresh_begin(&p, &c, version, None)).unwrap() else {
        panic!()
    };
    world.wait(45_000);
    let Refresh::Lead(heir) = block_on(other.refresh_begin(&p, &c, version, None)).unwrap() else { panic!() };
    assert_eq!(block_on(other.refresh_finish(&heir, RefreshEnd::Renewed)).unwrap(), 201);
    assert_eq!(block_on(world.resilience.refresh_finish(&dead, RefreshEnd::Dead)).unwrap(), 201);
    let picks = world.targets("m");
    assert!(world.admit(&picks).is_ok(), "a late verdict does not end the new credential");
    for n in 0..5 {
        let Refresh::Lead(lock) = block_on(other.refresh_begin(&p, &c, 201, None)).unwrap() else {
            panic!("{n}")
        };
        block_on(other.refresh_finish(&lock, RefreshEnd::Failed)).unwrap();
    }
    assert!(matches!(block_on(other.refresh_begin(&p, &c, 201, None)).unwrap(), Refresh::Paused(_)));
    assert_eq!(world.resilience.look(picks[0]).blocked, None, "refreshing never rests a connection");
}

fn pool(world: &World, policy: Policy) {
    let members = world.specs.iter().map(|spec| (spec.provider.clone(), spec.connection.clone())).collect();
    let mut pool = PoolSpec::new("shared", members);
    pool.dimensions = vec![Dimension { unit: Unit::Requests, window: QuotaWindow::Hour, limit: 20 }];
    pool.allocations = ["a", "b"]
        .map(|consumer| Allocation { consumer: consumer.into(), weight: 50, hard_cap: None, policy })
        .to_vec();
    world.resilience.configure_pools(vec![pool]);
}

#[test]
fn t_7_04_parallel_reservations_never_exceed_a_pool_and_shares_hold() {
    let mut world = World::with(keys("p", 2), Config::default(), true);
    pool(&world, Policy::Hard);
    let other = world.process();
    let members = world.specs.iter().map(|spec| (spec.provider.clone(), spec.connection.clone())).collect();
    let mut same = PoolSpec::new("shared", members);
    same.dimensions = vec![Dimension { unit: Unit::Requests, window: QuotaWindow::Hour, limit: 20 }];
    other.configure_pools(vec![same]);
    let picks = world.targets("m");
    let others = handles(&other, &world.specs, "m");
    let mut permits = Vec::new();
    let a = AdmitContext::new(Principal::new("a"));
    while let Ok(permit) = block_on(world.resilience.admit(&picks, &a)) {
        permits.push(permit);
    }
    assert_eq!(permits.len(), 20, "half of two accounts' allowance");
    while let Ok(permit) = admit(&other, &others) {
        permits.push(permit);
    }
    assert_eq!(permits.len(), 40, "and never more than all of it");
    let denial = block_on(world.resilience.admit(&picks, &a)).unwrap_err();
    assert_eq!(denial.code, "quota_share_exceeded");
    assert!(denial.retry_after.unwrap() <= 3_660);
    for permit in permits {
        world.succeed(permit);
    }
    world.wait(3_700_000);
    assert!(block_on(world.resilience.admit(&picks, &a)).is_ok());
    let events = serde_json::to_string(&world.resilience.events(0)).unwrap();
    assert!(events.contains("quota.decision") && events.contains("share.pick"));
}

#[test]
fn shares_of_a_pool_are_paid_when_granted() {
    let world = World::with(keys("p", 3), Config::default(), false);
    pool(&world, Policy::Burst);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..30 {
        let order = world.resilience.share_order("shared");
        let specs: Vec<_> = order
            .iter()
            .map(|(p, c)| {
                world.specs.iter().find(|s| (&s.provider, &s.connection) == (p, c)).unwrap().clone()
            })
            .collect();
        let picks = handles(&world.resilience, &specs, "m");
        let permit = world.admit(&picks).unwrap();
        *counts.entry(permit.target().connection.clone()).or_insert(0) += 1;
        world.succeed(permit);
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 10, 10]);
}

#[test]
fn rates_are_corrected_by_what_was_really_used() {
    let mut specs = keys("p", 1);
    specs[0].limits.tpm = Some(8_000);
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    let mut cx = AdmitContext::default();
    cx.estimate = 2_000;
    let permit = block_on(world.resilience.admit(&picks, &cx)).unwrap();
    let denial = block_on(world.resilience.admit(&picks, &cx)).unwrap_err();
    assert_eq!((denial.reason, denial.retry_after), (Blocked::RateLimit, Some(15)));
    let mut outcome = permit.outcome(omniroute_core::Moment::default());
    outcome.spend = Some(Spend { tokens: 10, micro_usd: 0 });
    block_on(permit.report(outcome));
    world.wait(100);
    assert!(block_on(world.resilience.admit(&picks, &cx)).is_ok());
}

/// Polls a future until it stands still.
fn poll<T>(future: &mut std::pin::Pin<Box<dyn Future<Output = T> + '_>>) -> Option<T> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut cx) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn t_7_07_short_blocks_are_waited_for_and_others_not() {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    let world = World::with(keys("p", 1), config, false);
    let picks = world.targets("m");
    world.attempt(&picks, Some(rate_limited())).unwrap();
    let mut cx = AdmitContext::default();
    cx.budget = Some(Budget::new());
    let mut waiting: std::pin::Pin<Box<dyn Future<Output = _>>> =
        Box::pin(world.resilience.admit_or_wait(&picks, &cx));
    assert!(poll(&mut waiting).is_none());
    assert_eq!(world.resilience.health().waiting, 1);
    world.wait(2_000);
    assert!(poll(&mut waiting).is_none());
    world.wait(2_000);
    let permit = poll(&mut waiting).unwrap().unwrap();
    assert_eq!(permit.grant().waited.as_secs(), 4);
    drop(waiting);
    world.fail(permit, declared(rate_limited(), &world.clock, 60_000));
    let mut hopeless: std::pin::Pin<Box<dyn Future<Output = _>>> =
        Box::pin(world.resilience.admit_or_wait(&picks, &cx));
    assert!(poll(&mut hopeless).unwrap().is_err(), "too long to wait for");
    drop(hopeless);
    assert_eq!(world.resilience.health().waiting, 0);
}

#[test]
fn p39_t_7_10_waiters_for_a_slot_are_served_in_turn_and_may_leave() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(1);
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    let running = world.admit(&picks).unwrap();
    let contexts: Vec<AdmitContext> =
        ["a", "a", "b"].map(|name| AdmitContext::new(Principal::new(name))).to_vec();
    let mut waiters: Vec<Option<std::pin::Pin<Box<dyn Future<Output = _>>>>> = contexts
        .iter()
        .map(|cx| {
            let waiter: std::pin::Pin<Box<dyn Future<Output = _>>> =
                Box::pin(world.resilience.admit_or_wait(&picks, cx));
            Some(waiter)
        })
        .collect();
    for waiter in waiters.iter_mut().flatten() {
        assert!(poll(waiter).is_none());
    }
    assert_eq!(world.resilience.health().waiting, 3);
    waiters[1] = None;
    assert_eq!(world.resilience.health().waiting, 2, "who goes away leaves at once");
    assert!(world.admit(&picks).is_err());
    world.succeed(running);
    assert!(world.admit(&picks).is_err(), "nobody passes those who wait");
    let mut served = Vec::new();
    for _ in 0..2 {
        let mut permit = None;
        for (n, slot) in waiters.iter_mut().enumerate() {
            if let Some(result) = slot.as_mut().and_then(poll) {
                assert!(permit.is_none(), "one slot, one permit");
                served.push(n);
                permit = Some(result.unwrap());
                *slot = None;
            }
        }
        world.succeed(permit.unwrap());
    }
    assert_eq!(served, [0, 2]);
    assert_eq!(world.resilience.health().waiting, 0);
    assert!(world.admit(&picks).is_ok());
}
