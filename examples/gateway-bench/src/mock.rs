//! The vendor: a process of its own that answers every request with the same bytes, as cheaply as it can.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// A whole answer of 480 bytes.
fn whole() -> Vec<u8> {
    let body = |words: &str| {
        format!(
            r#"{{"id":"chatcmpl-000000000001","object":"chat.completion","created":1700000000,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{words}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":12,"completion_tokens":40,"total_tokens":52}}}}"#
        )
    };
    let body = body(&"w".repeat(480 - body("").len()));
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// One event as a piece of a chunked body.
fn event(text: &str, end: bool) -> Vec<u8> {
    let finish = if end { "\"stop\"" } else { "null" };
    let data = format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":{finish}}}]}}\n\n"
    );
    format!("{:x}\r\n{data}\r\n", data.len()).into_bytes()
}

/// Serves until it is killed; the port is told on standard output.
pub(crate) fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    for stream in listener.incoming().map_while(Result::ok) {
        std::thread::spawn(move || {
            let _ = stream.set_nodelay(true);
            let _ = answers(stream);
        });
    }
}

fn answers(mut stream: TcpStream) -> std::io::Result<()> {
    let whole = whole();
    let (piece, last) = (event("word ", false), event("", true));
    let mut buffer = Vec::with_capacity(1 << 20);
    let mut part = vec![0; 256 << 10];
    loop {
        buffer.clear();
        let (head, length) = loop {
            if let Some(end) = memchr::memmem::find(&buffer, b"\r\n\r\n") {
                break (end + 4, length(&buffer[..end]));
            }
            let read = stream.read(&mut part)?;
            if read == 0 {
                return Ok(());
            }
            buffer.extend_from_slice(&part[..read]);
        };
        while buffer.len() < head + length {
            let read = stream.read(&mut part)?;
            if read == 0 {
                return Ok(());
            }
            buffer.extend_from_slice(&part[..read]);
        }
        let body = &buffer[head..];
        if memchr::memmem::find(body, b"\"stream\":true").is_none() {
            stream.write_all(&whole)?;
            continue;
        }
        let count = if memchr::memmem::find(body, b"m250").is_some() { 250 } else { 50 };
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        for _ in 0..count - 1 {
            stream.write_all(&piece)?;
        }
        stream.write_all(&last)?;
        stream.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")?;
    }
}

fn length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let told = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    told.unwrap_or(0)
}
