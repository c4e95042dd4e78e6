//! What is special to files: modes, damage, other programs, other processes, clocks that are set.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::{Change, Commit, Durability, Inline, Key, Record, ResilienceStore, StoreError, UnixMs};
use omniroute_resilience::{Damaged, Span, SqliteConfig, SqliteStore};

use crate::clocks::SetClock;
use crate::support::{Folder, Pool};

fn key(n: u32) -> Key {
    Key::Meta(n.to_string().into())
}

fn put(n: u32, expires: Option<UnixMs>) -> Change {
    Change::Put { key: key(n), expected: None, value: Bytes::from("v"), expires }
}

fn open_with(config: SqliteConfig, clock: &SetClock) -> Result<SqliteStore, StoreError> {
    block_on(SqliteStore::open(config, Arc::new(clock.clone()), Pool::new(2)))
}

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    open_with(SqliteConfig::new(path), &SetClock::new())
}

fn write(store: &SqliteStore, n: u32, expires: Option<UnixMs>) -> (Commit, UnixMs) {
    block_on(store.commit(&[put(n, expires)], None, Durability::Relaxed)).unwrap()
}

fn read(store: &SqliteStore, n: u32) -> (Option<Record>, UnixMs) {
    let (mut records, time) = block_on(store.get(&[key(n)])).unwrap();
    (records.remove(0), time)
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

#[cfg(unix)]
#[test]
fn files_and_folders_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let inner = folder.path().join("a").join("b");
    let path = inner.join("state.sqlite");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let store = open(&path).unwrap();
    write(&store, 1, None);
    assert_eq!((mode(&inner), mode(inner.parent().unwrap())), (0o700, 0o700));
    let files: Vec<PathBuf> = fs::read_dir(&inner).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "file, log, index, lock: {files:?}");
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    open(&path).unwrap();
    assert_eq!(mode(&path), 0o600, "a file that was open to others");
}

#[test]
fn records_outlast_the_store() {
    let folder = Folder::new();
    let path = folder.path().join("s");
    let store = open(&path).unwrap();
    assert!(store.traits().durable && store.traits().shared);
    let Commit::Done(first) = write(&store, 1, None).0 else { panic!() };
    block_on(store.close()).unwrap();
    let error = block_on(store.get(&[key(1)])).unwrap_err();
    assert_eq!(error, StoreError::Unavailable("the store is closed".to_owned()));
    let again = open(&path).unwrap();
    assert_eq!(read(&again, 1).0.unwrap().version, first);
    let Commit::Done(second) = write(&again, 2, None).0 else { panic!() };
    assert!(second > first);
}

#[test]
fn a_damaged_file_is_set_aside_and_leases_are_not_lost_in_silence() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 3] = [
        ("noise", |path| fs::write(path, "this is no database, not at all, but it is long enough").unwrap()),
        ("header", |path| overwrite(path, 0, b"XXXX")),
        ("pages", |path| overwrite(path, 4096, &[0xff; 8192])),
    ];
    for (name, damage) in damages {
        let folder = Folder::new();
        let path = folder.path().join("s");
        let store = open(&path).unwrap();
        (0..300).for_each(|n| drop(write(&store, n, None)));
        block_on(store.close()).unwrap();
        damage(&path);

        let mut config = SqliteConfig::new(&path);
        config.damaged = Damaged::Refuse;
        let refused = open_with(config, &SetClock::new()).unwrap_err();
        assert!(matches!(refused, StoreError::Corrupt(_)), "{name}: {refused}");

        let store = open(&path).unwrap();
        assert!(store.set_aside().is_some_and(Path::exists), "{name}");
        assert!(store.lost() && !store.traits().durable, "{name}");
        assert_eq!(read(&store, 1).0, None);
        let other = open(&path).unwrap();
        assert!(other.lost() && other.set_aside().is_none(), "{name}: other processes know");
        block_on(store.accept_loss()).unwrap();
        assert!(store.traits().durable);
        read(&other, 1);
        assert!(other.traits().durable, "{name}");
    }
}

