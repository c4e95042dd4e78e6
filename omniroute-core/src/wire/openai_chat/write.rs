//! Writes requests.

use super::PARAMS;
use super::message::NAME;
use super::turn::write_turn;
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Answer, Call, Output, Param, Part, Reasoning, ReasoningStyle, Request, Text, Thinking, Tool, ToolChoice,
    ToolKind, Turn, WriteContext,
};
use crate::wire::common::{dropped, no_tool, write_model};
use crate::wire::effort::word;
use crate::wire::fitted::Takes;
use crate::wire::json::JsonWriter;
use crate::wire::normal::{join_items, merge, pair};
use crate::wire::read::write_cache_mark;
use crate::wire::{WireError, Written, foreign_extras, ids, names};

/// What hosts of this wire take.
const TAKES: Takes = Takes {
    names: Some(&names::PORTABLE),
    images: &["image/png", "image/jpeg", "image/webp", "image/gif"],
    ..Takes::ALL
};

pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Vec::new();
    let mut out = JsonWriter::with_capacity(64 << 10);
    let own = request.wire == NAME;
    let (request, tool_names) = TAKES.fit(request, own, &mut notes)?;
    let request = &*request;
    out.object();
    write_model(request, cx, &mut out);
    params(request, cx, &mut out, &mut notes)?;
    reasoning(request, cx, &mut out, &mut notes);
    if let Some(output) = &request.output {
        response_format(output, &mut out);
    }
    out.opt_bool("stream", request.stream);
    let usage = request.stream_usage.or((request.stream == Some(true) && !own).then_some(true));
    if let Some(usage) = usage.filter(|_| !cx.quirks.no_stream_options) {
        out.key("stream_options").object().key("include_usage").bool(usage).end_object();
    }
    tools(request, &mut out)?;
    if let Some(choice) = &request.tool_choice {
        tool_choice(choice, own, &mut out, &mut notes);
    }
    if own {
        write_cache_mark(&mut out, request.cache);
        out.extra(&request.extra);
    } else {
        foreign_extras(request, &mut notes)?;
    }
    out.key("messages").array();
    let turns = match own {
        true => request.turns.clone(),
        false => for_host(pair(join_items(request.turns.clone()), &mut notes), cx),
    };
    for (at, turn) in turns.iter().enumerate() {
        write_turn(turn, at, own, cx, &mut out, &mut notes)?;
    }
    out.end_array();
    out.end_object();
    TAKES.written(out, notes, tool_names)
}

/// What hosts of this wire want beyond it.
fn for_host<'d>(mut turns: Vec<Turn<'d>>, cx: &WriteContext) -> Vec<Turn<'d>> {
    if cx.quirks.system_first_only {
        let (system, rest): (Vec<_>, Vec<_>) = turns.into_iter().partition(Turn::is_system);
        let texts: Vec<_> = system
            .iter()
            .flat_map(|t| &t.parts)
            .filter_map(
                |p| if let Part::Text(text) = p { Some(text.text.decode().into_owned()) } else { None },
            )
            .collect();
        let text = Text { text: texts.join("\n\n").into(), ..Text::default() };
        let first =
            system.into_iter().next().map(|t| Turn { parts: vec![Part::Text(text)], plain: true, ..t });
        turns = first.into_iter().chain(rest).collect();
    }
    if cx.quirks.strict_alternation {
        turns = merge(turns, |role| role);
    }
    if cx.quirks.short_ids {
        for part in turns.iter_mut().flat_map(|t| &mut t.parts) {
            let (Part::Call(Call { id, .. }) | Part::Result(Answer { id, .. })) = part else { continue };
            let short = ids::fit(&id.decode(), &ids::SHORT).into_owned();
            *id = short.into();
        }
    }
    turns
}

fn params(
    request: &Request<'_>,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) -> Result<(), WireError> {
    PARAMS.write(request, cx, out, notes)?;
    if let Some(limit) = request.param(Param::MaxOutput).filter(|l| l.raw() != "null") {
        let key = match cx.quirks.max_completion_tokens {
            Some(true) => "max_completion_tokens",
            _ => "max_tokens",
        };
        match (limit.count(), cx.caps.max_output) {
            (Some(asked), Some(most)) if asked > most => {
                notes.push(Diagnostic::new("param_clamped", "/max_output", format!("sent as {most}")));
                out.key(key).number(most);
            }
            _ => drop(out.key(key).json(limit)),
        }
    }
    if request.param(Param::TopLogprobs).is_some() && request.param(Param::Logprobs).is_none() {
        out.key("logprobs").bool(true);
    }
    Ok(())
}

fn reasoning(request: &Request<'_>, cx: &WriteContext, out: &mut JsonWriter, notes: &mut Vec<Diagnostic>) {
    let Some(asked) = &request.reasoning else { return };
    if request.wire == NAME {
        return as_spelled(asked, out);
    }
    if cx.caps.reasoning == Some(ReasoningStyle::None) {
        return notes.push(dropped("reasoning effort"));
    }
    let (word, changed) = word(asked, &cx.caps);
    if let Some(word) = word {
        out.key("reasoning_effort").text(&word);
        if changed {
            notes.push(Diagnostic::new("param_clamped", "/reasoning", format!("sent as effort {word}")));
        }
    }
}

