//! Blobs in an SQLite file: they outlast the process, and several processes may share them.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniroute_core::{BlobError, BlobFacts, BlobId, BlobLimits, BlobStore, Held, Principal, UnixMs};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};

/// In the header of the file, so that no other program's file is taken for ours.
const APPLICATION: i32 = 0x6f6d_7262;
/// The file's `user_version`.
const SCHEMA: i32 = 1;
/// Addresses remembered after their content has gone.
const MAX_REMEMBERED: i64 = 20_000;
/// Between two sweeps of what is too old, in told time.
const SWEEP_MS: i64 = 60_000;

const CREATE: &str = "
    CREATE TABLE blobs (
        principal TEXT NOT NULL,
        id        BLOB NOT NULL,
        content   BLOB,
        bytes     INTEGER NOT NULL,
        kept      INTEGER NOT NULL,
        used      INTEGER NOT NULL,
        stamp     INTEGER NOT NULL,
        PRIMARY KEY (principal, id)
    ) STRICT;
    CREATE INDEX blobs_room ON blobs (principal, stamp, bytes) WHERE content IS NOT NULL;
    CREATE INDEX blobs_order ON blobs (stamp);
";

/// Blobs in a file, within [`BlobLimits`].
///
/// # Behavior
/// - What is put is there after a crash of the process. A crash of the machine may lose the last ones, never damage
///   the file.
/// - The file is readable for this user only (0600), folders that are made are, too (0700). What is removed is
///   overwritten.
/// - Every call blocks for the time of a read or write of the file; others wait for at most 5 s.
pub struct SqliteBlobs {
    path: PathBuf,
    limits: BlobLimits,
    connection: Mutex<Connection>,
    now: AtomicI64,
    swept: AtomicI64,
}

/// What the file has under an address.
struct Row {
    /// None if it has gone.
    content: Option<Vec<u8>>,
    kept: i64,
    used: i64,
}

impl fmt::Debug for SqliteBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteBlobs")
            .field("path", &self.path)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl SqliteBlobs {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// [`BlobError::Failed`] if it cannot be made or read, is damaged, belongs to another program or was written by a
    /// newer version.
    pub fn open(path: impl Into<PathBuf>, limits: BlobLimits) -> Result<SqliteBlobs, BlobError> {
        let path = path.into();
        let cannot = |error: io::Error| failed(&path, &error.kind().to_string());
        let connection = match made(&path).map_err(cannot)? {
            true => connect(&path).map_err(|error| told(&path, &error))?,
            false => {
                // Nothing of another program's file is changed, not even who may read it.
                let connection = connect(&path).map_err(|error| told(&path, &error))?;
                ours(&path, &connection)?;
                private(&path).map_err(cannot)?;
                connection
            }
        };
        prepare(&connection).map_err(|error| told(&path, &error))?;
        let store = SqliteBlobs {
            path,
            limits,
            connection: Mutex::new(connection),
            now: AtomicI64::new(0),
            swept: AtomicI64::new(0),
        };
        store.set_up()?;
        Ok(store)
    }

    fn set_up(&self) -> Result<(), BlobError> {
        let told = |error: rusqlite::Error| told(&self.path, &error);
        let mut connection = self.lock();
        // Of two processes that make the file the second one waits here and then finds it made.
        let change = connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(told)?;
        if ours(&self.path, &change)? == Is::Empty {
            change.execute_batch(CREATE).map_err(told)?;
            change.pragma_update(None, "application_id", APPLICATION).map_err(told)?;
            change.pragma_update(None, "user_version", SCHEMA).map_err(told)?;
        }
        change.commit().map_err(told)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Blobs that were used before this are too old.
    fn end(&self) -> i64 {
        self.now().saturating_sub(i64::try_from(self.limits.ttl_ms).unwrap_or(i64::MAX))
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, BlobError> {
        let mut connection = self.lock();
        let done = connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|change| {
            let out = work(&change)?;
            change.commit()?;
            Ok(out)
        });
        done.map_err(|error| told(&self.path, &error))
    }

    fn row(&self, principal: &Principal, id: BlobId) -> Result<Option<Row>, BlobError> {
        let connection = self.lock();
        let found = connection
            .prepare_cached("SELECT content, kept, used FROM blobs WHERE principal = ?1 AND id = ?2")
            .and_then(|mut query| {
                let row = |row: &rusqlite::Row<'_>| {
                    Ok(Row { content: row.get(0)?, kept: row.get(1)?, used: row.get(2)? })
                };
                query.query_row(params![principal.as_str(), key(id)], row).optional()
            });
        found.map_err(|error| told(&self.path, &error))
    }
}

