//! What plans save and keep on recorded sessions: tokens, money under two cache models, needles, quotes, next steps.
//!
//! `cargo run --release -p omniroute-compress --example compress_eval [plan ...]`, as `make eval` does. Sessions of the
//! repository and, with `OMNIROUTE_DATA`, those of a data folder. No network, no model.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a report")]

#[path = "../../tests/common/mod.rs"]
mod common;
mod controls;
mod money;
mod processor;
mod queries;
mod replay;
mod words;

use std::sync::Arc;
use std::time::Instant;

use common::Session;
use controls::{Control, Kind};
use omniroute_compress::Compress;
use omniroute_compress::ccr::TOOL;
use replay::{Row, replay};

/// Requests of a session that are sent with each of the controls.
const CONTROL_REQUESTS: usize = 12;
/// Facts that are named.
const MAX_MISSES: usize = 60;

fn main() {
    if std::env::args().any(|word| word == "--times") {
        processor::report();
        return;
    }
    let plans: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let plans = if plans.is_empty() { vec!["safe".to_owned(), "rtk".into(), "lite".into()] } else { plans };
    let sessions = common::all();
    println!("{} sessions, omniroute-compress {}", sessions.len(), env!("CARGO_PKG_VERSION"));
    for plan in &plans {
        table(plan, plan, &sessions);
        if plan == "safe" {
            let with_tool: Vec<Session> = sessions.iter().map(|session| session.with_tool(TOOL)).collect();
            table("safe, the agents given the retrieval tool", plan, &with_tool);
        }
    }
    processor::report();
}

/// One table: a line a session, sums, and for `safe` what anybody could have done.
fn table(title: &str, plan: &str, sessions: &[Session]) {
    #[expect(clippy::disallowed_methods, reason = "a report shows how long it took")]
    let start = Instant::now();
    println!("\n## {title}\n\n{}", Row::HEAD);
    let (mut all, mut shell, mut misses) = (Row::default(), Row::default(), Vec::new());
    let mut controls = Kind::ALL.map(|kind| (kind, Row::default()));
    for session in sessions {
        let row = replay(session, Compress::builder().plan(plan), usize::MAX);
        println!("{}", row.line(&session.name));
        all.add(&row);
        misses.extend(row.misses.iter().cloned());
        if is_shell_heavy(&session.name) {
            shell.add(&row);
        }
        if title != "safe" {
            continue;
        }
        for (kind, sum) in &mut controls {
            let control = Control { kind: *kind, per_mille: row.kept_per_mille() };
            let builder = Compress::builder().engine(Arc::new(control)).plan("control");
            sum.add(&replay(session, builder, CONTROL_REQUESTS));
        }
    }
    println!("{}", all.line("all"));
    println!("{}", shell.line("shell-heavy: own (each once), ops_kubernetes, codex"));
    for (kind, sum) in controls.iter().filter(|_| title == "safe") {
        println!("{}", sum.line(kind.name()));
    }
    println!("\n{} facts that were needed were not in sight.", misses.len());
    for miss in misses.iter().take(MAX_MISSES) {
        println!("- {miss}");
    }
    if misses.len() > MAX_MISSES {
        println!("- and {} more", misses.len() - MAX_MISSES);
    }
    println!("\n{:.1} s", start.elapsed().as_secs_f64());
}

/// Agents that work with commands. A session of ours that is there in several wires counts once.
fn is_shell_heavy(name: &str) -> bool {
    let own = ["ledger.openai", "shardkv.openai", "shopapi.openai"];
    own.contains(&name) || name.starts_with("ops_kubernetes") || name.starts_with("codex")
}