fn as_spelled(asked: &Reasoning<'_>, out: &mut JsonWriter) {
    if !asked.nested {
        out.opt_str("reasoning_effort", asked.effort.as_ref());
        if let Some(thinking) = asked.thinking {
            out.key("thinking").object().key("type").text(thinking_word(thinking));
            if let Some(budget) = asked.budget {
                out.key("budget_tokens").number(budget);
            }
            out.end_object();
        }
        return;
    }
    out.key("reasoning").object();
    out.opt_str("effort", asked.effort.as_ref());
    if let Some(budget) = asked.budget {
        out.key("max_tokens").number(budget);
    }
    out.opt_bool("exclude", asked.expose.map(|shown| !shown));
    out.opt_bool("enabled", asked.thinking.map(|t| t == Thinking::On));
    out.opt_str("summary", asked.summary.as_ref());
    out.extra(&asked.extra);
    out.end_object();
}

pub(in crate::wire) fn thinking_word(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::On => "enabled",
        Thinking::Off => "disabled",
        Thinking::Adaptive => "adaptive",
    }
}

fn response_format(output: &Output<'_>, out: &mut JsonWriter) {
    out.key("response_format").object().key("type");
    match output {
        Output::Text => drop(out.text("text")),
        Output::Object => drop(out.text("json_object")),
        Output::Schema { schema, name, description, strict } => {
            out.text("json_schema").key("json_schema").object();
            match name {
                Some(name) => out.key("name").str(name),
                None => out.key("name").text("response"),
            };
            out.opt_str("description", description.as_ref());
            out.key("schema").json(schema);
            out.opt_bool("strict", *strict);
            out.end_object();
        }
    }
    out.end_object();
}

fn tools(request: &Request<'_>, out: &mut JsonWriter) -> Result<(), WireError> {
    let listed = |t: &&Tool<'_>| !matches!(t.kind, ToolKind::WebSearch(_));
    if request.tools.iter().any(|t| listed(&t)) {
        out.key("tools").array();
        for tool in request.tools.iter().filter(listed) {
            write_tool(tool, request.wire, out)?;
        }
        out.end_array();
    }
    if let Some(tool) = request.tools.iter().find(|t| !listed(t)) {
        match &tool.kind {
            ToolKind::WebSearch(raw) if request.wire == NAME => drop(out.key("web_search_options").json(raw)),
            _ => drop(out.key("web_search_options").raw("{}")),
        }
    }
    Ok(())
}

fn write_tool(tool: &Tool<'_>, from: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    let own = from == NAME;
    if let ToolKind::Server(raw) = &tool.kind {
        if !own {
            return Err(no_tool(NAME, tool));
        }
        out.json(raw);
        return Ok(());
    }
    let custom = match &tool.kind {
        ToolKind::Custom(format) => Some(format),
        _ => None,
    };
    let kind = if custom.is_some() { "custom" } else { "function" };
    out.object().key("type").text(kind).key(kind).object();
    out.key("name").str(&tool.name);
    out.opt_str("description", tool.description.as_ref());
    match custom {
        Some(format) => drop(out.opt_json("format", format.as_ref())),
        None => drop(out.opt_json("parameters", tool.schema.as_ref())),
    }
    out.opt_bool("strict", tool.strict);
    if own {
        out.extra(&tool.extra);
    }
    out.end_object();
    if own {
        write_cache_mark(out, tool.cache);
    }
    out.end_object();
    Ok(())
}

fn tool_choice(choice: &ToolChoice<'_>, own: bool, out: &mut JsonWriter, notes: &mut Vec<Diagnostic>) {
    match choice {
        ToolChoice::Auto => drop(out.key("tool_choice").text("auto")),
        ToolChoice::None => drop(out.key("tool_choice").text("none")),
        ToolChoice::Required => drop(out.key("tool_choice").text("required")),
        ToolChoice::Named { name, custom } => {
            let kind = if *custom { "custom" } else { "function" };
            out.key("tool_choice").object().key("type").text(kind);
            out.key(kind).object().key("name").str(name).end_object().end_object();
        }
        ToolChoice::Allowed { required, names } => {
            out.key("tool_choice").object().key("type").text("allowed_tools").key("allowed_tools").object();
            out.key("mode").text(if *required { "required" } else { "auto" }).key("tools").array();
            for name in names {
                out.object().key("type").text("function");
                out.key("function").object().key("name").str(name).end_object().end_object();
            }
            out.end_array().end_object().end_object();
        }
        ToolChoice::Raw(raw) if own => drop(out.key("tool_choice").json(raw)),
        ToolChoice::Raw(_) => notes.push(dropped("tool_choice")),
    }
}
