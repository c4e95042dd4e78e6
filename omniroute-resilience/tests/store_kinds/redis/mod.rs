//! What is special to a server: it may be gone, frozen, slow, or back without its memory.

mod apart;
mod calls;
mod processes;

use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::{Change, Commit, Durability, Key, Record, ResilienceStore, StoreError};
use omniroute_resilience::{RedisConfig, RedisStore, Span};

use crate::support::{Pool, RealClock, pause};

pub(super) fn key(n: u32) -> Key {
    Key::Meta(n.to_string().into())
}

pub(super) fn put(key: Key, expected: Option<u64>, value: &str) -> Change {
    Change::Put { key, expected, value: Bytes::from(value.to_owned()), expires: None }
}

/// Patient: a busy machine must not look like a slow server.
pub(super) fn config(url: String) -> RedisConfig {
    let mut config = RedisConfig::new(url);
    config.probe = Span::ms(20);
    (config.connect, config.command, config.queue) =
        (Span::seconds(10), Span::seconds(10), Span::seconds(10));
    config
}

/// With the limits that are the default.
pub(super) fn hasty(url: String) -> RedisConfig {
    let mut config = RedisConfig::new(url);
    config.probe = Span::ms(20);
    config
}

/// Puts a new record even if the machine is busy. Gives its version.
pub(super) fn put_at_last(store: &RedisStore, key: &Key, value: &str) -> u64 {
    for _ in 0..1_000 {
        let _ = commit(store, &[put(key.clone(), None, value)]);
        if let Ok(Some(record)) = get(store, key)
            && store.health().connected
            && store.health().unsettled == 0
        {
            return record.version;
        }
        pause(Duration::from_millis(5));
    }
    panic!("the record cannot be put: {:?}", store.health());
}

pub(super) fn open(config: RedisConfig) -> RedisStore {
    block_on(RedisStore::open(config, RealClock::new(), Pool::new(4))).unwrap()
}

pub(super) fn commit(store: &RedisStore, changes: &[Change]) -> Result<Commit, StoreError> {
    block_on(store.commit(changes, None, Durability::Relaxed)).map(|(commit, _)| commit)
}

pub(super) fn done(store: &RedisStore, changes: &[Change]) -> u64 {
    match commit(store, changes) {
        Ok(Commit::Done(version)) => version,
        other => panic!("{other:?}"),
    }
}

pub(super) fn get(store: &RedisStore, key: &Key) -> Result<Option<Record>, StoreError> {
    block_on(store.get(std::slice::from_ref(key))).map(|(mut records, _)| records.remove(0))
}

pub(super) fn value(store: &RedisStore, key: &Key) -> Option<String> {
    let record = get(store, key).unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

/// Calls until the store is connected, or apart.
pub(super) fn until_connected(store: &RedisStore, wanted: bool) {
    for _ in 0..2_000 {
        let _ = get(store, &key(0));
        if store.health().connected == wanted {
            return;
        }
        pause(Duration::from_millis(5));
    }
    panic!("still not connected = {wanted}: {:?}", store.health());
}
