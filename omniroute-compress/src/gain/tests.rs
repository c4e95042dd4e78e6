//! Sums reconcile, costs are counted, receipts are read leniently.

use std::collections::BTreeMap;

use omniroute_core::{CompressReceipt, CounterInfo, StepReceipt, UnixMs};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::{By, CommandId, Gain, Row, SavingsEvent, Share};

fn event(class: &str, before: u64, after: u64) -> SavingsEvent {
    SavingsEvent {
        class: class.to_owned(),
        tokens_in: before,
        tokens_out: after,
        tokens_in_capped: before.min(7_500),
        tokens_out_capped: after.min(7_500),
        bytes_in: before * 4,
        bytes_out: after * 4,
        changed: before != after,
        ..SavingsEvent::default()
    }
}

fn events() -> impl Strategy<Value = Vec<SavingsEvent>> {
    let one = (0..4usize, 0..3usize, 0..20_000u64, 0..20_000u64, 0..5u64, 0..3i64, any::<bool>());
    let one = one.prop_map(|(class, filter, before, after, command, day, exact)| SavingsEvent {
        filter: (filter > 0).then(|| format!("filter-{filter}")),
        command: (command > 0).then(|| CommandId::of(&command.to_string())),
        at: Some(UnixMs(day * 86_400_000 + 5)),
        exact,
        ..event(["test", "build", "git", "unknown"][class], before, after.min(before + 10))
    });
    proptest::collection::vec(one, 0..40)
}

type Average = fn(&Gain, By) -> Share;

/// The average over all is the sum over the rows, for every way to make rows, and equals the events' own sum.
fn reconciles(average: Average) -> Result<(), TestError<Vec<SavingsEvent>>> {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(&events(), |events| {
        let mut gain = Gain::new();
        events.iter().for_each(|event| gain.add(event));
        let saved: i64 = events.iter().map(SavingsEvent::saved).sum();
        let whole: u64 = events.iter().map(|event| event.tokens_in_capped).sum();
        for by in [By::Class, By::Filter, By::Day] {
            let mut sum = Row::default();
            gain.rows(by).iter().for_each(|(_, row)| sum.add(row));
            prop_assert_eq!(&sum, &gain.total());
            prop_assert_eq!(sum.count, events.len() as u64);
            prop_assert_eq!(average(&gain, by).tenths(), Share::new(saved, whole).tenths());
        }
        Ok(())
    })
}

#[test]
fn rows_and_total_reconcile() {
    reconciles(|gain, _| gain.total().share()).unwrap();
    // The mean of the rows' percentages is not the average.
    let mean: Average = |gain, by| {
        let shares: Vec<i64> = gain.rows(by).iter().filter_map(|(_, row)| row.share().tenths()).collect();
        Share::new(shares.iter().sum::<i64>(), 1000 * shares.len() as u64)
    };
    assert!(reconciles(mean).is_err());
    // What the harness cuts is not saved.
    let uncapped: Average = |gain, _| {
        let total = gain.total();
        Share::new(total.tokens_in as i64 - total.tokens_out as i64, total.tokens_in)
    };
    assert!(reconciles(uncapped).is_err());
}

#[test]
fn a_command_that_is_run_again_soon_costs() {
    let call = |command: &str, compressed: bool| SavingsEvent {
        command: Some(CommandId::of(command)),
        ..event("test", 100, if compressed { 40 } else { 100 })
    };
    let reruns = |calls: &[(&str, bool)]| {
        let mut gain = Gain::new();
        for (command, compressed) in calls {
            if command.is_empty() { gain.end_session() } else { gain.add(&call(command, *compressed)) }
        }
        let total = gain.total();
        assert_eq!(total.net(), total.saved() - total.rerun_tokens as i64);
        total.reruns
    };
    assert_eq!(reruns(&[("a", true), ("a", false)]), 1);
    assert_eq!(reruns(&[("a", false), ("a", true)]), 0, "nothing was compressed before");
    assert_eq!(reruns(&[("a", true), ("b", true), ("c", true), ("a", true)]), 1);
    assert_eq!(reruns(&[("a", true), ("b", true), ("c", true), ("d", true), ("a", true)]), 0, "too late");
    assert_eq!(reruns(&[("a", true), ("", false), ("a", true)]), 0, "another session");
    assert_eq!(reruns(&[("a", true), ("a", true), ("a", true)]), 2);
    let mut unnamed = Gain::new();
    unnamed.add(&event("test", 9, 1));
    unnamed.add(&event("test", 9, 1));
    assert_eq!(unnamed.total().reruns, 0);
    unnamed.add_retrieval("test", None);
    assert_eq!((unnamed.total().retrievals, unnamed.rows(By::Filter).len()), (1, 1));
}

