//! Figures of `omniroute serve`: a real process between a real client and a vendor, all on this machine.
//!
//! `make bench-gateway` runs it, and beside it other gateways where they can be installed; `--smoke` runs each line a few
//! times, other words choose lines that contain them. The program that is measured is named by `OMNIROUTE_BIN`. Every line
//! has the client and the vendor alone (`direct`) in the same run. CPU is user and system time of the gateway's process
//! from `/proc`, for `direct` that of the vendor's.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

mod load;
mod mock;
mod process;
mod setup;
mod start;

use load::{Load, Seen};

/// Runs of each line; the table shows the fastest, the middle and the slowest.
const RUNS: usize = 5;

/// One line of the table of CPU and latency.
struct Line {
    name: &'static str,
    load: Load,
    /// Requests of one run.
    count: usize,
    /// What only the gateway itself understands.
    own: bool,
}

fn main() {
    let mut words = std::env::args();
    if words.any(|word| word == "--mock") {
        return mock::serve();
    }
    let smoke = std::env::args().any(|word| word == "--smoke" || word == "--test");
    let vendor = std::rc::Rc::new(process::Process::mock());
    let mut sides = setup::sides(&vendor);
    let runs = if smoke { 1 } else { RUNS };
    let scale = |count: usize| if smoke { 8 } else { count };
    let long = setup::session();
    let lines = [
        Line { name: "JSON, c=1", load: Load::json(1), count: scale(4_000), own: false },
        Line { name: "JSON, c=32", load: Load::json(32), count: scale(20_000), own: false },
        Line { name: "50 events, c=1", load: Load::events(1, 50), count: scale(1_000), own: false },
        Line { name: "50 events, c=32", load: Load::events(32, 50), count: scale(2_000), own: false },
        Line { name: "250 events, c=1", load: Load::events(1, 250), count: scale(400), own: false },
        Line {
            name: "502 kB, compression off",
            load: Load::body(&long, "off"),
            count: scale(200),
            own: false,
        },
        Line { name: "502 kB, plan safe", load: Load::body(&long, "safe"), count: scale(60), own: true },
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let mut lines = Vec::from(lines);
    lines.retain(|line| wanted.is_empty() || wanted.iter().any(|word| line.name.contains(word)));
    println!("| what | who | CPU us per request | first byte p50 us | p50 us | p99 us | requests/s |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    let idle: Vec<u64> = sides.iter().map(|side| side.process.rss()).collect();
    let mut cpu_of_events = Vec::new();
    for line in &lines {
        for side in sides.iter_mut().filter(|side| !line.own || side.own) {
            let count = if side.slow { line.count.div_ceil(20) } else { line.count };
            let seen: Vec<Seen> = (0..runs).map(|_| side.run(&line.load, count)).collect();
            if seen.iter().any(|seen| seen.failed > 0) {
                let failed: usize = seen.iter().map(|seen| seen.failed).sum();
                println!("| {} | {} | {failed} answers were not 200 | | | | |", line.name, side.name);
                continue;
            }
            println!("| {} | {} | {} |", line.name, side.name, cells(&seen));
            if line.name.contains("events, c=1") {
                cpu_of_events.push((side.name.clone(), middle(seen.iter().map(|seen| seen.cpu).collect())));
            }
        }
    }
    println!();
    println!("| CPU per event passed through, from 250 against 50 events | us |");
    println!("| --- | ---: |");
    for side in &sides {
        let of: Vec<f64> =
            cpu_of_events.iter().filter(|(name, _)| *name == side.name).map(|(_, cpu)| *cpu).collect();
        if let [few, many] = of[..] {
            println!("| {} | {:.2} |", side.name, (many - few) / 200.0);
        }
    }
    println!();
    println!("| memory, MB resident | idle | after {} requests at c=32 | most |", 5 * scale(20_000));
    println!("| --- | ---: | ---: | ---: |");
    for (side, idle) in sides.iter().zip(idle) {
        let mb = |kb: u64| kb as f64 / 1_024.0;
        let (now, most) = (side.process.rss(), side.process.most());
        println!(
            "| {} | {:.1} | {:.1} | {:.1} |",
            side.name,
            mb(idle),
            mb(side.loaded.unwrap_or(now)),
            mb(most)
        );
    }
    println!();
    start::table(&vendor, if smoke { 1 } else { 15 });
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn cells(seen: &[Seen]) -> String {
    let of = |value: fn(&Seen) -> f64| {
        let mut values: Vec<f64> = seen.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        (values[0], values[values.len() / 2], values[values.len() - 1])
    };
    let shown = |value: fn(&Seen) -> f64| {
        let (least, middle, most) = of(value);
        format!("{least:.0} / {middle:.0} / {most:.0}")
    };
    format!(
        "{} | {} | {} | {} | {}",
        shown(|seen| seen.cpu),
        shown(|seen| seen.first),
        shown(|seen| seen.p50),
        shown(|seen| seen.p99),
        shown(|seen| seen.rate),
    )
}
