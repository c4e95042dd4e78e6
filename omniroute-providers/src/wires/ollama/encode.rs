//! Writes streams: a line for every piece, calls only when they are whole.

use omniroute_core::hub::{
    Arguments, Call, CallKind, Delta, ErrorBody, Event, PartKind, Start, Stop, Usage, WriteContext,
};
use omniroute_core::wire::lost::Remarks;
use omniroute_core::wire::{JsonWriter, StreamWriter};

use super::reply::{done_word, write_end, write_head};
use super::turn::write_call;
use crate::wires::common::{Notes, left_out};

/// Writes the lines of an answer.
#[derive(Debug)]
pub(super) struct ChatWriter {
    json: JsonWriter,
    model: String,
    created: Option<String>,
    open: Vec<Open>,
    calls: usize,
    usage: Option<Usage>,
    stop: Option<Stop<'static>>,
    hide_reasoning: bool,
    notes: Remarks,
}

/// A part that is being written.
#[derive(Debug)]
struct Open {
    part: u32,
    place: Place,
}

/// Where its text goes.
#[derive(Debug)]
enum Place {
    Content,
    Thinking,
    /// Waits until it is whole.
    Call(Box<Call<'static>>, String),
    Nowhere,
}

impl ChatWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        ChatWriter {
            json: JsonWriter::default(),
            model: cx.model.clone().unwrap_or_default(),
            created: None,
            open: Vec::new(),
            calls: 0,
            usage: None,
            stop: None,
            hide_reasoning: cx.options.hide_reasoning,
            notes: Remarks::default(),
        }
    }

    fn start(&mut self, start: &Start) {
        if let Some(model) = &start.model {
            self.model.clone_from(model);
        }
        self.created = start.created.as_ref().and_then(|c| c.text());
    }

    /// One line whose message `fill` goes on with.
    fn line(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter, &mut Notes)) {
        self.json.clear();
        self.json.object();
        write_head(&self.model, self.created.as_deref(), &mut self.json);
        self.json.key("message").object().key("role").text("assistant");
        let mut notes = Notes::new();
        fill(&mut self.json, &mut notes);
        notes.into_iter().for_each(|note| self.notes.push(note));
        self.json.end_object().key("done").bool(false).end_object();
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.push(b'\n');
    }

    fn part_start(&mut self, part: u32, kind: &PartKind) {
        let place = match kind {
            PartKind::Text | PartKind::Refusal => Place::Content,
            PartKind::Thought { .. } if self.hide_reasoning => Place::Nowhere,
            PartKind::Thought { .. } => Place::Thinking,
            PartKind::Call { id, name, kind, .. } => {
                let call = Call::new(id.clone().into(), name.clone().into(), Arguments::Text("".into()));
                Place::Call(Box::new(Call { kind: *kind, ..call }), String::new())
            }
            _ => {
                self.note();
                Place::Nowhere
            }
        };
        self.open.push(Open { part, place });
    }

    fn delta(&mut self, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        let Some(open) = self.open.iter_mut().find(|o| o.part == part) else { return };
        match (delta, &mut open.place) {
            (Delta::Text(text), Place::Call(_, words)) => words.push_str(text),
            (Delta::Text(text), Place::Content) if !text.is_empty() => {
                self.line(out, |json, _| _ = json.key("content").text(text));
            }
            (Delta::Text(text), Place::Thinking) => self.thought(text, out),
            (Delta::Paragraph, Place::Thinking) => self.thought("\n\n", out),
            (Delta::Citation(_) | Delta::Logprobs(_) | Delta::Seal(_), _) => self.note(),
            _ => {}
        }
    }

    fn thought(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.line(out, |json, _| _ = json.key("content").text("").key("thinking").text(text));
        }
    }

    fn part_end(&mut self, part: u32, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|o| o.part == part) else { return };
        if let Place::Call(mut call, words) = self.open.swap_remove(at).place {
            call.arguments = match call.kind {
                CallKind::Custom => Arguments::Free(words.into()),
                _ => Arguments::Text(words.into()),
            };
            let number = self.calls;
            self.calls += 1;
            self.line(out, |json, notes| {
                json.key("content").text("").key("tool_calls").array();
                write_call(&call, false, Some(number), json, notes);
                json.end_array();
            });
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.json.clear();
        self.json.object();
        write_head(&self.model, self.created.as_deref(), &mut self.json);
        self.json.key("message").object().key("role").text("assistant").key("content").text("").end_object();
        write_end(&done_word(self.stop.as_ref(), false), self.usage.as_ref(), &mut self.json);
        self.json.end_object();
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.push(b'\n');
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        self.json.clear();
        self.json.object().key("error").text(&error.message).end_object();
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.push(b'\n');
    }

    fn note(&mut self) {
        self.notes.push(left_out("message"));
    }
}

impl StreamWriter for ChatWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(start) => self.start(start),
            Event::PartStart { choice: 0, part, kind } => self.part_start(*part, kind),
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
