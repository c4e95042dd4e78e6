//! Prints how far the token estimator is from exact counts (o200k, cl100k) and from billed usage (Claude, Gemini).
//!
//! Reads the sessions of this repository and those under `OMNIROUTE_DATA` (default: `../shared/data` beside the
//! workspace). Run with `cargo run --release -p omniroute-core --example estimator_error`.
#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use omniroute_core::{Estimator, Family, Tokenizer};
use serde_json::Value;
use session_texts::{OWN, Role, SessionText, Usage, sessions, texts, usage};
use tiktoken_rs::CoreBPE;

#[path = "session_texts/mod.rs"]
mod session_texts;

/// Files whose texts the coefficients were fitted on; every other file is held out.
const FITTED: [&str; 6] = [
    "agent_large_session.anthropic.json",
    "aider_python_five.openai.json",
    "codex_vscode_extension_two.responses.json",
    "ledger.openai.json",
    "ops_kubernetes_two.openai.json",
    "shopapi.openai.json",
];

/// Recorded sessions that are not part of this repository.
const SHARED: [&str; 11] = [
    "sessions/agent_large_session.anthropic.json",
    "sessions/swe_agent_two.openai.json",
    "sessions/tau_airline_6a.openai.json",
    "dev-sessions/aider_python_five.openai.json",
    "dev-sessions/api_json_toolbench_ten.openai.json",
    "dev-sessions/claude_go_prompt_two.anthropic.json",
    "dev-sessions/claude_rust_fuse_two.anthropic.json",
    "dev-sessions/codex_vscode_extension_two.responses.json",
    "dev-sessions/gemini_cli_typescript_three.gemini.json",
    "dev-sessions/ops_kubernetes_two.openai.json",
    "dev-sessions/prose_story_chat.openai.json",
];

/// Exact count and estimate of both vocabularies: o200k, cl100k.
#[derive(Clone, Copy, Default)]
struct Counts([(u64, u64); 2]);

impl Counts {
    fn add(&mut self, other: &Self) {
        for (sum, one) in self.0.iter_mut().zip(&other.0) {
            sum.0 += one.0;
            sum.1 += one.1;
        }
    }
}

struct Counters {
    exact: [CoreBPE; 2],
    estimate: [Estimator; 2],
}

impl Counters {
    fn count(&self, text: &str) -> Counts {
        let both = |n: usize| {
            (self.exact[n].encode_ordinary(text).len() as u64, u64::from(self.estimate[n].count(text)))
        };
        Counts([both(0), both(1)])
    }
}

/// Growth of the prompt between two calls and the o200k estimate of what was added.
struct Growth {
    billed: i64,
    estimate: i64,
    exact: i64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let counters = Counters {
        exact: [tiktoken_rs::o200k_base()?, tiktoken_rs::cl100k_base()?],
        estimate: [Estimator::new(Family::O200k), Estimator::new(Family::Cl100k)],
    };
    let (files, skipped) = find_files()?;
    let mut classes: BTreeMap<&str, Vec<Counts>> = BTreeMap::new();
    let mut pooled: BTreeMap<&str, Vec<Counts>> = BTreeMap::new();
    let mut growths: BTreeMap<String, Vec<Growth>> = BTreeMap::new();
    println!(
        "{:46} {:6} {:>8} {:>8} {:>7} {:>8} {:>8} {:>7}",
        "session", "use", "o200k", "estimate", "error", "cl100k", "estimate", "error"
    );
    for path in &files {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let side = if FITTED.contains(&name.as_str()) { "fit" } else { "held" };
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        for (n, session) in sessions(file).iter().enumerate() {
            let texts = texts(session);
            let mut total = Counts::default();
            for text in &texts {
                let counts = counters.count(&text.text);
                total.add(&counts);
                if side == "held" {
                    classes.entry(class_of(text)).or_default().push(counts);
                }
            }
            println!("{:46} {side:6} {}", format!("{name} {}", n + 1), row(&total));
            pooled.entry(side).or_default().push(total);
            for (model, growth) in billed_growth(&texts, &usage(session), &counters) {
                growths.entry(model).or_default().push(growth);
            }
        }
    }
    println!();
    for (side, list) in &pooled {
        print_pool(&format!("pooled, {side}"), list);
    }
    let all: Vec<Counts> = pooled.values().flatten().copied().collect();
    print_pool("pooled, all", &all);
    println!(
        "\nheld-out texts by class; median and 90th percentile of the error of one text of 50 tokens or more"
    );
    for (class, list) in &classes {
        print_class(class, list);
    }
    println!("\nbilled growth of the prompt minus the answer, against the estimate of what was added");
    for (model, list) in &growths {
        print_growth(model, list);
    }
    println!("\nfiles skipped because they are not here: {skipped}");
    Ok(())
}

/// The files to read, and how many are missing.
fn find_files() -> Result<(Vec<PathBuf>, usize), Box<dyn Error>> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = crate_dir.join("../omniroute-compress/tests/sessions");
    let shared = match std::env::var_os("OMNIROUTE_DATA") {
        Some(folder) if !Path::new(&folder).is_dir() => {
            return Err(format!("OMNIROUTE_DATA names no folder: {}", folder.to_string_lossy()).into());
        }
        Some(folder) => PathBuf::from(folder),
        None => crate_dir.join("../../shared/data"),
    };
    let wanted = OWN.iter().map(|name| own.join(name)).chain(SHARED.iter().map(|name| shared.join(name)));
    let (found, missing): (Vec<_>, Vec<_>) = wanted.partition(|path| path.is_file());
    Ok((found, missing.len()))
}

