//! What is the same in two states of one progress line, and how far the step is.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// A line with its numbers taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// Equal for lines that differ only in numbers, units, bars and spinners.
    pub(crate) key: u64,
    /// How far the step is: the per cent value, or the first of `3/10`, in thousandths.
    pub(crate) done: Option<u64>,
    /// Signs of a progress display.
    pub(crate) signs: u8,
}

/// `12%` stands in the line.
pub(crate) const PERCENT: u8 = 1;
/// A bar or a spinner stands in the line.
pub(crate) const BAR: u8 = 2;
/// A rate, a remaining or elapsed time.
pub(crate) const RATE: u8 = 4;
/// `3/10` stands in the line.
pub(crate) const COUNTER: u8 = 8;
/// A size with its unit.
pub(crate) const SIZE: u8 = 16;
/// A word for moving data or for work under way.
pub(crate) const WORD: u8 = 32;

const RATES: &[&str] = &["/s", "ETA", "eta ", "elapsed", "remaining", "--:--"];
const WORDS: &[&str] = &[
    "ownload",
    "pload",
    "eceiv",
    "xtract",
    "etch",
    "nstall",
    "ompil",
    "uild",
    "opy",
    "opied",
    "ransfer",
    "oading",
    "ync",
    "ompress",
    "ounting",
    "esolving deltas",
    "riting",
    "ncod",
    "rogress",
    "rocess",
    "ush",
    "ull",
    "erify",
    "ndex",
    "mport",
    "xport",
    "nalyz",
    "ashing",
    "aiting",
    "till ",
    "enerat",
    "tep",
    "Map:",
    "atch",
];

/// Reads a line. `None` if it is blank, very long or shows no sign of progress.
pub(crate) fn state(line: &str) -> Option<State> {
    let bytes = line.as_bytes();
    if bytes.len() > 512 || !bytes.iter().any(|b| b.is_ascii_digit() || *b >= 0xe2) {
        return None;
    }
    let mut s = State { key: 0xcbf2_9ce4_8422_2325, done: None, signs: 0 };
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        at += match b {
            b'0'..=b'9' if !inside_word(bytes, at) => number(bytes, at, &mut s),
            b' ' | b'\t' => 1,
            b'=' | b'#' | b'>' | b'.' | b'-' | b'*' | b'_' if run(bytes, at, |c| c == b) >= 3 => {
                s.signs |= BAR;
                run(bytes, at, |c| matches!(c, b'=' | b'#' | b'>' | b'.' | b'-' | b'*' | b'_' | b' '))
            }
            b'[' if bar(bytes, at) > 0 => {
                s.signs |= BAR;
                bar(bytes, at)
            }
            b'|' | b'/' | b'-' | b'\\' if alone(bytes, at) => 1,
            0xe2 if glyph(bytes, at) => {
                s.signs |= BAR;
                3
            }
            b':' if time_blank(bytes, at) => 1,
            _ => {
                s.key = (s.key ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
                1
            }
        };
    }
    s.signs |= words(bytes);
    (s.signs & !WORD != 0).then_some(s)
}

/// The signs that words of the line give.
fn words(bytes: &[u8]) -> u8 {
    static SEARCHER: OnceLock<AhoCorasick> = OnceLock::new();
    let searcher = SEARCHER.get_or_init(|| {
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(RATES.iter().chain(WORDS))
            .expect("the words are few and short")
    });
    let mut signs = 0;
    for found in searcher.find_iter(bytes) {
        signs |= if found.pattern().as_usize() < RATES.len() { RATE } else { WORD };
        if signs == RATE | WORD {
            break;
        }
    }
    signs
}

fn run(bytes: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| is(**b)).count()
}

