//! What the events of a stream say.

use omniroute_core::hub::{CallKind, Delta, Issuer, PartKind, Seal, Spelling, Start, Stop, StopReason};
use omniroute_core::wire::read::{chars, count, pick, string};
use omniroute_core::wire::{Sink, ids};
use omniroute_core::{Doc, Kind, NodeId};

use super::blocks::citation;
use super::reply::{read_usage, reason_of};

/// Most blocks that may be open.
const MOST_OPEN: usize = 1_024;

/// The state of a stream.
#[derive(Debug, Default)]
pub(super) struct ConverseDecoder {
    /// Number of the block, and its part.
    open: Vec<(u64, u32)>,
    called: u32,
    stop: Option<Stop<'static>>,
}

impl ConverseDecoder {
    /// One event.
    pub(super) fn event(&mut self, name: &str, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let index = count(doc, doc.get(root, "contentBlockIndex")).unwrap_or(0);
        match name {
            "messageStart" => sink.start(Start::default()),
            "contentBlockStart" => {
                if let Some(tool) = doc.get(root, "start").and_then(|s| doc.get(s, "toolUse")) {
                    self.call(doc, tool, index, sink);
                }
            }
            "contentBlockDelta" => {
                if let Some(delta) = doc.get(root, "delta").filter(|n| doc.kind(*n) == Kind::Object) {
                    self.delta(doc, delta, index, sink);
                }
            }
            "contentBlockStop" => {
                if let Some(at) = self.open.iter().position(|(i, _)| *i == index) {
                    sink.close(0, self.open.swap_remove(at).1);
                }
            }
            "messageStop" => self.message_stop(doc, sink),
            "metadata" => self.metadata(doc, sink),
            _ => {}
        }
    }

    /// The bytes have ended.
    pub(super) fn end(&mut self, sink: &mut Sink) {
        if sink.ended() {
            return;
        }
        match self.stop.take() {
            Some(stop) => {
                sink.stop(0, stop);
                sink.finish();
            }
            None => sink.truncated(),
        }
    }

    fn call(&mut self, doc: &Doc, node: NodeId, index: u64, sink: &mut Sink) {
        let [id, name] = pick(doc, node, ["toolUseId", "name"]);
        let Some(name) = chars(doc, name).filter(|n| !n.is_empty()) else {
            return sink.nameless();
        };
        let id = chars(doc, id).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| ids::made(index, u64::from(self.called)));
        self.called += 1;
        let kind = PartKind::Call { id, name, kind: CallKind::Function, item: None, seal: None };
        self.start(index, kind, sink);
    }

    fn start(&mut self, index: u64, kind: PartKind, sink: &mut Sink) -> Option<u32> {
        if self.open.len() >= MOST_OPEN {
            return None;
        }
        let part = sink.open(0, kind);
        self.open.push((index, part));
        Some(part)
    }

    fn delta(&mut self, doc: &Doc, delta: NodeId, index: u64, sink: &mut Sink) {
        let [text, tool, reasoning, source] =
            pick(doc, delta, ["text", "toolUse", "reasoningContent", "citation"]);
        let known = self.open.iter().find(|(i, _)| *i == index).map(|(_, part)| *part);
        if let Some(words) = chars(doc, text).filter(|t| !t.is_empty()) {
            if let Some(part) = known.or_else(|| self.start(index, PartKind::Text, sink)) {
                sink.text(0, part, words);
            }
        } else if let (Some(input), Some(part)) = (tool.and_then(|t| doc.get(t, "input")), known) {
            let words = chars(doc, Some(input)).unwrap_or_else(|| doc.raw(input).to_owned());
            sink.text(0, part, words);
        } else if let Some(reasoning) = reasoning {
            self.reasoning(doc, reasoning, index, known, sink);
        } else if let (Some(node), Some(part)) = (source, known) {
            sink.delta(0, part, Delta::Citation(Box::new(citation(doc, node).into_owned())));
        }
    }

    fn reasoning(&mut self, doc: &Doc, node: NodeId, index: u64, known: Option<u32>, sink: &mut Sink) {
        let [text, signature, hidden] = pick(doc, node, ["text", "signature", "redactedContent"]);
        let spelling = if hidden.is_some() { Spelling::Redacted } else { Spelling::Block };
        let kind = PartKind::Thought { summary: false, spelling, item: None };
        let Some(part) = known.or_else(|| self.start(index, kind, sink)) else { return };
        if let Some(words) = chars(doc, text) {
            sink.text(0, part, words);
        }
        if let Some(data) = chars(doc, signature.or(hidden)).filter(|s| !s.is_empty()) {
            sink.delta(0, part, Delta::Seal(Seal { issuer: Issuer::Anthropic, data: data.into() }));
        }
    }

    fn message_stop(&mut self, doc: &Doc, sink: &mut Sink) {
        let [word, fields] = pick(doc, doc.root(), ["stopReason", "additionalModelResponseFields"]);
        let mut stop = match string(doc, word) {
            Some(word) => Stop { raw: Some(word.clone().into_owned()), ..Stop::new(reason_of(&word)) },
            None => Stop::new(StopReason::Stop),
        };
        if stop.reason == StopReason::Stop && self.called > 0 {
            stop.reason = StopReason::ToolCalls;
        }
        if let Some(fields) = fields {
            sink.extra(None, "additionalModelResponseFields", doc.raw(fields));
        }
        self.stop.get_or_insert(stop);
    }

    /// The last event.
    fn metadata(&mut self, doc: &Doc, sink: &mut Sink) {
        for (key, value) in doc.members(doc.root()) {
            let Some(key) = doc.json_str(key) else { continue };
            if key.is("usage") && doc.kind(value) == Kind::Object {
                sink.usage(read_usage(doc, value));
            } else if !key.is("p") && doc.kind(value) != Kind::Null {
                sink.extra(None, &key.decode(), doc.raw(value));
            }
        }
        self.end(sink);
    }
}
