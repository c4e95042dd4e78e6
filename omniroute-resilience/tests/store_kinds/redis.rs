//! What is special to a server: it may be gone, frozen, slow, or back without its memory.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::{
    Change, Clock, Commit, ConnectionId, Durability, Inline, Key, ProviderId, QuotaWindow, Record,
    ResilienceStore, StoreError, Unit, UnixMs,
};
use omniroute_resilience::{Join, Joined, RedisConfig, RedisStore, Span};

use crate::clocks::SetClock;
use crate::server::{Memory, Server, slow_way_to};
use crate::support::{Pool, RealClock, pause};

fn key(n: u32) -> Key {
    Key::Meta(n.to_string().into())
}

fn put(key: Key, expected: Option<u64>, value: &str) -> Change {
    Change::Put { key, expected, value: Bytes::from(value.to_owned()), expires: None }
}

/// Patient: a busy machine must not look like a slow server.
fn config(url: String) -> RedisConfig {
    let mut config = RedisConfig::new(url);
    config.probe = Span::ms(20);
    (config.connect, config.command, config.queue) =
        (Span::seconds(10), Span::seconds(10), Span::seconds(10));
    config
}

/// With the limits that are the default.
fn hasty(url: String) -> RedisConfig {
    let mut config = RedisConfig::new(url);
    config.probe = Span::ms(20);
    config
}

