//! An answer, and what it says in words that are the same for every wire.

use bytes::Bytes;
use omniroute_core::Doc;
use omniroute_core::hub::{Arguments, Delta, Event, Part, PartKind, StopReason, Usage};
use omniroute_core::wire::{StreamReader, Wire};
use omniroute_route::Receipt;
use serde::Serialize;

use super::fault;
use crate::error::Error;

/// A whole answer.
#[derive(Debug)]
pub struct Reply {
    wire: Wire,
    body: Bytes,
    receipt: Receipt,
}

/// What an answer says: the first of its choices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Told {
    /// Its text.
    pub text: String,
    /// Its reasoning, as far as it can be read.
    pub reasoning: String,
    /// Tools that it calls.
    pub tool_calls: Vec<ToldCall>,
    /// Tokens, if told.
    pub usage: Option<ToldUsage>,
    /// Why it ended, such as `stop`, `length`, `tool_calls`.
    pub stop: Option<&'static str>,
    /// The model that answered, in the vendor's words.
    pub model: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToldCall {
    /// Links the call to its result.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// What it is called with, as text; mostly JSON.
    pub arguments: String,
}

/// Tokens of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToldUsage {
    /// All input.
    pub input: u64,
    /// The part of it that came from the provider's cache.
    pub cached: u64,
    /// All output.
    pub output: u64,
    /// The part of it that was reasoning.
    pub reasoning: u64,
}

impl From<&Usage> for ToldUsage {
    fn from(usage: &Usage) -> Self {
        ToldUsage {
            input: usage.input(),
            cached: usage.cache_read.unwrap_or(0),
            output: usage.output,
            reasoning: usage.reasoning.unwrap_or(0),
        }
    }
}

impl Reply {
    pub(super) fn new(wire: Wire, body: Bytes, receipt: Receipt) -> Reply {
        Reply { wire, body, receipt }
    }

    /// The answer in the wire of the request.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The wire of the request.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Who was asked, why, what it took: JSON text.
    pub fn receipt_json(&self) -> String {
        fault::receipt_json(&self.receipt)
    }

    /// What the answer says.
    ///
    /// # Errors
    /// `bad_reply` if the body is no answer of its wire.
    pub fn told(&self) -> Result<Told, Error> {
        told(self.wire, self.body.clone())
    }
}

fn told(wire: Wire, body: Bytes) -> Result<Told, Error> {
    let wrong = |why: String| Error::new("bad_reply", why);
    let doc = Doc::parse_with_limit(body, usize::MAX).map_err(|error| wrong(error.to_string()))?;
    let reply = wire.read_reply(&doc).map_err(|error| wrong(error.to_string()))?.value;
    let mut out = Told {
        usage: reply.usage.as_ref().map(ToldUsage::from),
        model: reply.model.as_ref().map(|model| model.decode().into_owned()),
        ..Told::default()
    };
    let Some(choice) = reply.choices.first() else { return Ok(out) };
    out.stop = choice.stop.as_ref().map(|stop| word(stop.reason));
    for part in &choice.turn.parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => out.text.push_str(&text.text.decode()),
            Part::Thought(thought) if !thought.copy => {
                thought.text.iter().for_each(|text| out.reasoning.push_str(&text.decode()));
            }
            Part::Call(call) => out.tool_calls.push(ToldCall {
                id: call.id.decode().into_owned(),
                name: call.name.decode().into_owned(),
                arguments: match &call.arguments {
                    Arguments::Text(text) | Arguments::Free(text) => text.decode().into_owned(),
                    Arguments::Json(json) => json.raw().to_owned(),
                },
            }),
            _ => {}
        }
    }
    Ok(out)
}

fn word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Length => "length",
        StopReason::ContextFull => "context_full",
        StopReason::ToolCalls => "tool_calls",
        StopReason::ContentFilter => "content_filter",
        StopReason::Refusal => "refusal",
        StopReason::Pause => "pause",
        StopReason::Malformed => "malformed",
        StopReason::Failed => "failed",
        _ => "unknown",
    }
}

/// Something that a streamed answer says: of its first choice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToldEvent {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// A call of a tool begins, or more of its arguments.
    ToolCall {
        /// Number of the call in the answer, from 0.
        index: u32,
        /// With the first event of the call.
        id: Option<String>,
        /// With the first event of the call.
        name: Option<String>,
        /// What is added to its arguments.
        arguments: String,
    },
    /// Tokens so far; a later one replaces an earlier one.
    Usage(ToldUsage),
    /// Why the answer ended.
    Stop(&'static str),
    /// The answer broke off.
    Failed(Box<Error>),
}

/// Reads the pieces of a streamed answer.
#[derive(Debug)]
pub struct Events {
    reader: Option<Box<dyn StreamReader>>,
    /// Part numbers of calls and of reasoning.
    calls: Vec<u32>,
    thoughts: Vec<u32>,
}

impl Events {
    /// Of an answer in this wire.
    pub fn new(wire: Wire) -> Events {
        Events { reader: wire.stream_reader(), calls: Vec::new(), thoughts: Vec::new() }
    }

    /// What the next piece says.
    pub fn feed(&mut self, piece: impl Into<Bytes>) -> Vec<ToldEvent> {
        let mut items = Vec::new();
        if let Some(reader) = &mut self.reader {
            reader.feed(piece.into(), &mut items);
        }
        items.into_iter().flat_map(|item| item.events).filter_map(|event| self.event(event)).collect()
    }

    /// The answer has ended.
    pub fn end(&mut self) -> Vec<ToldEvent> {
        let mut items = Vec::new();
        if let Some(mut reader) = self.reader.take() {
            reader.end(&mut items);
        }
        items.into_iter().flat_map(|item| item.events).filter_map(|event| self.event(event)).collect()
    }

    fn event(&mut self, event: Event) -> Option<ToldEvent> {
        match event {
            Event::PartStart { choice: 0, part, kind: PartKind::Call { id, name, .. } } => {
                self.calls.push(part);
                let index = u32::try_from(self.calls.len() - 1).unwrap_or(u32::MAX);
                let arguments = String::new();
                Some(ToldEvent::ToolCall { index, id: Some(id), name: Some(name), arguments })
            }
            Event::PartStart { choice: 0, part, kind: PartKind::Thought { .. } } => {
                self.thoughts.push(part);
                None
            }
            Event::Delta { choice: 0, part, delta: Delta::Text(text) } => {
                if let Some(index) = self.calls.iter().position(|call| *call == part) {
                    let index = u32::try_from(index).unwrap_or(u32::MAX);
                    return Some(ToldEvent::ToolCall { index, id: None, name: None, arguments: text });
                }
                Some(if self.thoughts.contains(&part) {
                    ToldEvent::Reasoning(text)
                } else {
                    ToldEvent::Text(text)
                })
            }
            Event::Usage(usage) => Some(ToldEvent::Usage((&usage).into())),
            Event::Stop { choice: 0, stop } => Some(ToldEvent::Stop(word(stop.reason))),
            Event::Error(error) => {
                let error = fault::of_stream(error.code.as_deref(), &error.message);
                Some(ToldEvent::Failed(Box::new(error)))
            }
            _ => None,
        }
    }
}
