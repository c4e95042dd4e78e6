//! Reads an output part by part: diffs, file statistics, lists of changed files, states, advice, transfers.

use crate::rtk::kit::{Draft, Output, Verdict};

use super::diff::Patches;
use super::{advice, diff, names, stat, status, transfer};

/// Renders any output made of the parts git prints.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mut parts = Parts::new(out);
    let (mut at, mut known) = (0, false);
    if out.has("--name-only") && !out.lines.iter().any(|l| l.starts_with("diff --")) {
        return names::bare(out, draft);
    }
    while at < out.len() {
        match parts.part(out, draft, at) {
            Some(end) => {
                known = true;
                at = end.max(at + 1);
            }
            None => at += 1,
        }
    }
    if known && !parts.patches.foreign { Verdict::Done } else { Verdict::NotMine }
}

/// Nothing to leave out: every line is a row of its own.
pub(super) fn render_verbatim(_: &Output<'_>, _: &mut Draft) -> Verdict {
    Verdict::Done
}

/// What is known of an output while its parts are read.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) patches: Patches,
    /// Whether something went wrong, so that hints say how to go on.
    failed: bool,
}

impl Parts {
    pub(super) fn new(out: &Output<'_>) -> Parts {
        let failed = out.failed() || out.lines.iter().any(|l| advice::is_failure(l));
        Parts { patches: Patches::new(out), failed }
    }

    /// Marks the part that begins at line `at`; the line behind it. `None` if no part begins there.
    pub(super) fn part(&mut self, out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
        let line = out.line(at);
        match line.as_bytes() {
            [] => None,
            [b'd', b'i', ..] | [b'-', b'-', b'-', ..] => diff::file(out, draft, at, &mut self.patches),
            [b'0'..=b'9' | b'-', ..] => stat::block(out, draft, at),
            [b' ', b' ', b'(', ..] => status::hint(out, draft, at),
            [b' ', ..] => stat::block(out, draft, at).or_else(|| transfer::row(out, draft, at)),
            [_, b'\t', ..] | [_, _, _, _, b'\t', ..] => names::block(out, draft, at),
            [b'h', b'i', b'n', b't', b':', ..] => advice::hint(out, draft, at, self.failed),
            [b'Y', b'o', b'u', ..] if line.starts_with(advice::DETACHED) => advice::detached(out, draft, at),
            [b'R' | b'r' | b'C' | b'E' | b'W' | b'D' | b'U' | b'F' | b'A' | b'S', ..] => {
                status::section(out, draft, at).or_else(|| transfer::progress(out, draft, at))
            }
            [b'I' | b'n', ..] => status::section(out, draft, at),
            _ => None,
        }
    }
}
