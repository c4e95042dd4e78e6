//! Scripted providers, requests and answers as vendors write them, and a world to put them in.

#![expect(unreachable_pub, reason = "helpers of tests")]

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::hub::StreamItem;
use omniroute_core::testing::VirtualClock;
use omniroute_core::wire::{self, StreamReader, Wire, translate};
use omniroute_core::*;
use omniroute_route::*;

/// Words that must not be found in receipts.
pub const SECRET: &str = "xyzzy-prompt";

/// What a provider does with one call.
#[derive(Debug, Clone)]
pub enum Step {
    /// Answers with its name.
    Answer,
    /// Answers with this body.
    Whole(String),
    /// Calls the client's tool of this name by the name it was sent, as Anthropic writes it; the whole answer even if a
    /// stream was asked for.
    Calls(&'static str),
    /// Answers with these pieces.
    Stream(Vec<Piece>),
    /// Fails before there is an answer.
    Fail(Failure),
    /// Answers after so many milliseconds.
    After(u64, Box<Step>),
    /// Answers, and says how many millionths of the five-hour allowance are used.
    Used(u32, Box<Step>),
    /// Never answers.
    Hang,
}

/// A piece of a scripted stream.
#[derive(Debug, Clone)]
pub enum Piece {
    Bytes(String),
    Wait(u64),
    Fail(Failure),
    Hang,
}

/// One call that came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub model: String,
    pub body: String,
}

#[derive(Debug)]
pub struct Scripted {
    id: ProviderId,
    name: String,
    wire: Wire,
    clock: VirtualClock,
    steps: Mutex<VecDeque<Step>>,
    pub seen: Mutex<Vec<Seen>>,
    /// Calls that run, streams included.
    pub open: Arc<AtomicI32>,
}