impl BlobStore for SqliteBlobs {
    fn put(&self, principal: &Principal, content: &[u8]) -> Result<BlobId, BlobError> {
        let limit = self.limits.largest();
        if content.len() > limit {
            return Err(BlobError::TooLarge { bytes: content.len(), limit });
        }
        let (id, now) = (BlobId::of(content), self.now());
        let taken = self.write(|change| {
            let (name, key) = (principal.as_str(), key(id));
            let known: Option<Option<Vec<u8>>> = change
                .prepare_cached("SELECT content FROM blobs WHERE principal = ?1 AND id = ?2")?
                .query_row(params![name, key], |row| row.get(0))
                .optional()?;
            if known.flatten().is_some_and(|known| known != content) {
                return Ok(true);
            }
            change
                .prepare_cached(
                    "INSERT INTO blobs (principal, id, content, bytes, kept, used, stamp)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?5, (SELECT ifnull(max(stamp), 0) + 1 FROM blobs))
                     ON CONFLICT (principal, id) DO UPDATE SET content = excluded.content, bytes = excluded.bytes,
                         kept = excluded.kept, used = excluded.used, stamp = excluded.stamp",
                )?
                .execute(params![name, key, content, content.len() as i64, now])?;
            make_room(change, name, &key, &self.limits)?;
            Ok(false)
        })?;
        if taken { Err(BlobError::Taken(id)) } else { Ok(id) }
    }

    fn get(&self, principal: &Principal, id: BlobId) -> Result<Option<Arc<[u8]>>, BlobError> {
        match self.look(principal, id)? {
            Held::Here { content, .. } => Ok(Some(content)),
            _ => Ok(None),
        }
    }

    fn look(&self, principal: &Principal, id: BlobId) -> Result<Held, BlobError> {
        Ok(match self.row(principal, id)? {
            None => Held::Never,
            Some(Row { content: Some(content), kept, used }) if used == 0 || used >= self.end() => {
                Held::Here { content: content.into(), kept: UnixMs(kept) }
            }
            Some(_) => Held::Gone,
        })
    }

    fn touch(&self, principal: &Principal, ids: &[BlobId]) -> Result<Vec<BlobId>, BlobError> {
        let (now, end) = (self.now(), self.end());
        self.write(|change| {
            let mut update = change.prepare_cached(
                "UPDATE blobs SET used = ?3, stamp = (SELECT max(stamp) + 1 FROM blobs)
                 WHERE principal = ?1 AND id = ?2 AND content IS NOT NULL AND (used = 0 OR used >= ?4)",
            )?;
            let mut missing = Vec::new();
            for id in ids {
                if update.execute(params![principal.as_str(), key(*id), now, end])? == 0 {
                    missing.push(*id);
                }
            }
            Ok(missing)
        })
    }

    fn ttl_ms(&self) -> Option<u64> {
        Some(self.limits.ttl_ms)
    }

    fn tick(&self, now: UnixMs) {
        self.now.fetch_max(now.0, Ordering::Relaxed);
        let swept = self.swept.load(Ordering::Relaxed);
        if now.0.saturating_sub(swept) < SWEEP_MS {
            return;
        }
        self.swept.fetch_max(now.0, Ordering::Relaxed);
        let end = self.end();
        // What cannot be swept now is swept later; readers do not see it in the meantime.
        let _ = self.write(|change| {
            change.execute(
                "UPDATE blobs SET content = NULL, bytes = 0 WHERE content IS NOT NULL AND used > 0 AND used < ?1",
                params![end],
            )?;
            change.execute(
                "DELETE FROM blobs WHERE content IS NULL AND stamp <= (SELECT max(stamp) FROM blobs) - ?1",
                params![MAX_REMEMBERED],
            )
        });
    }

    fn remove(&self, principal: &Principal, id: BlobId) -> Result<bool, BlobError> {
        self.write(|change| {
            let here: Option<bool> = change
                .prepare_cached("SELECT content IS NOT NULL FROM blobs WHERE principal = ?1 AND id = ?2")?
                .query_row(params![principal.as_str(), key(id)], |row| row.get(0))
                .optional()?;
            change.execute(
                "DELETE FROM blobs WHERE principal = ?1 AND id = ?2",
                params![principal.as_str(), key(id)],
            )?;
            Ok(here == Some(true))
        })
    }

