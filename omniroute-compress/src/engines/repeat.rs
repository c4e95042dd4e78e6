//! `repeat`: a tool result that is the same as an earlier one becomes one line that says so.

use std::collections::HashMap;
use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, EngineMemory, Loss, Replacement,
    SegmentKind, SegmentView, Sources,
};

use super::trail::{SourceId, Trail, is_stub, mostly_reference, read_id, refers_back, spelled};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::hash::{ByHash, hash};

const INFO: EngineInfo = EngineInfo::new("repeat", Loss::Lossless)
    .summary("a tool result equal to an earlier one becomes a reference to it")
    .priority(2)
    .min_bytes(240);

const FIELDS: &[ConfigField] = &[
    ConfigField::int(
        "max_back_chars",
        200_000,
        (20_000, i64::MAX),
        "how far back a reference may reach, in characters",
    ),
    ConfigField::int(
        "min_net_chars",
        160,
        (1, 1_000_000),
        "characters that must be saved, the marker paid for",
    ),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS);

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    let (back, net) = (settings.size("max_back_chars") as u64, settings.size("min_net_chars"));
    Arc::new(Repeat { max_back_chars: back, min_net_chars: net })
}

#[derive(Debug)]
struct Repeat {
    max_back_chars: u64,
    min_net_chars: usize,
}

/// Full results seen so far, by the hash of their original text.
#[derive(Debug, Default)]
struct Seen {
    trail: Trail,
    /// Latest place where the text stands: its segment and its number in the trail.
    texts: HashMap<u64, (usize, SourceId), ByHash>,
}

impl EngineMemory for Seen {
    fn bytes(&self) -> usize {
        self.trail.bytes() + self.texts.len() * 64
    }
}

impl CompressionEngine for Repeat {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn memory(&self) -> Option<Box<dyn EngineMemory>> {
        Some(Box::<Seen>::default())
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let Some(seen) = view.memory::<Seen>() else { return Ok(Edit::Keep("not_applicable")) };
        let text = view.this().original();
        let Some(&(index, source)) = seen.texts.get(&hash(text.as_bytes())) else {
            return Ok(Edit::Keep("first_seen"));
        };
        let Some(earlier) = view.earlier().get(index).filter(|s| s.original() == text) else {
            return Ok(Edit::Keep("first_seen"));
        };
        if seen.trail.distance(source) > self.max_back_chars {
            return Ok(Edit::Keep("too_far_back"));
        }
        if seen.trail.needs_full_text(view) {
            return Ok(Edit::Keep("asked_again"));
        }
        let lines = text.lines().count();
        let marker = format!(
            "[unchanged: identical to {} above ({lines} lines)]",
            seen.trail.name(view, source, None)
        );
        if marker.len() + self.min_net_chars > text.len() {
            return Ok(Edit::Keep("no_gain"));
        }
        Ok(Edit::Replace(Replacement::new(marker).technique("repeat", 1).undo(spelled(earlier.id))))
    }

    fn settle(&self, view: &SegmentView<'_, '_>, memory: &mut dyn EngineMemory) {
        let memory: &mut dyn std::any::Any = memory;
        let Some(seen) = memory.downcast_mut::<Seen>() else { return };
        let segment = view.this();
        let source = seen.trail.settle(view, mostly_reference(view));
        // A source must show its text itself: references never chain.
        let refers = refers_back(segment.edited_by()) || is_stub(segment.edited_by());
        if segment.kind == SegmentKind::ToolResult && !refers && segment.original().len() >= INFO.min_bytes {
            seen.texts.insert(hash(segment.original().as_bytes()), (view.index(), source));
        }
    }

    fn undo(&self, _after: &str, undo: &str, sources: &dyn Sources) -> Option<String> {
        sources.original(read_id(&mut undo.split(' '))?).map(|text| text.into_owned())
    }
}
