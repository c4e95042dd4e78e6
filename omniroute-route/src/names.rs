//! Names that look like a mistyped one.

/// Longest name that is compared, in bytes; a longer one is no slip of the fingers.
const LONGEST: usize = 100;
/// Most edits between a name and what was meant.
const MOST: usize = 3;

/// The names closest to `wanted`, at most `count`, best first; equal distance: alphabetical. Case does not count.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>, count: usize) -> Vec<String> {
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let wanted = wanted.to_ascii_lowercase();
    let most = MOST.min(wanted.len().div_ceil(2));
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let distance = distance(wanted.as_bytes(), name.to_ascii_lowercase().as_bytes(), most)?;
            Some((distance, name))
        })
        .collect();
    found.sort_unstable();
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().take(count).map(|(_, name)| name.to_owned()).collect()
}

/// Edits between two names, if at most `most`.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let change = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
        if row.iter().all(|edits| *edits > most) {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first() {
        let names = ["priority", "p2c", "random", "strict-random", "round-robin"];
        let near = |wanted| nearest(wanted, names.into_iter(), 3);
        assert_eq!(near("priorty"), ["priority"]);
        assert_eq!(near("RANDOM"), ["random"]);
        assert_eq!(near("p3c"), ["p2c"]);
        assert!(near("").is_empty());
        assert!(near("zzzzzzzz").is_empty());
    }
}
