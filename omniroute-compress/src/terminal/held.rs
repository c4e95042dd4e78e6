//! Overwritten frames that name an error: kept so that no failure disappears.

use std::collections::HashMap;

/// Words that make an overwritten frame worth keeping, in lower case; they
/// also match inside longer words (`fail` in `FAILED`).
const WORDS: &[&str] =
    &["error", "fail", "warn", "panic", "exception", "fatal", "abort", "denied", "refused", "timed out"];
/// Longest distance at which a change can complete one of [`WORDS`].
pub(crate) const REACH: usize = 16;
const UNITS: &[&str] =
    &["%", "s", "ms", "us", "ns", "m", "h", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "k", "it"];

/// The kept frames of one row, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Held {
    frames: Vec<String>,
    index: HashMap<String, usize>,
}

impl Held {
    /// Keeps `frame` when it names an error; a frame that differs from a kept
    /// one only in moving numbers takes its place.
    pub(crate) fn keep(&mut self, frame: &str) {
        let frame = frame.trim();
        if !names_error(frame) {
            return;
        }
        let next = self.frames.len();
        let at = *self.index.entry(key(frame)).or_insert(next);
        match self.frames.get_mut(at) {
            Some(old) => frame.clone_into(old),
            None => self.frames.push(frame.to_owned()),
        }
    }

    /// Takes over the frames of a row that is removed.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for frame in &other.frames {
            self.keep(frame);
        }
    }

    /// The kept frames that `visible` does not show.
    pub(crate) fn missing<'h>(&'h self, visible: &'h str) -> impl Iterator<Item = &'h str> {
        let shown = (!self.frames.is_empty()).then(|| self.index.get(&key(visible))).flatten();
        self.frames.iter().enumerate().filter_map(move |(at, frame)| {
            (Some(&at) != shown && !contains_whole(visible, frame)).then_some(frame.as_str())
        })
    }
}

/// True when the text names an error; `0 failed` and `no errors` do not.
pub(crate) fn names_error(text: &str) -> bool {
    hits(text).any(|at| !is_denied(text.as_bytes(), at))
}

/// Positions of [`WORDS`].
fn hits(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    bytes.windows(2).enumerate().filter_map(move |(at, pair)| {
        let begins = matches!(
            [pair[0] | 0x20, pair[1] | 0x20],
            [b'e', b'r' | b'x']
                | [b'f' | b'w' | b'p', b'a']
                | [b'a', b'b']
                | [b'd' | b'r', b'e']
                | [b't', b'i']
        );
        let hit = begins
            && WORDS.iter().any(|word| {
                let found = bytes.get(at..at + word.len());
                found.is_some_and(|f| f.eq_ignore_ascii_case(word.as_bytes()))
            });
        hit.then_some(at)
    })
}

/// The word before position `at`, which stands after one or more blanks.
fn word_before(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    let head = bytes[..at].trim_ascii_end();
    let letters = head.iter().rev().take_while(|b| b.is_ascii_alphanumeric());
    head.split_at(head.len() - letters.count())
}

fn is_denied(bytes: &[u8], at: usize) -> bool {
    let (_, word) = word_before(bytes, at);
    word == b"0" || word.eq_ignore_ascii_case(b"no")
}

/// True for `3 failed` where the number does not belong to a name before it
/// (`disk 3 failed`).
fn is_count(bytes: &[u8], at: usize) -> bool {
    let (head, word) = word_before(bytes, at);
    let named = head.len() > 1
        && head.ends_with(b" ")
        && head.get(head.len() - 2).is_some_and(u8::is_ascii_alphanumeric);
    !word.is_empty() && word.iter().all(u8::is_ascii_digit) && !named
}

/// What identifies a frame: its text without moving numbers, bars, spinners.
fn key(text: &str) -> String {
    let bytes = text.as_bytes();
    let counted = hits(text).all(|at| is_denied(bytes, at) || is_count(bytes, at));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_digit() && !before.is_alphanumeric() {
            let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ':');
            let after = rest.trim_start_matches(digits);
            let (number, _) = rest.split_at(rest.len() - after.len());
            if !counted && !is_moving(before, after) {
                out.push_str(number);
                out.push(' ');
            }
            before = '0';
            rest = after;
            continue;
        }
        let mut chars = rest.chars();
        chars.next();
        rest = chars.as_str();
        let inner = before.is_alphanumeric() && rest.starts_with(char::is_alphanumeric);
        if is_letter(c) || (inner && !c.is_whitespace() && !counted) {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Letters and digits inside words; the Braille spinner block is not among them.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !('\u{2800}'..='\u{28ff}').contains(&c)
}

/// True when a number between `before` and `after` is a percentage, a size, a
/// time or a part of `n/m`.
fn is_moving(before: char, after: &str) -> bool {
    let unit_end = after.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let (unit, _) = after.split_at(after.len() - unit_end.len());
    let fraction = after.strip_prefix('/').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    fraction || before == '/' || UNITS.iter().any(|u| u.eq_ignore_ascii_case(unit))
}

/// True when `part` stands in `whole` with no letter or digit touching it.
fn contains_whole(whole: &str, part: &str) -> bool {
    whole.match_indices(part).any(|(at, _)| {
        let (head, tail) = whole.split_at(at);
        let after = tail.split_at(part.len()).1;
        !head.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_words_and_their_denials() {
        for text in ["Error: x", "2 FAILED", "disk 1 failed", "WARNING low", "panicked", "timed out"] {
            assert!(names_error(text), "{text}");
        }
        for text in ["", "50 %", "0 failed", "no errors", "0 errors, 3 passed", "ok"] {
            assert!(!names_error(text), "{text}");
        }
    }

    #[test]
    fn moving_numbers_do_not_make_a_new_frame() {
        let same = [
            ("| error on a 10%", "/ error on a 20%"),
            ("(1 FAILED) 3 of 9", "(2 FAILED) 7 of 9"),
            ("error: retry in 10s", "error: retry in 9s"),
            ("warn 3/90 x", "warn 4/90 x"),
        ];
        for (a, b) in same {
            assert_eq!(key(a), key(b), "{a} {b}");
        }
        let other = [
            ("disk 1 failed", "disk 2 failed"),
            ("error 404 on a", "error 500 on a"),
            ("error: a.b", "error: ab"),
            ("error E1 2", "error E12"),
        ];
        for (a, b) in other {
            assert_ne!(key(a), key(b), "{a} {b}");
        }
    }

    #[test]
    fn a_shown_frame_is_not_missing() {
        let mut held = Held::default();
        held.keep(" error 1 ");
        held.keep("fine");
        held.keep("error 2");
        assert_eq!(held.missing("error 12").collect::<Vec<_>>(), ["error 1", "error 2"]);
        assert_eq!(held.missing("an error 2!").collect::<Vec<_>>(), ["error 1"]);
    }
}
