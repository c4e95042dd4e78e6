//! State in a file: many processes of one host, nothing acknowledged is lost.

mod file;
mod work;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;
use omniroute_core::{
    Change, Clock, Commit, Durability, Key, Offload, Record, ResilienceStore, StoreError, StoreTraits, UnixMs,
};

use crate::span::Span;
use crate::store::blocking::{self, Blocking};
use crate::store::time::Seen;

/// Records that one step of a scan reads.
const PAGE: usize = 512;

/// Where the file is and how it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The file. It and missing folders are made readable for this user only.
    pub path: PathBuf,
    /// How long a call waits for other processes to finish writing. Default 5 s; 1 ms to 1 min.
    pub busy: Span,
    /// Connections kept open for reading. Default 2; 1 to 64.
    pub readers: u32,
    /// Commits that ask for it outlast a power cut. Off: they only outlast the process, and the store does not
    /// call itself durable. Default on.
    pub durable: bool,
    /// Read the whole file for damage when it is opened. Default on; about a second for a million records.
    pub check: bool,
    /// What to do with a damaged file. Default [`Damaged::SetAside`].
    pub damaged: Damaged,
}

/// What to do with a file that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Damaged {
    /// Rename it, start empty, and do not call the store durable until [`SqliteStore::accept_loss`]: exclusive
    /// leases must not vanish in silence.
    #[default]
    SetAside,
    /// Refuse to open it.
    Refuse,
}

impl SqliteConfig {
    /// The defaults, for this file.
    pub fn new(path: impl Into<PathBuf>) -> SqliteConfig {
        SqliteConfig {
            path: path.into(),
            busy: Span::seconds(5),
            readers: 2,
            durable: true,
            check: true,
            damaged: Damaged::SetAside,
        }
    }

    fn validate(&self) -> Result<(), StoreError> {
        let wrong = |key: &str, value: &dyn std::fmt::Display, allowed: &str| {
            Err(StoreError::Invalid(format!(
                "store.sqlite.{key} = {value} is not allowed: must be {allowed}"
            )))
        };
        if self.busy < Span::ms(1) || self.busy > Span::minutes(1) {
            return wrong("busy", &self.busy, "1ms to 1min");
        }
        if !(1..=64).contains(&self.readers) {
            return wrong("readers", &self.readers, "1 to 64");
        }
        if self.path.file_name().is_none() {
            return wrong("path", &self.path.display(), "the name of a file");
        }
        Ok(())
    }
}

/// A store in an SQLite file. Handles are cheap to share; several processes may open the same file.
///
/// # Behavior
/// - The time is that of the given clock, but never earlier than any the file has seen. If the clock stays more
///   than a minute behind for ten minutes, it is believed.
/// - Commits that wait for each other are written in one transaction. One that asks for durability makes the
///   whole transaction durable; none is delayed for company.
/// - Network file systems are not supported; they are refused where file locks do not hold.
/// - After a fork the child must open the file again.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    blocking: Blocking,
}

#[derive(Debug)]
struct Shared {
    config: SqliteConfig,
    clock: Arc<dyn Clock>,
    identity: Option<file::Identity>,
    writer: Mutex<Option<work::Writer>>,
    readers: Mutex<Vec<rusqlite::Connection>>,
    queue: Mutex<VecDeque<Pending>>,
    tickets: AtomicU64,
    seen: Seen,
    lost: AtomicBool,
    closed: AtomicBool,
    set_aside: Option<PathBuf>,
}

/// A commit that waits to be written.
#[derive(Debug)]
struct Pending {
    ticket: u64,
    changes: Vec<Change>,
    not_after: Option<UnixMs>,
    durable: bool,
    answer: oneshot::Sender<Result<(Commit, UnixMs), StoreError>>,
}

