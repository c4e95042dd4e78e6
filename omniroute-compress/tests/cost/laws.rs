//! Laws of the cost model on random sessions, each with a broken model that it must catch.

use omniroute_compress::cost::{Bill, Block, CachePolicy, Prices, Request, Simulation, simulate};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[test]
fn the_laws_hold_and_catch_broken_models() {
    let twins: [(&str, Model); 5] = [
        ("ignores the lifetime", twin_without_ttl),
        ("forgets rounding", twin_without_rounding),
        ("matches blocks out of place", twin_out_of_place),
        ("loses plain input", twin_losing_tokens),
        ("pays for reads backwards", twin_backward_price),
    ];
    let laws: [(&str, Law, &str); 7] = [
        ("tokens are conserved", law_conserved, "loses plain input"),
        ("cost grows with every price", law_monotone, "pays for reads backwards"),
        ("a repeat is read", law_repeat, "forgets rounding"),
        ("a new first block reads nothing", law_first_block, "matches blocks out of place"),
        ("only shared prefixes are read", law_shared, "matches blocks out of place"),
        ("the lifetime ends", law_lifetime, "ignores the lifetime"),
        ("append-only reads what came before", law_append_only, "forgets rounding"),
    ];
    for (law_name, law, catches) in laws {
        assert_eq!(run(law, real), Ok(()), "{law_name}");
        let (_, twin) = twins.iter().find(|twin| twin.0 == catches).expect("a twin of that name");
        assert!(run(law, *twin).is_err(), "{law_name}: misses a model that {catches}");
    }
}

/// A cost model under test.
type Model = fn(&[Request], &Prices, &CachePolicy) -> Simulation;

/// What must be true of a model for one random session.
type Law = fn(Model, &Case) -> Result<(), String>;

/// A random session: the sizes of the blocks that each turn adds, and under what it is billed.
#[derive(Debug, Clone)]
struct Case {
    turns: Vec<Vec<u64>>,
    policy: CachePolicy,
    prices: [u64; 4],
    raised: usize,
    gap: u64,
    cut: usize,
}

impl Case {
    /// One request per turn, each holding all blocks so far; turns are `gap` ms apart.
    fn append_only(&self) -> Vec<Request> {
        let mut blocks = Vec::new();
        let mut requests = Vec::new();
        for (turn, sizes) in (0..).zip(&self.turns) {
            blocks.extend(sizes.iter().map(|&size| Block::new(size, size * 31 + turn)));
            requests.push(Request::new(blocks.iter().copied(), 10 + turn).at(turn * self.gap));
        }
        requests
    }

    /// As `append_only`, with edits in the history, breakpoints of its own and flags.
    fn messy(&self) -> Vec<Request> {
        let mut requests = self.append_only();
        let cut = self.cut;
        for (index, request) in requests.iter_mut().enumerate() {
            let length = request.blocks.len();
            match (index + cut) % 5 {
                0 => request.blocks[cut % length].hash += 1,
                1 => request.blocks.truncate(1 + cut % length),
                2 => request.blocks[cut % length].breakpoint = true,
                3 => request.cold = Some(cut.is_multiple_of(2)),
                _ => request.at = None,
            }
        }
        requests
    }

    fn prices(&self) -> Prices {
        let [input, output, read, write] = self.prices;
        Prices::from_pico(input, output, read, write)
    }

    /// What a full hit on this many tokens may read.
    fn readable(&self, tokens: u64) -> u64 {
        let read = tokens / self.policy.step_tokens * self.policy.step_tokens;
        if tokens < self.policy.minimum_tokens || self.policy == CachePolicy::none() { 0 } else { read }
    }

    /// The longest request twice or more, the times given.
    fn repeated(&self, times: &[u64]) -> Vec<Request> {
        let last = self.append_only().pop().expect("at least one turn");
        times.iter().map(|&time| last.clone().at(time)).collect()
    }
}

fn law_conserved(model: Model, case: &Case) -> Result<(), String> {
    let requests = case.messy();
    let bill = model(&requests, &case.prices(), &case.policy);
    let mut sum = Bill::default();
    for (request, row) in requests.iter().zip(&bill.rows) {
        expect("tokens", row.read + row.write + row.uncached_input, tokens(request))?;
        expect("output", row.output, request.output_tokens)?;
        sum.read += row.read;
        sum.write += row.write;
        sum.uncached_input += row.uncached_input;
        sum.output += row.output;
        sum.cost = sum.cost + row.cost;
    }
    expect("rows", bill.rows.len(), requests.len())?;
    expect("total", bill.total, sum)
}

fn law_monotone(model: Model, case: &Case) -> Result<(), String> {
    let mut dearer = case.clone();
    dearer.prices[case.raised % 4] += 1_000;
    let requests = case.messy();
    let before = model(&requests, &case.prices(), &case.policy);
    let after = model(&requests, &dearer.prices(), &case.policy);
    let falls = before.rows.iter().zip(&after.rows).any(|(old, new)| new.cost < old.cost);
    expect("a bill that falls when a price rises", falls, false)
}

fn law_repeat(model: Model, case: &Case) -> Result<(), String> {
    let requests = case.repeated(&[0, 1_000, 2_000]);
    let bill = model(&requests, &case.prices(), &case.policy);
    let total = tokens(&requests[0]);
    let read = case.readable(total);
    let priced = bill.rows[0].write > 0;
    for row in &bill.rows[1..] {
        expect("read", row.read, read)?;
        expect("write", row.write, if priced { total - read } else { 0 })?;
    }
    Ok(())
}