#[test]
fn what_is_not_ours_is_not_touched() {
    let folder = Folder::new();
    let path = folder.path().join("s");
    block_on(open(&path).unwrap().close()).unwrap();
    // Offsets in the header of the file format: 60 user version, 68 application id.
    overwrite(&path, 60, &2_u32.to_be_bytes());
    let before = fs::read(&path).unwrap();
    assert_eq!(open(&path).unwrap_err(), StoreError::SchemaTooNew { found: 2, supported: 1 });
    overwrite(&path, 68, &7_u32.to_be_bytes());
    let error = open(&path).unwrap_err().to_string();
    assert!(error.ends_with("belongs to another program"), "{error}");
    overwrite(&path, 68, &before[68..72]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_was_replaced_is_not_written() {
    let folder = Folder::new();
    let path = folder.path().join("s");
    let store = open(&path).unwrap();
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    for found in [
        block_on(store.get(&[])).map(|_| ()),
        block_on(store.commit(&[], None, Durability::Relaxed)).map(|_| ()),
    ] {
        assert!(found.unwrap_err().to_string().ends_with("was replaced; open the store again"));
    }
}

#[test]
fn calls_that_may_block_long_do_not_run_inline() {
    let folder = Folder::new();
    let open = |busy| {
        let mut config = SqliteConfig::new(folder.path().join("s"));
        config.busy = busy;
        block_on(SqliteStore::open(config, Arc::new(SetClock::new()), Arc::new(Inline)))
    };
    assert!(matches!(open(Span::ms(51)), Err(StoreError::Invalid(_))));
    let store = open(Span::ms(50)).unwrap();
    assert!(matches!(write(&store, 1, None).0, Commit::Done(_)));
    let error = open(Span::ZERO).unwrap_err().to_string();
    assert!(error.ends_with("store.sqlite.busy = 0ms is not allowed: must be 1ms to 1min"), "{error}");
}

#[test]
fn a_call_that_names_a_key_twice_is_wrong() {
    let folder = Folder::new();
    let store = open(&folder.path().join("s")).unwrap();
    let twice = block_on(store.commit(&[put(1, None), put(1, None)], None, Durability::Relaxed));
    assert_eq!(twice, Err(StoreError::Invalid("a commit names me/1 twice".to_owned())));
}

#[test]
fn a_clock_that_was_set_costs_ten_minutes_at_most() {
    let hour = 3_600_000_i64;
    for jump in [-hour, hour, -24 * hour, 24 * hour, -87_600 * hour, 87_600 * hour] {
        let folder = Folder::new();
        let path = folder.path().join("s");
        let clock = SetClock::new();
        let store = open_with(SqliteConfig::new(&path), &clock).unwrap();
        let start = write(&store, 0, None).1;
        write(&store, 1, Some(UnixMs(start.0 + 30_000)));
        clock.jump(jump);
        // Another process, which has seen nothing yet.
        let fresh = open_with(SqliteConfig::new(&path), &clock).unwrap();
        assert!(read(&store, 1).1 >= start, "{jump}: time went back");
        assert!(read(&fresh, 1).1 >= start, "{jump}: time went back");
        assert_eq!(read(&fresh, 1).0.is_some(), jump < 0, "{jump}: passed is passed, not passed is not");
        // Only reads, and time comes back to the clock.
        for _ in 0..62 {
            clock.pass(Duration::from_secs(10));
            read(&fresh, 1);
        }
        assert!(
            (read(&fresh, 0).1.0 - clock_wall(&clock)).abs() <= 60_000,
            "{jump}: {:?}",
            read(&fresh, 0).1
        );
        assert_eq!(read(&store, 0).1, read(&fresh, 0).1, "{jump}: all agree");
        // And back again.
        clock.jump(-jump);
        for _ in 0..62 {
            clock.pass(Duration::from_secs(10));
            read(&store, 0);
        }
        let (now, after) = (clock_wall(&clock), read(&store, 0).1);
        assert!((after.0 - now).abs() <= 60_000, "{jump}: time is {after:?} at {now}");
        assert_eq!(read(&fresh, 0).1, after, "{jump}: all agree");
    }
}

fn clock_wall(clock: &SetClock) -> i64 {
    use omniroute_core::Clock;
    clock.now().wall.0
}

#[test]
fn many_processes_count_together() {
    if let Ok(path) = std::env::var("OMNIROUTE_STORE_COUNTER") {
        let store = block_on(SqliteStore::open(
            SqliteConfig::new(path),
            crate::support::RealClock::new(),
            Pool::new(2),
        ))
        .unwrap();
        (0..50).for_each(|_| count(&store));
        return;
    }
    let folder = Folder::new();
    let path = folder.path().join("s");
    let test = "sqlite::many_processes_count_together";
    let start = |_| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env("OMNIROUTE_STORE_COUNTER", &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..4).map(start).collect();
    for mut process in running {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(read(&open(&path).unwrap(), 0).0.unwrap().value, Bytes::from("200"));
}

fn count(store: &SqliteStore) {
    let mut old = read(store, 0).0;
    loop {
        let n: u32 =
            old.as_ref().map_or(0, |record| std::str::from_utf8(&record.value).unwrap().parse().unwrap());
        let put = Change::Put {
            key: key(0),
            expected: old.map(|record| record.version),
            value: Bytes::from((n + 1).to_string()),
            expires: None,
        };
        match block_on(store.commit(&[put], None, Durability::Relaxed)).unwrap().0 {
            Commit::Done(_) => return,
            Commit::Conflict(mut found) => old = found.remove(0).1,
            Commit::TooLate => panic!(),
        }
    }
}
