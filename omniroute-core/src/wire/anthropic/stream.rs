//! Reads streams.

use super::blocks::{block, citation};
use super::reply::{Counts, read, reason_of};
use crate::doc::{Doc, NodeId, Patch};
use crate::hub::{Arguments, Delta, Issuer, Json, Opaque, Part, PartKind, Reply, Seal, Start, Stop, Weight};
use crate::wire::read::{chars, count, json, pick, string, structured};
use crate::wire::seal::open;
use crate::wire::{Decoder, Sink, WireError};

/// Most blocks that may be open.
const MOST_BLOCKS: usize = 1_024;
/// Longest input of a block that is kept until it is whole.
const MOST_KEPT: usize = 16 << 20;

/// The state of a stream of events.
#[derive(Debug, Default)]
pub(super) struct MessageDecoder {
    blocks: Vec<Block>,
    counts: Counts,
    stop: Option<Stop<'static>>,
}

#[derive(Debug)]
struct Block {
    index: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Deltas go to this part; a call tells whether it has any input yet.
    Open { part: u32, call: bool, input: bool },
    /// A text or thought that has said nothing yet opens when it does.
    Waiting(PartKind),
    /// A block of the vendor's own, kept until it is whole.
    Kept { raw: Json<'static>, input: String },
}

impl Decoder for MessageDecoder {
    fn event(&mut self, name: Option<&str>, doc: &Doc, sink: &mut Sink) {
        let root = doc.root();
        let names = ["type", "index", "message", "content_block", "delta", "usage", "error"];
        let [kind, index, message, head, delta, usage, error] = pick(doc, root, names);
        let kind = chars(doc, kind).or_else(|| name.map(str::to_owned)).unwrap_or_default();
        let index = count(doc, index).unwrap_or(0);
        match kind.as_str() {
            "message_start" => self.start(doc, message.unwrap_or(root), sink),
            "content_block_start" => {
                if let Some(head) = head {
                    self.open(doc, index, head, sink);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = delta {
                    self.delta(doc, index, delta, sink);
                }
            }
            "content_block_stop" => self.close(index, sink),
            "message_delta" => self.end_of_message(doc, delta, usage, sink),
            "message_stop" => self.finish(sink),
            "ping" => sink.ping(),
            "error" => sink.error(structured(doc, root)),
            _ if error.is_some() => sink.error(structured(doc, root)),
            _ => sink.note("stream_event_unknown", "", "an event of a new sort is not told"),
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        if self.stop.is_some() { self.finish(sink) } else { sink.truncated() }
    }

    fn whole<'d>(&self, doc: &'d Doc) -> Result<Reply<'d>, WireError> {
        read(doc).map(|read| read.value)
    }
}

impl MessageDecoder {
    fn start(&mut self, doc: &Doc, message: NodeId, sink: &mut Sink) {
        let [id, model, usage] = pick(doc, message, ["id", "model", "usage"]);
        sink.start(Start { id: chars(doc, id), model: chars(doc, model), ..Start::default() });
        if let Some(usage) = usage {
            self.counts = self.counts.clone().with(doc, usage);
            sink.usage(self.counts.usage(None));
        }
    }

    fn open(&mut self, doc: &Doc, index: u64, head: NodeId, sink: &mut Sink) {
        if self.blocks.len() >= MOST_BLOCKS {
            return;
        }
        let state = match block(doc, head) {
            Ok(Part::Text(text)) => {
                let mut state = State::Waiting(PartKind::Text);
                state.text(text.text.decode().into_owned(), sink);
                state
            }
            Ok(Part::Thought(thought)) => {
                let spelling = thought.spelling;
                let mut state = State::Waiting(PartKind::Thought { summary: false, spelling, item: None });
                thought.text.iter().for_each(|t| state.text(t.decode().into_owned(), sink));
                if let (Some(seal), Some(part)) = (thought.seal, state.part(sink)) {
                    sink.delta(0, part, Delta::Seal(seal.into_owned()));
                }
                state
            }
            Ok(Part::Call(call)) => {
                let chars = |s: crate::hub::Str<'_>| s.into_chars().into_owned();
                let given = match &call.arguments {
                    Arguments::Json(json) if json.raw() != "{}" => json.raw().to_owned(),
                    _ => String::new(),
                };
                let (id, name) = (chars(call.id), chars(call.name));
                let part = sink.open(0, PartKind::Call { id, name, kind: call.kind, item: None, seal: None });
                let input = !given.is_empty();
                sink.text(0, part, given);
                State::Open { part, call: true, input }
            }
            _ => State::Kept { raw: Json::at(doc, head).into_owned(), input: String::new() },
        };
        self.blocks.push(Block { index, state });
    }

