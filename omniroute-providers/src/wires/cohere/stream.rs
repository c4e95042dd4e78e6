//! Reads streams.

use omniroute_core::hub::{CallKind, Delta, PartKind, Reply, Spelling, Start, Stop, StopReason};
use omniroute_core::wire::read::{chars, count, pick, string, structured};
use omniroute_core::wire::{Decoder, Sink, WireError, ids};
use omniroute_core::{Doc, Kind, NodeId};

use super::message::citation;
use super::reply::{failed, read, read_usage, stop_of};

/// Most parts that may be open.
const MOST_OPEN: usize = 1_024;

/// The state of a stream.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    id: String,
    plan: Option<u32>,
    /// Open contents and calls: their number on the wire, and the part once there is something to say.
    contents: Vec<(u64, Option<(u32, bool)>)>,
    calls: Vec<(u64, u32)>,
    called: u32,
    stop: Option<Stop<'static>>,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, name: Option<&str>, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let [kind, index, delta, id, message, error] =
            pick(doc, root, ["type", "index", "delta", "id", "message", "error"]);
        let kind = chars(doc, kind).or_else(|| name.map(str::to_owned)).unwrap_or_default();
        if error.is_some() || message.is_some() || kind == "error" {
            return sink.error(structured(doc, root));
        }
        let index = count(doc, index).unwrap_or(0);
        let told = delta.and_then(|d| doc.get(d, "message")).filter(|n| doc.kind(*n) == Kind::Object);
        match kind.as_str() {
            "message-start" => {
                let id = chars(doc, id);
                self.id = id.clone().unwrap_or_default();
                sink.start(Start { id, ..Start::default() });
            }
            "content-start" | "content-delta" => self.content(doc, index, told, sink),
            "content-end" => self.close_content(index, sink),
            "tool-plan-delta" => self.planned(chars(doc, told.and_then(|m| doc.get(m, "tool_plan"))), sink),
            "tool-call-start" => self.call(doc, index, told, sink),
            "tool-call-delta" => {
                let call = told.and_then(|m| doc.get(m, "tool_calls"));
                let function = call.and_then(|c| doc.get(c, "function"));
                let text = chars(doc, function.and_then(|f| doc.get(f, "arguments")));
                if let (Some(text), Some((_, part))) = (text, self.calls.iter().find(|(i, _)| *i == index)) {
                    sink.text(0, *part, text);
                }
            }
            "tool-call-end" => {
                if let Some(at) = self.calls.iter().position(|(i, _)| *i == index) {
                    sink.close(0, self.calls.swap_remove(at).1);
                }
            }
            "citation-start" => {
                let node = told.and_then(|m| doc.get(m, "citations"));
                let part = self.contents.iter().find(|(i, _)| *i == index).and_then(|(_, part)| *part);
                if let (Some(node), Some((part, false))) = (node, part) {
                    sink.delta(0, part, Delta::Citation(Box::new(citation(doc, node).into_owned())));
                }
            }
            "message-end" => self.message_end(doc, delta, sink),
            _ => {} // the end of a citation, and what is new
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        let Some(stop) = self.stop.take() else { return sink.truncated() };
        sink.stop(0, stop);
        sink.finish();
    }

    fn whole<'d>(&self, doc: &'d Doc) -> Result<Reply<'d>, WireError> {
        read(doc).map(|read| read.value)
    }
}

impl ChatDecoder {
    fn content(&mut self, doc: &Doc, index: u64, told: Option<NodeId>, sink: &mut Sink) {
        self.close_plan(sink);
        let node = told.and_then(|m| doc.get(m, "content"));
        let [text, thinking] = node.map_or([None; 2], |n| pick(doc, n, ["text", "thinking"]));
        let words = chars(doc, thinking.or(text)).filter(|t| !t.is_empty());
        let at = match self.contents.iter().position(|(i, _)| *i == index) {
            Some(at) => at,
            None if self.contents.len() >= MOST_OPEN => return,
            None => {
                self.contents.push((index, None));
                self.contents.len() - 1
            }
        };
        let (Some(words), Some((_, open))) = (words, self.contents.get_mut(at)) else { return };
        let thought = thinking.is_some();
        let (part, _) = *open.get_or_insert_with(|| {
            let kind = match thought {
                true => PartKind::Thought { summary: false, spelling: Spelling::Block, item: None },
                false => PartKind::Text,
            };
            (sink.open(0, kind), thought)
        });
        sink.text(0, part, words);
    }

    fn close_content(&mut self, index: u64, sink: &mut Sink) {
        if let Some(at) = self.contents.iter().position(|(i, _)| *i == index)
            && let (_, Some((part, _))) = self.contents.swap_remove(at)
        {
            sink.close(0, part);
        }
    }

    fn planned(&mut self, words: Option<String>, sink: &mut Sink) {
        let Some(words) = words.filter(|w| !w.is_empty()) else { return };
        let kind = || PartKind::Thought { summary: false, spelling: Spelling::Plan, item: None };
        let part = *self.plan.get_or_insert_with(|| sink.open(0, kind()));
        sink.text(0, part, words);
    }

    /// Content or calls end a plan.
    fn close_plan(&mut self, sink: &mut Sink) {
        if let Some(part) = self.plan.take() {
            sink.close(0, part);
        }
    }

    fn call(&mut self, doc: &Doc, index: u64, told: Option<NodeId>, sink: &mut Sink) {
        self.close_plan(sink);
        let Some(node) = told.and_then(|m| doc.get(m, "tool_calls")) else { return };
        let node = doc.elements(node).next().unwrap_or(node);
        let [id, function] = pick(doc, node, ["id", "function"]);
        let [name, arguments] = function.map_or([None; 2], |n| pick(doc, n, ["name", "arguments"]));
        let Some(name) = chars(doc, name).filter(|n| !n.is_empty()) else {
            return sink.nameless();
        };
        if self.calls.len() >= MOST_OPEN {
            return;
        }
        let made = || ids::made_for(&self.id, 0, self.called);
        let id = chars(doc, id).filter(|id| !id.is_empty()).unwrap_or_else(made);
        self.called += 1;
        let part =
            sink.open(0, PartKind::Call { id, name, kind: CallKind::Function, item: None, seal: None });
        self.calls.push((index, part));
        sink.text(0, part, chars(doc, arguments).unwrap_or_default());
    }

    fn message_end(&mut self, doc: &Doc, delta: Option<NodeId>, sink: &mut Sink) {
        let names = ["finish_reason", "usage", "error"];
        let [finish, usage, error] = delta.map_or([None; 3], |n| pick(doc, n, names));
        if let Some(usage) = usage.filter(|n| doc.kind(*n) == Kind::Object) {
            sink.usage(read_usage(doc, usage));
        }
        if let (Some(_), Some(delta)) = (error, delta) {
            return sink.error(structured(doc, delta));
        }
        let mut stop = match string(doc, finish) {
            Some(word) => stop_of(&word),
            None => Stop::new(StopReason::Stop),
        };
        if stop.reason == StopReason::Failed {
            return sink.error(failed(Some(&stop)));
        }
        if stop.reason == StopReason::Stop && self.called > 0 {
            stop.reason = StopReason::ToolCalls;
        }
        self.stop.get_or_insert(stop);
    }
}
