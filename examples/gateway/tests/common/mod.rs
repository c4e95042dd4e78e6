//! Runs the built program.
#![expect(dead_code, clippy::unwrap_used, reason = "each test program uses a part")]

#[cfg(feature = "serve")]
pub(crate) mod gateway;
#[cfg(feature = "serve")]
pub(crate) mod http;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn out_text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }
}

/// The program, in an empty folder and with nothing in its environment.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_omniroute"));
    command.env_clear().current_dir(scratch());
    command
}

/// Runs with `input` on standard input.
pub(crate) fn run(args: &[&str], input: &[u8]) -> Run {
    let mut command = program();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let out = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Run { code: out.status.code(), out: out.stdout, err: String::from_utf8(out.stderr).unwrap() }
}

/// A folder for this test program's files.
pub(crate) fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A bundled session.
pub(crate) fn session(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../omniroute-compress/tests/sessions").join(name)
}

/// Names of the bundled sessions.
pub(crate) fn sessions() -> Vec<PathBuf> {
    let folder = session("");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    // `<name>.<wire>.json`; other files there are about the sessions.
    files.retain(|f| f.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.split('.').count() == 3));
    files.sort();
    assert!(files.len() >= 6);
    files
}

/// Compares with a file in `tests/snapshots`; writes it if `BLESS=1`.
pub(crate) fn snapshot(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; BLESS=1 writes it anew");
}

/// A chat request with one shell call and its result.
pub(crate) fn chat(command: &str, result: &str) -> Vec<u8> {
    let arguments = serde_json::json!({ "command": command }).to_string();
    let call = serde_json::json!({"id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}});
    serde_json::json!({"model": "gpt-5", "messages": [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]})
    .to_string()
    .into_bytes()
}

/// Rows as an API returns them, in one JSON list.
pub(crate) fn rows(n: usize) -> String {
    let row =
        |n| format!("{{\"id\": {n}, \"name\": \"volume-{n}\", \"state\": \"attached\", \"zone\": \"eu-1\"}}");
    format!("[{}]\n", (0..n).map(row).collect::<Vec<_>>().join(",\n "))
}
