//! The jobs: exchanges with the server, and how this process comes back to it.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Change, Commit, Key, Record, StoreError, UnixMs};

use super::health::Fault;
use super::join::{self, Server};
use super::lanes::Batch;
use super::link::Failed;
use super::script::{self, Answer, Caller, Outcome, Request};
use super::{RedisStore, Shared, config};

/// Keys that one call reads at most.
pub(super) const READ: usize = 500;
/// How often the server is told that this process is there.
const BEAT: u64 = 5_000_000_000;
/// Changes that one commit may hold.
const CHANGES: usize = 1_000;
/// Records that the server hears of in one exchange.
const TELL: usize = 200;
/// Times that records which keep changing are told to the server before it counts as not joined.
const ROUNDS: usize = 10_000;

/// Where a scan is.
#[derive(Debug)]
pub(super) struct Scan {
    pattern: String,
    cursor: u64,
    /// The server may name a record more than once.
    seen: HashSet<String>,
}

impl Scan {
    pub(super) fn new(pattern: String) -> Scan {
        Scan { pattern, cursor: 0, seen: HashSet::new() }
    }
}

/// Part of a scan.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) records: Vec<(Key, Record)>,
    pub(super) time: UnixMs,
}

/// A commit that has a meaning and fits into one exchange.
pub(super) fn sound(changes: &[Change]) -> Result<(), StoreError> {
    if changes.len() > CHANGES {
        let count = changes.len();
        return Err(StoreError::Invalid(format!("a commit has {count} changes, {CHANGES} are allowed")));
    }
    let mut keys: Vec<_> = changes.iter().map(Change::key).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(StoreError::Invalid(format!("a commit names {} twice", pair[0]))),
        None => Ok(()),
    }
}

impl Shared {
    /// Looks for the server when the store is opened.
    pub(super) fn first_contact(&self) -> Result<(), StoreError> {
        match self.exchange(true, &[]) {
            Ok(_) => self.check_durable(),
            Err(error @ StoreError::SchemaTooNew { .. }) => Err(error),
            Err(error) if self.config.require || self.lock().setup => Err(error),
            Err(error) => {
                let now = self.clock.now().mono;
                self.lock().health.give_up(&error.to_string(), now);
                Ok(())
            }
        }
    }

    /// Asks the server for all calls of a batch and tells each what came of it.
    pub(super) fn serve(&self, batch: Batch) {
        let requests: Vec<&Request> = batch.calls.iter().map(|waiting| &waiting.request).collect();
        let result = self.exchange(batch.reads, &requests);
        match result {
            Ok((answers, time)) => {
                for (waiting, answer) in batch.calls.into_iter().zip(answers) {
                    // A caller that has gone does not need the answer.
                    let _ = waiting.done.send(answer.map(|answer| (answer, time)));
                }
            }
            Err(error) => {
                for waiting in batch.calls {
                    let _ = waiting.done.send(Err(error.clone()));
                }
            }
        }
    }

    /// Takes note of what the server holds.
    pub(super) fn learn_read(&self, keys: &[Key], answer: Answer) -> Result<Vec<Option<Record>>, StoreError> {
        let Outcome::Got(records) = answer.outcome else { return Err(forgot()) };
        let mut state = self.lock();
        for (key, record) in keys.iter().zip(&records) {
            state.local.learn(key, record.as_ref(), answer.version);
        }
        Ok(records)
    }

    /// Takes note of what a commit did, or met.
    pub(super) fn learn_commit(&self, changes: &[Change], answer: Answer) -> Result<Commit, StoreError> {
        match answer.outcome {
            Outcome::TooLate => Ok(Commit::TooLate),
            Outcome::Done => {
                let mut state = self.lock();
                for change in changes.iter().filter(|change| !matches!(change, Change::Check { .. })) {
                    let record = join::after(change, answer.version);
                    state.local.learn(change.key(), record.as_ref(), answer.version);
                }
                Ok(Commit::Done(answer.version))
            }
            Outcome::Conflict(conflicts) => {
                let named = conflicts
                    .into_iter()
                    .filter_map(|(at, record)| Some((changes.get(at)?.key().clone(), record)));
                let conflicts: Vec<_> = named.collect();
                let mut state = self.lock();
                for (key, record) in &conflicts {
                    state.local.learn(key, record.as_ref(), answer.version);
                }
                Ok(Commit::Conflict(conflicts))
            }
            Outcome::Got(_) => Err(forgot()),
        }
    }

