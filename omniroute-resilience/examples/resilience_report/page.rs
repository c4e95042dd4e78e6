//! The page: one line for each script and store, and what went wrong first.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::Options;
use crate::sim::plan::{Script, Summary};
use crate::sim::run::Report;
use crate::sim::scripts::REASONS;

/// The head of the table.
pub(crate) const HEAD: &str = "\
| script | store | seeds | goodput, median | wanted | worst (seed) | wanted | waste, median | wanted | violations | demands missed |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// What one run leaves for the table.
pub(crate) struct Row {
    pub(crate) seed: u64,
    goodput: u64,
    waste: u64,
    broken: u64,
    first: Option<String>,
    missed: Option<String>,
}

impl Row {
    pub(crate) fn new(seed: u64, report: Report) -> Row {
        let first = report.violations.first();
        Row {
            seed,
            goodput: report.goodput(),
            waste: report.waste(),
            broken: report.broken,
            first: first.map(|v| format!("{} at {} ms: {}", v.rule, v.at, v.text)),
            missed: report.missed,
        }
    }
}

/// Finished lines, with what went wrong; in a file too, if there is one.
pub(crate) struct Kept {
    file: Option<PathBuf>,
    /// Script, store, line, notes.
    lines: Vec<[String; 4]>,
}

impl Kept {
    /// What an earlier report left.
    pub(crate) fn read(file: Option<PathBuf>) -> Kept {
        let text = file.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let fields = |line: &str| {
            let mut fields = line.split('\t').map(str::to_owned);
            Some([fields.next()?, fields.next()?, fields.next()?, fields.next()?])
        };
        Kept { file, lines: text.lines().filter_map(fields).collect() }
    }

    pub(crate) fn find(&self, script: &str, store: &str) -> Option<String> {
        let line = self.lines.iter().find(|line| line[0] == script && line[1] == store)?;
        Some(line[2].clone())
    }

    /// Makes the line of these runs, and keeps it.
    pub(crate) fn add(&mut self, script: &Script, store: &str, rows: &[Row]) -> String {
        let runs: Vec<_> = rows.iter().map(|row| (row.seed, row.goodput, row.waste)).collect();
        let summary = Summary::of(&runs);
        let line = line(script, store, rows, &summary);
        let broken = rows.iter().find_map(|row| Some((row.seed, row.first.as_ref()?)));
        let missed = rows.iter().find_map(|row| Some((row.seed, row.missed.as_ref()?)));
        let seeds = broken.into_iter().chain(missed);
        let notes: Vec<String> = seeds
            .map(|(seed, text)| format!("seed {seed}: {}", text.replace(['\t', '\n'], " ")))
            .chain(summary.missed(&script.figures))
            .map(|text| format!("- {} {store} {text}", script.id))
            .collect();
        self.lines.push([script.id.to_owned(), store.to_owned(), line.clone(), notes.join("\u{1f}")]);
        if let Some(path) = &self.file {
            let all: String = self.lines.iter().map(|line| line.join("\t") + "\n").collect();
            if let Err(error) = std::fs::write(path, all) {
                // The report itself is not lost.
                eprintln!("{} cannot be written: {error}", path.display());
            }
        }
        line
    }

    /// Whether something did not hold.
    pub(crate) fn wrong(&self) -> bool {
        self.lines.iter().any(|line| !line[3].is_empty())
    }

    /// The whole page.
    pub(crate) fn page(&self, options: &Options) -> String {
        let mut lines: Vec<&[String; 4]> = self.lines.iter().collect();
        let place = |store: &str| ["memory", "sqlite", "redis"].iter().position(|name| *name == store);
        lines.sort_by_key(|line| (line[0].clone(), place(&line[1])));
        let mut page = format!(
            "# Resilience under faults\n\n\
             Every fault script over every store: a simulated fleet of processes, clients and providers, one virtual \
             clock, all chance from the seed. After each step the invariants are judged on what is in the store. \
             Goodput is what was answered in time of what an oracle with perfect foresight could have answered; \
             waste is failed attempts of all attempts. SQLite works on real files and Redis on a real server; each \
             simulated process opens them for itself.\n\n\
             Made on {} ({}) with\n\n```sh\ncargo run --release -p omniroute-resilience \\\n  \
             --features simulator,store-sqlite,store-redis --example resilience_report -- --seeds {}\n```\n\n{HEAD}\n",
            date(),
            machine(),
            options.seeds,
        );
        for line in &lines {
            let _written = writeln!(page, "{}", line[2]);
        }
        if let Some(seconds) = options.seconds {
            let _written =
                writeln!(page, "\nNo row began new seeds after {seconds} s; the column says how many ran.");
        }
        page.push_str("\nWhere no figure is wanted, or a bound is wider than it might be:\n\n");
        for (id, reason) in REASONS {
            let _written = writeln!(page, "- {id}: {reason}");
        }
        let notes: Vec<&str> = lines
            .iter()
            .filter(|line| !line[3].is_empty())
            .flat_map(|line| line[3].split('\u{1f}'))
            .collect();
        if !notes.is_empty() {
            page.push_str("\nThe first of each kind that did not hold:\n\n");
            notes.iter().for_each(|note| page.push_str(&format!("{note}\n")));
        }
        page
    }
}

/// One line of the table.
fn line(script: &Script, store: &str, rows: &[Row], summary: &Summary) -> String {
    let Summary { goodput, worst, waste } = *summary;
    let broken: u64 = rows.iter().map(|row| row.broken).sum();
    let missed = rows.iter().filter(|row| row.missed.is_some()).count();
    format!(
        "| {} {} | {store} | {} | {} | {} | {} ({}) | {} | {} | {} | {broken} | {missed} |",
        script.id,
        script.title,
        rows.len(),
        percent(goodput),
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
