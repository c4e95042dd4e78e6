//! Help and tables, compared with files. `BLESS=1 cargo test -p omniroute-gateway` writes them anew.

mod common;

use common::{chat, run, session, sessions, snapshot};
use serde_json::Value;

#[test]
fn help() {
    for (name, args) in [
        ("help.txt", vec!["--help"]),
        ("compress-help.txt", vec!["compress", "--help"]),
        ("compress-short-help.txt", vec!["compress", "-h"]),
        ("count-help.txt", vec!["count", "--help"]),
    ] {
        let ran = run(&args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let text = ran.out_text();
        assert_eq!(
            text.matches("\n  omniroute ").count() + text.matches("| omniroute ").count(),
            2,
            "two examples\n{text}"
        );
        // The feature has an option and a command of its own.
        let with_blobs = cfg!(feature = "blobs") && name != "count-help.txt";
        snapshot(&if with_blobs { name.replace(".txt", ".blobs.txt") } else { name.to_owned() }, text);
    }
}

#[test]
fn count_tables() {
    for file in sessions() {
        let name = file.file_name().unwrap().to_str().unwrap().replace(".json", ".count.txt");
        let ran = run(&["count", file.to_str().unwrap()], b"");
        assert!(ran.code == Some(0) && ran.err.lines().count() == 1, "{}", ran.err);
        snapshot(&name, ran.out_text());
    }
}

/// The summary lines of the bundled sessions, without the time.
#[test]
fn summaries() {
    let mut lines = String::new();
    for file in sessions() {
        let ran = run(&["compress", file.to_str().unwrap()], b"");
        let (said, time) = ran.err.trim_end().rsplit_once(" in ").unwrap();
        let tenths = time.strip_suffix(" ms").unwrap().replace('.', "");
        assert!(tenths.bytes().all(|b| b.is_ascii_digit()), "{time}");
        lines.push_str(&format!("{}: {said}\n", file.file_name().unwrap().to_str().unwrap()));
    }
    snapshot("summaries.txt", &lines);
}

#[test]
fn count_json_adds_up() {
    let ran = run(&["count", "--json", session("shardkv.anthropic.json").to_str().unwrap()], b"");
    let count: Value = serde_json::from_slice(&ran.out).unwrap();
    let messages = count["messages"].as_array().unwrap();
    for key in ["characters", "tokens"] {
        let sum: u64 = messages.iter().map(|m| m[key].as_u64().unwrap()).sum();
        assert_eq!(sum, count["total"][key], "{key}");
    }
    assert_eq!((&messages[0]["role"], &messages[0]["index"]), (&"tools".into(), &Value::Null));
    assert!(messages.iter().any(|m| m["tools"] == serde_json::json!(["bash"])));

    let text: Value =
        serde_json::from_slice(&run(&["count", "--json"], "caf\u{e9}\n".as_bytes()).out).unwrap();
    assert_eq!((&text["wire"], &text["total"]["characters"]), (&"text".into(), &5.into()));
}

/// Names of tools come from outside.
#[test]
fn names_cannot_steer_the_terminal() {
    let body = String::from_utf8(chat("ls", "x")).unwrap().replace("\"bash\"", "\"b\\u001b[2Jash\"");
    let ran = run(&["count"], body.as_bytes());
    assert!(ran.out_text().contains("b?[2Jash") && !ran.out.contains(&0x1b), "{}", ran.out_text());
}
