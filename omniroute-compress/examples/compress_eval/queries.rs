//! Needles: facts that a recorded agent made use of, with the message that used them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::Session;

/// A fact, and how many messages the request had in which it was needed.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    pub(crate) fact: String,
    pub(crate) used: usize,
}

/// The needles of a session: from the file beside the repository's sessions, or from the session's own file.
pub(crate) fn needles(session: &Session) -> Vec<Needle> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (stem, number) = session.name.split_once('#').unwrap_or((session.name.as_str(), "0"));
    let own = read(&here.join("tests/sessions/queries.json"));
    if let Some(list) = stem.strip_suffix(".openai").and_then(|name| own["sessions"][name].as_array()) {
        return list.iter().filter_map(|n| needle(n, "fact", "used_message")).collect();
    }
    let root =
        std::env::var_os("OMNIROUTE_DATA").map_or_else(|| here.join("../../shared/data"), PathBuf::from);
    for folder in ["sessions", "dev-sessions"] {
        let value = read(&root.join(folder).join(format!("{stem}.json")));
        let number: usize = number.parse().unwrap_or(0);
        let wrapped = if value["sessions"].is_array() { &value["sessions"][number] } else { &value };
        if let Some(list) = wrapped["queries"].as_array() {
            return list.iter().filter_map(|n| needle(n, "answer", "used_index")).collect();
        }
    }
    Vec::new()
}

fn needle(value: &Value, fact: &str, used: &str) -> Option<Needle> {
    let used = usize::try_from(value[used].as_u64()?).ok()?;
    Some(Needle { fact: value[fact].as_str()?.to_owned(), used })
}

fn read(path: &Path) -> Value {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
}
