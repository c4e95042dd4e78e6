//! `lite`: what a terminal shows of a command's raw output, without trailing blanks, runs of empty lines and
//! repeated lines. Only where the output certainly is that: never on file contents, never on unknown tools.

use std::borrow::Cow;
use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, Replacement, SegmentView,
};

use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::layout::{Rules, apply};
use crate::shell::class::{self, ResultClass};

const INFO: EngineInfo = EngineInfo::new("lite", Loss::Layout)
    .summary("layout of raw command output: escape sequences, trailing blanks, empty and repeated lines")
    .priority(5)
    .min_bytes(200);

const FIELDS: &[ConfigField] = &[
    ConfigField::switch(
        "ansi",
        true,
        "show what a terminal would show: no escape sequences, last progress state",
    ),
    ConfigField::switch("trim_eol", true, "remove blanks at the ends of lines"),
    ConfigField::switch("blank_lines", true, "keep one of several empty lines"),
    ConfigField::switch("dup_consecutive", true, "three and more equal lines become one with its count"),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS);

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    let on = |key| settings.bool(key);
    let rules = Rules {
        trim_eol: on("trim_eol"),
        blank_lines: on("blank_lines"),
        ansi: on("ansi"),
        dup_consecutive: on("dup_consecutive"),
    };
    Arc::new(Lite { rules })
}

#[derive(Debug)]
struct Lite {
    rules: Rules,
}

impl CompressionEngine for Lite {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let text = view.text();
        let rules = match class::of(view) {
            ResultClass::Command | ResultClass::Log => self.rules,
            ResultClass::Diff => Rules { ansi: self.rules.ansi, ..Rules::none() },
            ResultClass::View => return Ok(Edit::Keep("file_view")),
            ResultClass::Structured => return Ok(Edit::Keep("structured")),
            ResultClass::Unknown => return Ok(Edit::Keep("unknown_class")),
        };
        let layout = apply(text, rules);
        let Cow::Owned(new) = layout.text else { return Ok(Edit::Keep("no_gain")) };
        let counts = layout.counts;
        let saved = text.len().saturating_sub(new.len()) as u64;
        let mut out = Replacement::new(new)
            .technique("ansi", counts.escapes)
            .technique("progress", counts.overwrites)
            .technique("trim_eol", counts.trimmed_lines)
            .technique("blank_lines", counts.blank_lines)
            .technique("dup_consecutive", counts.folded_runs);
        out.dropped.bytes = saved;
        out.dropped.lines = u64::from(counts.blank_lines + counts.folded_lines + counts.overwrites);
        Ok(Edit::Replace(out))
    }
}
