//! What the engine saves and keeps on the recorded outputs, by kind of output, and how long it takes.
//!
//! `cargo run --release -p omniroute-compress --example rtk_report [folder]`, as `make rtk-report` does.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a report")]

#[path = "../tests/rtk/corpus.rs"]
mod corpus;
#[path = "../tests/rtk/judge.rs"]
mod judge;
#[path = "../tests/rtk/oracle.rs"]
mod oracle;

use std::collections::HashMap;
use std::path::PathBuf;

use corpus::{GROUPS, group};
use cpu_time::ThreadTime;
use judge::{Sum, engine, judge, run, sent, tokens};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let verbose = args.iter().any(|a| a == "--files");
    let folder = args.iter().find(|a| !a.starts_with("--")).map_or_else(corpus::folder, PathBuf::from);
    let outputs = corpus::read(&folder);
    let before: HashMap<&str, usize> = outputs.iter().map(|o| (o.file.as_str(), tokens(&o.text))).collect();
    for (level, known) in [("minimal", true), ("standard", true), ("aggressive", true), ("standard", false)] {
        let engine = engine(level);
        let mut sums = vec![Sum::default(); GROUPS.len()];
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); GROUPS.len()];
        for output in &outputs {
            let _ = sent(&engine, output, known);
            let start = ThreadTime::now();
            let (result, done) = run(&engine, output, known);
            let micros = start.elapsed().as_secs_f64() * 1e6;
            let recall = judge(output, &result);
            let (was, is) = (before[output.file.as_str()], tokens(&result));
            let row = group(&output.class);
            sums[row].add(was, is, &recall);
            times[row].push(micros);
            if verbose {
                let saved = 100.0 * (1.0 - is as f64 / was.max(1) as f64);
                println!(
                    "{:48} {:10} {was:6} -> {is:6} {saved:6.1} %  lost {}/{}  {done}",
                    output.file,
                    output.class,
                    recall.missing_to(1),
                    recall.missing_to(2) - recall.missing_to(1)
                );
                for fact in recall.missing.iter().filter(|f| f.tier < 3) {
                    println!("    lost: tier {} {} {:?}", fact.tier, fact.kind, fact.atoms);
                }
            }
        }
        println!("\n{level}, command {}", if known { "known" } else { "unknown" });
        println!(
            "| class | files | tokens | saved % | target % | T0/T1 % | T2 % | T3 % | complete | p50 us | p99 us |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        let mut all = Sum::default();
        let mut every: Vec<f64> = Vec::new();
        for ((name, _, target), (sum, times)) in GROUPS.iter().zip(sums.iter().zip(&mut times)) {
            if sum.files > 0 {
                print_row(name, sum, &format!("{target:.0}"), times);
            }
            all.files += sum.files;
            all.complete += sum.complete;
            all.before += sum.before;
            all.after += sum.after;
            all.recall.add(&sum.recall);
            every.append(times);
        }
        let target = match (level, known) {
            ("standard", true) => "64",
            ("standard", false) => "50",
            ("aggressive", _) => "70",
            _ => "",
        };
        print_row("all", &all, target, &mut every);
    }
}

fn print_row(name: &str, sum: &Sum, target: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    let gated = sum.recall.percent(1).min(sum.recall.percent(0));
    println!(
        "| {name} | {} | {} | {:.1} | {target} | {gated:.2} | {:.1} | {:.1} | {}/{} | {:.0} | {:.0} |",
        sum.files,
        sum.before,
        sum.saved(),
        sum.recall.percent(2),
        sum.recall.percent(3),
        sum.complete,
        sum.files,
        at(0.5),
        at(0.99),
    );
}
