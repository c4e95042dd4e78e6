//! Sets of bytes, edges of words and cheap measures of how random a text looks.

use memchr::memmem;

/// A set of ASCII bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Set(u128);

impl Set {
    pub(super) const HEX: Set = Set::of(b"0-9a-f");
    pub(super) const HEX_ANY: Set = Set::of(b"0-9a-fA-F");
    pub(super) const DIGITS: Set = Set::of(b"0-9");
    pub(super) const LOWER36: Set = Set::of(b"0-9a-z");
    pub(super) const UPPER36: Set = Set::of(b"0-9A-Z");
    pub(super) const ALNUM: Set = Set::of(b"0-9A-Za-z");
    pub(super) const WORD: Set = Set::of(b"0-9A-Za-z_");
    pub(super) const URL64: Set = Set::of(b"0-9A-Za-z_\\-");
    pub(super) const URL64_EQ: Set = Set::of(b"0-9A-Za-z_\\-=");
    pub(super) const BASE64: Set = Set::of(b"0-9A-Za-z+/=");
    /// What RFC 6750 allows in a bearer token, and the colon.
    pub(super) const BEARER: Set = Set::of(b"0-9A-Za-z+/=_\\-.~:");
    /// What may stand before a name that begins its line.
    pub(super) const INDENT: Set = Set::of(b" \t\\-+#*>");
    pub(super) const AZURE: Set = Set::of(b"0-9A-Za-z_\\-.~");
    /// Names of kinds.
    pub(super) const MARKER: Set = Set::of(b"a-z\\-");
    /// Values of URL parameters.
    pub(super) const QUERY: Set = Set::of(b"0-9A-Za-z+/=_\\-.~:%*!@$,");
    /// Values of cookies.
    pub(super) const COOKIE: Set = Set::of(b"!#-&(-+\\-./0-9:<-@A-Z_`a-z|~");
    /// Letters of a name on the left of an assignment.
    pub(super) const NAME: Set = Set::of(b"0-9A-Za-z_\\-.");

    /// Ranges as in a regular expression; a backslash takes the next byte as it is.
    const fn of(spec: &[u8]) -> Set {
        let mut bits = 0u128;
        let mut at = 0;
        while at < spec.len() {
            if spec[at] == b'\\' {
                at += 1;
            } else if at + 2 < spec.len() && spec[at + 1] == b'-' {
                let mut byte = spec[at];
                while byte <= spec[at + 2] {
                    bits |= 1 << byte;
                    byte += 1;
                }
                at += 3;
                continue;
            }
            bits |= 1 << spec[at];
            at += 1;
        }
        Set(bits)
    }

    pub(super) const fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }
}

/// The byte at `at`, or a line feed outside.
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(b'\n')
}

/// The byte before `at`, or a line feed at the start.
pub(super) fn before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b'\n', |at| byte(bytes, at))
}

/// The bytes of a range, or nothing when it does not lie inside.
pub(super) fn part(bytes: &[u8], from: usize, to: usize) -> &[u8] {
    bytes.get(from..to.min(bytes.len())).unwrap_or(&[])
}

/// End of the run of `set` that starts at `at`, at most `max` bytes further. Five hyphens belong to no token: a
/// block starts there.
pub(super) fn run(bytes: &[u8], at: usize, set: Set, max: usize) -> usize {
    let tail = part(bytes, at, at.saturating_add(max));
    let length = tail.iter().position(|b| !set.has(*b)).unwrap_or(tail.len());
    let dashes = if set.has(b'-') { memmem::find(part(tail, 0, length), b"-----") } else { None };
    at + dashes.unwrap_or(length)
}

/// Start of the run of `set` that ends at `at`, at most `max` bytes back.
pub(super) fn run_back(bytes: &[u8], at: usize, set: Set, max: usize) -> usize {
    let head = part(bytes, at.saturating_sub(max), at);
    at - head.iter().rev().position(|b| !set.has(*b)).unwrap_or(head.len())
}

/// First byte at or after `at` that is neither a blank nor a tab.
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

pub(super) fn is_word(byte: u8) -> bool {
    Set::WORD.has(byte)
}

/// Whether a word can start at `at`: after anything that is no letter, digit or `_`, after an escape such as `\n`,
/// `%3D`, `\u0026` or a terminal's colour code. A hyphen counts when it stands alone (a removed line of a diff).
pub(super) fn left_edge(bytes: &[u8], at: usize) -> bool {
    let last = before(bytes, at);
    if last == b']' {
        return !after_marker(bytes, at);
    }
    if last == b'-' {
        return !is_word(before(bytes, at - 1));
    }
    if !is_word(last) {
        return true;
    }
    let back = |n: usize| before(bytes, at.saturating_sub(n));
    match last {
        b'n' | b't' | b'r' if back(1) == b'\\' => true,
        b'm' => after_colour(bytes, at - 1),
        _ if !last.is_ascii_hexdigit() => false,
        _ => {
            let percent = at >= 3 && back(1).is_ascii_hexdigit() && back(2) == b'%';
            percent || part(bytes, at.saturating_sub(6), at).starts_with(b"\\u")
        }
    }
}

