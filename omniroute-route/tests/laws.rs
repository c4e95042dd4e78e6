//! What holds for every strategy, over random pools with random, missing and odd facts. Each law is also tried on a
//! strategy that breaks it, and has to notice.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::built;
use omniroute_core::route::{
    Billing, Candidates, Columns, Entry, Facts, Health, Pick, Plan, Pool, Reason, RequestFacts, RouteContext,
    RouteError, RouteErrorKind, RouteOptions, RoutingStrategy, Scratch, Sequence, Why,
};
use omniroute_core::{Moment, Target, UnixMs};
use omniroute_route::STRATEGIES;
use proptest::prelude::*;

/// One random situation.
#[derive(Debug, Clone)]
struct Case {
    entries: Vec<Entry>,
    facts: Vec<Facts>,
    seed: u64,
    ticket: u64,
    prefix: bool,
}

const ORDERS: [&str; 17] = [
    "priority",
    "weighted",
    "round-robin",
    "context-relay",
    "fill-first",
    "p2c",
    "random",
    "least-used",
    "cost-optimized",
    "reset-aware",
    "reset-window",
    "headroom",
    "strict-random",
    "auto",
    "lkgp",
    "context-optimized",
    "cache-optimized",
];

fn number(range: std::ops::Range<f32>) -> impl Strategy<Value = Option<f32>> {
    prop_oneof![
        2 => Just(None),
        6 => range.prop_map(Some),
        1 => prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), Just(-1.0), Just(f32::MAX)].prop_map(Some),
    ]
}

prop_compose! {
    fn facts()(
        health in 0..4_u8,
        used in [number(0.0..1.2), number(0.0..1.2), number(0.0..1.2)],
        resets in [proptest::option::of(0..1_000_000_i64), proptest::option::of(0..1_000_000_000_i64), proptest::option::of(0..9_i64)],
        prices in [number(0.0..30.0), number(0.0..90.0), number(0.0..3.0)],
        times in [number(1.0..9e4), number(1.0..9e4), number(1.0..9e4), number(0.0..9e3)],
        rates in [number(0.0..1.0), number(0.0..200.0), number(0.0..1.0), number(0.0..1.0)],
        running in 0..6_u32,
    ) -> Facts {
        let mut facts = Facts::default();
        facts.health = [Health::Closed, Health::Closed, Health::Degraded, Health::HalfOpen][usize::from(health)];
        facts.used = used;
        facts.resets_at = resets.map(|at| at.map(UnixMs));
        [facts.price_in, facts.price_out, facts.price_cache] = prices;
        [facts.mean_ms, facts.p95_ms, facts.ttft_ms, facts.sd_ms] = times;
        [facts.error_rate, facts.usage, facts.quality, facts.quota_left] = rates;
        facts.in_flight = running;
        facts
    }
}

prop_compose! {
    fn case(most: usize)(
        rows in prop::collection::vec((facts(), 0..4_u8, 0..3_u8, number(0.0..100.0), proptest::option::of(1..2_000_000_u64), 0..3_u8), 1..most),
        seed in any::<u64>(),
        ticket in prop_oneof![0..50_u64, any::<u64>()],
        prefix in any::<bool>(),
    ) -> Case {
        let mut case = Case { entries: Vec::new(), facts: Vec::new(), seed, ticket, prefix };
        for (rank, (facts, provider, model, weight, window, billing)) in (0..).zip(rows) {
            let target = Target::new(format!("p{provider}"), format!("c{rank}"), format!("m{model}"));
            let mut entry = Entry::new(target);
            (entry.rank, entry.step, entry.weight) = (rank, rank, weight.unwrap_or(f32::NAN));
            entry.model.context_window = window;
            entry.billing = [Billing::Metered, Billing::Subscription, Billing::Free][usize::from(billing)];
            entry.fitness = (model > 0).then_some([0.3 * f32::from(model); 7]);
            case.entries.push(entry);
            case.facts.push(facts);
        }
        case
    }
}

