//! Figures of routing: CPU and wall time of plans and of whole requests beyond the provider, allocations, growth.
//!
//! `cargo bench -p omniroute-route --bench route` prints the table; `-- --smoke` runs each line a few times.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use cpu_time::ThreadTime;
use futures::executor::block_on;
use futures::future::{BoxFuture, FutureExt};
use omniroute_core::route::{
    Billing, Columns, Entry, Facts, Pool, RequestFacts, RouteOptions, RoutingStrategy,
};
use omniroute_core::testing::{VirtualClock, host};
use omniroute_core::{
    CallContext, ChatBody, ChatRequest, ChatResponse, Clock, CompressReceipt, Compressor, Doc, Env, Failure,
    ModelFact, Moment, Mono, Provider, ProviderId, Target, UnixMs, wire,
};
use omniroute_route::{Ask, Connection, OptionMap, Planner, Router, Work, auto, auto_name, strategy};

/// Runs of each line; the table shows the fastest, the middle and the slowest.
const RUNS: usize = 41;

fn main() {
    let smoke = std::env::args().any(|a| a == "--smoke" || a == "--test");
    let (runs, long) = if smoke { (1, 2) } else { (RUNS, 400) };
    println!("{:<44} {:>26} {:>26} {:>7}", "microseconds: fastest, middle, slowest", "CPU", "wall", "allocs");
    for strategy in ["auto", "priority", "round-robin", "p2c", "cost-optimized", "reset-aware"] {
        for count in [10, 20] {
            plans(strategy, count, runs, long);
        }
    }
    for count in [1_000, 10_000] {
        plans("auto", count, runs, if smoke { 1 } else { 20_000 / count });
    }
    chats(runs, long);
}

/// One decision, gates included.
fn plans(name: &str, count: usize, runs: usize, long: usize) {
    let bench = Bench::new(name, count);
    let ask = Ask {
        request: &bench.request,
        session: None,
        options: &bench.options,
        now: Moment::default(),
        seed: 7,
    };
    let mut work = Work::default();
    line(&format!("plan, {name}, {count} candidates"), runs, long, || {
        let decision = bench.planner.plan(ask, &bench.pool, &bench.columns, &mut work);
        black_box(decision.expect("there are candidates"));
    });
}

/// Whole requests of 1 KB against a provider that answers at once, and that provider alone.
fn chats(runs: usize, long: usize) {
    let provider = Arc::new(AtOnce(ProviderId::new("p"), Doc::parse(ANSWER).expect("is JSON")));
    let env = env();
    let request = request("p/m0");
    line("provider alone, 1 KB", runs, long, || {
        let connection = omniroute_core::ConnectionId::new("0");
        let call = CallContext::new(&env, &connection, "m0");
        black_box(block_on(provider.chat(&request, call)).expect("it answers"));
    });
    let parse = request.doc().bytes().clone();
    line("reading 1 KB", runs, long, || {
        black_box(ChatRequest::parse(wire::OPENAI_CHAT, parse.clone()).expect("is JSON"));
    });
    for (what, model, connections, models) in [
        ("chat, 1 candidate", "p/m0", 1, 1),
        ("chat, auto, 20 candidates", "auto", 4, 5),
        ("chat, auto, 100 candidates", "auto", 10, 10),
    ] {
        let router = router(connections, models, &provider, false);
        let request = self::request(model);
        line(what, runs, long, || chat(&router, &request));
    }
    let router = router(4, 5, &provider, true);
    let request = self::request("auto");
    line("chat, auto, 20, a compressor that does nothing", runs, long, || chat(&router, &request));
    line("  the same, and the receipt is read", runs, long, || {
        let reply = block_on(router.chat(request.clone())).expect("it answers");
        black_box(reply.receipt());
    });
}

fn chat(router: &Router, request: &ChatRequest) {
    black_box(block_on(router.chat(request.clone())).expect("it answers"));
}

fn router(connections: usize, models: usize, provider: &Arc<AtOnce>, compresses: bool) -> Router {
    let mut builder = Router::builder(env()).seed(7);
    for model in 0..models {
        let mut fact = ModelFact::default();
        fact.context_window = Some(100_000);
        (fact.input_price, fact.output_price) = (Some(1_000_000), Some(2_000_000));
        builder = builder.model("p", &format!("m{model}"), fact);
    }
    for connection in 0..connections {
        builder = builder.connection(Connection::new("p", connection.to_string()), provider.clone());
    }
    if compresses {
        builder = builder.compressor(Arc::new(Nothing));
    }
    builder.build().expect("the settings are right")
}

