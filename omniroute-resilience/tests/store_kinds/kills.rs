//! Processes that are killed while they write, and what must still be there afterwards.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::{
    Change, Commit, ConnectionId, Durability, Key, ProviderId, ResilienceStore, StoreError,
};

use crate::support::{Dice, Pool, RealClock, pause};

/// Which store, and where. The form of a command-line argument: `sqlite:<file>` or `redis:<url>`.
#[derive(Debug, Clone)]
pub(crate) struct Place(pub(crate) String);

impl Place {
    pub(crate) async fn open(&self) -> Result<Arc<dyn ResilienceStore>, StoreError> {
        match self.0.split_once(':') {
            Some(("sqlite", file)) => {
                let config = omniroute_resilience::SqliteConfig::new(file);
                let store = omniroute_resilience::SqliteStore::open(config, RealClock::new(), Pool::new(2));
                Ok(Arc::new(store.await?))
            }
            Some(("redis", url)) => {
                use omniroute_resilience::{RedisConfig, RedisStore, Span};
                let mut config = RedisConfig::new(url);
                config.durable = true;
                config.probe = Span::ms(10);
                (config.connect, config.command) = (Span::seconds(5), Span::seconds(5));
                Ok(Arc::new(RedisStore::open(config, RealClock::new(), Pool::new(2)).await?))
            }
            _ => Err(StoreError::Invalid(format!("no store at {:?}", self.0))),
        }
    }
}

/// A lease that a writer was told is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    owner: u64,
    fence: u64,
}

/// What a series of kills showed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) kills: u32,
    /// Leases that writers were told are theirs.
    pub(crate) acknowledged: usize,
    /// Of those, not there afterwards.
    pub(crate) lost: usize,
    /// Leases of which only a part was there.
    pub(crate) halves: usize,
    /// Fences given twice, or above the counter.
    pub(crate) bad_fences: usize,
}

/// Takes leases as long as it may go on, and tells each one as soon as it is taken.
pub(crate) async fn write(
    store: &dyn ResilienceStore,
    first_owner: u64,
    goes_on: impl Fn() -> bool,
    lies: bool,
    mut told: impl FnMut(Taken),
) -> Result<(), StoreError> {
    for owner in first_owner.. {
        if !goes_on() {
            break;
        }
        let mut fence = store.get(&[Key::LeaseFence]).await?.0.remove(0);
        loop {
            let next = fence.as_ref().map_or(0, |record| number(&record.value)) + 1;
            let value = |n: u64| Bytes::from(n.to_string());
            let changes = [
                Change::Put {
                    key: Key::LeaseFence,
                    expected: fence.as_ref().map(|record| record.version),
                    value: value(next),
                    expires: None,
                },
                Change::Put { key: owner_key(owner), expected: None, value: value(next), expires: None },
                Change::Put { key: connection_key(owner), expected: None, value: value(next), expires: None },
            ];
            if lies && owner % 3 == 0 {
                // Says so before it is so, and then it never is.
                told(Taken { owner, fence: next });
                break;
            }
            match store.commit(&changes, None, Durability::Durable).await?.0 {
                Commit::Done(_) => {
                    told(Taken { owner, fence: next });
                    break;
                }
                Commit::Conflict(found) => {
                    // The only key that others write.
                    fence = found
                        .into_iter()
                        .find(|(key, _)| *key == Key::LeaseFence)
                        .and_then(|(_, record)| record);
                }
                Commit::TooLate => {}
            }
        }
    }
    Ok(())
}

/// The body of a process that is to be killed. Writes what it was told to standard output.
pub(crate) fn writer_process(place: &Place, first_owner: u64, lies: bool) {
    let store = block_on(place.open()).unwrap();
    let next = Cell::new(first_owner);
    loop {
        let told = |taken: Taken| {
            let mut out = std::io::stdout();
            writeln!(out, "taken {} {}", taken.owner, taken.fence).unwrap();
            out.flush().unwrap();
            next.set(taken.owner + 1);
        };
        match block_on(write(&*store, next.get(), || true, lies, told)) {
            // The other writer kept the file for too long. What became of this one is not known: on to the next.
            Err(StoreError::Unavailable(_) | StoreError::Timeout(_)) => next.set(next.get() + 1),
            Err(error) => panic!("{error}"),
            Ok(()) => return,
        }
    }
}