    /// One step of a scan, and where it goes on.
    pub(super) fn scan(&self, mut scan: Scan) -> Result<(Option<Scan>, Page), StoreError> {
        let (pattern, cursor) = (scan.pattern.clone(), scan.cursor);
        let (next, names): (u64, Vec<String>) = self.call(true, move |connection| {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(READ);
            command.query(connection)
        })?;
        let keys = names.into_iter().filter(|name| scan.seen.insert(name.clone()));
        let keys: Vec<Key> = keys.filter_map(|name| Key::decode(self.names.key(&name)?)).collect();
        let (records, time) = self.read(&keys)?;
        let found = keys.into_iter().zip(records).filter_map(|(key, record)| Some((key, record?)));
        let page = Page { records: found.collect(), time };
        scan.cursor = next;
        Ok(((next != 0).then_some(scan), page))
    }

    /// Comes back to the server: tells it what was written apart, until nothing is left.
    pub(super) fn rejoin(&self) -> Result<(), StoreError> {
        // One at a time: the mark tells which message the server has taken in.
        let mut mark = self.mark.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let caller = Caller { id: String::new(), ..self.caller() };
        let none = || std::iter::empty::<&Request>();
        let hello =
            self.call(true, |connection| script::Run::new(&self.names, &caller, none()).on(connection))?;
        let reply = script::reply(hello, none())?.ok_or_else(forgot)?;
        let moment = self.clock.now();
        {
            let mut state = self.lock();
            if !state.id.is_empty() && state.id != reply.id {
                state.rebirths += 1;
                self.seen.forget();
                let leases = state.local.server_forgot(UnixMs(reply.time));
                state.overruled += leases;
            }
            state.id.clone_from(&reply.id);
            state.local.newest = state.local.newest.max(reply.version);
        }
        self.seen.tell(reply.turns, reply.time, moment.mono);
        for _ in 0..ROUNDS {
            let pending = {
                let mut state = self.lock();
                let pending = state.local.pending(TELL);
                if pending.is_empty() {
                    // Under the lock that commits without the server take: none can slip in between.
                    state.health.joined();
                    return Ok(());
                }
                pending
            };
            let told = join::tell(&mut Rejoining(self), &mut mark, &pending, &*self.join)?;
            let mut state = self.lock();
            state.overruled += told.overruled;
            for (told, theirs) in told.settled {
                state.local.settle(&told, theirs.as_ref());
            }
        }
        Err(StoreError::Contended(u32::try_from(ROUNDS).unwrap_or(u32::MAX)))
    }

    /// The next try comes after about the configured time.
    pub(super) fn end_probe(&self) {
        let pause = self.config.probe.as_ms();
        let pause = self.rng.between(pause - pause / 5, pause + pause / 5);
        let next = self.clock.now().mono.after(std::time::Duration::from_millis(pause));
        self.lock().health.probe_failed(next);
    }

    pub(super) fn close(&self) -> Result<(), StoreError> {
        let unsettled = |shared: &Shared| shared.lock().local.unsettled();
        let last = if unsettled(self) > 0 { self.rejoin() } else { Ok(()) };
        self.lock().closed = true;
        self.link.close();
        match unsettled(self) {
            0 => Ok(()),
            left => Err(last.err().unwrap_or_else(|| {
                StoreError::Unavailable(format!("the server has not heard of {left} records"))
            })),
        }
    }

    pub(super) fn too_slow(&self) {
        let now = self.clock.now().mono;
        self.lock().health.fault(Fault::Slow, "too slow", now);
    }

    fn read(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        let request = Request::Get(keys.iter().map(Key::encode).collect());
        let (answer, time) = self.one(true, &request)?;
        Ok((self.learn_read(keys, answer)?, time))
    }

