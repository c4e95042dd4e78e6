//! A store whose server is there: the script, the setup, names and time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::{Change, Clock, Commit, Durability, Inline, ResilienceStore, StoreError, UnixMs};
use omniroute_resilience::{RedisConfig, RedisStore};

use super::{config, done, get, key, open, put, until_connected, value};
use crate::clocks::SetClock;
use crate::server::{Memory, Server};
use crate::support::{Pool, RealClock};

#[test]
fn a_server_that_forgot_the_script_is_sent_its_text() {
    let Some(server) = Server::start(Memory::Forgets) else { return };
    let store = open(config(server.url()));
    let first = done(&store, &[put(key(1), None, "a")]);
    assert_eq!(server.type_in("SCRIPT FLUSH").trim(), "+OK");
    let second = done(&store, &[put(key(1), Some(first), "b")]);
    assert!(second > first && second.is_multiple_of(2));
    assert_eq!(value(&store, &key(1)).as_deref(), Some("b"));
    assert_eq!(store.health().faults, 0);
}

#[test]
fn a_server_that_forbids_scripts_is_named_and_lived_without() {
    let Some(server) = Server::start(Memory::Forgets) else { return };
    let store = open(config(server.url()));
    done(&store, &[put(key(0), None, "v")]);
    server.type_in("ACL SETUSER default -eval -evalsha");
    until_connected(&store, false);
    assert!(store.health().reason.is_some_and(|reason| reason.contains("eval")), "{:?}", store.health());
    assert_eq!(value(&store, &key(0)).as_deref(), Some("v"));
    server.type_in("ACL SETUSER default +eval +evalsha");
    until_connected(&store, true);
}

#[test]
fn values_that_are_not_allowed_are_named() {
    let open = |config, offload: Arc<dyn omniroute_core::Offload>| {
        block_on(RedisStore::open(config, RealClock::new(), offload)).map(|store| store.health()).unwrap_err()
    };
    let nowhere = || RedisConfig::new("redis://127.0.0.1:1/");
    assert!(matches!(open(nowhere(), Arc::new(Inline)), StoreError::Invalid(_)), "may block for 320 ms");
    let mut required = nowhere();
    required.require = true;
    assert!(matches!(open(required, Pool::new(1)), StoreError::Unavailable(_)));
    let Some(server) = Server::start(Memory::Forgets) else { return };
    server.type_in("CONFIG SET requirepass other");
    for url in [server.url(), format!("redis://:wrong@127.0.0.1:{}/", server.port)] {
        let error = open(config(url), Pool::new(1)).to_string();
        assert_eq!(error, "store is unavailable: redis: the server refuses this user or password");
    }
    let error = open(RedisConfig::new("http://user:secret@h"), Pool::new(1)).to_string();
    assert!(error.contains("store.redis.url") && !error.contains("secret"), "{error}");

    let Some(server) = Server::start(Memory::Forgets) else { return };
    let mut config = config(server.url());
    config.durable = true;
    let error = open(config, Pool::new(1)).to_string();
    assert!(error.ends_with("false, or the server's appendonly yes instead of no"), "{error}");
}

#[test]
fn namespaces_do_not_meet_and_scans_keep_to_theirs() {
    let Some(server) = Server::start(Memory::Forgets) else { return };
    let mut other = config(server.url());
    other.namespace = "other".to_owned();
    let (one, two) = (open(config(server.url())), open(other));
    done(&one, &[put(key(0), None, "one")]);
    done(&two, &[put(key(0), None, "two"), put(key(1), None, "two")]);
    assert_eq!(value(&one, &key(0)).as_deref(), Some("one"));
    let mut seen = 0;
    block_on(one.scan("", &mut |_, _| seen += 1)).unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn the_script_keeps_the_same_rule_of_time_as_files() {
    let Some(server) = Server::start(Memory::Forgets) else { return };
    let hour = 3_600_000_i64;
    for jump in [-hour, hour, -24 * hour, 24 * hour, -87_600 * hour, 87_600 * hour] {
        let clock = SetClock::new();
        let open = || {
            let mut config = config(server.url());
            config.namespace = format!("jump{jump}");
            config.test_clock = true;
            block_on(RedisStore::open(config, Arc::new(clock.clone()), Pool::new(2))).unwrap()
        };
        let time = |store: &RedisStore| block_on(store.get(&[])).unwrap().1;
        let store = open();
        let start = time(&store);
        let end = UnixMs(start.0 + 30_000);
        done(&store, &[Change::Put { key: key(1), expected: None, value: Bytes::new(), expires: Some(end) }]);
        clock.jump(jump);
        let fresh = open();
        assert!(time(&store) >= start && time(&fresh) >= start, "{jump}: time went back");
        assert_eq!(get(&fresh, &key(1)).unwrap().is_some(), jump < 0, "{jump}");
        let version = done(&fresh, &[put(key(2), None, "v")]);
        clock.jump(-jump);
        for _ in 0..62 {
            clock.pass(Duration::from_secs(10));
            time(&store);
        }
        assert!((time(&store).0 - clock.now().wall.0).abs() <= 60_000, "{jump}: {:?}", time(&store));
        assert_eq!(time(&fresh), time(&store), "{jump}: all agree");
        assert!(done(&store, &[put(key(3), None, "v")]) > version, "{jump}: versions grow all the same");
    }
}

#[test]
fn calls_of_one_moment_share_exchanges() {
    let Some(server) = Server::start(Memory::Forgets) else { return };
    let mut config = config(server.url());
    config.connections = 1;
    let store = open(config);
    let scripts = || {
        let text = server.type_in("INFO commandstats");
        let of = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("cmdstat_{name}:")));
            let calls = line.and_then(|line| line.split(['=', ',']).nth(1)?.parse::<u32>().ok());
            calls.unwrap_or(0)
        };
        of("evalsha") + of("eval")
    };
    let before = scripts();
    let puts = (0..100).map(|n| {
        let store = &store;
        async move {
            let change = put(key(n), None, "v");
            let (commit, _) = store.commit(&[change], None, Durability::Relaxed).await.unwrap();
            match commit {
                Commit::Done(version) => version,
                other => panic!("{other:?}"),
            }
        }
    });
    let mut versions = block_on(futures::future::join_all(puts));
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 100, "each has a version of its own");
    let asked = scripts() - before;
    assert!(asked <= 50, "{asked} exchanges for 100 calls");
    // One that cannot be done spoils nothing for the others.
    let (taken, free) = (put(key(0), None, "again"), put(key(200), None, "v"));
    server.type_in("SET omr:{default}:v1:me/77 nonsense");
    let damaged = key(77);
    let calls = async {
        let one = |change: Change| {
            let store = &store;
            async move { store.commit(&[change], None, Durability::Relaxed).await.map(|(commit, _)| commit) }
        };
        futures::join!(one(taken), one(free), one(put(damaged, None, "v")))
    };
    let (taken, free, damaged) = block_on(calls);
    assert!(matches!(taken, Ok(Commit::Conflict(_))) && matches!(free, Ok(Commit::Done(_))));
    assert_eq!(damaged, Err(StoreError::Corrupt("me/77".to_owned())));
}
