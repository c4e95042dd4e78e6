//! What both engines that refer back keep of the calls so far: how sources are called in markers, how far
//! back they are, and when the model asks again because it needs the exact text.

use std::collections::HashMap;

use omniroute_core::{Call, Segment, SegmentId, SegmentKind, SegmentView};

use crate::hash::{ByHash, hash};
use crate::shell::class::{self, ResultClass};
use crate::shell::failed::error_line;
use crate::shell::tools::{ToolKind, tool_kind};

/// Within this many calls after an answer by reference, the same file is shown in full when asked for again.
const ASKED_AGAIN_WITHIN: u32 = 3;

/// Failed edits that are remembered.
const MAX_FAILED: usize = 16;

/// Tells names of inputs from names of results.
const INPUT: u64 = 0x8000_0000_0000_0001;

/// A running account of tool calls and results.
#[derive(Debug, Default)]
pub(super) struct Trail {
    calls: u32,
    /// Characters of original text so far.
    chars: u64,
    labels: Vec<Label>,
    by_name: HashMap<u64, Namesakes, ByHash>,
    /// Positions of the calls' segments, in order.
    calls_at: Vec<usize>,
    /// Files that were answered by reference, and after how many calls the last time.
    referred: HashMap<String, u32>,
    /// Files whose last edit failed, the latest last; not more than [`MAX_FAILED`].
    failed: Vec<String>,
    bytes: usize,
}

/// How a source is called.
#[derive(Debug)]
struct Label {
    /// Position of its segment.
    index: usize,
    /// Hash of its name.
    key: u64,
    /// Its name, where its call does not give one.
    own: Option<Box<str>>,
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
            self.calls_at.push(view.index());
            return match segment.as_call().and_then(|c| c.label()) {
                Some(name) => self.label(view, hash(name.as_bytes()) ^ INPUT, None),
                None => self.label_own(view, format!("input of call {}", self.calls)),
            };
        }
        let call = view.call();
        if let Some(file) = file_of(view) {
            self.touch(file, answers_write(view), segment, by_reference);
        }
        match call.and_then(|c| c.label()) {
            Some(name) => self.label(view, hash(name.as_bytes()), None),
            None => self.label_own(view, self.nameless(view)),
        }
    }

    /// Keeps account of what happened to a file.
    fn touch(&mut self, file: &str, write: bool, segment: &Segment<'_>, by_reference: bool) {
        let failed = write && (segment.is_error || error_line(segment.original()));
        self.failed.retain(|path| path != file && (write || !names(file, path)));
        if failed {
            self.failed.push(file.to_owned());
            let extra = self.failed.len().saturating_sub(MAX_FAILED);
            self.failed.drain(..extra);
        }
        if by_reference && !write {
            self.referred.insert(file.to_owned(), self.calls);
        }
    }

    /// Whether the model needs the exact text: its last edit of this file failed, or it was given a reference a
    /// moment ago and asks again.
    pub(super) fn needs_full_text(&self, view: &SegmentView<'_, '_>) -> bool {
        let Some(file) = file_of(view).filter(|_| !answers_write(view)) else { return false };
        if self.failed.iter().any(|path| names(file, path)) {
            return true;
        }
        self.referred.get(file).is_some_and(|at| self.calls.saturating_sub(*at) <= ASKED_AGAIN_WITHIN)
    }

    /// Characters of original text since the end of a source.
    pub(super) fn distance(&self, source: SourceId) -> u64 {
        self.labels.get(source as usize).map_or(u64::MAX, |l| self.chars - l.end)
    }

    /// How a source is called in a marker, so that it cannot be taken for another: if there are several calls
    /// or results of this name, or several texts in it, their numbers are added. `text` numbers the texts of a
    /// call's input.
    pub(super) fn name(&self, view: &SegmentView<'_, '_>, source: SourceId, text: Option<u32>) -> String {
        let Some(label) = self.labels.get(source as usize) else { return String::new() };
        let segment = view.earlier().get(label.index);
        let name = match (&label.own, segment) {
            (Some(own), _) => own.to_string(),
            (None, Some(call)) if label.is_input => {
                format!("input of {}", call.as_call().and_then(|c| c.label()).unwrap_or_default())
            }
            (None, result) => {
                result.and_then(|r| view.call_of(r)).and_then(|c| c.label()).unwrap_or_default().to_owned()
            }
        };
        let Some(all) = self.by_name.get(&label.key) else { return name };
        let kind = if label.is_input { "call" } else { "result" };
        let rank = (all.count > 1).then(|| format!("{kind} {} of {}", label.rank, all.count));
        let text = text.or(all.several_texts.then_some(label.text)).map(|n| format!("text {n}"));
        match (rank, text) {
            (None, None) => name,
            (Some(one), None) | (None, Some(one)) => format!("{name} ({one})"),
            (Some(rank), Some(text)) => format!("{name} ({rank}, {text})"),
        }
    }

    /// A result that no path or command names: by its call and its first words.
    fn nameless(&self, view: &SegmentView<'_, '_>) -> String {
        let flat = view.text().trim_start().chars().map(|c| if c.is_control() || c == ']' { ' ' } else { c });
        let start: String = flat.take(24).collect();
        match view.this().call.and_then(|index| self.calls_at.binary_search(&index).ok()).map(|n| n + 1) {
            Some(call) => format!("result of call {call}, starting \"{}\"", start.trim_end()),
            None => format!("a result, starting \"{}\"", start.trim_end()),
        }
    }

    fn label_own(&mut self, view: &SegmentView<'_, '_>, name: String) -> SourceId {
        self.bytes += name.len();
        self.label(view, hash(name.as_bytes()), Some(name.into()))
    }

    fn label(&mut self, view: &SegmentView<'_, '_>, key: u64, own: Option<Box<str>>) -> SourceId {
        let segment = view.this();
        let id = self.labels.len() as u32;
        self.bytes += size_of::<Label>() + 96;
        let place = (segment.id.message, segment.id.block);
        let all = self.by_name.entry(key).or_default();
        if all.count == 0 || all.last != place {
            (all.count, all.last, all.texts) = (all.count + 1, place, 0);
        }
        all.texts += 1;
        all.several_texts |= all.texts > 1;
        let is_input = segment.kind == SegmentKind::ToolCall;
        let (rank, text) = (all.count, all.texts);
        self.labels.push(Label { index: view.index(), key, own, rank, text, is_input, end: self.chars });
        id
    }
}