fn request(model: &str) -> ChatRequest {
    let text = "word ".repeat(190);
    let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).expect("is JSON")
}

const ANSWER: &str = r#"{"id":"c-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;

/// Answers at once.
#[derive(Debug)]
struct AtOnce(ProviderId, Doc);

#[async_trait::async_trait]
impl Provider for AtOnce {
    fn id(&self) -> &ProviderId {
        &self.0
    }

    async fn chat(&self, _: &ChatRequest, _: CallContext<'_>) -> Result<ChatResponse, Failure> {
        Ok(ChatResponse::new(wire::OPENAI_CHAT, ChatBody::Whole(self.1.clone())))
    }
}

#[derive(Debug)]
struct Nothing;

impl Compressor for Nothing {
    fn compress(&self, _: &mut ChatRequest, _: Option<&str>, _: Moment) -> CompressReceipt {
        CompressReceipt::default()
    }
}

/// The machine's clock; nobody is woken by it.
#[derive(Debug)]
struct Wall(Instant);

impl Clock for Wall {
    fn now(&self) -> Moment {
        let since = self.0.elapsed();
        let ms = i64::try_from(since.as_millis()).unwrap_or(0);
        Moment { mono: Mono(0).after(since), wall: UnixMs(1_700_000_000_000 + ms) }
    }

    fn sleep_until(&self, _: Mono) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}

fn env() -> Env {
    Env { clock: Arc::new(Wall(Instant::now())), ..host(&VirtualClock::default()) }
}

/// Candidates of whom everything is known.
struct Bench {
    pool: Pool,
    columns: Columns,
    planner: Planner,
    request: RequestFacts,
    options: RouteOptions,
}

impl Bench {
    fn new(name: &str, count: usize) -> Bench {
        let entries = (0_u32..).take(count).map(|n| {
            let mut entry =
                Entry::new(Target::new(format!("p{}", n % 10), format!("c{n}"), format!("m{}", n % 7)));
            (entry.rank, entry.step, entry.billing) = (n, n, Billing::Metered);
            entry.model.context_window = Some(200_000);
            entry.fitness = Some([0.8; 7]);
            entry
        });
        let pool = Pool::new(1, entries.collect());
        let mut columns = Columns::unknown(count);
        for (index, n) in (0_u16..).take(count).enumerate() {
            let n = f32::from(n);
            let mut facts = Facts::default();
            (facts.price_in, facts.price_out) = (Some(0.1 + n % 17.0), Some(1.0 + n % 29.0));
            (facts.p95_ms, facts.sd_ms) = (Some(900.0 + n % 977.0), Some(9.0 + n % 97.0));
            (facts.quota_left, facts.quality) = (Some(0.3 + n % 7.0 / 10.0), Some(0.7));
            facts.used = [Some(0.1), Some(n % 9.0 / 10.0), None];
            columns.set(index, &facts);
        }
        let strategy: Arc<dyn RoutingStrategy> = match auto_name(name) {
            Some(Ok(name)) => auto(&name, None),
            _ => {
                strategy(name, "bench").expect("is known").with("bench", &OptionMap::new()).expect("is right")
            }
        };
        let mut options = RouteOptions::default();
        options.depth = 16;
        Bench {
            pool,
            columns,
            planner: Planner::new("route \"bench\"", strategy),
            request: RequestFacts::default(),
            options,
        }
    }
}

/// `runs` times the mean of `long` calls.
fn line(what: &str, runs: usize, long: usize, mut work: impl FnMut()) {
    (0..long).for_each(|_| work());
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (ours, all) = (ThreadTime::now(), Instant::now());
        (0..long).for_each(|_| work());
        cpu.push(ours.elapsed());
        wall.push(all.elapsed());
    }
    let allocations = measure(&mut work).count_total;
    let told = |times: &mut Vec<Duration>| {
        times.sort();
        let of = |time: Duration| time.as_secs_f64() * 1e6 / long as f64;
        format!(
            "{:>8.2} {:>8.2} {:>8.2}",
            of(times[0]),
            of(times[times.len() / 2]),
            of(times[times.len() - 1])
        )
    };
    println!("{what:<44} {} {} {allocations:>7}", told(&mut cpu), told(&mut wall));
}
