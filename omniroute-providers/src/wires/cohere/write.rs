//! Writes requests.

use omniroute_core::hub::{
    Output, Param, Reasoning, ReasoningStyle, Request, Thinking, Tool, ToolChoice, ToolKind, WriteContext,
};
use omniroute_core::wire::fitted::Takes;
use omniroute_core::wire::normal::{join_items, pair};
use omniroute_core::wire::{JsonWriter, WireError, Written, effort, foreign_extras, names};

use super::turn::write_turn;
use super::{NAME, PARAMS};
use crate::wires::common::{FREE_INPUT, NO_INPUT, Notes, dropped, is_offered, no_tool, write_model};
use crate::wires::foreign;

/// What the vendor takes.
const TAKES: Takes = Takes { names: Some(&names::PORTABLE), ..Takes::ALL };

pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Notes::new();
    let own = request.wire == NAME;
    let (request, tool_names) = TAKES.fit(request, own, &mut notes)?;
    let request = &*request;
    let mut out = JsonWriter::with_capacity(64 << 10);
    out.object();
    write_model(request, cx, &mut out);
    foreign::params(&PARAMS, request, cx, |_| false, &mut out, &mut notes)?;
    if request.param(Param::SafetySettings).is_some() {
        notes.push(dropped("safety settings")); // a list of another wire
    }
    if let Some(asked) = &request.reasoning {
        thinking(asked, cx, own, &mut out, &mut notes);
    }
    if let Some(output) = &request.output {
        response_format(output, own, &mut out);
    }
    out.opt_bool("stream", request.stream);
    tools(request, own, &mut out, &mut notes)?;
    if own {
        out.extra(&request.extra);
    } else {
        foreign_extras(request, &mut notes)?;
    }
    let turns = match own {
        true => request.turns.clone(),
        false => pair(join_items(request.turns.clone()), &mut notes),
    };
    out.key("messages").array();
    for (at, turn) in turns.iter().enumerate() {
        write_turn(turn, at, own, &mut out, &mut notes)?;
    }
    out.end_array().end_object();
    TAKES.written(out, notes, tool_names)
}

fn thinking(asked: &Reasoning<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    if own {
        out.key("thinking").object();
        match asked.thinking {
            Some(Thinking::Off) => drop(out.key("type").text("disabled")),
            Some(_) => drop(out.key("type").text("enabled")),
            None => {}
        }
        if let Some(budget) = asked.budget {
            out.key("token_budget").number(budget);
        }
        out.extra(&asked.extra).end_object();
        return;
    }
    if cx.caps.reasoning == Some(ReasoningStyle::None) {
        return notes.push(dropped("reasoning effort"));
    }
    let Some(budget) = effort::budget(asked, &cx.caps) else { return };
    out.key("thinking").object();
    match budget {
        0 => drop(out.key("type").text("disabled")),
        _ => drop(out.key("type").text("enabled").key("token_budget").number(budget)),
    }
    out.end_object();
}

fn response_format(output: &Output<'_>, own: bool, out: &mut JsonWriter) {
    if !own && *output == Output::Text {
        return; // what is answered anyway
    }
    out.key("response_format").object().key("type");
    match output {
        Output::Text => drop(out.text("text")),
        Output::Object => drop(out.text("json_object")),
        Output::Schema { schema, .. } => drop(out.text("json_object").key("json_schema").json(schema)),
    }
    out.end_object();
}

fn tools(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) -> Result<(), WireError> {
    let choice = request.tool_choice.as_ref();
    let offered: Vec<_> = request.tools.iter().filter(|t| is_offered(t, choice, true)).collect();
    if !offered.is_empty() {
        out.key("tools").array();
        for tool in &offered {
            write_tool(tool, own, out)?;
        }
        out.end_array();
        let all = |strict| offered.iter().all(|t| t.strict == Some(strict));
        if all(true) || (own && all(false)) {
            out.key("strict_tools").bool(all(true));
        }
    }
    if offered.is_empty() && !own {
        return Ok(()); // a choice among no tools
    }
    match choice {
        Some(ToolChoice::None) => drop(out.key("tool_choice").text("NONE")),
        Some(
            ToolChoice::Required | ToolChoice::Named { .. } | ToolChoice::Allowed { required: true, .. },
        ) => {
            out.key("tool_choice").text("REQUIRED");
        }
        Some(ToolChoice::Raw(raw)) if own => drop(out.key("tool_choice").json(raw)),
        Some(ToolChoice::Raw(_)) => notes.push(dropped("tool_choice")),
        Some(ToolChoice::Auto | ToolChoice::Allowed { required: false, .. }) | None => {}
    }
    Ok(())
}

fn write_tool(tool: &Tool<'_>, own: bool, out: &mut JsonWriter) -> Result<(), WireError> {
    let custom = matches!(tool.kind, ToolKind::Custom(_));
    match &tool.kind {
        ToolKind::Server(raw) if own => {
            out.json(raw);
            return Ok(());
        }
        ToolKind::Server(_) | ToolKind::WebSearch(_) => return Err(no_tool(NAME, tool)),
        ToolKind::Function | ToolKind::Custom(_) => {}
    }
    out.object().key("type").text("function").key("function").object();
    out.key("name").str(&tool.name).opt_str("description", tool.description.as_ref());
    match &tool.schema {
        _ if custom => drop(out.key("parameters").raw(FREE_INPUT)),
        Some(schema) => drop(out.key("parameters").json(schema)),
        None if own => {}
        None => drop(out.key("parameters").raw(NO_INPUT)),
    }
    out.end_object();
    if own {
        out.extra(&tool.extra);
    }
    out.end_object();
    Ok(())
}
