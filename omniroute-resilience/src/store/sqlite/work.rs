//! What happens inside transactions.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use omniroute_core::{Change, Commit, Record, StoreError, UnixMs};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use super::{Pending, Shared, file, lock};
use crate::store::time::Anchor;

/// Commits that share a transaction at most.
const BATCH: usize = 64;
/// Expired records that a transaction clears on its way at most.
const SWEEP: i64 = 64;

/// The one connection that writes.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    full: Option<bool>,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Writer {
        Writer { connection, full: None }
    }

    /// As if the disk were this big.
    #[cfg(test)]
    pub(super) fn limit_pages(&self, count: u32) {
        self.connection.query_row(&format!("PRAGMA max_page_count = {count}"), [], |_| Ok(())).unwrap();
    }

    /// Whether the end of a transaction waits for the disk.
    fn set_full(&mut self, full: bool) -> Result<(), rusqlite::Error> {
        if self.full != Some(full) {
            let level = if full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.full = Some(full);
        }
        Ok(())
    }
}

/// Part of a scan.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) records: Vec<(String, Record)>,
    /// Where the next one begins, itself not included.
    pub(super) next: Option<String>,
    pub(super) time: UnixMs,
}

/// The row of facts about the store.
#[derive(Debug, Clone, Copy)]
struct Meta {
    version: i64,
    anchor: Anchor,
    lost: bool,
}

type Answer = Result<(Commit, UnixMs), StoreError>;

impl Shared {
    pub(super) fn get(&self, keys: &[String]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        self.read(|snapshot, now| keys.iter().map(|key| live(snapshot, key, now)).collect())
    }

    /// Records from `from` on whose keys start with `prefix`.
    pub(super) fn page(
        &self,
        prefix: &str,
        from: &str,
        inclusive: bool,
        size: usize,
    ) -> Result<Page, StoreError> {
        let ((records, next), time) = self.read(|snapshot, now| {
            let order = if inclusive { ">=" } else { ">" };
            let sql =
                format!("SELECT version, value, expires, k FROM kv WHERE k {order} ?1 ORDER BY k LIMIT ?2");
            let mut statement = snapshot.prepare_cached(&sql)?;
            let mut rows = statement.query((from, i64::try_from(size).unwrap_or(i64::MAX)))?;
            let (mut records, mut last, mut seen) = (Vec::new(), None, 0);
            while let Some(row) = rows.next()? {
                let key: String = row.get(3)?;
                if !key.starts_with(prefix) {
                    return Ok((records, None));
                }
                let record = record(row)?;
                if record.expires.is_none_or(|at| at.0 > now) {
                    records.push((key.clone(), record));
                }
                last = Some(key);
                seen += 1;
            }
            Ok((records, last.filter(|_| seen == size)))
        })?;
        Ok(Page { records, next, time })
    }

    /// Writes what waits, one batch of it.
    pub(super) fn drain(&self) {
        let mut writer = lock(&self.writer);
        let batch: Vec<Pending> = {
            let mut queue = lock(&self.queue);
            let count = queue.len().min(BATCH);
            // Nothing was written yet for those whose caller has gone.
            queue.drain(..count).filter(|pending| !pending.answer.is_canceled()).collect()
        };
        if batch.is_empty() {
            return;
        }
        let mut answers = self.write(&mut writer, &batch);
        if batch.len() > 1 && answers.iter().any(|answer| matches!(answer, Err(StoreError::Invalid(_)))) {
            // What one commit did wrong must not spoil the others.
            answers = batch
                .iter()
                .flat_map(|pending| self.write(&mut writer, std::slice::from_ref(pending)))
                .collect();
        }
        drop(writer);
        for (pending, answer) in batch.into_iter().zip(answers) {
            let _ = pending.answer.send(answer);
        }
    }

    pub(super) fn accept_loss(&self) -> Result<(), StoreError> {
        let mut writer = lock(&self.writer);
        let writer = self.usable(&mut writer)?;
        let written =
            writer.set_full(true).and_then(|()| writer.connection.execute("UPDATE meta SET lost = 0", []));
        written.map_err(|error| self.told(&error))?;
        self.lost.store(false, Ordering::Release);
        Ok(())
    }

