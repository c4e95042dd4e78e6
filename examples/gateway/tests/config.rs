//! `omniroute config`: every mistake is told with its place, no secret is ever shown.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Run, program, scratch, snapshot};
use serde_json::Value;

/// What no output may hold.
const SECRETS: [&str; 2] = ["verysecret", "sk-very"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn done(mut command: Command) -> Run {
    let out = command.output().unwrap();
    Run { code: out.status.code(), out: out.stdout, err: String::from_utf8(out.stderr).unwrap() }
}

/// Runs in a folder, with one variable that configurations may name.
fn within(folder: &Path, args: &[&str]) -> Run {
    let mut command = program();
    command.args(args).current_dir(folder).env("PRESENT", "sk-verysecret0000");
    done(command)
}

/// A folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = scratch().join(format!("config-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[cfg(unix)]
fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The broken files with what they name beside them.
fn broken() -> (PathBuf, Vec<String>) {
    let folder = folder("broken");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/broken")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            std::fs::write(folder.join(&name), std::fs::read(&path).unwrap()).unwrap();
            mode(&folder.join(&name), if name.starts_with("W005") { 0o644 } else { 0o600 });
            names.push(name);
        }
    }
    std::fs::create_dir(folder.join("keys")).unwrap();
    std::fs::write(folder.join("keys/open.key"), "sk-verysecret0003\n").unwrap();
    mode(&folder.join("keys/open.key"), 0o644);
    names.sort();
    (folder, names)
}

/// Each file is wrong in one way; what is told of all of them is compared with a file.
#[cfg(unix)]
#[test]
fn broken_files_are_told_with_code_place_and_rule() {
    let (folder, names) = broken();
    assert!(names.len() >= 80, "{}", names.len());
    let mut shown = String::new();
    let mut seen = BTreeSet::new();
    for name in &names {
        let text = within(&folder, &["config", "check", "--config", name]);
        let json = within(&folder, &["config", "check", "--json", "--config", name]);
        let code = name.split('-').next().unwrap();
        let told: Value = serde_json::from_slice(&json.out).unwrap();
        let all = || told["errors"].as_array().unwrap().iter().chain(told["warnings"].as_array().unwrap());
        assert!(all().count() > 0, "{name}");
        for one in all() {
            // A plain secret in a file that others can read is told of both.
            let also = code == "W005" && one["code"] == "W004";
            assert!(one["code"] == code || also, "{name}: {}", text.out_text());
            seen.insert(one["code"].as_str().unwrap().to_owned());
            let (line, column) = (one["line"].as_u64().unwrap(), one["column"].as_u64().unwrap());
            let end = one["end_column"].as_u64().unwrap();
            assert!(line >= 1 && column >= 1 && end >= column, "{one}");
            assert_eq!(one["file"], name.as_str());
        }
        let expected = if code.starts_with('C') { 78 } else { 0 };
        assert_eq!((text.code, json.code), (Some(expected), Some(expected)), "{name}");
        for run in [&text, &json] {
            let whole = format!("{}{}", run.out_text(), run.err);
            assert!(!SECRETS.iter().any(|secret| whole.contains(secret)), "{name}: {whole}");
        }
        shown.push_str(&format!("> {name}\n{}\n", text.out_text()));
    }
    snapshot("config-broken.txt", &shown);
    let page = std::fs::read_to_string(root().join("../../docs/src/configuration.md")).unwrap();
    for code in &seen {
        assert!(page.contains(&format!("| {code} |")), "{code} is not in docs/src/configuration.md");
    }
    // And each that the page names has a file.
    let listed =
        page.lines().filter_map(|line| line.strip_prefix("| ")).filter_map(|line| line.split(' ').next());
    for code in listed.filter(|code| code.len() == 4 && code.starts_with(['C', 'W'])) {
        assert!(seen.contains(code), "no broken file for {code}");
    }
}

/// All at once, in the order of the file, at most fifty shown.
#[test]
fn all_mistakes_are_told_at_once() {
    let folder = folder("many");
    let mut text =
        String::from("[gateway]\nheaders = \"ful\"\n[store]\nkind = \"x\"\n[routing]\nseeed = 1\n");
    std::fs::write(folder.join("a.toml"), &text).unwrap();
    let ran = within(&folder, &["config", "check", "--config", "a.toml", "--json"]);
    let told: Value = serde_json::from_slice(&ran.out).unwrap();
    let found: Vec<(&str, u64)> = told["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["code"].as_str().unwrap(), one["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [("C005", 2), ("C005", 4), ("C003", 6)]);
    for number in 0..60 {
        text.push_str(&format!("odd{number} = 1\n"));
    }
    std::fs::write(folder.join("a.toml"), &text).unwrap();
    let ran = within(&folder, &["config", "check", "--config", "a.toml"]);
    assert_eq!(ran.out_text().matches("error[").count(), 50);
    assert!(ran.out_text().ends_with("63 errors (13 of them not shown)\n"), "{}", ran.out_text());
}

