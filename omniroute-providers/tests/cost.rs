//! Laws of the bill. Each has a broken twin that the same check catches.

use omniroute_core::{UnixMs, Usage, Usd};
use omniroute_providers::{Bill, Catalog, LongContext, PriceAge, Prices, cost};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

type CostFn = fn(&Usage, &Prices) -> Bill;

fn right(usage: &Usage, prices: &Prices) -> Bill {
    cost(usage, prices, None)
}

fn price() -> impl Strategy<Value = Option<u64>> {
    proptest::option::weighted(0.7, 0..=100_000_000_u64)
}

fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..1_000_000_u64]
}

prop_compose! {
    fn prices()(input in price(), output in price(), cache_read in price(), cache_write in price(),
                cache_write_1h in price(), reasoning in price(),
                long in proptest::collection::vec((1..500_000_u64, price(), price()), 0..3)) -> Prices {
        let long = long.into_iter().map(|(tokens, input, output)| LongContext { tokens, input, output, ..LongContext::default() });
        Prices { input, output, cache_read, cache_write, cache_write_1h, reasoning, long: long.collect() }
    }
}

prop_compose! {
    fn usage()(input in tokens(), cache_read in tokens(), cache_write in tokens(), cache_write_1h in tokens(),
               output in tokens(), share in 0..=100_u64) -> Usage {
        Usage { input, cache_read, cache_write, cache_write_1h, output, reasoning: output * share / 100, reported: None }
    }
}

/// The first case that breaks a law, with seeded draws.
fn breaks<S: Strategy>(cases: S, law: impl Fn(&S::Value) -> bool) -> bool {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    runner.run(&cases, |case| if law(&case) { Ok(()) } else { Err(TestCaseError::fail("law")) }).is_err()
}

/// A used part without a price makes the total unknown, and nothing else does.
fn unknown_law(compute: CostFn, usage: &Usage, prices: &Prices) -> bool {
    let bill = compute(usage, prices);
    bill.total.is_none() == bill.lines.iter().any(|line| line.amount.is_none())
}

/// Tokens are on the bill once, whatever their price; the sum is that of the lines.
fn books_law(compute: CostFn, usage: &Usage, prices: &Prices) -> bool {
    let bill = compute(usage, prices);
    let billed: u64 = bill.lines.iter().map(|line| line.tokens).sum();
    let sum = bill
        .lines
        .iter()
        .try_fold(0, |sum, line| Some(sum + u128::from(line.tokens) * u128::from(line.price?)));
    billed == usage.input_total() + usage.output && bill.total.map(Usd::pico) == sum
}

/// Without long-context prices, two calls cost what both together cost.
fn additive_law(compute: CostFn, a: &Usage, b: &Usage, prices: &Prices) -> bool {
    let prices = Prices { long: Vec::new(), ..prices.clone() };
    let both = Usage {
        input: a.input + b.input,
        cache_read: a.cache_read + b.cache_read,
        cache_write: a.cache_write + b.cache_write,
        cache_write_1h: a.cache_write_1h + b.cache_write_1h,
        output: a.output + b.output,
        reasoning: a.reasoning + b.reasoning,
        reported: None,
    };
    match (compute(a, &prices).total, compute(b, &prices).total) {
        (Some(a), Some(b)) => compute(&both, &prices).total == Some(a.plus(b)),
        _ => compute(&both, &prices).total.is_none(),
    }
}

/// Unknown counted as nothing.
fn zero_for_unknown(usage: &Usage, prices: &Prices) -> Bill {
    let mut bill = right(usage, prices);
    bill.total = Some(bill.lines.iter().filter_map(|line| line.amount).fold(Usd::ZERO, Usd::plus));
    bill
}

/// Reasoning billed beside the output that holds it already.
fn reasoning_twice(usage: &Usage, prices: &Prices) -> Bill {
    right(&Usage { output: usage.output + usage.reasoning, ..*usage }, prices)
}

/// A fee for each call.
fn with_fee(usage: &Usage, prices: &Prices) -> Bill {
    let mut bill = right(usage, prices);
    bill.total = bill.total.map(|total| total.plus(Usd::from_pico(1)));
    bill
}

#[test]
fn unknown_stays_unknown() {
    let law = |compute: CostFn| move |case: &(Usage, Prices)| unknown_law(compute, &case.0, &case.1);
    assert!(!breaks((usage(), prices()), law(right)));
    assert!(breaks((usage(), prices()), law(zero_for_unknown)), "the twin must be caught");
}

