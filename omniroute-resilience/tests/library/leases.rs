//! Exclusive leases: their states, fences, what they exclude, and what is remembered of those that ended.

use std::sync::atomic::Ordering::Relaxed;

use crate::common::*;
use futures::executor::block_on;
use omniroute_core::{ConnectionId, Principal, ProviderId, ResilienceStore};
use omniroute_resilience::{
    AcquireLease, Acquired, AdmitContext, Blocked, Config, EndReason, FenceError, Handle, LeaseClaim,
    LeaseState, LeaseView, OwnerToken, Renewed, Resilience, Span, Status,
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
fn the_states_of_a_lease_row_by_row() {
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
fn leases_exclude_only_while_they_live_and_only_their_connection() {
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
fn a_move_keeps_the_generation_and_changes_the_fence() {
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
fn many_owners_over_few_connections_never_share_one() {
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

#[test]
fn what_has_ended_is_remembered_with_its_reason_for_a_week_and_a_hundred() {
    let world = leased(3);
    let picks = world.targets("m");
    let (a, key) = (owner(1), Principal::new("k"));
    let leases = world.resilience.leases();
    let history = |consumer: &str| {
        let views = block_on(leases.history(a.hash(), &Principal::new(consumer))).unwrap();
        views.iter().map(|view| (view.generation, view.state, view.ended.unwrap().1)).collect::<Vec<_>>()
    };
    assert_eq!(history("k"), []);
    view(ask(&world, &a, "k", &picks));
    assert_eq!(history("k"), [], "it has not ended");
    world.attempt(&picks[..1], None).unwrap_err();
    // Its connection rests for long: it moves. Then it is given back, then it runs out, then it is taken away.
    let permit = block_on(world.resilience.admit(&picks, &managed(&a, "k", 1))).unwrap();
    world.fail(permit, declared(rate_limited(), &world.clock, 10 * 60_000));
    assert!(matches!(ask(&world, &a, "k", &picks), Acquired::Transitioned(_)));
    block_on(leases.release(a.hash(), &key, 1, EndReason::ClientCancelled)).unwrap();
    world.wait(251);
    view(ask(&world, &a, "k", &picks[1..]));
    world.wait(120_000);
    assert_eq!(history("k").last(), Some(&(2, LeaseState::Expired, EndReason::TtlExpired)));
    view(ask(&world, &a, "k", &picks[2..]));
    let (provider, connection) = (ProviderId::new("p"), ConnectionId::new("p-2"));
    assert!(block_on(leases.invalidate(&provider, &connection, EndReason::ManagedKeyRevoked)).unwrap());
    let all = [
        (1, LeaseState::Invalidated, EndReason::HealthOrCooldown),
        (1, LeaseState::Released, EndReason::ClientCancelled),
        (2, LeaseState::Expired, EndReason::TtlExpired),
        (3, LeaseState::Invalidated, EndReason::ManagedKeyRevoked),
    ];
    assert_eq!(history("k"), all);
    assert_eq!(history("another key"), [], "nobody else sees them");
    for _ in 0..150 {
        let lease = view(ask(&world, &a, "k", &picks[1..]));
        block_on(leases.release(a.hash(), &key, lease.generation, EndReason::OwnerExit)).unwrap();
        world.wait(251);
    }
    let kept = history("k");
    assert_eq!(kept.len(), 101, "a hundred, and the last one");
    assert!(kept.is_sorted_by_key(|(generation, ..)| *generation));
    assert_eq!(kept.last().unwrap().0, 153);
    world.wait(Span::days(8).as_ms());
    assert_eq!(history("k"), []);
    assert_eq!(view(ask(&world, &a, "k", &picks)).generation, 154, "t_6_08: generations go on");
}
