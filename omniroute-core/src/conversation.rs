//! The common reading of a request: borrowed views that every wire format produces.
//!
//! Nothing is decoded here. Texts stay literals of the document ([`JsonStr`]) until somebody asks.

use crate::doc::{JsonStr, NodeId};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// Instructions of the application, in OpenAI's newer word.
    Developer,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
}

impl Role {
    /// Lower-case name as wires write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// A request as any wire format tells it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Conversation<'d> {
    /// System text first (wherever the wire keeps it), then the messages in order.
    pub turns: Vec<Turn<'d>>,
    /// Tool definitions.
    pub tools: Vec<Tool<'d>>,
    /// Model and the few parameters that others look at.
    pub head: Head<'d>,
    /// Earlier content is kept by the provider and not visible here (`previous_response_id`, `cachedContent`).
    pub continues: bool,
    /// Top-level members that the reading does not model: key and value node.
    pub extra: Vec<(JsonStr<'d>, NodeId)>,
}

/// What can be told from the top level alone.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Head<'d> {
    /// The model asked for, if the body says.
    pub model: Option<JsonStr<'d>>,
    /// Whether the answer is to be streamed; false if the body does not say.
    pub stream: bool,
    /// Upper bound for output tokens, if the body says.
    pub max_output: Option<i64>,
}

/// One message, or one input item of the Responses API.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Turn<'d> {
    /// Who speaks.
    pub role: Role,
    /// Index in the array of messages; `None` for system text that stands outside it.
    pub index: Option<u32>,
    /// The message's node.
    pub node: NodeId,
    /// What it says, in order.
    pub parts: Vec<Part<'d>>,
}

/// A tool definition.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Tool<'d> {
    /// Its name, if it has one.
    pub name: Option<JsonStr<'d>>,
    /// The whole definition.
    pub node: NodeId,
}

/// A piece of a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Part<'d> {
    /// Text that could be edited.
    Text(Text<'d>),
    /// The model calls a tool.
    ToolCall(ToolCall<'d>),
    /// A tool's answer.
    ToolResult(ToolResult<'d>),
    /// Thinking or reasoning, signed or not. Never edited.
    Reasoning {
        /// The block.
        node: NodeId,
        /// Its readable text, if any.
        text: Option<JsonStr<'d>>,
    },
    /// An image, sound, video or file.
    Media {
        /// The block.
        node: NodeId,
    },
    /// A block this reading knows nothing about. Never edited.
    Opaque {
        /// The block.
        node: NodeId,
    },
}

/// A string literal that holds text.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Text<'d> {
    /// The literal's node.
    pub node: NodeId,
    /// The literal.
    pub text: JsonStr<'d>,
    /// The text may be a JSON document whose member `output` is what the tool printed (Responses API).
    pub envelope: bool,
    /// Bound to a signature or to citations of its text: must stay as it is.
    pub sealed: bool,
}

impl<'d> Text<'d> {
    /// A plain, editable text.
    pub fn new(node: NodeId, text: JsonStr<'d>) -> Self {
        Text { node, text, envelope: false, sealed: false }
    }
}

/// A call of a tool by the model.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToolCall<'d> {
    /// The block or item.
    pub node: NodeId,
    /// Links the call to its result; some Gemini clients leave it out.
    pub id: Option<JsonStr<'d>>,
    /// Name of the tool.
    pub name: Option<JsonStr<'d>>,
    /// What it is called with.
    pub arguments: Arguments<'d>,
}

/// Arguments of a call, in the form the wire gives them.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Arguments<'d> {
    /// No arguments.
    None,
    /// A JSON value in the document.
    Json(NodeId),
    /// A string that holds a JSON document.
    Text(NodeId, JsonStr<'d>),
    /// Free text, as custom tools take it.
    Free(NodeId, JsonStr<'d>),
}

/// A tool's answer to a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolResult<'d> {
    /// The block, item or message.
    pub node: NodeId,
    /// The call it answers.
    pub id: Option<JsonStr<'d>>,
    /// Name of the tool, where the result repeats it.
    pub name: Option<JsonStr<'d>>,
    /// What came back.
    pub parts: Vec<Part<'d>>,
    /// Whether the wire marks it as an error.
    pub is_error: bool,
    /// Exit code, where the wire carries one beside the text.
    pub exit_code: Option<i32>,
}
