//! Times of the memory store, printed and never asserted: `cargo bench -p omniroute-resilience`.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints and reads the real clock"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use futures::future::{BoxFuture, FutureExt};
use omniroute_core::{Clock, Failure, FailureKind, Moment, Mono, Scope, Target, UnixMs};
use omniroute_resilience::{AdmitContext, Class, Columns, ConnectionSpec, Handle, MemoryStore, Resilience};

#[derive(Debug)]
struct Real(Instant);

impl Clock for Real {
    fn now(&self) -> Moment {
        let passed = self.0.elapsed();
        Moment {
            mono: Mono(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)),
            wall: UnixMs(1_800_000_000_000 + i64::try_from(passed.as_millis()).unwrap_or(i64::MAX)),
        }
    }
    fn sleep_until(&self, _: Mono) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}

fn world(providers: usize, connections: usize) -> (Resilience, Vec<Handle>) {
    let clock: Arc<dyn Clock> = Arc::new(Real(Instant::now()));
    let store = Arc::new(MemoryStore::new(Arc::clone(&clock)));
    let resilience = Resilience::builder(store, clock).process(1).build().expect("defaults are valid");
    let specs: Vec<ConnectionSpec> = (0..connections)
        .map(|n| ConnectionSpec::new(format!("p{}", n % providers), format!("connection-{n}"), Class::ApiKey))
        .collect();
    resilience.configure(&specs);
    let targets: Vec<Target> = specs
        .iter()
        .map(|spec| Target::new(spec.provider.as_str(), spec.connection.as_str(), "model-large"))
        .collect();
    let handles = resilience.register(&targets).into_iter().flatten().collect();
    (resilience, handles)
}

/// Median and 99th percentile of single calls, in nanoseconds.
fn percentiles(mut times: Vec<u64>) -> (u64, u64) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or(0);
    (at(50), at(99))
}

fn time(rounds: usize, mut call: impl FnMut() -> Duration) -> String {
    for _ in 0..rounds / 10 {
        call();
    }
    let times = (0..rounds).map(|_| u64::try_from(call().as_nanos()).unwrap_or(u64::MAX)).collect();
    let (p50, p99) = percentiles(times);
    format!("p50 {:>7.3} us   p99 {:>7.3} us", p50 as f64 / 1e3, p99 as f64 / 1e3)
}

fn calls() {
    let (resilience, handles) = world(4, 20);
    let cx = AdmitContext::default();
    let admit = |picks: &[Handle]| block_on(resilience.admit(picks, &cx)).expect("healthy");
    let result = time(100_000, || {
        let start = Instant::now();
        let permit = admit(&handles);
        let took = start.elapsed();
        drop(permit);
        took
    });
    println!("admit, 20 healthy candidates             {result}");
    let now = Moment::default();
    let result = time(100_000, || {
        let permit = admit(&handles);
        let outcome = permit.outcome(now);
        let start = Instant::now();
        block_on(permit.report(outcome));
        start.elapsed()
    });
    println!("report of a success                      {result}");
    let mut columns = Columns::default();
    let result = time(20_000, || {
        let start = Instant::now();
        resilience.look_many(&handles, Mono(1), &mut columns);
        start.elapsed()
    });
    println!("look_many, 20 targets                    {result}");

    // 19 rest; the last one is healthy.
    let far = UnixMs(1_800_003_600_000);
    for handle in handles.iter().take(19) {
        let permit = admit(&[*handle]);
        let mut outcome = permit.outcome(now);
        let mut failure = Failure::new(FailureKind::RateLimited, Scope::Connection, "x");
        failure.retry_at = Some(far);
        failure.declared = true;
        outcome.failure = Some(failure);
        block_on(permit.report(outcome));
    }
    let result = time(100_000, || {
        let start = Instant::now();
        let permit = admit(&handles);
        let took = start.elapsed();
        drop(permit);
        took
    });
    println!("admit, 19 resting before the healthy one {result}");

    let (resilience, handles) = world(1, 20_000);
    let mut next = 0;
    let result = time(18_000, || {
        let permit = block_on(resilience.admit(&handles[next..=next], &cx)).expect("healthy");
        next += 1;
        let mut outcome = permit.outcome(now);
        outcome.failure = Some(Failure::new(FailureKind::RateLimited, Scope::Connection, "x"));
        let start = Instant::now();
        block_on(permit.report(outcome));
        start.elapsed()
    });
    println!("report of a failure (one commit)         {result}");
}

fn threads() {
    for count in [1, 2, 4, 8] {
        let (resilience, handles) = world(4, 64);
        let each = 200_000;
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..count {
                let (resilience, handles) = (&resilience, &handles);
                scope.spawn(move || {
                    let cx = AdmitContext::default();
                    let picks: Vec<Handle> =
                        handles.iter().copied().cycle().skip(thread * 7).take(20).collect();
                    for _ in 0..each {
                        drop(block_on(resilience.admit(&picks, &cx)));
                    }
                });
            }
        });
        let rate = (count * each) as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{count} threads: {rate:.2} M admits/s");
    }
}

fn main() {
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("calls") {
        calls();
    }
    if wanted("threads") {
        threads();
    }
}