struct Open(Arc<AtomicI32>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Scripted {
    pub fn calls(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

#[async_trait::async_trait]
impl Provider for Scripted {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest, call: CallContext<'_>) -> Result<ChatResponse, Failure> {
        self.open.fetch_add(1, SeqCst);
        let open = Open(self.open.clone());
        let mut cx = call.write.clone();
        cx.model = Some(call.model.to_owned());
        let written = translate(request, self.wire, &cx)
            .map_err(|e| Failure::local(FailureKind::InvalidRequest, e.code(), e.to_string()))?;
        let body = String::from_utf8(written.body.to_vec()).unwrap();
        self.seen.lock().unwrap().push(Seen { model: call.model.to_owned(), body });
        let mut step = self.steps.lock().unwrap().pop_front().unwrap_or(Step::Answer);
        let mut limits = Vec::new();
        loop {
            match step {
                Step::After(ms, then) => {
                    self.clock.sleep_until(self.clock.now().mono.after(Duration::from_millis(ms))).await;
                    step = *then;
                }
                Step::Used(ppm, then) => {
                    let mut seen = LimitSeen::new(Unit::Tokens, QuotaWindow::FiveHours);
                    seen.used_ppm = Some(ppm);
                    seen.resets_at = Some(UnixMs(1_700_000_000_000 + 3_600_000));
                    limits.push(seen);
                    step = *then;
                }
                _ => break,
            }
        }
        let stream = request.head().stream;
        let body = match step {
            Step::Fail(failure) => return Err(failure),
            Step::Hang => futures::future::pending().await,
            Step::Answer if stream => ChatBody::Stream(self.items(text_stream(self.wire, &self.name), open)),
            Step::Answer => ChatBody::Whole(Doc::parse(text_reply(self.wire, &self.name)).unwrap()),
            Step::Whole(body) => ChatBody::Whole(Doc::parse(body).unwrap()),
            Step::Calls(tool) => {
                let sent = written.names.sent(tool).unwrap_or(tool);
                let call = format!(r#"{{"type":"tool_use","id":"t1","name":"{sent}","input":{{}}}}"#);
                let body = text_reply(wire::ANTHROPIC, "go").replace("end_turn", "tool_use");
                let body = body.replace("}],", &format!("}},{call}],"));
                ChatBody::Whole(Doc::parse(body).unwrap())
            }
            Step::Stream(pieces) => ChatBody::Stream(self.items(pieces, open)),
            Step::After(..) | Step::Used(..) => unreachable!(),
        };
        let mut response = ChatResponse::new(self.wire, body);
        response.names = written.names;
        response.limits = limits;
        Ok(response)
    }
}

impl Scripted {
    fn items(&self, pieces: Vec<Piece>, open: Open) -> EventStream {
        let play = Play {
            pieces: pieces.into(),
            ready: VecDeque::new(),
            reader: self.wire.stream_reader().unwrap(),
            ended: false,
            clock: self.clock.clone(),
            _open: open,
        };
        EventStream::new(futures::stream::unfold(Some(play), |play| async move {
            let mut play = play?;
            match play.next().await? {
                Ok(item) => Some((Ok(item), Some(play))),
                Err(failure) => Some((Err(failure), None)),
            }
        }))
    }
}

/// A stream that is played.
struct Play {
    pieces: VecDeque<Piece>,
    ready: VecDeque<StreamItem>,
    reader: Box<dyn StreamReader>,
    ended: bool,
    clock: VirtualClock,
    _open: Open,
}

impl Play {
    async fn next(&mut self) -> Option<Result<StreamItem, Failure>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if self.ended {
                return None;
            }
            let mut items = Vec::new();
            match self.pieces.pop_front() {
                Some(Piece::Bytes(bytes)) => self.reader.feed(Bytes::from(bytes), &mut items),
                Some(Piece::Wait(ms)) => {
                    self.clock.sleep_until(self.clock.now().mono.after(Duration::from_millis(ms))).await;
                }
                Some(Piece::Fail(failure)) => return Some(Err(failure)),
                Some(Piece::Hang) => futures::future::pending().await,
                None => {
                    self.ended = true;
                    self.reader.end(&mut items);
                }
            }
            self.ready.extend(items);
        }
    }
}

pub fn text_reply(wire: Wire, text: &str) -> String {
    if wire == wire::ANTHROPIC {
        return format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":10,"output_tokens":5}}}}"#
        );
    }
    format!(
        r#"{{"id":"c-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}}}"#
    )
}

