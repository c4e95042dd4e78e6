//! What both engines that refer back keep of the calls so far: how sources are called in markers, how far
//! back they are, and when the model asks again because it needs the exact text.

use std::collections::HashMap;

use omniroute_core::{Call, Segment, SegmentKind, SegmentView};

use crate::shell::class::{ResultClass, classify};
use crate::shell::exit::error_line;
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
    /// Results by label, oldest first, as indices into `labels`.
    by_name: HashMap<String, Vec<u32>>,
    paths: HashMap<String, Touch>,
    bytes: usize,
}

/// How a source is called.
#[derive(Debug)]
struct Label {
    name: String,
    /// Position among the results of this name, from 0.
    rank: u32,
    /// Characters of original text up to its end.
    end: u64,
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

    /// Takes notice of a settled call or result. Results get a number. `by_reference` says whether the answer
    /// mostly refers back.
    pub(super) fn settle(&mut self, view: &SegmentView<'_, '_>, by_reference: bool) -> Option<SourceId> {
        let segment = view.this();
        self.chars += segment.raw().len() as u64;
        if segment.kind == SegmentKind::ToolCall {
            self.calls += 1;
            let name = segment.as_call().map(|c| self.call_name(c));
            return Some(self.label(name.unwrap_or_default()));
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
        let name = match call {
            Some(call) if call.subject().is_some() => self.call_name(call),
            _ => self.nameless(segment),
        };
        Some(self.label(name))
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

    /// How a source is called in a marker, so that it cannot be taken for another: if later results have the
    /// same name, its number among them is added.
    pub(super) fn name(&self, source: SourceId) -> String {
        let Some(label) = self.labels.get(source as usize) else { return String::new() };
        let namesakes = self.by_name.get(&label.name).map_or(1, Vec::len);
        if label.rank as usize + 1 == namesakes {
            return label.name.clone();
        }
        format!("{} (result {} of {namesakes})", label.name, label.rank + 1)
    }

    fn call_name(&self, call: &Call) -> String {
        let tool: String = call.tool.chars().filter(|c| !c.is_control() && *c != ']').take(40).collect();
        match call.subject() {
            Some(subject) => format!("{tool} {subject}").trim_start().to_owned(),
            None => format!("call {} of {tool}", self.calls),
        }
    }

    fn nameless(&self, segment: &Segment<'_>) -> String {
        let flat = segment.original().trim_start().chars().map(|c| if c.is_control() || c == ']' { ' ' } else { c });
        let start: String = flat.take(24).collect();
        format!("result of call {}, starting \"{}\"", self.calls, start.trim_end())
    }

    fn label(&mut self, name: String) -> SourceId {
        let id = self.labels.len() as u32;
        self.bytes += 2 * name.len() + 160;
        let same = self.by_name.entry(name.clone()).or_default();
        same.push(id);
        self.labels.push(Label { name, rank: same.len() as u32 - 1, end: self.chars });
        id
    }
}

/// The file a call is about: its path, or the command of a shell that shows files.
fn file_of(call: &Call) -> Option<&str> {
    if let Some(path) = call.path.as_deref() {
        return Some(path);
    }
    let command = call.command.as_deref()?;
    let class = classify(Some(&call.tool), Some(command), call.argv.as_deref(), "");
    (class == ResultClass::View).then_some(command)
}

/// Whether the call changes a file.
pub(super) fn is_write(call: &Call) -> bool {
    tool_kind(&call.tool) == ToolKind::Write && call.command.as_deref() != Some("view")
}
