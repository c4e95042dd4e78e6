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
}

fn failures() {
    let cx = AdmitContext::default();
    let now = Moment::default();
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

/// Nanoseconds that this thread has run on a processor, where the system tells.
fn on_cpu() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Threads that admit and drop at the same time: over the same four providers, or each over its own. Time on a
/// processor grows where they get into each other's way, and stays where they only share a busy machine.
fn threads(apart: bool) {
    let what = if apart { "providers of their own" } else { "the same providers" };
    for count in [1, 2, 4, 8] {
        let (resilience, handles) = world(if apart { 8 } else { 4 }, 64);
        let each = 300_000;
        let start = Instant::now();
        let spent: Vec<Option<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|thread| {
                    let (resilience, handles) = (&resilience, &handles);
                    scope.spawn(move || {
                        let cx = AdmitContext::default();
                        let all = handles.iter().copied();
                        let picks: Vec<Handle> = if apart {
                            all.skip(thread).step_by(8).collect()
                        } else {
                            all.cycle().skip(thread * 7).take(20).collect()
                        };
                        let began = on_cpu();
                        for _ in 0..each {
                            drop(block_on(resilience.admit(&picks, &cx)));
                        }
                        Some(on_cpu()?.saturating_sub(began?))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
        });
        let all = (count * each) as f64;
        let rate = all / start.elapsed().as_secs_f64() / 1e6;
        let cpu: Option<u64> = spent.into_iter().sum();
        let cpu = cpu.map_or("-".to_owned(), |cpu| format!("{:.2}", cpu as f64 / all / 1e3));
        println!("{count} threads, {what:<22}: {rate:.2} M admits/s, {cpu} us on a processor each");
    }
}

fn main() {
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("calls") {
        calls();
    }
    if wanted("failures") {
        failures();
    }
    if wanted("threads") {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        println!("on {cores} cores:");
        threads(false);
        threads(true);
    }
}
