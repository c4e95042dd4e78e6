//! Runs every fault script over every store and prints one page: goodput, waste, violations, worst seed.
//!
//! `cargo run --release -p omniroute-resilience --features simulator,store-sqlite,store-redis --example
//! resilience_report -- --out docs/src/resilience-report.md` takes 1,000 seeds a script on the memory store and 100
//! on the others: SQLite in files of a temporary folder (`--folder DIR` for another one), Redis on a server of its own
//! (`--redis URL` for another one). `--seeds N` (a tenth of it for the others), `--scripts S-02,S-07`, `--stores
//! memory,redis`, `--threads N` and `--seconds N` (no new run after that; 0 only makes the page) make it smaller.
//! `--rows FILE` keeps finished runs, so that an interrupted report goes on where it was.
//!
//! Time is virtual for all stores; each simulated process opens the store for itself. That real processes die is the
//! business of the example `store_kills`.

#[path = "resilience_report/page.rs"]
mod page;
#[cfg(feature = "store-redis")]
#[path = "../tests/store_kinds/server.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod server;
#[path = "../tests/sim/mod.rs"]
mod sim;
#[path = "resilience_report/stores.rs"]
mod stores;
#[cfg(feature = "store-redis")]
#[path = "../tests/store_kinds/support.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use page::{Kept, Run};
use sim::library::library;
use sim::plan::Script;
use sim::run::run;
use sim::scripts::SCRIPTS;
use sim::store::Breakage;
use stores::Kind;

/// What was asked for on the command line.
#[derive(Debug)]
struct Options {
    redis: Option<String>,
    folder: PathBuf,
    seeds: u64,
    scripts: Vec<String>,
    stores: Vec<String>,
    threads: usize,
    seconds: Option<u64>,
    rows: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        redis: None,
        folder: std::env::temp_dir(),
        seeds: 1_000,
        scripts: Vec::new(),
        stores: Vec::new(),
        threads: 2,
        seconds: None,
        rows: None,
        out: None,
    };
    let list = |value: &str| value.split(',').map(str::to_owned).collect();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} {value} is not a number"));
        match word.as_str() {
            "--seeds" => options.seeds = number()?,
            "--threads" => options.threads = usize::try_from(number()?).unwrap_or(1).max(1),
            "--seconds" => options.seconds = Some(number()?),
            "--redis" => options.redis = Some(value),
            "--folder" => options.folder = value.into(),
            "--rows" => options.rows = Some(value.into()),
            "--out" => options.out = Some(value.into()),
            "--scripts" => options.scripts = list(&value),
            "--stores" => options.stores = list(&value),
            _ => return Err(format!("{word} is not known; the top of the example names what is")),
        }
    }
    Ok(options)
}

impl Options {
    /// The scripts that were asked for.
    fn chosen(&self) -> impl Iterator<Item = &'static Script> {
        SCRIPTS
            .iter()
            .filter(|script| self.scripts.is_empty() || self.scripts.iter().any(|id| id == script.id))
    }
}

/// Runs the seeds below `seeds` that have not been run, spread over threads, while there is time.
fn run_seeds(
    script: &Script,
    kind: Kind,
    seeds: u64,
    options: &Options,
    kept: &Mutex<Kept>,
    late: &(dyn Fn() -> bool + Sync),
) {
    let next = AtomicU64::new(0);
    let lock = || kept.lock().expect("no run panics while it holds the rows");
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds || late() {
                        return;
                    }
                    if lock().has(script.id, kind.name(), seed) {
                        continue;
                    }
                    let name = format!("sim-{}-{seed}", script.id);
                    let stage = library(kind.make(options, &name), Breakage::None);
                    let run = Run::new(script, kind.name(), seed, run(script, seed, &stage));
                    kind.clean(options, &name);
                    lock().add(run);
                }
            });
        }
    });
}

#[expect(clippy::print_stdout, reason = "the page is what this program is for")]
#[expect(clippy::disallowed_methods, reason = "real time only says when to stop")]
fn main() -> ExitCode {
    let mut options = match options() {
        Ok(options) => options,
        Err(message) => {
            println!("{message}");
            return ExitCode::FAILURE;
        }
    };
    #[cfg(feature = "store-redis")]
    let own = if options.redis.is_none() { server::Server::start(server::Memory::Keeps) } else { None };
    #[cfg(feature = "store-redis")]
    if let Some(own) = &own {
        options.redis = Some(own.url());
    }
    options.stores.iter_mut().for_each(|name| name.make_ascii_lowercase());
    let kept = match Kept::read(options.rows.as_deref()) {
        Ok(kept) => Mutex::new(kept),
        Err(error) => {
            println!("the rows cannot be kept: {error}");
            return ExitCode::FAILURE;
        }
    };
    let until = options.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let late = || until.is_some_and(|until| Instant::now() > until);
    println!("{}", page::HEAD);
    // A little of everything first: what goes wrong often is seen early.
    for part in [100, 10, 1] {
        let seeds = options.seeds.div_ceil(part);
        for kind in Kind::all(&options) {
            for script in options.chosen() {
                if late() {
                    continue;
                }
                run_seeds(script, kind, kind.seeds(seeds), &options, &kept, &late);
                let kept = kept.lock().expect("all threads have ended");
                let (line, notes) = kept.line(script, kind, kind.seeds(seeds));
                println!("{line}");
                notes.iter().for_each(|note| println!("{note}"));
            }
        }
    }
    let (page, wrong) = kept.into_inner().expect("all threads have ended").page(&options);
    match &options.out {
        Some(path) => {
            if let Err(error) = std::fs::write(path, page) {
                println!("{} cannot be written: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
        None => println!("\n{page}"),
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
