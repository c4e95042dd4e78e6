//! Pitfalls that other gateways fell into.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::common::*;
use futures::executor::block_on;
use omniroute_core::{Clock, Evidence, Failure, FailureKind, Permit, Phase, Scope};
use omniroute_resilience::layers::breaker::State;
use omniroute_resilience::layers::connection::Terminal;
use omniroute_resilience::{
    AdmitContext, AllUnhealthy, Blocked, Class, Config, ConnectionSpec, Handle, Resilience, Span,
};

/// A vendor that counts its calls. It wants to see the permit: that is how credentials are handed out.
#[derive(Default)]
struct Vendor {
    calls: AtomicU64,
}

impl Vendor {
    fn call(&self, permit: &Permit) -> Option<Failure> {
        let n = self.calls.fetch_add(1, Relaxed);
        assert!(block_on(permit.check()).is_ok());
        match n % 5 {
            0 => Some(failure(FailureKind::Unavailable, Scope::Provider, 503)),
            1 => Some(rate_limited()),
            _ => None,
        }
    }
}

/// A host that sends requests; a wrong one sends each failed request again under the permit it has.
fn send(world: &World, picks: &[Handle], vendor: &Vendor, wrong: bool) {
    let Ok(permit) = world.admit(picks) else { return };
    match vendor.call(&permit) {
        Some(_) if wrong => {
            vendor.call(&permit);
            world.succeed(permit);
        }
        Some(failure) => world.fail(permit, failure),
        None if vendor.calls.load(Relaxed).is_multiple_of(7) => drop(permit),
        None => world.succeed(permit),
    }
}

/// Whether every call of the vendor had a permit of its own, and each permit ended once.
fn wired(wrong: bool) -> Result<u64, String> {
    let world = World::new(4);
    let picks = world.targets("m");
    let vendor = Vendor::default();
    for _ in 0..400 {
        send(&world, &picks, &vendor, wrong);
        world.wait(500);
    }
    let (calls, counts) = (vendor.calls.load(Relaxed), world.resilience.counts());
    if calls != counts.granted {
        return Err(format!("{calls} calls, {} permits", counts.granted));
    }
    let running: u32 = picks.iter().map(|pick| world.resilience.look(*pick).in_flight).sum();
    if running > 0 {
        return Err(format!("{running} permits never ended"));
    }
    let health = world.resilience.health();
    let refused = counts.denied > 0 || health.breakers.iter().any(|breaker| breaker.failures > 0);
    if refused { Ok(calls) } else { Err("what the calls told reached no layer".to_owned()) }
}

#[test]
fn every_call_has_a_permit_and_what_it_told_reaches_the_layers() {
    assert!(wired(false).unwrap() > 200);
    assert!(wired(true).unwrap_err().contains("permits"), "a call beside the permits is seen");
}

/// When another process serves a connection again after one learned that it rests for `ms`.
fn served_after(ms: i64, cached_for: Option<u64>) -> u64 {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    let mut world = World::with(keys("p", 1), config, true);
    let other = world.process();
    let (picks, others) = (world.targets("m"), handles(&other, &world.specs, "m"));
    block_on(async { drop(other.admit(&others, &AdmitContext::default()).await) });
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, ms))).expect("nothing blocks it yet");
    let began = world.clock.now().mono;
    world.wait(251);
    assert!(admit(&other, &others).is_err(), "a quarter of a second later it knows");
    // From here on it cannot ask: what it remembers has to end by itself.
    world.store.away.store(true, Relaxed);
    loop {
        world.wait(50);
        let passed = u64::try_from(world.clock.now().mono.since(began).as_millis()).expect("short");
        let cached = cached_for.is_some_and(|ms| passed < ms);
        if !cached && admit(&other, &others).is_ok() {
            return passed;
        }
        assert!(passed < 700_000, "never");
    }
}

#[test]
fn what_is_remembered_ends_with_the_rest_and_is_a_quarter_of_a_second_old() {
    let bounded = |passed: u64| (4_000..=4_300).contains(&passed);
    assert!(bounded(served_after(4_000, None)));
    assert!(!bounded(served_after(4_000, Some(600_000))), "a memory with an age of its own is caught");
}

