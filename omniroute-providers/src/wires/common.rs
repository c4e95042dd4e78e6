//! What the wires of this crate share: shape checks, remarks, and small readings of parts.

use omniroute_core::hub::{Extra, Json, Part, Str, Text, Tool, ToolChoice, ToolKind};
use omniroute_core::wire::fields::{error, expect, pick};
use omniroute_core::wire::{ParamTable, WireError};
use omniroute_core::{Conversation, Diagnostic, Doc, DocError, Head, Kind, NodeId, Rule};

pub(super) use omniroute_core::wire::common::{
    FREE_INPUT, NO_INPUT, correct, dropped, empty, is_blank, is_unfinished, left_out, no_part, no_tool,
    unfinished, write_input, write_model,
};
pub(super) use omniroute_core::wire::fields::{array, root_object};

/// Remarks that a writer collects.
pub(super) type Notes = Vec<Diagnostic>;

/// A body of the wrong shape.
pub(super) fn shape(doc: &Doc, node: NodeId, detail: impl Into<String>) -> DocError {
    error(doc, node, Rule::Shape, detail.into())
}

/// Refuses what is no object.
pub(super) fn object(doc: &Doc, node: NodeId, what: &str) -> Result<(), DocError> {
    expect(doc, node, Kind::Object, what)
}

/// Refuses an object that gives one of `names` twice.
pub(super) fn once<const N: usize>(
    doc: &Doc,
    object: NodeId,
    names: [&'static str; N],
) -> Result<(), DocError> {
    pick(doc, object, names, []).map(drop)
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
