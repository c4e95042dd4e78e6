//! Writes requests.

use super::part_out::{lacks_seal, write_turn};
use super::parts::NAME;
use super::{CONFIG, TOP};
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Issuer, Output, Param, Part, ReasoningStyle, Request, Seal, Text, ToolChoice, ToolKind, Turn,
    WriteContext,
};
use crate::wire::common::{FREE_INPUT, dropped, no_tool};
use crate::wire::effort::{budget, fit, word};
use crate::wire::fitted::Takes;
use crate::wire::json::JsonWriter;
use crate::wire::normal::{join_items, merge, pair};
use crate::wire::schema::{self, Dialect};
use crate::wire::{WireError, Written, foreign_extras, names};

type Notes = Vec<Diagnostic>;

/// What the vendor takes.
const TAKES: Takes = Takes {
    names: Some(&names::GEMINI),
    images: &["image/png", "image/jpeg", "image/webp", "image/heic"],
    ..Takes::ALL
};

pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Vec::new();
    let own = request.wire == NAME;
    let (request, tool_names) = TAKES.fit(request, own, &mut notes)?;
    let request = &*request;
    let mut out = JsonWriter::with_capacity(64 << 10);
    out.object();
    if own {
        out.opt_str("model", request.model.as_ref());
    }
    TOP.write(request, cx, &mut out, &mut notes)?;
    config(request, cx, own, &mut out, &mut notes)?;
    if own {
        let inner = |key: &str| key.starts_with("generationConfig/") || key.starts_with("toolConfig/");
        for (key, value) in request.extra.iter().filter(|(key, _)| !inner(&key.decode())) {
            out.key(&key.decode()).json(value);
        }
    } else {
        foreign_extras(request, &mut notes)?;
    }
    tools(request, cx, own, &mut out, &mut notes)?;
    tool_config(request, own, &mut out, &mut notes);
    let head = request.turns.iter().take_while(|t| t.is_system()).count();
    let (system, rest) = request.turns.split_at(head);
    write_system(system, own, &mut out)?;
    let turns = if own { rest.to_vec() } else { foreign(rest.to_vec(), cx, &mut notes) };
    out.key("contents").array();
    for (at, turn) in turns.iter().enumerate() {
        // Made ids depend on the place among all turns.
        write_turn(turn, at + head, own, cx, &mut out, &mut notes)?;
    }
    out.end_array();
    out.end_object();
    TAKES.written(out, notes, tool_names)
}

fn config(
    request: &Request<'_>,
    cx: &WriteContext,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let mut inner = JsonWriter::default();
    inner.object();
    let sampling = |p: &Param| matches!(p, Param::Temperature | Param::TopP | Param::TopK);
    let mut sent = Request { wire: request.wire, ..Request::default() };
    for (param, value) in &request.params {
        match cx.caps.no_sampling == Some(true) && sampling(param) {
            true => notes.push(dropped(param.row())),
            false => sent.params.push((*param, value.clone())),
        }
    }
    CONFIG.write(&sent, cx, &mut inner, notes)?;
    limit(request, cx, own, &mut inner, notes);
    output(request, cx, own, &mut inner, notes);
    reasoning(request, cx, own, &mut inner, notes);
    if own {
        for (key, value) in &request.extra {
            if let Some(name) = key.decode().strip_prefix("generationConfig/") {
                inner.key(name).json(value);
            }
        }
    }
    inner.end_object();
    let body = inner.finish();
    if body != "{}" {
        out.key("generationConfig").raw(&body);
    }
    Ok(())
}

/// Thoughts count against the limit: what is thought by a word comes on top of what the caller wants to read.
fn with_thoughts(request: &Request<'_>, cx: &WriteContext, own: bool) -> Option<(u64, u64)> {
    let asked = request.param(Param::MaxOutput).and_then(|limit| limit.count())?;
    let by_word = cx.caps.reasoning == Some(ReasoningStyle::Budget) && !own;
    let reasoning = request.reasoning.as_ref().filter(|r| by_word && r.budget.is_none())?;
    fit(Some(asked), budget(reasoning, &cx.caps).filter(|b| *b > 0)?, &cx.caps)
}

fn limit(request: &Request<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    let Some(asked) = request.param(Param::MaxOutput).filter(|l| l.raw() != "null") else { return };
    if let Some((total, _)) = with_thoughts(request, cx, own) {
        out.key("maxOutputTokens").number(total);
        return;
    }
    let thinks = cx.caps.reasoning == Some(ReasoningStyle::Effort) && !own;
    let needs = request.reasoning.as_ref().filter(|_| thinks).and_then(|r| budget(r, &cx.caps));
    if needs.is_some_and(|needs| asked.count().is_some_and(|limit| limit < needs)) {
        let action = "thoughts count against the limit, and as many as were asked for do not fit in it";
        notes.push(Diagnostic::new("max_output_may_truncate_reasoning", "/max_output", action));
    }
    match (asked.count(), cx.caps.max_output) {
        (Some(n), Some(most)) if n > most => {
            notes.push(Diagnostic::new("param_clamped", "/max_output", format!("sent as {most}")));
            out.key("maxOutputTokens").number(most);
        }
        _ => drop(out.key("maxOutputTokens").json(asked)),
    }
}

