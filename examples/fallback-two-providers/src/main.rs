//! Two vendors: the first has no room, the second answers, and the client sees one answer in its own format.

#![expect(clippy::print_stdout, reason = "the point of the program")]

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    Body, ChatRequest, Env, HttpTransport, Inline, ModelFact, TransportError, UnixMs, wire,
};
use omniroute_providers::credentials::{Fixed, Held};
use omniroute_providers::{Catalog, HttpProvider};
use omniroute_route::{ComboConfig, Connection, Router, StepConfig};

/// Plays both vendors: a program of yours sends the request here.
#[derive(Debug)]
struct Vendors;

#[async_trait::async_trait]
impl HttpTransport for Vendors {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Body>, TransportError> {
        let (status, body) = match request.uri().host() {
            Some("api.openai.com") => {
                (429, r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#)
            }
            _ => (
                200,
                r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Hello from the second vendor."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":7}}"#,
            ),
        };
        let response = http::Response::builder().status(status).header("content-type", "application/json");
        response.body(Body::whole(body)).map_err(|error| TransportError::new("send", error.to_string()))
    }
}

fn run() -> Result<String, Box<dyn Error>> {
    let clock = Arc::new(VirtualClock::at(UnixMs(1_800_000_000_000)));
    let env = Env { clock, http: Arc::new(Vendors), offload: Arc::new(Inline) };
    let catalog = Catalog::embedded();
    let vendor = |id: &str| {
        HttpProvider::builder(&catalog, id).credentials(Fixed(Held::key("not-a-key"))).build().map(Arc::new)
    };
    let steps = ["openai/gpt-5", "anthropic/claude-sonnet-4-5"].map(StepConfig::model).to_vec();
    let router = Router::builder(env)
        .connection(Connection::new("openai", "work"), vendor("openai")?)
        .connection(Connection::new("anthropic", "work"), vendor("anthropic")?)
        .model("openai", "gpt-5", ModelFact::default())
        .model("anthropic", "claude-sonnet-4-5", ModelFact::default())
        .combo(ComboConfig::new("daily", "priority", steps))
        .build()?;
    let body = r#"{"model":"daily","messages":[{"role":"user","content":"hello"}]}"#;
    let reply = futures::executor::block_on(router.chat(ChatRequest::parse(wire::OPENAI_CHAT, body)?))?;
    let mut told = String::new();
    for attempt in reply.receipt().attempts {
        let end = attempt.kind.map_or("answered", omniroute_core::FailureKind::code);
        told.push_str(&format!("{}: {end}\n", attempt.key));
    }
    Ok(told + std::str::from_utf8(reply.whole().ok_or("a stream")?)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run()?);
    Ok(())
}

#[test]
fn the_second_answers_in_the_format_of_the_first() {
    let told = run().unwrap();
    assert!(
        told.contains("openai/work/gpt-5: rate_limited\nanthropic/work/claude-sonnet-4-5: answered"),
        "{told}"
    );
    assert!(told.contains("\"object\":\"chat.completion\"") && told.contains("second vendor"), "{told}");
}
