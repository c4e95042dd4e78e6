//! A short unified difference of two small texts, for failing tests.

use std::fmt::Write as _;

/// Lines of a difference that are shown.
const MAX_LINES: usize = 20;
/// Equal lines around it.
const CONTEXT: usize = 2;

/// The part between the equal beginning and the equal end of both texts.
pub(crate) fn unified(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = tail.min(old.len() - head).min(new.len() - head);
    let start = head.saturating_sub(CONTEXT);
    let end = |n: usize| (n - tail + CONTEXT).min(n);
    let (old_end, new_end) = (end(old.len()), end(new.len()));
    let mut lines =
        vec![format!("@@ -{},{} +{},{} @@", start + 1, old_end - start, start + 1, new_end - start)];
    let part = |lines: &[&str], sign: char, from: usize, to: usize| -> Vec<String> {
        lines.get(from..to).unwrap_or(&[]).iter().map(|l| format!("{sign}{l}")).collect()
    };
    lines.extend(part(&old, ' ', start, head));
    lines.extend(part(&old, '-', head, old.len() - tail));
    lines.extend(part(&new, '+', head, new.len() - tail));
    lines.extend(part(&old, ' ', old.len() - tail, old_end));
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let mut text = lines.join("\n");
    if more > 0 {
        let _ = write!(text, "\n({more} more lines)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_differs_with_context() {
        assert_eq!(unified("a\nb\nc\nd\ne", "a\nb\nx\nd\ne"), "@@ -1,5 +1,5 @@\n a\n b\n-c\n+x\n d\n e");
        assert_eq!(unified("", "a"), "@@ -1,0 +1,1 @@\n+a");
        assert_eq!(unified("a\na", "a"), "@@ -1,2 +1,1 @@\n a\n-a");
        let long = unified(&"a\n".repeat(50), "b");
        assert_eq!(long.lines().count(), 21);
        assert!(long.ends_with("(32 more lines)"), "{long}");
    }
}
