//! Trouble that only shows from inside: locks held by others, a full disk, company in a transaction.

use std::sync::atomic::AtomicU32;

use bytes::Bytes;
use futures::FutureExt;
use omniroute_core::Inline;
use omniroute_core::testing::VirtualClock;

use super::*;

/// A store in a folder of its own, whose calls run inline and block briefly.
fn open() -> (SqliteStore, PathBuf) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("omniroute-sqlite-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    let mut config = SqliteConfig::new(folder.join("s"));
    config.busy = Span::ms(20);
    let store = SqliteStore::open(config, Arc::new(VirtualClock::default()), Arc::new(Inline));
    (store.now_or_never().unwrap().unwrap(), folder)
}

fn put(n: u32, size: usize) -> Change {
    let value = Bytes::from(vec![b'v'; size]);
    Change::Put { key: Key::Meta(n.to_string().into()), expected: None, value, expires: None }
}

fn commit(store: &SqliteStore, changes: &[Change]) -> Result<Commit, StoreError> {
    store.commit(changes, None, Durability::Durable).now_or_never().unwrap().map(|(commit, _)| commit)
}

fn get(store: &SqliteStore, n: u32) -> Result<Option<Record>, StoreError> {
    let keys = [Key::Meta(n.to_string().into())];
    store.get(&keys).now_or_never().unwrap().map(|(mut records, _)| records.remove(0))
}

#[test]
fn a_file_that_another_process_keeps_locked_is_unavailable_and_still_readable() {
    let (store, folder) = open();
    commit(&store, &[put(1, 1)]).unwrap();
    let other = file::connect(&store.shared.config).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = commit(&store, &[put(2, 1)]).unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable(text) if text.ends_with("locked")), "{error}");
    assert!(get(&store, 1).unwrap().is_some());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(commit(&store, &[put(2, 1)]), Ok(Commit::Done(_))));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_full_disk_loses_nothing_and_is_recovered_from() {
    let (store, folder) = open();
    commit(&store, &[put(1, 1)]).unwrap();
    let pages = |count: u32| {
        let writer = lock(&store.shared.writer);
        writer.as_ref().unwrap().limit_pages(count);
    };
    pages(1);
    let error = commit(&store, &[put(2, 1), put(3, 100_000)]).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert_eq!(get(&store, 2).unwrap(), None, "half a commit");
    assert!(get(&store, 1).unwrap().is_some());
    pages(1 << 30);
    assert!(matches!(commit(&store, &[put(2, 1), put(3, 100_000)]), Ok(Commit::Done(_))));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Keeps jobs until it is told to run or drop them.
#[derive(Debug, Default)]
struct Held(Mutex<Vec<Job>>);

struct Job(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}

impl Offload for Held {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        lock(&self.0).push(Job(job));
    }
}

impl Held {
    fn take(&self) -> Vec<Job> {
        std::mem::take(&mut *lock(&self.0))
    }
}

#[test]
fn commits_that_wait_share_a_transaction_and_dropped_ones_never_happen() {
    let (store, folder) = open();
    let held = Arc::new(Held::default());
    let blocking = Blocking::new(held.clone(), std::time::Duration::ZERO).unwrap();
    drop(held.take());
    let store = SqliteStore { shared: store.shared.clone(), blocking };
    let changes: Vec<[Change; 1]> = (0..200).map(|n| [put(n, 1)]).collect();
    let mut calls: Vec<_> =
        changes.iter().map(|change| store.commit(change, None, Durability::Relaxed)).collect();
    for call in &mut calls {
        assert!(call.now_or_never().is_none());
    }
    // One caller goes away, one job is thrown away by the offload; the last job writes for all the others.
    drop(calls.remove(7));
    let mut jobs = held.take();
    drop(jobs.remove(9));
    let last = jobs.pop().unwrap();
    last.0();
    let outcomes: Vec<_> = calls.iter_mut().map(|call| call.now_or_never()).collect();
    assert_eq!(
        outcomes.iter().filter(|outcome| matches!(outcome, Some(Ok((Commit::Done(_), _))))).count(),
        198
    );
    assert_eq!(outcomes[8], Some(Err(blocking::dropped())));
    drop((calls, jobs));

    let (inline, _) = (Blocking::new(Arc::new(Inline), std::time::Duration::ZERO).unwrap(), ());
    let store = SqliteStore { shared: store.shared.clone(), blocking: inline };
    for n in [7, 9] {
        assert_eq!(get(&store, n).unwrap(), None, "{n}");
    }
    assert!(get(&store, 8).unwrap().is_some());
    std::fs::remove_dir_all(folder).unwrap();
}
