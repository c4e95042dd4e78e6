//! Reads streams: every event is a reply whose parts go on from the one before.

use super::parts::part;
use super::reply::{read, read_usage, stop_of};
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{
    Arguments, CallKind, Delta, Part, PartKind, Reply, Seal, Spelling, Start, Stop, StopReason,
};
use crate::wire::ids::made_for;
use crate::wire::read::{chars, count, pick, string, structured};
use crate::wire::{Decoder, Sink, WireError};

/// The state of a stream of replies.
#[derive(Debug, Default)]
pub(super) struct GeminiDecoder {
    id: String,
    choices: Vec<State>,
    blocked: bool,
}

#[derive(Debug, Default)]
struct State {
    index: u32,
    /// The part that text goes to, and whether it is a thought.
    open: Option<(u32, bool)>,
    calls: u32,
    stop: Option<Stop<'static>>,
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, _name: Option<&str>, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let names = ["candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback", "error"];
        let [candidates, usage, model, id, feedback, error] = pick(doc, root, names);
        if error.is_some() {
            return sink.error(structured(doc, root));
        }
        if !sink.started() {
            self.id = chars(doc, id).unwrap_or_default();
            sink.start(Start { id: chars(doc, id), model: chars(doc, model), ..Start::default() });
        }
        for node in candidates.into_iter().flat_map(|c| doc.elements(c)) {
            self.candidate(doc, node, sink);
        }
        if let Some(usage) = usage.filter(|n| doc.kind(*n) == Kind::Object) {
            sink.usage(read_usage(doc, usage));
        }
        let reason = feedback.and_then(|f| string(doc, doc.get(f, "blockReason")));
        if let (true, Some(reason)) = (self.choices.is_empty(), reason) {
            self.blocked = true;
            sink.stop(0, Stop { raw: Some(reason.into_owned()), ..Stop::new(StopReason::ContentFilter) });
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        let complete =
            self.blocked || (!self.choices.is_empty() && self.choices.iter().all(|s| s.stop.is_some()));
        if !complete {
            return sink.truncated();
        }
        for state in &mut self.choices {
            if let Some(stop) = state.stop.take() {
                sink.stop(state.index, stop);
            }
        }
        sink.finish();
    }

    fn whole<'d>(&self, doc: &'d Doc) -> Result<Reply<'d>, WireError> {
        read(doc).map(|read| read.value)
    }
}

impl GeminiDecoder {
    fn candidate(&mut self, doc: &Doc, node: NodeId, sink: &mut Sink) {
        let [index, content, finish] = pick(doc, node, ["index", "content", "finishReason"]);
        let index = count(doc, index).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let at = match self.choices.iter().position(|s| s.index == index) {
            Some(at) => at,
            None if self.choices.len() >= 128 => return,
            None => {
                self.choices.push(State { index, ..State::default() });
                self.choices.len() - 1
            }
        };
        let Some(state) = self.choices.get_mut(at) else { return };
        let parts = content.and_then(|c| doc.get(c, "parts"));
        for node in parts.into_iter().flat_map(|p| doc.elements(p)) {
            if let Ok(part) = part(doc, node) {
                state.part(part.into_owned(), &self.id, sink);
            }
        }
        if let (Some(word), None) = (string(doc, finish), &state.stop) {
            let mut stop = stop_of(&word).into_owned();
            if stop.reason == StopReason::Stop && state.calls > 0 {
                stop.reason = StopReason::ToolCalls;
            }
            state.stop = Some(stop);
        }
        for (key, value) in doc.members(node) {
            let known = ["index", "content", "finishReason"];
            let Some(key) = doc.json_str(key).filter(|k| !known.iter().any(|name| k.is(name))) else {
                continue;
            };
            if doc.kind(value) != Kind::Null {
                sink.extra(Some(index), &key.decode(), doc.raw(value));
            }
        }
    }
}

impl State {
    fn part(&mut self, part: Part<'static>, id: &str, sink: &mut Sink) {
        match part {
            Part::Text(text) => self.text(text.text.into_chars().into_owned(), text.seal, false, sink),
            Part::Thought(thought) => {
                let text = thought.text.into_iter().map(|t| t.into_chars().into_owned()).collect();
                self.text(text, thought.seal, true, sink);
            }
            Part::Call(call) => {
                self.close(sink);
                let chars = |s: crate::hub::Str<'static>| s.into_chars().into_owned();
                let given = chars(call.id);
                let call_id = if given.is_empty() { made_for(id, self.index, self.calls) } else { given };
                self.calls += 1;
                let kind = PartKind::Call {
                    id: call_id,
                    name: chars(call.name),
                    kind: CallKind::Function,
                    item: None,
                    seal: call.seal,
                };
                let part = sink.open(self.index, kind);
                if let Arguments::Json(json) = call.arguments {
                    sink.text(self.index, part, json.raw().to_owned());
                }
                sink.close(self.index, part);
            }
            other => {
                self.close(sink);
                sink.whole(self.index, PartKind::Whole(Box::new(other)));
            }
        }
    }

    /// A signed piece ends its part: signed and unsigned text are never put together.
    fn text(&mut self, text: String, seal: Option<Seal<'static>>, thought: bool, sink: &mut Sink) {
        if text.is_empty() && seal.is_none() {
            return;
        }
        if self.open.is_some_and(|(_, open)| open != thought) || (text.is_empty() && self.open.is_some()) {
            self.close(sink);
        }
        let index = self.index;
        let kind = match thought {
            true => PartKind::Thought { summary: false, spelling: Spelling::Block, item: None },
            false => PartKind::Text,
        };
        let (part, _) = *self.open.get_or_insert_with(|| (sink.open(index, kind), thought));
        sink.text(index, part, text);
        if let Some(seal) = seal {
            sink.delta(index, part, Delta::Seal(seal));
            self.close(sink);
        }
    }

    fn close(&mut self, sink: &mut Sink) {
        if let Some((part, _)) = self.open.take() {
            sink.close(self.index, part);
        }
    }
}
