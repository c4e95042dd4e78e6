//! `omniroute compress` as a pipe: what comes out, what is said, with which exit code.

mod common;

use common::{chat, program, rows, run, scratch, session, sessions};
use serde_json::Value;

const BROKEN: &str = "{\n  \"messages\": [\n    {\"role\": ]}\n";

#[test]
fn exit_codes() {
    let file = session("ledger.openai.json");
    let file = file.to_str().unwrap();
    let folder = scratch();
    let folder = folder.to_str().unwrap();
    for (args, input, code, says) in [
        (vec!["compress"], "hello\n", 0, "unchanged: nothing to shorten"),
        (vec!["compress", "-"], "hello\n", 0, "unchanged: nothing to shorten"),
        (vec!["compress", file], "", 0, "of the request) "),
        (vec!["compress", "--plan", "off"], BROKEN, 0, "unchanged: off (the plan has no steps)"),
        (vec!["compress"], BROKEN, 0, "unchanged: unparseable (json at line 3 column 14 (byte 31): "),
        (
            vec!["compress", "--strict"],
            BROKEN,
            1,
            "the input cannot be read: json at line 3 column 14 (byte 31): ",
        ),
        (vec!["compress", "--strict", "--plan", "off"], BROKEN, 1, "json at line 3"),
        (vec!["compress", "--strict", "--as", "gemini"], "{}", 1, "shape at line 1"),
        (vec!["compress", folder], "", 1, "it is a directory"),
        (vec!["compress", "no-such-file"], "", 3, "cannot read \"no-such-file\": it does not exist"),
        (vec!["compress", "--receipt", "no/such/folder"], "hello", 3, "cannot write \"no/such/folder\""),
        (vec!["compress", "--plan", "saef"], "", 2, "plan: \"saef\" is not known; did you mean \"safe\"?"),
        (vec!["compress", "--plan", "rows,rwos"], "", 2, "did you mean \"rows\"?"),
        (vec!["compress", "--as", "soap"], "", 2, "possible values: auto, text"),
        (
            vec!["compress", "--as", "openai", "--command", "ls"],
            "",
            2,
            "does not go together with --as openai-chat",
        ),
        (vec!["compress", "--json", "--quiet"], "", 2, "cannot be used with"),
        (vec!["compress", "--jsn"], "", 2, "--json"),
        (vec!["squeeze"], "", 2, "unrecognized subcommand"),
        (vec![], "", 2, "Usage: omniroute"),
        (vec!["count", file], "", 0, "openai-chat, estimated by"),
        (vec!["count"], BROKEN, 1, "the input cannot be read: json at line 3 column 14 (byte 31): "),
        (vec!["count", "no-such-file"], "", 3, "it does not exist"),
        (vec!["--version"], "", 0, ""),
    ] {
        let ran = run(&args, input.as_bytes());
        assert_eq!(ran.code, Some(code), "{args:?}\n{}", ran.err);
        assert!(ran.err.contains(says), "{args:?}\n{}", ran.err);
        assert!(code == 0 || ran.out.is_empty(), "{args:?}: a failure leaves nothing on standard output");
    }
}

