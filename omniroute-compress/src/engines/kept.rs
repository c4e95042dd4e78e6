//! What engines that leave parts of old results out have in common: which results are theirs, which lines always stay,
//! and the line that counts what has gone.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use omniroute_core::{EngineContext, EngineError, History, Replacement, SegmentKind};

use super::reads::newest_reads;
use crate::budget::{is_telling, marked};
use crate::ccr::{in_place_of, is_tool, keep};
use crate::marker;
use crate::protect::{Kind, Span};
use crate::shell::tools::{ToolKind, tool_kind};

/// Longest text that is worked on.
const MAX_BYTES: usize = 4 << 20;

/// Words of lines that tell of a decision or of work that is still open; [`is_telling`] knows those of trouble.
static TELLING: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = [
        "cannot",
        "not found",
        "todo",
        "fixme",
        "must",
        "do not",
        "don't",
        "never",
        "user said",
        "instead",
        "secret",
        "password",
    ];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("a few short words")
});

/// Whether a line must stay in sight.
pub(super) fn stays(line: &str) -> bool {
    is_telling(line) || TELLING.is_match(line)
}

/// The results that may lose parts: old, no error, no failed command, not the latest read of a file, not the answer
/// of a tool that writes, not fetched with the retrieval tool, without a marker of ours.
pub(super) fn open_results(past: &History<'_, '_>, min_bytes: usize) -> Vec<usize> {
    if past.end() == 0 {
        return Vec::new();
    }
    let newest = newest_reads(past);
    let fits = |index: &usize| {
        let Some(segment) = past.segments().get(*index) else { return false };
        let call = past.call_of(*index);
        // A page is no file: it has no newer state that an edit relies on.
        let file = |call: &omniroute_core::Call| call.path.as_deref().is_some_and(|p| !p.contains("://"));
        past.is_open(*index)
            && segment.kind == SegmentKind::ToolResult
            && (min_bytes..=MAX_BYTES).contains(&segment.sent().len())
            && segment.exit_code().is_none_or(|code| code == 0)
            && !(newest.contains(index) && call.is_none_or(file))
            && !call.is_some_and(|call| is_tool(&call.tool) || tool_kind(&call.tool) == ToolKind::Write)
            && !marker::contains(segment.original())
            && !marker::contains(segment.sent())
    };
    (0..past.end()).filter(fits).collect()
}

/// A text without some of its parts.
#[derive(Debug, Default)]
pub(super) struct Cut {
    pub(super) text: String,
    pub(super) lines: u64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// The lines of a text, each kept or not.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    pub(super) lines: Vec<&'t str>,
    keep: Vec<bool>,
}

impl<'t> Lines<'t> {
    /// Keeps what always stays: telling words, errors and stack traces.
    pub(super) fn new(text: &'t str, spans: &[Span]) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut keep: Vec<bool> = lines.iter().map(|line| stays(line)).collect();
        let mut errors =
            spans.iter().filter(|s| matches!(s.kind, Kind::ErrorLine | Kind::StackFrame)).peekable();
        let mut at = 0;
        for (line, keep) in lines.iter().zip(&mut keep) {
            let end = at + line.len();
            while errors.next_if(|span| span.end <= at).is_some() {}
            *keep |= errors.peek().is_some_and(|span| span.start < end);
            at = end;
        }
        Lines { lines, keep }
    }

    /// Keeps lines `from..to` too.
    pub(super) fn keep(&mut self, range: std::ops::Range<usize>) {
        let end = range.end.min(self.keep.len());
        if let Some(keep) = self.keep.get_mut(range.start.min(end)..end) {
            keep.fill(true);
        }
    }

    /// The text with a counted line for every run of lines that has gone. A run no longer than its line stays.
    pub(super) fn cut(&self) -> Cut {
        let goes: Vec<bool> = self.keep.iter().map(|keep| !keep).collect();
        let counted = marked(&self.lines, &goes, |gone, bytes| {
            let marker = format!("[omitted: {} lines, {bytes} bytes]", gone.len());
            (marker.len() + 1 < bytes).then_some(marker)
        });
        match counted {
            Some(cut) => Cut { text: cut.text, lines: cut.lines, bytes: cut.bytes, rows: 0 },
            None => Cut { text: self.lines.concat(), ..Cut::default() },
        }
    }
}

/// Puts `cut` in place of a result, with a handle for all of it where it could be fetched. Not for a gain under 5 %.
///
/// # Errors
/// Those of the store.
pub(super) fn put(
    past: &mut History<'_, '_>,
    cx: &EngineContext<'_>,
    by: &'static str,
    (index, technique): (usize, &'static str),
    cut: Cut,
) -> Result<(), EngineError> {
    let Some(segment) = past.segments().get(index) else { return Ok(()) };
    let (original, sent) = (segment.original(), segment.sent());
    let pays = |text: &str| text.len() + sent.len() / 20 < sent.len() && !text.trim().is_empty();
    if cx.lossless_only || cut.bytes == 0 || !pays(&cut.text) {
        return Ok(());
    }
    let handle = match cx.reachable {
        true => keep(cx, original)?.ok(),
        false => None,
    };
    let mut out = match handle {
        Some(handle) => {
            let end = if cut.text.ends_with('\n') { "" } else { "\n" };
            in_place_of(original, &handle, format!("{}{end}{handle}", cut.text))
        }
        None => Replacement::new(cut.text),
    };
    if !pays(&out.text) {
        return Ok(());
    }
    // All that is not there any more, also what earlier steps took: the new form replaces theirs.
    out.dropped.bytes = cut.bytes.max(original.len().saturating_sub(out.text.len()) as u64);
    out.dropped.recoverable_bytes = if out.recoverable.is_empty() { 0 } else { out.dropped.bytes };
    (out.dropped.lines, out.dropped.rows) = (cut.lines, cut.rows);
    past.replace(by, index, out.technique(technique, 1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect;

    #[test]
    fn kept_lines_keep_their_bytes_and_runs_are_counted() {
        let text =
            "head\r\n".to_owned() + &"a line of no matter\r\n".repeat(9) + "it failed here\r\n" + "x\nlast";
        let mut lines = Lines::new(&text, &protect::spans(&text));
        lines.keep(0..1);
        lines.keep(12..99);
        let cut = lines.cut();
        assert_eq!(cut.text, "head\r\n[omitted: 9 lines, 189 bytes]\r\nit failed here\r\nx\nlast");
        assert_eq!((cut.lines, cut.bytes), (9, 189));
        // The same check finds a cut that loses a line that must stay.
        let lost = |text: &str| !text.contains("it failed here");
        assert!(!lost(&cut.text));
        lines.keep.fill(false);
        assert!(lost(&lines.cut().text));
    }
}
