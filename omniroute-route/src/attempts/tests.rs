//! The failure table, row by row, and what holds for every script of failures.

use std::time::Duration;

use omniroute_core::{Evidence, Failure, FailureKind as K, Mono, Phase, Scope, Target};
use proptest::prelude::*;

use super::*;

/// `provider/connection/model@window`.
fn spots(names: &str) -> Vec<Spot> {
    let spot = |name: &str| {
        let (name, window) = name.split_once('@').map_or((name, None), |(n, w)| (n, w.parse().ok()));
        let mut parts = name.split('/').map(str::to_owned);
        let mut part = || parts.next().unwrap();
        Spot { target: Target::new(part(), part(), part()), window }
    };
    names.split_whitespace().map(spot).collect()
}

fn fail(kind: K, scope: Scope) -> Failure {
    Failure::new(kind, scope, "test")
}

fn transport(scope: Scope) -> Failure {
    let mut failure = fail(K::Unavailable, scope);
    failure.phase = Phase::Transport;
    failure
}

fn said(kind: K, evidence: Evidence) -> Failure {
    let mut failure = fail(kind, Scope::Request);
    failure.evidence = evidence;
    failure
}

/// Who is tried when everybody but the one at `at` fails in a way that only takes the target, and that one like this.
fn order(names: &str, at: usize, failure: &Failure, mut allowance: Allowance) -> String {
    allowance.per_provider = 99;
    allowance.attempts = 99;
    let spots = spots(names);
    let mut attempts = Attempts::new(spots.clone(), allowance);
    let mut seen = String::new();
    while let Next::Try(ids) = attempts.next(Mono(0)) {
        let id = ids[0];
        seen.push_str(&format!("{}/{} ", spots[id].target.provider, spots[id].target.connection));
        attempts.admitted(id);
        let dull = fail(K::RateLimited, Scope::Model);
        attempts.failed(if id == at { failure.clone() } else { dull }, Mono(0));
    }
    seen.trim_end().to_owned()
}

#[test]
fn every_row_of_the_table_at_every_place() {
    // a/1/m and a/2/m are accounts of one offering, a/1/n is another model of the first account.
    let names = "a/1/m a/2/m a/1/n b/1/m";
    for (failure, expected) in [
        (transport(Scope::Connection), "a/1 a/1 a/2 b/1"),
        (transport(Scope::Provider), "a/1 a/1 b/1"),
        (fail(K::Unavailable, Scope::Provider), "a/1 a/2 b/1"),
        (fail(K::Timeout, Scope::Provider), "a/1 a/2 b/1"),
        (fail(K::Overloaded, Scope::Model), "a/1 a/2 a/1 b/1"),
        (fail(K::RateLimited, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::RateLimited, Scope::Model), "a/1 a/2 a/1 b/1"),
        (fail(K::QuotaExhausted, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::QuotaExhausted, Scope::Provider), "a/1 b/1"),
        (fail(K::Unauthorized, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::Forbidden, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::Banned, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::CreditsExhausted, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::CreditsExhausted, Scope::Provider), "a/1 a/2 b/1"),
        (fail(K::ModelUnavailable, Scope::Model), "a/1 a/1 b/1"),
        (fail(K::Unsupported, Scope::Request), "a/1 a/1 b/1"),
        (fail(K::BadReply, Scope::Model), "a/1 a/1 a/1 b/1"),
        (fail(K::BadReply, Scope::Connection), "a/1 a/2 b/1"),
        (fail(K::Filtered, Scope::Request), "a/1"),
        (fail(K::Cancelled, Scope::None), "a/1"),
        (said(K::InvalidRequest, Evidence::Structured), "a/1"),
        (said(K::InvalidRequest, Evidence::Text), "a/1"),
        (said(K::InvalidRequest, Evidence::Status), "a/1 a/1 b/1"),
    ] {
        assert_eq!(order(names, 0, &failure, Allowance::default()), expected, "first: {failure:?}");
    }
    // In the middle and at the end nothing that failed before comes back.
    for (failure, middle, last) in [
        (transport(Scope::Provider), "a/1 a/2 a/2 b/1", "a/1 a/2 a/1 b/1 b/1"),
        (fail(K::Unavailable, Scope::Provider), "a/1 a/2 a/1 b/1", "a/1 a/2 a/1 b/1"),
        (fail(K::ModelUnavailable, Scope::Model), "a/1 a/2 a/1 b/1", "a/1 a/2 a/1 b/1"),
        (said(K::InvalidRequest, Evidence::Structured), "a/1 a/2", "a/1 a/2 a/1 b/1"),
    ] {
        assert_eq!(order(names, 1, &failure, Allowance::default()), middle, "middle: {failure:?}");
        assert_eq!(order(names, 3, &failure, Allowance::default()), last, "last: {failure:?}");
    }
    let on_filter = Allowance { filtered_next: true, ..Allowance::default() };
    assert_eq!(order(names, 0, &fail(K::Filtered, Scope::Request), on_filter), "a/1 a/1 b/1");
    let never_again = Allowance { same_target: 0, ..Allowance::default() };
    assert_eq!(order(names, 0, &transport(Scope::Connection), never_again), "a/1 a/2 b/1");
}