/// The example of the documentation is right, and what it says is what holds.
#[test]
fn the_example_of_the_documentation_loads() {
    let page = std::fs::read_to_string(root().join("../../docs/src/configuration.md")).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = folder("example");
    std::fs::write(folder.join("omniroute.toml"), example).unwrap();
    let ran = within(&folder, &["config", "check", "--config", "omniroute.toml", "--json"]);
    let told: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(told["errors"], serde_json::json!([]));
    for warning in told["warnings"].as_array().unwrap() {
        assert!(["W001", "W002"].contains(&warning["code"].as_str().unwrap()), "{warning}");
    }
    // Each key in it is in the schema.
    let schema: Value = serde_json::from_slice(&within(&folder, &["config", "schema"]).out).unwrap();
    let document: Value = toml::from_str(example).unwrap();
    fits(&document, &schema, "");
}

/// Walks a document along a schema; every key must be in it.
fn fits(value: &Value, schema: &Value, path: &str) {
    match value {
        Value::Object(members) => {
            let schema = schema["anyOf"]
                .as_array()
                .and_then(|some| {
                    some.iter().find(|one| members.keys().all(|key| !one["properties"][key].is_null()))
                })
                .unwrap_or(schema);
            for (key, value) in members {
                let inner = &schema["properties"][key];
                let free = schema["additionalProperties"].is_object() || schema["properties"].is_null();
                assert!(free || !inner.is_null(), "{path}.{key} is not in the schema");
                if !free {
                    fits(value, inner, &format!("{path}.{key}"));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fits(item, &schema["items"], path)),
        _ => {}
    }
}

#[test]
fn the_schema_is_the_one_that_is_checked_in() {
    let ran = within(&scratch(), &["config", "schema"]);
    let path = root().join("omniroute.schema.json");
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, &ran.out).unwrap();
    }
    assert_eq!(ran.out_text(), std::fs::read_to_string(path).unwrap(), "BLESS=1 writes it anew");
}

/// A file with secrets in every way, and what must not show of it.
fn secretive(folder: &Path) {
    let hash = "ab".repeat(32);
    std::fs::write(folder.join("one.key"), "sk-verysecret0001\n").unwrap();
    std::fs::write(
        folder.join("omniroute.toml"),
        format!(
            "[gateway]\nheaders = \"minimal\"\n[[gateway.keys]]\nname = \"laptop\"\nhash = \"sha256:{hash}\"\n\
             scopes = [\"chat\"]\n\
             [[connections]]\nid = \"openai/a\"\nkey = \"sk-verysecret0002\" # sk-verysecret0004\n\
             [[connections]]\nid = \"openai/b\"\nkey = {{ file = \"one.key\" }}\n\
             [[connections]]\nid = \"groq/c\"\nkeys = [\"sk-verysecret0003\", {{ env = \"PRESENT\" }}]\n\
             [store]\nkind = \"redis\"\nurl = \"redis://:sk-verysecret0005@127.0.0.1:1/0\"\n"
        ),
    )
    .unwrap();
    #[cfg(unix)]
    for name in ["one.key", "omniroute.toml"] {
        mode(&folder.join(name), 0o600);
    }
}