#[test]
fn tables_json_and_csv_agree() {
    let mut gain = Gain::new();
    assert_eq!(gain.to_table(By::Class), "no data yet\n");
    gain.add(&SavingsEvent { filter: Some("a, \"b\"".to_owned()), exact: true, ..event("test", 1000, 250) });
    gain.add(&SavingsEvent { exact: true, ..event("git", 100, 110) });
    assert_eq!(
        gain.to_table(By::Class),
        "class  results  changed  baseline  sent  saved    share  reruns  net\n\
         test         1        1      1000   250    750   75.0 %       0  750\n\
         git          1        1       100   110    -10  -10.0 %       0  -10\n\
         total        2        2      1100   360    740   67.3 %       0  740\n"
    );
    let csv = gain.to_csv(By::Filter);
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert!(
        lines[0].starts_with("name,count,changed,bytes_in,")
            && lines[0].ends_with(",saved,saved_percent,net")
    );
    assert_eq!(lines[1], "\"test a, \"\"b\"\"\",1,1,4000,1000,1000,250,1000,250,0,0,0,0,0,0,750,75.0,750");
    assert!(lines[3].starts_with("total,2,") && lines[3].ends_with(",740,67.3,740"));
    let json: serde_json::Value = serde_json::from_str(&gain.to_json(By::Filter)).unwrap();
    assert_eq!(json["results"]["saved"], 740);
    assert_eq!(json["rows"][0]["name"], "test a, \"b\"");
    assert_eq!(
        json["rows"].as_array().unwrap().iter().map(|r| r["saved"].as_i64().unwrap()).sum::<i64>(),
        740
    );
    assert_eq!(json["requests"]["saved_percent"], serde_json::Value::Null);
}

fn receipt(before: u64, after: u64) -> CompressReceipt {
    let mut receipt = CompressReceipt::default();
    receipt.plan = "safe".to_owned();
    receipt.applied = before != after;
    receipt.counter = CounterInfo::new("estimate:o200k", false);
    (receipt.tokens_before, receipt.tokens_after) = (before, after);
    (receipt.bytes_before, receipt.bytes_after) = (before * 4, after * 4);
    let mut step = StepReceipt::default();
    step.engine = "rtk".to_owned();
    (step.segments_seen, step.segments_changed) = (5, 2);
    (step.tokens_in, step.tokens_out) = (before / 2, before / 2 - (before - after));
    step.techniques = BTreeMap::from([("rtk-filter", 1), ("rtk-render:pytest", 1)]);
    step.skips = BTreeMap::from([("no_gain", 3)]);
    receipt.steps.push(step);
    receipt
}

#[test]
fn receipts_add_up_the_same_from_memory_and_from_a_file() {
    let receipts = [receipt(1000, 600), receipt(3000, 2900), receipt(10, 10)];
    let mut direct = Gain::new();
    receipts.iter().for_each(|receipt| direct.add_receipt(receipt));
    let lines: Vec<String> = receipts.iter().map(|receipt| serde_json::to_string(receipt).unwrap()).collect();
    let mut read = Gain::new();
    let found = read.add_jsonl(lines.join("\n").as_bytes());
    assert_eq!((found.read, found.unreadable), (3, 0));
    assert_eq!(direct.to_json(By::Class), read.to_json(By::Class));
    assert_eq!(direct.requests().saved(), 500);
    assert_eq!(direct.requests().share().to_string(), "12.5 %", "weighted by tokens");
    assert_eq!((direct.percentile(50), direct.percentile(90)), (Some(33), Some(400)));
    let (engine, rtk) = direct.engines().next().unwrap();
    assert_eq!((engine, rtk.requests, rtk.seen, rtk.changed, rtk.saved()), ("rtk", 3, 15, 6, 500));
    assert_eq!(rtk.renderers().collect::<Vec<_>>(), [("pytest", 3)]);
    assert_eq!(
        direct.to_table(By::Class),
        "3 requests, 2 changed: 4010 -> 3510 tokens (estimated), saved 500 (12.5 %); per request: median 3.3 %, p90 \
         40.0 %\n\
         engine  texts  changed  tokens in  tokens out  saved   share\n\
         rtk        15        6       2005        1505    500  24.9 %\n"
    );
}

#[test]
fn a_bad_line_is_named_and_the_others_are_read() {
    let good = serde_json::to_string(&receipt(100, 50)).unwrap();
    let text = format!(
        "{good}\n\n{{\"tokens_before\": 5}}\r\nnot json\n{good}\n[1]\n{{\"tokens_before\":7,\"tokens_after\":7}}"
    );
    let mut gain = Gain::new();
    let found = gain.add_jsonl(text.as_bytes());
    assert_eq!((found.read, found.unreadable), (3, 3));
    let bad: Vec<(usize, &str)> = found.bad.iter().map(|bad| (bad.line, bad.why.as_str())).collect();
    assert_eq!(
        bad,
        [(3, "tokens_after is not a number of tokens"), (4, "not JSON, column 1"), (6, "not an object")]
    );
    let many = gain.add_jsonl("x\n".repeat(1000).as_bytes());
    assert_eq!((many.unreadable, many.bad.len()), (1000, 20));
    // One document over many lines, as a single call writes it.
    let pretty = serde_json::to_string_pretty(&receipt(100, 50)).unwrap();
    assert_eq!(Gain::new().add_jsonl(pretty.as_bytes()).read, 1);
    assert_eq!(Gain::new().add_jsonl(b"").read, 0);
}
