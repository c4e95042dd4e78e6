//! `omniroute compress --blobs` and `omniroute blobs`: what is left out, and how it comes back.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use common::{Run, rows, run, scratch, snapshot};
use serde_json::json;

/// A fresh file for one test.
fn store(name: &str) -> PathBuf {
    let folder = scratch().join(format!("blobs-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    folder.join("kept.db")
}

/// A request whose model has the retrieval tool, with one long list in it.
fn request() -> Vec<u8> {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "volumes", "arguments": "{}"}});
    json!({
        "model": "gpt-5",
        "tools": [tool("volumes"), tool("omniroute_ccr_retrieve")],
        "messages": [
            {"role": "user", "content": "Which volumes are there?"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": rows(400)},
        ],
    })
    .to_string()
    .into_bytes()
}

/// So many seconds ago, in milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the program has the same clock")]
fn ago(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    (now - u128::from(seconds) * 1_000).to_string()
}

fn compress(file: &Path, at: &str) -> Run {
    run(&["compress", "--blobs", file.to_str().unwrap(), "--at", at], &request())
}

fn blobs(file: &Path, args: &[&str]) -> Run {
    let mut all = vec!["blobs", "--store", file.to_str().unwrap()];
    all.extend(args);
    run(&all, b"")
}

/// The hash of the only handle in what was sent.
fn hash(sent: &Run) -> String {
    let text = sent.out_text();
    let (_, rest) = text.split_once("full -> CCR retrieve hash=").unwrap();
    rest.split(' ').next().unwrap().to_owned()
}

#[test]
fn what_is_left_out_is_listed_shown_and_removed() {
    let file = store("loop");
    let sent = compress(&file, &ago(330));
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    assert!(sent.out_text().contains("[CCR protocol]") && sent.out_text().contains("[ionizer: kept "));
    assert_eq!(compress(&file, &ago(330)).out, sent.out, "the same bytes again");
    let hash = hash(&sent);

    let list = blobs(&file, &["list"]);
    assert_eq!((list.code, list.err.as_str()), (Some(0), ""));
    snapshot("blobs-list.txt", list.out_text());

    let handle = format!("[CCR retrieve hash={hash} chars=1]");
    for name in [hash.as_str(), handle.as_str(), &hash.to_uppercase()] {
        let got = blobs(&file, &["get", name]);
        assert!(got.out == rows(400).as_bytes() && got.err.is_empty(), "{name} {}", got.err);
    }
    let mut shown = String::new();
    for ask in [
        r#"{"mode":"grep","pattern":"volume-25[0-2]\""}"#,
        r#"{"mode":"head","n":2}"#,
        r#"{"mode":"tail","n":1}"#,
        r#"{"mode":"lines","start":399,"end":500}"#,
        r#"{"mode":"lines","start":500}"#,
    ] {
        let got = blobs(&file, &["get", &hash, "--ask", ask]);
        assert_eq!((got.code, got.err.as_str()), (Some(0), ""), "{ask}");
        shown.push_str(&format!("> {ask}\n{}\n", got.out_text()));
    }
    snapshot("blobs-get.txt", &shown);

    let removed = blobs(&file, &["remove", &handle]);
    assert_eq!((removed.code, removed.out_text()), (Some(0), format!("removed {hash}\n").as_str()));
    assert_eq!(blobs(&file, &["remove", &hash]).code, Some(3));
    let empty = blobs(&file, &["list"]);
    assert_eq!((empty.out_text(), empty.err.as_str()), ("", "nothing is kept for \"embedded\"\n"));
}

#[test]
fn nothing_is_left_out_that_could_not_be_fetched() {
    let plain = run(&["compress"], &request());
    assert!(plain.code == Some(0) && !plain.out_text().contains("CCR"), "{}", plain.err);
    // Kept a day and more ago: it is gone for a reader of today.
    let file = store("old");
    let sent = compress(&file, &ago(100_000));
    let got = blobs(&file, &["get", &hash(&sent)]);
    assert_eq!(got.code, Some(3));
    assert!(got.err.ends_with("is not kept any more\n"), "{}", got.err);
}

#[test]
fn mistakes_name_the_value_the_place_and_the_rule() {
    let file = store("mistakes");
    let hash = hash(&compress(&file, &ago(5)));
    let none = "0123456789abcdef01234567";
    let mut said = String::new();
    for (code, args) in [
        (2, vec!["get", "zz"]),
        (2, vec!["remove", "zz"]),
        (3, vec!["get", none]),
        (3, vec!["remove", none]),
        (2, vec!["get", &hash, "--ask", "{"]),
        (2, vec!["get", &hash, "--ask", "[1]"]),
        (2, vec!["get", &hash, "--ask", r#"{"mode":"all"}"#]),
        (2, vec!["get", &hash, "--ask", r#"{"mode":"head","n":0}"#]),
        (2, vec!["get", &hash, "--ask", r#"{"mode":"lines","start":5,"end":4}"#]),
        (2, vec!["get", &hash, "--ask", r#"{"mode":"grep","pattern":"a(b"}"#]),
        (2, vec!["get", &hash, "--ask", r#"{"offset":99999999}"#]),
    ] {
        let ran = blobs(&file, &args);
        assert_eq!((ran.code, ran.out_text()), (Some(code), ""), "{args:?}\n{}", ran.err);
        said.push_str(&format!("> {}\n{}", args.join(" ").replace(&hash, "HASH"), ran.err));
    }
    snapshot("blobs-mistakes.txt", &said);
    assert_eq!(blobs(&file, &["list", "--limit", "0"]).code, Some(2));
    // Another tenant has nothing, and is not told that somebody else has.
    let other = run(&["blobs", "--store", file.to_str().unwrap(), "--principal", "b", "get", &hash], b"");
    assert_eq!(other.err.replace(&hash, none), blobs(&file, &["get", none]).err);

    let missing = blobs(&file.with_file_name("none.db"), &["list"]);
    assert!(
        missing.code == Some(3) && missing.err.ends_with("none.db\": it does not exist\n"),
        "{}",
        missing.err
    );
    let text = file.with_file_name("notes.txt");
    std::fs::write(&text, "notes of mine\n".repeat(99)).unwrap();
    let damaged = blobs(&text, &["list"]);
    assert!(
        damaged.code == Some(1) && damaged.err.contains("notes.txt: the file is damaged"),
        "{}",
        damaged.err
    );
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "notes of mine\n".repeat(99));
}

#[test]
fn help_has_examples() {
    let help = run(&["blobs", "--help"], b"");
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    snapshot("blobs-help.txt", help.out_text());
}