/// Unknown words from two providers are about the request.
#[test]
fn unknown_words_stop_at_the_second_provider() {
    let list = spots("a/1/m b/1/m c/1/m");
    let mut attempts = Attempts::new(list, Allowance::default());
    for id in 0..2 {
        assert_eq!(attempts.next(Mono(0)), Next::Try((id..3).collect()));
        attempts.admitted(id);
        attempts.failed(said(K::InvalidRequest, Evidence::Status), Mono(0));
    }
    assert_eq!(attempts.next(Mono(0)), Next::Stop);
    assert_eq!(attempts.ending(ErrorMode::Last).status, 400);
}

fn overflow(asked: Option<u64>, max: Option<u64>) -> Failure {
    let mut failure = fail(K::ContextTooLong, Scope::Request);
    failure.limits.asked = asked;
    failure.limits.max = max;
    failure.status = Some(400);
    failure
}

#[test]
fn an_overflow_goes_only_to_a_strictly_larger_known_window() {
    let list = "a/1/m@128000 b/1/m@128000 c/1/m@200000 d/1/m@1000000 e/1/m";
    let tries = |failure: Failure| order(list, 0, &failure, Allowance::default());
    assert_eq!(tries(overflow(None, None)), "a/1 c/1 d/1");
    assert_eq!(tries(overflow(Some(150_000), Some(131_072))), "a/1 c/1 d/1");
    assert_eq!(tries(overflow(Some(250_000), None)), "a/1 d/1", "what it had is larger than the third");
    let mut attempts = Attempts::new(spots("a/1/m@200000 b/1/m@128000"), Allowance::default());
    attempts.admitted(0);
    attempts.failed(overflow(None, None), Mono(0));
    assert_eq!(attempts.next(Mono(0)), Next::Stop, "never to a smaller one");
    let ending = attempts.ending(ErrorMode::Last);
    assert_eq!((ending.status, ending.code.as_str()), (400, "context_length_exceeded"));
    assert_eq!(attempts.gone(1), Some(DropReason::Context));
}

#[test]
fn budgets_time_and_passes() {
    let dead = || fail(K::RateLimited, Scope::Connection);
    // Four at one provider, eight in all.
    let many: String = (0..12).map(|n| format!("{}/{n}/m ", if n < 6 { "a" } else { "b" })).collect();
    let mut attempts = Attempts::new(spots(&many), Allowance::default());
    while let Next::Try(ids) = attempts.next(Mono(0)) {
        attempts.admitted(ids[0]);
        attempts.failed(dead(), Mono(0));
    }
    assert_eq!(attempts.made(), 8);
    assert_eq!(attempts.failures().iter().map(|f| f.id).collect::<Vec<_>>(), [0, 1, 2, 3, 6, 7, 8, 9]);
    // Less than a second left: no new attempt.
    let deadline = Some(Mono(0).after(Duration::from_secs(10)));
    let mut attempts = Attempts::new(spots("a/1/m b/1/m"), Allowance { deadline, ..Allowance::default() });
    attempts.admitted(0);
    let late = Mono(0).after(Duration::from_millis(9_001));
    attempts.failed(dead(), late);
    assert_eq!(attempts.next(late), Next::Stop);
    let ending = attempts.ending(ErrorMode::Last);
    assert_eq!((ending.status, ending.code.as_str()), (504, "combo_timeout"));
    // A delay between targets, and another pass two seconds later.
    let allowance = Allowance { passes: 1, delay: Duration::from_millis(100), ..Allowance::default() };
    let mut attempts = Attempts::new(spots("a/1/m b/1/m"), allowance);
    let mut now = Mono(0);
    let mut trace = String::new();
    loop {
        match attempts.next(now) {
            Next::Try(ids) => {
                trace.push_str(&format!("{} ", ids[0]));
                attempts.admitted(ids[0]);
                attempts.failed(dead(), now);
            }
            Next::WaitUntil(at) => {
                trace.push_str(&format!("+{} ", at.since(now).as_millis()));
                now = at;
            }
            Next::Stop => break,
        }
    }
    assert_eq!(trace, "0 +100 1 +100 +2000 0 +100 1 +100 ");
}

