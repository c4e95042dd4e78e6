//! Opening the file: private, really lockable, of a known schema, and not damaged.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use omniroute_core::{StoreError, UnixMs};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Damaged, SqliteConfig};

/// In the header of the file, so that no other program's file is taken for ours.
const APPLICATION: i32 = 0x6f6d_7273;
/// Steps from schema to schema. The number of steps done is the file's `user_version`.
const STEPS: &[&str] = &["
    CREATE TABLE kv (
        k       TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        expires INTEGER,
        value   BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX kv_expires ON kv (expires) WHERE expires IS NOT NULL;
    CREATE TABLE meta (
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL,
        high    INTEGER NOT NULL,
        behind  INTEGER,
        turns   INTEGER NOT NULL,
        lost    INTEGER NOT NULL
    ) STRICT;
"];

/// A file that is ready for use.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) identity: Option<Identity>,
    pub(super) lost: bool,
    pub(super) set_aside: Option<PathBuf>,
}

/// Which file a path names, to notice that somebody put another one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Identity> {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|facts| Identity(facts.dev(), facts.ino()))
    }

    #[cfg(not(unix))]
    pub(super) fn of(_: &Path) -> Option<Identity> {
        None
    }
}

pub(super) fn open(config: &SqliteConfig, wall: UnixMs) -> Result<Opened, StoreError> {
    let path = config.path.as_path();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder(folder).map_err(|error| io_told("create the folder of", path, &error))?;
    }
    // One process at a time opens, so that two of them do not set the same file aside.
    let guard = lock_file(path)?;
    let mut set_aside = None;
    let connection = match attempt(config, false) {
        Err(Trouble::Damaged(what)) => match config.damaged {
            Damaged::Refuse => {
                return Err(StoreError::Corrupt(format!("{} ({what})", path.display())));
            }
            Damaged::SetAside => {
                set_aside = Some(move_away(path, wall)?);
                attempt(config, true).map_err(|trouble| trouble.told(path))?
            }
        },
        other => other.map_err(|trouble| trouble.told(path))?,
    };
    let lost = connection
        .query_row("SELECT lost FROM meta", [], |row| row.get::<_, i64>(0))
        .map_err(|error| told(path, &error))?;
    drop(guard);
    Ok(Opened { connection, identity: Identity::of(path), lost: lost != 0, set_aside })
}

/// A further connection to a file that [`open`] has prepared.
pub(super) fn connect(config: &SqliteConfig) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&config.path, flags)?;
    connection.busy_timeout(config.busy.into())?;
    connection.set_prepared_statement_cache_capacity(16);
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// What SQLite says, for callers.
pub(super) fn told(path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt(format!("in {}", path.display()))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable(format!("another process keeps {} locked", path.display()))
        }
        Some(ErrorCode::TooBig) => StoreError::Invalid("a record is too big".to_owned()),
        _ => StoreError::Unavailable(format!("{}: {error}", path.display())),
    }
}

#[derive(Debug)]
enum Trouble {
    Damaged(String),
    Refused(StoreError),
    Sqlite(rusqlite::Error),
}

impl Trouble {
    fn told(self, path: &Path) -> StoreError {
        match self {
            Trouble::Damaged(what) => StoreError::Corrupt(format!("{} ({what})", path.display())),
            Trouble::Refused(error) => error,
            Trouble::Sqlite(error) => told(path, &error),
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Trouble::Damaged(error.to_string()),
            _ => Trouble::Sqlite(error),
        }
    }
}

fn attempt(config: &SqliteConfig, lost: bool) -> Result<Connection, Trouble> {
    let path = config.path.as_path();
    private_file(path, false).map_err(|error| Trouble::Refused(io_told("create", path, &error)))?;
    let mut connection = connect(config)?;
    let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let refused = |error| Err(Trouble::Refused(error));
    if application != APPLICATION && (application != 0 || tables > 0 || found != 0) {
        let message = format!("{} belongs to another program", path.display());
        return refused(StoreError::Invalid(message));
    }
    let (found, supported) = (u32::try_from(found).unwrap_or(0), u32::try_from(STEPS.len()).unwrap_or(0));
    if found > supported {
        return refused(StoreError::SchemaTooNew { found, supported });
    }
    if config.check && tables > 0 {
        let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(Trouble::Damaged(verdict));
        }
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return refused(StoreError::Unsupported("a write-ahead log at this place"));
    }
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    migrate(&mut connection, found, lost)?;
    Ok(connection)
}

/// Takes the file forward step by step, each step whole or not at all.
fn migrate(connection: &mut Connection, found: u32, lost: bool) -> Result<(), rusqlite::Error> {
    for (step, sql) in (0..).zip(STEPS).skip(found as usize) {
        connection.pragma_update(None, "synchronous", "FULL")?;
        let change = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)?;
        change.execute_batch(sql)?;
        if step == 0 {
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.execute("INSERT INTO meta VALUES (1, 0, ?1, NULL, 0, ?2)", (i64::MIN, lost))?;
        }
        change.pragma_update(None, "user_version", step + 1)?;
        change.commit()?;
    }
    Ok(())
}

fn io_told(act: &str, path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot {act} {}: {}", path.display(), error.kind()))
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The file, created if missing, for this user only. SQLite gives its side files the same mode.
fn private_file(path: &Path, append: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).append(append).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// Takes the lock of openers, and looks whether locks mean anything here.
fn lock_file(path: &Path) -> Result<File, StoreError> {
    let path = beside(path, ".lock");
    let told = |error: &io::Error| io_told("lock", &path, error);
    let held = private_file(&path, true).map_err(|error| told(&error))?;
    held.lock().map_err(|error| told(&error))?;
    let second = private_file(&path, true).map_err(|error| told(&error))?;
    match second.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Ok(held),
        Err(fs::TryLockError::Error(error)) => Err(told(&error)),
        Ok(()) => Err(StoreError::Unsupported("file locks at this place, perhaps a network file system")),
    }
}

/// Renames the file and its side files. Gives the new name of the file.
fn move_away(path: &Path, wall: UnixMs) -> Result<PathBuf, StoreError> {
    let told = |error: io::Error| io_told("set aside", path, &error);
    for n in 0..1_000 {
        let name = beside(path, &format!(".damaged-{}-{n}", wall.0));
        if name.exists() {
            continue;
        }
        fs::rename(path, &name).map_err(told)?;
        for side in ["-wal", "-shm"] {
            match fs::rename(beside(path, side), beside(&name, side)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
                _ => {}
            }
        }
        return Ok(name);
    }
    Err(StoreError::Unavailable(format!("too many damaged files beside {}", path.display())))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
