//! Finds runs of lines that stand in earlier texts.

use omniroute_core::Segment;

use super::index::{Index, SHINGLE};
use super::lines::Lines;

/// Lines `start..start + count` of the text equal lines `first..` of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) count: usize,
    pub(super) source: u32,
    pub(super) first: usize,
}

/// After this many runs whose bytes differ although their keys agree, the rest of a text is left alone.
const MAX_FAILED_CHECKS: usize = 16;

/// Comparisons of lines a search may cost, for each line of the text. Real texts need a few.
const MAX_COMPARISONS: usize = 128;

/// The runs of `text`, without overlap, in order. Keys are compared here, bytes by [`check`].
pub(super) fn find(
    lines: &Lines,
    text: &[u8],
    index: &Index,
    segments: &[Segment<'_>],
    limits: Limits,
) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    let mut free = 0; // lines before it belong to an earlier run
    let mut failed = 0;
    let breaks = breaks(lines, text);
    let mut budget = lines.count() * MAX_COMPARISONS;
    while at + SHINGLE <= lines.count() && budget > 0 {
        let keys = lines.keys.get(at..at + SHINGLE).unwrap_or(&[]);
        let mut best: Option<Run> = None;
        for (source, line) in index.places(keys, limits.max_back_chars) {
            let Some(other) = index.source(source) else { continue };
            let joined = |i: usize| !breaks.get(i).copied().unwrap_or(false);
            let count = forward(lines, at, &other.lines, line, joined);
            let mut run = Run { start: at, count, source, first: line };
            while run.start > free
                && run.first > 0
                && joined(run.start)
                && same(lines, run.start - 1, &other.lines, run.first - 1)
            {
                run.start -= 1;
                run.first -= 1;
                run.count += 1;
            }
            budget = budget.saturating_sub(run.count);
            // The first found is the latest: it wins unless another is longer.
            if best.is_none_or(|b| run.count > b.count) {
                best = Some(run);
            }
        }
        match best.filter(|run| run.count >= limits.min_lines) {
            Some(run) => {
                let run = check(run, lines, text, index, segments);
                match run.filter(|run| run.count >= limits.min_lines) {
                    Some(run) => {
                        free = run.start + run.count;
                        at = free;
                        runs.push(run);
                    }
                    // Equal keys and other bytes: made up to waste our time if it happens often.
                    None if failed == MAX_FAILED_CHECKS => break,
                    None => {
                        failed += 1;
                        at += 1;
                    }
                }
            }
            None => at += 1,
        }
    }
    runs
}

/// What a run must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) min_lines: usize,
    pub(super) max_back_chars: u64,
}

fn same(a: &Lines, i: usize, b: &Lines, j: usize) -> bool {
    match (a.keys.get(i), b.keys.get(j)) {
        (Some(x), Some(y)) => *x == *y && *x != 0,
        _ => false,
    }
}

/// Equal lines from `i` and `j` on, as long as each line of `a` goes on where the one before ended.
fn forward(a: &Lines, i: usize, b: &Lines, j: usize, joined: impl Fn(usize) -> bool) -> usize {
    let mut count = 0;
    while (count == 0 || joined(i + count)) && same(a, i + count, b, j + count) {
        count += 1;
    }
    count
}

/// For texts with line numbers: the lines whose number does not follow from the line before. No run crosses them.
fn breaks(lines: &Lines, text: &[u8]) -> Vec<bool> {
    if lines.gutter.is_none() {
        return Vec::new();
    }
    let mut before = None;
    let is_break = |i| {
        let number = lines.number(text, i);
        number != std::mem::replace(&mut before, number).map(|n| n + 1)
    };
    (0..lines.count()).map(is_break).collect()
}

/// Cuts a run down to the lines that can be rebuilt byte for byte from the source.
fn check(run: Run, lines: &Lines, text: &[u8], index: &Index, segments: &[Segment<'_>]) -> Option<Run> {
    let source = index.source(run.source)?;
    let segment = segments.get(source.index)?;
    let leaves;
    let from = match source.leaf {
        None => segment.sent(),
        Some(leaf) => {
            leaves = segment.argument_leaves();
            leaves.get(leaf as usize)?.as_str()
        }
    };
    let from = from.as_bytes();
    let first_number = lines.number(text, run.start);
    let mut rebuilt = Vec::new();
    let good = (0..run.count)
        .take_while(|k| {
            let line = source.lines.get(from, run.first + k);
            rebuilt.clear();
            rebuild(source, lines.gutter, first_number.map(|n| n + *k as u64), line, &mut rebuilt);
            rebuilt == lines.get(text, run.start + k)
        })
        .count();
    Some(Run { count: good, ..run })
}

/// The line as it stands in the text, from the line of the source.
fn rebuild(
    source: &super::index::Source,
    gutter: Option<super::lines::Gutter>,
    number: Option<u64>,
    line: &[u8],
    out: &mut Vec<u8>,
) {
    let content = match source.lines.gutter.and_then(|g| g.split(line)) {
        Some((_, content)) => content,
        None => line,
    };
    match (gutter, number) {
        (Some(gutter), Some(number)) => gutter.line(number, content, out),
        _ => out.extend_from_slice(content),
    }
}
