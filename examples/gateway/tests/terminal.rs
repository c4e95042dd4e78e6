//! The program on a terminal: colour and bars are there, and in pipes they are not.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{chat, program, rows, run, scratch, session};
use pty_process::Size;
use pty_process::blocking::{Command, open};

/// What a terminal of `columns` shows of standard error, and of standard output if `both`.
fn on_terminal(args: &[&str], file: &Path, columns: u16, both: bool, env: &[(&str, &str)]) -> String {
    let (mut pty, pts) = open().unwrap();
    pty.resize(Size::new(24, columns)).unwrap();
    let mut command =
        Command::new(env!("CARGO_BIN_EXE_omniroute")).args(args).arg(file).current_dir(scratch());
    command = command.env_clear().env("TERM", "xterm").envs(env.iter().copied());
    if !both {
        command = command.stdout(Stdio::null());
    }
    let mut child = command.spawn(pts).unwrap();
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match pty.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => shown.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break, // the other end is closed
        }
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&shown).into_owned()
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn large_inputs_have_a_bar_on_a_terminal() {
    let text = "a line that is not like json\n".repeat(100_000);
    let large = file("large.txt", text.as_bytes());
    let shown = on_terminal(&["compress"], &large, 80, false, &[]);
    assert!(shown.contains("compressing") && shown.contains("MiB"), "{shown:?}");
    assert!(shown.contains("unchanged:"), "the summary follows the bar: {shown:?}");
    let shown = on_terminal(&["count"], &large, 80, false, &[]);
    assert!(shown.contains("counting"), "{shown:?}");

    for args in [["compress", "--quiet"], ["compress", "--json"], ["count", "--quiet"]] {
        let shown = on_terminal(&args, &large, 80, false, &[]);
        assert!(!shown.contains("ing ") && !shown.contains('\u{1b}'), "{args:?}: {shown:?}");
    }
    let small = file("small.txt", &text.as_bytes()[..1000]);
    let shown = on_terminal(&["compress"], &small, 80, false, &[]);
    assert!(!shown.contains("compressing"), "{shown:?}");

    // The same without a terminal.
    let ran = run(&["compress", large.to_str().unwrap()], b"");
    assert!(
        ran.err.starts_with("unchanged:") && !ran.err.contains('\u{1b}') && !ran.err.contains('\r'),
        "{:?}",
        ran.err
    );
    assert!(ran.out == text.as_bytes());
}

#[test]
fn colour_on_a_terminal_only() {
    let body = file("rows.json", &chat("curl -s localhost/volumes", &rows(40)));
    let green = "\u{1b}[1;32m-";
    let shown = on_terminal(&["compress"], &body, 80, false, &[]);
    assert!(shown.contains(green), "{shown:?}");
    for env in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        let shown = on_terminal(&["compress"], &body, 80, false, &env);
        assert!(shown.contains("% of the request") && !shown.contains('\u{1b}'), "{env:?}: {shown:?}");
    }
    assert!(
        on_terminal(&["compress"], &body, 80, false, &[("NO_COLOR", "")]).contains(green),
        "an empty one is none"
    );
    assert!(!run(&["compress", body.to_str().unwrap()], b"").err.contains('\u{1b}'));
}

#[test]
fn tables_fit_the_terminal() {
    let call = |name: &str| serde_json::json!({"id": name, "function": {"name": name, "arguments": "{}"}});
    let calls = ["search_in_all_files", "read_one_file", "list_directories"].map(call);
    let body = serde_json::json!({"messages": [
        {"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls},
    ]});
    let body = file("wide.json", body.to_string().as_bytes());
    for (columns, whole) in [(120, true), (60, false), (48, false)] {
        let shown = on_terminal(&["count", "-q"], &body, columns, true, &[]);
        let widest = shown.lines().map(|l| l.trim_end().chars().count()).max().unwrap();
        assert!(widest <= usize::from(columns), "{columns}: {shown}");
        assert_eq!(shown.contains("list_directories"), whole, "{shown}");
        assert_eq!(shown.contains("..."), !whole, "{shown}");
    }
    // In a pipe nothing is cut.
    assert!(run(&["count", body.to_str().unwrap()], b"").out_text().contains("list_directories"));
}

/// Standard input from a file, standard output to a file: the everyday redirections.
#[test]
fn files_in_and_out() {
    let (from, to) = (session("ledger.openai.json"), scratch().join("out.json"));
    let status = program()
        .arg("compress")
        .stdin(File::open(&from).unwrap())
        .stdout(File::create(&to).unwrap())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read(&to).unwrap(), run(&["compress", from.to_str().unwrap()], b"").out);
}