#[test]
fn no_output_shows_a_secret() {
    let folder = folder("secrets");
    secretive(&folder);
    let hash = "ab".repeat(32);
    for args in [
        &["config", "check"][..],
        &["config", "check", "--json"],
        &["config", "show"],
        &["config", "show", "--origin"],
        &["config", "show", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["route", "explain", "auto"],
        &["route", "explain", "auto", "--json"],
        &["serve", "--listen", "nowhere"], // ends: that is no address
    ] {
        let all = [args, &["--config", "omniroute.toml"]].concat();
        let ran = within(&folder, &all);
        let whole = format!("{}{}", ran.out_text(), ran.err);
        assert!(!whole.is_empty(), "{all:?}");
        assert!(!SECRETS.iter().any(|secret| whole.contains(secret)), "{all:?}: {whole}");
        assert!(!whole.contains(&hash), "{all:?}: {whole}");
    }
}

/// The twin of the test above: a value that is no secret is found where one would be.
#[test]
fn what_is_no_secret_is_shown() {
    let folder = folder("open");
    std::fs::write(folder.join("omniroute.toml"), "[gateway]\nallowed_hosts = [\"verysecret.example\"]\n")
        .unwrap();
    let ran = within(&folder, &["config", "show", "--config", "omniroute.toml"]);
    assert!(ran.out_text().contains("verysecret"), "{}", ran.out_text());
}

#[test]
fn every_value_says_where_it_comes_from() {
    let folder = folder("origin");
    std::fs::create_dir(folder.join("more")).unwrap();
    std::fs::write(
        folder.join("more/b.toml"),
        "[gateway]\nallowed_hosts = [\"b.example\"]\nheaders = \"none\"\n",
    )
    .unwrap();
    std::fs::write(
        folder.join("a.toml"),
        "include = [{ path = \"more/b.toml\" }, { path = \"c.toml\", optional = true }]\n\
         [gateway]\nallowed_hosts = [\"a.example\"]\nheaders = \"full\"\n[routing]\nseed = 1\nmax_attempts = 3\n",
    )
    .unwrap();
    let mut command = program();
    command.args([
        "config",
        "show",
        "--origin",
        "--config",
        "a.toml",
        "--seed",
        "9",
        "--connection",
        "openai/x",
    ]);
    command.current_dir(&folder).env("OMNIROUTE__ROUTING__MAX_ATTEMPTS", "5");
    command.env("OMNIROUTE__RESILIENCE__CLASSES__OAUTH__RESET", "2m");
    let ran = done(command);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let line = |path: &str| {
        let line = ran.out_text().lines().find(|line| line.starts_with(&format!("{path} = "))).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for wanted in [
        "gateway.listen = \"127.0.0.1:20128\" # built-in",
        "gateway.headers = \"none\" # more/b.toml:3",
        "gateway.allowed_hosts = [\"a.example\", \"b.example\"] # a.toml:3",
        "routing.seed = 9 # option --seed",
        "routing.max_attempts = 5 # variable OMNIROUTE__ROUTING__MAX_ATTEMPTS",
        "connections[0].id = \"openai/x\" # option --connection",
        "resilience.classes.oauth.reset = \"2min\" # variable OMNIROUTE__RESILIENCE__CLASSES__OAUTH__RESET",
        "resilience.classes.api_key.reset = \"30s\" # built-in",
    ] {
        assert_eq!(line(wanted.split(" = ").next().unwrap()), wanted);
    }
}

#[test]
fn variables_that_mean_nothing_are_told() {
    let folder = folder("variables");
    for (name, value, rule) in [
        ("OMNIROUTE__GATEWAY__LISSTEN", "x", "names no key"),
        ("OMNIROUTE__CONNECTIONS__0__KEY", "sk-verysecret0001", "names a list of tables"),
        ("OMNIROUTE__GATEWAY", "x", "names a table"),
        ("OMNIROUTE__GATEWAY__MAX_BODY", "lots", "\"lots\" is no size"),
    ] {
        let mut command = program();
        command.args(["config", "check"]).current_dir(&folder).env(name, value);
        let ran = done(command);
        assert_eq!(ran.code, Some(78), "{name}");
        assert!(ran.out_text().contains(rule) && ran.out_text().contains(name), "{}", ran.out_text());
        assert!(!ran.out_text().contains("verysecret"), "{}", ran.out_text());
    }
}

#[test]
fn the_working_folder_is_not_searched_and_the_users_is() {
    let folder = folder("search");
    std::fs::write(folder.join("omniroute.toml"), "odd = 1\n").unwrap();
    let own = folder.join("home/omniroute");
    std::fs::create_dir_all(&own).unwrap();
    let check = |variables: &[(&str, &Path)]| {
        let mut command = program();
        command.args(["config", "check"]).current_dir(&folder).envs(variables.iter().copied());
        done(command).code
    };
    let home = folder.join("home");
    assert_eq!(check(&[("XDG_CONFIG_HOME", &home)]), Some(0));
    std::fs::write(own.join("omniroute.toml"), "odd = 1\n").unwrap();
    assert_eq!(check(&[("XDG_CONFIG_HOME", &home)]), Some(78));
    std::fs::write(folder.join("right.toml"), "").unwrap();
    assert_eq!(check(&[("XDG_CONFIG_HOME", &home), ("OMNIROUTE_CONFIG", Path::new("right.toml"))]), Some(0));
}

#[test]
fn a_file_to_begin_with_is_right_and_never_overwritten() {
    let folder = folder("init");
    let ran = within(&folder, &["config", "init", "new/omniroute.toml"]);
    assert_eq!((ran.code, ran.out_text()), (Some(0), "new/omniroute.toml\n"));
    let ran = within(&folder, &["config", "check", "--config", "new/omniroute.toml"]);
    assert_eq!((ran.code, ran.out_text()), (Some(0), "no errors\n"));
    let before = std::fs::read(folder.join("new/omniroute.toml")).unwrap();
    assert_eq!(within(&folder, &["config", "init", "new/omniroute.toml"]).code, Some(1));
    assert_eq!(std::fs::read(folder.join("new/omniroute.toml")).unwrap(), before);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.join("new/omniroute.toml").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // What is only a comment in it is right as well.
        let text = String::from_utf8(before).unwrap();
        let bare = |line: &str| {
            line.strip_prefix("# ")
                .filter(|rest| rest.starts_with('[') || rest.contains(" = "))
                .map(str::to_owned)
        };
        let text: Vec<String> =
            text.lines().map(|line| bare(line).unwrap_or_else(|| line.to_owned())).collect();
        let text = text.join("\n").replace("sha256:...", &format!("sha256:{}", "0".repeat(64)));
        std::fs::write(folder.join("whole.toml"), text).unwrap();
        let ran = within(&folder, &["config", "check", "--config", "whole.toml", "--json"]);
        let told: Value = serde_json::from_slice(&ran.out).unwrap();
        assert_eq!(told["errors"], serde_json::json!([]));
    }
}

#[test]
fn keys_are_made_and_hashed() {
    let made = within(&scratch(), &["key", "new", "--json"]);
    let made: Value = serde_json::from_slice(&made.out).unwrap();
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("or_") && key.len() == 67, "{key}");
    let hashed = common::run(&["key", "hash"], format!("{key}\n").as_bytes());
    assert_eq!(hashed.out_text().trim_end(), made["hash"].as_str().unwrap());
    let again: Value = serde_json::from_slice(&within(&scratch(), &["key", "new", "--json"]).out).unwrap();
    assert_ne!(again["key"], made["key"]);
    assert_eq!(common::run(&["key", "hash"], b"\n").code, Some(1));
}