/// Starts writers with `start` (given the number of the first owner), two at a time, kills them, and looks at the
/// store each time.
pub(crate) fn kill_writers(place: &Place, kills: u32, seed: u64, start: impl Fn(u64) -> Command) -> Report {
    let mut dice = Dice(seed | 1);
    let mut report = Report::default();
    let mut all = Vec::new();
    for round in 0..kills.div_ceil(2) {
        let mut running: Vec<_> = (0..2)
            .map(|n| {
                let first = u64::from(2 * round + n) * 1_000_000;
                let mut process = start(first).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
                let lines = BufReader::new(process.stdout.take().unwrap());
                let (seen, first_seen) = std::sync::mpsc::channel();
                let reader = std::thread::spawn(move || {
                    // What was written whole was acknowledged; the last line may be cut.
                    let mut taken = Vec::new();
                    for line in lines.lines().map_while(Result::ok) {
                        let Some(one) = parse(&line) else { continue };
                        taken.push(one);
                        let _ = seen.send(());
                    }
                    taken
                });
                (process, reader, first_seen)
            })
            .collect();
        for (_, _, first_seen) in &running {
            first_seen.recv_timeout(Duration::from_secs(60)).expect("a writer writes");
        }
        pause(Duration::from_micros(dice.below(20_000)));
        for (process, _, _) in &mut running {
            process.kill().unwrap();
            process.wait().unwrap();
            report.kills += 1;
        }
        for (_, reader, _) in running {
            all.extend(reader.join().unwrap());
        }
        let store = block_on(place.open()).unwrap();
        block_on(look(&*store, &all, &mut report)).unwrap();
        block_on(store.close()).unwrap();
    }
    report
}

/// Writes to a server and has it killed and started again by `kill`, within `longest` of the first lease.
pub(crate) fn kill_server(place: &Place, kills: u32, longest: Duration, mut kill: impl FnMut()) -> Report {
    let mut dice = Dice(7);
    let mut report = Report::default();
    let mut all = Vec::new();
    for round in 0..kills {
        let store = block_on(place.open()).unwrap();
        let (sender, taken) = std::sync::mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let writer = std::thread::spawn(move || {
            // A call that meets the kill ends it, too: what was not acknowledged does not count.
            let told = |one| sender.send(one).unwrap();
            let goes_on = || !stopped.load(Ordering::Relaxed);
            let _ = block_on(write(&*store, u64::from(round) * 1_000_000, goes_on, false, told));
        });
        all.push(taken.recv_timeout(Duration::from_secs(60)).unwrap());
        pause(Duration::from_micros(dice.below(u64::try_from(longest.as_micros()).unwrap())));
        kill();
        report.kills += 1;
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        all.extend(taken);
        let store = block_on(place.open()).unwrap();
        block_on(look(&*store, &all, &mut report)).unwrap();
    }
    report
}

/// Compares what is there with what was acknowledged.
pub(crate) async fn look(
    store: &dyn ResilienceStore,
    all: &[Taken],
    report: &mut Report,
) -> Result<(), StoreError> {
    let mut records = BTreeMap::new();
    store.scan("l", &mut |key, record| drop(records.insert(key.clone(), record.clone()))).await?;
    let counter = records.get(&Key::LeaseFence).map_or(0, |record| number(&record.value));
    report.acknowledged = all.len();
    report.lost = all
        .iter()
        .filter(|taken| {
            records.get(&owner_key(taken.owner)).is_none_or(|record| number(&record.value) != taken.fence)
        })
        .count();
    let (mut owners, mut connections, mut fences) = (0, 0, BTreeSet::new());
    let mut halves = 0;
    for (key, record) in &records {
        match key {
            Key::LeaseOwner(hash) => {
                owners += 1;
                let owner = u64::from_le_bytes(*hash.first_chunk().unwrap());
                let other = records.get(&connection_key(owner));
                halves +=
                    usize::from(other.is_none_or(|other| {
                        (other.version, &other.value) != (record.version, &record.value)
                    }));
                let fence = number(&record.value);
                report.bad_fences += usize::from(!fences.insert(fence) || fence > counter);
            }
            Key::LeaseConnection(..) => connections += 1,
            _ => {}
        }
    }
    report.halves += halves + usize::from(owners != connections);
    Ok(())
}

fn owner_key(owner: u64) -> Key {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&owner.to_le_bytes());
    Key::LeaseOwner(hash)
}

fn connection_key(owner: u64) -> Key {
    Key::LeaseConnection(ProviderId::new("p"), ConnectionId::new(owner.to_string()))
}

fn number(value: &[u8]) -> u64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

fn parse(line: &str) -> Option<Taken> {
    let mut words = line.strip_prefix("taken ")?.split(' ');
    Some(Taken { owner: words.next()?.parse().ok()?, fence: words.next()?.parse().ok()? })
}
