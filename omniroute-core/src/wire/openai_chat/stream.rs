//! Reads streams.

use super::message::{citation, detail};
use super::reply::{read, read_usage, stop_of};
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{CallKind, Delta, Json, PartKind, Reply, Seal, Spelling, Start, Stop, StopReason};
use crate::wire::read::{chars, count, json, pick, string, structured};
use crate::wire::{Decoder, Sink, WireError};

/// Most calls of one choice that may be open.
const MOST_CALLS: usize = 1_024;

/// The state of a stream of chunks.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    choices: Vec<State>,
}

#[derive(Debug, Default)]
struct State {
    index: u32,
    text: Option<u32>,
    thought: Option<u32>,
    refusal: Option<u32>,
    calls: Vec<Open>,
    stop: Option<Stop<'static>>,
}

/// A call that is being written.
#[derive(Debug)]
struct Open {
    key: Option<u64>,
    id: String,
    /// Nothing until the name is known; what came before waits.
    part: Option<u32>,
    waiting: String,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, name: Option<&str>, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let names = ["choices", "error", "usage", "id", "model", "created", "x_groq", "object", "message"];
        let [choices, error, usage, id, model, created, group, object, message] = pick(doc, root, names);
        let failed = error.is_some() || name == Some("error");
        if failed || (choices.is_none() && (message.is_some() || is_error(doc, object))) {
            return sink.error(structured(doc, root));
        }
        if !sink.started() {
            let extra = Vec::new();
            sink.start(Start {
                id: chars(doc, id),
                model: chars(doc, model),
                created: json(doc, created).map(Json::into_owned),
                extra,
            });
        }
        for node in choices.into_iter().flat_map(|c| doc.elements(c)) {
            self.choice(doc, node, sink);
        }
        let inner = group.and_then(|g| doc.get(g, "usage"));
        if let Some(usage) = usage.or(inner).filter(|n| doc.kind(*n) == Kind::Object) {
            sink.usage(read_usage(doc, usage));
        }
        for (key, value) in doc.members(root) {
            let Some(key) = doc.json_str(key) else { continue };
            let known = |k: &&&str| key.is(k);
            let skip = ["choices", "usage", "id", "model", "created", "object", "obfuscation", "p"];
            if skip.iter().any(|k| known(&k)) || doc.kind(value) == Kind::Null {
                continue;
            }
            sink.extra(None, &key.decode(), doc.raw(value));
        }
    }

    fn done(&mut self, sink: &mut Sink) {
        for state in &mut self.choices {
            let stop = match state.stop.take() {
                Some(stop) => stop,
                None => {
                    sink.note(
                        "finish_reason_missing",
                        "/choices",
                        "taken for a plain stop: the stream said it is done",
                    );
                    let reason =
                        if state.calls.is_empty() { StopReason::Stop } else { StopReason::ToolCalls };
                    Stop::new(reason)
                }
            };
            state.end(stop, sink);
        }
        sink.finish();
    }

    fn end(&mut self, sink: &mut Sink) {
        if self.choices.is_empty() || self.choices.iter().any(|s| s.stop.is_none()) {
            return sink.truncated();
        }
        self.done(sink);
    }

    fn whole<'d>(&self, doc: &'d Doc) -> Result<Reply<'d>, WireError> {
        read(doc).map(|read| read.value)
    }
}

fn is_error(doc: &Doc, object: Option<NodeId>) -> bool {
    object.and_then(|n| doc.json_str(n)).is_some_and(|s| s.is("error"))
}

