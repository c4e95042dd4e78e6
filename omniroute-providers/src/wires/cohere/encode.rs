//! Writes streams.

use omniroute_core::hub::{
    CallKind, Delta, ErrorBody, Event, PartKind, Spelling, Start, Stop, Usage, WriteContext,
};
use omniroute_core::wire::lost::Remarks;
use omniroute_core::wire::{JsonWriter, StreamWriter};

use super::reply::{finish_word, write_usage};
use super::turn::write_citation;
use crate::wires::common::{Notes, left_out};

/// Writes the events of a message.
#[derive(Debug)]
pub(super) struct ChatWriter {
    json: JsonWriter,
    open: Vec<Open>,
    contents: usize,
    calls: usize,
    usage: Option<Usage>,
    stop: Option<Stop<'static>>,
    begun: bool,
    hide_reasoning: bool,
    ids: u64,
    notes: Remarks,
}

/// A part that is being written.
#[derive(Debug)]
struct Open {
    choice: u32,
    part: u32,
    place: Place,
    /// Arguments that are free text wait until they are whole.
    free: Option<String>,
}

/// Where its text goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Text(usize),
    Thinking(usize),
    Plan,
    Call(usize),
    Nowhere,
}

impl ChatWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        ChatWriter {
            json: JsonWriter::default(),
            open: Vec::new(),
            contents: 0,
            calls: 0,
            usage: None,
            stop: None,
            begun: false,
            hide_reasoning: cx.options.hide_reasoning,
            ids: cx.ids,
            notes: Remarks::default(),
        }
    }

    /// One event: `fill` writes the members beside `type`.
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

    /// An event about one content or call, with a piece of the message.
    fn piece(
        &mut self,
        name: &str,
        index: Option<usize>,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut JsonWriter),
    ) {
        self.event(name, out, |json| {
            if let Some(index) = index {
                json.key("index").number(index);
            }
            json.key("delta").object().key("message").object();
            fill(json);
            json.end_object().end_object();
        });
    }

    fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        self.begun = true;
        let id = start.id.clone().unwrap_or_else(|| format!("{:016x}", self.ids));
        self.event("message-start", out, |json| {
            json.key("id").text(&id).key("delta").object().key("message").object();
            json.key("role").text("assistant").key("content").array().end_array();
            json.key("tool_plan").text("").key("tool_calls").array().end_array();
            json.key("citations").array().end_array().end_object().end_object();
        });
    }

    fn part_start(&mut self, choice: u32, part: u32, kind: &PartKind, out: &mut Vec<u8>) {
        let mut free = None;
        let place = match kind {
            _ if choice > 0 => {
                self.note("choices");
                Place::Nowhere
            }
            PartKind::Text | PartKind::Refusal => {
                let fill = |json: &mut JsonWriter| {
                    json.key("content").object().key("type").text("text").key("text").text("").end_object();
                };
                self.piece("content-start", Some(self.contents), out, fill);
                Place::Text(self.contents)
            }
            PartKind::Thought { .. } if self.hide_reasoning => Place::Nowhere,
            PartKind::Thought { spelling: Spelling::Plan, .. } => Place::Plan,
            PartKind::Thought { .. } => {
                let fill = |json: &mut JsonWriter| {
                    json.key("content").object().key("type").text("thinking");
                    json.key("thinking").text("").end_object();
                };
                self.piece("content-start", Some(self.contents), out, fill);
                Place::Thinking(self.contents)
            }
            PartKind::Call { id, name, kind, .. } => {
                free = (*kind == CallKind::Custom).then(String::new);
                let fill = |json: &mut JsonWriter| {
                    json.key("tool_calls").object().key("id").text(id).key("type").text("function");
                    json.key("function").object().key("name").text(name).key("arguments").text("");
                    json.end_object().end_object();
                };
                self.piece("tool-call-start", Some(self.calls), out, fill);
                Place::Call(self.calls)
            }
            _ => {
                self.note("message/content");
                Place::Nowhere
            }
        };
        match place {
            Place::Text(_) | Place::Thinking(_) => self.contents += 1,
            Place::Call(_) => self.calls += 1,
            Place::Plan | Place::Nowhere => {}
        }
        self.open.push(Open { choice, part, place, free });
    }

    fn delta(&mut self, choice: u32, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        let Some(open) = self.open.iter_mut().find(|o| o.choice == choice && o.part == part) else { return };
        let place = open.place;
        if let (Some(free), Delta::Text(text)) = (&mut open.free, delta) {
            return free.push_str(text);
        }
        match (delta, place) {
            (_, Place::Nowhere) => {}
            (Delta::Text(text), _) => self.words(place, text, out),
            (Delta::Paragraph, Place::Thinking(_) | Place::Plan) => self.words(place, "\n\n", out),
            (Delta::Citation(citation), Place::Text(index)) => {
                self.piece("citation-start", Some(index), out, |json| {
                    json.key("citations");
                    write_citation(citation, json);
                });
                self.event("citation-end", out, |json| _ = json.key("index").number(index));
            }
            _ => self.note("message/content"),
        }
    }

    fn words(&mut self, place: Place, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        match place {
            Place::Text(index) => self.piece("content-delta", Some(index), out, |json| {
                json.key("content").object().key("text").text(text).end_object();
            }),
            Place::Thinking(index) => self.piece("content-delta", Some(index), out, |json| {
                json.key("content").object().key("thinking").text(text).end_object();
            }),
            Place::Plan => {
                self.piece("tool-plan-delta", None, out, |json| _ = json.key("tool_plan").text(text));
            }
            Place::Call(index) => self.piece("tool-call-delta", Some(index), out, |json| {
                json.key("tool_calls").object().key("function").object();
                json.key("arguments").text(text).end_object().end_object();
            }),
            Place::Nowhere => {}
        }
    }

    fn part_end(&mut self, choice: u32, part: u32, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|o| o.choice == choice && o.part == part) else { return };
        let open = self.open.swap_remove(at);
        if let Some(free) = open.free {
            let mut input = JsonWriter::default();
            input.object().key("input").text(&free).end_object();
            self.words(open.place, &input.finish(), out);
        }
        let (name, index) = match open.place {
            Place::Text(index) | Place::Thinking(index) => ("content-end", index),
            Place::Call(index) => ("tool-call-end", index),
            Place::Plan | Place::Nowhere => return,
        };
        self.event(name, out, |json| _ = json.key("index").number(index));
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let word = finish_word(self.stop.as_ref(), false);
        let usage = self.usage.take();
        self.event("message-end", out, |json| {
            json.key("delta").object().key("finish_reason").text(&word);
            if let Some(usage) = &usage {
                json.key("usage");
                write_usage(usage, false, json);
            }
            json.end_object();
        });
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        self.event("message-end", out, |json| {
            json.key("delta").object().key("finish_reason").text("ERROR");
            json.key("error").text(&error.message).end_object();
        });
    }

    fn note(&mut self, place: &str) {
        self.notes.push(left_out(place));
    }
}

impl StreamWriter for ChatWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(start) if !self.begun => self.start(start, out),
            Event::PartStart { choice, part, kind } => self.part_start(*choice, *part, kind, out),
            Event::Delta { choice, part, delta } => self.delta(*choice, *part, delta, out),
            Event::PartEnd { choice, part } => self.part_end(*choice, *part, out),
            Event::Stop { choice: 0, stop } => self.stop = Some(stop.clone()),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Ping => out.extend_from_slice(b": ping\n\n"),
            Event::Finish => self.finish(out),
            Event::Error(error) => self.error(error, out),
            _ => {}
        }
    }

    fn notes(&mut self) -> Notes {
        self.notes.take()
    }
}
