//! A routing strategy of one's own: during the night the box at home goes first, during the day the operator's order.

#![expect(clippy::print_stdout, reason = "the point of the program")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::*;
use omniroute_core::testing::{VirtualClock, host};
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
        order.sort_by_key(|one| (night && one.entry.target.provider.as_str() != "home", one.entry.rank));
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
        let doc = Doc::parse(body).expect("the body is JSON");
        Ok(ChatResponse::new(wire::OPENAI_CHAT, ChatBody::Whole(doc)))
    }
}

fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let vendor = |id: &str| Arc::new(Vendor(ProviderId::new(id)));
    let clock = VirtualClock::at(UnixMs(0));
    let steps = ["acme/large", "home/small"].map(StepConfig::model).to_vec();
    let router = Router::builder(host(&clock))
        .connection(Connection::new("acme", "key"), vendor("acme"))
        .connection(Connection::new("home", "box"), vendor("home"))
        .route("shift", Arc::new(NightShift), steps)
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