impl ChatDecoder {
    fn choice(&mut self, doc: &Doc, node: NodeId, sink: &mut Sink) {
        let [index, delta, finish, logprobs, message] =
            pick(doc, node, ["index", "delta", "finish_reason", "logprobs", "message"]);
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
        if let Some(delta) = delta.filter(|n| doc.kind(*n) == Kind::Object) {
            state.delta(doc, delta, sink);
        }
        if let Some(list) =
            logprobs.and_then(|l| doc.get(l, "content")).filter(|n| doc.kind(*n) == Kind::Array)
            && let (Some(part), Some(_)) = (state.text, doc.elements(list).next())
        {
            sink.delta(index, part, Delta::Logprobs(Json::at(doc, list).into_owned()));
        }
        if let (Some(word), None) = (string(doc, finish), &state.stop) {
            let mut stop = stop_of(&word);
            if stop.reason == StopReason::Stop && !state.calls.is_empty() {
                stop.reason = StopReason::ToolCalls;
            } else if stop.reason == StopReason::Stop && state.refusal.is_some() {
                stop.reason = StopReason::Refusal;
            }
            state.stop = Some(stop);
        }
        let known = ["index", "delta", "finish_reason", "logprobs"];
        for (key, value) in doc.members(node) {
            let Some(key) = doc.json_str(key) else { continue };
            if known.iter().any(|k| key.is(k)) || doc.kind(value) == Kind::Null || Some(value) == message {
                continue;
            }
            sink.extra(Some(index), &key.decode(), doc.raw(value));
        }
    }
}

impl State {
    fn delta(&mut self, doc: &Doc, delta: NodeId, sink: &mut Sink) {
        let names = [
            "content",
            "reasoning_content",
            "reasoning",
            "reasoning_details",
            "refusal",
            "tool_calls",
            "function_call",
            "annotations",
        ];
        let [content, thought, reasoning, details, refusal, calls, legacy, annotations] =
            pick(doc, delta, names);
        let spelled = [(thought, Spelling::Content), (reasoning, Spelling::Reasoning)];
        let told = spelled.into_iter().find_map(|(n, s)| Some((chars(doc, n).filter(|t| !t.is_empty())?, s)));
        if let Some((text, spelling)) = &told {
            let part = self.thought(*spelling, sink);
            sink.text(self.index, part, text.clone());
        }
        for node in details.into_iter().flat_map(|d| doc.elements(d)) {
            self.detail(doc, node, told.is_some(), sink);
        }
        if let Some(text) = text_of(doc, content).filter(|t| !t.is_empty()) {
            self.close_thought(sink);
            let index = self.index;
            let part = *self.text.get_or_insert_with(|| sink.open(index, PartKind::Text));
            sink.text(index, part, text);
        }
        if let (Some(part), Some(list)) = (self.text, annotations) {
            for node in doc.elements(list) {
                sink.delta(self.index, part, Delta::Citation(Box::new(citation(doc, node).into_owned())));
            }
        }
        if let Some(text) = chars(doc, refusal).filter(|t| !t.is_empty()) {
            let index = self.index;
            let part = *self.refusal.get_or_insert_with(|| sink.open(index, PartKind::Refusal));
            sink.text(index, part, text);
        }
        for node in calls.into_iter().flat_map(|c| doc.elements(c)) {
            self.call(doc, node, sink);
        }
        if let Some(node) = legacy.filter(|n| doc.kind(*n) == Kind::Object) {
            self.function(doc, node, None, None, CallKind::Legacy, sink);
        }
    }

    fn thought(&mut self, spelling: Spelling, sink: &mut Sink) -> u32 {
        if let Some(part) = self.thought {
            return part;
        }
        let part = sink.open(self.index, PartKind::Thought { summary: false, spelling, item: None });
        *self.thought.insert(part)
    }

    /// Text ends a thought; a later thought is another one.
    fn close_thought(&mut self, sink: &mut Sink) {
        if let Some(part) = self.thought.take() {
            sink.close(self.index, part);
        }
    }

    /// Entries repeat the plain text where that is sent, and may carry a seal.
    fn detail(&mut self, doc: &Doc, node: NodeId, told: bool, sink: &mut Sink) {
        let entry = detail(doc, node).into_owned();
        let text: String = entry.text.iter().map(|t| t.decode().into_owned()).collect();
        if entry.seal.is_some() && text.is_empty() && self.thought.is_none() {
            let kind = PartKind::Thought {
                summary: false,
                spelling: Spelling::Details,
                item: entry.item.map(|s| s.into_chars().into_owned()),
            };
            let part = sink.open(self.index, kind);
            entry.seal.into_iter().for_each(|seal| sink.delta(self.index, part, Delta::Seal(seal)));
            return sink.close(self.index, part);
        }
        if !told && !text.is_empty() {
            let part = self.thought(Spelling::Details, sink);
            sink.text(self.index, part, text);
        }
        if let Some(seal) = entry.seal {
            let part = self.thought(Spelling::Details, sink);
            sink.delta(self.index, part, Delta::Seal(seal));
        }
    }

