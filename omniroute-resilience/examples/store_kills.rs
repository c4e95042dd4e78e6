//! Kills processes that write, a thousand times, and counts acknowledged leases that were lost.
//!
//! `cargo run --release -p omniroute-resilience --features store-sqlite,store-redis --example store_kills -- 1000`

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a report for people; a failure shall stop it")]

#[path = "../tests/store_kinds/kills.rs"]
mod kills;
#[path = "../tests/store_kinds/server.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod server;
#[path = "../tests/store_kinds/support.rs"]
mod support;

use std::process::{Command, ExitCode};
use std::time::Duration;

use kills::{Place, Report};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, place, first] = arguments.as_slice()
        && word == "write"
    {
        kills::writer_process(&Place(place.clone()), first.parse().unwrap(), false);
        return ExitCode::SUCCESS;
    }
    let kills = arguments.first().and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let folder = support::Folder::new();
    println!("| killed | kills | leases acknowledged | lost | halves | bad fences |");
    println!("|---|---:|---:|---:|---:|---:|");
    let mut wrong = false;
    let mut tell = |name: &str, report: Report| {
        let Report { kills, acknowledged, lost, halves, bad_fences } = report;
        println!("| {name} | {kills} | {acknowledged} | {lost} | {halves} | {bad_fences} |");
        wrong |= lost + halves + bad_fences > 0;
    };
    let file = Place(format!("sqlite:{}", folder.path().join("s").display()));
    tell("sqlite, writers", kills::kill_writers(&file, kills, 1, writer(&file)));
    if let Some(server) = server::Server::start(server::Memory::Keeps) {
        let place = Place(format!("redis:{}", server.url()));
        tell("redis, writers", kills::kill_writers(&place, kills, 1, writer(&place)));
    }
    if let Some(server) = server::Server::start(server::Memory::Keeps) {
        tell("redis, server", kill_server(server, kills));
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn writer(place: &Place) -> impl Fn(u64) -> Command {
    let place = place.clone();
    move |first| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["write", &place.0, &first.to_string()]);
        command
    }
}

fn kill_server(mut server: server::Server, kills: u32) -> Report {
    let place = Place(format!("redis:{}", server.url()));
    kills::kill_server(&place, kills, Duration::from_millis(7), || {
        server.kill();
        server.restart();
    })
}