fn law_first_block(model: Model, case: &Case) -> Result<(), String> {
    let mut requests = case.repeated(&[0, 1_000]);
    requests[1].blocks[0].hash += 1;
    let bill = model(&requests, &case.prices(), &case.policy);
    expect("read after a changed first block", bill.rows[1].read, 0)?;
    expect("written", bill.rows[1].write, bill.rows[0].write)
}

fn law_shared(model: Model, case: &Case) -> Result<(), String> {
    let requests = case.messy();
    let bill = model(&requests, &case.prices(), &case.policy);
    for (index, row) in bill.rows.iter().enumerate() {
        let (earlier, request) = (&requests[..index], &requests[index]);
        let longest = earlier.iter().map(|other| shared_tokens(other, request)).max().unwrap_or(0);
        let limit = if request.cold == Some(true) { 0 } else { longest };
        expect("read more than was shared", row.read.saturating_sub(limit), 0)?;
    }
    Ok(())
}

fn law_lifetime(model: Model, case: &Case) -> Result<(), String> {
    let ttl = case.policy.ttl_ms;
    let requests = case.repeated(&[5, 5 + ttl, 6 + 2 * ttl, 6 + 3 * ttl]);
    let bill = model(&requests, &case.prices(), &case.policy);
    let read = case.readable(tokens(&requests[0]));
    let reads: Vec<u64> = bill.rows.iter().map(|row| row.read).collect();
    expect("reads", reads, vec![0, read, 0, read])
}

fn law_append_only(model: Model, case: &Case) -> Result<(), String> {
    let requests = case.append_only();
    let bill = model(&requests, &case.prices(), &case.policy);
    let warm = case.gap <= case.policy.ttl_ms;
    for (pair, row) in requests.windows(2).zip(&bill.rows[1..]) {
        expect("read", row.read, if warm { case.readable(tokens(&pair[0])) } else { 0 })?;
    }
    Ok(())
}

fn real(requests: &[Request], prices: &Prices, policy: &CachePolicy) -> Simulation {
    simulate(requests, prices, policy)
}

fn twin_without_ttl(requests: &[Request], prices: &Prices, policy: &CachePolicy) -> Simulation {
    let timeless = requests.iter().cloned().map(|request| Request { at: None, cold: None, ..request });
    simulate(timeless, prices, policy)
}

fn twin_without_rounding(requests: &[Request], prices: &Prices, policy: &CachePolicy) -> Simulation {
    let mut policy = *policy;
    policy.step_tokens = 1;
    simulate(requests, prices, &policy)
}

/// Serves blocks in sorted order, so that a block is found wherever it stands.
fn twin_out_of_place(requests: &[Request], prices: &Prices, policy: &CachePolicy) -> Simulation {
    let sorted = requests.iter().cloned().map(|mut request| {
        request.blocks.sort_by_key(|block| block.hash);
        request
    });
    simulate(sorted, prices, policy)
}

fn twin_losing_tokens(requests: &[Request], prices: &Prices, policy: &CachePolicy) -> Simulation {
    let mut bill = simulate(requests, prices, policy);
    bill.rows.iter_mut().for_each(|row| row.uncached_input = 0);
    bill
}

fn twin_backward_price(requests: &[Request], prices: &Prices, policy: &CachePolicy) -> Simulation {
    let backward = prices.input.pico().saturating_sub(prices.cache_read.pico());
    let write = prices.cache_write.pico();
    simulate(requests, &Prices::from_pico(prices.input.pico(), prices.output.pico(), backward, write), policy)
}

/// Runs a law over random sessions, the same ones every time.
fn run(law: Law, model: Model) -> Result<(), String> {
    let config = Config { cases: 256, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let checked = runner.run(&cases(), |case| law(model, &case).map_err(TestCaseError::fail));
    checked.map_err(|error| error.to_string())
}

fn cases() -> impl Strategy<Value = Case> {
    let policies = [
        CachePolicy::anthropic_5m(),
        CachePolicy::anthropic_1h(),
        CachePolicy::openai(),
        CachePolicy::automatic(),
        CachePolicy::none(),
    ];
    let turn = prop::collection::vec(1_u64..3_000, 1..6);
    (
        prop::collection::vec(turn, 1..12),
        prop::sample::select(policies.to_vec()),
        prop::array::uniform4(0_u64..20_000_000),
        0_usize..4,
        prop_oneof![Just(1_000_u64), 250_000_u64..350_000, Just(4_000_000)],
        0_usize..40,
    )
        .prop_map(|(turns, policy, prices, raised, gap, cut)| Case {
            turns,
            policy,
            prices,
            raised,
            gap,
            cut,
        })
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: {got:?} instead of {want:?}")) }
}

fn shared_tokens(one: &Request, other: &Request) -> u64 {
    let pairs = one.blocks.iter().zip(&other.blocks);
    pairs.take_while(|(a, b)| a.hash == b.hash && a.tokens == b.tokens).map(|(a, _)| a.tokens).sum()
}

fn tokens(request: &Request) -> u64 {
    request.blocks.iter().map(|block| block.tokens).sum()
}
