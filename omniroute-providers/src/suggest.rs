//! Names that look like a mistyped one.

/// Longest name that is compared, in bytes; a longer one is no slip of the fingers.
const LONGEST: usize = 100;
/// Number of names offered.
const OFFERED: usize = 5;

/// The names closest to `wanted`, best first, each once. Equal distance: alphabetical.
///
/// # Behavior
/// - Case does not count. A name that begins with `wanted` (three characters at least) is close too.
/// - Never more than a third of the characters differ.
pub(crate) fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    let most = (wanted.len() / 3).max(1);
    let mut found: Vec<(usize, String)> = names
        .filter_map(|name| {
            let lower = name.to_lowercase();
            if wanted.len() >= 3 && lower.starts_with(&wanted) {
                return Some((1, name));
            }
            let distance = distance(wanted.as_bytes(), lower.as_bytes(), most)?;
            Some((distance, name))
        })
        .collect();
    found.sort();
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().take(OFFERED).map(|(_, name)| name).collect()
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
        let names = ["gpt-4o", "gpt-4.1", "gpt-4o-mini", "claude-opus-4-5", "gpt-4o"];
        let near = |wanted: &str| nearest(wanted, names.iter().map(|name| (*name).to_owned()));
        assert_eq!(near("gpt-4p"), ["gpt-4o", "gpt-4.1"]);
        assert_eq!(near("GPT-4o"), ["gpt-4o", "gpt-4o-mini", "gpt-4.1"]);
        assert_eq!(near("claude-opus-4.5"), ["claude-opus-4-5"]);
        assert!(near("").is_empty());
        assert!(near(&"g".repeat(LONGEST + 1)).is_empty());
    }
}
