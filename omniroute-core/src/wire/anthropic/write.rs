//! Writes requests.

use super::PARAMS;
use super::blocks::NAME;
use super::order::foreign;
use super::turn::{write_text, write_turn};
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Output, Param, Part, ReasoningStyle, Request, Str, Thinking, Tool, ToolChoice, ToolKind, Turn,
    WriteContext,
};
use crate::wire::common::{FREE_INPUT, NO_INPUT, dropped, no_tool, write_model};
use crate::wire::effort::{budget, fit, word};
use crate::wire::fitted::Takes;
use crate::wire::json::JsonWriter;
use crate::wire::openai_chat::thinking_word;
use crate::wire::read::write_cache_mark;
use crate::wire::{WireError, Written, foreign_extras, names};

/// What the vendor takes: four cache marks, bodies of 32 MiB.
const TAKES: Takes = Takes {
    names: Some(&names::PORTABLE),
    images: &["image/png", "image/jpeg", "image/gif", "image/webp"],
    marks: Some(4),
    body: 32 << 20,
};

pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Vec::new();
    let own = request.wire == NAME;
    let (request, tool_names) = TAKES.fit(request, own, &mut notes)?;
    let request = &*request;
    let mut out = JsonWriter::with_capacity(64 << 10);
    out.object();
    write_model(request, cx, &mut out);
    limits(request, cx, own, &mut out, &mut notes)?;
    if let (Some(Output::Schema { schema, .. }), false) = (&request.output, by_prompt(request, cx)) {
        write_config(request, cx, own, Some(schema.raw()), &mut out, &mut notes);
    } else {
        write_config(request, cx, own, None, &mut out, &mut notes);
    }
    out.opt_bool("stream", request.stream);
    user(request, own, &mut out);
    tools(request, own, &mut out)?;
    choice(request, own, &mut out, &mut notes);
    if own {
        write_cache_mark(&mut out, request.cache);
        extras(request, &mut out);
    } else {
        foreign_extras(request, &mut notes)?;
    }
    let prompt = by_prompt(request, cx).then(|| schema_prompt(request, &mut notes));
    messages(request, cx, own, prompt, &mut out, &mut notes)?;
    out.end_object();
    TAKES.written(out, notes, tool_names)
}

/// Limit, thinking and sampling: what one of them allows depends on the others.
fn limits(
    request: &Request<'_>,
    cx: &WriteContext,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) -> Result<(), WireError> {
    let asked = request.param(Param::MaxOutput).and_then(|n| n.count());
    let cap = cx.caps.max_output;
    let mut limit = asked.unwrap_or_else(|| cap.map_or(4_096, |most| most.min(32_000)));
    if let Some(most) = cap.filter(|most| limit > *most) {
        notes.push(Diagnostic::new("param_clamped", "/max_output", format!("sent as {most}")));
        limit = most;
    }
    let reasoning = request.reasoning.as_ref();
    let mut thinks = false;
    if let (true, Some(asked)) = (own, reasoning) {
        if let Some(thinking) = asked.thinking {
            thinks = thinking != Thinking::Off;
            out.key("thinking").object().key("type").text(thinking_word(thinking));
            if let Some(budget) = asked.budget {
                out.key("budget_tokens").number(budget);
            }
            out.extra(&asked.extra).end_object();
        }
    } else if reasoning.is_some() && forced(request) {
        let action = "not asked to think: with it the model cannot be told which tool to call";
        notes.push(Diagnostic::new("param_dropped", "/reasoning effort", action));
    } else if let Some(reasoning) = reasoning {
        let off = budget(reasoning, &cx.caps) == Some(0);
        match cx.caps.reasoning {
            Some(ReasoningStyle::None) => notes.push(dropped("reasoning effort")),
            Some(ReasoningStyle::Adaptive | ReasoningStyle::Effort) if !off => {
                thinks = true;
                out.key("thinking").object().key("type").text("adaptive").end_object();
            }
            Some(ReasoningStyle::Adaptive | ReasoningStyle::Effort) => {}
            _ => match budget(reasoning, &cx.caps).filter(|b| *b > 0).and_then(|b| fit(asked, b, &cx.caps)) {
                Some((total, budget)) => {
                    thinks = true;
                    limit = total;
                    out.key("thinking").object().key("type").text("enabled");
                    out.key("budget_tokens").number(budget).end_object();
                }
                None if off => {}
                None => notes.push(dropped("reasoning effort")),
            },
        }
    }
    out.key("max_tokens").number(limit);
    if own {
        return PARAMS.write(request, cx, out, notes);
    }
    let refused = |param: &Param| {
        let sampling = matches!(param, Param::Temperature | Param::TopP | Param::TopK);
        let while_thinking = matches!(param, Param::Temperature | Param::TopK);
        (sampling && cx.caps.no_sampling == Some(true)) || (while_thinking && thinks)
    };
    let mut rest = Request { wire: request.wire, ..Request::default() };
    for (param, value) in &request.params {
        if refused(param) {
            notes.push(dropped(param.row()));
        } else {
            rest.params.push((*param, value.clone()));
        }
    }
    PARAMS.write(&rest, cx, out, notes)?;
    if let Some(tier) = request.param(Param::ServiceTier).and_then(|t| t.text()) {
        match tier.as_str() {
            "auto" => drop(out.key("service_tier").text("auto")),
            "default" | "standard_only" => drop(out.key("service_tier").text("standard_only")),
            _ => notes.push(dropped("service_tier")),
        }
    }
    Ok(())
}