/// As root every file can be read: the program is then run as a user who may not.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_4() {
    use std::fs::{Permissions, copy, create_dir_all, set_permissions, write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let folder = std::env::temp_dir().join(format!("omniroute-cli-{}", std::process::id()));
    create_dir_all(&folder).unwrap();
    set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let (secret, binary) = (folder.join("secret"), folder.join("omniroute"));
    write(&secret, "x").unwrap();
    copy(env!("CARGO_BIN_EXE_omniroute"), &binary).unwrap();
    let mut command = std::process::Command::new(&binary);
    command.current_dir(&folder).args(["compress"]).arg(&secret);
    if secret.metadata().unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    set_permissions(&secret, Permissions::from_mode(0o000)).unwrap();
    // Another test that starts a program in this moment holds the file open until that program runs.
    let busy = |out: &std::io::Result<_>| matches!(out, Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy);
    let mut out = command.output();
    for _ in 0..1_000 {
        if !busy(&out) {
            break;
        }
        std::thread::yield_now();
        out = command.output();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let out = out.unwrap();
    assert_eq!(out.status.code(), Some(4), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8_lossy(&out.stderr).contains("permission denied") && out.stdout.is_empty());
}

#[test]
fn what_is_not_changed_comes_out_as_the_same_bytes() {
    let body = std::fs::read(session("shopapi.openai.json")).unwrap();
    let short = chat("ls", "a.txt\nb.txt\n");
    let latin1 = b"caf\xe9 \xff\n".to_vec();
    let mut bad_request = chat("ls", "x");
    bad_request.extend(b"\xff");
    for (args, input, says) in [
        (vec!["--plan", "off"], &body, "off"),
        (vec!["--plan", "off", "--as", "text"], &body, "off"),
        (vec![], &short, "nothing to shorten in ~"),
        (vec![], &b"\x00\x01\r\n\r\n  ".to_vec(), "nothing to shorten"),
        (vec![], &Vec::new(), "nothing to shorten in ~0 tokens"),
        (vec![], &latin1, "unparseable (utf8 at line 1 column 4 (byte 3)"),
        (vec!["--command", "make"], &latin1, "unparseable (utf8 at line 1 column 4 (byte 3)"),
        (vec![], &bad_request, "unparseable (utf8 at line 1"),
        (vec!["--as", "anthropic"], &BROKEN.as_bytes().to_vec(), "unparseable (json at line 3"),
    ] {
        let args: Vec<&str> = ["compress"].into_iter().chain(args).collect();
        let ran = run(&args, input);
        assert_eq!((ran.code, &ran.out), (Some(0), input), "{args:?}");
        assert!(ran.err.starts_with("unchanged: ") && ran.err.contains(says), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1);
    }
}

#[test]
fn inputs_over_the_limit_pass_through() {
    let text = "0123456789abcde\n".repeat(20 << 16);
    assert_eq!(text.len(), 20 << 20);
    let mut body = chat("cat big", "").to_vec();
    body.extend(text.as_bytes());
    for input in [text.as_bytes(), &body] {
        let ran = run(&["compress"], input);
        assert_eq!(ran.code, Some(0));
        assert!(ran.out == input && ran.err.starts_with("unchanged: body_too_large ("), "{}", ran.err);
        let strict = run(&["compress", "--strict"], input);
        assert!(strict.code == Some(1) && strict.out.is_empty(), "{}", strict.err);
    }
}

#[test]
fn texts_are_compressed_as_the_output_of_a_tool() {
    let json = rows(60);
    let colours = "\u{1b}[32mok\u{1b}[0m   \n".repeat(50);
    for (args, input, engine) in [
        (vec!["compress"], json.as_str(), Some("rows x1")),
        (vec!["compress", "--as", "text"], json.as_str(), Some("rows x1")),
        (vec!["compress", "--command", "make all"], colours.as_str(), Some("rtk x1")),
        (vec!["compress"], colours.as_str(), None), // what printed it is not known
        (vec!["compress", "--command", "cat notes.txt"], colours.as_str(), None),
    ] {
        let ran = run(&args, input.as_bytes());
        match engine {
            Some(engine) => {
                assert!(
                    ran.out.len() < input.len() && ran.err.contains("% of the text) "),
                    "{args:?}: {}",
                    ran.err
                );
                assert!(ran.err.contains(engine), "{args:?}: {}", ran.err);
            }
            None => assert_eq!(ran.out_text(), input),
        }
    }
    // With a command line an input is a text, even one that looks like a request.
    let request = chat("ls", &colours);
    assert!(
        run(&["compress", "--command", "curl -s localhost"], &request).err.contains("nothing to shorten")
    );
    assert!(run(&["compress", "--as", "text"], &request).err.contains("nothing to shorten"));
}

#[test]
fn all_wires_are_found_out_and_wrappers_are_bodies() {
    for file in sessions() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let body = std::fs::read(&file).unwrap();
        let ran = run(&["compress", "--json"], &body);
        let receipt: Value = serde_json::from_str(&ran.err).unwrap();
        let wire = receipt["wire"].as_str().unwrap();
        let kind = name.split('.').nth(1).unwrap();
        assert!(wire.contains(kind), "{name}: {wire}");
        assert_eq!(receipt["applied"], true);
        assert!(serde_json::from_slice::<Value>(&ran.out).is_ok() && ran.out.len() < body.len());
        let named = run(&["compress", "-q", "--as", wire, file.to_str().unwrap()], b"");
        assert!(named.out == ran.out && named.err.is_empty());

        let mut wrapper: Value = serde_json::from_slice(&body).unwrap();
        wrapper["session"] = "s1".into();
        wrapper["wire"] = wire.into();
        if let Some(instructions) = wrapper.as_object_mut().unwrap().remove("instructions") {
            wrapper["system"] = instructions;
        }
        let ran = run(&["compress", "--json"], wrapper.to_string().as_bytes());
        let receipt: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!((&receipt["wire"], &receipt["applied"]), (&wire.into(), &true.into()), "{name}");
        let sent: Value = serde_json::from_slice(&ran.out).unwrap();
        assert_eq!((&sent["session"], &sent["wire"]), (&wrapper["session"], &wrapper["wire"]));
    }
}

