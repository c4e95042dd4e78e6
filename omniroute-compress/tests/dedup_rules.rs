//! When the two engines that refer back must not, and what append-only plans may touch at all.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::HashMap;

use common::engines::{compressor, run};
use common::random::{Turn, WIRES, file_line, session};
use common::{Session, transcripts};
use omniroute_compress::MemoLimits;
use omniroute_core::wire;
use serde_json::Value;

fn file(from: usize, to: usize) -> String {
    (from..to).map(|n| file_line(0, n) + "\n").collect()
}

fn used(tool: usize, target: usize, text: &str, is_error: bool) -> Turn {
    Turn::Used { tool, target, text: text.to_owned(), written: "short".to_owned(), is_error, in_two: false }
}

/// Reads the file again.
fn read() -> Turn {
    used(0, 0, &file(0, 40), false)
}

/// Looks at something else.
fn elsewhere(n: usize) -> Turn {
    used(3, n, &format!("answer {n}"), false)
}

fn edit(text: &str, is_error: bool) -> Turn {
    used(2, 0, text, is_error)
}

/// The results of a conversation as they are sent, by plan and wire.
fn sent(plan: &str, wire: wire::Wire, talk: &[Turn]) -> Vec<String> {
    let session = session(wire, talk);
    let body = session.first(session.messages().len());
    let out = run(&compressor(plan, MemoLimits::none()), wire, body);
    let value: Value = serde_json::from_slice(&out.body).unwrap();
    let items = transcripts::items(wire, &value, &value);
    items.into_iter().filter(|i| !i.is_call).flat_map(|i| i.texts).map(|(text, _)| text).collect()
}

/// Whether the last result of each conversation is sent in full as often as it must be.
fn shows_in_full(answer: impl Fn(&str, wire::Wire, &[Turn]) -> Vec<String>) -> Result<(), String> {
    let pause = |n: usize| (0..n).map(elsewhere).collect::<Vec<_>>();
    let mut within = vec![read(), read()];
    within.extend(pause(2));
    let mut later = vec![read(), read()];
    later.extend(pause(4));
    let by_line = edit("Error: old_string was not found in src/lib.rs", false);
    let table: Vec<(&str, Vec<Turn>, bool)> = vec![
        ("read once", vec![read()], false),
        ("answered by a reference a moment ago", vec![read(), read()], true),
        ("answered by a reference within three calls", within, true),
        ("answered by a reference four calls ago", later, false),
        ("an edit between that worked", vec![read(), edit("ok", false)], false),
        ("an edit between that says it failed", vec![read(), by_line], true),
        ("a failed edit of another file", vec![read(), used(2, 1, "Error: not found", false)], false),
        (
            "a failed edit and a read since",
            vec![read(), edit("Error: not found", false), read(), elsewhere(1)],
            false,
        ),
    ];
    for plan in ["safe", "session-dedup", "repeat"] {
        for wire in WIRES {
            for (name, talk, full) in &table {
                let mut talk = talk.clone();
                talk.push(read());
                let last = answer(plan, wire, &talk).pop().unwrap();
                if (last == file(0, 40)) != *full {
                    return Err(format!("{name}, {plan}, {}: {last:.80}", wire.id()));
                }
            }
        }
        // Only one wire can mark an error.
        let failed = [read(), edit("did not apply", true), read()];
        if answer(plan, wire::ANTHROPIC, &failed).pop() != Some(file(0, 40)) {
            return Err(format!("a failed edit, {plan}"));
        }
    }
    Ok(())
}

#[test]
fn what_is_asked_for_again_is_shown_in_full() {
    shows_in_full(sent).unwrap();
    // Twins: one that never shows again (as if each call were about another file), one that always does.
    let never = |plan: &str, wire, talk: &[Turn]| {
        let only: Vec<Turn> = vec![talk[0].clone(), talk.last().unwrap().clone()];
        sent(plan, wire, if talk.len() > 1 { &only } else { talk })
    };
    shows_in_full(never).unwrap_err();
    shows_in_full(|_, wire, talk| sent("off", wire, talk)).unwrap_err();
}

/// Names in markers stay unmistakable when one name stands for several results.
#[test]
fn several_results_of_one_name_are_numbered() {
    let parts = |from, to| used(0, 0, &file(from, to), false);
    let talk = [
        parts(0, 20),
        parts(20, 40),
        elsewhere(1),
        elsewhere(2),
        elsewhere(3),
        used(1, 1, &file(0, 19), false),
    ];
    for wire in WIRES {
        let last = sent("session-dedup", wire, &talk).pop().unwrap();
        let marker = "[same as read src/lib.rs (result 1 of 2) above, lines 1-19, 17 lines omitted]";
        assert!(last.lines().any(|l| l == marker), "{}: {last}", wire.id());
    }
    // What the model wrote itself is called so, and told from the answer of that call.
    let write = Turn::Used {
        tool: 4,
        target: 0,
        text: "written".into(),
        written: file(0, 30),
        is_error: false,
        in_two: false,
    };
    for wire in WIRES {
        let last = sent("session-dedup", wire, &[write.clone(), parts(0, 30)]).pop().unwrap();
        let marker = "[same as input of write_file src/lib.rs above, lines 1-30, 28 lines omitted]";
        assert!(last.lines().any(|l| l == marker), "{}: {last}", wire.id());
    }
}