/// Whether a tool has to be called.
fn forced(request: &Request<'_>) -> bool {
    let choice = request.tool_choice.as_ref().filter(|_| !request.tools.is_empty());
    matches!(
        choice,
        Some(ToolChoice::Required | ToolChoice::Named { .. } | ToolChoice::Allowed { required: true, .. })
    )
}

/// `output_config`: how much effort, and the schema of the answer.
fn write_config(
    request: &Request<'_>,
    cx: &WriteContext,
    own: bool,
    schema: Option<&str>,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) {
    let reasoning = request.reasoning.as_ref();
    let styled = matches!(cx.caps.reasoning, Some(ReasoningStyle::Adaptive | ReasoningStyle::Effort));
    let effort = match reasoning {
        Some(asked) if own => asked.effort.as_ref().map(|e| e.decode()),
        Some(asked) if styled && !forced(request) => {
            let (word, changed) = word(asked, &cx.caps);
            let word = word.map(|w| if w == "none" || w == "minimal" { "low".into() } else { w });
            if changed {
                notes.push(Diagnostic::new("param_clamped", "/reasoning effort", "sent as a nearby word"));
            }
            word
        }
        _ => None,
    };
    let more: Vec<_> =
        request.extra.iter().filter(|(key, _)| own && key.decode().starts_with("output_config/")).collect();
    if effort.is_none() && schema.is_none() && more.is_empty() {
        return;
    }
    out.key("output_config").object();
    if let Some(effort) = effort {
        out.key("effort").text(&effort);
    }
    if let Some(schema) = schema {
        out.key("format").object().key("type").text("json_schema").key("schema").raw(schema).end_object();
    }
    for (key, value) in more {
        out.key(key.decode().trim_start_matches("output_config/")).json(value);
    }
    out.end_object();
}

fn extras(request: &Request<'_>, out: &mut JsonWriter) {
    for (key, value) in request.extra.iter().filter(|(key, _)| !key.decode().starts_with("output_config/")) {
        out.key(&key.decode()).json(value);
    }
}

fn user(request: &Request<'_>, own: bool, out: &mut JsonWriter) {
    let whole = own && request.extra.iter().any(|(key, _)| key.is("metadata"));
    if let Some(user) = request.param(Param::User).filter(|_| !whole) {
        out.key("metadata").object().key("user_id").json(user).end_object();
    }
}

/// Whether the shape of the answer has to be asked for in words.
fn by_prompt(request: &Request<'_>, cx: &WriteContext) -> bool {
    match &request.output {
        Some(Output::Object) => true,
        Some(Output::Schema { .. }) => cx.caps.json_schema == Some(false),
        _ => false,
    }
}

