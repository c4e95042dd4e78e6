//! Which rows stay.

use super::facts::Facts;

/// Rows that stay at both ends, whatever they hold.
const EDGE: usize = 3;

/// The rows that stay, in order: about `target`, a few more if many are special. `seed` draws the sample.
pub(super) fn rows(facts: &Facts, target: usize, seed: u64) -> Vec<usize> {
    let mut kept = Kept { marks: vec![false; facts.rows], count: 0 };
    for n in 0..EDGE.min(facts.rows) {
        kept.add(n);
        kept.add(facts.rows - 1 - n);
    }
    let half = (target / 2).max(1);
    spread(&facts.errors, half).for_each(|n| kept.add(n));
    spread(&facts.asked, half).for_each(|n| kept.add(n));
    spread(&facts.novel, half).for_each(|n| kept.add(n));
    facts.extremes().take(half).for_each(|n| kept.add(n));
    let missing = target.saturating_sub(kept.count);
    if missing > 0 {
        kept.sample(missing, seed);
    }
    (0..facts.rows).filter(|n| kept.marks.get(*n) == Some(&true)).collect()
}

/// At most `most` of the rows, evenly spread, the first and the last among them.
fn spread(rows: &[usize], most: usize) -> impl Iterator<Item = usize> + '_ {
    let count = rows.len().min(most);
    let at = move |i: usize| if count > 1 { i * (rows.len() - 1) / (count - 1) } else { 0 };
    (0..count).filter_map(move |i| rows.get(at(i)).copied())
}

struct Kept {
    marks: Vec<bool>,
    count: usize,
}

impl Kept {
    fn add(&mut self, row: usize) {
        if let Some(mark) = self.marks.get_mut(row).filter(|mark| !**mark) {
            *mark = true;
            self.count += 1;
        }
    }

    /// One of each of `count` stretches of what is left.
    fn sample(&mut self, count: usize, seed: u64) {
        let free: Vec<usize> = (0..self.marks.len()).filter(|n| self.marks.get(*n) == Some(&false)).collect();
        let count = count.min(free.len());
        let mut state = seed;
        for i in 0..count {
            let (from, to) = (i * free.len() / count, (i + 1) * free.len() / count);
            let at = from + (next(&mut state) % (to - from).max(1) as u64) as usize;
            if let Some(row) = free.get(at) {
                self.add(*row);
            }
        }
    }
}

/// The next number of a small generator; the same on every platform.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