/// For one session: nothing but texts of results differs, and reads are what they were unless an engine that
/// loses nothing was there. `by` are the engines that changed a result, by its number.
fn touches_only_results(
    session: &Session,
    before: &Value,
    after: &Value,
    lossless: &[String],
) -> Result<(), String> {
    let items = transcripts::items(session.wire, after, before);
    let mut blanked = [before.clone(), after.clone()];
    for value in &mut blanked {
        blank_results(session.wire, value);
    }
    if blanked[0] != blanked[1] {
        return Err(format!("{}: something else than a result was changed", session.name));
    }
    for item in items.iter().filter(|i| !i.is_call) {
        for (sent, original) in item.texts.iter().filter(|(sent, original)| sent != original) {
            let ours = sent.starts_with('[') || sent.contains("\n[") || sent.contains(" rows] ");
            if is_file(&item.tool, &item.arguments) && (!ours || lossless.is_empty()) {
                return Err(format!(
                    "{}: a file shown by {} was changed: {original:.60}",
                    session.name, item.tool
                ));
            }
        }
    }
    Ok(())
}

/// Whether a call certainly shows a file: by the tool's name, or a lone command that prints files.
fn is_file(tool: &str, arguments: &[String]) -> bool {
    let tool = tool.to_lowercase();
    if ["read", "read_file", "view", "grep", "glob", "read_many_files"].contains(&tool.as_str()) {
        return true;
    }
    let shows = |a: &String| {
        let lone = !a.contains(['|', ';', '&', '\n', '>', '<', '$', '`']) && !a.contains(".log");
        lone && ["cat ", "sed -n ", "head ", "nl ", "grep ", "rg "].iter().any(|c| a.starts_with(c))
    };
    ["bash", "shell", "run_shell_command", "exec_command"].contains(&tool.as_str())
        && arguments.iter().any(shows)
}

fn blank_results(wire: wire::Wire, value: &mut Value) {
    let is_result = |v: &Value| match wire.id() {
        "openai-chat" => v["role"] == "tool",
        "anthropic-messages" => v["type"] == "tool_result",
        "openai-responses" => v["type"].as_str().is_some_and(|t| t.ends_with("_output")),
        _ => v["functionResponse"].is_object(),
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|v| blank_results(wire, v)),
        Value::Object(_) if is_result(value) => {
            for key in ["content", "output", "functionResponse"] {
                if value.get(key).is_some() {
                    value[key] = Value::Null;
                }
            }
        }
        Value::Object(members) => members.values_mut().for_each(|v| blank_results(wire, v)),
        _ => {}
    }
}

#[test]
fn append_only_plans_touch_results_only_and_leave_files_alone() {
    let mut changed: HashMap<&str, usize> = HashMap::new();
    for session in common::all() {
        let body = session.first(session.messages().len());
        for (plan, lossless) in [("lite", vec![]), ("safe", vec!["repeat", "rows", "session-dedup"])] {
            let out = run(&compressor(plan, MemoLimits::none()), session.wire, body.clone());
            let after: Value = serde_json::from_slice(&out.body).unwrap();
            let lossless: Vec<String> = lossless.into_iter().map(str::to_owned).collect();
            touches_only_results(&session, &session.body, &after, &lossless)
                .unwrap_or_else(|e| panic!("{plan}: {e}"));
            *changed.entry(plan).or_default() += usize::from(out.receipt.applied);
        }
    }
    println!("sessions changed: {changed:?}");
    assert!(changed["lite"] > 0 && changed["safe"] > 5);
}

#[test]
fn the_check_catches_layout_of_files_and_edits_of_other_texts() {
    let session = common::own().into_iter().find(|s| s.name.contains("shardkv.anthropic")).unwrap();
    let check = |twin: &Value| touches_only_results(&session, &session.body, twin, &[]);
    check(&session.body.clone()).unwrap();

    let mut user = session.body.clone();
    user["messages"][0]["content"] = "shorter".into();
    check(&user).unwrap_err();

    // Layout rules on everything: texts lose empty lines, results the blanks at the ends of lines.
    let text = session.body.to_string().replace("\\n\\n", "\\n");
    check(&serde_json::from_str(&text).unwrap()).unwrap_err();
    let mut results = session.body.clone();
    for message in results["messages"].as_array_mut().unwrap() {
        for block in
            message["content"].as_array_mut().into_iter().flatten().filter(|b| b["type"] == "tool_result")
        {
            let flat = block["content"].to_string().replace("\\t\\n", "\\n");
            block["content"] = serde_json::from_str(&flat).unwrap();
        }
    }
    check(&results).unwrap_err();
}