fn schema_prompt(request: &Request<'_>, notes: &mut Vec<Diagnostic>) -> Str<'static> {
    notes.push(Diagnostic::new("structured_output_by_prompt", "/output", "asked for in the instructions"));
    match &request.output {
        Some(Output::Schema { schema, .. }) => {
            let head = "Reply with one JSON value that satisfies this JSON Schema and nothing else:";
            format!("{head}\n{}", schema.raw()).into()
        }
        _ => "Reply with one JSON object and nothing else.".into(),
    }
}

fn tools(request: &Request<'_>, own: bool, out: &mut JsonWriter) -> Result<(), WireError> {
    let allowed = |tool: &&Tool<'_>| match &request.tool_choice {
        Some(ToolChoice::Allowed { names, .. }) if !own => names.contains(&tool.name),
        _ => true,
    };
    let mut tools = request.tools.iter().filter(allowed).peekable();
    if tools.peek().is_none() {
        return Ok(());
    }
    out.key("tools").array();
    for tool in tools {
        match &tool.kind {
            ToolKind::Server(raw) | ToolKind::WebSearch(raw) if own => drop(out.json(raw)),
            ToolKind::WebSearch(_) => {
                out.object()
                    .key("type")
                    .text("web_search_20250305")
                    .key("name")
                    .text("web_search")
                    .end_object();
            }
            ToolKind::Server(_) => return Err(no_tool(NAME, tool)),
            kind => function(tool, matches!(kind, ToolKind::Custom(_)), own, out),
        }
    }
    out.end_array();
    Ok(())
}

fn function(tool: &Tool<'_>, custom: bool, own: bool, out: &mut JsonWriter) {
    out.object().key("name").str(&tool.name);
    out.opt_str("description", tool.description.as_ref());
    out.key("input_schema");
    match &tool.schema {
        _ if custom => out.raw(FREE_INPUT),
        Some(schema) => out.json(schema),
        None => out.raw(NO_INPUT),
    };
    if own || tool.strict == Some(true) {
        out.opt_bool("strict", tool.strict);
    }
    write_cache_mark(out, tool.cache);
    if own {
        out.extra(&tool.extra);
    }
    out.end_object();
}

fn choice(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Vec<Diagnostic>) {
    if request.tools.is_empty() && !own {
        return;
    }
    let serial = request.param(Param::ParallelTools).and_then(|p| p.bool()).map(|parallel| !parallel);
    let serial = serial.filter(|serial| own || *serial);
    let chosen = match &request.tool_choice {
        Some(ToolChoice::Raw(raw)) if own => {
            out.key("tool_choice").json(raw);
            return;
        }
        Some(ToolChoice::Raw(_)) => {
            notes.push(dropped("tool_choice"));
            None
        }
        other => other.as_ref(),
    };
    let kind = match chosen {
        None if serial.is_none() => return,
        None | Some(ToolChoice::Auto | ToolChoice::Raw(_) | ToolChoice::Allowed { required: false, .. }) => {
            "auto"
        }
        Some(ToolChoice::None) => "none",
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => "any",
        Some(ToolChoice::Named { .. }) => "tool",
    };
    out.key("tool_choice").object().key("type").text(kind);
    if let Some(ToolChoice::Named { name, .. }) = chosen {
        out.key("name").str(name);
    }
    if kind != "none" {
        out.opt_bool("disable_parallel_tool_use", serial);
    }
    out.end_object();
}

fn messages<'d>(
    request: &Request<'d>,
    cx: &WriteContext,
    own: bool,
    prompt: Option<Str<'d>>,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) -> Result<(), WireError> {
    let head = request.turns.iter().take_while(|t| t.is_system()).count();
    let (system, rest) = request.turns.split_at(head);
    write_system(system, prompt.as_ref(), own, out)?;
    let turns = if own { rest.to_vec() } else { foreign(rest.to_vec(), cx, notes)? };
    out.key("messages").array();
    for (at, turn) in turns.iter().enumerate() {
        write_turn(turn, at, own, out, notes)?;
    }
    out.end_array();
    Ok(())
}

fn write_system(
    system: &[Turn<'_>],
    prompt: Option<&Str<'_>>,
    own: bool,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    let parts: Vec<&Part<'_>> = system.iter().flat_map(|t| &t.parts).collect();
    if let ([Part::Text(text)], true, None) =
        (parts.as_slice(), own && system.iter().all(|t| t.plain), prompt)
    {
        out.key("system").str(&text.text);
        return Ok(());
    }
    if parts.is_empty() && prompt.is_none() {
        if own && !system.is_empty() {
            out.key("system").array().end_array();
        }
        return Ok(());
    }
    out.key("system").array();
    for part in parts {
        match part {
            Part::Text(text) if own || !text.text.decode().trim().is_empty() => write_text(text, own, out),
            Part::Text(_) => {}
            Part::Opaque(opaque) if own => drop(out.json(&opaque.raw)),
            _ => {
                let message = "instructions may hold only text";
                return Err(WireError::invalid("unsupported_content_part", "/system", message));
            }
        }
    }
    if let Some(prompt) = prompt {
        out.object().key("type").text("text").key("text").str(prompt).end_object();
    }
    out.end_array();
    Ok(())
}
