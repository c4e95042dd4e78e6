//! A routing strategy of one's own: during the night what costs nothing goes first, during the day the operator's order.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "the point of the program"))]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::*;
use omniroute_core::testing::VirtualClock;
use omniroute_core::*;
use omniroute_route::{Connection, Router, StepConfig};

#[derive(Debug)]
struct NightShift;

impl RoutingStrategy for NightShift {
    fn id(&self) -> &str {
        "night-shift"
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        let night = (cx.now.wall.0 / 3_600_000) % 24 < 6;
        let mut order: Vec<Candidate<'_>> = candidates.iter().collect();
        order.sort_by_key(|one| (night && one.entry.tier != Some(OfferTier::Free), one.entry.rank));
        let picks = order.iter().map(|one| Pick::new(one.index, Why::strategy(Reason::Named))).collect();
        Ok(Plan::Sequence(Sequence::new(picks, 0)))
    }
}

/// A vendor that answers with its name.
#[derive(Debug)]
struct Vendor(ProviderId);

#[async_trait::async_trait]
impl Provider for Vendor {
    fn id(&self) -> &ProviderId {
        &self.0
    }

    async fn chat(&self, _: &ChatRequest, call: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let body = format!(
            r#"{{"id":"1","object":"chat.completion","created":1,"model":"{}","choices":[{{"index":0,"message":{{"role":"assistant","content":"from {}"}},"finish_reason":"stop"}}]}}"#,
            call.model, self.0
        );
        let doc = Doc::parse(body).map_err(|error| {
            Failure::new(FailureKind::BadReply, Scope::Model, error.to_string())
        })?;
        Ok(ChatResponse::new(wire::OPENAI_CHAT, ChatBody::Whole(doc)))
    }
}

#[async_trait::async_trait]
impl HttpTransport for Vendor {
    async fn send(&self, _: http::Request<bytes::Bytes>) -> Result<http::Response<Body>, TransportError> {
        Err(TransportError::new("connect", "this program has no network"))
    }
}

fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let vendor = |id: &str| Arc::new(Vendor(ProviderId::new(id)));
    let clock = VirtualClock::at(UnixMs(0));
    let env = Env { clock: Arc::new(clock.clone()), http: vendor("none"), offload: Arc::new(Inline) };
    let mut free = ModelFact::default();
    free.free = true;
    let router = Router::builder(env)
        .connection(Connection::new("acme", "key"), vendor("acme"))
        .connection(Connection::new("home", "box"), vendor("home"))
        .model("acme", "large", ModelFact::default())
        .model("home", "small", free)
        .route("shift", Arc::new(NightShift), vec![StepConfig::model("acme/large"), StepConfig::model("home/small")])
        .build()?;
    let mut answered = Vec::new();
    for _ in 0..3 {
        let body = r#"{"model":"shift","messages":[{"role":"user","content":"hello"}]}"#;
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?;
        let reply = futures::executor::block_on(router.chat(request))?;
        answered.push(reply.receipt().answered.unwrap_or_default());
        clock.advance(Duration::from_secs(4 * 3_600));
    }
    Ok(answered)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("at 0, 4 and 8 o'clock: {}", run()?.join(", "));
    Ok(())
}

#[test]
fn nights_are_free() {
    assert_eq!(run().unwrap(), ["home/box/small", "home/box/small", "acme/key/large"]);
}