fn chunk(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

pub fn role() -> Piece {
    Piece::Bytes(chunk(r#"{"role":"assistant","content":""}"#, "null"))
}

pub fn delta(text: &str) -> Piece {
    Piece::Bytes(chunk(&format!(r#"{{"content":"{text}"}}"#), "null"))
}

pub fn stop() -> Piece {
    Piece::Bytes(chunk("{}", "\"stop\""))
}

pub fn done() -> Piece {
    Piece::Bytes("data: [DONE]\n\n".to_owned())
}

pub fn comment() -> Piece {
    Piece::Bytes(": keep-alive\n\n".to_owned())
}

pub fn text_stream(wire: Wire, text: &str) -> Vec<Piece> {
    if wire == wire::ANTHROPIC {
        let event = |name: &str, data: String| Piece::Bytes(format!("event: {name}\ndata: {data}\n\n"));
        let start = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#;
        return vec![
            event("message_start", start.to_owned()),
            event("content_block_start", r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned()),
            event("content_block_delta", format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#)),
            event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#.to_owned()),
            event("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}"#.to_owned()),
            event("message_stop", r#"{"type":"message_stop"}"#.to_owned()),
        ];
    }
    vec![role(), delta(text), stop(), done()]
}

/// The bytes of pieces, as a client of the same wire would see them.
pub fn bytes_of(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => bytes.clone(),
        _ => String::new(),
    };
    pieces.iter().map(text).collect()
}

pub fn fail(kind: FailureKind, scope: Scope) -> Failure {
    Failure::new(kind, scope, "scripted")
}

pub fn http(kind: FailureKind, scope: Scope, status: u16) -> Failure {
    let mut failure = fail(kind, scope);
    failure.status = Some(status);
    failure
}

pub fn unavailable() -> Step {
    Step::Fail(http(FailureKind::Unavailable, Scope::Provider, 503))
}

#[derive(Debug)]
pub struct World {
    pub clock: VirtualClock,
    pub router: Router,
    pub providers: Vec<(String, Arc<Scripted>)>,
}

pub struct Plan {
    pub clock: VirtualClock,
    builder: RouterBuilder,
    providers: Vec<(String, Arc<Scripted>)>,
    steps: Vec<StepConfig>,
    seeing: Vec<&'static str>,
    prices: (u64, u64),
    strategy: &'static str,
    options: OptionMap,
}

/// A world without anybody.
pub fn world() -> Plan {
    let clock = VirtualClock::at(UnixMs(1_699_999_940_000));
    // Allowances of further attempts fill with time.
    clock.advance(Duration::from_secs(60));
    let env = omniroute_core::testing::host(&clock);
    Plan {
        clock,
        builder: Router::builder(env).seed(7),
        providers: Vec::new(),
        steps: Vec::new(),
        seeing: Vec::new(),
        prices: (1_000_000, 2_000_000),
        strategy: "priority",
        options: OptionMap::new(),
    }
}

pub fn model(window: u64) -> ModelFact {
    let mut fact = ModelFact::default();
    fact.context_window = Some(window);
    (fact.input_price, fact.output_price) = (Some(1_000_000), Some(2_000_000));
    fact.capabilities.set(Capability::Tools, Some(true));
    fact
}

impl Plan {
    /// A connection `provider/connection` with model `m`, and a step of the combo for a new provider.
    pub fn with(self, name: &str, steps: Vec<Step>) -> Plan {
        self.speaking(name, wire::OPENAI_CHAT, 100_000, steps)
    }

    pub fn speaking(mut self, name: &str, wire: Wire, window: u64, steps: Vec<Step>) -> Plan {
        let (provider, connection) = name.split_once('/').unwrap();
        let scripted = Arc::new(Scripted {
            id: ProviderId::new(provider),
            name: name.to_owned(),
            wire,
            clock: self.clock.clone(),
            steps: Mutex::new(steps.into()),
            seen: Mutex::default(),
            open: Arc::default(),
        });
        if !self.providers.iter().any(|(known, _)| known.starts_with(&format!("{provider}/"))) {
            let mut fact = model(window);
            (fact.input_price, fact.output_price) = (Some(self.prices.0), Some(self.prices.1));
            let takes = self.seeing.contains(&provider).then_some(true);
            for kind in [Capability::ImageInput, Capability::AudioInput, Capability::VideoInput] {
                fact.capabilities.set(kind, takes);
            }
            self.builder = self.builder.model(provider, "m", fact);
            self.steps.push(StepConfig::model(&format!("{provider}/m")));
        }
        self.builder = self.builder.connection(Connection::new(provider, connection), scripted.clone());
        self.providers.push((name.to_owned(), scripted));
        self
    }

    /// The model of this provider takes pictures, sound and films, once it is there.
    pub fn seeing(mut self, provider: &'static str) -> Plan {
        self.seeing.push(provider);
        self
    }

    /// What models that follow cost, in millionths of a US dollar for a million tokens.
    pub fn costing(mut self, input: u64, output: u64) -> Plan {
        self.prices = (input, output);
        self
    }

    pub fn strategy(mut self, strategy: &'static str) -> Plan {
        self.strategy = strategy;
        self
    }

    pub fn number(mut self, key: &str, value: f64) -> Plan {
        self.options.insert(key.to_owned(), OptionValue::Number(value));
        self
    }

    pub fn text(mut self, key: &str, value: &str) -> Plan {
        self.options.insert(key.to_owned(), OptionValue::Text(value.to_owned()));
        self
    }

    pub fn flag(mut self, key: &str, value: bool) -> Plan {
        self.options.insert(key.to_owned(), OptionValue::Flag(value));
        self
    }

    pub fn option(mut self, key: &str, value: OptionValue) -> Plan {
        self.options.insert(key.to_owned(), value);
        self
    }

    pub fn steps(mut self, change: impl FnOnce(&mut Vec<StepConfig>)) -> Plan {
        change(&mut self.steps);
        self
    }

    pub fn builder(mut self, change: impl FnOnce(RouterBuilder) -> RouterBuilder) -> Plan {
        self.builder = change(self.builder);
        self
    }

    pub fn without(mut self, key: &str) -> Plan {
        self.options.remove(key);
        self
    }

    /// With a combo `daily` over all of it.
    pub fn build(self) -> World {
        self.try_build().unwrap()
    }

    pub fn try_build(self) -> Result<World, BuildError> {
        let combo = ComboConfig {
            name: "daily".to_owned(),
            strategy: self.strategy.to_owned(),
            options: self.options,
            steps: self.steps,
            ..ComboConfig::default()
        };
        let router = self.builder.combo(combo).build()?;
        Ok(World { clock: self.clock, router, providers: self.providers })
    }
}

impl World {
    pub fn of(&self, name: &str) -> &Scripted {
        &self.providers.iter().find(|(known, _)| known == name).unwrap().1
    }

    /// Polls to the end, moving the clock by ten milliseconds whenever nothing else happens.
    pub fn drive<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        for _ in 0..200_000 {
            match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(done) => return done,
                Poll::Pending => self.clock.advance(Duration::from_millis(10)),
            }
        }
        panic!("nothing happens any more")
    }

    pub fn chat(&self, request: ChatRequest) -> Result<ChatReply, Box<ChatError>> {
        self.drive(self.router.chat(request))
    }

    /// The text of a whole answer, or of a stream read to its end, and the receipt.
    pub fn said(&self, request: ChatRequest) -> (String, RouteReceipt) {
        match self.chat(request) {
            Ok(reply) => self.read(reply),
            Err(error) => (format!("{} {}", error.status, error.code), error.receipt().unwrap()),
        }
    }

    pub fn read(&self, reply: ChatReply) -> (String, RouteReceipt) {
        let handle = reply.receipt_handle();
        let text = match reply.body {
            ReplyBody::Whole(body) => body.to_vec(),
            ReplyBody::Stream(stream) => self.drive(stream.collect::<Vec<Bytes>>()).concat(),
        };
        (String::from_utf8(text).unwrap(), handle.now())
    }

    /// Nothing runs, and every permit was reported or given back.
    pub fn at_rest(&self) {
        for (name, provider) in &self.providers {
            assert_eq!(provider.open.load(SeqCst), 0, "a call of {name} still runs");
            let (provider, connection) = name.split_once('/').unwrap();
            let target = Target::new(provider, connection, "m");
            assert_eq!(self.router.resilience().in_flight(&target), 0, "{name} holds a permit");
        }
    }
}

pub fn ask(stream: bool) -> ChatRequest {
    ask_for("daily", stream)
}

pub fn ask_for(model: &str, stream: bool) -> ChatRequest {
    let body = format!(
        r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"{SECRET} hello"}}]}}"#
    );
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

pub fn ask_anthropic(stream: bool) -> ChatRequest {
    let body = format!(
        r#"{{"model":"daily","max_tokens":100,"stream":{stream},"messages":[{{"role":"user","content":"{SECRET} hello"}}]}}"#
    );
    ChatRequest::parse(wire::ANTHROPIC, body).unwrap()
}

/// Who was tried, in order.
pub fn tried(receipt: &RouteReceipt) -> String {
    let keys: Vec<&str> = receipt.attempts.iter().map(|attempt| attempt.key.trim_end_matches("/m")).collect();
    keys.join(" ")
}
