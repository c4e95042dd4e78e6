//! The gateway under faults: many clients, vendors that fail by script, and one `kill -9` under load.
//!
//! No request is lost without an answer or an error, no key and no answer reaches somebody else, and memory stays flat.
//! `SOAK_SECONDS` (30) says how long, `SOAK_REPORT` where the report goes; `make soak` takes five minutes.
#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(unix)]

mod clients;
#[path = "../common/mod.rs"]
mod common;
mod judge;
mod vendors;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use judge::Outcome;
use vendors::Flaky;

/// Clients at the same time.
const CLIENTS: usize = 32;
/// Memory that may be added after the warm-up, in kB.
const SLOPE: i64 = 2_048;

/// What happened, and when.
#[derive(Debug, Default)]
struct Counts {
    outcomes: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

#[expect(clippy::zombie_processes, reason = "the test waits for it, or fails as a whole")]
fn started(folder: &std::path::Path, config: &str, port: u16) -> Child {
    let mut command = common::gateway::command(folder, config);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    for number in 1..=3 {
        command.env(format!("SOAK_KEY_{number}"), format!("sk-soak-{number}"));
    }
    // glibc keeps freed memory apart for each thread; two places for all keep it flat.
    command.env("MALLOC_ARENA_MAX", "2");
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..1_000 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return child;
        }
        common::http::pause(Duration::from_millis(10));
    }
    panic!("the gateway does not listen")
}

/// Memory of a process in kB, where the system tells.
fn resident(process: u32) -> Option<i64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn config(vendors: &[Flaky], state: &std::path::Path) -> String {
    let mut out = String::new();
    for (number, vendor) in (1..).zip(vendors) {
        out.push_str(&format!(
            "[[providers]]\nid = \"v{number}\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
             [[providers.models]]\nid = \"m\"\ncontext = 32768\ntools = true\n\
             [[connections]]\nid = \"v{number}/a\"\nkey = {{ env = \"SOAK_KEY_{number}\" }}\n",
            vendor.port
        ));
    }
    out + "[[combos]]\nname = \"daily\"\nstrategy = \"round-robin\"\nsteps = [\"v1/m\", \"v2/m\", \"v3/m\"]\n"
        + "[resilience.classes.api_key]\ncooldown_base = \"100ms\"\ncooldown_ceiling = \"1s\"\nreset = \"1s\"\n"
        + &format!("[store]\nkind = \"sqlite\"\npath = \"{}\"\n", state.display())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "processes and sockets live in real time")]
