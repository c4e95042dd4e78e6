//! The cost model against a real bill, against the reference ratios and against its laws.
//!
//! Reading of the reference rule that meets its figures: one request per logged turn,
//! holding the messages before it; a base block of 15,000 tokens in front; a block per content
//! block, its tokens the characters of its text (arguments of a call: as compact JSON) over 3.3;
//! output as logged; no times, so never cold. Every arm shrinks the text of tool results and nothing
//! else. *Append-only* arms do it once, the same in every request. The *rewrite* arms also change
//! the first block each time, so that nothing is ever read, the base included.

use std::path::PathBuf;
use std::{env, fs};

use omniroute_compress::cost::{
    Block, CachePolicy, PRICES_AS_OF, PrefixCache, Prices, Request, Simulation, UsageRow, Usd, replay_billed,
    simulate,
};
use serde_json::Value;

mod common;
#[path = "cost/laws.rs"]
mod laws;
#[path = "cost/minimum.rs"]
mod minimum;

const SONNET: Prices = Prices::from_pico(3_000_000, 15_000_000, 300_000, 3_750_000);

#[test]
fn a_billed_session_is_met_within_one_percent() {
    let Some(session) = data("sessions/agent_large_session.anthropic.json") else {
        return;
    };
    let log: Vec<UsageRow> = usage(&session).iter().map(|turn| turn.row).collect();
    let replay = replay_billed(&log, &SONNET);
    let (read, write) =
        (log.iter().map(|row| row.cache_read).sum(), log.iter().map(|row| row.cache_write).sum());
    eprintln!(
        "replayed {} read, {} written; billed {read} and {write}",
        replay.total.read, replay.total.write
    );
    within(replay.total.read, read, 1);
    within(replay.total.write, write, 1);
    assert_eq!((replay.total.read, replay.total.write), (43_158_394, 4_297_364), "the recorded totals");
    assert_eq!((read, write), (43_160_490, 4_295_268), "the log itself");

    let billed = [SONNET.cache_read.of(read), SONNET.cache_write.of(write)].into_iter().sum::<Usd>();
    let rest = SONNET.input.of(replay.total.uncached_input) + SONNET.output.of(replay.total.output);
    assert_eq!(format!("{:.2} {:.2}", billed + rest, replay.total.cost), "30.31 30.31");
}

#[test]
fn reference_ratios_are_met() {
    let Some(session) = data("sessions/agent_large_session.anthropic.json") else {
        return;
    };
    let bill = |arm| simulate(arm_requests(&session, arm), &SONNET, &CachePolicy::anthropic_5m());
    let plain = bill(Arm::Append(0));
    assert_eq!(plain.cold, 0);
    let ratio = |other: &Simulation| other.total.cost.to_f64() / plain.total.cost.to_f64();
    for (percent, want) in [(20, -9.4), (30, -14.2), (50, -23.6), (80, -37.8)] {
        let change = (ratio(&bill(Arm::Append(percent))) - 1.0) * 100.0;
        eprintln!("append-only {percent} %: {change:.2} % (reference {want} %)");
        assert!((change - want).abs() <= 1.0, "{percent} %: {change}");
    }
    let rewritten = bill(Arm::Rewrite(50));
    eprintln!("rewrite 50 %: {:.2}x (reference 8.3x)", ratio(&rewritten));
    assert!((ratio(&rewritten) - 8.3).abs() <= 0.3, "{}", ratio(&rewritten));
    assert_eq!(rewritten.total.read, 0);
    let sent = |s: &Simulation| s.total.read + s.total.write + s.total.uncached_input;
    assert!(sent(&rewritten) < sent(&plain), "it costs more although it sends less");
}

#[test]
fn a_cache_can_be_driven_request_by_request() {
    let mut cache = PrefixCache::new();
    let request = Request::new([Block::new(4_000, 1)], 0);
    let policy = CachePolicy::anthropic_5m();
    let whole = simulate([&request, &request], &SONNET, &policy);
    let reads: Vec<u64> = (0..2).map(|_| cache.apply(&request, &policy).read).collect();
    assert_eq!(reads, whole.rows.iter().map(|row| row.read).collect::<Vec<_>>());
}

/// Requests as second and blocks.
type Timed<'a> = &'a [(u64, Vec<Block>)];

