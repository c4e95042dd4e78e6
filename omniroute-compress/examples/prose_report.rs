//! How much shorter the condenser makes what users say, for each session and level.
//!
//! `cargo run --release -p omniroute-compress --example prose_report [FILE...]`; without files the sessions of the
//! folder that OMNIROUTE_DATA names, and the project's own.
#![expect(clippy::print_stdout, reason = "a report prints its table")]

use std::path::{Path, PathBuf};

use omniroute_compress::caveman::{Condenser, Level};
use omniroute_compress::{Compress, MemoLimits};
use omniroute_core::{Moment, wire};
use serde_json::{Value, json};

fn main() {
    let mut files: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        files.extend(sessions(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions")));
        if let Some(data) = std::env::var_os("OMNIROUTE_DATA") {
            for folder in ["sessions", "dev-sessions"] {
                files.extend(sessions(&Path::new(&data).join(folder)));
            }
        }
    }
    let standard = Compress::builder().plan("standard").memo(MemoLimits::none()).build();
    let standard = standard.expect("the plan is built in");
    println!("| session | texts | characters | lite % | full % | ultra % | plan `standard` % |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut all = Sums::default();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        let mut texts = Vec::new();
        collect(&value, false, &mut texts);
        let sums = Sums::of(&texts, &standard);
        if sums.texts > 0 {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            sums.print(&name);
            all.add(&sums);
        }
    }
    all.print("all");
}

/// The JSON files of a folder, sorted.
fn sessions(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = list.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    files
}

#[derive(Default)]
struct Sums {
    texts: usize,
    chars: usize,
    /// Characters left at each level, and by the plan `standard`.
    left: [usize; 4],
}

impl Sums {
    fn of(texts: &[String], standard: &Compress) -> Sums {
        let mut sums = Sums::default();
        for text in texts {
            let chars = text.chars().count();
            sums.texts += 1;
            sums.chars += chars;
            let [lite, full, ultra] =
                Level::ALL.map(|level| Condenser::new(level).condense(text).text.chars().count());
            let now = [lite, full, ultra, sent(standard, text)];
            sums.left.iter_mut().zip(now).for_each(|(left, now)| *left += now);
        }
        sums
    }

    fn add(&mut self, other: &Sums) {
        self.texts += other.texts;
        self.chars += other.chars;
        self.left.iter_mut().zip(other.left).for_each(|(a, b)| *a += b);
    }

    fn print(&self, name: &str) {
        let share = |left: usize| 100.0 - 100.0 * left as f64 / self.chars.max(1) as f64;
        let [lite, full, ultra, plan] = self.left.map(share);
        println!(
            "| {name} | {} | {} | {lite:.1} | {full:.1} | {ultra:.1} | {plan:.1} |",
            self.texts, self.chars
        );
    }
}

/// Characters of what is sent of a user's text.
fn sent(plan: &Compress, text: &str) -> usize {
    let body = json!({"messages": [{"role": "user", "content": text}]}).to_string();
    let out = plan.compress_body(Some(wire::OPENAI_CHAT), body, Moment::default()).expect("is a request");
    let body: Value = serde_json::from_slice(&out.body).expect("stays JSON");
    body.pointer("/messages/0/content").and_then(Value::as_str).map_or(0, |text| text.chars().count())
}

/// The texts of user turns on every wire; results of tools are none.
fn collect(value: &Value, user: bool, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| collect(v, user, out)),
        Value::Object(members) => {
            let user = members.get("role").map_or(user, |role| role == "user");
            if members.get("type").is_some_and(|kind| kind == "tool_result") {
                return;
            }
            for (key, member) in members {
                match member {
                    Value::String(text) if user && (key == "content" || key == "text") => {
                        out.push(text.clone())
                    }
                    other => collect(other, user, out),
                }
            }
        }
        _ => {}
    }
}