/// What schemas the host takes, and under which names: those of tools, and that of the answer.
fn dialect(cx: &WriteContext) -> (Dialect, [&'static str; 2]) {
    match cx.quirks.openapi_schemas {
        true => (Dialect::GeminiOpenapi, ["parameters", "responseSchema"]),
        false => (Dialect::GeminiJson, ["parametersJsonSchema", "responseJsonSchema"]),
    }
}

fn output(request: &Request<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    match &request.output {
        None => {}
        Some(Output::Text) => drop(out.key("responseMimeType").text("text/plain")),
        Some(Output::Object) => drop(out.key("responseMimeType").text("application/json")),
        Some(Output::Schema { schema, .. }) => {
            out.key("responseMimeType").text("application/json");
            let older = request.extra.iter().any(|(key, _)| key.is("generationConfig/responseSchema"));
            if own && !older {
                out.key("responseJsonSchema").json(schema);
            } else if !own {
                let (dialect, [_, key]) = dialect(cx);
                let fitted = schema::fit(schema.raw(), dialect);
                out.key(key).raw(&fitted.schema);
                notes.extend(fitted.note("/output"));
            }
        }
    }
}

fn reasoning(request: &Request<'_>, cx: &WriteContext, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    let Some(asked) = &request.reasoning else { return };
    if !own && cx.caps.reasoning == Some(ReasoningStyle::None) {
        return notes.push(dropped("reasoning effort"));
    }
    out.key("thinkingConfig").object();
    if own {
        if let Some(budget) = asked.budget {
            out.key("thinkingBudget").number(budget);
        }
        if let Some(level) = &asked.effort {
            out.key("thinkingLevel").text(&level.decode().to_ascii_uppercase());
        }
        out.opt_bool("includeThoughts", asked.expose).extra(&asked.extra).end_object();
        return;
    }
    let level = matches!(cx.caps.reasoning, Some(ReasoningStyle::Effort | ReasoningStyle::Adaptive));
    if level {
        let (word, changed) = word(asked, &cx.caps);
        let word = word.map(|w| if w == "none" { "minimal".into() } else { w });
        if let Some(word) = word {
            out.key("thinkingLevel").text(&word.to_ascii_uppercase());
        }
        if changed {
            notes.push(Diagnostic::new("param_clamped", "/reasoning effort", "sent as a nearby word"));
        }
    } else if let Some((_, budget)) = with_thoughts(request, cx, own) {
        out.key("thinkingBudget").number(budget);
    } else if let Some(budget) = budget(asked, &cx.caps) {
        out.key("thinkingBudget").number(budget);
    }
    out.key("includeThoughts").bool(asked.expose.unwrap_or(true)).end_object();
}

/// All functions in one entry; tools of the vendor's own in entries of theirs.
fn tools(
    request: &Request<'_>,
    cx: &WriteContext,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    if request.tools.is_empty() {
        return Ok(());
    }
    let (dialect, [key, _]) = dialect(cx);
    out.key("tools").array();
    let functions =
        || request.tools.iter().filter(|t| matches!(t.kind, ToolKind::Function | ToolKind::Custom(_)));
    if functions().next().is_some() {
        out.object().key("functionDeclarations").array();
        for tool in functions() {
            out.object().key("name").str(&tool.name).opt_str("description", tool.description.as_ref());
            let older = own && tool.extra.iter().any(|(key, _)| key.is("parameters"));
            match (&tool.schema, &tool.kind) {
                (_, ToolKind::Custom(_)) => drop(out.key(key).raw(FREE_INPUT)),
                (Some(_), _) if older => {}
                (Some(schema), _) if own => drop(out.key("parametersJsonSchema").json(schema)),
                (Some(schema), _) => {
                    let fitted = schema::fit(schema.raw(), dialect);
                    out.key(key).raw(&fitted.schema);
                    notes.extend(fitted.note(format!("/tools/{}", tool.name.decode())));
                }
                (None, _) => {}
            }
            if own {
                out.extra(&tool.extra);
            }
            out.end_object();
        }
        out.end_array().end_object();
    }
    for tool in &request.tools {
        match &tool.kind {
            ToolKind::Server(raw) | ToolKind::WebSearch(raw) if own => drop(out.json(raw)),
            ToolKind::WebSearch(_) => {
                out.object().key("googleSearch").object().end_object().end_object();
            }
            ToolKind::Server(_) => return Err(no_tool(NAME, tool)),
            _ => {}
        }
    }
    out.end_array();
    Ok(())
}

fn tool_config(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    if request.tools.is_empty() && !own {
        return;
    }
    let (mode, names) = match &request.tool_choice {
        None => return,
        Some(ToolChoice::Raw(raw)) if own => {
            out.key("toolConfig").json(raw);
            return;
        }
        Some(ToolChoice::Raw(_)) => return notes.push(dropped("tool_choice")),
        Some(ToolChoice::Auto) => ("AUTO", &[][..]),
        Some(ToolChoice::None) => ("NONE", &[][..]),
        Some(ToolChoice::Required) => ("ANY", &[][..]),
        Some(ToolChoice::Named { name, .. }) => ("ANY", std::slice::from_ref(name)),
        Some(ToolChoice::Allowed { required: true, names }) => ("ANY", names.as_slice()),
        Some(ToolChoice::Allowed { required: false, names }) => ("VALIDATED", names.as_slice()),
    };
    out.key("toolConfig").object().key("functionCallingConfig").object().key("mode").text(mode);
    if !names.is_empty() {
        out.key("allowedFunctionNames").array();
        names.iter().for_each(|n| _ = out.str(n));
        out.end_array();
    }
    out.end_object();
    for (key, value) in request.extra.iter().filter(|_| own) {
        if let Some(name) = key.decode().strip_prefix("toolConfig/") {
            out.key(name).json(value);
        }
    }
    out.end_object();
}

fn write_system(system: &[Turn<'_>], own: bool, out: &mut JsonWriter) -> Result<(), WireError> {
    let parts: Vec<&Part<'_>> = system.iter().flat_map(|t| &t.parts).collect();
    if parts.is_empty() {
        return Ok(());
    }
    out.key("systemInstruction").object().key("parts").array();
    for part in parts {
        match part {
            Part::Text(text) if own || !text.text.is_empty() => {
                out.object().key("text").str(&text.text);
                if own {
                    out.extra(&text.extra);
                }
                out.end_object();
            }
            Part::Text(_) => {}
            Part::Opaque(opaque) if own => drop(out.json(&opaque.raw)),
            _ => {
                let message = "instructions may hold only text";
                return Err(WireError::invalid("unsupported_content_part", "/systemInstruction", message));
            }
        }
    }
    out.end_array().end_object();
    Ok(())
}

/// Turns of another wire in the order that this one demands.
fn foreign<'d>(turns: Vec<Turn<'d>>, cx: &WriteContext, notes: &mut Notes) -> Vec<Turn<'d>> {
    let mut turns = pair(join_items(turns), notes);
    for turn in &mut turns {
        let mut lost = false;
        turn.parts.retain(|part| match part {
            Part::Text(text) | Part::Refusal(text) => {
                !text.text.is_empty() || !lacks_seal(text.seal.as_ref())
            }
            Part::Thought(thought) => {
                let kept = !lacks_seal(thought.seal.as_ref());
                lost |= !kept;
                kept
            }
            _ => true,
        });
        if lost {
            let action = "reasoning of another model is not sent";
            notes.push(Diagnostic::new("reasoning_dropped", "/contents", action));
        }
        if turn.is_system() {
            turn.role = Role::User;
            for part in &mut turn.parts {
                if let Part::Text(text) = part {
                    text.text = format!("<system_note>{}</system_note>", text.text.decode()).into();
                }
            }
        }
    }
    turns.retain(|t| !t.parts.is_empty());
    let mut turns = merge(turns, |role| if role == Role::Tool { Role::User } else { role });
    if turns.first().is_none_or(|t| t.role != Role::User) {
        notes.push(Diagnostic::new(
            "message_inserted",
            "/contents/0",
            "the first message has to be the user's",
        ));
        let text = Text { text: "Continue.".into(), ..Text::default() };
        turns.insert(0, Turn::new(Role::User, vec![Part::Text(text)]));
    }
    if cx.caps.reasoning == Some(ReasoningStyle::Effort) {
        placeholders(&mut turns, notes);
    }
    turns
}

/// Models that demand a signature on the first call of each step of the current turn get the vendor's own word for
/// "made by another model" where there cannot be one.
fn placeholders(turns: &mut [Turn<'_>], notes: &mut Notes) {
    let asked = |t: &Turn<'_>| t.role == Role::User && !t.parts.iter().any(|p| matches!(p, Part::Result(_)));
    let start = turns.iter().rposition(asked).map_or(0, |at| at + 1);
    for turn in turns.iter_mut().skip(start).filter(|t| t.role == Role::Assistant) {
        let first =
            turn.parts.iter_mut().find_map(|p| if let Part::Call(call) = p { Some(call) } else { None });
        if let Some(call) = first.filter(|c| lacks_seal(c.seal.as_ref())) {
            call.seal =
                Some(Seal { issuer: Issuer::Gemini, data: "skip_thought_signature_validator".into() });
            let action = "a call made by another model goes with the vendor's placeholder";
            notes.push(Diagnostic::new("signature_placeholder", "/contents", action));
        }
    }
}
