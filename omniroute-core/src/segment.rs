//! One text of a request with its kind, origin and zone: what compression engines see.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::call::{Call, Opened};
use crate::conversation::{Arguments, Text, ToolCall};
use crate::doc::{Doc, NodeId, escape};
use crate::exit::exit_code;

/// Where a segment stands: message, block in the message, part in the block; all from 0.
/// System text outside the messages has `message == u32::MAX`, tool definitions have `u32::MAX - 1`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct SegmentId {
    /// Index of the message or input item.
    pub message: u32,
    /// Index of the block in it.
    pub block: u32,
    /// Index of the text in the block.
    pub part: u32,
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.message, self.block, self.part)
    }
}

/// What a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SegmentKind {
    /// System or developer text.
    System,
    /// The user's text.
    User,
    /// The model's text.
    Assistant,
    /// Thinking or reasoning.
    Reasoning,
    /// Arguments of a tool call.
    ToolCall,
    /// What a tool returned.
    ToolResult,
    /// The definition of a tool.
    ToolDefinition,
}

/// Why a segment must be sent as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Frozen {
    /// System text, arguments, reasoning, definitions: never edited by any engine.
    Kind,
    /// Signed, or part of a message that holds signed reasoning, or cited by position.
    Sealed,
}

/// One text of the request.
pub struct Segment<'d> {
    /// Where it stands.
    pub id: SegmentId,
    /// What it is.
    pub kind: SegmentKind,
    /// Whether and why it must stay as it is.
    pub frozen: Option<Frozen>,
    /// Whether the wire marks the tool's answer as an error.
    pub is_error: bool,
    /// For a tool result: index of the segment with the call it answers, which comes earlier.
    pub call: Option<usize>,
    source: Source<'d>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) tool: Option<ToolCall<'d>>,
    decoded: OnceLock<Decoded<'d>>,
    opened: OnceLock<Opened<'d>>,
    called: OnceLock<Call>,
    class: OnceLock<u8>,
    sent: Option<Arc<str>>,
    edited_by: Vec<&'static str>,
}

/// Where a text comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'d> {
    Literal {
        doc: &'d Doc,
        text: Text<'d>,
    },
    Json {
        doc: &'d Doc,
        node: NodeId,
    },
    /// A call without arguments.
    Empty {
        doc: &'d Doc,
    },
}

struct Decoded<'d> {
    text: Cow<'d, str>,
    /// The JSON document around the text, and where the text's literal stands in it.
    envelope: Option<(Doc, NodeId)>,
    exit_code: Option<i32>,
}

impl fmt::Debug for Segment<'_> {
    /// Place and kind only: texts may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment({} {:?})", self.id, self.kind)
    }
}

impl<'d> Segment<'d> {
    pub(crate) fn new(id: SegmentId, kind: SegmentKind, source: Source<'d>) -> Self {
        let frozen = match kind {
            SegmentKind::User | SegmentKind::Assistant | SegmentKind::ToolResult => None,
            _ => Some(Frozen::Kind),
        };
        Segment {
            id,
            kind,
            frozen,
            is_error: false,
            call: None,
            source,
            exit_code: None,
            tool: None,
            decoded: OnceLock::new(),
            opened: OnceLock::new(),
            called: OnceLock::new(),
            class: OnceLock::new(),
            sent: None,
            edited_by: Vec::new(),
        }
    }

