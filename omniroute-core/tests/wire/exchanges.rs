//! The recorded exchanges: which wire each speaks and what its bodies hold.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

/// One recorded call.
pub(crate) struct Exchange {
    pub(crate) provider: String,
    pub(crate) name: String,
    pub(crate) wire: &'static str,
    pub(crate) request: Option<String>,
    pub(crate) status: u16,
    pub(crate) reply: Vec<u8>,
    pub(crate) kind: ReplyKind,
}

/// What the reply's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Whole,
    Sse,
    Ndjson,
    EventStream,
    Error,
}

impl Exchange {
    pub(crate) fn label(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    pub(crate) fn streamed(&self) -> bool {
        !matches!(self.kind, ReplyKind::Whole | ReplyKind::Error)
    }
}

/// The folder of recordings, or nothing if it is absent.
pub(crate) fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("OMNIROUTE_DATA").map(PathBuf::from);
    let root = named
        .clone()
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("shared/data"));
    let folder = root.join("exchanges");
    if !folder.is_dir() {
        assert!(named.is_none(), "OMNIROUTE_DATA is set and {} is missing", folder.display());
        return None;
    }
    Some(folder)
}

/// All recorded chat exchanges, by file and line; says so and gives nothing where the recordings are absent.
pub(crate) fn all() -> &'static [Exchange] {
    static ALL: OnceLock<Vec<Exchange>> = OnceLock::new();
    ALL.get_or_init(read)
}

fn read() -> Vec<Exchange> {
    let Some(folder) = folder() else {
        println!("skipped: needs recorded exchanges (919 of them, 0 read)");
        return Vec::new();
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    let lines = files.iter().map(|p| std::fs::read_to_string(p).unwrap());
    let mut out = Vec::new();
    for text in lines {
        out.extend(text.lines().filter_map(|line| exchange(&serde_json::from_str(line).unwrap())));
    }
    out
}

/// The exchanges of one wire.
pub(crate) fn of_wire(wire: &str) -> Vec<&'static Exchange> {
    all().iter().filter(|e| e.wire == wire).collect()
}

fn exchange(line: &Value) -> Option<Exchange> {
    let (request, response) = (&line["request"], &line["response"]);
    let status = response["status"].as_u64()? as u16;
    let body = response["body"].as_str().unwrap_or_default();
    let wire = wire_of(request["path"].as_str()?)?;
    let (kind, reply) = if status != 200 {
        (ReplyKind::Error, body.as_bytes().to_vec())
    } else if wire == "bedrock-converse" && !body.starts_with('{') {
        (ReplyKind::EventStream, base64(body))
    } else if !body.trim_start().starts_with('{') {
        (ReplyKind::Sse, body.as_bytes().to_vec())
    } else if wire == "ollama" && serde_json::from_str::<Value>(body).is_err() {
        (ReplyKind::Ndjson, body.as_bytes().to_vec())
    } else {
        (ReplyKind::Whole, body.as_bytes().to_vec())
    };
    Some(Exchange {
        provider: line["provider"].as_str()?.to_owned(),
        name: line["name"].as_str()?.to_owned(),
        wire,
        request: request["body"].as_str().filter(|b| !b.is_empty()).map(str::to_owned),
        status,
        reply,
        kind,
    })
}

fn wire_of(path: &str) -> Option<&'static str> {
    let ends = [
        ("/chat/completions", "openai-chat"),
        ("/responses", "openai-responses"),
        ("/messages", "anthropic-messages"),
        ("/v2/chat", "cohere"),
        ("/api/chat", "ollama"),
        ("/converse", "bedrock-converse"),
        ("/converse-stream", "bedrock-converse"),
        ("enerateContent", "gemini"),
    ];
    ends.iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| *wire)
}

/// The data of each event: name (if the stream gives one) and payload.
pub(crate) fn payloads(exchange: &Exchange) -> Vec<(Option<String>, String)> {
    match exchange.kind {
        ReplyKind::EventStream => event_stream(&exchange.reply),
        ReplyKind::Ndjson => {
            text(exchange).lines().filter(|l| !l.is_empty()).map(|l| (None, l.into())).collect()
        }
        ReplyKind::Sse => {
            let data = |l: &str| l.strip_prefix("data:").map(|d| (None, d.trim().to_owned()));
            text(exchange).lines().filter_map(data).collect()
        }
        ReplyKind::Whole | ReplyKind::Error => vec![(None, text(exchange))],
    }
}

fn text(exchange: &Exchange) -> String {
    String::from_utf8(exchange.reply.clone()).unwrap()
}

fn event_stream(bytes: &[u8]) -> Vec<(Option<String>, String)> {
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut out) = (0, Vec::new());
    while at < bytes.len() {
        let (total, headers) = (word(at), word(at + 4));
        let (mut h, end) = (at + 12, at + 12 + headers);
        let mut name = None;
        while h < end {
            let key_end = h + 1 + bytes[h] as usize;
            let key = &bytes[h + 1..key_end];
            let size = u16::from_be_bytes([bytes[key_end + 1], bytes[key_end + 2]]) as usize;
            let value = &bytes[key_end + 3..key_end + 3 + size];
            if key == b":event-type" {
                name = Some(String::from_utf8(value.to_vec()).unwrap());
            }
            h = key_end + 3 + size;
        }
        out.push((name, String::from_utf8(bytes[end..at + total - 4].to_vec()).unwrap()));
        at += total;
    }
    out
}

fn base64(text: &str) -> Vec<u8> {
    let value = |b: u8| match b {
        b'A'..=b'Z' => Some(b - b'A'),
        b'a'..=b'z' => Some(b - b'a' + 26),
        b'0'..=b'9' => Some(b - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut buffer, mut bits) = (Vec::new(), 0u32, 0);
    for six in text.bytes().filter_map(value) {
        buffer = buffer << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((buffer >> bits) as u8);
        }
    }
    out
}