#[test]
fn every_token_is_billed_once() {
    let law = |compute: CostFn| move |case: &(Usage, Prices)| books_law(compute, &case.0, &case.1);
    assert!(!breaks((usage(), prices()), law(right)));
    assert!(breaks((usage(), prices()), law(reasoning_twice)), "the twin must be caught");
}

#[test]
fn calls_add_up() {
    let law = |compute: CostFn| {
        move |case: &(Usage, Usage, Prices)| additive_law(compute, &case.0, &case.1, &case.2)
    };
    assert!(!breaks((usage(), usage(), prices()), law(right)));
    assert!(breaks((usage(), usage(), prices()), law(with_fee)), "the twin must be caught");
}

#[test]
fn largest_numbers_do_not_panic() {
    let most = u64::MAX;
    let usage = Usage {
        input: most,
        cache_read: most,
        cache_write: most,
        cache_write_1h: most,
        output: most,
        reasoning: 0,
        reported: None,
    };
    let prices = Prices { input: Some(most), output: Some(most), ..Prices::default() };
    assert_eq!(cost(&usage, &prices, None).total, Some(Usd::from_pico(u128::MAX)));
}

#[test]
fn worked_examples() {
    let usd = |text: &str| Usd::from_pico(u128::from(text.parse::<u64>().expect("number")));
    let anthropic = Catalog::embedded().prices("anthropic", "claude-sonnet-4-5").expect("prices");
    let usage =
        Usage { input: 1_000, cache_read: 8_000, cache_write: 1_000, output: 500, ..Usage::default() };
    let bill = cost(&usage, &anthropic, None);
    assert_eq!(bill.total, Some(usd("16650000000")));
    assert_eq!(bill.total.map(|total| total.to_string()).as_deref(), Some("0.016650"));
    let amounts: Vec<u128> = bill.lines.iter().filter_map(|line| line.amount).map(Usd::pico).collect();
    assert_eq!(amounts, [3_000_000_000, 2_400_000_000, 3_750_000_000, 7_500_000_000]);

    // An hour in the cache has its own price; without one it costs as five minutes, without that as input.
    let hour = Usage { cache_write_1h: 1_000_000, ..Usage::default() };
    let plain = Prices { input: Some(3), cache_write: Some(4), cache_write_1h: Some(6), ..Prices::default() };
    let total = |prices: &Prices| cost(&hour, prices, None).total.map(Usd::pico);
    assert_eq!(total(&plain), Some(6_000_000));
    assert_eq!(total(&Prices { cache_write_1h: None, ..plain.clone() }), Some(4_000_000));
    assert_eq!(total(&Prices { cache_write_1h: None, cache_write: None, ..plain.clone() }), Some(3_000_000));
    assert_eq!(total(&Prices::default()), None);

    // An unused part needs no price.
    let only_input = Prices { input: Some(2), ..Prices::default() };
    assert_eq!(cost(&Usage { input: 5, ..Usage::default() }, &only_input, None).total, Some(usd("10")));
    assert_eq!(cost(&Usage { input: 5, output: 1, ..Usage::default() }, &only_input, None).total, None);
}

#[test]
fn long_requests_cost_more_from_the_first_token() {
    let prices =
        Catalog::embedded().prices("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0").expect("prices");
    let at = |cache_read: u64| {
        cost(&Usage { cache_read, cache_write_1h: 1_000, output: 1_000, ..Usage::default() }, &prices, None)
    };
    let short = at(199_000);
    assert_eq!(short.long_context, None);
    assert_eq!(short.total.map(Usd::pico), Some(199_000 * 300_000 + 1_000 * 6_000_000 + 1_000 * 15_000_000));
    let long = at(199_001);
    assert_eq!(long.long_context, Some(200_000));
    // The hour is not in the list of long prices: it keeps its proportion to input, 6 to 3 as 12 to 6.
    assert_eq!(long.total.map(Usd::pico), Some(199_001 * 600_000 + 1_000 * 12_000_000 + 1_000 * 22_500_000));
}

#[test]
fn old_prices_are_marked() {
    let prices = Prices::default();
    let bill = |now: i64| {
        cost(
            &Usage::default(),
            &prices,
            Some(PriceAge { as_of: "2026-10-26", now: UnixMs(now * 86_400_000) }),
        )
        .stale
    };
    assert_eq!((bill(20_752), bill(20_752 + 60), bill(20_752 + 61)), (Some(false), Some(false), Some(true)));
    assert_eq!(cost(&Usage::default(), &prices, None).stale, None);
}
