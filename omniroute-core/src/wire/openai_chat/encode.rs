//! Writes streams.

use super::reply::{finish_word, write_detail, write_usage};
use super::turn::write_seal;
use crate::diagnostic::Diagnostic;
use crate::hub::{CallKind, Delta, ErrorBody, Event, PartKind, Start, Stop, Usage, WriteContext};
use crate::wire::StreamWriter;
use crate::wire::common::left_out;
use crate::wire::json::JsonWriter;
use crate::wire::lost::Remarks;
use crate::wire::read::write_error_member;

/// Most choices that are begun before their turn.
const MOST_CHOICES: u32 = 128;

/// Writes chunks of a chat completion.
#[derive(Debug)]
pub(super) struct ChatWriter {
    head: String,
    json: JsonWriter,
    begun: Vec<u32>,
    parts: Vec<Open>,
    calls: Vec<(u32, usize)>,
    usage: Option<Usage>,
    send_usage: bool,
    hide_reasoning: bool,
    ids: u64,
    model: String,
    notes: Remarks,
}

/// A part that is being written.
#[derive(Debug)]
struct Open {
    choice: u32,
    part: u32,
    key: Key,
}

/// Where its text goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Key {
    Content,
    Refusal,
    Reasoning,
    Call(usize, CallKind),
    Nowhere,
}