/// Whether one of our own markers ends at `at`. Where a secret stood no new word starts, else redacting twice would
/// find more than once.
pub(super) fn after_marker(bytes: &[u8], at: usize) -> bool {
    let Some(close) = at.checked_sub(1).filter(|close| byte(bytes, *close) == b']') else { return false };
    let name = run_back(bytes, close, Set::MARKER, 24);
    part(bytes, name.saturating_sub(10), name) == b"[REDACTED:"
}

/// Whether the `m` at `at` ends a colour code.
fn after_colour(bytes: &[u8], at: usize) -> bool {
    let digits = Set::of(b"0-9;:");
    let start = run_back(bytes, at, digits, 24);
    before(bytes, start) == b'[' && start >= 2 && before(bytes, start - 1) == 0x1b
}

/// Which classes of letters a text has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mix {
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digit: usize,
    /// Everything else, blanks too.
    pub(super) other: usize,
}

impl Mix {
    pub(super) fn of(text: &[u8]) -> Mix {
        let mut mix = Mix::default();
        for byte in text {
            match byte {
                b'a'..=b'z' => mix.lower += 1,
                b'A'..=b'Z' => mix.upper += 1,
                b'0'..=b'9' => mix.digit += 1,
                _ => mix.other += 1,
            }
        }
        mix
    }

    pub(super) fn letters(self) -> usize {
        self.lower + self.upper
    }

    /// Letters and digits both.
    pub(super) fn mixed(self) -> bool {
        self.letters() > 0 && self.digit > 0
    }

    /// How many of lower case, upper case and digits occur.
    pub(super) fn classes(self) -> usize {
        usize::from(self.lower > 0) + usize::from(self.upper > 0) + usize::from(self.digit > 0)
    }
}

/// Whether the text is as varied as one in which `symbols` bytes are equally frequent (collision entropy).
pub(super) fn varied(text: &[u8], symbols: usize) -> bool {
    let text = part(text, 0, 512);
    let mut counts = [0u32; 256];
    for byte in text {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let collisions: usize = counts.iter().map(|c| (*c as usize).pow(2)).sum();
    text.len().pow(2) >= symbols * collisions
}

/// Whether the text is words with `-`, `_`, `.` or `/` between them, each perhaps with a small number at its end.
pub(super) fn is_slug(text: &[u8]) -> bool {
    text.split(|b| matches!(b, b'-' | b'_' | b'.' | b'/')).all(|word| {
        let letters = word.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let (head, digits) = word.split_at(letters);
        let numbered = digits.len() <= 4 && digits.iter().all(u8::is_ascii_digit);
        // camelCase has few capitals, random letters are half capitals.
        let upper = head.iter().filter(|b| b.is_ascii_uppercase()).count();
        numbered && (upper == letters || upper * 4 <= letters + 3)
    })
}

/// Whether `text` is 8-4-4-4-12 hex digits.
pub(super) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Whether `text` holds `word` (given in lower case), whatever its case.
pub(super) fn holds(text: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return true };
    let last = text.len().saturating_sub(word.len() - 1);
    let starts = part(text, 0, last).iter().enumerate().filter(|(_, b)| *b | 0x20 == first | 0x20);
    starts.map(|(at, _)| part(text, at, at + word.len())).any(|own| own.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        for (text, expected) in [
            ("x", true),
            (" x", true),
            ("ax", false),
            ("_x", false),
            ("éx", true),
            ("\"x", true),
            ("\\nx", true),
            ("nx", false),
            ("%3Dx", true),
            ("3Dx", false),
            ("\\u0026x", true),
            ("\x1b[1;31mx", true),
            ("[31mx", false),
            ("-x", true),
            (" -x", true),
            ("a-x", false),
        ] {
            let at = text.trim_end_matches('x').len();
            assert_eq!(left_edge(text.as_bytes(), at), expected, "{text:?}");
        }
    }

    #[test]
    fn measures() {
        assert!(
            Set::URL64.has(b'-') && Set::URL64.has(b'_') && !Set::URL64.has(b'.') && !Set::ALNUM.has(b'_')
        );
        assert!(varied(b"0123456789abcdef", 16) && !varied(b"aaaaaaaaaaaaaaab", 2));
        for slug in ["fading-circle1-delay", "Linux-node-20", "someCamelCase", "MAX_SIZE", "foo.bar/baz2"] {
            assert!(is_slug(slug.as_bytes()), "{slug}");
        }
        for random in ["a8Kd-02kd9fK", "x9f3k2", "AbCdEfGhIjKL", "3f2a9c"] {
            assert!(!is_slug(random.as_bytes()), "{random}");
        }
        assert!(is_uuid(b"123e4567-e89b-12d3-a456-426614174000") && !is_uuid(&[b'a'; 36]));
    }
}
