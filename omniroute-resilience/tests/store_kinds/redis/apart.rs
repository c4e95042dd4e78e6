//! A store whose server is away: it goes on alone, and is joined with the others later.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::{
    Change, Clock, Commit, ConnectionId, Durability, Key, ProviderId, QuotaWindow, ResilienceStore,
    StoreError, Unit,
};
use omniroute_resilience::{Join, Joined, RedisStore, Span};

use super::{commit, config, done, get, hasty, key, open, put, put_at_last, until_connected, value};
use crate::server::{Memory, Server, slow_way_to};
use crate::support::{Pool, RealClock, pause};

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
fn it_starts_without_a_server_and_joins_it_later() {
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
fn a_slow_server_is_not_given_up() {
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
