//! Writes streams: text piece by piece, calls as a whole.

use super::part_out::{write_call, write_part};
use super::reply::{finish_word, write_usage};
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Arguments, Call, CallKind, Delta, ErrorBody, Event, Part, PartKind, Seal, Stop, Usage, WriteContext,
};
use crate::wire::StreamWriter;
use crate::wire::common::left_out;
use crate::wire::json::JsonWriter;
use crate::wire::lost::Remarks;

/// Longest arguments that are kept until a call is whole: 32 MiB.
const MOST_KEPT: usize = 32 << 20;

/// Writes replies that go on from one another.
#[derive(Debug)]
pub(super) struct GeminiWriter {
    json: JsonWriter,
    id: String,
    model: String,
    open: Vec<Open>,
    stops: Vec<(u32, Stop<'static>)>,
    usage: Option<Usage>,
    hide_reasoning: bool,
    notes: Remarks,
}

/// A part that is being written.
#[derive(Debug)]
struct Open {
    choice: u32,
    part: u32,
    kind: PartKind,
    arguments: String,
    seal: Option<Seal<'static>>,
}

impl GeminiWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        GeminiWriter {
            json: JsonWriter::default(),
            id: format!("{:016x}", cx.ids),
            model: cx.model.clone().unwrap_or_default(),
            open: Vec::new(),
            stops: Vec::new(),
            usage: None,
            hide_reasoning: cx.options.hide_reasoning,
            notes: Remarks::default(),
        }
    }

    fn send(&mut self, out: &mut Vec<u8>) {
        self.json.key("modelVersion").text(&self.model).key("responseId").text(&self.id).end_object();
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// A reply with one part of one choice.
    fn part(&mut self, choice: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.json.clear();
        self.json.object().key("candidates").array().object().key("index").number(choice);
        self.json.key("content").object().key("role").text("model").key("parts").array();
        fill(&mut self.json);
        self.json.end_array().end_object().end_object().end_array();
        self.send(out);
    }

    fn delta(&mut self, choice: u32, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        let Some(open) = self.open.iter_mut().find(|o| (o.choice, o.part) == (choice, part)) else { return };
        let thought = matches!(open.kind, PartKind::Thought { .. });
        match (&open.kind, delta) {
            (PartKind::Call { .. }, Delta::Text(text)) => {
                if open.arguments.len() + text.len() <= MOST_KEPT {
                    open.arguments.push_str(text);
                } else {
                    let action = "not told: arguments longer than 32 MiB";
                    self.notes.push(Diagnostic::new("reply_field_dropped", "/candidates/arguments", action));
                }
            }
            (_, Delta::Seal(seal)) => open.seal = Some(seal.clone()),
            (PartKind::Thought { .. }, _) if self.hide_reasoning => {}
            (
                PartKind::Text | PartKind::Refusal | PartKind::Thought { .. },
                Delta::Text(_) | Delta::Paragraph,
            ) => {
                let text = if let Delta::Text(text) = delta { text.as_str() } else { "\n\n" };
                self.part(choice, out, |json| {
                    json.object().key("text").text(text);
                    if thought {
                        json.key("thought").bool(true);
                    }
                    json.end_object();
                });
            }
            _ => self.note(),
        }
    }

    fn end(&mut self, choice: u32, part: u32, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|o| (o.choice, o.part) == (choice, part)) else { return };
        let open = self.open.remove(at);
        let mut notes = Vec::new();
        match open.kind {
            PartKind::Call { id, name, kind, seal, .. } => {
                let text = open.arguments.into();
                let arguments =
                    if kind == CallKind::Custom { Arguments::Free(text) } else { Arguments::Text(text) };
                let call = Call::new(id.into(), name.into(), arguments);
                let call = Call { kind, seal: open.seal.or(seal), ..call };
                self.part(choice, out, |json| write_call(&call, false, true, json, &mut notes));
            }
            PartKind::Whole(part) if matches!(*part, Part::Media(_)) => {
                self.part(choice, out, |json| _ = write_part(&part, false, true, "", json, &mut notes));
            }
            PartKind::Whole(_) => self.note(),
            PartKind::Thought { .. } if self.hide_reasoning => {}
            kind => {
                if let Some(seal) = open.seal {
                    let thought = matches!(kind, PartKind::Thought { .. });
                    let sealed = sealed_part(seal, thought);
                    self.part(choice, out, |json| _ = write_part(&sealed, false, true, "", json, &mut notes));
                }
            }
        }
        notes.into_iter().for_each(|note| self.notes.push(note));
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.json.clear();
        self.json.object().key("candidates").array();
        for (choice, stop) in &self.stops {
            self.json
                .object()
                .key("index")
                .number(choice)
                .key("finishReason")
                .text(&finish_word(Some(stop), false));
            self.json.end_object();
        }
        self.json.end_array();
        if let Some(usage) = &self.usage {
            self.json.key("usageMetadata");
            write_usage(usage, false, &mut self.json);
        }
        self.send(out);
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        self.json.clear();
        self.json.object();
        super::write_error_object(error, &mut self.json);
        self.json.end_object();
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
    }

    fn note(&mut self) {
        self.notes.push(left_out("candidates"));
    }
}

/// A seal comes in a piece without words.
fn sealed_part(seal: Seal<'static>, thought: bool) -> Part<'static> {
    use crate::hub::{Spelling, Text, Thought};
    match thought {
        true => Part::Thought(Thought { seal: Some(seal), ..Thought::new("".into(), Spelling::Block) }),
        false => Part::Text(Text { seal: Some(seal), ..Text::default() }),
    }
}

impl StreamWriter for GeminiWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(start) => {
                self.id = start.id.clone().unwrap_or_else(|| std::mem::take(&mut self.id));
                self.model = start.model.clone().unwrap_or_else(|| std::mem::take(&mut self.model));
            }
            Event::PartStart { choice, part, kind } => self.open.push(Open {
                choice: *choice,
                part: *part,
                kind: kind.clone(),
                arguments: String::new(),
                seal: None,
            }),
            Event::Delta { choice, part, delta } => self.delta(*choice, *part, delta, out),
            Event::PartEnd { choice, part } => self.end(*choice, *part, out),
            Event::Stop { choice, stop } => self.stops.push((*choice, stop.clone())),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Ping => {} // the official client takes a comment for data
            Event::Finish => self.finish(out),
            Event::Error(error) => self.error(error, out),
            Event::Extra { .. } => {}
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.notes.take()
    }
}