    fn one(&self, repeated: bool, request: &Request) -> Result<(Answer, UnixMs), StoreError> {
        let (answers, time) = self.exchange(repeated, &[request])?;
        let answer = answers.into_iter().next().unwrap_or_else(|| Err(forgot()))?;
        Ok((answer, time))
    }

    fn caller(&self) -> Caller {
        let now = self.clock.now();
        let due = now.mono.0 >= self.beat_at.load(Relaxed);
        if due {
            self.beat_at.store(now.mono.0.saturating_add(BEAT), Relaxed);
        }
        let state = self.lock();
        Caller {
            test_time: self.config.test_clock.then_some(now.wall.0),
            id: state.id.clone(),
            told: self.seen.told(),
            newest: state.local.newest,
            process: due.then_some(self.process),
        }
    }

    /// Runs the script for some requests and takes note of what every reply tells.
    fn exchange(
        &self,
        repeated: bool,
        requests: &[&Request],
    ) -> Result<(Vec<Result<Answer, StoreError>>, UnixMs), StoreError> {
        let run = script::Run::new(&self.names, &self.caller(), requests.iter().copied());
        let value = self.call(repeated, |connection| run.on(connection))?;
        let reply = script::reply(value, requests.iter().copied())?;
        let moment = self.clock.now();
        let Some(reply) = reply else {
            let error = forgot();
            self.lock().health.give_up(&error.to_string(), moment.mono);
            return Err(error);
        };
        let mut state = self.lock();
        if state.id.is_empty() {
            state.id.clone_from(&reply.id);
        }
        state.local.newest = state.local.newest.max(reply.version);
        state.processes = reply.processes.unwrap_or(state.processes).max(1);
        drop(state);
        let time = self.seen.tell(reply.turns, reply.time, moment.mono);
        Ok((reply.answers, time))
    }

    /// One exchange, counted.
    fn call<T>(
        &self,
        repeated: bool,
        run: impl Fn(&mut redis::Connection) -> Result<T, redis::RedisError>,
    ) -> Result<T, StoreError> {
        let hasty = self.lock().health.slow();
        let result = self.link.call(repeated, hasty, run);
        let now = self.clock.now().mono;
        let mut state = self.lock();
        match result {
            Ok(value) => {
                state.health.ok();
                state.setup = false;
                Ok(value)
            }
            Err(Failed { fault, error, setup }) => {
                state.setup = setup;
                if let Some(fault) = fault {
                    state.health.fault(fault, &error.to_string(), now);
                }
                Err(error)
            }
        }
    }

    /// Asks the server whether it keeps its word, where it may be asked.
    fn check_durable(&self) -> Result<(), StoreError> {
        if !self.config.durable {
            return Ok(());
        }
        for (setting, needed) in [("appendonly", "yes"), ("appendfsync", "always")] {
            let asked: Result<Vec<String>, _> =
                self.call(true, |connection| redis::cmd("CONFIG").arg("GET").arg(setting).query(connection));
            if let Some(found) = asked.ok().and_then(|pair| pair.into_iter().nth(1))
                && found != needed
            {
                let allowed = format!("false, or the server's {setting} {needed} instead of {found}");
                return Err(config::wrong("durable", &true, &allowed));
            }
        }
        Ok(())
    }
}

/// The server while this process comes back to it.
struct Rejoining<'s>(&'s Shared);

impl Server for Rejoining<'_> {
    fn get(&mut self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        let request = Request::Get(keys.iter().map(Key::encode).collect());
        let (answer, time) = self.0.one(true, &request)?;
        match answer.outcome {
            Outcome::Got(records) => Ok((records, time)),
            _ => Err(forgot()),
        }
    }

    fn commit(&mut self, changes: &[Change]) -> Result<Commit, StoreError> {
        let request = Request::Commit(changes.to_vec(), None);
        let (answer, _) = self.0.one(false, &request)?;
        self.0.learn_commit(changes, answer)
    }
}

pub(super) fn forgot() -> StoreError {
    StoreError::Unavailable("the server has lost its memory and is being told what is known".to_owned())
}

#[expect(dead_code, reason = "checked by the compiler only")]
fn is_shared_between_threads(store: RedisStore) -> impl Send + Sync {
    store
}
