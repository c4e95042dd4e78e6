//! What both engines that refer back keep of the calls so far: how sources are called in markers, how far
//! back they are, and when the model asks again because it needs the exact text.

use std::collections::HashMap;

use omniroute_core::{Call, Segment, SegmentKind, SegmentView};

use crate::shell::class::{ResultClass, classify};
use crate::shell::failed::error_line;
use crate::shell::tools::{ToolKind, tool_kind};

/// Within this many calls after an answer by reference, the same file is shown in full when asked for again.
const ASKED_AGAIN_WITHIN: u32 = 3;

/// A running account of tool calls and results.
#[derive(Debug, Default)]
pub(super) struct Trail {
    calls: u32,
    /// Characters of original text so far.
    chars: u64,
    labels: Vec<Label>,
    by_name: HashMap<String, Namesakes>,
    /// Number of each call, from 1, by the position of its segment.
    ordinals: HashMap<usize, u32>,
    paths: HashMap<String, Touch>,
    bytes: usize,
}

/// How a source is called.
#[derive(Debug)]
struct Label {
    name: String,
    /// Position among the calls or results of this name, from 1.
    rank: u32,
    /// Which text of its result it is, from 1.
    text: u32,
    is_input: bool,
    /// Characters of original text up to its end.
    end: u64,
}

/// The calls or results of one name.
#[derive(Debug, Default)]
struct Namesakes {
    count: u32,
    /// The latest: message and block it stands in, number of its texts.
    last: (u32, u32),
    texts: u32,
    /// Whether any of them has several texts.
    several_texts: bool,
}

#[derive(Debug, Default)]
struct Touch {
    failed_edit: bool,
    referred: Option<u32>,
}

/// Number of a source in the trail.
pub(super) type SourceId = u32;

impl Trail {
    /// Room it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + size_of::<Self>()
    }

    /// Takes notice of a settled call or result and numbers it. `by_reference` says whether the answer mostly
    /// refers back.
    pub(super) fn settle(&mut self, view: &SegmentView<'_, '_>, by_reference: bool) -> SourceId {
        let segment = view.this();
        self.chars += segment.raw().len() as u64;
        if segment.kind == SegmentKind::ToolCall {
            self.calls += 1;
            self.ordinals.insert(view.index(), self.calls);
            let name = match segment.as_call().and_then(named) {
                Some(name) => format!("input of {name}"),
                None => format!("input of call {}", self.calls),
            };
            return self.label(name, segment);
        }
        let call = view.call();
        if let Some(call) = call
            && let Some(path) = file_of(call)
        {
            let touch = self.paths.entry(path.to_owned()).or_default();
            if is_write(call) {
                touch.failed_edit = segment.is_error || error_line(segment.original());
            } else {
                touch.failed_edit = false;
                touch.referred = if by_reference { Some(self.calls) } else { touch.referred };
            }
        }
        let name = call.and_then(named).unwrap_or_else(|| self.nameless(view));
        self.label(name, segment)
    }

    /// Whether the model needs the exact text: its last edit of this file failed, or it was given a reference a
    /// moment ago and asks again.
    pub(super) fn needs_full_text(&self, call: Option<&Call>) -> bool {
        let Some(call) = call.filter(|c| !is_write(c)) else { return false };
        let Some(touch) = file_of(call).and_then(|path| self.paths.get(path)) else { return false };
        touch.failed_edit || touch.referred.is_some_and(|at| self.calls.saturating_sub(at) <= ASKED_AGAIN_WITHIN)
    }

    /// Characters of original text since the end of a source.
    pub(super) fn distance(&self, source: SourceId) -> u64 {
        self.labels.get(source as usize).map_or(u64::MAX, |l| self.chars - l.end)
    }

    /// How a source is called in a marker, so that it cannot be taken for another: if there are several calls
    /// or results of this name, or several texts in it, their numbers are added. `text` numbers the texts of a
    /// call's input.
    pub(super) fn name(&self, source: SourceId, text: Option<u32>) -> String {
        let Some(label) = self.labels.get(source as usize) else { return String::new() };
        let Some(all) = self.by_name.get(&label.name) else { return label.name.clone() };
        let kind = if label.is_input { "call" } else { "result" };
        let rank = (all.count > 1).then(|| format!("{kind} {} of {}", label.rank, all.count));
        let text = text.or(all.several_texts.then_some(label.text)).map(|n| format!("text {n}"));
        match (rank, text) {
            (None, None) => label.name.clone(),
            (Some(one), None) | (None, Some(one)) => format!("{} ({one})", label.name),
            (Some(rank), Some(text)) => format!("{} ({rank}, {text})", label.name),
        }
    }

    /// A result that no path or command names: by its call and its first words.
    fn nameless(&self, view: &SegmentView<'_, '_>) -> String {
        let flat = view.text().trim_start().chars().map(|c| if c.is_control() || c == ']' { ' ' } else { c });
        let start: String = flat.take(24).collect();
        match view.this().call.and_then(|index| self.ordinals.get(&index)) {
            Some(call) => format!("result of call {call}, starting \"{}\"", start.trim_end()),
            None => format!("a result, starting \"{}\"", start.trim_end()),
        }
    }

    fn label(&mut self, name: String, segment: &Segment<'_>) -> SourceId {
        let id = self.labels.len() as u32;
        self.bytes += 2 * name.len() + 192;
        let place = (segment.id.message, segment.id.block);
        let all = self.by_name.entry(name.clone()).or_default();
        if all.count == 0 || all.last != place {
            (all.count, all.last, all.texts) = (all.count + 1, place, 0);
        }
        all.texts += 1;
        all.several_texts |= all.texts > 1;
        let is_input = segment.kind == SegmentKind::ToolCall;
        self.labels.push(Label { name, rank: all.count, text: all.texts, is_input, end: self.chars });
        id
    }
}

/// Tool and subject of a call that has a subject.
fn named(call: &Call) -> Option<String> {
    let subject = call.subject()?;
    let tool: String = call.tool.chars().filter(|c| !c.is_control() && *c != ']').take(40).collect();
    Some(format!("{tool} {subject}").trim_start().to_owned())
}

/// A command that shows a file has one of these in it.
const VIEWERS: [&str; 10] = ["cat", "sed", "head", "tail", "less", "more", "nl", "awk", "type", "show"];

/// The file a call is about: its path, or the command of a shell that shows files.
fn file_of(call: &Call) -> Option<&str> {
    if let Some(path) = call.path.as_deref() {
        return Some(path);
    }
    let command = call.command.as_deref()?;
    if !VIEWERS.iter().any(|v| command.contains(v)) {
        return None; // most commands: spare the lexer
    }
    let class = classify(Some(&call.tool), Some(command), call.argv.as_deref(), "");
    (class == ResultClass::View).then_some(command)
}

/// Whether the call changes a file.
pub(super) fn is_write(call: &Call) -> bool {
    tool_kind(&call.tool) == ToolKind::Write && call.command.as_deref() != Some("view")
}
