//! What plans save and keep on recorded sessions: tokens, money under two cache models, needles, quotes, next steps.
//!
//! `cargo run --release -p omniroute-compress --example compress_eval [plan ...]`, as `make eval` does. Sessions of the
//! repository and, with `OMNIROUTE_DATA`, those of a data folder. No network, no model.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a report")]

#[path = "../../tests/common/mod.rs"]
mod common;
mod money;
mod queries;
mod replay;
mod words;

use std::time::Instant;

use replay::{Row, replay};

fn main() {
    let plans: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let plans = if plans.is_empty() { vec!["safe".to_owned(), "rtk".into(), "lite".into()] } else { plans };
    let sessions = common::all();
    println!("{} sessions, omniroute-compress {}", sessions.len(), env!("CARGO_PKG_VERSION"));
    for plan in plans {
        #[expect(clippy::disallowed_methods, reason = "a report shows how long it took")]
        let start = Instant::now();
        println!("\n## {plan}\n");
        println!("{}", Row::HEAD);
        let mut all = Row::default();
        for session in &sessions {
            let row = replay(session, &plan);
            println!("{}", row.line(&session.name));
            all.add(&row);
        }
        println!("{}", all.line("all"));
        println!("\n{:.1} s", start.elapsed().as_secs_f64());
    }
}
