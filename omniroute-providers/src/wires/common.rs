//! What the wires of this crate share: shape checks, remarks, and small readings of parts.

use omniroute_core::hub::{
    Arguments, Choice, ErrorBody, Extra, Json, Part, Stop, StopReason, Str, Text, Tool, ToolChoice, ToolKind,
};
use omniroute_core::wire::{JsonWriter, ParamTable, WireError, object_of};
use omniroute_core::{Conversation, Diagnostic, Doc, DocError, Head, Kind, NodeId, Rule};

/// Remarks that a writer collects.
pub(super) type Notes = Vec<Diagnostic>;

/// The schema of a custom tool where a wire only has functions.
pub(super) const FREE_INPUT: &str =
    r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;
/// The schema of a tool that takes nothing.
pub(super) const NO_INPUT: &str = r#"{"type":"object","properties":{}}"#;

/// A body of the wrong shape.
pub(super) fn shape(doc: &Doc, node: NodeId, detail: impl Into<String>) -> DocError {
    DocError::at(Rule::Shape, doc.bytes(), doc.offset(node), detail.into())
}

/// The root, if it is an object.
pub(super) fn root_object(doc: &Doc) -> Result<NodeId, DocError> {
    object(doc, doc.root(), "the body")?;
    Ok(doc.root())
}

/// Refuses what is no object.
pub(super) fn object(doc: &Doc, node: NodeId, what: &str) -> Result<(), DocError> {
    if doc.kind(node) == Kind::Object {
        return Ok(());
    }
    Err(shape(doc, node, format!("{what} is not an object")))
}

/// The array behind a key that decides the meaning.
pub(super) fn array(
    doc: &Doc,
    object: NodeId,
    value: Option<NodeId>,
    name: &str,
) -> Result<NodeId, DocError> {
    let node = value.ok_or_else(|| shape(doc, object, format!("key \"{name}\" is missing")))?;
    if doc.kind(node) != Kind::Array {
        return Err(shape(doc, node, format!("\"{name}\" is not an array")));
    }
    Ok(node)
}

/// Refuses an object that gives one of `names` twice.
pub(super) fn once<const N: usize>(doc: &Doc, object: NodeId, names: [&str; N]) -> Result<(), DocError> {
    let mut seen = [false; N];
    for (key, _) in doc.members(object) {
        let Some(name) = doc.json_str(key) else { continue };
        let Some(at) = names.iter().position(|wanted| name.is(wanted)) else { continue };
        if std::mem::replace(&mut seen[at], true) {
            let detail = format!("key \"{}\" is given twice", names[at]);
            return Err(DocError::at(Rule::DuplicateKey, doc.bytes(), doc.offset(key), detail));
        }
    }
    Ok(())
}

/// The reading for compression: clients do not speak these wires, so nothing in them is offered for editing.
pub(super) fn closed<'d>(doc: &'d Doc, head: Head<'d>) -> Result<Conversation<'d>, DocError> {
    let root = root_object(doc)?;
    let mut out = Conversation::default();
    out.head = head;
    out.extra = doc.members(root).filter_map(|(key, value)| Some((doc.json_str(key)?, value))).collect();
    Ok(out)
}

/// Splits members into parameters of the table and others.
pub(super) fn sort_params<'d>(
    members: Extra<'d>,
    table: &ParamTable,
    params: &mut Vec<(omniroute_core::hub::Param, Json<'d>)>,
) -> Extra<'d> {
    let mut rest = Extra::new();
    for (key, value) in members {
        let param = match &key {
            Str::Literal(name) => table.param(*name),
            Str::Chars(_) => None,
        };
        match param.filter(|p| !params.iter().any(|(known, _)| known == p)) {
            Some(param) => params.push((param, value)),
            None => rest.push((key, value)),
        }
    }
    rest
}

/// A parameter that was left out.
pub(super) fn dropped(row: &str) -> Diagnostic {
    Diagnostic::new("param_dropped", format!("/{row}"), "not sent: the target has no such parameter")
}

/// A member of a reply that the client's wire has no place for.
pub(super) fn left_out(key: &str) -> Diagnostic {
    Diagnostic::new(
        "reply_field_dropped",
        format!("/{key}"),
        "not told: the client's wire has no such member",
    )
}

/// Reasoning that is not sent.
pub(super) fn reasoning_dropped() -> Diagnostic {
    Diagnostic::new("reasoning_dropped", "/messages", "reasoning of another model is not sent")
}

/// A failed call that looks like a good one to the target.
pub(super) fn error_flag_dropped() -> Diagnostic {
    let action = "the target cannot tell a failed call from a good one";
    Diagnostic::new("tool_error_flag_dropped", "/messages", action)
}

/// A choice of tools that the target cannot be told.
pub(super) fn choice_dropped() -> Diagnostic {
    Diagnostic::new("tool_choice_dropped", "/tool_choice", "the target cannot be told which tool to call")
}

/// The target cannot take a sort of media.
pub(super) fn no_modality(wire: &str, what: &str, pointer: &str) -> WireError {
    let message = format!("wire \"{wire}\" cannot carry {what}");
    WireError::incapable("unsupported_modality", pointer, message)
}