    fn call(&mut self, doc: &Doc, node: NodeId, sink: &mut Sink) {
        let [index, id, function, custom, content] =
            pick(doc, node, ["index", "id", "function", "custom", "extra_content"]);
        let id = chars(doc, id).filter(|id| !id.is_empty());
        let kind = if custom.is_some() { CallKind::Custom } else { CallKind::Function };
        let Some(inner) = function.or(custom).filter(|n| doc.kind(*n) == Kind::Object) else { return };
        let at = self.function(doc, inner, count(doc, index), id, kind, sink);
        let seal = content.and_then(|c| doc.get(doc.get(c, "google")?, "thought_signature"));
        if let (Some(data), Some(part)) = (chars(doc, seal), at) {
            let seal = Seal { issuer: crate::hub::Issuer::Gemini, data: data.into() };
            sink.delta(self.index, part, Delta::Seal(seal));
        }
    }

    /// Finds or opens the call that a piece belongs to, and adds the piece.
    fn function(
        &mut self,
        doc: &Doc,
        inner: NodeId,
        key: Option<u64>,
        id: Option<String>,
        kind: CallKind,
        sink: &mut Sink,
    ) -> Option<u32> {
        let [name, arguments, input] = pick(doc, inner, ["name", "arguments", "input"]);
        let name = chars(doc, name).filter(|n| !n.is_empty());
        let at = match self.known(key, id.as_deref(), name.as_deref()) {
            Some(at) => at,
            None if self.calls.len() >= MOST_CALLS => return None,
            None => {
                self.close_thought(sink);
                let id = id.clone().unwrap_or_default();
                self.calls.push(Open { key, id, part: None, waiting: String::new() });
                self.calls.len() - 1
            }
        };
        let arguments = arguments.or(input);
        let text = text_or_json(doc, arguments);
        let open = self.calls.get_mut(at)?;
        if open.id.is_empty() {
            open.id = id.unwrap_or_default();
        }
        if open.part.is_none() {
            match name {
                Some(name) => {
                    let kind = PartKind::Call { id: open.id.clone(), name, kind, item: None, seal: None };
                    let part = *open.part.insert(sink.open(self.index, kind));
                    sink.text(self.index, part, std::mem::take(&mut open.waiting));
                }
                None => open.waiting.push_str(&text),
            }
        }
        let part = open.part?;
        sink.text(self.index, part, text);
        Some(part)
    }

    /// By number; without one by id; a new id under an old number is another call.
    fn known(&self, key: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let same_id = |open: &Open| id.is_none_or(|id| open.id.is_empty() || open.id == id);
        match key {
            Some(_) => {
                let at = self.calls.iter().rposition(|open| open.key == key)?;
                self.calls.get(at).filter(|open| same_id(open)).map(|_| at)
            }
            None => match (id, name) {
                (Some(id), _) => self.calls.iter().position(|open| open.id == id),
                (None, Some(_)) => None,
                (None, None) => self.calls.len().checked_sub(1),
            },
        }
    }

    fn end(&mut self, stop: Stop<'static>, sink: &mut Sink) {
        if self.calls.iter().any(|c| c.part.is_none()) {
            sink.nameless();
        }
        sink.stop(self.index, stop);
    }
}

/// Text, or the texts of a list of parts.
fn text_of(doc: &Doc, content: Option<NodeId>) -> Option<String> {
    let node = content?;
    if doc.kind(node) != Kind::Array {
        return chars(doc, Some(node));
    }
    let texts = doc.elements(node).filter_map(|n| chars(doc, doc.get(n, "text")));
    Some(texts.collect())
}

fn text_or_json(doc: &Doc, node: Option<NodeId>) -> String {
    match node {
        None => String::new(),
        Some(node) => chars(doc, Some(node)).unwrap_or_else(|| doc.raw(node).to_owned()),
    }
}