#[test]
fn answers_without_an_answer() {
    let world = World::new(2);
    let picks = world.targets("m");
    // An empty answer says nothing of the connection; the third in a row locks the model there.
    let empty = || {
        let mut empty = failure(FailureKind::BadReply, Scope::Model, 200);
        empty.phase = Phase::QualityGate;
        empty
    };
    for n in 0..3 {
        assert_eq!(world.resilience.look(picks[0]).blocked, None, "{n}");
        world.attempt(&picks[..1], Some(empty())).unwrap();
    }
    assert_eq!(world.resilience.look(picks[0]).blocked, Some(Blocked::ModelLocked));
    assert!(world.admit(&handles(&world.resilience, &world.specs[..1], "other")).is_ok());
    assert_eq!(world.resilience.health().breakers[0].failures, 0);
    // A success between them counts anew.
    for _ in 0..4 {
        world.attempt(&picks[1..], Some(empty())).unwrap();
        world.attempt(&picks[1..], Some(empty())).unwrap();
        world.attempt(&picks[1..], None).unwrap();
    }
    // An answer that is legitimately empty (a ping for one token) is a success like any other.
    let permit = world.admit(&picks[1..]).unwrap();
    block_on(permit.first_content());
    world.succeed(permit);
    assert_eq!(world.resilience.look(picks[1]).blocked, None);
    // A page for people instead of an answer: the connection rests, the provider is not to blame.
    world.attempt(&picks[1..], Some(failure(FailureKind::BadReply, Scope::Connection, 200))).unwrap();
    assert_eq!(world.resilience.look(picks[1]).blocked, Some(Blocked::ServerError));
    assert_eq!(world.resilience.health().breakers[0].failures, 0);
    // A notice that the credits are gone, sent as a success.
    let world = World::new(2);
    let picks = world.targets("m");
    let mut notice = failure(FailureKind::CreditsExhausted, Scope::Connection, 200);
    notice.evidence = Evidence::Text;
    world.attempt(&picks[..1], Some(notice)).unwrap();
    let gone = Some(Blocked::Terminal(Terminal::CreditsExhausted));
    assert_eq!(world.resilience.look(picks[0]).blocked, gone);
    // Cut off before any content: nobody's fault the first time; after content it counts.
    let mut cut = failure(FailureKind::BadReply, Scope::Request, 200);
    cut.phase = Phase::BeforeFirstContent;
    world.attempt(&picks[1..], Some(cut.clone())).unwrap();
    assert_eq!(world.resilience.health().breakers[0].failures, 0);
    let permit = world.admit(&picks[1..]).unwrap();
    block_on(permit.first_content());
    cut.phase = Phase::MidStream;
    world.fail(permit, cut);
    assert_eq!(world.resilience.health().breakers[0].failures, 1);
}

/// Opens the breakers of these providers.
fn open(world: &World, picks: &[Handle]) {
    for _ in 0..40 {
        world.wait(6_000);
        let permits: Vec<_> = picks.iter().filter_map(|pick| world.admit(&[*pick]).ok()).collect();
        for permit in permits {
            world.fail(permit, failure(FailureKind::Unavailable, Scope::Provider, 503));
        }
        if world.resilience.health().breakers.iter().all(|breaker| breaker.state == State::Open) {
            return;
        }
    }
    panic!("never opened");
}

fn quiet() -> Config {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    config
}

/// What a denial says to a caller.
fn says(resilience: &Resilience, picks: &[Handle]) -> (u16, &'static str, bool) {
    let denial = admit(resilience, picks).expect_err("all are blocked");
    (denial.status, denial.code, denial.retry_after.is_some())
}

