//! Reads streams.

use super::items::{call, citation, opaque, thought};
use super::reply::{read, read_usage, stop_of};
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{CallKind, Delta, Json, Part, PartKind, Reply, Spelling, Start, Stop, StopReason};
use crate::wire::read::{chars, count, json, pick, structured};
use crate::wire::{Decoder, Sink, WireError};

/// Most items of an answer.
const MOST_ITEMS: usize = 4_096;

/// The state of a stream of events.
#[derive(Debug, Default)]
pub(super) struct ResponseDecoder {
    items: Vec<Item>,
    calls: bool,
    refused: bool,
}

/// An output item and what of it was told.
#[derive(Debug)]
struct Item {
    index: u64,
    /// Parts by their number in the item; a call or thought has only number 0.
    parts: Vec<Told>,
    done: bool,
}

/// A part and how many bytes of it were told.
#[derive(Debug)]
struct Told {
    number: u64,
    part: u32,
    paragraph: u64,
    bytes: usize,
}

impl Decoder for ResponseDecoder {
    fn event(&mut self, name: Option<&str>, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let names =
            ["type", "output_index", "content_index", "summary_index", "delta", "item", "response", "error"];
        let [kind, at, content, summary, delta, item, response, error] = pick(doc, root, names);
        let kind = chars(doc, kind).or_else(|| name.map(str::to_owned)).unwrap_or_default();
        let at = count(doc, at).unwrap_or(0);
        let content = count(doc, content).unwrap_or(0);
        let whole = |key| chars(doc, doc.get(root, key)).unwrap_or_default();
        let delta = chars(doc, delta);
        match kind.strip_prefix("response.").unwrap_or(kind.as_str()) {
            "created" | "in_progress" | "queued" => self.start(doc, response, sink),
            "output_item.added" => {
                if let Some(item) = item {
                    self.added(doc, at, item, sink);
                }
            }
            "output_text.delta" => {
                self.add(at, content, 0, PartKind::Text, &delta.unwrap_or_default(), sink);
                self.logprobs(doc, at, content, sink);
            }
            "output_text.done" => self.fill(at, content, PartKind::Text, &whole("text"), sink),
            "refusal.delta" => {
                self.refused = true;
                self.add(at, content, 0, PartKind::Refusal, &delta.unwrap_or_default(), sink);
            }
            "refusal.done" => self.fill(at, content, PartKind::Refusal, &whole("refusal"), sink),
            "output_text.annotation.added" => {
                let source = doc.get(root, "annotation");
                if let (Some(told), Some(source)) = (self.told(at, content), source) {
                    let citation = citation(doc, source).into_owned();
                    sink.delta(0, told.part, Delta::Citation(Box::new(citation)));
                }
            }
            "reasoning_summary_text.delta" => {
                let number = count(doc, summary).unwrap_or(0);
                self.add(at, 0, number, thinking(true), &delta.unwrap_or_default(), sink);
            }
            "reasoning_text.delta" => {
                self.add(at, 0, content, thinking(false), &delta.unwrap_or_default(), sink)
            }
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                self.more(at, &delta.unwrap_or_default(), sink);
            }
            "function_call_arguments.done" => self.rest(at, &whole("arguments"), sink),
            "custom_tool_call_input.done" => self.rest(at, &whole("input"), sink),
            "output_item.done" => {
                if let Some(item) = item {
                    self.finished(doc, at, item, sink);
                }
            }
            "completed" | "incomplete" | "failed" => self.ended(doc, response.unwrap_or(root), sink),
            "error" => sink.error(structured(doc, root)),
            "keepalive" => sink.ping(),
            _ if error.is_some() => sink.error(structured(doc, root)),
            // Progress of the vendor's own tools, beginnings and ends of parts: told by other events.
            _ => {}
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        sink.truncated();
    }

    fn whole<'d>(&self, doc: &'d Doc) -> Result<Reply<'d>, WireError> {
        read(doc).map(|read| read.value)
    }
}

fn thinking(summary: bool) -> PartKind {
    PartKind::Thought { summary, spelling: Spelling::Block, item: None }
}

impl ResponseDecoder {
    fn start(&mut self, doc: &Doc, response: Option<NodeId>, sink: &mut Sink) {
        let Some(response) = response.filter(|_| !sink.started()) else { return };
        let [id, model, created] = pick(doc, response, ["id", "model", "created_at"]);
        let created = json(doc, created).map(Json::into_owned);
        sink.start(Start { id: chars(doc, id), model: chars(doc, model), created, extra: Vec::new() });
    }

    fn item(&mut self, index: u64) -> Option<&mut Item> {
        if let Some(at) = self.items.iter().rposition(|i| i.index == index) {
            return self.items.get_mut(at);
        }
        if self.items.len() >= MOST_ITEMS {
            return None;
        }
        self.items.push(Item { index, parts: Vec::new(), done: false });
        self.items.last_mut()
    }

    fn told(&mut self, index: u64, number: u64) -> Option<&mut Told> {
        self.item(index)?.parts.iter_mut().find(|t| t.number == number)
    }

    fn open(&mut self, index: u64, number: u64, kind: PartKind, sink: &mut Sink) -> Option<&mut Told> {
        if self.told(index, number).is_none() {
            let item = self.item(index)?;
            if item.done || item.parts.len() >= MOST_ITEMS {
                return None;
            }
            let part = sink.open(0, kind);
            item.parts.push(Told { number, part, paragraph: 0, bytes: 0 });
        }
        self.told(index, number)
    }

