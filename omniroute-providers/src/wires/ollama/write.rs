//! Writes requests.

use omniroute_core::hub::{
    Output, Reasoning, ReasoningStyle, Request, Thinking, Tool, ToolChoice, ToolKind, WriteContext,
};
use omniroute_core::wire::fitted::Takes;
use omniroute_core::wire::normal::{join_items, pair};
use omniroute_core::wire::{JsonWriter, WireError, Written, effort, foreign_extras};

use super::turn::write_turn;
use super::{NAME, PARAMS, TOP};
use crate::wires::common::{
    FREE_INPUT, NO_INPUT, Notes, choice_dropped, dropped, is_offered, no_tool, write_model,
};
use crate::wires::foreign;

const OPTIONS: &str = "options/";

pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Notes::new();
    let own = request.wire == NAME;
    let (request, tool_names) = Takes::ALL.fit(request, own, &mut notes)?;
    let request = &*request;
    let mut out = JsonWriter::with_capacity(64 << 10);
    out.object();
    write_model(request, cx, &mut out);
    // Nothing said means a stream on this wire and a whole reply on all others.
    out.key("stream").bool(request.stream.unwrap_or(false));
    if let Some(asked) = &request.reasoning {
        think(asked, cx, own, &mut out, &mut notes);
    }
    match &request.output {
        Some(Output::Object) => drop(out.key("format").text("json")),
        Some(Output::Schema { schema, .. }) => drop(out.key("format").json(schema)),
        Some(Output::Text) | None => {}
    }
    for (param, key) in TOP {
        if let Some(value) = request.param(param).filter(|v| v.raw() != "null") {
            match cx.quirks.drop_params.iter().any(|p| p == key) {
                true => notes.push(dropped(param.row())),
                false => drop(out.key(key).json(value)),
            }
        }
    }
    options(request, cx, own, &mut out, &mut notes)?;
    tools(request, own, &mut out, &mut notes)?;
    if own {
        for (key, value) in &request.extra {
            let key = key.decode();
            if !key.starts_with(OPTIONS) {
                out.key(&key).json(value);
            }
        }
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
    Takes::ALL.written(out, notes, tool_names)
}

fn options(
    request: &Request<'_>,
    cx: &WriteContext,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let mut inner = JsonWriter::default();
    inner.object();
    foreign::params(&PARAMS, request, cx, |_| false, &mut inner, notes)?;
    for (key, value) in request.extra.iter().filter(|_| own) {
        if let Some(key) = key.decode().strip_prefix(OPTIONS) {
            inner.key(key).json(value);
        }
    }
    inner.end_object();
    let inner = inner.finish();
    if inner != "{}" {
        out.key("options").raw(&inner);
    }
    Ok(())
}

/// A switch, or a word for models that know words.
fn think(asked: &Reasoning<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    if own {
        match (&asked.effort, asked.thinking) {
            (Some(word), _) => drop(out.key("think").str(word)),
            (None, Some(thinking)) => drop(out.key("think").bool(thinking != Thinking::Off)),
            (None, None) => {}
        }
        return;
    }
    if cx.caps.reasoning == Some(ReasoningStyle::None) {
        return notes.push(dropped("reasoning effort"));
    }
    let (word, changed) = effort::word(asked, &cx.caps);
    let Some(word) = word else { return };
    let told = match word.as_ref() {
        "none" => None,
        "minimal" | "low" => Some("low"),
        "medium" => Some("medium"),
        _ => Some("high"),
    };
    match (told, cx.caps.reasoning) {
        (None, _) => drop(out.key("think").bool(false)),
        (Some(_), Some(ReasoningStyle::Switch | ReasoningStyle::Budget)) => drop(out.key("think").bool(true)),
        (Some(told), _) => drop(out.key("think").text(told)),
    }
    if changed || told.is_some_and(|told| told != word) {
        let action = "sent as a nearby word";
        notes.push(omniroute_core::Diagnostic::new("param_clamped", "/reasoning effort", action));
    }
}

fn tools(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) -> Result<(), WireError> {
    let choice = request.tool_choice.as_ref();
    if request.tools.is_empty() || (choice == Some(&ToolChoice::None) && !own) {
        return Ok(()); // tools that are not offered are not called
    }
    let told = match choice {
        Some(ToolChoice::Required | ToolChoice::Named { .. } | ToolChoice::Raw(_)) => false,
        Some(ToolChoice::Allowed { required, .. }) => !required,
        Some(ToolChoice::Auto | ToolChoice::None) | None => true,
    };
    if !told {
        notes.push(choice_dropped());
    }
    let mut offered = request.tools.iter().filter(|t| is_offered(t, choice, true)).peekable();
    if offered.peek().is_none() {
        return Ok(());
    }
    out.key("tools").array();
    for tool in offered {
        write_tool(tool, own, out)?;
    }
    out.end_array();
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

#[cfg(test)]
mod tests {
    use omniroute_core::hub::Param;

    use super::*;

    /// Parameters at the top are those that the table leaves to this file.
    #[test]
    fn what_stands_at_the_top_is_not_an_option() {
        for (param, _) in TOP {
            assert_eq!(PARAMS.fate(param), omniroute_core::wire::Fate::Own);
        }
        assert_eq!(PARAMS.fate(Param::Seed), omniroute_core::wire::Fate::Key("seed"));
    }
}
