//! `omniroute gain`: tables, JSON and CSV over a file of receipts.

mod common;

use common::{run, scratch, snapshot};
use serde_json::Value;

const RECEIPTS: &str = r#"{"wire":"text","applied":true,"tokens_before":1000,"tokens_after":200,"bytes_before":4000,"bytes_after":800,"steps":[{"engine":"rtk","segments_seen":1,"segments_changed":1,"tokens_in":1000,"tokens_out":200,"techniques":{"rtk-render":1,"test-cargo":1}}]}
{"wire":"text","applied":true,"tokens_before":500,"tokens_after":400,"bytes_before":2000,"bytes_after":1600,"steps":[{"engine":"rtk","segments_seen":1,"segments_changed":1,"tokens_in":500,"tokens_out":400,"techniques":{"rtk-filter":1,"make":1}}]}
{"wire":"text","applied":false,"tokens_before":90,"tokens_after":90,"bytes_before":300,"bytes_after":300,"steps":[{"engine":"rtk","segments_seen":1,"tokens_in":90,"tokens_out":90,"skips":{"no_gain":1}}]}
{"wire":"openai-chat","applied":true,"tokens_before":9000,"tokens_after":6000,"bytes_before":36000,"bytes_after":24000,"steps":[{"engine":"rtk","segments_seen":4,"segments_changed":3,"tokens_in":7000,"tokens_out":4000,"techniques":{"rtk-render":3,"git-diff":2,"shell-ls":1},"skips":{"file_view":1}}]}
"#;

#[test]
fn tables_json_and_csv() {
    for (name, args) in [
        ("gain-help.txt", vec!["gain", "--help"]),
        ("gain.txt", vec!["gain", "--file", "-"]),
        ("gain-by-filter.txt", vec!["gain", "--file", "-", "--by", "filter"]),
        ("gain.csv", vec!["gain", "--file", "-", "--csv"]),
        ("gain.json", vec!["gain", "--file", "-", "--json"]),
    ] {
        let ran = run(&args, RECEIPTS.as_bytes());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
        snapshot(name, ran.out_text());
    }
}

#[test]
fn what_compress_writes_can_be_added_up() {
    let ran = run(&["compress", "--command", "make", "--json"], &b"\x1b[32mok\x1b[0m\n".repeat(90));
    let file = scratch().join("receipts.jsonl");
    std::fs::write(&file, ran.err.repeat(2)).unwrap();
    let ran = run(&["gain", "--json", "--file", file.to_str().unwrap()], b"");
    let gain: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((&gain["requests"]["count"], &gain["results"]["count"]), (&2.into(), &2.into()), "{gain}");
    assert_eq!(gain["requests"]["saved"], gain["results"]["saved"]);
}

#[test]
fn says_what_is_missing() {
    for (args, input, code, out, says) in [
        (vec!["gain", "--file", "-"], "", 0, "no data yet\n", ""),
        (vec!["gain", "--file", "-"], "nothing\n", 1, "", "-:1: left out, not JSON, column 1"),
        (vec!["gain", "--file", "-"], "[1]\n", 1, "", "there is no receipt in the file"),
        (vec!["gain", "--file", "no-such-file"], "", 3, "", "it does not exist"),
        (vec!["gain"], "", 2, "", "--file"),
        (vec!["gain", "--file", "-", "--json", "--csv"], "", 2, "", "cannot be used with"),
        (vec!["gain", "--file", "-", "--by", "week"], "", 2, "", "class, filter, day"),
    ] {
        let ran = run(&args, input.as_bytes());
        assert_eq!((ran.code, ran.out_text()), (Some(code), out), "{args:?}\n{}", ran.err);
        assert!(ran.err.contains(says), "{args:?}\n{}", ran.err);
    }
    let requests = "{\"tokens_before\": 9, \"tokens_after\": 5}\n{}\n";
    let ran = run(&["gain", "--file", "-", "--csv"], requests.as_bytes());
    assert!(
        ran.code == Some(0) && ran.err.contains("-:2: left out") && ran.err.contains("no rows:"),
        "{}",
        ran.err
    );
}