#[test]
fn an_admission_over_a_slow_store_decides_on_nothing_old() {
    let mut specs = keys("full", 8);
    specs.iter_mut().for_each(|spec| spec.limits.max_concurrent = Some(1));
    specs.extend(keys("free", 1));
    let world = World::with(specs, Config::default(), true);
    let picks = world.targets("m");
    let held: Vec<Permit> = picks[..8].iter().map(|pick| world.admit(&[*pick]).unwrap()).collect();
    world.wait(1_000);
    let before = world.resilience.counts().refreshes;
    world.store.slow.store(90, Relaxed);
    let permit = world.admit(&picks).unwrap();
    assert_eq!(permit.target().provider.as_str(), "free");
    // Eight look in vain for 90 ms each: what was read first is 810 ms old at the end, and may be 250.
    let refreshes = world.resilience.counts().refreshes - before;
    assert!((3..=5).contains(&refreshes), "{refreshes} refreshes");
    drop(held);
}

/// Whether a connection that another process sent to rest is granted after this many looks in vain of 20 ms each,
/// by what was 240 ms old when the admission began.
fn granted_by_what_grew_old(looks: usize, remembers: Span) -> bool {
    let mut specs = keys("full", looks);
    specs.iter_mut().for_each(|spec| spec.limits.max_concurrent = Some(1));
    specs.extend(keys("p", 2));
    let mut config = quiet();
    config.mirror_max_age = remembers;
    let mut world = World::with(specs, config, true);
    let picks = world.targets("m");
    let _held: Vec<Permit> =
        picks[..looks].iter().map(|pick| world.admit(&[*pick]).expect("it is free")).collect();
    let other = world.process();
    let theirs = handles(&other, &world.specs, "m");
    world.wait(1_000);
    // All is read now; right after that another process hears of a limit.
    world.succeed(world.admit(&picks).expect("one is free"));
    let permit = admit(&other, &theirs[looks..=looks]).expect("it is free");
    fail(&world.clock, permit, rate_limited());
    world.wait(240);
    world.store.slow.store(20, Relaxed);
    world.admit(&picks).expect("one is free").grant().position == looks
}

#[test]
fn what_grows_old_while_others_are_looked_at_is_read_again() {
    for looks in 1..=8 {
        assert!(!granted_by_what_grew_old(looks, Span::ms(250)), "after {looks} looks");
    }
    assert!(granted_by_what_grew_old(1, Span::seconds(5)), "who may remember for longer is not caught");
}

#[test]
fn all_unhealthy_is_one_answer_with_status_code_and_time_of_one_candidate() {
    let specs: Vec<ConnectionSpec> = (0..2).flat_map(|n| keys(&format!("p{n}"), 1)).collect();
    let world = World::with(specs, quiet(), false);
    let picks = world.targets("m");
    open(&world, &picks);
    world.wait(4_000);
    let denial = world.admit(&picks).unwrap_err();
    assert_eq!((denial.status, denial.code), (503, "provider_circuit_open"));
    let left: Vec<_> = denial.refusals.iter().map(|refusal| refusal.not_before.unwrap()).collect();
    assert_eq!(denial.not_before, left.iter().min().copied());
    let seconds = denial.not_before.unwrap().since(world.clock.now().mono).as_millis().div_ceil(1_000);
    assert_eq!(u128::from(denial.retry_after.unwrap()), seconds, "rounded up");
    // Who would rather have the least bad one than none gets it; what it tells does not end the outage.
    let mut cx = AdmitContext::default();
    cx.all_unhealthy = AllUnhealthy::TryAnyway;
    let permit = block_on(world.resilience.admit(&picks, &cx)).unwrap();
    assert!(permit.grant().last_resort && !permit.grant().probe);
    let first = denial.refusals.iter().min_by_key(|refusal| refusal.not_before).unwrap().position;
    assert_eq!(permit.grant().position, first);
    world.succeed(permit);
    assert!(world.resilience.health().breakers.iter().all(|breaker| breaker.state == State::Open));
    // Only for breakers: what rests, rests.
    let world = World::with(keys("p", 2), quiet(), false);
    let picks = world.targets("m");
    for pick in &picks {
        world.attempt(&[*pick], Some(rate_limited())).unwrap();
    }
    assert!(block_on(world.resilience.admit(&picks, &cx)).is_err());
}