/// A plan of a case, as picks; the columns keep odd numbers out, `raw` lets them in.
fn plan(
    strategy: &dyn RoutingStrategy,
    case: &Case,
    depth: usize,
    raw: bool,
) -> Result<Vec<Pick>, RouteError> {
    let pool = Pool::new(1, case.entries.clone());
    let mut columns = Columns::unknown(pool.len());
    for (index, entry) in pool.entries().iter().enumerate() {
        let at = case.entries.iter().position(|other| other.target == entry.target).unwrap();
        columns.set(index, &case.facts[at]);
        if raw {
            let odd = |value: Option<f32>| value.unwrap_or(f32::NAN);
            columns.quota_left[index] = odd(case.facts[at].quota_left);
            columns.error_rate[index] = odd(case.facts[at].error_rate);
            columns.mean_ms[index] = odd(case.facts[at].mean_ms);
            columns.usage[index] = odd(case.facts[at].usage);
            columns.price_in[index] = odd(case.facts[at].price_in);
            for window in 0..3 {
                columns.used[window][index] = odd(case.facts[at].used[window]);
            }
        }
    }
    let eligible: Vec<u32> = (0..u32::try_from(pool.len()).unwrap()).collect();
    let candidates = Candidates::new(&pool, &columns, &eligible);
    let mut request = RequestFacts::default();
    request.input_tokens = 5_000;
    request.prefix_key = case.prefix.then(|| "a prefix".into());
    let mut options = RouteOptions::default();
    options.depth = depth;
    let scratch = Scratch::default();
    let cx = RouteContext {
        request: &request,
        session: None,
        options: &options,
        now: Moment::default(),
        seed: case.seed,
        ticket: case.ticket,
        scratch: &scratch,
    };
    let plan = strategy.plan(&cx, &candidates)?;
    Ok(plan.sequence().expect("an order").picks.clone())
}

/// Candidates by rank, so that pools with another order of lines can be compared.
fn ranks(picks: &[Pick]) -> Vec<u32> {
    picks.iter().map(|pick| pick.candidate).collect()
}

type Law = fn(&dyn RoutingStrategy, &Case) -> Result<(), String>;

fn check(ok: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(what()) }
}

/// Each candidate exactly once. `auto` may leave out what does badly, but never twice and never all.
fn permutation(strategy: &dyn RoutingStrategy, case: &Case) -> Result<(), String> {
    let picks = ranks(&plan(strategy, case, usize::MAX, false).map_err(|error| error.to_string())?);
    let mut sorted = picks.clone();
    sorted.sort_unstable();
    let distinct = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    let whole = sorted.len() == case.entries.len() || (strategy.id() == "auto" && !sorted.is_empty());
    check(distinct && whole, || format!("{picks:?} is no permutation of {}", case.entries.len()))
}

/// The same inputs give the same plan.
fn repeatable(strategy: &dyn RoutingStrategy, case: &Case) -> Result<(), String> {
    let once = plan(strategy, case, usize::MAX, false).map_err(|error| error.to_string())?;
    let twice = plan(strategy, case, usize::MAX, false).map_err(|error| error.to_string())?;
    check(once == twice, || format!("{:?} then {:?}", ranks(&once), ranks(&twice)))
}

/// A short plan is the beginning of the long one.
fn prefixes(strategy: &dyn RoutingStrategy, case: &Case) -> Result<(), String> {
    let whole = ranks(&plan(strategy, case, usize::MAX, false).map_err(|error| error.to_string())?);
    for depth in [1, 2, 5] {
        let short = ranks(&plan(strategy, case, depth, false).map_err(|error| error.to_string())?);
        let expected = &whole[..depth.min(whole.len())];
        if short != expected {
            return Err(format!("depth {depth}: {short:?} is not the beginning of {whole:?}"));
        }
    }
    Ok(())
}

/// Numbers that are none change nothing but themselves: no panic, no NaN in a score, still an order.
fn odd_numbers(strategy: &dyn RoutingStrategy, case: &Case) -> Result<(), String> {
    let picks = plan(strategy, case, usize::MAX, true).map_err(|error| error.to_string())?;
    let mut seen = ranks(&picks);
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    let finite = picks.iter().all(|pick| pick.score.is_finite());
    check(seen.len() == count && finite, || format!("{picks:?}"))
}

/// The order in which candidates are handed in does not matter, their ranks do.
fn by_ranks(strategy: &dyn RoutingStrategy, case: &Case) -> Result<(), String> {
    let mut other = case.clone();
    other.entries.reverse();
    other.facts.reverse();
    let names = |case: &Case| -> Result<Vec<String>, String> {
        let picks = plan(strategy, case, usize::MAX, false).map_err(|error| error.to_string())?;
        let pool = Pool::new(1, case.entries.clone());
        Ok(picks.iter().map(|pick| pool.key(pick.candidate as usize).to_string()).collect())
    };
    let (one, two) = (names(case)?, names(&other)?);
    check(one == two, || format!("{one:?} and {two:?}"))
}