    /// The bytes that decide the text: the literal as written. Cheaper than decoding it.
    pub fn raw(&self) -> &'d [u8] {
        match self.source {
            Source::Literal { text, .. } => text.text.raw(),
            Source::Json { doc, node } => doc.raw(node).as_bytes(),
            Source::Empty { .. } => &[],
        }
    }

    /// The text as the caller gave it.
    pub fn original(&self) -> &str {
        match self.parsed_arguments() {
            Some(doc) => doc.source(),
            None => &self.decoded().text,
        }
    }

    /// The text as it is sent: after all edits so far.
    pub fn sent(&self) -> &str {
        self.sent.as_deref().unwrap_or_else(|| self.original())
    }

    /// Whether any engine has changed it.
    pub fn is_edited(&self) -> bool {
        self.sent.is_some()
    }

    /// Ids of the engines that changed it, in order.
    pub fn edited_by(&self) -> &[&'static str] {
        &self.edited_by
    }

    /// Exit code of the command behind a tool result: from the wire, from the JSON document around the text, or
    /// from the line in which a harness reports it (`[exit code 1]`, `Exit code: 1`, `exit status 1`).
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code.or_else(|| self.decoded().exit_code).or_else(|| exit_code(self.original()))
    }

    /// Exit code that the wire itself carries: part of the segment's identity, costs nothing.
    pub fn wire_exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// For a tool call: what it asks for.
    pub fn as_call(&self) -> Option<&Call> {
        let tool = self.tool.as_ref()?;
        Some(self.called.get_or_init(|| Call::from_arguments(tool, self.opened(tool))))
    }

    /// For a tool call: the tool's name as written in the body.
    pub fn tool_name(&self) -> Option<Cow<'d, str>> {
        self.tool.as_ref().and_then(|t| t.name).map(|n| n.decode())
    }

    /// For a tool call: every string of its arguments, decoded, in document order.
    pub fn argument_leaves(&self) -> Vec<String> {
        self.tool.as_ref().map(|tool| self.opened(tool).leaves()).unwrap_or_default()
    }

    /// The node whose literal carries the text, if it can be edited.
    pub fn node(&self) -> Option<NodeId> {
        match self.source {
            Source::Literal { text, .. } => Some(text.node),
            _ => None,
        }
    }

    /// Sets the text that will be sent; `engine` is remembered.
    pub fn set_sent(&mut self, text: Arc<str>, edited_by: &[&'static str]) {
        self.sent = Some(text);
        self.edited_by = edited_by.to_vec();
    }

    /// The JSON literal that carries `text` in place of the present one.
    pub fn literal_for(&self, text: &str) -> String {
        match &self.decoded().envelope {
            None => escape(text),
            Some((doc, node)) => {
                let mut patch = crate::doc::Patch::new();
                patch.set_str(*node, text);
                match doc.splice(&patch) {
                    Ok(bytes) => escape(std::str::from_utf8(&bytes).unwrap_or("")),
                    Err(_) => escape(doc.raw(doc.root())), // one edit cannot overlap
                }
            }
        }
    }

    /// Whether writing [`Segment::original`] back gives the very bytes of the body.
    pub fn rewrites_exactly(&self) -> bool {
        let literal = self.literal_for(self.original());
        literal.as_bytes().get(1..literal.len() - 1) == Some(self.raw())
    }

    /// A number that says what sort of text this is, worked out by whoever asks first and shared with all others.
    /// What the numbers mean is the business of the engines of one pipeline.
    pub fn class(&self, work_out: impl FnOnce() -> u8) -> u8 {
        *self.class.get_or_init(work_out)
    }

    /// For a call whose arguments are JSON in a string: the document, which holds the decoded text already.
    fn parsed_arguments(&self) -> Option<&Doc> {
        let tool = self.tool.as_ref()?;
        match (tool.arguments, self.opened(tool)) {
            (Arguments::Text(..), Opened::Json(Cow::Owned(doc), _)) => Some(doc),
            _ => None,
        }
    }

    fn opened(&self, tool: &ToolCall<'d>) -> &Opened<'d> {
        self.opened.get_or_init(|| Opened::of(self.doc(), tool.arguments))
    }

    fn doc(&self) -> &'d Doc {
        match self.source {
            Source::Literal { doc, .. } | Source::Json { doc, .. } | Source::Empty { doc } => doc,
        }
    }

    fn decoded(&self) -> &Decoded<'d> {
        self.decoded.get_or_init(|| match self.source {
            Source::Literal { text, .. } => decode(text),
            Source::Json { doc, node } => {
                Decoded { text: Cow::Borrowed(doc.raw(node)), envelope: None, exit_code: None }
            }
            Source::Empty { .. } => Decoded { text: Cow::Borrowed(""), envelope: None, exit_code: None },
        })
    }
}

fn decode(text: Text<'_>) -> Decoded<'_> {
    let whole = text.text.decode();
    if text.envelope
        && whole.trim_start().starts_with('{')
        && let Some(found) = open_envelope(&whole)
    {
        return found;
    }
    Decoded { text: whole, envelope: None, exit_code: None }
}

/// A JSON object with a text under `output`, as shells of the Responses API report.
fn open_envelope(whole: &str) -> Option<Decoded<'static>> {
    let doc = Doc::parse(whole.to_owned()).ok()?;
    let root = doc.root();
    let output = doc.get(root, "output")?;
    let text = doc.str(output)?.into_owned();
    let metadata = doc.get(root, "metadata").unwrap_or(root);
    let exit_code =
        doc.get(metadata, "exit_code").and_then(|n| doc.integer(n)).and_then(|n| i32::try_from(n).ok());
    Some(Decoded { text: Cow::Owned(text), envelope: Some((doc, output)), exit_code })
}