    fn delta(&mut self, doc: &Doc, index: u64, delta: NodeId, sink: &mut Sink) {
        let Some(block) = self.blocks.iter_mut().find(|b| b.index == index) else { return };
        let names = ["text", "partial_json", "thinking", "signature", "citation"];
        let [text, input, thinking, signature, source] = pick(doc, delta, names);
        for text in [text, thinking].into_iter().filter_map(|n| chars(doc, n)) {
            block.state.text(text, sink);
        }
        if let Some(more) = chars(doc, input) {
            block.state.input(more, sink);
        }
        if let Some(data) = chars(doc, signature).filter(|s| !s.is_empty())
            && let Some(part) = block.state.part(sink)
        {
            let own = Seal { issuer: Issuer::Anthropic, data: data.clone().into() };
            let seal = open(&data).map_or(own, |(seal, _)| seal);
            sink.delta(0, part, Delta::Seal(seal));
        }
        if let (Some(source), Some(part)) = (source, block.state.part(sink)) {
            sink.delta(0, part, Delta::Citation(Box::new(citation(doc, source).into_owned())));
        }
    }

    fn close(&mut self, index: u64, sink: &mut Sink) {
        let Some(at) = self.blocks.iter().position(|b| b.index == index) else { return };
        match self.blocks.remove(at).state {
            State::Open { part, call, input } => {
                if call && !input {
                    sink.text(0, part, "{}".into());
                }
                sink.close(0, part);
            }
            State::Waiting(_) => {}
            State::Kept { raw, input } => {
                let raw = with_input(raw, &input);
                let part = Part::Opaque(Opaque { wire: super::blocks::NAME, raw, weight: Weight::Meaning });
                sink.whole(0, PartKind::Whole(Box::new(part)));
            }
        }
    }

    fn end_of_message(&mut self, doc: &Doc, delta: Option<NodeId>, usage: Option<NodeId>, sink: &mut Sink) {
        if let Some(usage) = usage {
            self.counts = self.counts.clone().with(doc, usage);
            sink.usage(self.counts.usage(None));
        }
        let Some(delta) = delta else { return };
        let [reason, sequence, details] = pick(doc, delta, ["stop_reason", "stop_sequence", "stop_details"]);
        if let Some(word) = string(doc, reason) {
            let reason = reason_of(&word);
            self.stop = Some(Stop {
                raw: Some(word.into_owned()),
                sequence: string(doc, sequence).map(|s| s.into_owned()),
                extra: json(doc, details)
                    .map(|d| ("stop_details".into(), d.into_owned()))
                    .into_iter()
                    .collect(),
                ..Stop::new(reason)
            });
        }
    }

    fn finish(&mut self, sink: &mut Sink) {
        while let Some(index) = self.blocks.first().map(|b| b.index) {
            self.close(index, sink);
        }
        match self.stop.take() {
            Some(stop) => sink.stop(0, stop),
            None => return sink.truncated(),
        }
        sink.finish();
    }
}

impl State {
    /// The part, opened if it was not; nothing for kept blocks.
    fn part(&mut self, sink: &mut Sink) -> Option<u32> {
        match self {
            State::Open { part, .. } => Some(*part),
            State::Kept { .. } => None,
            State::Waiting(kind) => {
                let part = sink.open(0, kind.clone());
                *self = State::Open { part, call: false, input: false };
                Some(part)
            }
        }
    }

    fn text(&mut self, text: String, sink: &mut Sink) {
        if !text.is_empty()
            && let Some(part) = self.part(sink)
        {
            sink.text(0, part, text);
        }
    }

    fn input(&mut self, more: String, sink: &mut Sink) {
        match self {
            State::Open { part, input, .. } => {
                *input |= !more.is_empty();
                sink.text(0, *part, more);
            }
            State::Kept { input, .. } if input.len() + more.len() <= MOST_KEPT => input.push_str(&more),
            _ => {}
        }
    }
}

/// A kept block with the input that came after its head.
fn with_input(raw: Json<'static>, input: &str) -> Json<'static> {
    if input.is_empty() {
        return raw;
    }
    let Ok(doc) = Doc::parse_with_limit(raw.raw().to_owned(), usize::MAX) else { return raw };
    let mut patch = Patch::new();
    let set = match doc.get(doc.root(), "input") {
        Some(node) => patch.set_json(node, input),
        None => patch.push_member(doc.root(), "input", input),
    };
    let spliced = set.ok().and_then(|()| doc.splice(&patch).ok());
    spliced.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()).map_or(raw, Json::of)
}
