//! A few kills in every test run. `examples/store_kills.rs` does a thousand.

use std::process::Command;

use crate::kills::{self, Place, Report};
use crate::support::Folder;

const KILLS: u32 = 20;

/// Not a test of its own: the process that the tests below start and kill.
#[test]
fn writer_that_is_killed() {
    let Ok(place) = std::env::var("OMNIROUTE_STORE_WRITER") else { return };
    let first = std::env::var("OMNIROUTE_STORE_FIRST").unwrap().parse().unwrap();
    kills::writer_process(&Place(place), first, std::env::var_os("OMNIROUTE_STORE_LIES").is_some());
}

fn writer(place: &Place, lies: bool) -> impl Fn(u64) -> Command {
    let place = place.clone();
    move |first| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills_few::writer_that_is_killed", "--nocapture"]);
        command.env("OMNIROUTE_STORE_WRITER", &place.0).env("OMNIROUTE_STORE_FIRST", first.to_string());
        if lies {
            command.env("OMNIROUTE_STORE_LIES", "1");
        }
        command
    }
}

fn nothing_wrong(report: &Report, kills: u32) {
    assert!(report.acknowledged >= kills as usize, "{report:?}");
    let expected = Report { kills, acknowledged: report.acknowledged, ..Report::default() };
    assert_eq!(*report, expected);
}

#[test]
fn sqlite_keeps_acknowledged_leases_when_writers_are_killed() {
    let folder = Folder::new();
    let place = Place(format!("sqlite:{}", folder.path().join("s").display()));
    nothing_wrong(&kills::kill_writers(&place, KILLS, 1, writer(&place, false)), KILLS);
}

#[test]
fn a_writer_that_tells_too_early_is_caught() {
    let folder = Folder::new();
    let place = Place(format!("sqlite:{}", folder.path().join("s").display()));
    let report = kills::kill_writers(&place, 2, 1, writer(&place, true));
    assert!(report.lost > 0, "{report:?}");
}

mod redis {
    use std::time::Duration;

    use super::*;
    use crate::server::{Memory, Server};

    #[test]
    fn redis_keeps_acknowledged_leases_when_writers_are_killed() {
        let Some(server) = Server::start(Memory::Keeps) else { return };
        let place = Place(format!("redis:{}", server.url()));
        nothing_wrong(&kills::kill_writers(&place, KILLS, 1, writer(&place, false)), KILLS);
    }

    #[test]
    fn redis_keeps_acknowledged_leases_when_it_is_killed() {
        let Some(mut server) = Server::start(Memory::Keeps) else { return };
        let place = Place(format!("redis:{}", server.url()));
        let report = kills::kill_server(&place, KILLS, Duration::from_millis(7), || {
            server.kill();
            server.restart();
        });
        nothing_wrong(&report, KILLS);
    }
}