#[test]
fn receipts_are_whole_and_private() {
    let path = scratch().join("receipt.json");
    std::fs::write(&path, "x".repeat(1 << 20)).unwrap(); // there already, longer, readable by all
    let body = chat("curl -s localhost/volumes", &rows(40));
    let ran = run(&["compress", "--receipt", path.to_str().unwrap()], &body);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = std::fs::read_to_string(&path).unwrap();
    let receipt: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&receipt["plan"], &receipt["wire"]), (&"safe".into(), &"openai-chat".into()));
    assert_eq!(receipt["bytes_before"], body.len());
    assert_eq!(receipt["bytes_after"], ran.out.len());
    assert!(receipt["edits"]["segments"].as_array().is_some_and(|s| s.len() == 1));
    assert!(text.starts_with("{\n  ") && text.ends_with("}\n") && !text.contains("volume-3"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let fresh = scratch().join("fresh.json");
        let _ = std::fs::remove_file(&fresh);
        run(&["compress", "--receipt", fresh.to_str().unwrap()], &body);
        for path in [path, fresh] {
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // A device is written to and stays what it was.
        let mode = || std::fs::metadata("/dev/null").unwrap().permissions().mode();
        let before = mode();
        assert_eq!(run(&["compress", "--receipt", "/dev/null"], &body).code, Some(0));
        assert_eq!(mode(), before);
    }
}

#[test]
fn json_is_exactly_one_document() {
    let body = chat("curl -s localhost/volumes", &rows(40));
    for input in [body.as_slice(), b"hello", BROKEN.as_bytes(), b"\xff"] {
        let ran = run(&["compress", "--json"], input);
        assert!(serde_json::from_str::<Value>(&ran.err).unwrap().is_object());
        assert_eq!(ran.err.lines().count(), 1);
        assert_eq!(ran.out, run(&["compress", "-q"], input).out);
    }
    let ran = run(&["count", "--json"], &body);
    assert!(serde_json::from_str::<Value>(ran.out_text()).unwrap().is_object() && ran.err.is_empty());
    assert!(run(&["compress", "--quiet"], &body).err.is_empty());
    assert!(run(&["count", "--quiet"], &body).err.is_empty());
}

#[test]
fn the_model_picks_the_counter() {
    let text = std::fs::read(session("ledger.openai.json")).unwrap();
    let mut seen = Vec::new();
    for (model, counter) in [
        ("gpt-5", "estimate:o200k"),
        ("gpt-4", "estimate:cl100k"),
        ("claude-sonnet-4-5", "estimate:claude"),
        ("claude-opus-4-7", "estimate:claude-new"),
        ("gemini-2.5-pro", "estimate:gemini"),
    ] {
        let count: Value =
            serde_json::from_slice(&run(&["count", "--json", "--model", model], &text).out).unwrap();
        let receipt: Value =
            serde_json::from_str(&run(&["compress", "--json", "--model", model], &text).err).unwrap();
        assert_eq!(
            (&count["counter"]["name"], &receipt["counter"]["name"]),
            (&counter.into(), &counter.into())
        );
        // Both commands count the same texts in the same way.
        assert_eq!(count["total"]["tokens"], receipt["tokens_before"], "{model}");
        seen.push(count["total"]["tokens"].as_u64().unwrap());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 5, "{seen:?}");
    // Without the option the request decides.
    let own = run(&["compress", "--json"], &chat("ls", "x")).err;
    assert!(own.contains("estimate:o200k"), "{own}");
}

/// A pipe whose reader goes away: no words, no failure.
#[test]
fn a_closed_pipe_ends_quietly() {
    let text = "a line of a long log\n".repeat(200_000);
    let file = scratch().join("long.log");
    std::fs::write(&file, &text).unwrap();
    // What `count` prints fits the pipe, so it may be through before the reader is gone.
    for args in [["compress", "--strict"], ["compress", "--plan=off"], ["count", "--quiet"]] {
        let mut child = program()
            .args(args)
            .arg(&file)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap();
        assert_eq!((out.status.code(), out.stderr.as_slice()), (Some(0), b"".as_slice()), "{args:?}");
    }
    // The same in a shell.
    #[cfg(unix)]
    {
        let line = "\"$0\" compress < \"$1\" | head -1";
        let mut shell = std::process::Command::new("sh");
        let out = shell.args(["-c", line, env!("CARGO_BIN_EXE_omniroute")]).arg(&file).output().unwrap();
        assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(out.stdout, b"a line of a long log\n");
    }
}

/// A full disk is told and does not end in a crash.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let out = program()
        .args(["compress", "--quiet"])
        .arg(session("ledger.openai.json"))
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        out.status.code() == Some(1) && said.starts_with("error: cannot write standard output: "),
        "{said}"
    );
}

/// A cloned repository has no say: nothing is read from the working folder.
#[test]
fn files_in_the_working_folder_are_not_read() {
    let folder = scratch().join("repository");
    std::fs::create_dir_all(folder.join(".rtk")).unwrap();
    std::fs::write(folder.join("omniroute.toml"), "not toml [").unwrap();
    std::fs::write(folder.join(".rtk/filters.json"), "not json").unwrap();
    let file = session("ledger.openai.json");
    let here = program().args(["compress", "-q"]).arg(&file).current_dir(&folder).output().unwrap();
    let there = run(&["compress", "-q", file.to_str().unwrap()], b"");
    assert!(here.status.success() && here.stdout == there.out);
}
