//! A request.

use super::part::{CacheMark, Part};
use super::value::{Extra, Json, Str};
use crate::conversation::Role;

/// A chat request.
#[derive(Debug, Clone, Default)]
pub struct Request<'d> {
    /// The wire it was read from; extras belong to it.
    pub wire: &'static str,
    /// The model asked for, if the body says.
    pub model: Option<Str<'d>>,
    /// Whether the answer is to be streamed, if the body says.
    pub stream: Option<bool>,
    /// Whether a stream should end with usage, if the body says.
    pub stream_usage: Option<bool>,
    /// System text and messages, in order.
    pub turns: Vec<Turn<'d>>,
    /// Tool definitions.
    pub tools: Vec<Tool<'d>>,
    /// Which tool to call.
    pub tool_choice: Option<ToolChoice<'d>>,
    /// What the answer's text must look like.
    pub output: Option<Output<'d>>,
    /// How much to think.
    pub reasoning: Option<Reasoning<'d>>,
    /// Simple parameters, each at most once, in the order of the body.
    pub params: Vec<(Param, Json<'d>)>,
    /// The whole prefix may be cached by the provider's own rule.
    pub cache: Option<CacheMark>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl<'d> Request<'d> {
    /// The value of a simple parameter.
    pub fn param(&self, param: Param) -> Option<&Json<'d>> {
        self.params.iter().find(|(p, _)| *p == param).map(|(_, value)| value)
    }
}

/// One message, or one input item of a wire that has items.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn<'d> {
    /// Who speaks.
    pub role: Role,
    /// What it says, in order.
    pub parts: Vec<Part<'d>>,
    /// Whether the wire gave plain text instead of a list.
    pub plain: bool,
    /// Whether this is one item of several that together are a message.
    pub item: bool,
    /// Id of the item.
    pub id: Option<Str<'d>>,
    /// Name of who speaks.
    pub name: Option<Str<'d>>,
    /// State of the item.
    pub status: Option<Str<'d>>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl<'d> Turn<'d> {
    /// A turn without anything but its parts.
    pub fn new(role: Role, parts: Vec<Part<'d>>) -> Self {
        Turn { role, parts, plain: false, item: false, id: None, name: None, status: None, extra: Vec::new() }
    }

    /// Whether the application's instructions stand here.
    pub fn is_system(&self) -> bool {
        matches!(self.role, Role::System | Role::Developer)
    }
}

/// A tool definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool<'d> {
    /// Its name.
    pub name: Str<'d>,
    /// What it does.
    pub description: Option<Str<'d>>,
    /// JSON Schema of its input.
    pub schema: Option<Json<'d>>,
    /// Whether the input must follow the schema exactly, if told.
    pub strict: Option<bool>,
    /// Who runs it.
    pub kind: ToolKind<'d>,
    /// Everything up to here may be cached.
    pub cache: Option<CacheMark>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

/// Who runs a tool and how it takes its input.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind<'d> {
    /// The client, with a JSON object.
    Function,
    /// The client, with free text of this format.
    Custom(Option<Json<'d>>),
    /// The provider: a search of the web, the one such tool that several wires have.
    WebSearch(Json<'d>),
    /// The provider, in a way that only its wire knows.
    Server(Json<'d>),
}

/// Which tool the model should call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolChoice<'d> {
    /// As it likes.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named {
        /// Its name.
        name: Str<'d>,
        /// Whether it takes free text.
        custom: bool,
    },
    /// Only these.
    Allowed {
        /// Whether one of them must be called.
        required: bool,
        /// Their names.
        names: Vec<Str<'d>>,
    },
    /// Something that only its own wire understands.
    Raw(Json<'d>),
}

/// What the answer's text must look like.
#[derive(Debug, Clone, PartialEq)]
pub enum Output<'d> {
    /// Text, said explicitly.
    Text,
    /// Any JSON object.
    Object,
    /// JSON that follows a schema.
    Schema {
        /// The schema.
        schema: Json<'d>,
        /// Its name.
        name: Option<Str<'d>>,
        /// What it is for.
        description: Option<Str<'d>>,
        /// Whether it must be followed exactly, if told.
        strict: Option<bool>,
    },
}

