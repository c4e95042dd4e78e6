//! Writes streams: blocks strictly one after another, whatever order their deltas come in.

use std::collections::VecDeque;

use super::reply::{signature, stop_word, write_usage};
use crate::diagnostic::Diagnostic;
use crate::hub::{
    CallKind, Delta, ErrorBody, Event, Issuer, Part, PartKind, Seal, Spelling, Start, Stop, Usage,
    WriteContext,
};
use crate::wire::common::left_out;
use crate::wire::json::JsonWriter;
use crate::wire::lost::Remarks;
use crate::wire::{StreamWriter, seal};

/// Most bytes that wait for an open block to end.
const MOST_WAITING: usize = 32 << 20;

/// Writes the events of a message.
#[derive(Debug)]
pub(super) struct MessageWriter {
    json: JsonWriter,
    index: u32,
    current: Option<Block>,
    waiting: VecDeque<Waiting>,
    held: usize,
    usage: Option<Usage>,
    stop: Option<Stop<'static>>,
    begun: bool,
    hide_reasoning: bool,
    ids: u64,
    model: String,
    notes: Remarks,
}

/// The block that is being written.
#[derive(Debug)]
struct Block {
    part: u32,
    kind: PartKind,
    /// Whether its start is out; texts and thoughts wait for something to say.
    open: bool,
    /// Whether any input is out; a custom call's is kept until it is whole.
    input: bool,
    free: String,
    seal: Option<Seal<'static>>,
}

/// A block that waits for its turn.
#[derive(Debug)]
struct Waiting {
    part: u32,
    kind: PartKind,
    deltas: Vec<Delta>,
    ended: bool,
}

