//! The scenarios that the tests of all languages share: the same file, the same receipt, byte by byte.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omniroute::core::UnixMs;
use omniroute::router::{CallOptions, Events, Job, Parts, Progress, Router, RouterConfig, ToldEvent};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    name: String,
    wall_ms: Option<i64>,
    config: toml::Value,
    requests: Vec<Ask>,
    #[serde(default)]
    replies: Vec<Answer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    body: String,
    #[serde(default)]
    stream: bool,
    session: Option<String>,
    wire: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    advance_ms: u64,
    expect: Expect,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Expect {
    text: Option<String>,
    error: Option<String>,
    receipt: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    pieces: Option<Vec<String>>,
    #[serde(default)]
    after_ms: u64,
    #[serde(default)]
    piece_ms: u64,
    broke: Option<String>,
}

/// What a vendor does at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Head { id: u64, reply: usize },
    Piece { id: u64, reply: usize, number: usize },
}

struct Play<'s> {
    scenario: &'s Scenario,
    router: Router,
    replies: usize,
    due: BTreeMap<(u64, u64), Due>,
    /// Of open answers: which reply, how many pieces were sent.
    open: BTreeMap<u64, (usize, usize)>,
    number: u64,
}

impl Play<'_> {
    fn now(&self) -> u64 {
        self.router.now().mono.0
    }

    fn later(&mut self, milliseconds: u64, due: Due) {
        self.number += 1;
        self.due.insert((self.now() + milliseconds * 1_000_000, self.number), due);
    }

    fn ask(&mut self, ask: &Ask) -> Expect {
        self.router.advance(Duration::from_millis(ask.advance_ms));
        let options = CallOptions {
            session: ask.session.as_deref(),
            wire: ask.wire.as_deref(),
            timeout: ask.timeout_ms.map(Duration::from_millis),
            stream: Some(ask.stream),
            ..CallOptions::default()
        };
        let mut call = self.router.chat(ask.body.clone(), &options).unwrap();
        let teller = call.teller();
        let mut events = Events::new(call.wire());
        let mut text = String::new();
        let mut failed = None;
        loop {
            let polled = call.poll();
            for job in polled.jobs {
                match job {
                    Job::Send { id, .. } => {
                        let reply = self.replies;
                        self.replies += 1;
                        match self.scenario.replies.get(reply) {
                            Some(said) => self.later(said.after_ms, Due::Head { id, reply }),
                            None => teller.broke(id, "send", "the script is over"),
                        }
                    }
                    Job::Read { id } => {
                        let (reply, number) = self.open[&id];
                        let wait = self.scenario.replies[reply].piece_ms;
                        self.later(wait, Due::Piece { id, reply, number });
                    }
                    Job::Abort { id } => {
                        self.due.retain(|_, due| !matches!(due, Due::Head { id: of, .. } | Due::Piece { id: of, .. } if *of == id));
                    }
                    Job::Work(work) => work.run(),
                    other => panic!("{other:?}"),
                }
            }
            let mut told = |events: Vec<ToldEvent>| {
                for event in events {
                    match event {
                        ToldEvent::Text(more) => text.push_str(&more),
                        ToldEvent::Failed(error) => failed = Some(error.code().to_owned()),
                        _ => {}
                    }
                }
            };
            match polled.progress {
                Progress::Reply(reply) => {
                    let text = Some(reply.told().unwrap().text);
                    return Expect { text, error: None, receipt: reply.receipt_json() };
                }
                Progress::Failed(error) => {
                    let receipt = error.facts().and_then(|facts| facts.receipt.clone()).unwrap_or_default();
                    return Expect { text: None, error: Some(error.code().to_owned()), receipt };
                }
                Progress::Begun => {}
                Progress::Piece(piece) => told(events.feed(piece)),
                Progress::End => {
                    told(events.end());
                    if let Some(error) = failed {
                        return Expect { text: None, error: Some(error), receipt: String::new() };
                    }
                    return Expect { text: Some(text), error: None, receipt: call.receipt_json().unwrap() };
                }
                _ => self.wait(polled.wake_after, &teller),
            }
        }
    }

    /// Moves to the next moment at which something happens.
    fn wait(&mut self, wake: Option<Duration>, teller: &omniroute::router::Teller) {
        let wake = wake.map(|after| self.now() + u64::try_from(after.as_nanos()).unwrap());
        let first = self.due.keys().next().copied().filter(|(at, _)| wake.is_none_or(|wake| *at <= wake));
        let Some(key) = first else {
            let wake = wake.expect("somebody is waited for");
            self.router.advance(Duration::from_nanos(wake - self.now()));
            return;
        };
        let due = self.due.remove(&key).unwrap();
        self.router.advance(Duration::from_nanos(key.0 - self.now()));
        let (Due::Head { id, reply } | Due::Piece { id, reply, .. }) = due;
        let said = &self.scenario.replies[reply];
        match due {
            Due::Head { .. } if said.broke.is_some() => {
                teller.broke(id, said.broke.as_deref().unwrap_or_default(), "the script says so");
            }
            Due::Head { .. } => {
                let kind = if said.pieces.is_some() { "text/event-stream" } else { "application/json" };
                let headers: Vec<(&str, &[u8])> = match said.headers.is_empty() {
                    true => vec![("content-type", kind.as_bytes())],
                    false => said.headers.iter().map(|(n, v)| (n.as_str(), v.as_bytes())).collect(),
                };
                let whole = said.pieces.is_none();
                self.open.insert(id, (reply, 0));
                teller.answered(id, said.status.unwrap_or(200), headers, said.body.clone(), whole);
            }
            Due::Piece { number, .. } => match said.pieces.as_ref().unwrap().get(number) {
                Some(piece) => {
                    self.open.insert(id, (reply, number + 1));
                    teller.piece(id, piece.clone());
                }
                None => teller.ended(id),
            },
        }
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

fn play(scenario: &Scenario) -> Vec<Expect> {
    let config = RouterConfig::from_json(&serde_json::to_string(&scenario.config).unwrap()).unwrap();
    let wall = UnixMs(scenario.wall_ms.unwrap_or(1_800_000_000_000));
    let router = Router::on_told_time(&config, Parts::default(), wall).unwrap();
    let (due, open) = (BTreeMap::new(), BTreeMap::new());
    let mut play = Play { scenario, router, replies: 0, due, open, number: 0 };
    scenario.requests.iter().map(|ask| play.ask(ask)).collect()
}

#[test]
fn every_scenario_ends_as_it_says() {
    assert!(files().len() >= 6);
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let found = play(&scenario);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, blessed(&text, &found)).unwrap();
            continue;
        }
        for (ask, found) in scenario.requests.iter().zip(&found) {
            assert_eq!(found, &ask.expect, "{} in {}", scenario.name, path.display());
        }
        // The same script and seed give the same receipts, every time.
        assert_eq!(play(&scenario), found);
    }
}

/// A scenario whose expectation is wrong by one character is seen.
#[test]
fn a_wrong_receipt_is_seen() {
    let text = std::fs::read_to_string(&files()[0]).unwrap();
    let mut scenario: Scenario = toml::from_str(&text).unwrap();
    scenario.requests[0].expect.receipt = scenario.requests[0].expect.receipt.replacen("0", "1", 1);
    assert_ne!(play(&scenario)[0], scenario.requests[0].expect);
}

/// The file with the receipts that were found; nothing else changes.
fn blessed(text: &str, found: &[Expect]) -> String {
    let mut found = found.iter();
    let line = |line: &str| match line.starts_with("expect.receipt = ") {
        true => format!("expect.receipt = '{}'\n", found.next().unwrap().receipt),
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}
