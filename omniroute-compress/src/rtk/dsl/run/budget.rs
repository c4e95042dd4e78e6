//! The number of lines that stay: head, tail and what is preserved between them.

use super::super::model::{Dialect, FilterDef};
use crate::rtk::kit::Level;

/// Budget of JSON filters that give none.
const DEFAULT_LINES: usize = 120;
/// Lines of head and tail of filters with a budget that give none.
const DEFAULT_ENDS: usize = 20;

/// A part of what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A run of equal lines, mostly one line. Its numbers are those of the output once it is resolved.
    Lines {
        /// The first of them.
        start: usize,
        /// How many they are.
        len: usize,
    },
    /// Lines left out here.
    Omitted(usize),
    /// Lines left out at the end.
    Truncated(usize),
}

impl Piece {
    /// From positions among the lines that are left to lines of the output.
    pub(crate) fn resolve(self, live: &[usize]) -> Piece {
        match self {
            Piece::Lines { start, len } => Piece::Lines { start: live.get(start).copied().unwrap_or(0), len },
            other => other,
        }
    }
}

/// The limits in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// TOML version 1: first head and tail, then the first `max` of what they leave.
    Exact { head: Option<usize>, tail: Option<usize>, max: usize },
    /// Head, tail and preserved lines once there are more than `max`.
    Budget { head: usize, tail: usize, max: usize },
}

impl Limits {
    /// The limits of a filter at a level.
    pub(crate) fn of(filter: &FilterDef, level: Level, default_budget: bool) -> Limits {
        let rules = &filter.rules;
        if filter.dialect == Dialect::TomlV1 {
            return Limits::Exact { head: rules.head, tail: rules.tail, max: rules.max_lines };
        }
        let given = match rules.max_lines {
            0 if filter.dialect == Dialect::Json && default_budget => DEFAULT_LINES,
            max => max,
        };
        let max = level.pick(given + given / 2, given, given.div_ceil(2));
        let (head, tail) = (rules.head.unwrap_or(DEFAULT_ENDS), rules.tail.unwrap_or(DEFAULT_ENDS));
        let both = head + tail;
        if both <= max || both == 0 {
            return Limits::Budget { head, tail, max };
        }
        let head = max * head / both;
        Limits::Budget { head, tail: (max - head).min(tail), max }
    }
}

/// Applies limits to runs of lines. `preserved` is asked only for lines between head and tail.
pub(crate) fn apply(
    limits: &Limits,
    runs: &[(usize, usize)],
    preserved: impl Fn(usize) -> bool,
) -> Vec<Piece> {
    let n = runs.len();
    let piece = |(start, len): &(usize, usize)| Piece::Lines { start: *start, len: *len };
    let slice = |range: std::ops::Range<usize>| runs.get(range).unwrap_or(&[]).iter().map(piece);
    match *limits {
        Limits::Exact { head, tail, max } => {
            let (head, tail) = match (head, tail) {
                (None, None) => (n, 0),
                (head, tail) => (head.unwrap_or(0), tail.unwrap_or(0)),
            };
            let mut pieces: Vec<Piece> = if head.saturating_add(tail) < n {
                slice(0..head).chain([Piece::Omitted(n - head - tail)]).chain(slice(n - tail..n)).collect()
            } else {
                slice(0..n).collect()
            };
            if max > 0 && pieces.len() > max {
                let rest = pieces.len() - max;
                pieces.truncate(max);
                pieces.push(Piece::Truncated(rest));
            }
            pieces
        }
        Limits::Budget { max, .. } if max == 0 || n <= max => slice(0..n).collect(),
        Limits::Budget { head, tail, max } => {
            let mut pieces: Vec<Piece> = slice(0..head).collect();
            let mut room = max.saturating_sub(head + tail);
            let mut gap = 0;
            for run in head..n - tail {
                if room > 0 && preserved(run) {
                    room -= 1;
                    if gap > 0 {
                        pieces.push(Piece::Omitted(gap));
                        gap = 0;
                    }
                    pieces.extend(slice(run..run + 1));
                } else {
                    gap += runs.get(run).map_or(1, |(_, len)| *len);
                }
            }
            if gap > 0 {
                pieces.push(Piece::Omitted(gap));
            }
            pieces.extend(slice(n - tail..n));
            pieces
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(limits: Limits, n: usize, preserved: &[usize]) -> String {
        let runs: Vec<(usize, usize)> = (0..n).map(|i| (i, 1)).collect();
        let pieces = apply(&limits, &runs, |i| preserved.contains(&i));
        let name = |p: &Piece| match p {
            Piece::Lines { start, .. } => start.to_string(),
            Piece::Omitted(n) => format!("o{n}"),
            Piece::Truncated(n) => format!("t{n}"),
        };
        pieces.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn toml_counts_exactly() {
        let exact = |head, tail, max| Limits::Exact { head, tail, max };
        for (limits, n, expected) in [
            (exact(None, None, 0), 3, "0 1 2"),
            (exact(Some(1), Some(1), 0), 5, "0 o3 4"),
            (exact(Some(2), Some(3), 0), 5, "0 1 2 3 4"),
            (exact(Some(2), None, 0), 5, "0 1 o3"),
            (exact(None, Some(2), 0), 5, "o3 3 4"),
            (exact(None, None, 2), 5, "0 1 t3"),
            (exact(Some(2), Some(1), 3), 9, "0 1 o6 t1"),
            (exact(Some(0), None, 0), 2, "o2"),
        ] {
            assert_eq!(shown(limits, n, &[]), expected, "{limits:?} {n}");
        }
    }

    #[test]
    fn budgets_select_by_place_and_keep_order() {
        let limits = Limits::Budget { head: 1, tail: 2, max: 5 };
        assert_eq!(shown(limits, 5, &[]), "0 1 2 3 4");
        assert_eq!(shown(limits, 9, &[]), "0 o6 7 8");
        assert_eq!(shown(limits, 9, &[2, 3, 5, 8]), "0 o1 2 3 o3 7 8");
        assert_eq!(shown(Limits::Budget { head: 0, tail: 0, max: 0 }, 3, &[]), "0 1 2");
    }
}
