//! What `auto` prefers, told with its reasons: the same request under three names.

#![expect(clippy::print_stdout, reason = "the point of the program")]

use std::error::Error;
use std::sync::Arc;

use omniroute_core::testing::{VirtualClock, host};
use omniroute_core::*;
use omniroute_route::{Connection, Router};

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

fn run() -> Result<String, Box<dyn Error>> {
    let vendor = |id: &str| Arc::new(Vendor(ProviderId::new(id)));
    // In 1e-12 USD a token.
    let model = |price: u64| {
        let mut facts = ModelFact::default();
        facts.context_window = Some(200_000);
        (facts.input_price, facts.output_price) = (Some(price), Some(price * 5));
        facts
    };
    let router = Router::builder(host(&VirtualClock::default()))
        .connection(Connection::new("anthropic", "work"), vendor("anthropic"))
        .connection(Connection::new("groq", "work"), vendor("groq"))
        .model("anthropic", "claude-opus-4-5", model(5_000_000))
        .model("groq", "llama-3.1-8b-instant", model(50_000))
        .build()?;
    let mut told = String::new();
    for name in ["auto/cheap", "auto/coding", "auto"] {
        let body = format!(
            r#"{{"model":"{name}","messages":[{{"role":"user","content":"Write a function in `a.rs`"}}]}}"#
        );
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?;
        told.push_str(&format!("{name}: {}", router.explain(&request)?));
        let reply = futures::executor::block_on(router.chat(request))?;
        told.push_str(&format!("answered by {}\n\n", reply.receipt().answered.unwrap_or_default()));
    }
    Ok(told)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run()?);
    Ok(())
}

#[test]
fn names_prefer_what_they_say() {
    let told = run().unwrap();
    let answers: Vec<&str> = told.lines().filter(|line| line.starts_with("answered")).collect();
    assert!(answers[0].contains("groq") && answers[1].contains("anthropic"), "{told}");
}
