//! Recorded requests and replies written to another wire and read back: what the matrix says is carried is there, what
//! it says is dropped has its diagnostic, and what it calls incapable is refused.

use omniroute_core::Doc;
use omniroute_core::hub::{Part, Request, ToolKind, WriteContext};
use omniroute_core::wire::{WIRES, Wire};
use serde_json::Value;

use crate::exchanges::{self, ReplyKind};
use crate::kept::{has_documents, keeps, refused};
use crate::matrix::{self, Row};
use crate::{neutral, replies};

/// The texts, calls and results of a request, without what differs by wire.
pub(crate) fn content(request: &Request<'_>) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (mut texts, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    fn texts_of(parts: &[Part<'_>], out: &mut Vec<String>) {
        for part in parts {
            if let Part::Text(text) | Part::Refusal(text) = part {
                out.push(text.text.decode().into_owned());
            }
        }
    }
    for turn in &request.turns {
        for part in &turn.parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => {
                    let text = text.text.decode();
                    let text = text.trim_start_matches("<system_note>").trim_end_matches("</system_note>");
                    if !text.trim().is_empty() && text != "Continue." {
                        texts.push(text.trim_end().to_owned());
                    }
                }
                Part::Call(call) => {
                    use omniroute_core::hub::Arguments;
                    let arguments = match &call.arguments {
                        Arguments::Text(t) | Arguments::Free(t) => t.decode().into_owned(),
                        Arguments::Json(j) => j.raw().to_owned(),
                    };
                    let text = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
                    let parsed = match serde_json::from_str::<Value>(&text).unwrap_or(Value::String(text)) {
                        Value::Null => serde_json::json!({}),
                        other => other,
                    };
                    calls.push(format!("{} {} {parsed}", call.id.decode(), call.name.decode()));
                }
                Part::Result(answer) => {
                    let mut parts = Vec::new();
                    texts_of(&answer.parts, &mut parts);
                    parts.retain(|p| !p.trim().is_empty());
                    results.push(format!("{} {}", answer.id.decode(), parts.join("\n")));
                }
                _ => {}
            }
        }
    }
    (texts, calls, results)
}