/// A rough class of a text by its characters.
fn class_of(text: &SessionText) -> &'static str {
    let bytes = text.text.as_bytes();
    let share = |wanted: fn(u8) -> bool| {
        bytes.iter().filter(|&&byte| wanted(byte)).count() * 100 / bytes.len().max(1)
    };
    let body = text.text.trim();
    if share(|byte| byte >= 0x80) > 20 {
        "not ascii"
    } else if body.starts_with("diff --git") || body.contains("\n@@ ") {
        "diff"
    } else if body.starts_with(['{', '[']) && body.ends_with(['}', ']']) {
        "json"
    } else if body.len() > 64 && share(|byte| byte.is_ascii_whitespace()) < 3 {
        "base64, hex, one word"
    } else if share(|byte| byte.is_ascii_digit()) > 30 {
        "numbers"
    } else if matches!(text.role, Role::User | Role::Assistant) {
        "prose"
    } else if share(|byte| b"{}();=<>".contains(&byte)) > 3 {
        "code"
    } else {
        "logs, tool output"
    }
}

/// For every two calls that follow each other: what the prompt grew by beyond the first answer, and what was added.
///
/// Where the recorded output is far below the answer's own texts it was cut off in the recording; then the texts of the
/// answer are counted instead, on both sides of the comparison.
fn billed_growth(texts: &[SessionText], usage: &[Usage], counters: &Counters) -> Vec<(String, Growth)> {
    let is_answer = |text: &&SessionText| matches!(text.role, Role::Assistant | Role::Call);
    let estimate = |text: &SessionText| i64::from(counters.estimate[0].count(&text.text));
    let exact = |text: &SessionText| counters.exact[0].encode_ordinary(&text.text).len() as i64;
    let said: i64 = texts.iter().filter(is_answer).map(estimate).sum();
    let output: i64 = usage.iter().map(|call| call.output).sum();
    let cut_off = output < said / 2;
    let mut out = Vec::new();
    for pair in usage.windows(2) {
        let [before, after] = pair else { continue };
        let added: Vec<&SessionText> = texts
            .iter()
            .filter(|text| text.index > before.index && text.index < after.index)
            .filter(|text| !is_answer(text))
            .chain(texts.iter().filter(|text| cut_off && text.index == before.index).filter(is_answer))
            .collect();
        let growth = Growth {
            billed: after.input - before.input - if cut_off { 0 } else { before.output },
            estimate: added.iter().map(|text| estimate(text)).sum(),
            exact: added.iter().map(|text| exact(text)).sum(),
        };
        let model = if cut_off { format!("{} (with answers)", before.model) } else { before.model.clone() };
        // A prompt that shrank was rebuilt; small additions are mostly framing; far from any factor, something else was
        // added that the recording does not hold.
        if growth.estimate >= 50
            && growth.billed > growth.estimate * 3 / 4
            && growth.billed < growth.estimate * 5 / 2
        {
            out.push((model, growth));
        }
    }
    out
}

fn per_cent(estimate: f64, exact: f64) -> f64 {
    if exact > 0.0 { 100.0 * (estimate / exact - 1.0) } else { 0.0 }
}

fn row(counts: &Counts) -> String {
    let cell = |(exact, estimate): (u64, u64)| {
        format!("{exact:8} {estimate:8} {:+6.2}%", per_cent(estimate as f64, exact as f64))
    };
    format!("{} {}", cell(counts.0[0]), cell(counts.0[1]))
}

fn print_pool(name: &str, list: &[Counts]) {
    let mut total = Counts::default();
    list.iter().for_each(|counts| total.add(counts));
    println!("{name:53} {}", row(&total));
}

fn print_class(class: &str, list: &[Counts]) {
    let mut total = Counts::default();
    list.iter().for_each(|counts| total.add(counts));
    let spread = |side: usize| {
        let mut errors: Vec<f64> = list
            .iter()
            .map(|counts| counts.0[side])
            .filter(|(exact, _)| *exact >= 50)
            .map(|(exact, estimate)| per_cent(estimate as f64, exact as f64).abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        let at = |share: usize| errors.get(errors.len() * share / 100).copied().unwrap_or(0.0);
        format!("{:6.2} {:6.2}", at(50), at(90))
    };
    println!(
        "{class:22} {:5} texts {} | o200k {} | cl100k {}",
        list.len(),
        row(&total),
        spread(0),
        spread(1)
    );
}

/// The factor of the even pairs, and the error of the estimator on the odd ones and on all.
fn print_growth(model: &str, list: &[Growth]) {
    let family_factor = |estimate: i64| {
        // The family's own factor, read off a long text.
        let probe = "word ".repeat(20_000);
        let bare = f64::from(Estimator::new(Family::O200k).count(&probe));
        estimate as f64 * f64::from(Estimator::for_model(model).count(&probe)) / bare
    };
    let sum = |odd: Option<bool>| {
        list.iter().enumerate().filter(|(n, _)| odd.is_none_or(|odd| (n % 2 == 1) == odd)).fold(
            (0, 0, 0),
            |(billed, estimate, exact), (_, growth)| {
                (billed + growth.billed, estimate + growth.estimate, exact + growth.exact)
            },
        )
    };
    let (even, odd, all) = (sum(Some(false)), sum(Some(true)), sum(None));
    println!(
        "{model:34} {:4} pairs, billed {:7}, o200k {:7} (exact {:7}), factor of even pairs {:.3}, error on odd pairs {:+6.2}%, on all {:+6.2}%",
        list.len(),
        all.0,
        all.1,
        all.2,
        even.0 as f64 / even.1.max(1) as f64,
        per_cent(family_factor(odd.1), odd.0 as f64),
        per_cent(family_factor(all.1), all.0 as f64),
    );
}
