//! Requests and replies of every wire written to another and read back: what the matrix says is carried is there,
//! what it says is dropped has its diagnostic, and what it calls incapable is refused. One of the two wires is
//! always of this crate.

use omniroute_core::Doc;
use omniroute_core::hub::{Arguments, Part, Reply, Request, StreamItem, ToolChoice, ToolKind, WriteContext};
use omniroute_core::wire::{WIRES, Wire};
use omniroute_providers::wires::HOSTED;
use serde_json::{Value, json};

use crate::exchanges::{self, ReplyKind};
use crate::kept::{has_documents, keeps, refused};
use crate::matrix::{self, Row};
use crate::{neutral, replies};

/// Every pair of wires with one of this crate.
fn pairs() -> Vec<(Wire, Wire)> {
    let all: Vec<Wire> = WIRES.iter().chain(HOSTED).copied().collect();
    let ours = |wire: &Wire| HOSTED.iter().any(|w| w == wire);
    let mut out = Vec::new();
    for source in &all {
        out.extend(all.iter().filter(|t| *t != source && (ours(t) || ours(source))).map(|t| (*source, *t)));
    }
    out
}

/// What a request says, without what differs by wire: words in order without spaces, calls, count of results.
pub(crate) fn content(request: &Request<'_>, ids: bool) -> (String, Vec<String>, usize) {
    let (mut words, mut calls, mut results) = (String::new(), Vec::new(), 0);
    for part in request.turns.iter().flat_map(|t| &t.parts) {
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                let text = text.text.decode();
                let text = text.trim_start_matches("<system_note>").trim_end_matches("</system_note>");
                if text != "Continue." {
                    words.extend(text.split_whitespace());
                }
            }
            Part::Call(call) => {
                let arguments = match &call.arguments {
                    Arguments::Text(t) | Arguments::Free(t) => t.decode().into_owned(),
                    Arguments::Json(j) => j.raw().to_owned(),
                };
                let text = if arguments.trim().is_empty() { "{}" } else { &arguments };
                let parsed = match serde_json::from_str(text).unwrap_or_else(|_| json!(text)) {
                    Value::Null => json!({}),
                    other => other,
                };
                let id = if ids { call.id.decode().into_owned() } else { String::new() };
                calls.push(format!("{id} {} {parsed}", call.name.decode()));
            }
            Part::Result(_) => results += 1,
            _ => {}
        }
    }
    calls.sort();
    (words, calls, results)
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
        let names: Vec<_> = back.extra.iter().map(|(k, _)| k.decode().into_owned()).collect();
        return Err(format!("writes members it does not know: {names:?}"));
    }
    let codes: Vec<_> = written.notes.iter().map(|n| (n.code.to_owned(), n.pointer.clone())).collect();
    let changed = [
        "orphan_result",
        "missing_result",
        "nameless_call_dropped",
        "duplicate_result",
        "tool_args_invalid",
        "structured_output_by_prompt",
    ];
    let silent = !codes.iter().any(|(c, _)| changed.contains(&c.as_str()));
    if silent && !has_documents(request) {
        let ids = target.id() != "ollama" && request.wire != "ollama" && request.wire != "gemini";
        let (a, b) = (content(request, ids), content(&back, ids));
        if a != b {
            return Err(format!("content differs\n  {a:?}\n  {b:?}"));
        }
    }
    tools(request, &back, target)?;
    for row in rows {
        keeps(row, request, &back, &codes, target.id())?;
    }
    Ok(true)
}

/// The tools are all there, or those that may be called where the target cannot be told which.
fn tools(from: &Request<'_>, to: &Request<'_>, target: Wire) -> Result<(), String> {
    let named = |r: &Request<'_>| {
        let functions = r.tools.iter().filter(|t| matches!(t.kind, ToolKind::Function | ToolKind::Custom(_)));
        functions.map(|t| t.name.decode().into_owned()).collect::<Vec<_>>()
    };
    let core = WIRES.contains(&target);
    let (all, found) = (named(from), named(to));
    let wanted: Vec<_> = match &from.tool_choice {
        Some(ToolChoice::Allowed { names, .. }) => {
            all.into_iter().filter(|n| names.iter().any(|a| a.is(n))).collect()
        }
        Some(ToolChoice::Named { name, .. }) if !core && target.id() != "bedrock-converse" => {
            all.into_iter().filter(|n| name.is(n)).collect()
        }
        Some(ToolChoice::None) if found.is_empty() => Vec::new(),
        _ => all,
    };
    let found: Vec<_> = match &from.tool_choice {
        Some(ToolChoice::Allowed { .. }) => found.into_iter().filter(|n| wanted.contains(n)).collect(),
        _ => found,
    };
    if wanted == found { Ok(()) } else { Err(format!("tools differ: {wanted:?} {found:?}")) }
}