/// The digit belongs to a name such as `layer2` or `a1b2c3`.
fn inside_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|i| bytes.get(i)).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Takes a number with its unit off; notes what it says.
fn number(bytes: &[u8], at: usize, s: &mut State) -> usize {
    let digits = run(bytes, at, |b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b':'));
    let rest = bytes.get(at + digits..).unwrap_or(&[]);
    let unit = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let word = rest.get(..unit).unwrap_or(&[]);
    let mut len = digits;
    if rest.first() == Some(&b'%') {
        s.signs |= PERCENT;
        s.done = s.done.or_else(|| Some(thousandths(bytes.get(at..at + digits).unwrap_or(&[]))));
        return digits + 1;
    }
    if is_size(word) {
        s.signs |= SIZE;
        len += unit;
    } else if matches!(word, b"s" | b"ms" | b"m" | b"h" | b"it" | b"sec" | b"secs" | b"min") {
        len += unit;
    } else if unit > 0 {
        // Part of a word such as `3d` or a hex string: it tells lines apart.
        for b in bytes.get(at..at + digits).unwrap_or(&[]) {
            s.key = (s.key ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        return digits;
    }
    if unit == 0 && rest.first() == Some(&b'/') && rest.get(1).is_some_and(u8::is_ascii_digit) {
        s.signs |= COUNTER;
        s.done = s.done.or_else(|| Some(thousandths(bytes.get(at..at + digits).unwrap_or(&[]))));
    }
    len.max(1)
}

fn is_size(word: &[u8]) -> bool {
    matches!(
        word,
        b"B" | b"kB"
            | b"KB"
            | b"MB"
            | b"GB"
            | b"KiB"
            | b"MiB"
            | b"GiB"
            | b"K"
            | b"M"
            | b"G"
            | b"k"
            | b"kb"
            | b"mb"
            | b"bytes"
            | b"Mb"
            | b"Gb"
    )
}

/// `12.5` as 12500, at most six digits before the point.
fn thousandths(text: &[u8]) -> u64 {
    let mut value = 0_u64;
    let mut decimals = None;
    for b in text {
        match (b, decimals) {
            (b'0'..=b'9', None) if value < 1_000_000_000_000 => value = value * 10 + u64::from(b - b'0'),
            (b'0'..=b'9', Some(n)) if n < 3 => {
                value = value * 10 + u64::from(b - b'0');
                decimals = Some(n + 1);
            }
            (b'.', None) => decimals = Some(0),
            _ => {}
        }
    }
    value * 10_u64.pow(3 - decimals.unwrap_or(0_u32).min(3))
}

/// Length of a bar in brackets: `[====>    ]`.
fn bar(bytes: &[u8], at: usize) -> usize {
    let inner = run(bytes, at + 1, |b| {
        matches!(b, b'=' | b'#' | b'>' | b'.' | b'-' | b'*' | b' ' | b'<' | b'/' | b'+')
    });
    if inner >= 3 && bytes.get(at + 1 + inner) == Some(&b']') { inner + 2 } else { 0 }
}

/// A single character between blanks.
fn alone(bytes: &[u8], at: usize) -> bool {
    let blank = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_none_or(|b| *b == b' ');
    blank(at.checked_sub(1)) && blank(at.checked_add(1))
}

/// `:` inside `--:--:--`.
fn time_blank(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1) == Some(&b'-') && bytes.get(at + 2) == Some(&b'-')
}

/// A block element, a box line of a bar, or a Braille spinner.
fn glyph(bytes: &[u8], at: usize) -> bool {
    matches!(
        (bytes.get(at + 1), bytes.get(at + 2)),
        (Some(0x96), Some(0x80..=0xbf))
            | (Some(0x94), Some(0x80 | 0x81))
            | (Some(0x95), Some(0xb8 | 0xba))
            | (Some(0xa0..=0xa3), Some(_))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_one_step_are_equal() {
        for (a, b) in [
            (
                "Downloading x.bin:   4%|█      | 4/100 [00:00<00:09, 9.8it/s]",
                "Downloading x.bin:  50%|████   | 50/100 [00:05<00:05, 9.8it/s]",
            ),
            ("a1b2c3d4: Downloading [=>     ]  1.2MB/30MB", "a1b2c3d4: Downloading [====>  ]  12MB/30MB"),
            ("Receiving objects:   1% (1/100)", "Receiving objects:  77% (77/100), 3.2 MiB | 1.1 MiB/s"),
            ("\u{280b} resolving 1", "\u{2819} resolving 2"),
            ("aws_x.y: Still creating... [10s elapsed]", "aws_x.y: Still creating... [20s elapsed]"),
            ("   ━━━━━ 1.2/3.4 MB 10.2 MB/s eta 0:00:01", "   ━━━━━━━━━ 3.1/3.4 MB 9.2 MB/s eta 0:00:00"),
        ] {
            let (x, y) = (state(a), state(b));
            assert!(x.is_some() && y.is_some(), "{a}");
            if !a.starts_with("Receiving") {
                assert_eq!(x.map(|s| s.key), y.map(|s| s.key), "{a}");
            }
        }
        assert_eq!(state("x 12.5%").and_then(|s| s.done), Some(12_500));
        assert_eq!(state("x 3/10").and_then(|s| s.done), Some(3_000));
        assert_ne!(state("a1: 50% 1/2").map(|s| s.key), state("b2: 50% 1/2").map(|s| s.key));
        assert_eq!(state("nothing here"), None);
        assert_eq!(state(""), None);
    }
}
