//! What a call of each store costs: `cargo bench -p omniroute-resilience --features store-sqlite,store-redis
//! --bench stores`, with `-- --smoke` only to see that it runs.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a report for people; a failure shall stop it")]

#[path = "../tests/store_kinds/server.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod server;
#[path = "../tests/store_kinds/support.rs"]
mod support;

use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;
use futures::future::join_all;
use omniroute_core::{Change, Clock, Commit, ConnectionId, Durability, Key, ProviderId, ResilienceStore};
use omniroute_resilience::{MemoryStore, RedisConfig, RedisStore, Span, SqliteConfig, SqliteStore};

use support::{Folder, Pool, RealClock};

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--smoke") { 2 } else { 500 };
    println!("microseconds: median, 99 of 100, worst of {rounds}; then calls a second");
    let folder = Folder::new();
    let clock = RealClock::new();
    let pool = Pool::new(4);
    let sqlite = SqliteStore::open(SqliteConfig::new(folder.path().join("s")), clock.clone(), pool.clone());
    let mut stores: Vec<Arc<dyn ResilienceStore>> =
        vec![Arc::new(MemoryStore::new(clock.clone())), Arc::new(block_on(sqlite).unwrap())];
    let servers = [server::Memory::Forgets, server::Memory::Keeps].map(server::Server::start);
    for server in servers.iter().flatten() {
        let mut config = RedisConfig::new(server.url());
        // A busy disk must not end the measurement.
        (config.connect, config.command, config.queue) =
            (Span::seconds(10), Span::seconds(10), Span::seconds(10));
        config.durable = server.type_in("CONFIG GET appendonly").contains("yes");
        let store = RedisStore::open(config, clock.clone(), pool.clone());
        stores.push(Arc::new(block_on(store).unwrap()));
    }
    for store in &stores {
        measure(&**store, &*clock, rounds);
    }
}

fn key(n: u32) -> Key {
    Key::Connection(ProviderId::new("provider"), ConnectionId::new(format!("connection-{n}")))
}

fn measure(store: &dyn ResilienceStore, clock: &dyn Clock, rounds: u32) {
    let traits = store.traits();
    println!("\n{}{}", traits.name, if traits.durable { ", durable" } else { "" });
    let one = [key(0)];
    let twenty: Vec<Key> = (0..20).map(key).collect();
    let commit = async |n: u32, durability| {
        let mut expected = None;
        loop {
            let value = Bytes::from_static(&[7; 60]);
            let put = Change::Put { key: key(n), expected, value, expires: None };
            match store.commit(&[put], None, durability).await.unwrap().0 {
                Commit::Done(_) => return,
                Commit::Conflict(found) => expected = found[0].1.as_ref().map(|record| record.version),
                Commit::TooLate => {}
            }
        }
    };
    for n in 0..20 {
        block_on(commit(n, Durability::Relaxed));
    }
    let time = |name: &str, calls: u32, act: &dyn Fn(u32)| {
        let mut all: Vec<u128> = (0..rounds)
            .map(|n| {
                let start = clock.now().mono;
                act(n);
                clock.now().mono.since(start).as_nanos()
            })
            .collect();
        all.sort_unstable();
        let at = |percent: usize| all[(all.len() - 1) * percent / 100] / 1_000;
        let each = all.iter().sum::<u128>().max(1);
        let rate = u128::from(calls) * u128::from(rounds) * 1_000_000_000 / each;
        println!("{name:32} {:>8} {:>8} {:>8} {rate:>10}", at(50), at(99), at(100));
    };
    time("get 1", 1, &|_| drop(block_on(store.get(&one)).unwrap()));
    time("get 20", 1, &|_| drop(block_on(store.get(&twenty)).unwrap()));
    time("new record", 1, &|n| block_on(commit(1_000 + n, Durability::Relaxed)));
    time("new record, durable", 1, &|n| block_on(commit(100_000 + n, Durability::Durable)));
    for (at_once, durability) in [
        (64, Durability::Relaxed),
        (512, Durability::Relaxed),
        (64, Durability::Durable),
        (512, Durability::Durable),
    ] {
        let word = if durability == Durability::Durable { ", durable" } else { "" };
        let first = 1_000_000 * at_once * (1 + u32::from(durability == Durability::Durable));
        time(&format!("{at_once} new records at once{word}"), at_once, &|n| {
            block_on(join_all((0..at_once).map(|m| commit(first + at_once * n + m, durability))));
        });
    }
}
