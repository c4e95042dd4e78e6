//! What plans save and keep on recorded sessions: tokens, money under two cache models, needles, quotes, next steps.
//!
//! `cargo run --release -p omniroute-compress --example compress_eval [plan ...]`, as `make eval` does. Sessions of the
//! repository and, with `OMNIROUTE_DATA`, those of a data folder. No network, no model.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a report")]

#[path = "../../tests/common/mod.rs"]
mod common;
mod controls;
mod money;
mod queries;
mod replay;
mod words;

use std::sync::Arc;
use std::time::Instant;

use controls::{Control, Kind};
use omniroute_compress::Compress;
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
        let mut controls = Kind::ALL.map(|kind| (kind, Row::default()));
        for session in &sessions {
            let row = replay(session, Compress::builder().plan(plan.as_str()));
            println!("{}", row.line(&session.name));
            all.add(&row);
            if plan != "safe" {
                continue;
            }
            for (kind, sum) in &mut controls {
                let control = Control { kind: *kind, per_mille: row.kept_per_mille() };
                let builder = Compress::builder().engine(Arc::new(control)).plan("control");
                sum.add(&replay(session, builder));
            }
        }
        println!("{}", all.line("all"));
        for (kind, sum) in controls.iter().filter(|_| plan == "safe") {
            println!("{}", sum.line(kind.name()));
        }
        println!("\n{:.1} s", start.elapsed().as_secs_f64());
    }
}