#[test]
fn rules_of_lifetime_and_place() {
    let (anthropic, openai) = (CachePolicy::anthropic_5m(), CachePolicy::openai());
    let first = || vec![Block::new(2_000, 1)];
    let then = |hash, count: usize| [first(), vec![Block::new(100, hash); count]].concat();
    let marked = || vec![Block::new(2_000, 1).with_breakpoint(), Block::new(100, 2)];
    let renewed = [(0, marked()), (250, then(2, 1)), (250, then(2, 2)), (500, then(3, 1))];
    let long_past = [(0, first()), (200, then(2, 30)), (400, then(2, 30)), (401, then(3, 1))];
    let backwards = [(1_000, first()), (5, first()), (1_300, first())];
    let too_little = [
        (0, vec![Block::new(900, 1), Block::new(900, 2)]),
        (1, vec![Block::new(900, 1), Block::new(900, 3)]),
    ];
    let other_size = [(0, first()), (1, vec![Block::new(3_000, 1)])];
    let rows: [(&str, CachePolicy, Timed<'_>, &[u64]); 5] = [
        ("a read renews every entry within it", anthropic, &renewed, &[0, 2_000, 2_100, 2_000]),
        ("but not one that had ended before", anthropic, &long_past, &[0, 0, 5_000, 0]),
        ("a time that runs back counts as the latest", openai, &backwards, &[0, 1_920, 1_920]),
        ("a shared prefix below the minimum is not read", openai, &too_little, &[0, 0]),
        ("another length is another block", anthropic, &other_size, &[0, 0]),
    ];
    for (what, policy, requests, want) in rows {
        let timed =
            requests.iter().map(|(second, blocks)| Request::new(blocks.clone(), 0).at(second * 1_000));
        let bill = simulate(timed, &SONNET, &policy);
        assert_eq!(bill.rows.iter().map(|row| row.read).collect::<Vec<_>>(), want, "{what}");
    }
}

#[test]
fn the_price_table_agrees_with_the_catalogue() {
    let Some(catalogue) = data("catalog/models.json") else {
        return;
    };
    assert_eq!(catalogue["meta"]["as_of"], PRICES_AS_OF);
    let rows = catalogue["models"].as_array().unwrap();
    for name in Prices::known_models() {
        let vendors = ["anthropic", "openai", "gemini", "deepseek"];
        let own = |row: &&Value| row["id"] == name && vendors.iter().any(|vendor| row["provider"] == *vendor);
        let price =
            &rows.iter().find(own).unwrap_or_else(|| panic!("{name} is not in the catalogue"))["price"];
        let pico = |key: &str| price[key].as_f64().map(|usd| (usd * 1e6).round() as u64);
        let input = pico("in").unwrap();
        let write = pico("cw").unwrap_or(input);
        let want = Prices::from_pico(input, pico("out").unwrap(), pico("cr").unwrap(), write);
        assert_eq!(Prices::of_model(name), Some(want), "{name}");
        assert!(pico("cw1h").is_none_or(|pico| pico == want.cache_write_1h.pico()), "{name}");
    }
}

fn within(got: u64, want: u64, percent: u64) {
    assert!(got.abs_diff(want) * 100 <= want * percent, "{got} is not within {percent} % of {want}");
}

/// What is done to the texts of a session.
#[derive(Debug, Clone, Copy)]
enum Arm {
    /// Tool results lose this share, once.
    Append(u64),
    /// The same, and the first block is another one in every request.
    Rewrite(u64),
}

struct Turn {
    message_index: usize,
    row: UsageRow,
}

fn usage(session: &Value) -> Vec<Turn> {
    let turns = session["provider_usage"].as_array().expect("a usage log");
    let read = |turn: &Value| {
        let field = |name: &str| turn[name].as_u64().unwrap_or_else(|| panic!("usage row without {name}"));
        Turn {
            message_index: usize::try_from(field("message_index")).expect("an index"),
            row: UsageRow {
                input: field("input_tokens"),
                cache_read: field("cache_read_input_tokens"),
                cache_write: field("cache_creation_input_tokens"),
                output: field("output_tokens"),
            },
        }
    };
    turns.iter().map(read).collect()
}

fn arm_requests(session: &Value, arm: Arm) -> impl Iterator<Item = Request> {
    let mut blocks = vec![Block::new(15_000, 0)];
    let mut ends = Vec::new();
    for message in session["messages"].as_array().expect("messages") {
        ends.push(blocks.len());
        for part in message["content"].as_array().expect("content blocks") {
            let hash = blocks.len() as u64;
            blocks.push(Block::new(part_tokens(part, arm), hash));
        }
    }
    usage(session).into_iter().zip(1_u64..).map(move |(turn, number)| {
        let end = ends[turn.message_index];
        let mut request = Request::new(blocks[..end].iter().copied(), turn.row.output);
        if matches!(arm, Arm::Rewrite(_)) {
            request.blocks[0].hash = u64::MAX - number;
        }
        request
    })
}

/// Tokens of one content block: its characters, less what the arm takes, over 3.3.
fn part_tokens(part: &Value, arm: Arm) -> u64 {
    let characters = |text: &Value| text.as_str().map_or(0, |text| text.chars().count() as u64);
    let (length, is_result) = match part["type"].as_str() {
        Some("text") => (characters(&part["text"]), false),
        Some("thinking") => (characters(&part["thinking"]), false),
        Some("tool_use") => (part["input"].to_string().chars().count() as u64, false),
        Some("tool_result") => {
            let texts = part["content"].as_array().expect("content blocks");
            (texts.iter().map(|text| characters(&text["text"])).sum(), true)
        }
        other => panic!("content block of type {other:?}"),
    };
    let (Arm::Append(percent) | Arm::Rewrite(percent)) = arm;
    let kept = if is_result { 100 - percent } else { 100 };
    (length * kept * 10 / 100 + 16) / 33
}

/// A file of the shared data, or `None` (said on stderr) where there is no data folder.
fn data(file: &str) -> Option<Value> {
    let named = env::var_os("OMNIROUTE_DATA").map(PathBuf::from);
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if named.is_none() && !default.is_dir() {
        eprintln!("skipped 1 test: no data folder, {file} is needed");
        return None;
    }
    let path = named.unwrap_or(default).join(file);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(serde_json::from_slice(&bytes).expect("a JSON document"))
}