impl SqliteStore {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a value that is not allowed, an offload that runs jobs inline although calls
    /// may block for more than 50 ms, or a file that belongs to another program;
    /// [`StoreError::SchemaTooNew`]; [`StoreError::Unsupported`] where file locks do not hold;
    /// [`StoreError::Corrupt`] with [`Damaged::Refuse`]; [`StoreError::Unavailable`].
    pub async fn open(
        config: SqliteConfig,
        clock: Arc<dyn Clock>,
        offload: Arc<dyn Offload>,
    ) -> Result<SqliteStore, StoreError> {
        config.validate()?;
        let blocking = Blocking::new(offload, config.busy.into())?;
        let opened = {
            let (config, wall) = (config.clone(), clock.now().wall);
            blocking.run(move || file::open(&config, wall)).await?
        };
        let shared = Shared {
            config,
            clock,
            identity: opened.identity,
            writer: Mutex::new(Some(work::Writer::new(opened.connection))),
            readers: Mutex::default(),
            queue: Mutex::default(),
            tickets: AtomicU64::new(0),
            seen: Seen::new(),
            lost: AtomicBool::new(opened.lost),
            closed: AtomicBool::new(false),
            set_aside: opened.set_aside,
        };
        Ok(SqliteStore { shared: Arc::new(shared), blocking })
    }

    /// Where the damaged file went that was found when this store was opened.
    pub fn set_aside(&self) -> Option<&Path> {
        self.shared.set_aside.as_deref()
    }

    /// Whether a damaged file was replaced by an empty one and nobody has accepted that yet.
    pub fn lost(&self) -> bool {
        self.shared.lost.load(Ordering::Acquire)
    }

    /// Says that the loss of a damaged file is known. From then on the store calls itself durable again.
    ///
    /// # Errors
    /// As of a commit.
    pub async fn accept_loss(&self) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        self.blocking.run(move || shared.accept_loss()).await
    }
}

#[async_trait::async_trait]
impl ResilienceStore for SqliteStore {
    fn traits(&self) -> StoreTraits {
        StoreTraits::new("sqlite", self.shared.config.durable && !self.lost(), true)
    }

    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        let texts: Vec<String> = keys.iter().map(Key::encode).collect();
        let shared = self.shared.clone();
        self.blocking.run(move || shared.get(&texts)).await
    }

    async fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        durability: Durability,
    ) -> Result<(Commit, UnixMs), StoreError> {
        self.blocking.same_process()?;
        work::no_key_twice(changes)?;
        let (sender, receiver) = oneshot::channel();
        let ticket = self.shared.tickets.fetch_add(1, Ordering::Relaxed);
        lock(&self.shared.queue).push_back(Pending {
            ticket,
            changes: changes.to_vec(),
            not_after,
            durable: durability == Durability::Durable && self.shared.config.durable,
            answer: sender,
        });
        // Whoever comes first writes for all; the others find nothing left to do.
        let turn = Turn { shared: self.shared.clone(), ticket };
        self.blocking.start(move || turn.take());
        receiver.await.unwrap_or_else(|_| Err(blocking::dropped()))
    }

    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError> {
        let mut from = prefix.to_owned();
        let mut inclusive = true;
        loop {
            let (shared, prefix, start) = (self.shared.clone(), prefix.to_owned(), from);
            let page = self.blocking.run(move || shared.page(&prefix, &start, inclusive, PAGE)).await?;
            for (text, record) in &page.records {
                if let Some(key) = Key::decode(text) {
                    visit(&key, record);
                }
            }
            match page.next {
                Some(next) => from = next,
                None => return Ok(page.time),
            }
            inclusive = false;
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        self.blocking.run(move || shared.close()).await
    }
}

/// The right to write what waits. Thrown away unused, it takes its own commit with it.
#[derive(Debug)]
struct Turn {
    shared: Arc<Shared>,
    ticket: u64,
}

impl Turn {
    fn take(self) {
        while lock(&self.shared.queue).iter().any(|pending| pending.ticket == self.ticket) {
            self.shared.drain();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.shared.queue).retain(|pending| pending.ticket != self.ticket);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
