//! The whole program over one session in all four wires, against a snapshot; and that its figures add up.

use std::path::{Path, PathBuf};

use omniroute_compress::cost::{Simulation, Usd};

use crate::market::Market;
use crate::replay::Replay;
use crate::routing::{Routed, answered};
use crate::session::Session;
use crate::{Failure, run};

const WIRES: [&str; 4] = ["openai", "responses", "anthropic", "gemini"];

fn session_file(wire: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../omniroute-compress/tests/sessions");
    folder.join(format!("shardkv.{wire}.json"))
}

fn output(args: &[&str]) -> Result<String, Failure> {
    let mut out = Vec::new();
    run(args.iter().map(|arg| (*arg).to_owned()), &mut out, &|| 0)?;
    Ok(String::from_utf8(out).unwrap())
}

/// After a change to an engine: `BLESS=1 cargo test -p replay-session`, then read the difference.
#[test]
fn the_report_is_the_snapshot() {
    let mut got = String::new();
    for wire in WIRES {
        got += &output(&[session_file(wire).to_str().unwrap(), "--no-times"]).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/shardkv.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &got).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    for (number, (got, want)) in got.lines().zip(want.lines()).enumerate() {
        assert_eq!(got, want, "line {} of {}; BLESS=1 accepts it", number + 1, path.display());
    }
    assert_eq!(got.len(), want.len(), "{}; BLESS=1 accepts it", path.display());
}

/// What the README of the repository says of the bundled session.
#[test]
fn the_readme_says_what_the_demo_prints() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let percentages = |text: &str| -> Vec<String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, after) = text.split_once("saved ").unwrap();
        let words: Vec<&str> = after.split(' ').collect();
        words.windows(2).filter(|pair| pair[1] == "%").map(|pair| pair[0].to_owned()).take(2).collect()
    };
    let printed = output(&["--no-times"]).unwrap();
    let (_, summary) = printed.split_once("\nsaved ").unwrap();
    let printed = percentages(&format!("saved {summary}"));
    assert_eq!(printed.len(), 2);
    assert_eq!(percentages(&readme), printed, "README.md and `make demo` differ");
}

#[test]
fn the_figures_add_up() {
    let mut shapes = Vec::new();
    let models = ["claude-sonnet-4-5", "gpt-5"].into_iter().cycle();
    for (wire, model) in WIRES.into_iter().zip(models) {
        let session = Session::read_file(&session_file(wire)).unwrap().remove(0);
        let market = Market::choose(Some(model), None).unwrap();
        let mut replay = Replay::of(&session, "safe", &market, None).unwrap();
        check_sums(&session, &replay).unwrap_or_else(|what| panic!("{wire}, {model}: {what}"));

        // The same check on a replay with one wrong row.
        replay.rows[1].with = replay.rows[1].with + Usd::from_pico(1);
        assert!(check_sums(&session, &replay).is_err());
        shapes.push((session.turns, session.calls.len()));
    }
    assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{shapes:?}");
}

fn check_sums(session: &Session, replay: &Replay) -> Result<(), String> {
    let rows = &replay.rows;
    let equal =
        |what: &str, a: u128, b: u128| if a == b { Ok(()) } else { Err(format!("{what}: {a} and {b}")) };
    let input = |s: &Simulation| u128::from(s.total.read + s.total.write + s.total.uncached_input);
    equal("calls", rows.iter().map(|r| u128::from(r.calls)).sum(), session.calls.len() as u128)?;
    equal("bill without", rows.iter().map(|r| r.without.pico()).sum(), replay.without.total.cost.pico())?;
    equal("bill with", rows.iter().map(|r| r.with.pico()).sum(), replay.with.total.cost.pico())?;
    equal("tokens without", input(&replay.without), replay.tokens.0.into())?;
    equal("tokens with", input(&replay.with), replay.tokens.1.into())?;
    equal("replies", replay.without.total.output.into(), replay.with.total.output.into())?;
    let texts = &replay.untouched.texts;
    let edited = texts.values().filter(|share| share.same < share.all).count();
    equal("kinds of text edited", edited as u128, u128::from(replay.tokens.0 > replay.tokens.1))
}

/// Every call is answered, by whom the trouble leaves; without trouble nobody changes.
#[test]
fn routed_calls_are_answered_whoever_is_in_trouble() {
    for wire in WIRES {
        let session = Session::read_file(&session_file(wire)).unwrap().remove(0);
        let whole = |calm| Routed::of(&session, "safe", calm).unwrap();
        let (routed, again, calm) = (whole(false), whole(false), whole(true));
        let by = |routed: &Routed| -> Vec<String> {
            routed.turns.iter().map(|turn| answered(turn).unwrap_or("nobody").to_owned()).collect()
        };
        assert_eq!(by(&routed).len(), session.calls.len(), "{wire}");
        assert!(!by(&routed).contains(&"nobody".to_owned()), "{wire}: {:?}", by(&routed));
        assert_eq!(by(&routed), by(&again), "{wire}: a second run is the same");
        let mut others = by(&routed);
        others.dedup();
        let mut one = by(&calm);
        one.dedup();
        assert!(one.len() == 1 && others.len() >= 2, "{wire}: {one:?}, {others:?}");
        let failed = |routed: &Routed| {
            let receipts = routed.turns.iter().filter_map(|turn| turn.receipt.as_ref());
            receipts.flat_map(|receipt| &receipt.attempts).filter(|one| one.kind.is_some()).count()
        };
        assert!(failed(&routed) > 0 && failed(&calm) == 0, "{wire}");
        let compressed = routed.turns.iter().filter_map(|turn| turn.receipt.as_ref()?.compressed);
        assert!(compressed.clone().count() == session.calls.len() && compressed.clone().any(|(a, b)| b < a));
    }
}

#[test]
fn times_are_taken_around_each_call() {
    let clock = std::cell::Cell::new(0);
    let tick = || {
        clock.set(clock.get() + 5);
        clock.get()
    };
    let session = Session::read_file(&session_file("openai")).unwrap().remove(0);
    let market = Market::choose(None, None).unwrap();
    let replay = Replay::of(&session, "off", &market, Some(&tick)).unwrap();
    for row in &replay.rows {
        assert_eq!(row.micros, (5 * row.calls, 5));
    }
    assert_eq!(replay.with, replay.without, "the plan is off");
    assert_eq!(replay.untouched.messages.same, replay.untouched.messages.all);
}

#[test]
fn bad_arguments_are_told() {
    for (args, want) in [
        (&["--plan"][..], "--plan: a value is missing"),
        (&["--fast"], "--fast: not an option"),
        (&["a", "b"], "b: only one file is read"),
        (&["--model", "demo"], "--model \"demo\": no price is known"),
        (&["--plan", "saef"], "did you mean \"safe\""),
        (&["/nowhere/s.json"], "/nowhere/s.json: "),
    ] {
        let failure = output(args).unwrap_err().to_string();
        assert!(failure.contains(want), "{args:?}: {failure}");
    }
    assert!(output(&["--help"]).unwrap().starts_with("usage: "));
}
