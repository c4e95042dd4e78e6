//! Runs every fault script over every store and prints one table: goodput, waste, violations, worst seed.
//!
//! `cargo run --release --example resilience_report` takes 1,000 seeds a script on the memory store, and 100 on each
//! other store that is compiled in: SQLite in files of a temporary folder (`--folder DIR` for another one), Redis
//! where `--redis URL` names a server. `--seeds N` (for memory; a tenth of it for the others), `--scripts S-02,S-07`
//! and `--threads N` make it smaller. Time is virtual for all of them; each simulated process opens the store for
//! itself. That real processes die is the business of the example `store_kills`.

#[path = "../tests/sim/mod.rs"]
mod sim;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sim::library::{MakeStore, library, memory};
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

/// The stores that can be put behind a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Memory,
    #[cfg(feature = "store-sqlite")]
    Sqlite,
    #[cfg(feature = "store-redis")]
    Redis,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Memory => "memory",
            #[cfg(feature = "store-sqlite")]
            Kind::Sqlite => "sqlite",
            #[cfg(feature = "store-redis")]
            Kind::Redis => "redis",
        }
    }

    /// How a run's processes open this kind of store. `name` is of the run alone.
    fn make(self, options: &Options, name: &str) -> MakeStore {
        let _unused_without_features = (options, name);
        match self {
            Kind::Memory => memory(),
            #[cfg(feature = "store-sqlite")]
            Kind::Sqlite => others::sqlite(options.folder.join(name)),
            #[cfg(feature = "store-redis")]
            Kind::Redis => others::redis(options.redis.clone().unwrap_or_default(), name.to_owned()),
        }
    }
}

/// The stores behind features.
#[cfg(any(feature = "store-sqlite", feature = "store-redis"))]
mod others {
    use std::rc::Rc;
    use std::sync::Arc;

    use futures::FutureExt;
    use omniroute_core::{Inline, ResilienceStore};
    use omniroute_resilience::Span;

    use crate::sim::library::MakeStore;
    use crate::sim::store::Opener;

    /// A fresh file.
    #[cfg(feature = "store-sqlite")]
    pub(crate) fn sqlite(path: std::path::PathBuf) -> MakeStore {
        use omniroute_resilience::{SqliteConfig, SqliteStore};
        Rc::new(move |time| {
            for tail in ["", "-wal", "-shm"] {
                let mut old = path.clone().into_os_string();
                old.push(tail);
                // It is there only if an earlier report was stopped.
                let _removed = std::fs::remove_file(old);
            }
            let (clock, path) = (time.clock(0), path.clone());
            Arc::new(move || {
                let mut config = SqliteConfig::new(&path);
                (config.busy, config.check) = (Span::ms(50), false);
                let store = SqliteStore::open(config, clock.clone(), Arc::new(Inline)).now_or_never();
                Arc::new(store.expect("it runs inline").expect("the file can be opened"))
                    as Arc<dyn ResilienceStore>
            }) as Opener
        })
    }

    /// A namespace of its own.
    #[cfg(feature = "store-redis")]
    pub(crate) fn redis(url: String, name: String) -> MakeStore {
        use omniroute_resilience::{RedisConfig, RedisStore};
        Rc::new(move |time| {
            let (clock, url, name) = (time.clock(0), url.clone(), name.clone());
            let open: Opener = Arc::new(move || {
                let mut config = RedisConfig::new(url.clone());
                config.namespace.clone_from(&name);
                (config.connect, config.command, config.queue) = (Span::ms(20), Span::ms(25), Span::ms(5));
                (config.test_clock, config.require, config.durable) = (true, true, true);
                let store = RedisStore::open(config, clock.clone(), Arc::new(Inline)).now_or_never();
                Arc::new(store.expect("it runs inline").expect("the server answers"))
                    as Arc<dyn ResilienceStore>
            });
            crate::sim::store::empty(&*open());
            open
        })
    }
}

struct Options {
    redis: Option<String>,
    folder: std::path::PathBuf,
    seeds: u64,
    scripts: Vec<String>,
    threads: usize,
}

fn options() -> Result<Options, String> {
    let folder = std::env::temp_dir();
    let mut options = Options { redis: None, folder, seeds: 1_000, scripts: Vec::new(), threads: 2 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} {value} is not a number"));
        match word.as_str() {
            "--seeds" => options.seeds = number()?,
            "--threads" => options.threads = usize::try_from(number()?).unwrap_or(1).max(1),
            "--redis" => options.redis = Some(value),
            "--folder" => options.folder = value.into(),
            "--scripts" => options.scripts = value.split(',').map(str::to_owned).collect(),
            _ => {
                return Err(format!(
                    "{word} is not known: --seeds, --scripts, --threads, --folder or --redis"
                ));
            }
        }
    }
    Ok(options)
}

/// All seeds of a script, spread over threads; the rows come back by seed.
fn rows(script: &Script, kind: Kind, seeds: u64, options: &Options) -> Vec<Row> {
    let next = AtomicU64::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let name = format!("sim-{}-{seed}", script.id);
                    let stage = library(kind.make(options, &name), Breakage::None);
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

fn kinds(options: &Options) -> Vec<Kind> {
    let mut kinds = vec![Kind::Memory];
    #[cfg(feature = "store-sqlite")]
    kinds.push(Kind::Sqlite);
    #[cfg(feature = "store-redis")]
    if options.redis.is_some() {
        kinds.push(Kind::Redis);
    }
    kinds.retain(|_| options.threads > 0);
    kinds
}

/// One line of the table.
fn line(script: &Script, kind: Kind, rows: &[Row]) -> String {
    let mut goods: Vec<(u64, u64)> = rows.iter().map(|row| (row.goodput, row.seed)).collect();
    let mut wastes: Vec<u64> = rows.iter().map(|row| row.waste).collect();
    goods.sort_unstable();
    wastes.sort_unstable();
    let worst = goods.first().copied().unwrap_or_default();
    let median = goods.get(goods.len() / 2).copied().unwrap_or_default();
    let waste = wastes.get(wastes.len() / 2).copied().unwrap_or(0);
    let broken: u64 = rows.iter().map(|row| row.broken).sum();
    let missed = rows.iter().filter(|row| row.missed.is_some()).count();
    format!(
        "| {} {} | {} | {} | {} | {} | {} ({}) | {} | {} | {} | {broken} | {missed} |",
        script.id,
        script.title,
        kind.name(),
        rows.len(),
        percent(median.0),
        wanted(script.figures.goodput),
        percent(worst.0),
        worst.1,
        wanted(script.figures.worst),
        percent(waste),
        wanted(script.figures.waste),
    )
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
        for kind in kinds(&options) {
            let seeds = if kind == Kind::Memory { options.seeds } else { options.seeds.div_ceil(10) };
            let rows = rows(script, kind, seeds, &options);
            println!("{}", line(script, kind, &rows));
            let first_broken = rows.iter().find_map(|row| Some((row.seed, row.first.as_ref()?)));
            let first_missed = rows.iter().find_map(|row| Some((row.seed, row.missed.as_ref()?)));
            for (seed, text) in first_broken.into_iter().chain(first_missed) {
                notes.push(format!("- {} {} seed {seed}: {text}", script.id, kind.name()));
            }
        }
    }
    if !notes.is_empty() {
        println!("\nFirst of each kind:\n");
        notes.iter().for_each(|note| println!("{note}"));
    }
    ExitCode::SUCCESS
}
