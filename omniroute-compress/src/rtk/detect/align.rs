//! Aligns what was seen in a text with the commands of a script: which run of anchors is whose.
//!
//! Both are in order, so the answer is the heaviest chain of runs whose commands do not go backwards. A run that could
//! be another command's in an equally heavy chain is not sure, and nothing is said about it.

/// Neighbouring lines that speak for the same items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The items it may belong to, one bit each.
    pub(super) items: u32,
    /// How much it says.
    pub(super) weight: u32,
    /// One known line: every item has at most one, and every line one item.
    pub(super) single: bool,
    /// First line.
    pub(super) first: usize,
    /// Last line.
    pub(super) last: usize,
    /// Items for which the first line is certainly the first of their output.
    pub(super) opens: u32,
    /// Items for which the last line is certainly the last of their output.
    pub(super) closes: u32,
}

/// Whose a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// This item's.
    Item(usize),
    /// One of several.
    Unsure,
    /// It is in no chain: text of another command that only looks like it.
    Nobody,
}

/// The owners of `runs` among `count` items (at most 32). Work grows with runs times items.
pub(super) fn align(runs: &[Run], count: usize) -> Vec<Owner> {
    let width = count + 1;
    // before[r][k]: the best of the first r runs with items below k; after[r][k]: of the others with items from k on.
    let mut before = vec![0_u32; (runs.len() + 1) * width];
    let mut after = vec![0_u32; (runs.len() + 1) * width];
    let at = |table: &[u32], row: usize, column: usize| table.get(row * width + column).copied().unwrap_or(0);
    for (row, run) in runs.iter().enumerate() {
        let mut best = 0;
        for column in 0..width {
            best = best.max(at(&before, row, column));
            if let Some(item) = column.checked_sub(1).filter(|item| run.items >> item & 1 == 1) {
                let limit = if run.single { item } else { item + 1 };
                best = best.max(at(&before, row, limit) + run.weight);
            }
            if let Some(cell) = before.get_mut((row + 1) * width + column) {
                *cell = best;
            }
        }
    }
    for (row, run) in runs.iter().enumerate().rev() {
        let mut best = 0;
        for column in (0..width).rev() {
            best = best.max(at(&after, row + 1, column));
            if column < count && run.items >> column & 1 == 1 {
                let from = if run.single { column + 1 } else { column };
                best = best.max(at(&after, row + 1, from) + run.weight);
            }
            if let Some(cell) = after.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let total = at(&before, runs.len(), count);
    let owner = |row: usize, run: &Run| {
        let mut options = (0..count).filter(|item| run.items >> item & 1 == 1).filter(|item| {
            let (limit, from) = if run.single { (*item, item + 1) } else { (item + 1, *item) };
            at(&before, row, limit) + run.weight + at(&after, row + 1, from) == total
        });
        let skipped =
            (0..width).any(|column| at(&before, row, column) + at(&after, row + 1, column) == total);
        match (options.next(), options.next(), skipped) {
            (None, ..) => Owner::Nobody,
            (Some(item), None, false) => Owner::Item(item),
            _ => Owner::Unsure,
        }
    };
    runs.iter().enumerate().map(|(row, run)| owner(row, run)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Owner, Run, align};

    fn run(items: u32, weight: u32, single: bool) -> Run {
        Run { items, weight, single, first: 0, last: 0, opens: 0, closes: 0 }
    }

    #[test]
    fn chains() {
        use Owner::{Item, Nobody, Unsure};
        // Two commands, their anchors in order.
        assert_eq!(align(&[run(1, 3, false), run(2, 3, false)], 2), [Item(0), Item(1)]);
        // The second's anchors quoted inside the first's output.
        assert_eq!(
            align(&[run(1, 3, false), run(2, 1, false), run(1, 3, false), run(2, 3, false)], 2),
            [Item(0), Nobody, Item(0), Item(1)]
        );
        // Two equal separators around three outputs.
        assert_eq!(align(&[run(0b1010, 9, true), run(0b1010, 9, true)], 5), [Item(1), Item(3)]);
        // One of two equal separators is missing.
        assert_eq!(align(&[run(0b1010, 9, true)], 5), [Unsure]);
        // One more than there should be.
        assert_eq!(align(&[run(0b10, 9, true), run(0b10, 9, true)], 3), [Unsure, Unsure]);
        // Another command's anchors tell which one it is.
        assert_eq!(
            align(&[run(0b1, 2, false), run(0b1010, 9, true), run(0b100, 2, false)], 5),
            [Item(0), Item(1), Item(2)]
        );
        assert!(align(&[], 3).is_empty());
    }
}