impl ChatWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        ChatWriter {
            head: String::new(),
            json: JsonWriter::default(),
            begun: Vec::new(),
            parts: Vec::new(),
            calls: Vec::new(),
            usage: None,
            send_usage: cx.options.stream_usage,
            hide_reasoning: cx.options.hide_reasoning,
            ids: cx.ids,
            model: cx.model.clone().unwrap_or_default(),
            notes: Remarks::default(),
        }
    }

    fn start(&mut self, start: &Start) {
        let mut out = JsonWriter::default();
        out.object().key("id");
        match &start.id {
            Some(id) => out.text(id),
            None => out.text(&format!("chatcmpl-{:016x}", self.ids)),
        };
        out.key("object").text("chat.completion.chunk").key("created");
        match start.created.as_ref().and_then(|c| c.count()) {
            Some(created) => out.number(created),
            None => out.number(0),
        };
        out.key("model").text(start.model.as_deref().unwrap_or(&self.model));
        self.head = out.finish(); // the object stays open: every chunk goes on from here
    }

    /// One chunk whose delta `fill` writes.
    fn chunk(
        &mut self,
        choice: u32,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut JsonWriter),
        stop: Option<&str>,
    ) {
        let json = &mut self.json;
        json.clear();
        json.array().object().key("index").number(choice).key("delta").object();
        fill(json);
        json.end_object().key("finish_reason");
        match stop {
            Some(word) => json.text(word),
            None => json.null(),
        };
        json.end_object().end_array();
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(self.head.as_bytes());
        out.extend_from_slice(b",\"choices\":");
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.extend_from_slice(b"}\n\n");
    }

    /// Choices begin in their order, whoever speaks first: clients count on it.
    fn begin(&mut self, choice: u32, out: &mut Vec<u8>) {
        if self.begun.contains(&choice) {
            return;
        }
        for choice in (0..choice.min(MOST_CHOICES)).chain([choice]) {
            if self.begun.contains(&choice) {
                continue;
            }
            self.begun.push(choice);
            let fill = |json: &mut JsonWriter| {
                json.key("role").text("assistant").key("content").text("");
            };
            self.chunk(choice, out, fill, None);
        }
    }

    fn part_start(&mut self, choice: u32, part: u32, kind: &PartKind, out: &mut Vec<u8>) {
        self.begin(choice, out);
        let key = match kind {
            PartKind::Text => Key::Content,
            PartKind::Refusal => Key::Refusal,
            PartKind::Thought { .. } if self.hide_reasoning => Key::Nowhere,
            PartKind::Thought { .. } => Key::Reasoning,
            PartKind::Call { kind, .. } => {
                let count = self.calls.iter_mut().find(|(c, _)| *c == choice);
                let index = match count {
                    Some((_, count)) => {
                        *count += 1;
                        *count - 1
                    }
                    None => {
                        self.calls.push((choice, 1));
                        0
                    }
                };
                Key::Call(index, *kind)
            }
            _ => {
                self.note();
                Key::Nowhere
            }
        };
        self.parts.push(Open { choice, part, key });
        if let (Key::Call(index, sort), PartKind::Call { id, name, seal, .. }) = (key, kind) {
            let (word, text) = call_words(sort);
            let fill = |json: &mut JsonWriter| {
                json.key("tool_calls").array().object().key("index").number(index).key("id").text(id);
                json.key("type").text(word).key(word).object().key("name").text(name).key(text).text("");
                json.end_object();
                write_seal(seal.as_ref(), json);
                json.end_object().end_array();
            };
            self.chunk(choice, out, fill, None);
        }
    }

    fn delta(&mut self, choice: u32, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        let Some(open) = self.parts.iter().find(|o| o.choice == choice && o.part == part) else { return };
        let key = open.key;
        match (delta, key) {
            (Delta::Text(text), Key::Content) => self.member(choice, "content", text, out),
            (Delta::Text(text), Key::Refusal) => self.member(choice, "refusal", text, out),
            (Delta::Text(text), Key::Reasoning) => self.member(choice, "reasoning_content", text, out),
            (Delta::Paragraph, Key::Reasoning) => self.member(choice, "reasoning_content", "\n\n", out),
            (Delta::Text(text), Key::Call(index, sort)) => {
                let (word, name) = call_words(sort);
                let fill = |json: &mut JsonWriter| {
                    json.key("tool_calls").array().object().key("index").number(index).key(word).object();
                    json.key(name).text(text).end_object().end_object().end_array();
                };
                self.chunk(choice, out, fill, None);
            }
            (Delta::Seal(seal), Key::Reasoning) => {
                let fill = |json: &mut JsonWriter| {
                    json.key("reasoning_details").array();
                    write_detail(seal, None, None, 0, json);
                    json.end_array();
                };
                self.chunk(choice, out, fill, None);
            }
            (Delta::Seal(seal), Key::Call(index, _)) if seal.issuer == crate::hub::Issuer::Gemini => {
                let fill = |json: &mut JsonWriter| {
                    json.key("tool_calls").array().object().key("index").number(index);
                    write_seal(Some(seal), json);
                    json.end_object().end_array();
                };
                self.chunk(choice, out, fill, None);
            }
            (Delta::Citation(citation), Key::Content) if citation.url.is_some() => {
                let fill = |json: &mut JsonWriter| {
                    json.key("annotations").array().object().key("type").text("url_citation");
                    json.key("url_citation").object().opt_str("url", citation.url.as_ref());
                    json.opt_str("title", citation.title.as_ref()).end_object().end_object().end_array();
                };
                self.chunk(choice, out, fill, None);
            }
            (Delta::Seal(_) | Delta::Citation(_) | Delta::Logprobs(_), _) => self.note(),
            _ => {}
        }
    }

    fn member(&mut self, choice: u32, key: &str, text: &str, out: &mut Vec<u8>) {
        self.chunk(choice, out, |json| _ = json.key(key).text(text), None);
    }

    fn stop(&mut self, choice: u32, stop: &Stop<'_>, out: &mut Vec<u8>) {
        self.begin(choice, out);
        let word = finish_word(Some(stop), false).into_owned();
        self.chunk(choice, out, |_| {}, Some(&word));
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let (true, Some(usage)) = (self.send_usage, &self.usage) {
            self.json.clear();
            write_usage(usage, false, &mut self.json);
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(self.head.as_bytes());
            out.extend_from_slice(b",\"choices\":[],\"usage\":");
            out.extend_from_slice(self.json.as_str().as_bytes());
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        self.json.clear();
        self.json.object();
        write_error_member(error, &mut self.json);
        self.json.end_object();
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.extend_from_slice(b"\n\n");
    }

    fn note(&mut self) {
        self.notes.push(left_out("choices/delta"));
    }
}

fn call_words(kind: CallKind) -> (&'static str, &'static str) {
    if kind == CallKind::Custom { ("custom", "input") } else { ("function", "arguments") }
}

impl StreamWriter for ChatWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(start) => self.start(start),
            Event::PartStart { choice, part, kind } => self.part_start(*choice, *part, kind, out),
            Event::Delta { choice, part, delta } => self.delta(*choice, *part, delta, out),
            Event::PartEnd { choice, part } => self.parts.retain(|o| (o.choice, o.part) != (*choice, *part)),
            Event::Stop { choice, stop } => self.stop(*choice, stop, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Ping => out.extend_from_slice(b": ping\n\n"),
            Event::Finish => self.finish(out),
            Event::Error(error) => self.error(error, out),
            Event::Extra { .. } => {}
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.notes.take()
    }
}
