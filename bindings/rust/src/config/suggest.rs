//! "Did you mean": the nearest known word.

/// `; did you mean "x"?` for the nearest of `known`, if one is near.
pub(crate) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let word: Vec<char> = word.chars().take(64).collect();
    match known.map(|name| (distance(&word, name), name)).min() {
        Some((far, name)) if far <= 1 + name.len() / 4 => format!("; did you mean \"{name}\"?"),
        _ => String::new(),
    }
}

/// Letters to insert, delete, replace or swap with their neighbour.
fn distance(word: &[char], known: &str) -> usize {
    let known: Vec<char> = known.chars().take(64).collect();
    let width = known.len() + 1;
    let mut cells = vec![0usize; (word.len() + 1) * width];
    let at = |row: usize, column: usize| row * width + column;
    for row in 0..=word.len() {
        for column in 0..width {
            let mut best = match (row, column) {
                (0, n) | (n, 0) => n,
                _ => {
                    let same = word.get(row - 1) == known.get(column - 1);
                    let replaced = cells[at(row - 1, column - 1)] + usize::from(!same);
                    replaced.min(cells[at(row - 1, column)] + 1).min(cells[at(row, column - 1)] + 1)
                }
            };
            let swapped = row > 1
                && column > 1
                && word.get(row - 1) == known.get(column - 2)
                && word.get(row - 2) == known.get(column - 1);
            if swapped {
                best = best.min(cells[at(row - 2, column - 2)] + 1);
            }
            cells[at(row, column)] = best;
        }
    }
    cells.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest_or_nothing() {
        for (word, hint) in
            [("saef", "; did you mean \"safe\"?"), ("rtkk", "; did you mean \"rtk\"?"), ("zzz", "")]
        {
            assert_eq!(suggestion(word, ["safe", "rtk", "lite"].into_iter()), hint, "{word}");
        }
    }
}
