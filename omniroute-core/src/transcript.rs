//! The request as a flat list of texts: everything the model will read, in order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::call::Call;
use crate::conversation::{Arguments, Conversation, Part, Role, Text, ToolCall, ToolResult, Turn};
use crate::doc::{Doc, DocError};
use crate::request::ChatRequest;
use crate::segment::{Frozen, Segment, SegmentId, SegmentKind, Source};

/// Everything the model will read, in order.
///
/// ```
/// use omniroute_core::{ChatRequest, SegmentKind, Transcript, wire};
/// let body = r#"{"messages":[
///   {"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},
///   {"role":"tool","tool_call_id":"c1","content":"a.txt"}]}"#;
/// let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?;
/// let transcript = Transcript::of(&request)?;
/// let result = transcript.segments().iter().find(|s| s.kind == SegmentKind::ToolResult).expect("one result");
/// assert_eq!(transcript.call_of(result).and_then(|c| c.command.as_deref()), Some("ls"));
/// # Ok::<(), omniroute_core::DocError>(())
/// ```
#[derive(Debug)]
pub struct Transcript<'d> {
    segments: Vec<Segment<'d>>,
    tools: Vec<Cow<'d, str>>,
    continues: bool,
}

impl<'d> Transcript<'d> {
    /// Reads the request.
    ///
    /// # Errors
    /// [`DocError`] if the body is not a request of its wire.
    pub fn of(request: &'d ChatRequest) -> Result<Self, DocError> {
        Ok(Transcript::from_conversation(request.doc(), &request.conversation()?))
    }

    /// Flattens a reading of `doc`.
    pub fn from_conversation(doc: &'d Doc, conversation: &Conversation<'d>) -> Self {
        let room = conversation.tools.len() + conversation.turns.iter().map(|t| t.parts.len()).sum::<usize>();
        let mut builder = Builder {
            doc,
            segments: Vec::with_capacity(room),
            calls: HashMap::new(),
            by_name: HashMap::new(),
            answered: HashSet::new(),
        };
        for (index, tool) in conversation.tools.iter().enumerate() {
            let id = SegmentId { message: u32::MAX - 1, block: index as u32, part: 0 };
            let source = Source::Json { doc, node: tool.node };
            builder.segments.push(Segment::new(id, SegmentKind::ToolDefinition, source));
        }
        conversation.turns.iter().for_each(|turn| builder.turn(turn));
        Transcript {
            segments: builder.segments,
            tools: conversation.tools.iter().filter_map(|t| t.name).map(|n| n.decode()).collect(),
            continues: conversation.continues,
        }
    }

    /// All segments in order.
    pub fn segments(&self) -> &[Segment<'d>] {
        &self.segments
    }

    /// All segments in order, to record what is sent.
    pub fn segments_mut(&mut self) -> &mut [Segment<'d>] {
        &mut self.segments
    }

    /// Names of the tools the model may call.
    pub fn tools(&self) -> &[Cow<'d, str>] {
        &self.tools
    }

    /// Whether earlier content is kept by the provider and not visible here.
    pub fn continues(&self) -> bool {
        self.continues
    }

    /// The call that a tool result answers.
    pub fn call_of(&self, segment: &Segment<'d>) -> Option<&Call> {
        self.segments.get(segment.call?).and_then(|s| s.as_call())
    }
}

struct Builder<'d> {
    doc: &'d Doc,
    segments: Vec<Segment<'d>>,
    /// Call id to the latest call with it.
    calls: HashMap<Cow<'d, str>, usize>,
    /// Tool name to its calls that no result without an id has claimed, oldest first.
    by_name: HashMap<Cow<'d, str>, VecDeque<usize>>,
    answered: HashSet<usize>,
}

impl<'d> Builder<'d> {
    fn turn(&mut self, turn: &Turn<'d>) {
        let kind = match turn.role {
            Role::System | Role::Developer => SegmentKind::System,
            Role::User | Role::Tool => SegmentKind::User,
            Role::Assistant => SegmentKind::Assistant,
        };
        let message = turn.index.unwrap_or(u32::MAX);
        // Signed reasoning vouches for the message it stands in.
        let sealed =
            turn.role == Role::Assistant && turn.parts.iter().any(|p| matches!(p, Part::Reasoning { .. }));
        for (block, part) in turn.parts.iter().enumerate() {
            let id = SegmentId { message, block: block as u32, part: 0 };
            match part {
                Part::Text(text) => self.text(id, kind, text, sealed),
                Part::ToolCall(call) => self.call(id, call),
                Part::ToolResult(result) => self.result(id, result),
                Part::Reasoning { text: Some(text), node } => {
                    let source = Source::Literal { doc: self.doc, text: Text::new(*node, *text) };
                    self.segments.push(Segment::new(id, SegmentKind::Reasoning, source));
                }
                Part::Reasoning { .. } | Part::Media { .. } | Part::Opaque { .. } => {}
            }
        }
    }

    fn text(&mut self, id: SegmentId, kind: SegmentKind, text: &Text<'d>, sealed: bool) {
        let mut segment = Segment::new(id, kind, Source::Literal { doc: self.doc, text: *text });
        if segment.frozen.is_none() && (sealed || text.sealed) {
            segment.frozen = Some(Frozen::Sealed);
        }
        self.segments.push(segment);
    }

    fn call(&mut self, id: SegmentId, call: &ToolCall<'d>) {
        let source = match call.arguments {
            Arguments::None => Source::Empty { doc: self.doc },
            Arguments::Json(node) => Source::Json { doc: self.doc, node },
            Arguments::Text(node, text) | Arguments::Free(node, text) => {
                Source::Literal { doc: self.doc, text: Text::new(node, text) }
            }
        };
        let mut segment = Segment::new(id, SegmentKind::ToolCall, source);
        segment.tool = Some(*call);
        let index = self.segments.len();
        let name = call.name.map(|n| n.decode()).unwrap_or_default();
        if let Some(call_id) = call.id.filter(|id| !id.is_empty()) {
            self.calls.insert(call_id.decode(), index);
        }
        self.by_name.entry(name).or_default().push_back(index);
        self.segments.push(segment);
    }

    fn result(&mut self, id: SegmentId, result: &ToolResult<'d>) {
        let call = self.link(result);
        for (part, piece) in result.parts.iter().enumerate() {
            if let Part::Text(text) = piece {
                let id = SegmentId { part: part as u32, ..id };
                let mut segment =
                    Segment::new(id, SegmentKind::ToolResult, Source::Literal { doc: self.doc, text: *text });
                segment.frozen = text.sealed.then_some(Frozen::Sealed);
                segment.is_error = result.is_error;
                segment.exit_code = result.exit_code;
                segment.call = call;
                self.segments.push(segment);
            }
        }
    }

    /// By id: the latest call with it. Without id: the first unanswered call of that name.
    fn link(&mut self, result: &ToolResult<'d>) -> Option<usize> {
        if let Some(id) = result.id.filter(|id| !id.is_empty()) {
            let index = self.calls.get(&id.decode()).copied()?;
            self.answered.insert(index);
            return Some(index);
        }
        let waiting = self.by_name.get_mut(&result.name?.decode())?;
        while let Some(index) = waiting.pop_front() {
            if self.answered.insert(index) {
                return Some(index);
            }
        }
        None
    }
}