/// The target cannot take media by its address.
pub(super) fn no_remote(wire: &str, pointer: &str) -> WireError {
    let message = format!("wire \"{wire}\" takes the bytes of media, not its address");
    WireError::incapable("remote_media_unsupported", pointer, message)
}

/// The target cannot take a block of another wire.
pub(super) fn no_part(wire: &str, pointer: &str) -> WireError {
    let message = format!("a content part of another wire has no form on wire \"{wire}\"");
    WireError::incapable("unsupported_content_part", pointer, message)
}

/// The target cannot take a tool that its vendor runs.
pub(super) fn no_tool(wire: &str, tool: &Tool<'_>) -> WireError {
    let name = tool.name.decode();
    let message = format!("tool \"{name}\" is run by its vendor; wire \"{wire}\" has no such tool");
    WireError::incapable("unsupported_tool", format!("/tools/{name}"), message)
}

/// An answer that says nothing.
pub(super) fn empty() -> WireError {
    WireError::Vendor(Box::new(ErrorBody::own("empty_reply", "the answer has no content")))
}

/// A tool of the provider.
pub(super) fn server_tool<'d>(raw: Json<'d>, name: Str<'d>) -> Tool<'d> {
    Tool {
        name,
        description: None,
        schema: None,
        strict: None,
        kind: ToolKind::Server(raw),
        cache: None,
        extra: Extra::new(),
    }
}

/// A text without anything else.
pub(super) fn text_part(text: Str<'_>) -> Part<'_> {
    Part::Text(Text { text, ..Text::default() })
}

/// What says nothing: an empty text, or an unsigned thought without words.
pub(super) fn is_blank(part: &Part<'_>) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.text.is_empty(),
        Part::Thought(thought) => thought.seal.is_none() && thought.text.iter().all(Str::is_empty),
        _ => false,
    }
}

/// What a vendor says and what it sent must agree.
pub(super) fn correct(stop: &mut Option<Stop<'_>>, parts: &[Part<'_>]) {
    let calls = parts.iter().any(|p| matches!(p, Part::Call(_)));
    if let Some(stop) = stop.as_mut().filter(|s| calls && s.reason == StopReason::Stop) {
        stop.reason = StopReason::ToolCalls;
    }
}

/// Whether a part is a call that the output limit cut: its arguments are no JSON.
pub(super) fn is_unfinished(choice: &Choice<'_>, part: &Part<'_>) -> bool {
    let cut = choice
        .stop
        .as_ref()
        .is_some_and(|s| matches!(s.reason, StopReason::Length | StopReason::ContextFull));
    match part {
        Part::Call(call) if cut => match &call.arguments {
            Arguments::Text(text) => !text.is_empty() && Doc::check(text.decode().trim()).is_err(),
            _ => false,
        },
        _ => false,
    }
}

/// The remark for a call that [`is_unfinished`].
pub(super) fn unfinished() -> Diagnostic {
    Diagnostic::new("unfinished_call_removed", "/tool_calls", "the output limit cut the call; it is not told")
}

/// Arguments as an object, whatever they were.
pub(super) fn arguments_object(
    arguments: &Arguments<'_>,
    custom: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) {
    match arguments {
        Arguments::Json(json) if json.raw().starts_with('{') => drop(out.json(json)),
        Arguments::Json(json) if json.raw() == "null" => drop(out.raw("{}")),
        Arguments::Json(json) => drop(out.object().key("value").json(json).end_object()),
        Arguments::Free(text) => drop(out.object().key("input").str(text).end_object()),
        Arguments::Text(text) if custom => drop(out.object().key("input").str(text).end_object()),
        Arguments::Text(text) => {
            let text = text.decode();
            let (object, lossy) = object_of(&text);
            out.raw(&object);
            if lossy {
                let action = "arguments that are no JSON are sent as text";
                notes.push(Diagnostic::new("tool_args_invalid", "/messages", action));
            }
        }
    }
}

/// Whether a tool is among those that may be called; targets without a list of allowed ones get only these.
pub(super) fn is_offered(tool: &Tool<'_>, choice: Option<&ToolChoice<'_>>, named_too: bool) -> bool {
    match choice {
        Some(ToolChoice::Allowed { names, .. }) => names.contains(&tool.name),
        Some(ToolChoice::Named { name, .. }) if named_too => *name == tool.name,
        _ => true,
    }
}

/// Texts with `gap` between them.
pub(super) fn spaced<'a, 'd: 'a>(
    texts: &'a [&'a Str<'d>],
    gap: &'a Str<'d>,
) -> impl Iterator<Item = &'a Str<'d>> + 'a {
    texts.iter().enumerate().flat_map(move |(n, text)| (n > 0).then_some(gap).into_iter().chain([*text]))
}

/// A document that is plain text, with its name above it.
pub(super) fn headed(name: Option<&Str<'_>>, text: &Str<'_>) -> String {
    match name {
        Some(name) => format!("[{}]\n{}", name.decode(), text.decode()),
        None => text.decode().into_owned(),
    }
}
