//! The page: one line for each script and store, and what went wrong first.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::Options;
use crate::sim::plan::{Script, Summary};
use crate::sim::run::Report;
use crate::sim::scripts::REASONS;
use crate::stores::Kind;

/// The head of the table.
pub(crate) const HEAD: &str = "\
| script | store | seeds | goodput, median | wanted | worst (seed) | wanted | waste, median | wanted | violations | demands missed |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// What one run leaves for the table.
pub(crate) struct Run {
    script: String,
    store: String,
    seed: u64,
    goodput: u64,
    waste: u64,
    broken: u64,
    /// The first broken invariant, and the demand of the script that was not met; empty: none.
    first: String,
    missed: String,
}

impl Run {
    pub(crate) fn new(script: &Script, store: &str, seed: u64, report: Report) -> Run {
        let clean = |text: String| text.replace(['\t', '\n'], " ");
        let first = report.violations.first();
        Run {
            script: script.id.to_owned(),
            store: store.to_owned(),
            seed,
            goodput: report.goodput(),
            waste: report.waste(),
            broken: report.broken,
            first: first
                .map_or_else(String::new, |v| clean(format!("{} at {} ms: {}", v.rule, v.at, v.text))),
            missed: report.missed.map_or_else(String::new, clean),
        }
    }

    fn read(line: &str) -> Option<Run> {
        let mut fields = line.split('\t');
        let (script, store) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let mut number = || fields.next()?.parse().ok();
        let (seed, goodput, waste, broken) = (number()?, number()?, number()?, number()?);
        let (first, missed) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        Some(Run { script, store, seed, goodput, waste, broken, first, missed })
    }

    fn line(&self) -> String {
        let Run { script, store, seed, goodput, waste, broken, first, missed } = self;
        format!("{script}\t{store}\t{seed}\t{goodput}\t{waste}\t{broken}\t{first}\t{missed}")
    }
}

/// Finished runs; in a file too, one to a line, if there is one.
pub(crate) struct Kept {
    file: Option<File>,
    runs: Vec<Run>,
}

impl Kept {
    /// What an earlier report left.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn read(path: Option<&Path>) -> std::io::Result<Kept> {
        let Some(path) = path else { return Ok(Kept { file: None, runs: Vec::new() }) };
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Kept { file: Some(file), runs: text.lines().filter_map(Run::read).collect() })
    }

    /// Whether this one has been run.
    pub(crate) fn has(&self, script: &str, store: &str, seed: u64) -> bool {
        self.runs.iter().any(|run| run.seed == seed && run.script == script && run.store == store)
    }

    /// Keeps a run.
    pub(crate) fn add(&mut self, run: Run) {
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{}", run.line())
        {
            // The report itself is not lost.
            eprintln!("a run cannot be kept: {error}");
        }
        self.runs.push(run);
    }

    /// The runs of one row, by seed.
    fn row(&self, script: &str, store: &str, seeds: u64) -> Vec<&Run> {
        let of = |run: &&Run| run.script == script && run.store == store && run.seed < seeds;
        let mut row: Vec<&Run> = self.runs.iter().filter(of).collect();
        row.sort_by_key(|run| run.seed);
        row
    }

    /// The line of one row, and what did not hold in it.
    pub(crate) fn line(&self, script: &Script, kind: Kind, seeds: u64) -> (String, Vec<String>) {
        let (store, row) = (kind.name(), self.row(script.id, kind.name(), seeds));
        let runs: Vec<_> = row.iter().map(|run| (run.seed, run.goodput, run.waste)).collect();
        let summary = Summary::of(&runs);
        let Summary { goodput, worst, waste } = summary;
        let broken: u64 = row.iter().map(|run| run.broken).sum();
        let missed = row.iter().filter(|run| !run.missed.is_empty()).count();
        let ran = row.len() as u64;
        if row.is_empty() {
            let line = format!(
                "| {} {} | {store} | 0 of {seeds} | - | - | - | - | - | - | - | - |",
                script.id, script.title
            );
            return (line, Vec::new());
        }
        let ran = if ran < seeds { format!("{ran} of {seeds}") } else { ran.to_string() };
        let line = format!(
            "| {} {} | {store} | {ran} | {} | {} | {} ({}) | {} | {} | {} | {broken} | {missed} |",
            script.id,
            script.title,
            percent(goodput),
            wanted(script.figures.goodput),
            percent(worst.0),
            worst.1,
            wanted(script.figures.worst),
            percent(waste),
            wanted(script.figures.waste),
        );
        let first = |what: fn(&Run) -> &str| {
            row.iter().find(|run| !what(run).is_empty()).map(|run| (run.seed, what(run)))
        };
        let notes = first(|run| &run.first)
            .into_iter()
            .chain(first(|run| &run.missed))
            .map(|(seed, text)| format!("seed {seed}: {text}"))
            .chain(summary.missed(&script.figures))
            .map(|text| format!("- {} {store} {text}", script.id))
            .collect();
        (line, notes)
    }

    /// The whole page, and whether something did not hold.
    pub(crate) fn page(&self, options: &Options) -> (String, bool) {
        let mut page = format!(
            "# Resilience under faults\n\n\
             Every fault script over every store: a simulated fleet of processes, clients and providers, one virtual \
             clock, all chance from the seed. After each step the invariants are judged on what is in the store. \
             Goodput is what was answered in time of what an oracle with perfect foresight could have answered; \
             waste is failed attempts of all attempts. SQLite works on real files and Redis on a real server; each \
             simulated process opens them for itself. That real processes and servers are killed is measured by the \
             example `store_kills`.\n\n\
             Made on {} ({}) with\n\n```sh\ncargo run --release -p omniroute-resilience \\\n  \
             --features simulator,store-sqlite,store-redis --example resilience_report -- --seeds {}\n```\n\n{HEAD}\n",
            date(),
            machine(),
            options.seeds,
        );
        let (mut notes, mut short) = (Vec::new(), false);
        for script in options.chosen() {
            for kind in Kind::all(options) {
                let seeds = kind.seeds(options.seeds);
                let (line, wrong) = self.line(script, kind, seeds);
                let _written = writeln!(page, "{line}");
                short |= (self.row(script.id, kind.name(), seeds).len() as u64) < seeds;
                notes.extend(wrong);
            }
        }
        if short {
            page.push_str(
                "\nA row that says \"of\" was stopped there: only so many of its seeds were run.\n",
            );
        }
        page.push_str("\nWhere no figure is wanted, or a bound is wider than it might be:\n\n");
        for (id, reason) in REASONS {
            let _written = writeln!(page, "- {id}: {reason}");
        }
        if !notes.is_empty() {
            page.push_str("\nThe first of each kind that did not hold:\n\n");
            notes.iter().for_each(|note| page.push_str(&format!("{note}\n")));
        }
        (page, !notes.is_empty())
    }
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}

fn wanted(figure: Option<u64>) -> String {
    figure.map_or_else(|| "-".to_owned(), percent)
}

/// Today, in UTC.
#[expect(clippy::disallowed_methods, reason = "a report says when it was made")]
fn date() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let days = i64::try_from(since.as_secs() / 86_400).unwrap_or(0) + 719_468;
    // Years that begin in March: the leap day comes last.
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{:02}", of_year - (153 * from_march + 2) / 5 + 1)
}

/// How many cores of what.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(':').nth(1))
        .map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim().to_owned());
    format!("{cores} cores, {model}, {}", std::env::consts::OS)
}
