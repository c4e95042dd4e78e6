//! An agent with one tool. The vendor it began with breaks in the middle; the session goes on with the other one.

#![expect(clippy::print_stdout, reason = "the point of the program")]

use std::error::Error;
use std::sync::Arc;

use omniroute_core::testing::{VirtualClock, host};
use omniroute_core::*;
use omniroute_route::{ComboConfig, Connection, Router, StepConfig};

const CALL: &str = r#""content":null,"tool_calls":[{"id":"ID","type":"function","function":{"name":"add","arguments":"{}"}}]"#;

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
        let (message, end) = match results {
            0 | 1 => (CALL.replace("ID", &format!("c{results}")), "tool_calls"),
            _ => (r#""content":"The sum is 3.""#.to_owned(), "stop"),
        };
        let body = format!(
            r#"{{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant",{message}}},"finish_reason":"{end}"}}]}}"#
        );
        let doc = Doc::parse(body).expect("the body is JSON");
        Ok(ChatResponse::new(wire::OPENAI_CHAT, ChatBody::Whole(doc)))
    }
}

fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let vendor = |id: &str| Arc::new(Vendor(ProviderId::new(id)));
    let steps = ["first/m", "second/m"].map(StepConfig::model).to_vec();
    let router = Router::builder(host(&VirtualClock::default()))
        .connection(Connection::new("first", "key"), vendor("first"))
        .connection(Connection::new("second", "key"), vendor("second"))
        .combo(ComboConfig::new("agent", "priority", steps))
        .build()?;
    let (mut messages, mut told) =
        (vec![r#"{"role":"user","content":"add 1 and 2"}"#.to_owned()], Vec::new());
    loop {
        let body = format!(
            r#"{{"model":"agent","messages":[{}],"tools":[{{"type":"function","function":{{"name":"add","parameters":{{"type":"object"}}}}}}]}}"#,
            messages.join(",")
        );
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?.with_session(SessionId::new("s1"));
        let reply = futures::executor::block_on(router.chat(request))?;
        told.push(reply.receipt().answered.unwrap_or_default());
        let doc = Doc::parse(reply.whole().cloned().unwrap_or_default())?;
        let said = wire::OPENAI_CHAT.read_reply(&doc)?.value;
        let Some(hub::Part::Call(call)) = said.choices[0].turn.parts.first() else { return Ok(told) };
        let id = call.id.decode();
        messages.push(format!(r#"{{"role":"assistant",{}}}"#, CALL.replace("ID", &id)));
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
