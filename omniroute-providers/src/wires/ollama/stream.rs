//! What the lines of a stream say.

use omniroute_core::hub::{CallKind, Delta, Json, PartKind, Spelling, Start, Stop, StopReason};
use omniroute_core::wire::read::{boolean, chars, json, pick, string, structured};
use omniroute_core::wire::{Sink, ids};
use omniroute_core::{Doc, Kind, NodeId};

use super::reply::{read_usage, stop_of};

/// The state of a stream.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    place: String,
    thought: Option<u32>,
    text: Option<u32>,
    called: u32,
}

impl ChatDecoder {
    /// One line.
    pub(super) fn object(&mut self, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let names = ["model", "created_at", "message", "done", "done_reason", "logprobs", "error"];
        let [model, created, message, done, reason, logprobs, error] = pick(doc, root, names);
        if error.is_some() || doc.kind(root) != Kind::Object {
            return sink.error(structured(doc, root));
        }
        if !sink.started() {
            self.place = chars(doc, created).unwrap_or_default();
            let created = json(doc, created).map(Json::into_owned);
            sink.start(Start { model: chars(doc, model), created, ..Start::default() });
        }
        if let Some(message) = message.filter(|n| doc.kind(*n) == Kind::Object) {
            self.message(doc, message, sink);
        }
        if let (Some(part), Some(list)) = (self.text, logprobs.filter(|n| doc.kind(*n) == Kind::Array)) {
            sink.delta(0, part, Delta::Logprobs(Json::at(doc, list).into_owned()));
        }
        if boolean(doc, done) != Some(true) {
            return;
        }
        let mut extra = omniroute_core::hub::Extra::new();
        let known = [
            "model",
            "created_at",
            "message",
            "done",
            "done_reason",
            "logprobs",
            "prompt_eval_count",
            "eval_count",
        ];
        let [.., input, output] = omniroute_core::wire::read::take(doc, root, known, &mut extra);
        for (key, value) in &extra {
            sink.extra(None, &key.decode(), value.raw());
        }
        if let Some(usage) = read_usage(doc, input, output) {
            sink.usage(usage);
        }
        let stop: Stop<'static> = stop_of(string(doc, reason));
        let called = stop.reason == StopReason::Stop && self.called > 0;
        sink.stop(0, if called { Stop { reason: StopReason::ToolCalls, ..stop } } else { stop });
        sink.finish();
    }

    /// The bytes have ended.
    pub(super) fn end(&mut self, sink: &mut Sink) {
        if !sink.ended() {
            sink.truncated();
        }
    }

    fn message(&mut self, doc: &Doc, message: NodeId, sink: &mut Sink) {
        let [thinking, content, calls] = pick(doc, message, ["thinking", "content", "tool_calls"]);
        if let Some(words) = chars(doc, thinking).filter(|t| !t.is_empty()) {
            let kind = PartKind::Thought { summary: false, spelling: Spelling::Block, item: None };
            let part = *self.thought.get_or_insert_with(|| sink.open(0, kind));
            sink.text(0, part, words);
        }
        if let Some(words) = chars(doc, content).filter(|t| !t.is_empty()) {
            self.close_thought(sink);
            let part = *self.text.get_or_insert_with(|| sink.open(0, PartKind::Text));
            sink.text(0, part, words);
        }
        for call in calls.into_iter().flat_map(|c| doc.elements(c)) {
            self.call(doc, call, sink);
        }
    }

    /// Text and calls end a thought; a later one is another.
    fn close_thought(&mut self, sink: &mut Sink) {
        if let Some(part) = self.thought.take() {
            sink.close(0, part);
        }
    }

    /// Calls come as a whole.
    fn call(&mut self, doc: &Doc, node: NodeId, sink: &mut Sink) {
        self.close_thought(sink);
        let [id, function] = pick(doc, node, ["id", "function"]);
        let [name, arguments] = function.map_or([None; 2], |f| pick(doc, f, ["name", "arguments"]));
        let Some(name) = chars(doc, name).filter(|n| !n.is_empty()) else {
            return sink.nameless();
        };
        let id = chars(doc, id).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| ids::made_for(&self.place, 0, self.called));
        self.called += 1;
        let part =
            sink.open(0, PartKind::Call { id, name, kind: CallKind::Function, item: None, seal: None });
        let words = chars(doc, arguments).or_else(|| arguments.map(|n| doc.raw(n).to_owned()));
        sink.text(0, part, words.unwrap_or_else(|| "{}".into()));
        sink.close(0, part);
    }
}
