//! Reading lines of test runners: indentation, times, rules with a title, comparison.

use crate::rtk::kit::{Draft, Output, Severity, severity};

/// Texts up to this many characters are left alone: every line of a short output counts.
const SHORT: usize = 600;

/// Whether the output is so short that nothing is left out.
pub(crate) fn is_short(out: &Output<'_>) -> bool {
    out.text.len() <= SHORT || (out.text.len() <= 4 * SHORT && out.text.chars().count() <= SHORT)
}

/// Blanks and tabs at the start.
pub(crate) fn indent(line: &str) -> usize {
    line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// Whether nothing but blanks.
pub(crate) fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| b.is_ascii_whitespace())
}

/// Whether `line` holds `part`.
pub(crate) fn has(line: &str, part: &str) -> bool {
    line.contains(part)
}

/// Whether at least one byte, and digits only.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The rest behind the digits that `text` begins with; none without digits.
pub(crate) fn after_number(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { None } else { text.get(digits..) }
}

/// The title in `=== title ===`; the rule of at least `min` signs may be on one side only shorter.
pub(crate) fn ruled(line: &str, sign: char) -> Option<&str> {
    if !line.starts_with(sign) || !line.ends_with(sign) {
        return None;
    }
    let inner = line.trim_matches(sign);
    let title = inner.trim();
    let framed = inner.starts_with(' ') && inner.ends_with(' ') && !title.is_empty();
    if framed { Some(title) } else { None }
}

/// Whether the line is a ruler of at least eight equal signs, blanks between them allowed.
pub(crate) fn is_ruler(line: &str) -> bool {
    let mut signs = line.chars().filter(|c| *c != ' ');
    let Some(first) = signs.next().filter(|c| !c.is_alphanumeric()) else { return false };
    let mut count = 1;
    for sign in signs {
        if sign != first {
            return false;
        }
        count += 1;
    }
    count >= 8
}

/// The line without the time that runners write at its end: ` 12ms`, ` (3 ms)`, ` (0.01s)`.
pub(crate) fn without_time(line: &str) -> &str {
    let line = line.trim_end();
    if let Some((before, time)) = line.strip_suffix(')').and_then(|l| l.rsplit_once(" (")) {
        return if is_time(time) { before } else { line };
    }
    match line.rsplit_once(' ') {
        Some((before, time)) if is_time(time) => before,
        _ => line,
    }
}

/// `12ms`, `3 ms`, `0.01s`, `1.5m`.
fn is_time(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| c.is_ascii_lowercase() || c == ' ');
    let unit = text.strip_prefix(number).map_or("", str::trim);
    !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && matches!(unit, "ms" | "s" | "m")
}

/// A hash of the line without blanks at its end.
pub(crate) fn hash(line: &str) -> u64 {
    add_hash(0xcbf2_9ce4_8422_2325, line)
}

/// Adds a line to a hash.
pub(crate) fn add_hash(mut hash: u64, line: &str) -> u64 {
    for byte in line.trim_end().bytes().chain([b'\n']) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// Takes line `i` out because another line that stays says the same. An error message stays.
pub(crate) fn hide(out: &Output<'_>, draft: &mut Draft, i: usize) {
    if severity(out.line(i)) < Severity::Error {
        draft.cover(i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rules_and_times() {
        assert_eq!(ruled("==== 2 failed in 0.1s ====", '='), Some("2 failed in 0.1s"));
        assert_eq!(ruled("===== =====", '='), None);
        assert_eq!(ruled("a == b", '='), None);
        assert!(is_ruler("--------") && is_ruler("_ _ _ _ _ _ _ _ _") && is_ruler("────────────"));
        assert!(!is_ruler("--------x") && !is_ruler("-----") && !is_ruler("00000000") && !is_ruler(""));
        for (line, expected) in [
            ("a > b 12ms", "a > b"),
            ("a (3 ms)", "a"),
            ("--- PASS: X (0.00s)", "--- PASS: X"),
            ("a (b)", "a (b)"),
            ("waits 3 s", "waits 3 s"),
            ("a", "a"),
            ("", ""),
        ] {
            assert_eq!(without_time(line), expected);
        }
        assert_eq!(after_number("12) x"), Some(") x"));
        assert_eq!(after_number("x"), None);
    }
}
