//! Runs every fault script over every store and prints one table: goodput, waste, violations, worst seed.
//!
//! `cargo run --release --example resilience_report` takes 1,000 seeds a script on the memory store, and 100 on each
//! other store that is compiled in. `--seeds N`, `--scripts S-02,S-07` and `--threads N` make it smaller.

#[path = "../tests/sim/mod.rs"]
mod sim;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sim::library::{library, memory};
use sim::plan::Script;
use sim::run::run;
use sim::scripts::SCRIPTS;
use sim::store::Breakage;

/// What one run leaves for the table.
struct Row {
    seed: u64,
    goodput: u64,
    waste: u64,
    broken: u64,
    first: Option<String>,
    missed: Option<String>,
}

struct Options {
    seeds: u64,
    scripts: Vec<String>,
    threads: usize,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seeds: 1_000, scripts: Vec::new(), threads: 2 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} {value} is not a number"));
        match word.as_str() {
            "--seeds" => options.seeds = number()?,
            "--threads" => options.threads = usize::try_from(number()?).unwrap_or(1).max(1),
            "--scripts" => options.scripts = value.split(',').map(str::to_owned).collect(),
            _ => return Err(format!("{word} is not known: --seeds, --scripts or --threads")),
        }
    }
    Ok(options)
}

/// All seeds of a script, spread over threads; the rows come back by seed.
fn rows(script: &Script, seeds: u64, threads: usize) -> Vec<Row> {
    let next = AtomicU64::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let stage = library(memory(), Breakage::None);
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let report = run(script, seed, &stage);
                    let row = Row {
                        seed,
                        goodput: report.goodput(),
                        waste: report.waste(),
                        broken: report.broken,
                        first: report
                            .violations
                            .first()
                            .map(|v| format!("{} at {} ms: {}", v.rule, v.at, v.text)),
                        missed: report.missed,
                    };
                    rows.lock().expect("no run panics while it holds the rows").push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("all threads have ended");
    rows.sort_by_key(|row| row.seed);
    rows
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}

fn wanted(figure: Option<u64>) -> String {
    figure.map_or_else(|| "printed".to_owned(), percent)
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            println!("{message}");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "| script | store | seeds | goodput, median | wanted | worst (seed) | wanted | waste, median | wanted | violations | demands missed |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut notes = Vec::new();
    for script in &SCRIPTS {
        if !options.scripts.is_empty() && !options.scripts.iter().any(|id| id == script.id) {
            continue;
        }
        let rows = rows(script, options.seeds, options.threads);
        let mut goods: Vec<(u64, u64)> = rows.iter().map(|row| (row.goodput, row.seed)).collect();
        let mut wastes: Vec<u64> = rows.iter().map(|row| row.waste).collect();
        goods.sort_unstable();
        wastes.sort_unstable();
        let (Some(worst), Some(median)) = (goods.first(), goods.get(goods.len() / 2)) else { continue };
        let waste = wastes.get(wastes.len() / 2).copied().unwrap_or(0);
        let broken: u64 = rows.iter().map(|row| row.broken).sum();
        let missed = rows.iter().filter(|row| row.missed.is_some()).count();
        println!(
            "| {} {} | memory | {} | {} | {} | {} ({}) | {} | {} | {} | {} | {} |",
            script.id,
            script.title,
            rows.len(),
            percent(median.0),
            wanted(script.figures.goodput),
            percent(worst.0),
            worst.1,
            wanted(script.figures.worst),
            percent(waste),
            wanted(script.figures.waste),
            broken,
            missed
        );
        let first_broken = rows.iter().find_map(|row| Some((row.seed, row.first.as_ref()?)));
        let first_missed = rows.iter().find_map(|row| Some((row.seed, row.missed.as_ref()?)));
        for (seed, text) in first_broken.into_iter().chain(first_missed) {
            notes.push(format!("- {} seed {seed}: {text}", script.id));
        }
    }
    if !notes.is_empty() {
        println!("\nFirst of each kind:\n");
        notes.iter().for_each(|note| println!("{note}"));
    }
    ExitCode::SUCCESS
}
