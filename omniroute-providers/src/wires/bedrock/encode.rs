//! Writes streams: one frame an event.

use omniroute_core::hub::{
    CallKind, Delta, ErrorBody, Event, Issuer, PartKind, Spelling, Stop, Usage, WriteContext,
};
use omniroute_core::wire::lost::Remarks;
use omniroute_core::wire::{JsonWriter, StreamWriter};

use super::frames::write_frame;
use super::reader::STATUS;
use super::reply::{stop_word, write_usage};
use crate::wires::common::{Notes, left_out};

/// Writes the frames of an answer.
#[derive(Debug)]
pub(super) struct FrameWriter {
    json: JsonWriter,
    open: Vec<Open>,
    blocks: usize,
    usage: Option<Usage>,
    stop: Option<Stop<'static>>,
    begun: bool,
    hide_reasoning: bool,
    notes: Remarks,
}

/// A block that is being written.
#[derive(Debug)]
struct Open {
    part: u32,
    block: usize,
    sort: Sort,
    /// Arguments that are free text wait until they are whole.
    free: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sort {
    Text,
    Thought { hidden: bool },
    Call,
}

impl FrameWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        FrameWriter {
            json: JsonWriter::default(),
            open: Vec::new(),
            blocks: 0,
            usage: None,
            stop: None,
            begun: false,
            hide_reasoning: cx.options.hide_reasoning,
            notes: Remarks::default(),
        }
    }

    fn event(&mut self, name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.json.clear();
        self.json.object();
        fill(&mut self.json);
        self.json.end_object();
        let headers =
            [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
        write_frame(&headers, self.json.as_str().as_bytes(), out);
    }

    fn delta_event(&mut self, block: usize, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.event("contentBlockDelta", out, |json| {
            json.key("contentBlockIndex").number(block).key("delta").object();
            fill(json);
            json.end_object();
        });
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.event("messageStart", out, |json| _ = json.key("role").text("assistant"));
        }
    }

    fn part_start(&mut self, part: u32, kind: &PartKind, out: &mut Vec<u8>) {
        let mut free = None;
        let block = self.blocks;
        let sort = match kind {
            PartKind::Text | PartKind::Refusal => Sort::Text,
            PartKind::Thought { .. } if self.hide_reasoning => return,
            PartKind::Thought { spelling, .. } => Sort::Thought { hidden: *spelling == Spelling::Redacted },
            PartKind::Call { id, name, kind, .. } => {
                free = (*kind == CallKind::Custom).then(String::new);
                self.event("contentBlockStart", out, |json| {
                    json.key("contentBlockIndex").number(block).key("start").object();
                    json.key("toolUse").object().key("toolUseId").text(id).key("name").text(name);
                    json.end_object().end_object();
                });
                Sort::Call
            }
            _ => return self.note(),
        };
        self.blocks += 1;
        self.open.push(Open { part, block, sort, free });
    }

    fn delta(&mut self, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        let Some(open) = self.open.iter_mut().find(|o| o.part == part) else { return };
        if let (Some(free), Delta::Text(text)) = (&mut open.free, delta) {
            return free.push_str(text);
        }
        let (block, sort) = (open.block, open.sort);
        match (delta, sort) {
            (Delta::Text(text), _) => self.words(block, sort, text, out),
            (Delta::Paragraph, Sort::Thought { .. }) => self.words(block, sort, "\n\n", out),
            (Delta::Seal(seal), Sort::Thought { hidden }) if seal.issuer == Issuer::Anthropic => {
                let key = if hidden { "redactedContent" } else { "signature" };
                self.delta_event(block, out, |json| {
                    json.key("reasoningContent").object().key(key).str(&seal.data).end_object();
                });
            }
            (Delta::Citation(_) | Delta::Logprobs(_) | Delta::Seal(_), _) => self.note(),
            _ => {}
        }
    }

    fn words(&mut self, block: usize, sort: Sort, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.delta_event(block, out, |json| match sort {
            Sort::Text => drop(json.key("text").text(text)),
            Sort::Thought { .. } => {
                json.key("reasoningContent").object().key("text").text(text).end_object();
            }
            Sort::Call => drop(json.key("toolUse").object().key("input").text(text).end_object()),
        });
    }

    fn part_end(&mut self, part: u32, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|o| o.part == part) else { return };
        let open = self.open.swap_remove(at);
        if let Some(free) = open.free {
            let mut input = JsonWriter::default();
            input.object().key("input").text(&free).end_object();
            self.words(open.block, open.sort, &input.finish(), out);
        }
        self.event("contentBlockStop", out, |json| _ = json.key("contentBlockIndex").number(open.block));
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let word = stop_word(self.stop.as_ref(), false);
        self.event("messageStop", out, |json| _ = json.key("stopReason").text(&word));
        let usage = self.usage.take().unwrap_or_default();
        self.event("metadata", out, |json| {
            json.key("usage");
            write_usage(&usage, false, json);
            json.key("metrics").object().key("latencyMs").number(0).end_object();
        });
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        let name = STATUS.iter().find(|(_, status)| error.status == Some(*status));
        let name = name.map_or("internalServerException", |(name, _)| *name);
        self.json.clear();
        self.json.object().key("message").text(&error.message).end_object();
        let headers = [
            (":exception-type", name),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ];
        write_frame(&headers, self.json.as_str().as_bytes(), out);
    }

    fn note(&mut self) {
        self.notes.push(left_out("output/message/content"));
    }
}

impl StreamWriter for FrameWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(_) => self.begin(out),
            Event::PartStart { choice: 0, part, kind } => self.part_start(*part, kind, out),
            Event::Delta { choice: 0, part, delta } => self.delta(*part, delta, out),
            Event::PartEnd { choice: 0, part } => self.part_end(*part, out),
            Event::Stop { choice: 0, stop } => self.stop = Some(stop.clone()),
            Event::PartStart { .. } => self.note(),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish => self.finish(out),
            Event::Error(error) => self.error(error, out),
            _ => {} // there is no sign of life on this wire
        }
    }

    fn notes(&mut self) -> Notes {
        self.notes.take()
    }
}