#[test]
fn which_error_the_caller_hears() {
    let run = |mode| {
        let mut attempts = Attempts::new(spots("a/1/m b/1/m c/1/m"), Allowance::default());
        let mut limited = fail(K::RateLimited, Scope::Connection);
        limited.retry_at = Some(UnixMs(9_000));
        let failures =
            [fail(K::Unauthorized, Scope::Connection), limited, fail(K::Unavailable, Scope::Provider)];
        for (id, failure) in failures.into_iter().enumerate() {
            attempts.admitted(id);
            attempts.failed(failure, Mono(0));
        }
        let ending = attempts.ending(mode);
        (ending.status, ending.retry_at, ending.hint, ending.message)
    };
    assert_eq!(run(ErrorMode::Last), (503, None, Hint::Retry, "test".to_owned()));
    assert_eq!(run(ErrorMode::First), (401, None, Hint::SwitchCombo, "test".to_owned()));
    let all = "no target answered: a/m: unauthorized, b/m: rate_limited, c/m: unavailable".to_owned();
    assert_eq!(run(ErrorMode::Aggregated), (429, Some(UnixMs(9_000)), Hint::Retry, all));
}

use omniroute_core::UnixMs;

/// What a script of failures led to.
#[derive(Debug, Default)]
struct Trace {
    tried: Vec<PickId>,
    broken: Vec<&'static str>,
}

/// Runs a script. `twin` forgets who is dead: it tries the first of the list again and again.
fn run(names: &str, script: &[(usize, usize, bool)], allowance: Allowance, twin: bool) -> Trace {
    let list = spots(names);
    let mut attempts = Attempts::new(list.clone(), allowance);
    let mut trace = Trace::default();
    let mut dead: Vec<PickId> = Vec::new();
    let mut now = Mono(0);
    for step in 0..200 {
        match attempts.next(now) {
            Next::Stop => return trace,
            Next::WaitUntil(at) => {
                // A new pass: time may have helped.
                dead.clear();
                now = at;
            }
            Next::Try(ids) => {
                let (kind, scope, granted) = script[step % script.len()];
                if !granted && !twin {
                    attempts.denied(denial());
                    continue;
                }
                let id = if twin { 0 } else { ids[script.len() % ids.len()] };
                if dead.contains(&id) {
                    trace.broken.push("a dead target was tried again");
                }
                trace.tried.push(id);
                attempts.admitted(id);
                let failure = fail(K::ALL[kind % K::ALL.len()], Scope::ALL[scope % Scope::ALL.len()]);
                attempts.failed(failure, now);
                if attempts.gone(id).is_some() {
                    dead.push(id);
                }
                if twin && attempts.made() > 2 * allowance.attempts {
                    break;
                }
            }
        }
    }
    if !twin {
        trace.broken.push("it does not end");
    }
    trace
}

fn denial() -> Denial {
    use futures::FutureExt;
    use omniroute_core::Principal;
    use omniroute_core::testing::VirtualClock;
    use omniroute_resilience::{AdmitContext, MemoryStore, Resilience};
    let resilience = Resilience::builder(
        std::sync::Arc::new(MemoryStore::new(std::sync::Arc::new(VirtualClock::default()))),
        std::sync::Arc::new(VirtualClock::default()),
    )
    .build()
    .unwrap();
    let cx = AdmitContext::new(Principal::default());
    let asked = resilience.admit(&[], &cx);
    asked.now_or_never().unwrap().unwrap_err()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_the_budgets_hold_and_it_ends(
        script in prop::collection::vec((0_usize..17, 0_usize..5, prop::bool::weighted(0.95)), 1..30),
        attempts in 1_u32..12,
        passes in 0_u32..3,
        patient: bool,
    ) {
        let names = "a/1/m@10 a/2/m@10 a/1/n@99 b/1/m@20 b/2/m c/1/x@50 d/1/m d/2/m e/1/m@10";
        let allowance = Allowance { attempts, passes, patient, ..Allowance::default() };
        let check = |trace: &Trace| {
            let mut broken = trace.broken.clone();
            if trace.tried.len() > attempts as usize {
                broken.push("more attempts than allowed");
            }
            for id in 0..9 {
                if trace.tried.iter().filter(|tried| **tried == id).count() > allowance.per_target as usize {
                    broken.push("more attempts at a target than allowed");
                }
            }
            broken
        };
        let trace = run(names, &script, allowance, false);
        prop_assert_eq!(check(&trace), Vec::<&str>::new(), "{:?}", trace.tried);
        // The one that forgets is caught unless the very first failure ends everything.
        let twin = run(names, &script, allowance, true);
        prop_assert!(twin.tried.len() < 3 || !check(&twin).is_empty(), "{:?}", twin.tried);
    }
}
