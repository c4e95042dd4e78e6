//! Writes requests.

use super::PARAMS;
use super::item_out::write_turn;
use super::items::NAME;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Output, Param, Part, ReasoningStyle, Request, Text, Tool, ToolChoice, ToolKind, Turn, WriteContext,
};
use crate::wire::common::{NO_INPUT, dropped, no_tool, write_model};
use crate::wire::effort::word;
use crate::wire::fitted::Takes;
use crate::wire::json::JsonWriter;
use crate::wire::normal::pair;
use crate::wire::{WireError, Written, foreign_extras, names};

type Notes = Vec<Diagnostic>;

/// What the vendor takes.
const TAKES: Takes = Takes {
    names: Some(&names::PORTABLE),
    images: &["image/png", "image/jpeg", "image/webp", "image/gif"],
    ..Takes::ALL
};

pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Vec::new();
    let own = request.wire == NAME;
    let (request, tool_names) = TAKES.fit(request, own, &mut notes)?;
    let request = &*request;
    let mut out = JsonWriter::with_capacity(64 << 10);
    out.object();
    write_model(request, cx, &mut out);
    PARAMS.write(request, cx, &mut out, &mut notes)?;
    limit(request, cx, own, &mut out, &mut notes);
    if !own {
        state(request, &mut out);
        foreign_extras(request, &mut notes)?;
    }
    reasoning(request, cx, own, &mut out, &mut notes);
    text(request, own, &mut out);
    out.opt_bool("stream", request.stream);
    tools(request, own, &mut out)?;
    if let Some(choice) = &request.tool_choice {
        tool_choice(choice, request, own, &mut out, &mut notes);
    }
    if own {
        for (key, value) in request.extra.iter().filter(|(key, _)| !key.decode().starts_with("text/")) {
            out.key(&key.decode()).json(value);
        }
    }
    input(request, own, &mut out, &mut notes)?;
    out.end_object();
    TAKES.written(out, notes, tool_names)
}

fn limit(request: &Request<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    let Some(asked) = request.param(Param::MaxOutput).filter(|l| l.raw() != "null") else { return };
    let least = if own { 0 } else { 16 };
    let most = cx.caps.max_output.unwrap_or(u64::MAX);
    match asked.count() {
        Some(n) if n < least || n > most => {
            let sent = n.clamp(least, most.max(least));
            notes.push(Diagnostic::new("param_clamped", "/max_output", format!("sent as {sent}")));
            out.key("max_output_tokens").number(sent);
        }
        _ => drop(out.key("max_output_tokens").json(asked)),
    }
}

/// Nothing is kept by the vendor unless asked for; its reasoning comes back sealed so that it can be sent again.
fn state(request: &Request<'_>, out: &mut JsonWriter) {
    if request.param(Param::Store).is_none() {
        out.key("store").bool(false);
    }
    out.key("include").array().text("reasoning.encrypted_content");
    if request.param(Param::Logprobs).and_then(|l| l.bool()) == Some(true) {
        out.text("message.output_text.logprobs");
    }
    out.end_array();
}

fn reasoning(request: &Request<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    let Some(asked) = &request.reasoning else { return };
    if own {
        out.key("reasoning").object().opt_str("effort", asked.effort.as_ref());
        out.opt_str("summary", asked.summary.as_ref()).extra(&asked.extra).end_object();
        return;
    }
    if cx.caps.reasoning == Some(ReasoningStyle::None) {
        return notes.push(dropped("reasoning effort"));
    }
    let (word, changed) = word(asked, &cx.caps);
    if changed {
        notes.push(Diagnostic::new("param_clamped", "/reasoning effort", "sent as a nearby word"));
    }
    if word.is_none() && asked.summary.is_none() {
        return;
    }
    out.key("reasoning").object();
    if let Some(word) = word {
        out.key("effort").text(&word);
    }
    out.opt_str("summary", asked.summary.as_ref()).end_object();
}

fn text(request: &Request<'_>, own: bool, out: &mut JsonWriter) {
    let verbosity = request.param(Param::Verbosity);
    let more: Vec<_> =
        request.extra.iter().filter(|(key, _)| own && key.decode().starts_with("text/")).collect();
    if request.output.is_none() && verbosity.is_none() && more.is_empty() {
        return;
    }
    out.key("text").object();
    if let Some(output) = &request.output {
        out.key("format").object().key("type");
        match output {
            Output::Text => drop(out.text("text")),
            Output::Object => drop(out.text("json_object")),
            Output::Schema { schema, name, description, strict } => {
                out.text("json_schema").key("name");
                match name {
                    Some(name) => out.str(name),
                    None => out.text("response"),
                };
                out.opt_str("description", description.as_ref()).key("schema").json(schema);
                out.opt_bool("strict", *strict);
            }
        }
        out.end_object();
    }
    out.opt_json("verbosity", verbosity);
    for (key, value) in more {
        out.key(key.decode().trim_start_matches("text/")).json(value);
    }
    out.end_object();
}

