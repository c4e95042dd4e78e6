//! `omniroute serve` as strangers meet it: a real process, real sockets, vendors that answer with given bytes.
#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;

mod access;
mod answers;
mod endings;
mod leases;
mod loops;
mod manners;
mod recorded;
mod secrets;
mod shared;

use common::http::{Said, Vendor};

/// A whole answer of the chat API.
const WHOLE: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}"#;

/// A streamed one, in pieces.
const STREAM: [&str; 4] = [
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"he\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];

/// A vendor of the chat API that always answers.
fn willing() -> Vendor {
    Vendor::new(|message, _| match message.text().contains("\"stream\":true") {
        true => Said::stream(&STREAM, std::time::Duration::ZERO),
        false => Said::whole(200, WHOLE),
    })
}

/// Configuration with vendors of the chat API, in this order in the combo `daily`.
fn config(vendors: &[&Vendor]) -> String {
    let mut out = String::new();
    for (number, vendor) in (1..).zip(vendors) {
        out.push_str(&format!(
            "[[providers]]\nid = \"v{number}\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
             [[providers.models]]\nid = \"m\"\ncontext = 32768\ntools = true\n\
             [[connections]]\nid = \"v{number}/a\"\nkey = {{ env = \"MOCK_KEY\" }}\n",
            vendor.port
        ));
    }
    let steps: Vec<String> = (1..=vendors.len()).map(|number| format!("\"v{number}/m\"")).collect();
    format!("{out}[[combos]]\nname = \"daily\"\nstrategy = \"priority\"\nsteps = [{}]\n", steps.join(", "))
}

/// A question.
fn ask(model: &str) -> serde_json::Value {
    serde_json::json!({ "model": model, "messages": [{ "role": "user", "content": "hi" }] })
}
