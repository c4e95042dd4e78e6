//! Writes streams. Each item is told piece by piece and once more as a whole.

use super::reply::{head, made_id, status_of, tail, write_usage};
use super::told::Item;
use crate::diagnostic::Diagnostic;
use crate::hub::{CallKind, Delta, ErrorBody, Event, PartKind, Seal, Start, Stop, Usage, WriteContext};
use crate::wire::common::left_out;
use crate::wire::json::JsonWriter;
use crate::wire::lost::Remarks;
use crate::wire::{StreamWriter, seal};

/// Longest answer that is kept to be told as a whole: 64 MiB.
const MOST_KEPT: usize = 64 << 20;

/// Writes the events of a response.
#[derive(Debug)]
pub(super) struct ResponseWriter {
    json: JsonWriter,
    sequence: u32,
    id: String,
    model: String,
    created: u64,
    begun: bool,
    made: u32,
    ids: u64,
    open: Vec<Item>,
    next: u32,
    done: Vec<(u32, String)>,
    kept: usize,
    usage: Option<Usage>,
    stop: Option<Stop<'static>>,
    hide_reasoning: bool,
    notes: Remarks,
}

impl ResponseWriter {
    pub(super) fn new(cx: &WriteContext) -> Self {
        ResponseWriter {
            json: JsonWriter::default(),
            sequence: 0,
            id: String::new(),
            model: cx.model.clone().unwrap_or_default(),
            created: 0,
            begun: false,
            made: 0,
            ids: cx.ids,
            open: Vec::new(),
            next: 0,
            done: Vec::new(),
            kept: 0,
            usage: None,
            stop: None,
            hide_reasoning: cx.options.hide_reasoning,
            notes: Remarks::default(),
        }
    }

    fn event(&mut self, name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.json.clear();
        self.json.object().key("type").text(name).key("sequence_number").number(self.sequence);
        self.sequence += 1;
        fill(&mut self.json);
        self.json.end_object();
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        out.extend_from_slice(self.json.as_str().as_bytes());
        out.extend_from_slice(b"\n\n");
    }

    /// An event with a whole response object.
    fn response(
        &mut self,
        name: &str,
        status: &str,
        why: Option<&str>,
        error: Option<&ErrorBody>,
        out: &mut Vec<u8>,
    ) {
        let mut json = JsonWriter::default();
        json.object();
        head(&self.id, self.created, &self.model, status, why, &mut json);
        json.key("output").array();
        self.done.sort_by_key(|(index, _)| *index);
        self.done.iter().for_each(|(_, item)| _ = json.raw(item));
        json.end_array();
        if let Some(usage) = self.usage.as_ref().filter(|_| status != "in_progress") {
            json.key("usage");
            write_usage(usage, false, &mut json);
        }
        tail(&mut json);
        json.end_object();
        let mut whole = json.finish();
        if let Some(error) = error {
            let mut told = JsonWriter::default();
            told.object().key("code").text(error.code.as_deref().unwrap_or("server_error"));
            told.key("message").text(&error.message).end_object();
            whole = whole.replacen("\"error\":null", &format!("\"error\":{}", told.finish()), 1);
        }
        self.event(name, out, |json| _ = json.key("response").raw(&whole));
    }

    fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        self.begun = true;
        self.id = start.id.clone().unwrap_or_else(|| format!("resp_{:016x}", self.ids));
        self.model = start.model.clone().unwrap_or_else(|| std::mem::take(&mut self.model));
        self.created = start.created.as_ref().and_then(|c| c.count()).unwrap_or(0);
        self.response("response.created", "in_progress", None, None, out);
        self.response("response.in_progress", "in_progress", None, None, out);
    }

    fn part_start(&mut self, part: u32, kind: &PartKind, out: &mut Vec<u8>) {
        let prefix = match kind {
            PartKind::Text | PartKind::Refusal => "msg",
            PartKind::Thought { .. } if self.hide_reasoning => return,
            PartKind::Thought { .. } => "rs",
            PartKind::Call { id, seal, .. } => {
                if let Some(seal) = seal {
                    self.envelope(seal, id, out);
                }
                "fc"
            }
            _ => return self.note(),
        };
        let id = made_id(prefix, self.ids, &mut self.made);
        let index = self.next;
        self.next += 1;
        let item = Item {
            part,
            index,
            id,
            kind: kind.clone(),
            text: Vec::new(),
            seal: None,
            logprobs: Vec::new(),
            annotations: Vec::new(),
        };
        let body = item.body(false);
        self.event("response.output_item.added", out, |json| {
            _ = json.key("output_index").number(index).key("item").raw(&body)
        });
        if matches!(kind, PartKind::Text | PartKind::Refusal) {
            let part = item.content();
            self.of_part("response.content_part.added", &item, out, |json| _ = json.key("part").raw(&part));
        }
        self.open.push(item);
    }

    /// An event of a message's only part.
    fn of_part(&mut self, name: &str, item: &Item, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.event(name, out, |json| {
            json.key("item_id")
                .text(&item.id)
                .key("output_index")
                .number(item.index)
                .key("content_index")
                .number(0);
            fill(json);
        });
    }

    fn of_item(&mut self, name: &str, item: &Item, out: &mut Vec<u8>, fill: impl FnOnce(&mut JsonWriter)) {
        self.event(name, out, |json| {
            json.key("item_id").text(&item.id).key("output_index").number(item.index);
            fill(json);
        });
    }

    fn delta(&mut self, part: u32, delta: &Delta, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|i| i.part == part) else { return };
        let mut item = self.open.remove(at);
        match (&item.kind, delta) {
            (_, Delta::Text(text)) if text.is_empty() => {}
            (PartKind::Text, Delta::Text(text)) => {
                self.of_part("response.output_text.delta", &item, out, |json| {
                    json.key("delta").text(text).key("logprobs").array().end_array();
                });
            }
            (PartKind::Refusal, Delta::Text(text)) => {
                self.of_part("response.refusal.delta", &item, out, |json| _ = json.key("delta").text(text));
            }
            (PartKind::Call { kind, .. }, Delta::Text(text)) => {
                let name = call_event(*kind, "delta");
                self.of_item(name, &item, out, |json| _ = json.key("delta").text(text));
            }
            (PartKind::Thought { .. }, Delta::Text(text)) => {
                if item.text.is_empty() {
                    self.paragraph(&item, 0, out);
                }
                let number = item.text.len().saturating_sub(1);
                self.of_item("response.reasoning_summary_text.delta", &item, out, |json| {
                    json.key("summary_index").number(number).key("delta").text(text);
                });
            }
            (PartKind::Thought { .. }, Delta::Paragraph) => {
                self.end_paragraph(&item, out);
                item.text.push(String::new());
                self.paragraph(&item, item.text.len() - 1, out);
            }
            (PartKind::Text | PartKind::Refusal, Delta::Seal(_)) => self.note(),
            (_, Delta::Seal(seal)) => item.seal = Some(seal.clone()),
            (PartKind::Text, Delta::Logprobs(list)) => {
                let inner = list.raw().trim().trim_start_matches('[').trim_end_matches(']').to_owned();
                item.logprobs.push(inner);
            }
            (PartKind::Text, Delta::Citation(citation)) if citation.url.is_some() => {
                let mut json = JsonWriter::default();
                json.object().key("type").text("url_citation").opt_str("url", citation.url.as_ref());
                json.key("title").str(citation.title.as_ref().unwrap_or(&"".into()));
                json.key("start_index").number(citation.start.unwrap_or(0));
                json.key("end_index").number(citation.end.unwrap_or(0)).end_object();
                let text = json.finish();
                let number = item.annotations.len();
                self.of_part("response.output_text.annotation.added", &item, out, |json| {
                    json.key("annotation_index").number(number).key("annotation").raw(&text);
                });
                item.annotations.push(text);
            }
            (_, Delta::Citation(_) | Delta::Logprobs(_)) => self.note(),
            _ => {}
        }
        if let Delta::Text(text) = delta {
            self.kept += text.len();
            if self.kept <= MOST_KEPT {
                match item.text.last_mut() {
                    Some(last) => last.push_str(text),
                    None => item.text.push(text.clone()),
                }
            } else {
                let action = "not told again as a whole: longer than 64 MiB";
                self.notes.push(Diagnostic::new("reply_field_dropped", "/output/whole", action));
            }
        }
        self.open.insert(at, item);
    }

    fn paragraph(&mut self, item: &Item, number: usize, out: &mut Vec<u8>) {
        self.of_item("response.reasoning_summary_part.added", item, out, |json| {
            json.key("summary_index").number(number).key("part").object();
            json.key("type").text("summary_text").key("text").text("").end_object();
        });
    }

    fn end_paragraph(&mut self, item: &Item, out: &mut Vec<u8>) {
        let Some(text) = item.text.last() else { return };
        let number = item.text.len() - 1;
        self.of_item("response.reasoning_summary_text.done", item, out, |json| {
            json.key("summary_index").number(number).key("text").text(text);
        });
        self.of_item("response.reasoning_summary_part.done", item, out, |json| {
            json.key("summary_index").number(number).key("part").object();
            json.key("type").text("summary_text").key("text").text(text).end_object();
        });
    }

    fn part_end(&mut self, part: u32, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|i| i.part == part) else { return };
        let item = self.open.remove(at);
        let whole = item.text.concat();
        match &item.kind {
            PartKind::Text => {
                self.of_part("response.output_text.done", &item, out, |json| {
                    json.key("text").text(&whole).key("logprobs").array().end_array();
                });
            }
            PartKind::Refusal => {
                self.of_part("response.refusal.done", &item, out, |json| {
                    _ = json.key("refusal").text(&whole)
                });
            }
            PartKind::Call { kind, .. } => {
                let key = if *kind == CallKind::Custom { "input" } else { "arguments" };
                self.of_item(call_event(*kind, "done"), &item, out, |json| {
                    _ = json.key(key).text(item.arguments())
                });
            }
            _ => self.end_paragraph(&item, out),
        }
        if matches!(item.kind, PartKind::Text | PartKind::Refusal) {
            let part = item.content();
            self.of_part("response.content_part.done", &item, out, |json| _ = json.key("part").raw(&part));
        }
        let body = item.body(true);
        self.event("response.output_item.done", out, |json| {
            json.key("output_index").number(item.index).key("item").raw(&body);
        });
        self.done.push((item.index, body));
        if let (PartKind::Call { id, .. }, Some(seal)) = (&item.kind, &item.seal) {
            self.envelope(seal, id, out);
        }
    }

    /// A reasoning item that only carries the seal of a call.
    fn envelope(&mut self, seal: &Seal<'_>, call: &str, out: &mut Vec<u8>) {
        let id = made_id("rs", self.ids, &mut self.made);
        let index = self.next;
        self.next += 1;
        let mut json = JsonWriter::default();
        json.object().key("type").text("reasoning").key("id").text(&id).key("summary").array().end_array();
        json.key("encrypted_content").text(&seal::close(seal, Some(call))).end_object();
        let body = json.finish();
        for name in ["response.output_item.added", "response.output_item.done"] {
            self.event(name, out, |json| _ = json.key("output_index").number(index).key("item").raw(&body));
        }
        self.done.push((index, body));
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let (status, why) = status_of(self.stop.as_ref());
        let name = if status == "completed" { "response.completed" } else { "response.incomplete" };
        self.response(name, status, why, None, out);
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        if self.begun {
            return self.response("response.failed", "failed", None, Some(error), out);
        }
        self.event("error", out, |json| {
            json.key("code").text(error.code.as_deref().unwrap_or("server_error"));
            json.key("message").text(&error.message).key("param").null();
        });
    }

    fn note(&mut self) {
        self.notes.push(left_out("output"));
    }
}

fn call_event(kind: CallKind, end: &str) -> &'static str {
    match (kind, end) {
        (CallKind::Custom, "delta") => "response.custom_tool_call_input.delta",
        (CallKind::Custom, _) => "response.custom_tool_call_input.done",
        (_, "delta") => "response.function_call_arguments.delta",
        _ => "response.function_call_arguments.done",
    }
}

impl StreamWriter for ResponseWriter {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.notes.extras(event);
        match event {
            Event::Start(start) => self.start(start, out),
            Event::PartStart { choice: 0, part, kind } => self.part_start(*part, kind, out),
            Event::Delta { choice: 0, part, delta } => self.delta(*part, delta, out),
            Event::PartEnd { choice: 0, part } => self.part_end(*part, out),
            Event::Stop { choice: 0, stop } => self.stop = Some(stop.clone()),
            Event::PartStart { .. } | Event::Stop { .. } => self.note(),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Ping => out.extend_from_slice(b": ping\n\n"),
            Event::Finish => self.finish(out),
            Event::Error(error) => self.error(error, out),
            _ => {}
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.notes.take()
    }
}
