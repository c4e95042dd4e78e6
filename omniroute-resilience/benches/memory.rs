//! How many bytes a million of everything takes, counted at the allocator: `cargo bench -p omniroute-resilience`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    Change, ConnectionId, Durability, Key, LockScope, ModelId, ProviderId, ResilienceStore, Target, UnixMs,
};
use omniroute_resilience::{Class, ConnectionSpec, MemoryStore, Resilience};

const COUNT: usize = 1_000_000;

fn records() -> MemoryStore {
    let store = MemoryStore::new(Arc::new(VirtualClock::default()));
    let provider = ProviderId::new("openai");
    let model = ModelId::new("gpt-large");
    let put = |key: Key, bytes: usize| {
        let value = Bytes::from(vec![1; bytes]);
        let change = Change::Put { key, expected: None, value, expires: Some(UnixMs(1_900_000_000_000)) };
        block_on(store.commit(&[change], None, Durability::Relaxed)).expect("the memory store takes it");
    };
    for n in 0..COUNT {
        let connection = ConnectionId::new(format!("connection-{n}"));
        // The sizes of a resting connection's and a locked model's record.
        put(Key::Connection(provider.clone(), connection.clone()), 38);
        let scope = LockScope::Model(model.clone());
        put(Key::Lockout { provider: provider.clone(), connection: Some(connection), scope }, 36);
    }
    store
}

fn rows() -> Resilience {
    let clock = Arc::new(VirtualClock::default());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let resilience = Resilience::builder(store, clock).process(1).build().expect("defaults are valid");
    let specs: Vec<ConnectionSpec> =
        (0..COUNT).map(|n| ConnectionSpec::new("openai", format!("connection-{n}"), Class::ApiKey)).collect();
    resilience.configure(&specs);
    for spec in &specs {
        let target = Target::new("openai", spec.connection.as_str(), "gpt-large");
        resilience.register(&[target]);
    }
    resilience
}

fn megabytes<T>(what: &str, make: fn() -> T) {
    let mut kept = None;
    let info = allocation_counter::measure(|| kept = Some(make()));
    println!("{what}: {:.0} MB kept", info.bytes_current as f64 / 1e6);
    drop(kept);
}

fn main() {
    megabytes("memory store, 1 M connection records and 1 M lockout records", records);
    megabytes("rows of 1 M configured connections, each with a model", rows);
}