#[test]
fn requests_keep_what_the_matrix_says() {
    let rows: Vec<_> = matrix::rows().into_iter().filter(|r| r.area == "request").collect();
    let mut wrong = Vec::new();
    for source in WIRES {
        let exchanges = exchanges::of_wire(source.id());
        for target in WIRES.iter().filter(|t| *t != source) {
            let (mut passed, mut refused) = (0, 0);
            for exchange in &exchanges {
                let Some(body) = &exchange.request else { continue };
                let doc = Doc::parse(body.clone()).unwrap();
                let Ok(request) = source.read_request(&doc) else { continue };
                match cross(&rows, &request.value, *target) {
                    Ok(true) => passed += 1,
                    Ok(false) => refused += 1,
                    // Sent broken on purpose, and refused by the vendor too.
                    Err(error) if exchange.status != 200 && error.contains("no base64") => refused += 1,
                    Err(error) => wrong.push(format!("{} -> {}: {error}", exchange.label(), target.id())),
                }
            }
            println!(
                "{} -> {}: {passed} requests keep their meaning, {refused} refused as the matrix says",
                source.id(),
                target.id()
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// Whether the request came through (true) or was refused for a reason that the matrix knows (false).
pub(crate) fn cross(rows: &[Row], request: &Request<'_>, target: Wire) -> Result<bool, String> {
    let written = match target.write(request, &WriteContext::default()) {
        Ok(written) => written,
        Err(error) => return refused(rows, &error, target.id()).map(|()| false),
    };
    let doc = Doc::parse(written.body.clone()).map_err(|e| e.to_string())?;
    let back = target.read_request(&doc).map_err(|e| e.to_string())?.value;
    if !back.extra.is_empty() {
        return Err(format!("writes members it does not know: {:?}", back.extra.len()));
    }
    let codes: Vec<_> = written.notes.iter().map(|n| (n.code.to_owned(), n.pointer.clone())).collect();
    let changed =
        ["orphan_result", "missing_result", "nameless_call_dropped", "duplicate_result", "tool_args_invalid"];
    if !codes.iter().any(|(c, _)| changed.contains(&c.as_str())) {
        let (a, b) = (content(request), content(&back));
        let sorted = |mut v: Vec<String>| {
            v.sort();
            v
        };
        let prompt = codes.iter().any(|(c, _)| c == "structured_output_by_prompt");
        // A document that is plain text is a text where a wire has no documents.
        let document = |t: &String| t.starts_with('[') || t.starts_with("<file");
        let documents = has_documents(request);
        let texts = |v: Vec<String>| {
            let asked = |t: &String| prompt && t.starts_with("Reply with one JSON");
            sorted(v.into_iter().filter(|t| !(asked(t) || documents && document(t))).collect())
        };
        if sorted(a.1.clone()) != sorted(b.1.clone())
            || a.2.len() != b.2.len()
            || texts(a.0.clone()) != texts(b.0.clone())
        {
            return Err(format!("content differs\n  {a:?}\n  {b:?}"));
        }
    }
    let named = |r: &Request<'_>| {
        let functions = r.tools.iter().filter(|t| matches!(t.kind, ToolKind::Function | ToolKind::Custom(_)));
        functions.map(|t| t.name.decode().into_owned()).collect::<Vec<_>>()
    };
    // Where a target has no list of allowed tools, the others are not sent.
    let fewer = |all: Vec<String>| match &request.tool_choice {
        Some(omniroute_core::hub::ToolChoice::Allowed { names, .. }) => {
            all.into_iter().filter(|n| names.iter().any(|a| a.is(n))).collect()
        }
        _ => all,
    };
    if fewer(named(request)) != fewer(named(&back)) {
        return Err(format!("tools differ: {:?} {:?}", named(request), named(&back)));
    }
    for row in rows {
        keeps(row, request, &back, &codes, target.id())?;
    }
    Ok(true)
}

#[test]
fn replies_keep_their_message_on_every_wire() {
    for source in WIRES {
        for target in WIRES {
            let (mut whole, mut streamed) = (0, 0);
            for exchange in exchanges::of_wire(source.id()).iter().filter(|e| e.kind != ReplyKind::Error) {
                let label = format!("{} on {}", exchange.label(), target.id());
                let reply = if exchange.kind == ReplyKind::Whole {
                    let doc = Doc::parse(exchange.reply.clone()).unwrap();
                    let Ok(read) = source.read_reply(&doc) else { continue };
                    read.value.into_owned()
                } else {
                    let items = replies::items(*source, &exchange.reply, &[]);
                    let Ok(reply) = replies::assemble(*source, &items, &label) else { continue };
                    streamed += streamed_too(*target, &items, &reply, &label);
                    reply
                };
                // Said nothing, for a reason that only its own wire can tell.
                if reply.choices.iter().all(|c| c.turn.parts.is_empty()) {
                    continue;
                }
                let written = target.write_reply(&reply, &WriteContext::default()).unwrap();
                let doc = Doc::parse(written.body).unwrap();
                let back = match target.read_reply(&doc) {
                    Ok(read) => read.value.into_owned(),
                    Err(error) => panic!("{label}: {error}"),
                };
                assert_eq!(portable(&back), portable(&reply), "{label}");
                whole += 1;
            }
            println!("{} -> {}: {whole} replies whole, {streamed} streamed", source.id(), target.id());
        }
    }
}

/// The stream on another wire tells the same message.
fn streamed_too(
    target: Wire,
    items: &[omniroute_core::hub::StreamItem],
    reply: &omniroute_core::hub::Reply<'_>,
    label: &str,
) -> usize {
    let mut cx = WriteContext::default();
    cx.options.stream_usage = true;
    let Some(mut writer) = target.stream_writer(&cx) else { return 0 };
    let mut bytes = Vec::new();
    items.iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut bytes));
    let back = replies::items(target, &bytes, &[]);
    let back = replies::assemble(target, &back, label).unwrap_or_else(|e| panic!("{label}: {e}"));
    assert_eq!(portable(&back), portable(reply), "{label} streamed");
    1
}

/// The message without the words that every wire has of its own.
pub(crate) fn portable(reply: &omniroute_core::hub::Reply<'_>) -> Value {
    let mut value = neutral::of(reply);
    for (index, choice) in value["choices"].as_object_mut().unwrap() {
        let members = choice.as_object_mut().unwrap();
        members.remove("stop");
        // A call that the output limit cut is told in streams only.
        let calls = members.get_mut("calls").unwrap().as_array_mut().unwrap();
        for call in calls.iter_mut().filter(|c| c["arguments"].is_null()) {
            call["arguments"] = serde_json::json!({});
        }
        calls.retain(|c| c["arguments"].is_object() && c["arguments"].get("_raw").is_none());
        members.remove("seals"); // compared where the matrix carries them
        // A refusal is text on wires that have none.
        let refusal = members.remove("refusal").unwrap();
        let text = format!("{}{}", members["text"].as_str().unwrap(), refusal.as_str().unwrap());
        members.insert("text".into(), text.into());
        let _ = index;
    }
    let first = value["choices"]["0"].clone(); // wires with one choice carry the first
    let mut usage = value["usage"].clone();
    if usage["cache_read"] == 0 {
        usage["cache_read"] = Value::Null;
    }
    if usage.is_null() {
        usage = serde_json::json!({"input": 0, "output": 0, "cache_read": null});
    }
    serde_json::json!({"choice": first, "usage": usage})
}
