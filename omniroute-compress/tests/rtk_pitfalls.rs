//! Mistakes that tools of this kind have made before, each as a test through the door that users take: the plan
//! `rtk` and one text or one request. The number in a name only orders them.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

#[path = "rtk/pitfalls/accounting.rs"]
mod accounting;
#[path = "rtk/corpus.rs"]
#[expect(dead_code, reason = "the report uses the rest")]
mod corpus;
#[path = "rtk/pitfalls/detection.rs"]
mod detection;
#[path = "rtk/judge.rs"]
#[expect(dead_code, reason = "the recall gate uses the rest")]
mod judge;
#[path = "rtk/pitfalls/lost.rs"]
mod lost;
#[path = "rtk/pitfalls/lost_rows.rs"]
mod lost_rows;
#[path = "rtk/oracle.rs"]
#[expect(dead_code, reason = "the recall gate uses the rest")]
mod oracle;
#[path = "rtk/pitfalls/protocol.rs"]
mod protocol;
#[path = "rtk/pitfalls/security.rs"]
mod security;
#[path = "rtk/pitfalls/text.rs"]
mod text;

use std::sync::OnceLock;

use corpus::Output;
use omniroute_compress::{Compress, MemoLimits, ToolOutput};
use omniroute_core::Moment;

/// What is sent for one output, and what the receipt says about it.
struct Sent {
    text: String,
    /// Techniques and classes.
    done: Vec<&'static str>,
    /// Why nothing was done.
    skips: Vec<&'static str>,
}

impl Sent {
    /// The class that the receipt names.
    fn class(&self) -> &'static str {
        self.done.iter().copied().find(|d| !d.starts_with("rtk-")).unwrap_or("")
    }

    /// Fails unless every part is there.
    #[track_caller]
    fn keeps(&self, wanted: &[&str]) -> &Self {
        for part in wanted {
            assert!(self.text.contains(part), "{part:?} is lost in:\n{}", self.text);
        }
        self
    }

    /// Fails if a part is there.
    #[track_caller]
    fn has_none(&self, unwanted: &[&str]) -> &Self {
        for part in unwanted {
            assert!(!self.text.contains(part), "{part:?} is in:\n{}", self.text);
        }
        self
    }
}

fn plan(plan: &str) -> Compress {
    Compress::builder().plan(plan).memo(MemoLimits::none()).build().unwrap()
}

/// One output at a level; never larger than it was.
#[track_caller]
fn at(level: &str, text: &str, command: Option<&str>, exit_code: Option<i32>) -> Sent {
    with(&plan(&format!("rtk:{level}")), text, command, exit_code)
}

/// One output with a compressor.
#[track_caller]
fn with(engine: &Compress, text: &str, command: Option<&str>, exit_code: Option<i32>) -> Sent {
    let mut output = ToolOutput::new(text);
    output.command = command;
    output.exit_code = exit_code;
    let out = engine.compress_output(output, Moment::default()).unwrap();
    assert!(out.text.len() <= text.len(), "{} bytes became {}", text.len(), out.text.len());
    let step = out.receipt.steps.first();
    Sent {
        done: step.map(|s| s.techniques.keys().copied().collect()).unwrap_or_default(),
        skips: step.map(|s| s.skips.keys().copied().collect()).unwrap_or_default(),
        text: out.text.into_owned(),
    }
}

/// One output of a known command at the plan's own level.
#[track_caller]
fn rtk(text: &str, command: &str) -> Sent {
    with(&plan("rtk"), text, Some(command), None)
}

/// Nothing may be changed.
#[track_caller]
fn stays(text: &str, command: Option<&str>) {
    for name in ["rtk", "rtk:aggressive"] {
        let sent = with(&plan(name), text, command, None);
        assert!(sent.text == text, "{command:?} was changed:\n{}", sent.text);
    }
}

/// A recorded output of this project.
#[track_caller]
fn capture(file: &str) -> Output {
    static ALL: OnceLock<Vec<Output>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let folder = corpus::folder();
        let mut all = corpus::read(&folder);
        all.extend(corpus::read(&folder.with_file_name("rtk-captures")));
        all
    });
    all.iter().find(|o| o.file == file).unwrap_or_else(|| panic!("{file} is not recorded")).clone()
}

/// A recorded output as it is sent, with all facts of tiers 0 to 2.
#[track_caller]
fn complete(file: &str) -> Sent {
    let output = capture(file);
    let sent = with(&plan("rtk"), &output.text, Some(&output.command), output.exit_code);
    let recall = judge::judge(&output, &sent.text);
    let lost: Vec<_> = recall.missing.iter().filter(|f| f.tier < 3).map(|f| &f.atoms).collect();
    assert!(lost.is_empty(), "{file} lost {lost:?}:\n{}", sent.text);
    sent
}

/// `n` lines made by `line`.
fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(|n| line(n) + "\n").collect()
}

/// The helpers catch a tool that keeps nothing.
#[test]
fn a_broken_twin_is_caught() {
    let output = capture("test/pytest-fail-full.txt");
    let cut = output.text.lines().filter(|l| !l.contains("rror")).collect::<Vec<_>>().join("\n");
    assert!(judge::judge(&output, &cut).missing_to(1) > 0);
    let twin = Sent { text: "1 passed".to_owned(), done: Vec::new(), skips: Vec::new() };
    assert!(std::panic::catch_unwind(|| twin.keeps(&["1 failed"]).text.len()).is_err());
    assert!(std::panic::catch_unwind(|| twin.has_none(&["1 passed"]).text.len()).is_err());
}