    pub(super) fn close(&self) -> Result<(), StoreError> {
        while !lock(&self.queue).is_empty() {
            self.drain();
        }
        self.closed.store(true, Ordering::Release);
        lock(&self.readers).clear();
        match lock(&self.writer).take() {
            None => Ok(()),
            Some(writer) => writer.connection.close().map_err(|(_, error)| self.told(&error)),
        }
    }

    fn told(&self, error: &rusqlite::Error) -> StoreError {
        file::told(&self.config.path, error)
    }

    fn check_file(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        if self.identity.is_some() && file::Identity::of(&self.config.path) != self.identity {
            let path = self.config.path.display();
            return Err(StoreError::Unavailable(format!("{path} was replaced; open the store again")));
        }
        Ok(())
    }

    fn usable<'w>(&self, writer: &'w mut Option<Writer>) -> Result<&'w mut Writer, StoreError> {
        self.check_file()?;
        writer.as_mut().ok_or_else(|| StoreError::Unavailable("the store is closed".to_owned()))
    }

    /// Runs a question on one state of the file.
    fn read<T>(
        &self,
        question: impl Fn(&Transaction<'_>, i64) -> Result<T, rusqlite::Error>,
    ) -> Result<(T, UnixMs), StoreError> {
        self.check_file()?;
        let idle = lock(&self.readers).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => file::connect(&self.config).map_err(|error| self.told(&error))?,
        };
        let asked = self.ask(&connection, &question);
        let (answer, time, behind) = asked.map_err(|error| self.told(&error))?;
        let mut readers = lock(&self.readers);
        if readers.len() < self.config.readers as usize && !self.closed.load(Ordering::Acquire) {
            readers.push(connection);
        }
        drop(readers);
        if behind {
            // The clock was set back: the file must know, or its time would stand still without commits.
            self.note_time()?;
        }
        Ok((answer, time))
    }

    fn ask<T>(
        &self,
        connection: &Connection,
        question: impl Fn(&Transaction<'_>, i64) -> Result<T, rusqlite::Error>,
    ) -> Result<(T, UnixMs, bool), rusqlite::Error> {
        let snapshot = connection.unchecked_transaction()?;
        let meta = meta(&snapshot)?;
        self.lost.store(meta.lost, Ordering::Release);
        let moment = self.clock.now();
        let next = meta.anchor.step(moment.wall.0, self.seen.told());
        let answer = question(&snapshot, next.high)?;
        snapshot.commit()?;
        // A new turn counts once it is written.
        let time = if next.turns == meta.anchor.turns {
            self.seen.tell(next.turns, next.high, moment.mono)
        } else {
            UnixMs(next.high)
        };
        Ok((answer, time, meta.anchor.must_write(next)))
    }

    fn note_time(&self) -> Result<(), StoreError> {
        let mut writer = lock(&self.writer);
        let writer = self.usable(&mut writer)?;
        self.transact(writer, &[], true).map(|_| ()).map_err(|error| self.told(&error))
    }

    fn write(&self, writer: &mut Option<Writer>, batch: &[Pending]) -> Vec<Answer> {
        let all = |error: &StoreError| batch.iter().map(|_| Err(error.clone())).collect();
        let writer = match self.usable(writer) {
            Ok(writer) => writer,
            Err(error) => return all(&error),
        };
        match self.transact(writer, batch, false) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(error) => {
                writer.full = None;
                all(&self.told(&error))
            }
        }
    }

    /// One transaction: each commit of the batch sees what those before it wrote.
    fn transact(
        &self,
        writer: &mut Writer,
        batch: &[Pending],
        note_time: bool,
    ) -> Result<Vec<(Commit, UnixMs)>, rusqlite::Error> {
        writer.set_full(batch.iter().any(|pending| pending.durable))?;
        let change = writer.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut meta = meta(&change)?;
        let before = meta;
        let moment = self.clock.now();
        meta.anchor = meta.anchor.step(moment.wall.0, self.seen.told());
        let now = meta.anchor.high;
        let mut commits = Vec::with_capacity(batch.len());
        for pending in batch {
            commits.push(apply(&change, pending, now, &mut meta.version)?);
        }
        if meta.version != before.version {
            sweep(&change, now)?;
        }
        let must_write = meta.version != before.version || before.anchor.must_write(meta.anchor);
        if must_write || note_time {
            let mut statement =
                change.prepare_cached("UPDATE meta SET version = ?1, high = ?2, behind = ?3, turns = ?4")?;
            statement.execute((meta.version, now, meta.anchor.behind, meta.anchor.turns))?;
            drop(statement);
            change.commit()?;
        } else {
            change.rollback()?;
        }
        self.lost.store(meta.lost, Ordering::Release);
        let time = self.seen.tell(meta.anchor.turns, now, moment.mono);
        Ok(commits.into_iter().map(|commit| (commit, time)).collect())
    }
}

