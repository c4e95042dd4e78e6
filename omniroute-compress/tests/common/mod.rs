//! Sessions for tests: our own from the tree, others from the data folder.
#![expect(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test program uses a part")]

pub mod agent;
pub mod bodies;
pub mod caching;
pub mod engines;
pub mod markers;
pub mod prefix;
pub mod random;
pub mod transcripts;

use std::path::{Path, PathBuf};

use omniroute_core::wire::{self, Wire};
use serde_json::Value;

/// A recorded session: the request body as an agent would send it at the end.
#[derive(Debug, Clone)]
pub struct Session {
    pub name: String,
    pub wire: Wire,
    pub body: Value,
}

impl Session {
    /// Name of the member that holds the messages.
    pub fn list(&self) -> &'static str {
        ["messages", "input", "contents"].into_iter().find(|k| self.body[*k].is_array()).unwrap()
    }

    pub fn messages(&self) -> &Vec<Value> {
        self.body[self.list()].as_array().unwrap()
    }

    /// The body with only the first `n` messages.
    pub fn first(&self, n: usize) -> Vec<u8> {
        let mut body = self.body.clone();
        body[self.list()].as_array_mut().unwrap().truncate(n);
        serde_json::to_vec(&body).unwrap()
    }

    /// The same with one more tool.
    pub fn with_tool(&self, name: &str) -> Session {
        let mut session = self.clone();
        let mut tools = session.body["tools"].as_array().cloned().unwrap_or_default();
        tools.push(agent::tool(session.wire, name));
        session.body["tools"] = Value::Array(tools);
        session
    }

    /// Up to `n` lengths at which an agent would have sent a request: after a user's or tool's message.
    pub fn cuts(&self, n: usize) -> Vec<usize> {
        let messages = self.messages();
        let asks = |m: &Value| match (m["role"].as_str(), m["type"].as_str()) {
            (Some("assistant" | "model"), _) => false,
            (None, Some(kind)) => kind.ends_with("_output"),
            _ => true,
        };
        let all: Vec<usize> = (1..=messages.len()).filter(|k| asks(&messages[k - 1])).collect();
        let last = all.len() - 1;
        let step = |i: usize| all[if n >= all.len() { i } else { i * last / (n - 1) }];
        (0..n.min(all.len())).map(step).collect()
    }
}

/// The project's own sessions.
pub fn own() -> Vec<Session> {
    sessions_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions"))
}

/// The long session of the benches and the lengths at which its turns end.
pub fn bench() -> (Session, Vec<usize>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/data");
    let read = |name| serde_json::from_slice::<Value>(&std::fs::read(folder.join(name)).unwrap()).unwrap();
    let turns = read("session-150k.turns.json");
    let ends = turns["turn_ends"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    (session("session-150k", &read("session-150k.json")), ends)
}

/// Own sessions and those of the data folder (`OMNIROUTE_DATA`, default beside the workspace). Prints what is
/// missing; if the variable is set, a missing folder is a failure.
pub fn all() -> Vec<Session> {
    let mut out = own();
    let named = std::env::var_os("OMNIROUTE_DATA").map(PathBuf::from);
    let root =
        named.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"));
    for folder in ["sessions", "dev-sessions"] {
        let folder = root.join(folder);
        if folder.is_dir() {
            out.extend(sessions_in(&folder));
        } else {
            assert!(named.is_none(), "OMNIROUTE_DATA is set and {} is missing", folder.display());
            eprintln!("skipped: 1 folder of sessions ({})", folder.display());
        }
    }
    out
}

fn sessions_in(folder: &Path) -> Vec<Session> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        if !stem.contains('.') {
            continue;
        }
        let value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        match value["sessions"].as_array() {
            Some(many) => {
                out.extend(many.iter().enumerate().map(|(i, v)| session(&format!("{stem}#{i}"), v)))
            }
            None => out.push(session(&stem, &value)),
        }
    }
    out
}

/// Session files wrap a body: some members are the recorder's, and Codex' system text is `instructions`.
fn session(name: &str, wrapper: &Value) -> Session {
    let wire = match () {
        () if wrapper["contents"].is_array() => wire::GEMINI,
        () if wrapper["input"].is_array() => wire::OPENAI_RESPONSES,
        () if name.contains(".anthropic") => wire::ANTHROPIC,
        () => wire::OPENAI_CHAT,
    };
    let mut body = serde_json::Map::new();
    for (key, value) in wrapper.as_object().unwrap() {
        let key = match key.as_str() {
            "system" if wire.id() == "openai-responses" => "instructions",
            "session" | "wire" | "provider_usage" | "queries" | "reward" => continue,
            other => other,
        };
        body.insert(key.to_owned(), value.clone());
    }
    Session { name: name.to_owned(), wire, body: Value::Object(body) }
}