#[test]
fn the_doctor_tells_what_is_in_the_way() {
    let folder = folder("doctor");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::fs::create_dir(folder.join("bin")).unwrap();
    std::fs::write(folder.join("bin/omniroute"), "").unwrap();
    std::fs::write(
        folder.join("a.toml"),
        format!(
            "[gateway]\nlisten = \"127.0.0.1:{port}\"\n[store]\nkind = \"memory\"\n\
             [[connections]]\nid = \"openai/a\"\nkey = {{ env = \"ABSENT\" }}\n\
             [[connections]]\nid = \"box/b\"\n[[providers]]\nid = \"box\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
        ),
    )
    .unwrap();
    let look = |args: &[&str]| {
        let mut command = program();
        command.args(["doctor", "--json", "--config", "a.toml"]).args(args).current_dir(&folder);
        command.env("PATH", folder.join("bin"));
        let ran = done(command);
        (ran.code, serde_json::from_slice::<Value>(&ran.out).unwrap())
    };
    let (code, told) = look(&[]);
    let states = |told: &Value| -> Vec<String> {
        let all = told["checks"].as_array().unwrap().iter();
        all.map(|one| format!("{} {}", one["check"].as_str().unwrap(), one["state"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(
        states(&told),
        ["config warn", "secret warn", "store ok", "port warn", "clock ok", "path warn"],
        "{told}"
    );
    assert_eq!(code, Some(0));
    // The real host of openai is left alone here; the one that is declared takes connections.
    std::fs::write(
        folder.join("a.toml"),
        format!(
            "[store]\nkind = \"memory\"\n[[connections]]\nid = \"box/b\"\n\
             [[providers]]\nid = \"box\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
        ),
    )
    .unwrap();
    let (_, told) = look(&["--online"]);
    assert!(states(&told).contains(&"host ok".to_owned()), "{told}");
    drop(taken);
    let (code, told) = look(&["--online"]);
    assert!(states(&told).contains(&"host fail".to_owned()), "{told}");
    assert_eq!(code, Some(1));
    std::fs::write(folder.join("a.toml"), "odd = 1\n").unwrap();
    assert_eq!(look(&[]).0, Some(78));
}

#[test]
fn help_of_the_new_commands() {
    let mut shown = String::new();
    for args in [
        &["config"][..],
        &["config", "check"],
        &["config", "show"],
        &["config", "schema"],
        &["config", "init"],
        &["key"],
        &["key", "new"],
        &["key", "hash"],
        &["doctor"],
    ] {
        let ran = within(&scratch(), &[args, &["--help"]].concat());
        assert_eq!(ran.code, Some(0));
        assert_eq!(ran.out_text().split("Examples:\n").nth(1).unwrap().lines().count(), 2, "two examples");
        shown.push_str(&format!("> omniroute {}\n{}\n", args.join(" "), ran.out_text()));
    }
    snapshot("config-help.txt", &shown);
}