impl MessageWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        MessageWriter {
            json: JsonWriter::default(),
            index: 0,
            current: None,
            waiting: VecDeque::new(),
            held: 0,
            usage: None,
            stop: None,
            begun: false,
            hide_reasoning: cx.options.hide_reasoning,
            ids: cx.ids,
            model: cx.model.clone().unwrap_or_default(),
            notes: Remarks::default(),
        }
    }

    /// One event: `fill` writes the members behind `type`.
    fn event(&mut self, name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.json.clear();
        self.json.object().key("type").text(name);
        fill(&mut self.json);
        self.json.end_object();
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.extend_from_slice(b"\n\n");
    }

    fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        self.begun = true;
        let id = start.id.clone().unwrap_or_else(|| format!("msg_{:016x}", self.ids));
        let model = start.model.clone().unwrap_or_else(|| self.model.clone());
        let usage = self.usage.clone().unwrap_or_default();
        self.event("message_start", out, |json| {
            json.key("message").object().key("id").text(&id).key("type").text("message");
            json.key("role").text("assistant").key("model").text(&model).key("content").array().end_array();
            json.key("stop_reason").null().key("stop_sequence").null().key("usage");
            write_usage(&usage, false, json);
            json.end_object();
        });
    }

    fn block_start(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        let index = self.index;
        self.event("content_block_start", out, |json| {
            json.key("index").number(index).key("content_block").object();
            fill(json);
            json.end_object();
        });
    }

    fn block_delta(&mut self, kind: &str, key: &str, text: &str, out: &mut Vec<u8>) {
        let index = self.index;
        self.event("content_block_delta", out, |json| {
            json.key("index").number(index).key("delta").object();
            json.key("type").text(kind).key(key).text(text).end_object();
        });
    }

    fn block_stop(&mut self, out: &mut Vec<u8>) {
        let index = self.index;
        self.event("content_block_stop", out, |json| _ = json.key("index").number(index));
        self.index += 1;
    }

    fn begin(&mut self, part: u32, kind: PartKind, out: &mut Vec<u8>) {
        let mut block = Block { part, kind, open: false, input: false, free: String::new(), seal: None };
        if let PartKind::Call { id, name, seal, .. } = &block.kind {
            if let Some(seal) = seal {
                self.envelope(seal, id, out);
            }
            self.block_start(out, |json| {
                json.key("type").text("tool_use").key("id").text(id).key("name").text(name);
                json.key("input").object().end_object();
            });
            block.open = true;
        }
        self.current = Some(block);
    }

    /// A thought that only carries the seal of a call.
    fn envelope(&mut self, seal: &Seal<'_>, call: &str, out: &mut Vec<u8>) {
        let text = seal::close(seal, Some(call));
        self.block_start(out, |json| {
            _ = json.key("type").text("thinking").key("thinking").text("").key("signature").text("")
        });
        self.block_delta("signature_delta", "signature", &text, out);
        self.block_stop(out);
    }

    fn add(&mut self, delta: Delta, out: &mut Vec<u8>) {
        let Some(mut block) = self.current.take() else { return };
        match (&block.kind, delta) {
            (PartKind::Text | PartKind::Refusal, Delta::Text(text)) if !text.is_empty() => {
                if !block.open {
                    block.open = true;
                    self.block_start(out, |json| _ = json.key("type").text("text").key("text").text(""));
                }
                self.block_delta("text_delta", "text", &text, out);
            }
            (PartKind::Thought { .. }, _) if self.hide_reasoning => {}
            (PartKind::Thought { .. }, Delta::Text(text)) if !text.is_empty() => {
                self.think(&mut block, &text, out)
            }
            (PartKind::Thought { .. }, Delta::Paragraph) => self.think(&mut block, "\n\n", out),
            (PartKind::Thought { .. } | PartKind::Call { .. }, Delta::Seal(seal)) => block.seal = Some(seal),
            (PartKind::Call { kind: CallKind::Custom, .. }, Delta::Text(text)) => block.free.push_str(&text),
            // No arguments, as some hosts say it.
            (PartKind::Call { .. }, Delta::Text(text)) if !block.input && text.trim() == "null" => {}
            (PartKind::Call { .. }, Delta::Text(text)) if !text.is_empty() => {
                block.input = true;
                self.block_delta("input_json_delta", "partial_json", &text, out);
            }
            (_, Delta::Citation(_) | Delta::Logprobs(_) | Delta::Seal(_)) => self.note(),
            _ => {}
        }
        self.current = Some(block);
    }

    fn think(&mut self, block: &mut Block, text: &str, out: &mut Vec<u8>) {
        self.open_thought(block, out);
        self.block_delta("thinking_delta", "thinking", text, out);
    }

    fn open_thought(&mut self, block: &mut Block, out: &mut Vec<u8>) {
        if !block.open {
            block.open = true;
            let fill = |json: &mut JsonWriter| {
                _ = json.key("type").text("thinking").key("thinking").text("").key("signature").text("")
            };
            self.block_start(out, fill);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Some(mut block) = self.current.take() else { return };
        match &block.kind {
            PartKind::Call { id, kind, .. } => {
                if *kind == CallKind::Custom {
                    let mut input = JsonWriter::default();
                    input.object().key("input").text(&block.free).end_object();
                    self.block_delta("input_json_delta", "partial_json", &input.finish(), out);
                } else if !block.input {
                    self.block_delta("input_json_delta", "partial_json", "{}", out);
                }
                self.block_stop(out);
                if let Some(seal) = &block.seal {
                    self.envelope(seal, id, out);
                }
                return;
            }
            PartKind::Thought { spelling, .. } => {
                if let Some(seal) = block.seal.take() {
                    let hidden = matches!(spelling, Spelling::Redacted | Spelling::Details) && !block.open;
                    if hidden && seal.issuer == Issuer::Anthropic {
                        let fill = |json: &mut JsonWriter| {
                            _ = json.key("type").text("redacted_thinking").key("data").str(&seal.data)
                        };
                        self.block_start(out, fill);
                        return self.block_stop(out);
                    }
                    self.open_thought(&mut block, out);
                    self.block_delta("signature_delta", "signature", &signature(Some(&seal)), out);
                }
            }
            PartKind::Whole(part) => match part.as_ref() {
                Part::Opaque(opaque) if opaque.wire == super::blocks::NAME => {
                    let index = self.index;
                    self.event("content_block_start", out, |json| {
                        json.key("index").number(index).key("content_block").json(&opaque.raw);
                    });
                    return self.block_stop(out);
                }
                _ => self.note(),
            },
            _ => {}
        }
        if block.open {
            self.block_stop(out);
        }
    }

    /// The open block has ended: those that waited follow.
    fn advance(&mut self, out: &mut Vec<u8>) {
        self.end(out);
        while let Some(next) = self.waiting.pop_front() {
            self.begin(next.part, next.kind, out);
            for delta in next.deltas {
                if let Delta::Text(text) = &delta {
                    self.held = self.held.saturating_sub(text.len());
                }
                self.add(delta, out);
            }
            if !next.ended {
                return;
            }
            self.end(out);
        }
    }

    fn delta(&mut self, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        if self.current.as_ref().is_some_and(|b| b.part == part) {
            return self.add(delta.clone(), out);
        }
        if let Delta::Text(text) = delta {
            self.held += text.len();
        }
        let room = self.held <= MOST_WAITING;
        match self.waiting.iter_mut().find(|w| w.part == part) {
            Some(waiting) if room => waiting.deltas.push(delta.clone()),
            Some(_) => {
                let action = "not told: more than 32 MiB wait for an open block";
                self.notes.push(Diagnostic::new("reply_field_dropped", "/content/waiting", action));
            }
            None => {}
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.advance(out);
        let word = stop_word(self.stop.as_ref(), false);
        let sequence = self.stop.take().and_then(|s| s.sequence);
        let usage = self.usage.clone().unwrap_or_default();
        self.event("message_delta", out, |json| {
            json.key("delta").object().key("stop_reason").text(&word).key("stop_sequence");
            match &sequence {
                Some(sequence) => json.str(sequence),
                None => json.null(),
            };
            json.end_object().key("usage");
            write_usage(&usage, false, json);
        });
        self.event("message_stop", out, |_| {});
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        self.event("error", out, |json| super::write_error_object(error, json));
    }

    fn note(&mut self) {
        self.notes.push(left_out("content"));
    }
}

impl StreamWriter for MessageWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(start) => self.start(start, out),
            Event::PartStart { choice: 0, part, kind } if self.current.is_none() => {
                self.begin(*part, kind.clone(), out);
            }
            Event::PartStart { choice: 0, part, kind } => {
                self.waiting.push_back(Waiting {
                    part: *part,
                    kind: kind.clone(),
                    deltas: Vec::new(),
                    ended: false,
                });
            }
            Event::Delta { choice: 0, part, delta } => self.delta(*part, delta, out),
            Event::PartEnd { choice: 0, part } => {
                if self.current.as_ref().is_some_and(|b| b.part == *part) {
                    self.advance(out);
                } else if let Some(waiting) = self.waiting.iter_mut().find(|w| w.part == *part) {
                    waiting.ended = true;
                }
            }
            Event::Stop { choice: 0, stop } => self.stop = Some(stop.clone()),
            Event::PartStart { .. } | Event::Stop { .. } => self.note(),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Ping if self.begun => self.event("ping", out, |_| {}),
            Event::Finish => self.finish(out),
            Event::Error(error) => self.error(error, out),
            _ => {}
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.notes.take()
    }
}
