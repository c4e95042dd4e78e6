//! What the parsers make of an output: findings, and for every line what it is.

use super::scan::Position;

/// How far the words of a finding are bound to the form the tool gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// An error message in a form that an agent may look for: the line stays as it is.
    Line,
    /// A warning message: the first of each kind stays as it is.
    First,
    /// An error message in a row below a file heading: its words stay together, each of them.
    Row,
    /// A row below a file heading: its words stay, the file may stand elsewhere.
    Words,
    /// Only position and content count.
    Free,
}

/// One finding.
#[derive(Debug, Clone)]
pub(crate) struct Finding<'t> {
    /// File, line, column, text.
    pub(crate) pos: Position<'t>,
    /// The line of the output that holds it.
    pub(crate) at: usize,
    /// How far its form is bound.
    pub(crate) bound: Bound,
    /// Whether it stands below a file heading without a path of its own.
    pub(crate) is_row: bool,
    /// Whether it only explains the finding before it.
    pub(crate) is_note: bool,
    /// A hash of the lines that belong to it besides code frames: advice, reasons.
    pub(crate) details: u64,
    /// The number of the run of findings it belongs to: same file, nothing foreign in between.
    pub(crate) run: u32,
    /// A row with a text of its own instead of the one in the output; used by block formats.
    pub(crate) own: bool,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing we know.
    Other,
    /// Blank.
    Blank,
    /// The line of the finding with this number.
    Finding(u32),
    /// A code frame of the finding with this number.
    Frame(u32),
    /// An indented line that belongs to the finding with this number.
    Detail(u32),
    /// A file heading.
    Heading,
    /// `file: In function 'f':`, of the file named there.
    Lead,
    /// Rulers and the like.
    Decoration,
}

/// A parsed output.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'t> {
    /// What each line is.
    pub(crate) kinds: Vec<Kind>,
    /// The findings in their order.
    pub(crate) findings: Vec<Finding<'t>>,
    /// Whether the output is one of our own.
    pub(crate) is_rendered: bool,
}

impl Parsed<'_> {
    /// Whether at least `percent` of the lines that are neither blank nor decoration are understood. A few lines of
    /// totals are always allowed.
    pub(crate) fn understands(&self, percent: usize) -> bool {
        let (mut known, mut all) = (0, 0);
        for kind in &self.kinds {
            match kind {
                Kind::Blank | Kind::Decoration => {}
                Kind::Other => all += 1,
                _ => {
                    known += 1;
                    all += 1;
                }
            }
        }
        let counted = all - (all - known).min(4).min(known / 2);
        known > 0 && known * 100 >= counted * percent
    }
}

/// A hash for texts that come from many places; the same on every platform.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    /// Of nothing.
    pub(crate) const fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    /// Adds one byte.
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Adds a text and its end.
    pub(crate) fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.byte(byte);
        }
        self.byte(0xff);
    }

    /// Adds another hash.
    pub(crate) fn number(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// The hash of one text.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hash = Hash::new();
    hash.text(text);
    hash.0
}

/// The hash of `text` with digits and quoted parts masked. `wide` also masks what stands in double and typographic
/// quotes.
pub(crate) fn masked(text: &str, wide: bool) -> u64 {
    let bytes = text.trim_ascii().as_bytes();
    let mut hash = Hash::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'0'..=b'9' => {
                hash.byte(b'#');
                bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count()
            }
            b'\'' | b'`' => quoted(bytes, at, &[byte], &mut hash),
            b'"' if wide => quoted(bytes, at, b"\"", &mut hash),
            0xe2 if wide && bytes.get(at..at + 3) == Some("\u{2018}".as_bytes()) => {
                quoted(bytes, at, "\u{2019}".as_bytes(), &mut hash)
            }
            b' ' | b'\t' => {
                hash.byte(b' ');
                bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| matches!(b, b' ' | b'\t')).count()
            }
            _ => {
                hash.byte(byte);
                1
            }
        };
    }
    hash.0
}

/// The length of the quoted part that begins here, masked; of one byte if no quote closes it within 200.
fn quoted(bytes: &[u8], at: usize, close: &[u8], hash: &mut Hash) -> usize {
    hash.byte(bytes.get(at).copied().unwrap_or(b'\''));
    let start = at + close.len();
    let end = bytes.len().min(start + 200);
    let inner = bytes.get(start..end).unwrap_or(&[]);
    let mut from = 0;
    while let Some(found) = close.first().and_then(|c| memchr::memchr(*c, inner.get(from..)?)) {
        let here = from + found;
        if inner.get(here..here + close.len()) == Some(close) {
            return close.len() + here + close.len();
        }
        from = here + 1;
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        for (a, b) in [("x 'a b' 12", "x  'c' 7"), ("`f` is", "`g` is"), ("a1b", "a22b")] {
            assert_eq!(masked(a, false), masked(b, false), "{a}");
        }
        assert_eq!(masked("x \u{2018}a\u{2019} y", true), masked("x \u{2018}bcd\u{2019} y", true));
        assert_ne!(masked("x \u{2018}a\u{2019} y", false), masked("x \u{2018}bcd\u{2019} y", false));
        assert_ne!(masked("x \"a\" y", false), masked("x \"b\" y", false));
        assert_ne!(masked("it's a", false), masked("it's b", false));
        assert_ne!(masked("x 'a' y", true), masked("x 'a' z", true));
    }
}
