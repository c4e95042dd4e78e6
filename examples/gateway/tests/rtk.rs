//! `omniroute rtk`: the catalogue, tests inside filter files, and trust from the first look to the changed file.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Run, run, scratch, snapshot};
use serde_json::Value;

const FILTER: &str = r#"schema_version = 2

[filters.deploy-up]
description = "what changed; waiting becomes a count"
category = "cloud"
commands = ["deployctl up"]
strip_lines_matching = ['^waiting for ']
counted_as = "progress lines"
replace = [{ pattern = '^updated service/', replacement = '~' }]

[[tests.deploy-up]]
name = "waiting is counted"
command = "deployctl up prod"
exit_code = 0
input = """
updated service/web
waiting for service/web to become ready
waiting for service/web to become ready, 1 of 3
waiting for service/web to become ready, 2 of 3
1 changed, 4 unchanged
"""
expected = """
~web
[rtk: 3 progress lines omitted]
1 changed, 4 unchanged
"""
"#;

/// A project with this filter file, and a user's folder; both are new.
#[derive(Debug)]
struct Place {
    root: PathBuf,
    data: PathBuf,
}

impl Place {
    fn new(name: &str, filters: &str) -> Place {
        let folder = scratch().join(name);
        let _ = fs::remove_dir_all(&folder);
        let place = Place { root: folder.join("project"), data: folder.join("user") };
        fs::create_dir_all(place.root.join(".rtk")).unwrap();
        fs::create_dir_all(place.data.join("rtk")).unwrap();
        place.write(filters);
        place
    }

    fn write(&self, filters: &str) {
        fs::write(self.root.join(".rtk/filters.toml"), filters).unwrap();
    }

    fn run(&self, args: &[&str], input: &[u8]) -> Run {
        let folders = ["--root", self.root.to_str().unwrap(), "--data-dir", self.data.to_str().unwrap()];
        run(&[args, &folders].concat(), input)
    }

    /// Compresses an output of the project's tool.
    fn deploy(&self) -> Run {
        let waiting: String =
            (0..30).map(|n| format!("waiting for service/web to become ready, {n} of 30\n")).collect();
        let text = format!("updated service/web\n{waiting}1 changed, 4 unchanged\n");
        self.run(&["compress", "--plan", "rtk", "--command", "deployctl up prod"], text.as_bytes())
    }
}

fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

