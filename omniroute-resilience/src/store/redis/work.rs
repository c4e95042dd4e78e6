//! The jobs: one exchange with the server each, and what to do while there is none.

use std::collections::HashSet;

use omniroute_core::{Change, Commit, Key, Record, StoreError, Unit, UnixMs};

use super::health::Fault;
use super::join::{self, Server};
use super::link::Failed;
use super::local::Unsettled;
use super::script::{self, Caller, Outcome, Reply};
use super::{RedisStore, Shared, config};

/// Keys that one exchange reads at most.
const READ: usize = 500;
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
        match self.exchange(true, &[], |caller| script::get(&self.names, caller, &[])) {
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

    pub(super) fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        let mut all = Vec::with_capacity(keys.len());
        let mut time = None;
        for part in keys.chunks(READ) {
            let (records, at) = self.read(part)?;
            all.extend(records);
            time.get_or_insert(at);
        }
        match time {
            Some(time) => Ok((all, time)),
            None => self.read(&[]),
        }
    }

    pub(super) fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
    ) -> Result<(Commit, UnixMs), StoreError> {
        let keys: Vec<Key> = changes.iter().map(|change| change.key().clone()).collect();
        let texts: Vec<String> = keys.iter().map(Key::encode).collect();
        let (reply, time) =
            self.exchange(false, &texts, |caller| script::commit(&self.names, caller, changes, not_after))?;
        let commit = match reply.outcome {
            Outcome::TooLate => Commit::TooLate,
            Outcome::Done => {
                let mut state = self.lock();
                for change in changes.iter().filter(|change| !matches!(change, Change::Check { .. })) {
                    let record = join::after(change, reply.version);
                    state.local.learn(change.key(), record.as_ref(), reply.version);
                }
                Commit::Done(reply.version)
            }
            Outcome::Conflict(conflicts) => {
                let named =
                    conflicts.into_iter().filter_map(|(at, record)| Some((keys.get(at)?.clone(), record)));
                let conflicts: Vec<_> = named.collect();
                let mut state = self.lock();
                for (key, record) in &conflicts {
                    state.local.learn(key, record.as_ref(), reply.version);
                }
                Commit::Conflict(conflicts)
            }
            Outcome::Got(_) | Outcome::Another => return Err(forgot()),
        };
        Ok((commit, time))
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
        let (records, time) = self.get(&keys)?;
        let found = keys.into_iter().zip(records).filter_map(|(key, record)| Some((key, record?)));
        let page = Page { records: found.collect(), time };
        scan.cursor = next;
        Ok(((next != 0).then_some(scan), page))
    }

    pub(super) fn get_apart(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        self.may_be_apart()?;
        // Who holds a connection may be answered from memory: the answer ends with the lease. Whether a lease
        // still holds may not.
        if keys.iter().any(|key| is_lease(key) && !matches!(key, Key::LeaseConnection(..))) {
            return Err(unconfirmed());
        }
        let time = self.time_apart();
        let state = self.lock();
        Ok((keys.iter().map(|key| state.local.get(key, time)).collect(), time))
    }

    pub(super) fn commit_apart(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
    ) -> Result<(Commit, UnixMs), StoreError> {
        self.may_be_apart()?;
        let free = |change: &Change| {
            matches!(change, Change::Check { key: Key::LeaseConnection(..), expected: None })
        };
        if changes.iter().any(|change| is_lease(change.key()) && !free(change)) {
            return Err(unconfirmed());
        }
        let money = |key: &Key| matches!(key, Key::Quota { unit: Unit::Usd, .. });
        if self.config.money_fails_closed && changes.iter().any(|change| money(change.key())) {
            return Err(StoreError::Unavailable("money cannot be counted without the server".to_owned()));
        }
        let time = self.time_apart();
        let mut state = self.lock();
        if state.health.connected() {
            // It came back this very moment; what was read apart is no longer what counts.
            return Err(StoreError::Unavailable("the server has just come back".to_owned()));
        }
        Ok((state.local.commit(changes, not_after, time)?, time))
    }

    pub(super) fn scan_apart(&self, prefix: &str) -> Result<(Vec<(Key, Record)>, UnixMs), StoreError> {
        self.may_be_apart()?;
        let time = self.time_apart();
        Ok((self.lock().local.scan(prefix, time), time))
    }

    /// Comes back to the server: tells it what was written apart, until nothing is left.
    pub(super) fn rejoin(&self) -> Result<(), StoreError> {
        let names = &self.names;
        let caller = Caller { id: String::new(), ..self.caller() };
        let hello = self.call(true, |connection| script::get(names, &caller, &[]).run(connection))?;
        let reply = script::reply(hello, &[])?;
        let moment = self.clock.now();
        {
            let mut state = self.lock();
            if !state.id.is_empty() && state.id != reply.id {
                state.rebirths += 1;
                self.seen.forget();
                let now = UnixMs(reply.time);
                state.local.server_forgot(now);
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
            for (told, theirs) in self.tell(&pending)? {
                self.lock().local.settle(&told, theirs.as_ref());
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

    fn tell(&self, pending: &[Unsettled]) -> Result<Vec<(Unsettled, Option<Record>)>, StoreError> {
        join::tell(&mut Rejoining(self), pending, &*self.join)
    }

    fn may_be_apart(&self) -> Result<(), StoreError> {
        if self.config.fallback {
            return Ok(());
        }
        let reason = self.lock().health.reason.clone().unwrap_or_default();
        Err(StoreError::Unavailable(format!("the server was given up: {reason}")))
    }

    /// The store's time, carried on by this process.
    fn time_apart(&self) -> UnixMs {
        let moment = self.clock.now();
        let told = self.seen.told();
        let time = self.seen.carried(moment.mono).unwrap_or(moment.wall);
        self.seen.tell(told.turns, time.0, moment.mono)
    }

    fn read(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        let texts: Vec<String> = keys.iter().map(Key::encode).collect();
        let (reply, time) = self.exchange(true, &texts, |caller| script::get(&self.names, caller, &texts))?;
        let Outcome::Got(records) = reply.outcome else { return Err(forgot()) };
        let mut state = self.lock();
        for (key, record) in keys.iter().zip(&records) {
            state.local.learn(key, record.as_ref(), reply.version);
        }
        Ok((records, time))
    }

    fn caller(&self) -> Caller {
        let state = self.lock();
        Caller {
            test_time: self.config.test_clock.then(|| self.clock.now().wall.0),
            id: state.id.clone(),
            told: self.seen.told(),
            newest: state.local.newest,
        }
    }

    /// Calls the script and takes note of what every reply tells.
    fn exchange(
        &self,
        repeated: bool,
        keys: &[String],
        call: impl Fn(&Caller) -> script::Call,
    ) -> Result<(Reply, UnixMs), StoreError> {
        let caller = self.caller();
        let call = call(&caller);
        let value = self.call(repeated, |connection| call.run(connection))?;
        let reply = script::reply(value, keys)?;
        let moment = self.clock.now();
        if reply.outcome == Outcome::Another {
            let error = forgot();
            self.lock().health.give_up(&error.to_string(), moment.mono);
            return Err(error);
        }
        let mut state = self.lock();
        if state.id.is_empty() {
            state.id.clone_from(&reply.id);
        }
        state.local.newest = state.local.newest.max(reply.version);
        drop(state);
        let time = self.seen.tell(reply.turns, reply.time, moment.mono);
        Ok((reply, time))
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
    fn get(&mut self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        let texts: Vec<String> = keys.iter().map(Key::encode).collect();
        let shared = self.0;
        let (reply, _) =
            shared.exchange(true, &texts, |caller| script::get(&shared.names, caller, &texts))?;
        match reply.outcome {
            Outcome::Got(records) => Ok(records),
            _ => Err(forgot()),
        }
    }

    fn commit(&mut self, changes: &[Change]) -> Result<Commit, StoreError> {
        self.0.commit(changes, None).map(|(commit, _)| commit)
    }
}

fn is_lease(key: &Key) -> bool {
    matches!(
        key,
        Key::LeaseOwner(_)
            | Key::LeaseConnection(..)
            | Key::LeaseGeneration(_)
            | Key::LeaseFence
            | Key::LeaseEnded(..)
    )
}

fn forgot() -> StoreError {
    StoreError::Unavailable("the server has lost its memory and is being told what is known".to_owned())
}

fn unconfirmed() -> StoreError {
    StoreError::Unavailable("leases cannot be confirmed without the server".to_owned())
}

#[expect(dead_code, reason = "checked by the compiler only")]
fn is_shared_between_threads(store: RedisStore) -> impl Send + Sync {
    store
}