/// Puts a new record even if the machine is busy. Gives its version.
fn put_at_last(store: &RedisStore, key: &Key, value: &str) -> u64 {
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

fn open(config: RedisConfig) -> RedisStore {
    block_on(RedisStore::open(config, RealClock::new(), Pool::new(4))).unwrap()
}

fn commit(store: &RedisStore, changes: &[Change]) -> Result<Commit, StoreError> {
    block_on(store.commit(changes, None, Durability::Relaxed)).map(|(commit, _)| commit)
}

fn done(store: &RedisStore, changes: &[Change]) -> u64 {
    match commit(store, changes) {
        Ok(Commit::Done(version)) => version,
        other => panic!("{other:?}"),
    }
}

fn get(store: &RedisStore, key: &Key) -> Result<Option<Record>, StoreError> {
    block_on(store.get(std::slice::from_ref(key))).map(|(mut records, _)| records.remove(0))
}

fn value(store: &RedisStore, key: &Key) -> Option<String> {
    let record = get(store, key).unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

/// Calls until the store is connected, or apart.
fn until_connected(store: &RedisStore, wanted: bool) {
    for _ in 0..2_000 {
        let _ = get(store, &key(0));
        if store.health().connected == wanted {
            return;
        }
        pause(Duration::from_millis(5));
    }
    panic!("still not connected = {wanted}: {:?}", store.health());
}

/// Lists of words, joined as sets.
#[derive(Debug)]
struct Words;
impl Join for Words {
    fn join(&self, _: &Key, a: &Joined, b: &Joined) -> Joined {
        let words = |joined: &Joined| String::from_utf8(joined.value.to_vec()).unwrap();
        let (a_words, b_words) = (words(a), words(b));
        let all: std::collections::BTreeSet<&str> = a_words.split(' ').chain(b_words.split(' ')).collect();
        let all: Vec<&str> = all.into_iter().collect();
        Joined { expires: a.expires.max(b.expires), value: Bytes::from(all.join(" ")) }
    }
}

#[test]
fn p24_a_server_that_forgot_the_script_is_sent_its_text() {
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
fn p24_a_server_that_forbids_scripts_is_named_and_lived_without() {
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
fn p24_it_starts_without_a_server_and_joins_it_later() {
    let Some(mut server) = Server::start(Memory::Forgets) else { return };
    server.kill();
    let store = open(config(server.url()));
    assert!(!store.health().connected);
    let version = done(&store, &[put(key(1), None, "apart")]);
    assert_eq!(version % 2, 1);
    assert_eq!((value(&store, &key(1)).as_deref(), store.health().unsettled), (Some("apart"), 1));
    server.restart();
    until_connected(&store, true);
    assert_eq!((value(&store, &key(1)).as_deref(), store.health().unsettled), (Some("apart"), 0));
    let stale = commit(&store, &[put(key(1), Some(version), "x")]).unwrap();
    assert!(matches!(stale, Commit::Conflict(_)), "versions from apart never count again");
    assert_eq!(value(&open(config(server.url())), &key(1)).as_deref(), Some("apart"));
}

#[test]
fn processes_that_were_apart_are_joined() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let open = || {
        let config = config(server.url());
        block_on(RedisStore::open_with(config, RealClock::new(), Pool::new(4), Arc::new(Words))).unwrap()
    };
    let (one, two) = (open(), open());
    let start = done(&one, &[put(key(0), None, "start"), put(key(9), None, "gone")]);
    assert_eq!(
        (value(&two, &key(0)).as_deref(), value(&two, &key(9)).as_deref()),
        (Some("start"), Some("gone"))
    );
    server.kill();
    for store in [&one, &two] {
        until_connected(store, false);
    }
    done(&one, &[put(key(0), Some(start), "one start"), Change::Delete { key: key(9), expected: start }]);
    done(&two, &[put(key(0), Some(start), "start two")]);
    done(&two, &[put(key(2), None, "only two")]);
    server.restart();
    for store in [&one, &two] {
        until_connected(store, true);
    }
    for store in [&one, &two] {
        assert_eq!(value(store, &key(0)).as_deref(), Some("one start two"));
        assert_eq!(value(store, &key(2)).as_deref(), Some("only two"));
        assert_eq!(value(store, &key(9)), None);
        assert_eq!((store.health().unsettled, store.health().rebirths), (0, 0));
    }
}

#[test]
fn leases_and_money_fail_closed_while_apart() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let store = open(config(server.url()));
    let connection = Key::LeaseConnection(ProviderId::new("p"), ConnectionId::new("c"));
    let owner = Key::LeaseOwner([1; 32]);
    let held = done(&store, &[put(connection.clone(), None, "held"), put(owner.clone(), None, "held")]);
    server.kill();
    until_connected(&store, false);
    let free = Key::LeaseConnection(ProviderId::new("p"), ConnectionId::new("free"));
    let money = Key::Quota { pool: "p".into(), unit: Unit::Usd, window: QuotaWindow::Day, model: None };
    let tokens = Key::Quota { pool: "p".into(), unit: Unit::Tokens, window: QuotaWindow::Day, model: None };
    let check = |key: &Key, expected| Change::Check { key: key.clone(), expected };
    for refused in [
        put(free.clone(), None, "x"),
        put(connection.clone(), Some(held), "x"),
        Change::Delete { key: connection.clone(), expected: held },
        check(&connection, Some(held)),
        check(&owner, Some(held)),
        put(Key::LeaseFence, None, "1"),
        put(money, None, "1"),
    ] {
        assert!(
            matches!(commit(&store, std::slice::from_ref(&refused)), Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }
    assert!(matches!(get(&store, &owner), Err(StoreError::Unavailable(_))));
    assert_eq!(value(&store, &connection).as_deref(), Some("held"), "others keep off");
    done(&store, &[check(&free, None), put(tokens, None, "1")]);
    assert!(matches!(commit(&store, &[check(&connection, None)]), Ok(Commit::Conflict(_))));
    assert!(!store.traits().durable);
}

#[test]
fn without_fallback_calls_fail_at_once_until_it_is_back() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let mut config = config(server.url());
    config.fallback = false;
    let store = open(config);
    done(&store, &[put(key(0), None, "v")]);
    server.kill();
    until_connected(&store, false);
    assert!(matches!(get(&store, &key(0)), Err(StoreError::Unavailable(_))));
    assert!(matches!(commit(&store, &[put(key(1), None, "v")]), Err(StoreError::Unavailable(_))));
    server.restart();
    until_connected(&store, true);
    assert_eq!(value(&store, &key(0)).as_deref(), Some("v"));
    assert_eq!(value(&store, &key(1)), None);
}

#[test]
fn a_frozen_server_is_given_up_and_taken_back() {
    let Some(server) = Server::start(Memory::Keeps) else { return };
    let store = open(hasty(server.url()));
    let version = put_at_last(&store, &key(0), "before");
    server.freeze();
    let clock = RealClock::new();
    let (mut calls, mut longest) = (0_u32, Duration::ZERO);
    while store.health().connected {
        let before = clock.now().mono;
        let _ = get(&store, &key(0));
        longest = longest.max(clock.now().mono.since(before));
        calls += 1;
        assert!(calls < 1_000, "never given up");
    }
    println!("frozen: {calls} calls until it was given up, the longest took {} ms", longest.as_millis());
    assert_eq!(value(&store, &key(0)).as_deref(), Some("before"), "known ones stay in force");
    done(&store, &[put(key(0), Some(version), "meanwhile")]);
    let before = clock.now().mono;
    for _ in 0..1_000 {
        assert_eq!(value(&store, &key(0)).as_deref(), Some("meanwhile"));
    }
    println!("apart: {} us a call", clock.now().mono.since(before).as_micros() / 1_000);
    // Dropped at every poll while nothing answers: nothing stays behind that would stop it from coming back.
    for polls in 0..4 {
        poll_and_drop(store.get(&[key(0)]), polls);
        poll_and_drop(store.commit(&[put(key(50 + polls), None, "v")], None, Durability::Relaxed), polls);
    }
    server.thaw();
    let before = clock.now().mono;
    until_connected(&store, true);
    println!("back after {} ms", clock.now().mono.since(before).as_millis());
    assert_eq!(value(&open(config(server.url())), &key(0)).as_deref(), Some("meanwhile"));
}

#[test]
fn calls_dropped_while_the_server_is_frozen_free_their_connections() {
    let Some(server) = Server::start(Memory::Keeps) else { return };
    let store = open(hasty(server.url()));
    put_at_last(&store, &key(0), "v");
    server.freeze();
    for polls in (0..6).chain(0..6) {
        poll_and_drop(store.get(&[key(0)]), polls);
        let changes = [put(key(100), None, "a"), put(key(101), None, "a")];
        poll_and_drop(store.commit(&changes, None, Durability::Relaxed), polls);
    }
    server.thaw();
    until_connected(&store, true);
    let found = (0..1_000).find_map(|_| {
        pause(Duration::from_millis(5));
        block_on(store.get(&[key(0), key(100), key(101)])).ok()
    });
    let (records, _) = found.unwrap();
    assert!(records[0].is_some());
    assert_eq!(records[1], records[2], "both or none");
}

fn poll_and_drop(future: impl Future, polls: u32) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        if matches!(future.as_mut().poll(&mut context), Poll::Ready(_)) {
            return;
        }
    }
}

#[test]
fn p24_a_slow_server_is_not_given_up() {
    let Some(server) = Server::start(Memory::Forgets) else { return };
    let mut config = hasty(format!("redis://127.0.0.1:{}/", slow_way_to(server.port)));
    // Answers take 5 to 40 ms; what this machine adds is not the subject.
    config.command = Span::ms(500);
    config.connect = Span::seconds(2);
    let store = open(config);
    let mut expected = None;
    for n in 0..30 {
        expected = Some(done(&store, &[put(key(0), expected, &n.to_string())]));
    }
    assert_eq!(value(&store, &key(0)).as_deref(), Some("29"));
    assert_eq!((store.health().outages, store.health().connected), (0, true));
}

#[test]
fn a_server_that_lost_its_memory_is_told_what_is_known() {
    let Some(mut server) = Server::start(Memory::Forgets) else { return };
    let store = open(config(server.url()));
    let owner = Key::LeaseOwner([1; 32]);
    let last = done(
        &store,
        &[put(key(0), None, "known"), put(owner.clone(), None, "me"), put(Key::LeaseFence, None, "41")],
    );
    server.kill();
    server.restart();
    // The first calls meet dead connections, then a store that is not the one they know.
    until_connected(&store, false);
    until_connected(&store, true);
    assert_eq!(store.health().rebirths, 1);
    let fresh = open(config(server.url()));
    assert_eq!(value(&fresh, &key(0)).as_deref(), Some("known"));
    assert_eq!(value(&fresh, &Key::LeaseFence).as_deref(), Some("41"), "fences go on");
    assert_eq!(value(&fresh, &owner), None, "owners acquire again");
    assert!(done(&fresh, &[put(key(1), None, "v")]) > last, "versions go on");
}

#[test]
fn closing_tells_what_is_left() {
    let Some(mut server) = Server::start(Memory::Keeps) else { return };
    let mut slow_probe = config(server.url());
    slow_probe.probe = Span::minutes(1);
    let store = open(slow_probe);
    server.kill();
    until_connected(&store, false);
    done(&store, &[put(key(1), None, "apart")]);
    // The probe that was due at once must have failed before the server is back.
    pause(Duration::from_millis(300));
    server.restart();
    block_on(store.close()).unwrap();
    assert_eq!(get(&store, &key(1)), Err(StoreError::Unavailable("the store is closed".to_owned())));
    assert_eq!(value(&open(config(server.url())), &key(1)).as_deref(), Some("apart"));
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
fn p40_the_script_keeps_the_same_rule_of_time_as_files() {
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
