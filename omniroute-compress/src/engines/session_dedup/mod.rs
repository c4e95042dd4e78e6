//! `session-dedup`: runs of lines that already stand in an earlier result or in a written file become one line
//! that says where to look. The first and the last lines of a run stay as anchors.

mod index;
mod lines;
mod runs;
mod undo;

use std::sync::{Arc, PoisonError};

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, EngineMemory, Loss, Replacement,
    SegmentKind, SegmentView, Sources,
};

use self::index::{Index, Source};
use self::lines::Lines;
use self::runs::{Limits, Run};
use self::undo::Reference;
use super::trail::{is_write, mostly_reference};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::marker;
use crate::shell::class::{self, ResultClass};

const INFO: EngineInfo = EngineInfo::new("session-dedup", Loss::Lossless)
    .summary("lines that stand in an earlier result or written file become a reference to it")
    .priority(16)
    .min_bytes(240);

const FIELDS: &[ConfigField] = &[
    ConfigField::int("min_lines", 6, (3, 100_000), "lines a run must have"),
    ConfigField::int("min_net_chars", 240, (1, 1_000_000), "characters a run must save, its marker paid for"),
    ConfigField::int(
        "max_back_chars",
        200_000,
        (20_000, i64::MAX),
        "how far back a reference may reach, in characters",
    ),
    ConfigField::switch("arguments", true, "also refer to texts that the model wrote with an editing tool"),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS).aliases(&["dedup"]);

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    let limits = Limits {
        min_lines: settings.size("min_lines"),
        max_back_chars: settings.size("max_back_chars") as u64,
    };
    let arguments = settings.bool("arguments");
    Arc::new(SessionDedup { limits, min_net_chars: settings.size("min_net_chars"), arguments })
}

#[derive(Debug)]
struct SessionDedup {
    limits: Limits,
    min_net_chars: usize,
    arguments: bool,
}

impl CompressionEngine for SessionDedup {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn memory(&self) -> Option<Box<dyn EngineMemory>> {
        Some(Box::<Index>::default())
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let Some(index) = view.memory::<Index>() else { return Ok(Edit::Keep("not_applicable")) };
        if u32::try_from(view.text().len()).is_err() {
            return Ok(Edit::Keep("too_large"));
        }
        let text = view.text().as_bytes();
        let lines = Lines::of(text, marker::is_marker);
        if lines.count() < self.limits.min_lines {
            return Ok(Edit::Keep("no_gain"));
        }
        let runs = runs::find(&lines, text, index, view.earlier(), self.limits);
        if runs.is_empty() {
            if std::ptr::eq(view.text(), view.this().original()) {
                let mut split = index.split.lock().unwrap_or_else(PoisonError::into_inner);
                *split = Some((view.index(), lines));
            }
            return Ok(Edit::Keep("no_run"));
        }
        if index.trail.needs_full_text(view) {
            return Ok(Edit::Keep("asked_again"));
        }
        let anchors = self.anchors(view);
        let mut out = Writer::new(text, &lines);
        for run in runs {
            out.run(run, index, view, anchors, self.min_net_chars);
        }
        let (references, text) = out.finish();
        match text {
            Some(text) if !references.is_empty() => {
                let count = references.len() as u32;
                let undo = undo::encode(&references);
                Ok(Edit::Replace(Replacement::new(text).technique("line_run", count).undo(undo)))
            }
            _ => Ok(Edit::Keep("no_gain")),
        }
    }

    fn settle(&self, view: &SegmentView<'_, '_>, memory: &mut dyn EngineMemory) {
        let memory: &mut dyn std::any::Any = memory;
        let Some(index) = memory.downcast_mut::<Index>() else { return };
        let segment = view.this();
        let name = index.trail.settle(view, mostly_reference(view));
        let source =
            |leaf, text, lines| Source { index: view.index(), id: segment.id, leaf, text, name, lines };
        if segment.kind == SegmentKind::ToolResult {
            let split = index.split.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            let lines = match split {
                Some((position, lines)) if position == view.index() && !segment.is_edited() => lines,
                _ => Lines::of(view.text().as_bytes(), marker::is_marker),
            };
            index.add(source(None, None, lines), self.limits.max_back_chars);
        } else if self.arguments && is_write(segment) {
            let leaves = segment.argument_leaves();
            let has_lines = |text: &&String| text.trim_end().contains('\n');
            let several = leaves.iter().filter(has_lines).count() > 1;
            let mut number = 0;
            for (leaf, text) in leaves.iter().enumerate().filter(|(_, text)| has_lines(text)) {
                number += 1;
                let lines = Lines::of(text.as_bytes(), marker::is_marker);
                if lines.count() >= self.limits.min_lines {
                    let leaf = Some(leaf as u32);
                    index.add(source(leaf, several.then_some(number), lines), self.limits.max_back_chars);
                }
            }
        }
        index.prune(self.limits.max_back_chars);
    }

    fn undo(&self, after: &str, undo: &str, sources: &dyn Sources) -> Option<String> {
        undo::restore(after, undo, sources)
    }
}

impl SessionDedup {
    /// Lines kept at each end of a run: two where a single line says little.
    fn anchors(&self, view: &SegmentView<'_, '_>) -> usize {
        match class::of(view) {
            ResultClass::Diff | ResultClass::Structured => 2,
            _ => 1,
        }
    }
}

/// Puts references in place of runs.
struct Writer<'t> {
    text: &'t [u8],
    lines: &'t Lines,
    out: Vec<u8>,
    /// Bytes of `text` that are dealt with.
    done: usize,
    /// Lines written to `out`.
    written: usize,
    done_lines: usize,
    references: Vec<Reference>,
}

impl<'t> Writer<'t> {
    fn new(text: &'t [u8], lines: &'t Lines) -> Self {
        let out = Vec::with_capacity(text.len());
        Writer { text, lines, out, done: 0, written: 0, done_lines: 0, references: Vec::new() }
    }

    fn run(
        &mut self,
        run: Run,
        index: &Index,
        view: &SegmentView<'_, '_>,
        anchors: usize,
        min_net_chars: usize,
    ) {
        let Some(source) = index.source(run.source) else { return };
        let Some(omitted) = run.count.checked_sub(2 * anchors).filter(|n| *n > 0) else { return };
        let (from, to) = (run.start + anchors, run.start + run.count - anchors);
        let (start, end) = (self.lines.start(self.text, from), self.lines.start(self.text, to));
        let name = index.trail.name(view, source.name, source.text);
        let (first, last) = (run.first + 1, run.first + run.count);
        let marker = format!("[same as {name} above, lines {first}-{last}, {omitted} lines omitted]\n");
        if end - start < marker.len() + min_net_chars {
            return;
        }
        self.out.extend_from_slice(self.text.get(self.done..start).unwrap_or(&[]));
        self.written += from - self.done_lines;
        self.out.extend_from_slice(marker.as_bytes());
        self.references.push(Reference {
            at: self.written,
            id: source.id,
            leaf: source.leaf,
            strip: source.lines.gutter,
            first: run.first + anchors,
            count: omitted,
            add: self.lines.gutter.zip(self.lines.number(self.text, from)),
        });
        self.written += 1;
        (self.done, self.done_lines) = (end, to);
    }

    fn finish(mut self) -> (Vec<Reference>, Option<String>) {
        self.out.extend_from_slice(self.text.get(self.done..).unwrap_or(&[]));
        (self.references, String::from_utf8(self.out).ok())
    }
}
