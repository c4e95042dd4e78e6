//! The client: connections that are kept open, each asking as soon as it has its answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

/// Requests, all of them alike.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Connections at once.
    pub(crate) width: usize,
    /// Model of the request, without the provider.
    model: &'static str,
    stream: bool,
    /// The rest of the body, from the second member on.
    rest: Arc<str>,
    headers: Vec<(&'static str, &'static str)>,
}

const SHORT: &str = r#""messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"Say forty words about the sea."}]"#;

impl Load {
    pub(crate) fn json(width: usize) -> Load {
        Load { width, model: "auto", stream: false, rest: SHORT.into(), headers: Vec::new() }
    }

    pub(crate) fn events(width: usize, count: usize) -> Load {
        let model = if count == 50 { "auto" } else { "m250" };
        Load { stream: true, model, ..Load::json(width) }
    }

    /// A long body, whose members but for the model are `rest`.
    pub(crate) fn body(rest: &str, plan: &'static str) -> Load {
        Load { rest: rest.into(), headers: vec![("x-omniroute-compression", plan)], ..Load::json(1) }
    }

    /// The request for a server that knows its models by these names.
    pub(crate) fn request(
        &self,
        path: &str,
        named: impl Fn(&str) -> String,
        more: &[(String, String)],
    ) -> Vec<u8> {
        let stream = if self.stream { "\"stream\":true," } else { "" };
        let body = format!("{{\"model\":\"{}\",{stream}{}}}", named(self.model), self.rest);
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        let more = more.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in self.headers.iter().copied().chain(more) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        [head.as_bytes(), b"\r\n", body.as_bytes()].concat()
    }
}

/// What was seen in one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Microseconds of CPU for each request.
    pub(crate) cpu: f64,
    /// Microseconds until the first byte, in the middle.
    pub(crate) first: f64,
    /// Microseconds until the end.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Requests a second.
    pub(crate) rate: f64,
    /// Answers that were not 200.
    pub(crate) failed: usize,
}

/// Sends `count` requests over `width` connections.
pub(crate) fn run(port: u16, request: &[u8], width: usize, count: usize) -> Seen {
    let begun = Instant::now();
    let each = count.div_ceil(width);
    let taken: Vec<Vec<Answer>> = std::thread::scope(|scope| {
        let crew: Vec<_> = (0..width).map(|_| scope.spawn(move || asks(port, request, each))).collect();
        crew.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let wall = begun.elapsed().as_secs_f64();
    let all: Vec<Answer> = taken.into_iter().flatten().collect();
    let sorted = |value: fn(&Answer) -> f64| {
        let mut values: Vec<f64> = all.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (first, whole) = (sorted(|one| one.first), sorted(|one| one.whole));
    Seen {
        cpu: 0.0,
        first: first[first.len() / 2],
        p50: whole[whole.len() / 2],
        p99: whole[(whole.len() * 99 / 100).min(whole.len() - 1)],
        rate: all.len() as f64 / wall,
        failed: all.iter().filter(|one| !one.well).count(),
    }
}

/// One answer: microseconds to its first byte and to its end.
struct Answer {
    first: f64,
    whole: f64,
    well: bool,
}

fn asks(port: u16, request: &[u8], count: usize) -> Vec<Answer> {
    let mut stream = None;
    (0..count)
        .map(|_| {
            let begun = Instant::now();
            let answer = ask(&mut stream, port, request, begun);
            if !matches!(answer, Ok(Answer { well: true, .. })) {
                stream = None;
            }
            answer.unwrap_or(Answer { first: 0.0, whole: 0.0, well: false })
        })
        .collect()
}

fn ask(kept: &mut Option<TcpStream>, port: u16, request: &[u8], begun: Instant) -> std::io::Result<Answer> {
    let stream = match kept {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            kept.insert(stream)
        }
    };
    stream.write_all(request)?;
    let mut bytes = Vec::with_capacity(16 << 10);
    let mut part = [0; 64 << 10];
    let mut first = None;
    let micros = |begun: Instant| begun.elapsed().as_secs_f64() * 1e6;
    loop {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        first.get_or_insert_with(|| micros(begun));
        bytes.extend_from_slice(&part[..read]);
        let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let over = match length {
            Some(length) => bytes.len() >= end + 4 + length,
            None => bytes.ends_with(b"\r\n0\r\n\r\n"),
        };
        if over {
            let well = bytes.starts_with(b"HTTP/1.1 200");
            return Ok(Answer { first: first.unwrap_or_default(), whole: micros(begun), well });
        }
    }
}