/// Whether a path or command is about the file `path`: it is that path, or a command with the file's name in it.
fn names(file: &str, path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file == path || (file.contains(' ') && !name.is_empty() && file.contains(name))
}

/// The file a result is about: its call's path, or the command of a shell that shows files.
fn file_of<'a>(view: &SegmentView<'a, '_>) -> Option<&'a str> {
    let call = view.call()?;
    if let Some(path) = call.path.as_deref() {
        return Some(path);
    }
    let command = call.command.as_deref()?;
    (class::of(view) == ResultClass::View).then_some(command)
}

/// Whether a settled answer shows less than half of its text and refers back for the rest.
pub(super) fn mostly_reference(view: &SegmentView<'_, '_>) -> bool {
    refers_back(view.this().edited_by()) && view.text().len() * 2 < view.this().original().len()
}

/// Whether one of our references stands in a text that these engines made.
pub(super) fn refers_back(edited_by: &[&str]) -> bool {
    edited_by.iter().any(|id| matches!(*id, "repeat" | "session-dedup"))
}

/// Whether a text was replaced by a line that stands for it, or lost parts at a rewrite point: nobody may be sent there
/// for its content.
pub(super) fn is_stub(edited_by: &[&str]) -> bool {
    let cut = |id: &&str| matches!(*id, "aggressive" | "relevance" | "ultra");
    edited_by.iter().any(|id| is_line(id) || cut(id))
}

/// Engines that leave one line of a text.
fn is_line(id: &str) -> bool {
    matches!(id, "ccr" | "read-lifecycle" | "budget")
}

/// Whether a text stands there itself: no line in its place, no reference to another text, no table, no sample.
pub(crate) fn is_whole(edited_by: &[&str]) -> bool {
    let other = |id: &&str| is_line(id) || matches!(*id, "rows" | "ionizer");
    !refers_back(edited_by) && !edited_by.iter().any(other)
}

/// Where a text stands, in the words of an undo instruction.
pub(super) fn spelled(id: SegmentId) -> String {
    format!("{} {} {}", id.message, id.block, id.part)
}

/// Reads [`spelled`] back from the words of an instruction.
pub(super) fn read_id<'t>(words: &mut impl Iterator<Item = &'t str>) -> Option<SegmentId> {
    let mut number = || words.next()?.parse().ok();
    Some(SegmentId { message: number()?, block: number()?, part: number()? })
}

/// Whether the segment is a call that changes a file. Worked out once a call.
pub(super) fn is_write(call: &Segment<'_>) -> bool {
    let write = |c: &Call| tool_kind(&c.tool) == ToolKind::Write && c.command.as_deref() != Some("view");
    call.as_call().is_some_and(|c| call.class(|| u8::from(write(c))) == 1)
}

/// Whether the result answers a call that changes a file.
fn answers_write(view: &SegmentView<'_, '_>) -> bool {
    view.this().call.and_then(|index| view.earlier().get(index)).is_some_and(is_write)
}