/// A call that names a key twice has no meaning.
pub(super) fn no_key_twice(changes: &[Change]) -> Result<(), StoreError> {
    let mut keys: Vec<_> = changes.iter().map(Change::key).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(StoreError::Invalid(format!("a commit names {} twice", pair[0]))),
        None => Ok(()),
    }
}

fn apply(
    change: &Transaction<'_>,
    pending: &Pending,
    now: i64,
    version: &mut i64,
) -> Result<Commit, rusqlite::Error> {
    if pending.not_after.is_some_and(|limit| now > limit.0) {
        return Ok(Commit::TooLate);
    }
    let texts: Vec<String> = pending.changes.iter().map(|change| change.key().encode()).collect();
    let mut conflicts = Vec::new();
    for (part, text) in pending.changes.iter().zip(&texts) {
        let found = live(change, text, now)?;
        if found.as_ref().map(|record| record.version) != part.expected() {
            conflicts.push((part.key().clone(), found));
        }
    }
    if !conflicts.is_empty() {
        return Ok(Commit::Conflict(conflicts));
    }
    *version += 1;
    for (part, text) in pending.changes.iter().zip(&texts) {
        match part {
            Change::Put { value, expires, .. } => {
                let sql = "INSERT INTO kv (k, version, expires, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (k) \
                           DO UPDATE SET version = ?2, expires = ?3, value = ?4";
                let expires = expires.map(|at| at.0);
                change.prepare_cached(sql)?.execute((text, *version, expires, &value[..]))?;
            }
            Change::Delete { .. } => {
                change.prepare_cached("DELETE FROM kv WHERE k = ?1")?.execute([text])?;
            }
            Change::Check { .. } => {}
        }
    }
    Ok(Commit::Done(version.cast_unsigned()))
}

fn sweep(change: &Transaction<'_>, now: i64) -> Result<(), rusqlite::Error> {
    let sql = "DELETE FROM kv WHERE k IN (SELECT k FROM kv WHERE expires <= ?1 ORDER BY expires LIMIT ?2)";
    change.prepare_cached(sql)?.execute((now, SWEEP)).map(|_| ())
}

fn meta(from: &Connection) -> Result<Meta, rusqlite::Error> {
    let mut statement = from.prepare_cached("SELECT version, high, behind, turns, lost FROM meta")?;
    statement.query_row([], |row| {
        Ok(Meta {
            version: row.get(0)?,
            anchor: Anchor { high: row.get(1)?, behind: row.get(2)?, turns: row.get(3)? },
            lost: row.get::<_, i64>(4)? != 0,
        })
    })
}

fn live(from: &Connection, key: &str, now: i64) -> Result<Option<Record>, rusqlite::Error> {
    let mut statement = from.prepare_cached("SELECT version, value, expires FROM kv WHERE k = ?1")?;
    let found = statement.query_row([key], record).optional()?;
    Ok(found.filter(|record| record.expires.is_none_or(|at| at.0 > now)))
}

fn record(row: &Row<'_>) -> Result<Record, rusqlite::Error> {
    let value = row.get_ref(1)?.as_blob()?;
    Ok(Record {
        version: row.get::<_, i64>(0)?.cast_unsigned(),
        value: Bytes::copy_from_slice(value),
        expires: row.get::<_, Option<i64>>(2)?.map(UnixMs),
    })
}