#[test]
fn requests_keep_what_the_matrix_says() {
    let rows: Vec<_> = matrix::rows().into_iter().filter(|r| r.area == "request").collect();
    let mut wrong = Vec::new();
    for (source, target) in pairs() {
        let (mut passed, mut refused) = (0, 0);
        for exchange in exchanges::of_wire(source.id()) {
            let Some(body) = &exchange.request else { continue };
            let doc = Doc::parse(body.clone()).unwrap();
            let Ok(request) = source.read_request(&doc) else { continue };
            match cross(&rows, &request.value, target) {
                Ok(true) => passed += 1,
                Ok(false) => refused += 1,
                // Sent broken on purpose, and refused by the vendor too.
                Err(error) if exchange.status != 200 && error.contains("no base64") => refused += 1,
                Err(error) => wrong.push(format!("{} -> {}: {error}", exchange.label(), target.id())),
            }
        }
        println!("{} -> {}: {passed} keep their meaning, {refused} refused", source.id(), target.id());
    }
    let shown = wrong.iter().take(30).map(|w| w.chars().take(2_000).collect::<String>());
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn replies_keep_their_message_on_every_wire() {
    for (source, target) in pairs() {
        let (mut whole, mut streamed) = (0, 0);
        for exchange in exchanges::of_wire(source.id()).iter().filter(|e| e.kind != ReplyKind::Error) {
            let label = format!("{} on {}", exchange.label(), target.id());
            let reply = if exchange.kind == ReplyKind::Whole {
                let doc = Doc::parse(exchange.reply.clone()).unwrap();
                let Ok(read) = source.read_reply(&doc) else { continue };
                read.value.into_owned()
            } else {
                let items = replies::items(source, &exchange.reply, &[]);
                let Ok(reply) = replies::assemble(source, &items, &label) else { continue };
                streamed += streamed_too(source, target, &items, &reply, &label);
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
            assert_eq!(portable(&back, source, target), portable(&reply, source, target), "{label}");
            whole += 1;
        }
        println!("{} -> {}: {whole} replies whole, {streamed} streamed", source.id(), target.id());
    }
}

/// The stream on another wire tells the same message.
fn streamed_too(source: Wire, target: Wire, items: &[StreamItem], reply: &Reply<'_>, label: &str) -> usize {
    let mut cx = WriteContext::default();
    cx.options.stream_usage = true;
    let Some(mut writer) = target.stream_writer(&cx) else { return 0 };
    let mut bytes = Vec::new();
    items.iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut bytes));
    let back = replies::items(target, &bytes, &[]);
    let back = replies::assemble(target, &back, label).unwrap_or_else(|e| panic!("{label}: {e}"));
    assert_eq!(portable(&back, source, target), portable(reply, source, target), "{label} streamed");
    1
}

/// The message without the words that every wire has of its own.
pub(crate) fn portable(reply: &Reply<'_>, source: Wire, target: Wire) -> Value {
    let value = neutral::of(reply);
    let mut first = value["choices"]["0"].clone(); // wires with one choice carry the first
    if let Some(members) = first.as_object_mut() {
        members.remove("stop");
        members.remove("seals"); // compared where the matrix carries them
        let calls = members.get_mut("calls").unwrap().as_array_mut().unwrap();
        for call in calls.iter_mut().filter(|c| c["arguments"].is_null()) {
            call["arguments"] = json!({});
        }
        // A call that the output limit cut is told in streams only.
        calls.retain(|c| c["arguments"].is_object() && c["arguments"].get("_raw").is_none());
        // A refusal is text on wires that have none.
        let refusal = members.remove("refusal").unwrap();
        let text = format!("{}{}", members["text"].as_str().unwrap(), refusal.as_str().unwrap());
        members.insert("text".into(), text.into());
    }
    let mut usage = value["usage"].clone();
    if usage.is_null() {
        usage = json!({"input": 0, "output": 0, "cache_read": null});
    }
    // One wire does not tell what came from a cache.
    if usage["cache_read"] == 0 || [source.id(), target.id()].contains(&"ollama") {
        usage["cache_read"] = Value::Null;
    }
    json!({"choice": first, "usage": usage})
}