/// One candidate is the plan.
fn alone(strategy: &dyn RoutingStrategy, case: &Case) -> Result<(), String> {
    let mut case = case.clone();
    case.entries.truncate(1);
    case.facts.truncate(1);
    let picks = plan(strategy, &case, usize::MAX, true).map_err(|error| error.to_string())?;
    check(ranks(&picks) == [0], || format!("{:?}", ranks(&picks)))
}

const LAWS: [(&str, Law); 6] = [
    ("permutation", permutation),
    ("repeatable", repeatable),
    ("prefixes", prefixes),
    ("odd numbers", odd_numbers),
    ("by ranks", by_ranks),
    ("alone", alone),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn all_orders_hold_to_all_laws(case in case(24)) {
        for name in ORDERS {
            let strategy = built(name, &[]);
            for (law, holds) in LAWS {
                if let Err(what) = holds(&*strategy, &case) {
                    return Err(TestCaseError::fail(format!("{name}, {law}: {what}")));
                }
            }
        }
    }
}

#[test]
fn nothing_to_choose_from_is_an_error() {
    let empty = Case { entries: Vec::new(), facts: Vec::new(), seed: 0, ticket: 0, prefix: false };
    for entry in STRATEGIES {
        let error = plan(&*built(entry.id, &[]), &empty, usize::MAX, false).unwrap_err();
        let expected = match entry.id {
            "fusion" => RouteErrorKind::EmptyPanel,
            "pipeline" => RouteErrorKind::EmptyPipeline,
            _ => RouteErrorKind::NoExecutableTargets,
        };
        assert_eq!(error.kind, expected, "{}", entry.id);
    }
}

/// What a twin does wrong.
#[derive(Debug, Clone, Copy)]
enum Flaw {
    Twice,
    Remembers,
    Odd,
    ShortDiffers,
    NeedsTwo,
}

#[derive(Debug)]
struct Twin(Flaw, AtomicU64);

impl RoutingStrategy for Twin {
    fn id(&self) -> &str {
        "twin"
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        let mut order: Vec<u32> = candidates.indices().to_vec();
        let mut score = 0.0;
        match self.0 {
            Flaw::Twice => order.push(order[0]),
            Flaw::Remembers => {
                let turn = self.1.fetch_add(1, Ordering::Relaxed);
                let len = order.len() as u64;
                order.rotate_left(usize::try_from(turn % len).unwrap());
            }
            Flaw::Odd => score = 0.0_f32 * candidates.columns().quota_left[0],
            Flaw::ShortDiffers if cx.options.depth < order.len() => order.reverse(),
            Flaw::NeedsTwo if order.len() == 1 => {
                return Err(RouteError::new(RouteErrorKind::NoExecutableTargets, "needs two"));
            }
            _ => {}
        }
        order.truncate(cx.options.depth);
        let picks = order.into_iter().map(|index| Pick::scored(index, score, Why::strategy(Reason::Rank)));
        Ok(Plan::Sequence(Sequence::new(picks.collect(), 0)))
    }
}

#[test]
fn the_laws_notice_what_breaks_them() {
    let mut case = Case { entries: Vec::new(), facts: Vec::new(), seed: 3, ticket: 0, prefix: false };
    for rank in 0..6 {
        let mut entry = Entry::new(Target::new("p", format!("c{rank}"), "m"));
        (entry.rank, entry.step) = (rank, rank);
        case.entries.push(entry);
        let mut facts = Facts::default();
        facts.quota_left = Some(f32::NAN);
        case.facts.push(facts);
    }
    let twins: [(Flaw, Law, &str); 5] = [
        (Flaw::Twice, permutation, "permutation"),
        (Flaw::Remembers, repeatable, "repeatable"),
        (Flaw::Odd, odd_numbers, "odd numbers"),
        (Flaw::ShortDiffers, prefixes, "prefixes"),
        (Flaw::NeedsTwo, alone, "alone"),
    ];
    for (flaw, law, name) in twins {
        let twin: Arc<dyn RoutingStrategy> = Arc::new(Twin(flaw, AtomicU64::new(0)));
        assert!(law(&*twin, &case).is_err(), "{name} does not notice {flaw:?}");
    }
    // With equal ranks only the lines are left to go by.
    case.entries.iter_mut().for_each(|entry| entry.rank = 0);
    assert!(by_ranks(&*built("priority", &[]), &case).is_err(), "by ranks does not notice equal ranks");
}
