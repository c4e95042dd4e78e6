//! Bars made of characters.

/// A bar of at most `width` columns: full for `most`, empty for 0, never empty for more than that. Eighths of a column
/// are shown by block characters; `ascii` rounds up to whole `#`.
pub fn bar(value: u64, most: u64, width: usize, ascii: bool) -> String {
    if value == 0 || most == 0 || width == 0 {
        return String::new();
    }
    let parts = if ascii { 1 } else { 8 };
    let steps = (width as u128) * parts;
    let filled = (u128::from(value) * steps).div_ceil(u128::from(most)).min(steps);
    let whole = usize::try_from(filled / parts).unwrap_or(width);
    let rest = usize::try_from(filled % parts).unwrap_or(0);
    let full = if ascii { '#' } else { '\u{2588}' };
    let mut out: String = std::iter::repeat_n(full, whole).collect();
    // Seven left blocks, from one eighth to seven.
    const EIGHTHS: [char; 7] =
        ['\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}'];
    out.extend(rest.checked_sub(1).and_then(|at| EIGHTHS.get(at)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_length() {
        for (value, most, width, ascii, text) in [
            (0, 10, 4, false, ""),
            (10, 10, 4, false, "\u{2588}\u{2588}\u{2588}\u{2588}"),
            (5, 10, 4, false, "\u{2588}\u{2588}"),
            (1, 32, 4, false, "\u{258f}"),
            (7, 32, 4, false, "\u{2589}"),
            (9, 32, 4, false, "\u{2588}\u{258f}"),
            (1, 1_000_000, 4, false, "\u{258f}"),
            (1, 1_000_000, 4, true, "#"),
            (6, 10, 4, true, "###"),
            (11, 10, 4, true, "####"),
            (5, 0, 4, true, ""),
            (5, 5, 0, true, ""),
            (u64::MAX, u64::MAX, 3, true, "###"),
        ] {
            assert_eq!(bar(value, most, width, ascii), text, "{value} of {most}");
        }
    }
}
