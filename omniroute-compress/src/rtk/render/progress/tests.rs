//! Whole texts of progress displays and training loops.

use proptest::prelude::*;

use super::render;
use crate::rtk::kit::{Draft, Level, Output, Verdict, assemble};

fn shown(text: &str, level: Level) -> String {
    let out = Output::new(text, level);
    let mut draft = Draft::new(out.len());
    if render(&out, &mut draft) == Verdict::NotMine {
        draft.reset();
    }
    assemble(&out, &mut draft, &mut || None).text
}

#[test]
fn the_last_state_of_each_step_stays() {
    let mut text = String::from("starting\n");
    for n in 0..30 {
        text += &format!("a1b2c3: Downloading [{}>{}]  {n}MB/30MB\n", "=".repeat(n + 1), " ".repeat(40 - n));
        text += &format!("ffee00: Extracting [{}>{}]  {n}.5MB/30MB\n", "=".repeat(n + 1), " ".repeat(40 - n));
    }
    text += "done\n";
    let result = shown(&text, Level::Standard);
    let lines: Vec<&str> = result.lines().collect();
    assert_eq!(lines.len(), 5, "{result}");
    assert_eq!(lines.get(1), Some(&"[rtk: 58 progress lines omitted]"));
    assert!(result.contains("  29MB/30MB") && result.contains("29.5MB/30MB"));
    assert_eq!(shown(&text, Level::Minimal), result);
}

#[test]
fn rows_and_steps_that_go_back_are_no_progress() {
    let table: String = (0..20)
        .map(|n| format!("src/a{}.py   {}   3   {}%\n", n * 7 % 20, n * 13 % 50, n * 37 % 100))
        .collect();
    assert_eq!(shown(&table, Level::Standard), table);
    let benches: String = (0..20).map(|n| format!("copy {} MB/s {}%\n", n * 37 % 90, n * 53 % 100)).collect();
    assert_eq!(shown(&benches, Level::Standard), benches);
    let errors = "Downloading 10% 1MB/s\nDownloading 20% 1MB/s\nDownloading failed at 30% 1MB/s\n";
    assert_eq!(shown(errors, Level::Standard), errors);
}

#[test]
fn a_training_loop_keeps_its_ends_its_best_and_what_is_no_number() {
    let mut text = String::new();
    for n in 1..=200 {
        let loss = if n == 117 { 5 } else { 900 - n };
        text += &format!("epoch {n}/200 step {} train_loss=0.{loss:03} lr=1e-4\n", n * 10);
    }
    text += "epoch 201/200 step 2010 train_loss=nan lr=1e-4\nsaved model.pt\n";
    let result = shown(&text, Level::Standard);
    for kept in [
        "epoch 1/200",
        "epoch 3/200",
        "epoch 117/200",
        "epoch 198/200",
        "epoch 200/200",
        "train_loss=nan",
        "saved model",
    ] {
        assert!(result.contains(kept), "{kept}\n{result}");
    }
    assert!(result.lines().count() <= 12, "{result}");
    assert!(result.contains("[rtk: 113 progress lines omitted]"), "{result}");
    assert_eq!(shown(&text, Level::Minimal), text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_kept_or_counted(parts in proptest::collection::vec(
        prop_oneof!["[ -~]{0,30}", "Downloading [0-9]{1,2}% [0-9] MB/s", "epoch [0-9]/9 loss=0.[0-9] acc=0.[0-9]", "\u{2588}{0,9}[0-9]/9 \u{280b}"], 0..60)) {
        let text = parts.join("\n");
        let out = Output::new(&text, Level::Standard);
        let mut draft = Draft::new(out.len());
        if render(&out, &mut draft) == Verdict::NotMine {
            prop_assert!((0..out.len()).all(|i| draft.stays(i)));
        }
        for i in 0..out.len() {
            let line = out.line(i);
            prop_assert!(draft.stays(i) || line.bytes().any(|b| b.is_ascii_digit() || b >= 0x80), "{}", line);
        }
    }
}