/// How much to think, in the words of the source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reasoning<'d> {
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    pub effort: Option<Str<'d>>,
    /// Tokens for thinking.
    pub budget: Option<i64>,
    /// On, off or as the model likes.
    pub thinking: Option<Thinking>,
    /// Which summary to give.
    pub summary: Option<Str<'d>>,
    /// Whether to show what was thought.
    pub expose: Option<bool>,
    /// Whether the source spelled it in an object of its own (`reasoning`) where its wire has two ways.
    pub nested: bool,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

/// The switch of reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// On.
    On,
    /// Off.
    Off,
    /// As much as the model likes.
    Adaptive,
}

/// A simple parameter: one value that wires carry under different names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is named after its row in the matrix")]
pub enum Param {
    MaxOutput,
    Temperature,
    TopP,
    TopK,
    MinP,
    RepetitionPenalty,
    TypicalP,
    Stop,
    Seed,
    FrequencyPenalty,
    PresencePenalty,
    LogitBias,
    Logprobs,
    TopLogprobs,
    Candidates,
    User,
    ParallelTools,
    ServiceTier,
    Speed,
    CacheKey,
    CacheRetention,
    CacheOptions,
    CachedContent,
    KeepAlive,
    Metadata,
    Store,
    PreviousResponse,
    Conversation,
    Include,
    Truncation,
    MaxToolCalls,
    Verbosity,
    Modalities,
    Prediction,
    SafetySettings,
    MediaResolution,
    SpeechConfig,
    ContextManagement,
    Documents,
}

impl Param {
    /// Every parameter.
    pub const ALL: [Param; 39] = [
        Param::MaxOutput,
        Param::Temperature,
        Param::TopP,
        Param::TopK,
        Param::MinP,
        Param::RepetitionPenalty,
        Param::TypicalP,
        Param::Stop,
        Param::Seed,
        Param::FrequencyPenalty,
        Param::PresencePenalty,
        Param::LogitBias,
        Param::Logprobs,
        Param::TopLogprobs,
        Param::Candidates,
        Param::User,
        Param::ParallelTools,
        Param::ServiceTier,
        Param::Speed,
        Param::CacheKey,
        Param::CacheRetention,
        Param::CacheOptions,
        Param::CachedContent,
        Param::KeepAlive,
        Param::Metadata,
        Param::Store,
        Param::PreviousResponse,
        Param::Conversation,
        Param::Include,
        Param::Truncation,
        Param::MaxToolCalls,
        Param::Verbosity,
        Param::Modalities,
        Param::Prediction,
        Param::SafetySettings,
        Param::MediaResolution,
        Param::SpeechConfig,
        Param::ContextManagement,
        Param::Documents,
    ];

    /// The name of its row in the matrix.
    pub fn row(self) -> &'static str {
        match self {
            Param::MaxOutput => "max_output",
            Param::Temperature => "temperature",
            Param::TopP => "top_p",
            Param::TopK => "top_k",
            Param::MinP => "min_p",
            Param::RepetitionPenalty => "repetition_penalty",
            Param::TypicalP => "typical_p",
            Param::Stop => "stop",
            Param::Seed => "seed",
            Param::FrequencyPenalty => "frequency_penalty",
            Param::PresencePenalty => "presence_penalty",
            Param::LogitBias => "logit_bias",
            Param::Logprobs => "logprobs",
            Param::TopLogprobs => "top_logprobs",
            Param::Candidates => "candidates",
            Param::User => "user",
            Param::ParallelTools => "parallel_tools",
            Param::ServiceTier => "service_tier",
            Param::Speed => "speed",
            Param::CacheKey => "cache key",
            Param::CacheRetention => "cache retention",
            Param::CacheOptions => "cache options",
            Param::CachedContent => "cached content",
            Param::KeepAlive => "keep_alive",
            Param::Metadata => "metadata",
            Param::Store => "store",
            Param::PreviousResponse => "previous response",
            Param::Conversation => "conversation, prompt, background",
            Param::Include => "include",
            Param::Truncation => "truncation",
            Param::MaxToolCalls => "max_tool_calls",
            Param::Verbosity => "verbosity",
            Param::Modalities => "modalities",
            Param::Prediction => "prediction",
            Param::SafetySettings => "safety settings",
            Param::MediaResolution => "media resolution",
            Param::SpeechConfig => "speech settings",
            Param::ContextManagement => "container, context management",
            Param::Documents => "documents",
        }
    }
}