fn tools(request: &Request<'_>, own: bool, out: &mut JsonWriter) -> Result<(), WireError> {
    if request.tools.is_empty() {
        return Ok(());
    }
    out.key("tools").array();
    for tool in &request.tools {
        match &tool.kind {
            ToolKind::Server(raw) | ToolKind::WebSearch(raw) if own => drop(out.json(raw)),
            ToolKind::WebSearch(_) => drop(out.object().key("type").text("web_search").end_object()),
            ToolKind::Server(_) => return Err(no_tool(NAME, tool)),
            ToolKind::Function => write_tool(tool, own, out),
            ToolKind::Custom(format) => {
                out.object().key("type").text("custom").key("name").str(&tool.name);
                out.opt_str("description", tool.description.as_ref()).opt_json("format", format.as_ref());
                out.end_object();
            }
        }
    }
    out.end_array();
    Ok(())
}

/// On this wire a function that does not say is strict, so one that was not told to be has to say that it is not.
fn write_tool(tool: &Tool<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("type").text("function").key("name").str(&tool.name);
    out.opt_str("description", tool.description.as_ref());
    match &tool.schema {
        Some(schema) => drop(out.key("parameters").json(schema)),
        None if own => {}
        None => drop(out.key("parameters").raw(NO_INPUT)),
    }
    match (own, tool.strict) {
        (true, strict) => drop(out.opt_bool("strict", strict)),
        (false, strict) => drop(out.key("strict").bool(strict == Some(true))),
    }
    if own {
        out.extra(&tool.extra);
    }
    out.end_object();
}

fn tool_choice(
    choice: &ToolChoice<'_>,
    request: &Request<'_>,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) {
    if request.tools.is_empty() && !own {
        return;
    }
    match choice {
        ToolChoice::Auto => drop(out.key("tool_choice").text("auto")),
        ToolChoice::None => drop(out.key("tool_choice").text("none")),
        ToolChoice::Required => drop(out.key("tool_choice").text("required")),
        ToolChoice::Named { name, custom } => {
            let kind = if *custom { "custom" } else { "function" };
            out.key("tool_choice").object().key("type").text(kind).key("name").str(name).end_object();
        }
        ToolChoice::Allowed { required, names } => {
            out.key("tool_choice").object().key("type").text("allowed_tools");
            out.key("mode").text(if *required { "required" } else { "auto" }).key("tools").array();
            for name in names {
                out.object().key("type").text("function").key("name").str(name).end_object();
            }
            out.end_array().end_object();
        }
        ToolChoice::Raw(raw) if own => drop(out.key("tool_choice").json(raw)),
        ToolChoice::Raw(_) => notes.push(dropped("tool_choice")),
    }
}

fn input(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) -> Result<(), WireError> {
    let head = request.turns.iter().take_while(|t| t.is_system()).count();
    let (system, rest) = request.turns.split_at(head);
    let as_text = match system {
        // What stood in `instructions` goes there again, and so does one text of another wire.
        [first, ..] if own && !first.item => first.parts.first().and_then(text_of),
        [only] if !own => match only.parts.as_slice() {
            [part] => text_of(part),
            _ => None,
        },
        _ => None,
    };
    let items = match as_text {
        Some(text) => {
            out.key("instructions").str(&text.text);
            system.get(1..).unwrap_or(&[])
        }
        None => system,
    };
    let alone = own && items.is_empty();
    if let (true, [only]) = (alone, rest)
        && let (false, [Part::Text(text)]) = (only.item, only.parts.as_slice())
    {
        out.key("input").str(&text.text);
        return Ok(());
    }
    let rest = if own { rest.to_vec() } else { pair(rest.to_vec(), notes) };
    out.key("input").array();
    for (at, turn) in items.iter().chain(&rest).enumerate() {
        let mut turn: Turn<'_> = turn.clone();
        if !own && turn.role == Role::Tool {
            turn.plain = false;
        }
        write_turn(&turn, at, own, out, notes)?;
    }
    out.end_array();
    Ok(())
}

fn text_of<'a, 'd>(part: &'a Part<'d>) -> Option<&'a Text<'d>> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}
