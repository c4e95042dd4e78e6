//! What a writer is told about its target. Plain data; the default knows nothing.

/// What a writer is told.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct WriteContext {
    /// The model to name; default: the one of the request.
    pub model: Option<String>,
    /// What the model can do.
    pub caps: Caps,
    /// What is odd about the host.
    pub quirks: Quirks,
    /// Ids that have to be made up are derived from this; the same seed gives the same ids.
    pub ids: u64,
    /// What the caller prefers.
    pub options: Options,
}

/// What a model can do. `None` is unknown and never refuses anything.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Caps {
    /// Most output tokens.
    pub max_output: Option<u64>,
    /// How it is asked to think.
    pub reasoning: Option<ReasoningStyle>,
    /// Words of effort it knows; empty if unknown.
    pub efforts: Vec<String>,
    /// Whether sampling parameters are refused.
    pub no_sampling: Option<bool>,
    /// Whether an answer may be begun for it.
    pub prefill: Option<bool>,
    /// Whether system text may stand between messages.
    pub mid_system: Option<bool>,
    /// Whether answers can follow a schema.
    pub json_schema: Option<bool>,
    /// Whether it sees images.
    pub images: Option<bool>,
    /// Whether it hears sound.
    pub audio: Option<bool>,
    /// Whether it reads documents.
    pub documents: Option<bool>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
}

/// How a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningStyle {
    /// It cannot think.
    None,
    /// By a word.
    Effort,
    /// By a number of tokens.
    Budget,
    /// It decides itself; a word may guide it.
    Adaptive,
    /// By a switch.
    Switch,
}

/// What is odd about a host. Default: like the vendor whose wire it speaks.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Quirks {
    /// Whether the limit is called `max_completion_tokens` (chat completions); default: as the client called it,
    /// `max_tokens` for others.
    pub max_completion_tokens: Option<bool>,
    /// Whether instructions may have the role `developer`.
    pub developer_role: Option<bool>,
    /// Whether `stream_options` is refused.
    pub no_stream_options: bool,
    /// Whether system text may stand only at the start.
    pub system_first_only: bool,
    /// Whether two messages of one role in a row are refused.
    pub strict_alternation: bool,
    /// Whether a message's content has to be plain text.
    pub plain_content: bool,
    /// Whether every earlier message with calls must repeat its reasoning text.
    pub repeat_reasoning: bool,
    /// Whether tool ids have to be nine letters or digits.
    pub short_ids: bool,
    /// Whether calls must not carry ids.
    pub no_call_ids: bool,
    /// Whether schemas have to be in the older dialect, without references and without `null` as a type (Gemini). Requests of Gemini's own wire keep theirs.
    pub openapi_schemas: bool,
    /// Most tools of a request; default: any number. Above it the target is incapable (`too_many_tools`).
    pub max_tools: Option<usize>,
    /// Parameters the host refuses, by the name on its wire.
    pub drop_params: Vec<String>,
    /// Parameters the host takes beyond its wire (`top_k`, `min_p`, ...).
    pub allow_params: Vec<String>,
}

/// What the caller prefers.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether content the target cannot take is left out with a diagnostic; default: it makes the target incapable.
    pub lenient: bool,
    /// Whether a stream's usage goes to a client on this wire, where the wire asks for it.
    pub stream_usage: bool,
    /// Whether to ask a host of the client's own wire for the usage of a stream where it gives it only on demand; the
    /// client is not shown what it did not ask for.
    pub ask_usage: bool,
    /// Whether reasoning is kept from the client.
    pub hide_reasoning: bool,
}
