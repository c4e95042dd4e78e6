//! `ccr`: old, long results become their first words and a handle. At rewrite points only.

use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss, SegmentKind};

use super::reads::newest_reads;
use crate::ccr::{in_place_of, is_tool, keep};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts, one_of};
use crate::marker;

const INFO: EngineInfo = EngineInfo::new("ccr", Loss::Recoverable)
    .summary(
        "old, long results become their first words and a handle; only where the history is rewritten anyway",
    )
    .priority(30)
    .needs_retrieval()
    .targets(&[])
    .rewrites_history();

const FIELDS: &[ConfigField] = &[
    ConfigField::int("min_chars", 8_000, (100, 1_000_000), "shorter results stay, in characters"),
    ConfigField::switch(
        "user_blocks",
        false,
        "also long texts of the user, once a later one is there and it pays within eight turns",
    ),
    ConfigField::int(
        "user_min_chars",
        600,
        (100, 1_000_000),
        "shorter texts of the user stay, in characters",
    ),
    ConfigField::int("preview_chars", 200, (0, 4_000), "characters of the result that stay in sight"),
];

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry =
    EngineEntry::new(INFO, build).fields(FIELDS).technique(|name| one_of(&["handle"], name));

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Ccr {
        min_chars: settings.size("min_chars"),
        user_min_chars: settings.size("user_min_chars"),
        preview: settings.size("preview_chars"),
    })
}

#[derive(Debug)]
struct Ccr {
    min_chars: usize,
    user_min_chars: usize,
    preview: usize,
}

impl CompressionEngine for Ccr {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        let newest = newest_reads(past);
        for (index, segment) in past.segments().iter().enumerate() {
            // Texts of the user change in a pass of their own, in which nothing is old.
            let is_user = segment.kind == SegmentKind::User;
            if !past.is_open(index) || newest.contains(&index) || (is_user && past.end() > 0) {
                continue;
            }
            let least = if is_user { self.user_min_chars } else { self.min_chars };
            let (original, sent) = (segment.original(), segment.sent());
            // Bytes first: no text has more characters than bytes.
            let long = sent.len() >= least && sent.chars().count() >= least;
            if !long || past.call_of(index).is_some_and(|call| is_tool(&call.tool)) {
                continue;
            }
            if marker::contains(original) {
                continue;
            }
            let Ok(handle) = keep(cx, original)? else { continue };
            let shown = format!("{}{handle}", preview(original, self.preview));
            past.replace(INFO.id, index, in_place_of(original, &handle, shown).technique("handle", 1));
        }
        Ok(())
    }
}

/// The first characters on one line, cut at the end of a word, with a line end; nothing if `most` is 0.
fn preview(text: &str, most: usize) -> String {
    if most == 0 {
        return String::new();
    }
    let flat = |c: char| if matches!(c, '\n' | '\r') { ' ' } else { c };
    let mut out: String = text.chars().take(most).map(flat).collect();
    let more = text.chars().nth(most);
    if more.is_some_and(|c| !c.is_whitespace())
        && let Some(end) = out.rfind(char::is_whitespace).filter(|end| *end * 2 > out.len())
    {
        out.truncate(end);
    }
    out.push_str("\u{2026}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_end_with_a_word() {
        for (text, most, want) in [
            ("one two three", 9, "one two\u{2026}\n"),
            ("one two three", 7, "one two\u{2026}\n"),
            ("one\ntwo", 99, "one two\u{2026}\n"),
            ("onetwothree four", 5, "onetw\u{2026}\n"),
            ("\u{e9}\u{e9}\u{e9}", 2, "\u{e9}\u{e9}\u{2026}\n"),
            ("text", 0, ""),
        ] {
            assert_eq!(preview(text, most), want, "{text} {most}");
        }
    }
}
