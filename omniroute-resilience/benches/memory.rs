//! How many bytes a million of everything takes, counted at the allocator: `cargo bench -p omniroute-resilience`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    Change, ConnectionId, Durability, Failure, FailureKind, Key, LockScope, ModelId, Moment, ProviderId,
    ResilienceStore, Scope, Target, UnixMs,
};
use omniroute_resilience::{AdmitContext, Class, ConnectionSpec, Handle, MemoryStore, Resilience};

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
    let clock = Arc::new(VirtualClock::at(UnixMs(1_800_000_000_000)));
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

/// A million connections that rest and a million models that are locked, as reports leave them: records in the
/// store and rows in the process together.
fn whole() -> Resilience {
    let resilience = rows();
    let cx = AdmitContext::default();
    for n in 0..COUNT {
        let target = Target::new("openai", format!("connection-{n}"), "gpt-large");
        let picks: Vec<Handle> = resilience.register(&[target]).into_iter().flatten().collect();
        let permits = [0, 1].map(|_| block_on(resilience.admit(&picks, &cx)).expect("healthy"));
        let failures = [
            (FailureKind::ModelUnavailable, Scope::Model, 404),
            (FailureKind::RateLimited, Scope::Connection, 429),
        ];
        for (permit, (kind, scope, status)) in permits.into_iter().zip(failures) {
            let mut outcome = permit.outcome(Moment::default());
            let mut failure = Failure::new(kind, scope, "x");
            failure.status = Some(status);
            outcome.failure = Some(failure);
            block_on(permit.report(outcome));
        }
    }
    assert_eq!(resilience.health().connections.len(), 1_000, "as many as it shows");
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
    megabytes("both, as 2 M reports of failures leave them", whole);
}
