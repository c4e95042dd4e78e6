//! Cuts long lines between characters that a reader sees as one.

/// `line` cut to at most `max` characters, `end` included; `None` if it is short enough. At most `end` stays if `max`
/// is smaller than it.
pub(crate) fn truncate(line: &str, max: usize, end: &str) -> Option<String> {
    if line.len() <= max || line.chars().nth(max).is_none() {
        return None;
    }
    let room = max.saturating_sub(end.chars().count());
    let cut = line.char_indices().nth(room).map_or(line.len(), |(at, _)| at);
    let cut = before_cluster(line, cut);
    let mut out = String::with_capacity(cut + end.len());
    out.push_str(line.get(..cut).unwrap_or(""));
    out.push_str(end);
    Some(out)
}

/// The last place not behind `cut` where no combining mark, joiner or modifier is torn from what it belongs to. A
/// line that is nothing but such marks is cut where it was asked.
fn before_cluster(line: &str, cut: usize) -> usize {
    let (head, tail) = line.split_at(cut);
    let mut next = tail.chars().next();
    let mut at = cut;
    for (start, c) in head.char_indices().rev() {
        if !next.is_some_and(|n| extends(c, n)) {
            return at;
        }
        next = Some(c);
        at = start;
    }
    if at == 0 { cut } else { at }
}

/// Whether `next` is shown together with the character before it.
fn extends(before: char, next: char) -> bool {
    let joiner = '\u{200d}';
    let flag = |c: char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
    before == joiner
        || next == joiner
        || flag(before) && flag(next)
        || matches!(next,
            '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{e31}'
            | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}' | '\u{3099}' | '\u{309a}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
            | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// Length in bytes of a `path:line:` or `path:line:column:` at the start of a line, 0 if there is none.
pub(crate) fn location_len(line: &str) -> usize {
    let bytes = line.as_bytes();
    let mut best = 0;
    for colon in memchr::memchr_iter(b':', bytes).take(4) {
        let digits = bytes.get(colon + 1..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            best = colon + 1 + digits;
        } else if best > 0 {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_not_bytes() {
        for (line, max, expected) in [
            ("abc", 3, None),
            ("abcd", 3, Some("ab~")),
            ("\u{4f60}\u{597d}\u{4e16}\u{754c}", 4, None),
            ("\u{4f60}\u{597d}\u{4e16}\u{754c}", 3, Some("\u{4f60}\u{597d}~")),
            ("\u{1f600}\u{1f600}\u{1f600}", 2, Some("\u{1f600}~")),
            ("abcd", 0, Some("~")),
            ("abcd", 1, Some("~")),
        ] {
            assert_eq!(truncate(line, max, "~").as_deref(), expected, "{line} {max}");
        }
    }

    #[test]
    fn never_tears_what_is_shown_as_one() {
        for (line, max, expected) in [
            ("ae\u{301}bcd", 3, "a~"),
            ("x\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}yz", 4, "x~"),
            ("x\u{1f44d}\u{1f3fd}yz", 3, "x~"),
            ("x\u{1f1e9}\u{1f1ea}yz", 3, "x~"),
            ("\u{301}\u{301}\u{301}\u{301}", 3, "\u{301}\u{301}~"),
        ] {
            assert_eq!(truncate(line, max, "~").as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn finds_locations() {
        for (line, expected) in [
            ("src/a.rs:3:14: error", 13),
            ("C:\\a.c:7: x", 8),
            ("no place", 0),
            ("at 10:22", 8),
            ("a: b:3", 6),
            ("", 0),
        ] {
            assert_eq!(location_len(line), expected, "{line}");
        }
    }
}