#[test]
fn help() {
    for (name, args) in [
        ("rtk-help.txt", vec!["rtk", "--help"]),
        ("rtk-trust-help.txt", vec!["rtk", "trust", "--help"]),
        ("rtk-verify-help.txt", vec!["rtk", "verify", "--help"]),
        ("rtk-filters-help.txt", vec!["rtk", "filters", "--help"]),
    ] {
        let ran = run(&args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        assert_eq!(ran.out_text().matches("\n  omniroute ").count(), 2, "two examples");
        snapshot(name, ran.out_text());
    }
}

/// The list of all filters, so that a review sees what a change of a filter file means.
#[test]
fn catalogue() {
    let ran = run(&["rtk", "filters"], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    snapshot("rtk-filters.txt", ran.out_text());
    let json: Value = serde_json::from_slice(&run(&["rtk", "filters", "--json"], b"").out).unwrap();
    let filters = json["filters"].as_array().unwrap();
    assert_eq!(filters.len() + 1, ran.out_text().lines().count());
    assert!(filters.iter().all(|f| f["owner"] == "built-in" && f["capture"].is_string()), "{json}");
}

#[test]
fn built_in_filters_pass() {
    let ran = run(&["rtk", "verify", "--json"], b"");
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(
        (ran.code, ran.err.as_str(), &json["passed"]),
        (Some(0), "", &true.into()),
        "{}",
        json["errors"]
    );
    let sum = |key: &str| -> u64 {
        json["categories"].as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("tests"), json["tests"].as_array().unwrap().len() as u64);
    let ran = run(&["rtk", "verify"], b"");
    let total = ran.out_text().lines().find(|line| line.starts_with("total")).unwrap();
    let words: Vec<&str> = total.split_whitespace().collect();
    assert_eq!(words[1..3], [sum("filters").to_string(), sum("tests").to_string()]);
}

#[test]
fn every_mistake_has_its_place() {
    let folder = scratch().join("broken");
    fs::create_dir_all(&folder).unwrap();
    let files = [
        ("failing.toml", FILTER.replace("~web", "web")),
        ("keys.toml", FILTER.replace("counted_as", "count_as").replace("'^waiting for '", "'(?=x)a'")),
        ("pack.json", "[{\"id\": \"a\", \"label\": \"A\",\n  \"category\": \"tests\"}]".to_owned()),
    ];
    for (name, text) in &files {
        fs::write(folder.join(name), text).unwrap();
    }
    let run_here = |args: &[&str]| {
        let out = common::program().current_dir(&folder).args(args).output().unwrap();
        let (out_text, err) =
            (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
        (out.status.code(), out_text, err)
    };
    let (code, out, err) = run_here(&["rtk", "verify", "failing.toml", "keys.toml", "pack.json"]);
    assert_eq!(code, Some(1), "{err}");
    let (_, mistakes) = out.split_once("\ntotal").and_then(|(_, rest)| rest.split_once('\n')).unwrap();
    snapshot("rtk-verify-mistakes.txt", &format!("{mistakes}{err}"));

    let (code, out, _) = run_here(&["rtk", "verify", "failing.toml", "--json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &json["passed"], &json["errors"][0]["code"]),
        (Some(1), &false.into(), &"test-failed".into())
    );
    assert!(json["errors"][0]["line"].as_u64() > Some(1), "{json}");

    let untested = FILTER.split("[[tests").next().unwrap();
    fs::write(folder.join("untested.toml"), untested).unwrap();
    assert_eq!(run_here(&["rtk", "verify", "untested.toml"]).0, Some(0));
    assert_eq!(run_here(&["rtk", "verify", "untested.toml", "--all"]).0, Some(1));
    for (args, code) in [(["rtk", "verify", "no.toml"], 3), (["rtk", "verify", "x.yaml"], 2)] {
        assert_eq!(run_here(&args).0, Some(code), "{args:?}");
    }
}

#[test]
fn trust_from_the_first_look_to_a_change() {
    let place = Place::new("trust", FILTER);
    let store = place.data.join("rtk/trusted.json");
    let vouched = place.root.join(".rtk/trust.json");

    let ran = place.deploy();
    assert!(
        ran.code == Some(0) && ran.err.contains("skipped: untrusted; to load it, look at the file"),
        "{}",
        ran.err
    );
    assert!(!ran.out_text().contains("~web"));

    let asked = place.run(&["rtk", "trust"], b"y\n");
    assert_eq!(asked.code, Some(1), "nobody sits at a pipe");
    snapshot("rtk-trust.txt", &format!("{}{}", asked.out_text(), asked.err));
    let json = place.run(&["rtk", "trust", "--json"], b"");
    assert_eq!((json.code, json.err.lines().count()), (Some(1), 1));
    snapshot("rtk-trust.json", json.out_text());
    assert!(!exists(&store) && !exists(&vouched));

    let yes = place.run(&["rtk", "trust", "--yes", ".rtk/filters.toml"], b"");
    assert_eq!((yes.code, yes.err.as_str()), (Some(0), ".rtk/filters.toml: trusted\n"));
    assert!(exists(&store) && exists(&vouched));
    let again = place.run(&["rtk", "trust"], b"");
    assert!(
        again.code == Some(0) && again.out_text().contains("trusted by the user and the project"),
        "{again:?}"
    );

    let ran = place.deploy();
    assert!(ran.out_text().starts_with("~web\n[rtk: 30 progress lines omitted]\n"), "{}", ran.out_text());
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    let listed = place.run(&["rtk", "filters"], b"");
    assert!(listed.out_text().lines().nth(1).unwrap().starts_with("deploy-up"), "{}", listed.out_text());

    place.write(&FILTER.replace("~", "changed "));
    let ran = place.deploy();
    assert!(ran.err.contains("skipped: changed since trusted") && !ran.out_text().contains("changed web"));
}

/// A repository that brings filters can bring their hash as well.
#[test]
fn a_repository_cannot_vouch_for_itself() {
    let place = Place::new("vouch", FILTER);
    let other = Place::new("vouch-other", FILTER);
    assert_eq!(other.run(&["rtk", "trust", "--yes"], b"").code, Some(0));
    fs::copy(other.root.join(".rtk/trust.json"), place.root.join(".rtk/trust.json")).unwrap();
    let ran = place.deploy();
    assert!(ran.err.contains("skipped: untrusted") && !ran.out_text().contains("~web"), "{}", ran.err);
}

#[test]
fn files_that_cannot_be_trusted_are_refused() {
    let place = Place::new("refuse", "schema_version = 2\n[filters.a]\ncolour = 1\n");
    let ran = place.run(&["rtk", "trust", "--yes"], b"");
    assert!(ran.code == Some(1) && ran.out_text().contains("key \"category\" is missing"), "{ran:?}");
    assert!(!exists(&place.root.join(".rtk/trust.json")));
    let ran = place.run(&["rtk", "trust", "filters.toml"], b"");
    assert!(
        ran.err.contains("there is no filter file \"filters.toml\"; there is .rtk/filters.toml"),
        "{}",
        ran.err
    );
    let ran = run(&["rtk", "trust", "--root", "no-such-folder"], b"");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(run(&["rtk", "trust"], b"").err, "there are no filter files\n");
}

/// The program is over before anybody could fetch an original back.
#[test]
fn markers_name_no_original() {
    let line = |n: usize| {
        format!("2026-03-01T10:{:02}:{:02}Z INFO  served GET /items in {n} ms\n", n / 60 % 60, n % 60)
    };
    let log: String = (0..3000).map(line).collect();
    let ran = run(&["compress", "--command", "kubectl logs web-1", "--json"], log.as_bytes());
    assert!(ran.out_text().contains("[rtk: ") && !ran.out_text().contains(", id="), "{}", ran.out_text());
    let receipt: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((&receipt["plan"], &receipt["dropped"]["recoverable_bytes"]), (&"safe".into(), &0.into()));
}

/// On a terminal the user is asked.
#[cfg(unix)]
#[test]
fn asks_on_a_terminal() {
    use std::io::{BufRead, BufReader, Read, Write};

    for (answer, code) in [("n\n", 1), ("y\n", 0)] {
        let place = Place::new("ask", FILTER);
        let (pty, pts) = pty_process::blocking::open().unwrap();
        let mut command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_omniroute"));
        command =
            command.env_clear().current_dir(scratch()).args(["rtk", "trust", "--root"]).arg(&place.root);
        let mut child = command.arg("--data-dir").arg(&place.data).spawn(pts).unwrap();
        let mut shown = BufReader::new(&pty);
        let mut seen = Vec::new();
        shown.read_until(b'?', &mut seen).unwrap();
        (&pty).write_all(answer.as_bytes()).unwrap();
        let _ = shown.read_to_end(&mut seen); // the other end is closed
        let seen = String::from_utf8(seen).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{seen}");
        assert_eq!(exists(&place.data.join("rtk/trusted.json")), code == 0);
        assert!(seen.contains("trust .rtk/filters.toml? [y/N]"), "{seen}");
    }
}
