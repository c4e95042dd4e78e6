//! The memory store by itself: all or nothing, ends, bounds.

use bytes::Bytes;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{Moment, Mono};

use super::*;

fn key(n: usize) -> Key {
    Key::Meta(format!("k{n}").into())
}

fn put(n: usize, expected: Option<u64>, expires: Option<i64>) -> Change {
    Change::Put { key: key(n), expected, value: Bytes::from(format!("v{n}")), expires: expires.map(UnixMs) }
}

fn commit(store: &MemoryStore, changes: &[Change]) -> Commit {
    store.commit(changes, None, Durability::Relaxed).now_or_never().unwrap().unwrap().0
}

fn get(store: &MemoryStore, n: usize) -> Option<Record> {
    store.get(&[key(n)]).now_or_never().unwrap().unwrap().0.remove(0)
}

#[test]
fn all_or_nothing_and_versions_that_never_come_back() {
    let store = MemoryStore::new(Arc::new(VirtualClock::default()));
    let Commit::Done(first) = commit(&store, &[put(1, None, None), put(2, None, None)]) else { panic!() };
    let conflict = commit(&store, &[put(3, None, None), put(1, None, None)]);
    assert!(matches!(&conflict, Commit::Conflict(c) if c.len() == 1 && c[0].0 == key(1)), "{conflict:?}");
    assert_eq!(get(&store, 3), None);
    assert!(matches!(commit(&store, &[Change::Delete { key: key(1), expected: first }]), Commit::Done(_)));
    let Commit::Done(second) = commit(&store, &[put(1, None, None)]) else { panic!() };
    assert!(second > first);
    let stale = Change::Check { key: key(1), expected: Some(first) };
    assert!(matches!(commit(&store, &[stale]), Commit::Conflict(_)), "no old version after a delete");
}

#[test]
fn expired_is_absent_to_every_call() {
    let clock = VirtualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone()));
    let Commit::Done(version) = commit(&store, &[put(1, None, Some(10))]) else { panic!() };
    clock.advance(Duration::from_millis(9));
    assert!(get(&store, 1).is_some());
    clock.advance(Duration::from_millis(1));
    assert_eq!(get(&store, 1), None);
    assert!(matches!(commit(&store, &[put(1, Some(version), None)]), Commit::Conflict(_)));
    assert!(matches!(commit(&store, &[put(1, None, None)]), Commit::Done(_)));
    let changes = [put(9, None, None)];
    let late = store.commit(&changes, Some(UnixMs(9)), Durability::Relaxed).now_or_never();
    assert_eq!(late.unwrap().unwrap().0, Commit::TooLate);
}

/// Shows what it is told.
#[derive(Debug, Default)]
struct SetClock(Mutex<Moment>);

impl SetClock {
    fn set(&self, mono_ms: u64, wall: i64) {
        *self.0.lock().unwrap() = Moment { mono: Mono(mono_ms * 1_000_000), wall: UnixMs(wall) };
    }
}

impl Clock for SetClock {
    fn now(&self) -> Moment {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, _: Mono) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

#[test]
fn a_wall_clock_that_is_set_back_does_not_hold_up_what_ends() {
    let clock = Arc::new(SetClock::default());
    let store = MemoryStore::new(clock.clone());
    let hour = 3_600_000;
    clock.set(5, hour);
    commit(&store, &[put(1, None, Some(hour + 30_000))]);
    clock.set(1_005, 1_000);
    let time = |store: &MemoryStore| store.get(&[]).now_or_never().unwrap().unwrap().1;
    assert_eq!(time(&store), UnixMs(hour + 1_000));
    assert!(get(&store, 1).is_some());
    clock.set(30_005, 30_000);
    assert_eq!((get(&store, 1), time(&store)), (None, UnixMs(hour + 30_000)));
    clock.set(31_005, 2 * hour);
    assert_eq!(time(&store), UnixMs(2 * hour), "forward it is followed");
}

#[test]
fn it_is_bounded_and_what_has_no_end_is_never_dropped() {
    let clock = VirtualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone())).max_records(200);
    for n in 0..10 {
        commit(&store, &[put(n, None, None)]);
    }
    for n in 10..5_000 {
        let expires = i64::try_from(n).unwrap() + 1_000_000;
        // A shard may hold only endless records: then the store says that it is full.
        let _full = store.commit(&[put(n, None, Some(expires))], None, Durability::Relaxed).now_or_never();
    }
    assert!(store.usage().records <= 200, "{:?}", store.usage());
    assert!(store.usage().dropped > 4_000);
    assert!((0..10).all(|n| get(&store, n).is_some()));
    let mut seen = 0;
    store.scan("me/", &mut |_, _| seen += 1).now_or_never().unwrap().unwrap();
    assert_eq!(seen, store.usage().records);
}