    fn list(&self, principal: &Principal, limit: usize) -> Result<Vec<BlobFacts>, BlobError> {
        let (end, limit) = (self.end(), i64::try_from(limit).unwrap_or(i64::MAX));
        let connection = self.lock();
        let listed = connection
            .prepare_cached(
                "SELECT id, bytes, kept FROM blobs WHERE principal = ?1 AND content IS NOT NULL
                 AND (used = 0 OR used >= ?2) ORDER BY stamp DESC LIMIT ?3",
            )
            .and_then(|mut query| {
                let rows = query.query_map(params![principal.as_str(), end, limit], |row| {
                    Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
                })?;
                rows.collect::<Result<Vec<_>, _>>()
            });
        let listed = listed.map_err(|error| told(&self.path, &error))?;
        let facts = |(id, bytes, kept): (Vec<u8>, i64, i64)| {
            let id = BlobId::parse(std::str::from_utf8(&id).ok()?)?;
            Some(BlobFacts::new(id, u64::try_from(bytes).unwrap_or(0), UnixMs(kept)))
        };
        Ok(listed.into_iter().filter_map(facts).collect())
    }
}

/// Lets go of what was not used for longest: first of this principal, then of anybody; never of `newest`.
fn make_room(
    change: &Transaction<'_>,
    principal: &str,
    newest: &[u8],
    limits: &BlobLimits,
) -> Result<(), rusqlite::Error> {
    let room = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    let over = || -> Result<(bool, bool), rusqlite::Error> {
        let own: i64 = change
            .prepare_cached(
                "SELECT ifnull(sum(bytes), 0) FROM blobs WHERE principal = ?1 AND content IS NOT NULL",
            )?
            .query_row(params![principal], |row| row.get(0))?;
        let (all, count): (i64, i64) = change
            .prepare_cached("SELECT ifnull(sum(bytes), 0), count(*) FROM blobs WHERE content IS NOT NULL")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((own > room(limits.principal_bytes), all > room(limits.bytes) || count > room(limits.entries)))
    };
    let mut own_left = true;
    loop {
        let (own, all) = over()?;
        if !own && !all {
            return Ok(());
        }
        let gone = if own_left {
            change
                .prepare_cached(
                    "UPDATE blobs SET content = NULL, bytes = 0 WHERE rowid = (SELECT rowid FROM blobs
                     WHERE principal = ?1 AND id <> ?2 AND content IS NOT NULL ORDER BY stamp LIMIT 1)",
                )?
                .execute(params![principal, newest])?
        } else {
            change
                .prepare_cached(
                    "UPDATE blobs SET content = NULL, bytes = 0 WHERE rowid = (SELECT rowid FROM blobs
                     WHERE NOT (principal = ?1 AND id = ?2) AND content IS NOT NULL ORDER BY stamp LIMIT 1)",
                )?
                .execute(params![principal, newest])?
        };
        match (gone, own_left) {
            (0, true) => own_left = false,
            (0, false) => return Ok(()),
            _ => {}
        }
    }
}

/// The address as it is written in the file: its hex digits.
fn key(id: BlobId) -> Vec<u8> {
    id.to_string().into_bytes()
}

/// What a file is that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Empty,
    Ours,
}

/// Whether the file is empty or ours. Only reads.
fn ours(path: &Path, connection: &Connection) -> Result<Is, BlobError> {
    let told = |error: rusqlite::Error| told(path, &error);
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, schema) =
        (number("application_id").map_err(told)?, number("user_version").map_err(told)?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(told)?;
    if application == 0 && schema == 0 && tables == 0 {
        Ok(Is::Empty)
    } else if application != APPLICATION {
        Err(failed(path, "it belongs to another program"))
    } else if schema > SCHEMA {
        Err(failed(path, &format!("it has schema {schema}, this version knows {SCHEMA}")))
    } else {
        Ok(Is::Ours)
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "secure_delete", true)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)
}

/// Makes the file, for this user only, if it is missing; says whether it did. SQLite gives its side files the same
/// mode.
fn made(path: &Path) -> io::Result<bool> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(true),
        // It is opened to say why it cannot be: the database would only say that it cannot.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::OpenOptions::new().read(true).write(true).open(path).map(|_| false)
        }
        Err(error) => Err(error),
    }
}

/// Takes the right to read a file from everybody else.
#[cfg(unix)]
fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn private(_: &Path) -> io::Result<()> {
    Ok(())
}

fn failed(path: &Path, what: &str) -> BlobError {
    BlobError::Failed(format!("{}: {what}", path.display()))
}

fn told(path: &Path, error: &rusqlite::Error) -> BlobError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => failed(path, "the file is damaged"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            failed(path, "another process keeps it locked")
        }
        Some(code) => failed(path, &format!("sqlite says {code:?}")),
        None => failed(path, "a record cannot be read"),
    }
}
