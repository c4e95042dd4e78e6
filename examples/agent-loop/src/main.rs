//! An agent with one tool. The vendor it began with breaks in the middle; the session goes on with the other one.

#![cfg_attr(not(test), expect(clippy::print_stdout, reason = "the point of the program"))]

use std::error::Error;
use std::sync::Arc;

use omniroute_core::testing::VirtualClock;
use omniroute_core::*;
use omniroute_route::{ComboConfig, Connection, Router, StepConfig};

/// Calls the tool until it has seen two results. The first vendor breaks after its first answer.
#[derive(Debug)]
struct Vendor(ProviderId);

#[async_trait::async_trait]
impl Provider for Vendor {
    fn id(&self) -> &ProviderId {
        &self.0
    }

    async fn chat(&self, request: &ChatRequest, _: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let results = request.doc().source().matches("tool_call_id").count();
        if results > 0 && self.0.as_str() == "first" {
            return Err(Failure::new(FailureKind::Unavailable, Scope::Provider, "out of order"));
        }
        let (message, end) = if results < 2 {
            (format!(r#""content":null,"tool_calls":[{{"id":"c{results}","type":"function","function":{{"name":"add","arguments":"{{\"n\":{}}}"}}}}]"#, results + 1), "tool_calls")
        } else {
            (r#""content":"The sum is 3.""#.to_owned(), "stop")
        };
        let body = format!(r#"{{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant",{message}}},"finish_reason":"{end}"}}]}}"#);
        let doc = Doc::parse(body).map_err(|e| Failure::new(FailureKind::BadReply, Scope::Model, e.to_string()))?;
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
    let clock = Arc::new(VirtualClock::at(UnixMs(1_800_000_000_000)));
    let env = Env { clock, http: vendor("none"), offload: Arc::new(Inline) };
    let steps = vec![StepConfig::model("first/m"), StepConfig::model("second/m")];
    let router = Router::builder(env)
        .connection(Connection::new("first", "key"), vendor("first"))
        .connection(Connection::new("second", "key"), vendor("second"))
        .combo(ComboConfig { name: "agent".into(), strategy: "priority".into(), steps, ..ComboConfig::default() })
        .build()?;
    let (mut messages, mut told) = (vec![r#"{"role":"user","content":"add 1 and 2"}"#.to_owned()], Vec::new());
    loop {
        let body = format!(r#"{{"model":"agent","messages":[{}],"tools":[{{"type":"function","function":{{"name":"add","parameters":{{"type":"object"}}}}}}]}}"#, messages.join(","));
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?.with_session(SessionId::new("s1"));
        let reply = futures::executor::block_on(router.chat(request))?;
        told.push(reply.receipt().answered.unwrap_or_default());
        let doc = Doc::parse(reply.whole().cloned().unwrap_or_default())?;
        let said = wire::OPENAI_CHAT.read_reply(&doc)?.value;
        let Some(hub::Part::Call(call)) = said.choices[0].turn.parts.first() else { return Ok(told) };
        let id = call.id.decode();
        messages.push(format!(r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"add","arguments":"{{}}"}}}}]}}"#));
        messages.push(format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"ok"}}"#));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run()?.join("\n"));
    Ok(())
}

#[test]
fn the_session_goes_on() {
    assert_eq!(run().unwrap(), ["first/key/m", "second/key/m", "second/key/m"]);
}