fn nothing_is_lost_mixed_up_or_kept() {
    judge::laws_catch_what_is_wrong();
    let with = |key: &str| {
        let headers = vec![("authorization".to_owned(), format!("Bearer {key}"))];
        common::http::Message { headers, ..Default::default() }
    };
    assert!(
        vendors::owns(1, &with("sk-soak-1")) && !vendors::owns(1, &with("sk-soak-2")),
        "a mixed-up key is seen"
    );
    let seconds: u64 = std::env::var("SOAK_SECONDS").ok().map_or(30, |text| text.parse().unwrap());
    let vendors: Vec<Flaky> = (1..=3).map(|number| Flaky::start(number, number as u64 * 7_919)).collect();
    let folder = common::gateway::folder();
    let config = config(&vendors, &folder.join("state.db"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut gateway = started(&folder, &config, port);

    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let (stop, killed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let counts = Arc::new(Mutex::new(Counts::default()));
    let threads: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (stop, killed, counts) = (Arc::clone(&stop), Arc::clone(&killed), Arc::clone(&counts));
            std::thread::spawn(move || {
                let mut number = 0;
                while !stop.load(SeqCst) {
                    number += 1;
                    let before = killed.load(SeqCst);
                    let outcome = clients::ask(port, client, number);
                    let around = before || killed.load(SeqCst);
                    if outcome == Outcome::Broken {
                        common::http::pause(Duration::from_millis(50));
                    }
                    let mut counts = counts.lock().unwrap();
                    match outcome {
                        Outcome::Wrong(what) => counts.wrong.push(what),
                        Outcome::Broken if !around => counts.wrong.push("a connection broke".to_owned()),
                        other => *counts.outcomes.entry(other.name()).or_default() += 1,
                    }
                }
            })
        })
        .collect();

    // One kill under load, at a third of the time; memory is looked at in the process that comes after it.
    while begin.elapsed() < Duration::from_secs(seconds) / 3 {
        common::http::pause(Duration::from_millis(50));
    }
    killed.store(true, SeqCst);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    let mut gateway = started(&folder, &config, port);
    // Whatever began before it was there again may still fail.
    common::http::pause(Duration::from_secs(2));
    killed.store(false, SeqCst);
    let mut memory = Vec::new();
    while Instant::now() < end {
        memory.extend(resident(gateway.id()));
        common::http::pause(Duration::from_millis(200));
    }
    stop.store(true, SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let health = common::http::call(port, "GET /api/monitoring/health", &[], b"");
    assert_eq!(health.status(), 200);
    gateway.kill().unwrap();
    gateway.wait().unwrap();

    let counts = counts.lock().unwrap();
    let strangers: usize = vendors.iter().map(Flaky::strangers).sum();
    let asked: usize = vendors.iter().map(Flaky::asked).sum();
    // After the warm-up: the first part of what is left against the last.
    let settled = memory.get(memory.len() / 2..).unwrap_or_default();
    let part = (settled.len() / 4).max(1);
    let middle = |part: &[i64]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part.get(part.len() / 2).copied().unwrap_or(0)
    };
    let (early, late) =
        (middle(&settled[..part.min(settled.len())]), middle(&settled[settled.len().saturating_sub(part)..]));
    let report = page(seconds, &counts, strangers, asked, (early, late));
    eprintln!("{report}");
    assert!(counts.wrong.is_empty(), "{:?}", counts.wrong.iter().take(10).collect::<Vec<_>>());
    assert_eq!(strangers, 0, "a key reached the wrong vendor");
    assert!(counts.outcomes.get("whole").is_some_and(|count| *count > 100), "{:?}", counts.outcomes);
    assert!(counts.outcomes.get("streamed").is_some_and(|count| *count > 100), "{:?}", counts.outcomes);
    // Tables that remember the last ten thousand requests are full after a minute or two.
    let most = if seconds >= 180 { SLOPE } else { 8 * SLOPE };
    assert!(late - early <= most, "{early} kB to {late} kB");
    if let Some(path) = std::env::var_os("SOAK_REPORT") {
        std::fs::write(path, &report).unwrap();
    }
    let _ = std::fs::remove_dir_all(folder);
}

fn page(seconds: u64, counts: &Counts, strangers: usize, asked: usize, memory: (i64, i64)) -> String {
    let all: u64 = counts.outcomes.values().sum::<u64>() + counts.wrong.len() as u64;
    let mut out = format!(
        "# The gateway under faults\n\n`make soak`, {seconds} seconds, {CLIENTS} clients at the same time, {} cores, {}.\n\n\
         Three vendors fail by script: answers cut off, errors with and without a time to wait, pages, nothing in a success,\n\
         slow answers, silence. At a third of the time the gateway is killed with `kill -9` under load and started again on the same\n\
         SQLite file. Each client asks with a word of its own that the vendor says back, on two wires, whole and streamed.\n\n\
         | requests | |\n| --- | ---: |\n| sent by clients | {all} |\n",
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        std::env::var("SOAK_DATE").unwrap_or_else(|_| "a test run".to_owned()),
    );
    for (name, count) in &counts.outcomes {
        out.push_str(&format!("| {} | {count} |\n", judge::told(name)));
    }
    out.push_str(&format!(
        "| calls that reached vendors | {asked} |\n| keys that reached another vendor | {strangers} |\n\
         | lost without an answer or an error, or answered with somebody else's words | {} |\n\n\
         Memory after the warm-up: {:.1} MB, at the end {:.1} MB (at most 2 MB more), with `MALLOC_ARENA_MAX=2`.\n",
        counts.wrong.len(),
        memory.0 as f64 / 1_024.0,
        memory.1 as f64 / 1_024.0
    ));
    out
}