    /// Text of a part; a summary's paragraphs are parts of one thought.
    fn add(&mut self, index: u64, number: u64, paragraph: u64, kind: PartKind, text: &str, sink: &mut Sink) {
        if text.is_empty() {
            return;
        }
        let Some(told) = self.open(index, number, kind, sink) else { return };
        if told.paragraph != paragraph {
            told.paragraph = paragraph;
            if told.bytes > 0 {
                sink.delta(0, told.part, Delta::Paragraph);
            }
        }
        told.bytes += text.len();
        sink.text(0, told.part, text.to_owned());
    }

    /// The whole text of a part: what the deltas did not tell.
    fn fill(&mut self, index: u64, number: u64, kind: PartKind, text: &str, sink: &mut Sink) {
        let bytes = self.told(index, number).map_or(0, |t| t.bytes);
        if let Some(missing) = text.get(bytes..).filter(|m| !m.is_empty()) {
            self.add(index, number, 0, kind, missing, sink);
        }
    }

    /// More of a call's arguments.
    fn more(&mut self, index: u64, text: &str, sink: &mut Sink) {
        if let Some(told) = self.told(index, 0) {
            told.bytes += text.len();
            sink.text(0, told.part, text.to_owned());
        }
    }

    fn rest(&mut self, index: u64, text: &str, sink: &mut Sink) {
        let bytes = self.told(index, 0).map_or(0, |t| t.bytes);
        if let Some(missing) = text.get(bytes..) {
            self.more(index, missing, sink);
        }
    }

    fn logprobs(&mut self, doc: &Doc, index: u64, number: u64, sink: &mut Sink) {
        let list = doc.get(doc.root(), "logprobs").filter(|l| doc.elements(*l).next().is_some());
        if let (Some(list), Some(told)) = (list, self.told(index, number)) {
            sink.delta(0, told.part, Delta::Logprobs(Json::at(doc, list).into_owned()));
        }
    }

    fn added(&mut self, doc: &Doc, index: u64, node: NodeId, sink: &mut Sink) {
        let kind = match chars(doc, doc.get(node, "type")).as_deref() {
            Some("function_call") => CallKind::Function,
            Some("custom_tool_call") => CallKind::Custom,
            _ => return,
        };
        let call = call(doc, node, kind).into_owned();
        if call.name.is_empty() {
            return;
        }
        self.calls = true;
        let chars = |s: crate::hub::Str<'static>| s.into_chars().into_owned();
        let arguments = match call.arguments {
            crate::hub::Arguments::Text(text) | crate::hub::Arguments::Free(text) => chars(text),
            crate::hub::Arguments::Json(json) => json.raw().to_owned(),
        };
        let (id, name, item) = (chars(call.id), chars(call.name), call.item.map(chars));
        self.open(index, 0, PartKind::Call { id, name, kind, item, seal: None }, sink);
        self.more(index, &arguments, sink);
    }

    /// An item is complete: what was not told is told now.
    fn finished(&mut self, doc: &Doc, index: u64, node: NodeId, sink: &mut Sink) {
        if self.item(index).is_none_or(|i| i.done) {
            return;
        }
        match chars(doc, doc.get(node, "type")).as_deref() {
            Some("message") => {
                let blocks = doc.get(node, "content").into_iter().flat_map(|c| doc.elements(c));
                for (number, block) in blocks.enumerate() {
                    let [text, refusal] = pick(doc, block, ["text", "refusal"]);
                    if let Some(text) = chars(doc, text) {
                        self.fill(index, number as u64, PartKind::Text, &text, sink);
                    }
                    if let Some(text) = chars(doc, refusal) {
                        self.refused = true;
                        self.fill(index, number as u64, PartKind::Refusal, &text, sink);
                    }
                }
            }
            Some("reasoning") => {
                let thought = thought(doc, node).into_owned();
                if self.told(index, 0).is_none() {
                    for (number, text) in thought.text.iter().enumerate() {
                        self.add(index, 0, number as u64, thinking(thought.summary), &text.decode(), sink);
                    }
                }
                if let Some(seal) = thought.seal
                    && let Some(told) = self.open(index, 0, thinking(true), sink)
                {
                    sink.delta(0, told.part, Delta::Seal(seal));
                }
            }
            Some("function_call" | "custom_tool_call") => {
                if self.told(index, 0).is_none() {
                    self.added(doc, index, node, sink);
                }
                let [arguments, input] = pick(doc, node, ["arguments", "input"]);
                self.rest(index, &chars(doc, arguments.or(input)).unwrap_or_default(), sink);
            }
            _ => {
                let part: Part<'static> = opaque(doc, node).into_owned();
                sink.whole(0, PartKind::Whole(Box::new(part)));
            }
        }
        if let Some(item) = self.item(index) {
            item.done = true;
            item.parts.iter().for_each(|t| sink.close(0, t.part));
        }
    }

    fn ended(&mut self, doc: &Doc, response: NodeId, sink: &mut Sink) {
        self.start(doc, Some(response), sink);
        let names = ["output", "status", "incomplete_details", "usage", "error"];
        let [output, status, details, usage, error] = pick(doc, response, names);
        if let Some(usage) = usage.filter(|n| doc.kind(*n) == Kind::Object) {
            sink.usage(read_usage(doc, usage));
        }
        if error.is_some() || crate::wire::read::is(doc, status, "failed") {
            return sink.error(structured(doc, response));
        }
        for (index, node) in output.into_iter().flat_map(|o| doc.elements(o)).enumerate() {
            self.finished(doc, index as u64, node, sink);
        }
        let mut stop = stop_of(doc, status, details, &[]).unwrap_or_else(|| Stop::new(StopReason::Unknown));
        if stop.reason == StopReason::Stop && self.calls {
            stop.reason = StopReason::ToolCalls;
        } else if stop.reason == StopReason::Stop && self.refused {
            stop.reason = StopReason::Refusal;
        }
        sink.stop(0, stop);
        sink.finish();
    }
}
