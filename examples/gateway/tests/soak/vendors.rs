//! Vendors that fail by script: what a call gets is decided by the seed and the number of the call.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::common::http::{Message, pause, read};

/// A vendor of the chat API on a port of its own.
#[derive(Debug)]
pub(crate) struct Flaky {
    pub(crate) port: u16,
    asked: Arc<AtomicUsize>,
    strangers: Arc<AtomicUsize>,
}

impl Flaky {
    pub(crate) fn start(number: usize, seed: u64) -> Flaky {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, strangers) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (all, wrong) = (Arc::clone(&asked), Arc::clone(&strangers));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (all, wrong) = (Arc::clone(&all), Arc::clone(&wrong));
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let mut out = stream.try_clone().unwrap();
                    let mut input = BufReader::new(stream);
                    while let Some(message) = read(&mut input) {
                        if message.cut {
                            break;
                        }
                        let call = all.fetch_add(1, SeqCst);
                        if !owns(number, &message) {
                            wrong.fetch_add(1, SeqCst);
                        }
                        if !answer(&mut out, &message, roll(seed, call as u64)).unwrap_or(false) {
                            break;
                        }
                    }
                });
            }
        });
        Flaky { port, asked, strangers }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }

    /// Calls with another key than this vendor's.
    pub(crate) fn strangers(&self) -> usize {
        self.strangers.load(SeqCst)
    }
}

/// Whether a call has this vendor's key, and no other.
pub(crate) fn owns(number: usize, message: &Message) -> bool {
    let own = format!("Bearer sk-soak-{number}");
    let keys: Vec<&str> = message
        .headers
        .iter()
        .map(|(_, value)| value.as_str())
        .filter(|value| value.contains("sk-soak-"))
        .collect();
    keys == [own.as_str()] && !String::from_utf8_lossy(&message.body).contains("sk-soak-")
}

/// A number below a thousand.
fn roll(seed: u64, call: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ call.wrapping_mul(0xD1B5_4A32_D192_ED03);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ x >> 32) % 1_000
}

fn whole(out: &mut TcpStream, status: u16, kind: &str, more: &str, body: &str) -> std::io::Result<bool> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n");
    out.write_all((head + body).as_bytes())?;
    Ok(true)
}

/// Whether the connection may be used again.
fn answer(out: &mut TcpStream, message: &Message, roll: u64) -> std::io::Result<bool> {
    const JSON: &str = "application/json";
    let text = String::from_utf8_lossy(&message.body).into_owned();
    let token = text.split_once("tok-").and_then(|(_, rest)| rest.split('.').next());
    let token = token.map(|rest| format!("tok-{rest}")).unwrap_or_default();
    let token = token.as_str();
    let said = |content: &str, finish: &str| {
        format!(
            r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":{content}}},"finish_reason":"{finish}"}}],"usage":{{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}}}"#
        )
    };
    match roll {
        0..30 => whole(
            out,
            429,
            JSON,
            "retry-after: 1\r\n",
            r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
        ),
        30..45 => whole(out, 500, JSON, "", r#"{"error":{"message":"broken","type":"server_error"}}"#),
        45..60 => whole(out, 503, JSON, "", r#"{"error":{"message":"down","type":"server_error"}}"#),
        60..80 => whole(out, 200, "text/html", "", "<html>a page</html>"),
        80..100 => whole(out, 200, JSON, "", &said("\"\"", "stop")),
        100..120 => {
            out.write_all(
                b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":",
            )?;
            Ok(false)
        }
        120 => {
            // Silence, until the gateway has had enough of it or the client has.
            pause(Duration::from_secs(3));
            Ok(false)
        }
        121..126 => {
            pause(Duration::from_millis(400));
            whole(out, 200, JSON, "", &said(&format!("\"{token}.\""), "stop"))
        }
        _ if !text.contains("\"stream\":true") => {
            whole(out, 200, JSON, "", &said(&format!("\"{token}.\""), "stop"))
        }
        _ => stream(out, token, roll < 160),
    }
}

fn stream(out: &mut TcpStream, token: &str, cut: bool) -> std::io::Result<bool> {
    let event = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    out.write_all(
        b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let (first, second) = token.split_at(token.len() / 2);
    let pieces = [
        event(&format!("{{\"role\":\"assistant\",\"content\":\"{first}\"}}"), "null"),
        event(&format!("{{\"content\":\"{second}.\"}}"), "null"),
        event("{}", "\"stop\""),
        "data: [DONE]\n\n".to_owned(),
    ];
    for piece in pieces.iter().take(if cut { 1 } else { 4 }) {
        out.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())?;
    }
    if cut {
        return Ok(false);
    }
    out.write_all(b"0\r\n\r\n")?;
    Ok(true)
}