#[test]
fn the_rows_of_the_answer_when_nothing_may_be_used() {
    let banned = || {
        let mut banned = failure(FailureKind::Banned, Scope::Connection, 403);
        banned.evidence = Evidence::Structured;
        banned
    };
    let world = World::with(keys("p", 3), quiet(), false);
    let picks = world.targets("m");
    assert_eq!(says(&world.resilience, &[]), (404, "no_connection_configured", false));
    world.attempt(&picks[..1], Some(banned())).unwrap();
    world.attempt(&picks[1..2], Some(banned())).unwrap();
    assert_eq!(says(&world.resilience, &picks[..2]), (401, "all_credentials_terminal", false));
    let counts = world.admit(&picks[..2]).unwrap_err().counts();
    assert_eq!(counts, [(Blocked::Terminal(Terminal::Banned), 2)]);
    world.attempt(&picks[2..], Some(failure(FailureKind::ModelUnavailable, Scope::Model, 404))).unwrap();
    assert_eq!(says(&world.resilience, &picks), (429, "model_cooldown", true), "one is only locked");
    world.attempt(&world.targets("x")[2..], Some(rate_limited())).unwrap();
    assert_eq!(says(&world.resilience, &world.targets("x")), (429, "all_connections_cooling", true));
    let mut local = ConnectionSpec::new("q", "one", Class::Local);
    local.limits.max_concurrent = Some(1);
    let world = World::with(vec![local], quiet(), false);
    let picks = world.targets("m");
    let _running = world.admit(&picks).unwrap();
    assert_eq!(says(&world.resilience, &picks), (429, "local_capacity", true));
}

#[test]
fn successes_that_heal_a_breaker_are_written_now_and_then_and_at_the_end() {
    let world = World::with(keys("p", 2), quiet(), true);
    let picks = world.targets("m");
    for _ in 0..6 {
        world.wait(10_000);
        let pick = if world.resilience.look(picks[0]).blocked.is_none() { &picks[..1] } else { &picks[1..] };
        world.attempt(pick, Some(failure(FailureKind::Unavailable, Scope::Provider, 503))).unwrap();
    }
    world.wait(60_000);
    // The connections are well again.
    for pick in &picks {
        world.attempt(&[*pick], None).unwrap();
        world.attempt(&[*pick], None).unwrap();
    }
    let failures = || world.resilience.health().breakers[0].failures;
    let left = failures();
    assert!(left > 0, "{left}");
    let (_, before) = world.store.calls();
    for _ in 0..4 {
        world.attempt(&picks, None).unwrap();
    }
    assert_eq!((world.store.calls().1, failures()), (before, left), "within five seconds: not one write");
    block_on(world.resilience.flush());
    assert_eq!(world.store.calls().1, before + 1, "at the end: one");
    assert!(failures() < left);
}

/// Names of functions in the sources below a folder.
fn functions(folder: &std::path::Path, found: &mut std::collections::BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
            found.extend(names.filter_map(|rest| rest.strip_suffix("() {")).map(str::to_owned));
        }
    }
}

/// Tests that a table names and that are not there.
fn not_there(table: &str, tests: &std::collections::BTreeSet<String>) -> Vec<String> {
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let named = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    named.filter(|name| !tests.contains(*name)).map(str::to_owned).collect()
}

#[test]
fn the_guide_names_a_test_for_every_mistake_of_others() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    // Only the repository has the guide.
    let Ok(guide) = std::fs::read_to_string(here.join("../docs/src/resilience.md")) else { return };
    let (_, table) = guide.split_once("\n## Mistakes of others\n").expect("the guide has the table");
    let table = table.split_once("\n## ").map_or(table, |(table, _)| table);
    let mut tests = std::collections::BTreeSet::new();
    functions(&here.join("src"), &mut tests);
    functions(&here.join("tests"), &mut tests);
    let rows = table.lines().filter(|line| line.starts_with("| ") && line.contains('`')).count();
    assert_eq!((rows, not_there(table, &tests)), (44, Vec::new()));
    // A test that is renamed or taken away is missed.
    assert!(tests.remove("jitter_only_lengthens"));
    assert_eq!(not_there(table, &tests), ["jitter_only_lengthens"]);
}
