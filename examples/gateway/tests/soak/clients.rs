//! Clients that ask on two wires, whole and streamed, each with a word of its own.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::common::http::{Message, read, written};
use crate::judge::{Asked, Outcome, judge};

/// One request and what became of it.
pub(crate) fn ask(port: u16, client: usize, number: u64) -> Outcome {
    let token = format!("tok-{client}-{number}");
    let (anthropic, streamed) = (client.is_multiple_of(2), number.is_multiple_of(2));
    let content = format!("say {token}. again");
    let (path, body) = match anthropic {
        true => (
            "POST /v1/messages",
            json!({"model": "daily", "max_tokens": 100, "stream": streamed, "messages": [{"role": "user", "content": content}]}),
        ),
        false => (
            "POST /v1/chat/completions",
            json!({"model": "daily", "stream": streamed, "messages": [{"role": "user", "content": content}]}),
        ),
    };
    let request = written(port, path, &[("anthropic-version", "2023-06-01")], body.to_string().as_bytes());
    judge(&Asked { token: &token, anthropic, streamed }, send(port, &request).as_ref())
}

/// None: the connection broke before there was an answer.
fn send(port: u16, request: &[u8]) -> Option<Message> {
    let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let mut out = stream.try_clone().ok()?;
    out.write_all(request).ok()?;
    read(&mut BufReader::new(stream))
}
