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

/// The runs of `text`, without overlap, in order. Keys are compared here, bytes by [`check`].
pub(super) fn find(lines: &Lines, text: &[u8], index: &Index, segments: &[Segment<'_>], limits: Limits) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    let mut free = 0; // lines before it belong to an earlier run
    let mut failed = 0;
    while at + SHINGLE <= lines.count() {
        let keys = lines.keys.get(at..at + SHINGLE).unwrap_or(&[]);
        let mut best: Option<Run> = None;
        for (source, line) in index.places(keys, limits.max_back_chars) {
            let Some(other) = index.source(source) else { continue };
            let mut run = Run { start: at, count: forward(lines, at, &other.lines, line), source, first: line };
            while run.start > free && run.first > 0 && same(lines, run.start - 1, &other.lines, run.first - 1) {
                run.start -= 1;
                run.first -= 1;
                run.count += 1;
            }
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

fn forward(a: &Lines, mut i: usize, b: &Lines, mut j: usize) -> usize {
    let start = i;
    while same(a, i, b, j) {
        i += 1;
        j += 1;
    }
    i - start
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
