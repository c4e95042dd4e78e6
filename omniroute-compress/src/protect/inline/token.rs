//! One run of letters, digits and signs: a word, or something with a meaning of its own.

use memchr::memmem;

use super::super::line::line_end;
use super::super::{Kind, Word};
use super::{Walk, width};

/// Words that make a line one that tells of an error.
const ERRORS: [&[u8]; 12] = [
    b"error",
    b"errors",
    b"exception",
    b"exceptions",
    b"fatal",
    b"panic",
    b"panicked",
    b"failed",
    b"failure",
    b"failures",
    b"traceback",
    b"segfault",
];

/// Words behind a number that belong to it.
const UNITS: [&[u8]; 60] = [
    b"ms", b"us", b"ns", b"s", b"sec", b"secs", b"second", b"seconds", b"min", b"mins", b"minute",
    b"minutes", b"h", b"hour", b"hours", b"day", b"days", b"week", b"weeks", b"month", b"months", b"year",
    b"years", b"b", b"kb", b"mb", b"gb", b"tb", b"kib", b"mib", b"gib", b"byte", b"bytes", b"bits", b"hz",
    b"khz", b"mhz", b"ghz", b"px", b"pt", b"em", b"rem", b"percent", b"tokens", b"lines", b"rows", b"times",
    b"usd", b"eur", b"dollars", b"euros", b"km", b"m", b"cm", b"mm", b"kg", b"g", b"am", b"pm", b"rps",
];

impl Walk<'_, '_> {
    /// One run of letters, digits and signs: a word, or something with a meaning of its own.
    pub(super) fn token(&mut self, at: usize) -> usize {
        let mut end = at;
        let mut seen = 0_u8;
        while let Some(&b) = self.bytes.get(end) {
            match CLASS.get(usize::from(b)).copied().unwrap_or(STOP) {
                STOP => break,
                WIDE => {
                    // Long dashes, dots and arrows stand between words; the apostrophe within one.
                    let third = self.bytes.get(end + 2).copied().unwrap_or(0);
                    let apostrophe = self.bytes.get(end + 1) == Some(&0x80) && matches!(third, 0x98 | 0x99);
                    if b == 0xE2 && apostrophe && end > at {
                        seen |= APOSTROPHE;
                    } else {
                        break;
                    }
                    end += 3;
                }
                class => {
                    seen |= class;
                    end += 1;
                }
            }
        }
        let end = end.min(self.bytes.len());
        if end == at {
            // Not at an ASCII sign: those all have a class.
            return at + width(self.bytes.get(at).copied().unwrap_or(0));
        }
        self.judge(at, end, seen)
    }

    fn judge(&mut self, at: usize, end: usize, seen: u8) -> usize {
        let (mut start, mut stop) = (at, end);
        while start < stop && matches!(self.bytes.get(start), Some(b'(')) {
            start += 1;
        }
        let opened = memchr::memchr(b'(', self.bytes.get(start..stop).unwrap_or(&[])).is_some();
        while stop > start {
            let part = self.bytes.get(start..stop).unwrap_or(&[]);
            match part.last() {
                Some(b'.' | b',' | b';' | b':' | b'!' | b'?' | b'\'') => stop -= 1,
                Some(b')') if !opened => stop -= 1,
                _ => break,
            }
        }
        let core = self.bytes.get(start..stop).unwrap_or(&[]);
        // Nothing, or the sign of an item.
        if core.iter().all(|b| matches!(b, b'-' | b'*' | b'+' | b'=' | b'&')) {
            return end;
        }
        if seen & (DIGIT | SIGN) == 0 && plain(core, seen) {
            if is_error(core) {
                return self.error_line(start);
            }
            let (start, stop) = (start as u32, stop as u32);
            self.out.words.push(Word { start, end: stop });
            return end;
        }
        if core.ends_with(b"Error") || core.ends_with(b"Exception") {
            return self.error_line(start);
        }
        let kind = kind_of(core, seen);
        let stop = if kind == Kind::Number { self.with_unit(stop) } else { stop };
        // A dash that joins two words is left as it is, but is no name.
        self.span(start, stop, kind);
        end.max(stop)
    }

    /// Protects the whole line that `at` is in.
    fn error_line(&mut self, at: usize) -> usize {
        let end = line_end(self.bytes, at);
        self.span(self.line_start, end, Kind::ErrorLine);
        // What was open on this line is closed with it.
        self.quote = self.quote.filter(|open| *open < self.line_start);
        self.forget_brackets(self.line_start);
        (self.line_start, self.line_dead) = (end, 0);
        end
    }

    /// Takes the unit behind a number in.
    fn with_unit(&self, stop: usize) -> usize {
        let rest = self.bytes.get(stop..).unwrap_or(&[]);
        let Some((b' ', rest)) = rest.split_first() else { return stop };
        let length = rest.iter().take(12).take_while(|b| b.is_ascii_alphabetic()).count();
        let word = rest.get(..length).unwrap_or(&[]);
        let ends = !rest.get(length).is_some_and(|b| b.is_ascii_alphanumeric() || *b >= 0x80);
        let unit = ends && UNITS.iter().any(|u| u.eq_ignore_ascii_case(word));
        if unit { stop + 1 + length } else { stop }
    }
}

fn is_error(word: &[u8]) -> bool {
    matches!(word.first().map(u8::to_ascii_lowercase), Some(b'e' | b'f' | b'p' | b't' | b's'))
        && word.len() >= 5
        && ERRORS.iter().any(|error| error.eq_ignore_ascii_case(word))
}

/// Letters only, a capital at most at the start; dashes and apostrophes inside.
fn plain(core: &[u8], seen: u8) -> bool {
    if seen & DOT != 0
        && core.iter().any(|b| matches!(b, b'.' | b':' | b'(' | b')' | b',' | b';' | b'!' | b'?'))
    {
        return false;
    }
    if seen & DASH != 0 && core.first() == Some(&b'-') {
        return false;
    }
    seen & UPPER == 0 || !core.iter().skip(1).any(u8::is_ascii_uppercase)
}

fn kind_of(core: &[u8], seen: u8) -> Kind {
    let has = |b: u8| memchr::memchr(b, core).is_some();
    if memmem::find(core, b"://").is_some() || core.starts_with(b"www.") || core.starts_with(b"data:") {
        return Kind::Url;
    }
    if has(b'@') {
        return Kind::Email;
    }
    let first = core.first().copied().unwrap_or(0);
    let number = seen & DIGIT != 0
        && (first.is_ascii_digit()
            || (matches!(first, b'-' | b'+' | b'$' | b'.' | b'~' | b'<' | b'=')
                && core.get(1).is_some_and(|b| b.is_ascii_digit() || *b == b'.')));
    if number && !has(b'_') {
        return Kind::Number;
    }
    if has(b'/') || has(b'\\') {
        return Kind::Path;
    }
    Kind::Identifier
}

const STOP: u8 = 0;
const LETTER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const SIGN: u8 = 8;
const DOT: u8 = 16;
const DASH: u8 = 32;
const APOSTROPHE: u8 = 64;
const WIDE: u8 = 128;

/// What each byte is inside a token.
static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [SIGN; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = match b as u8 {
            b'a'..=b'z' => LETTER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'.' | b',' | b';' | b':' | b'!' | b'?' | b'(' | b')' => DOT,
            b'-' => DASH,
            b'\'' => APOSTROPHE,
            b'`' | b'"' | b'{' | b'}' | b'[' | b']' | b'<' => STOP,
            0..=b' ' | 0x7F => STOP,
            // Letters with accents, other alphabets.
            0x80..=0xC1 | 0xC3..=0xDF | 0xE0 | 0xE1 => LETTER,
            0xC2 | 0xE2 => WIDE,
            0xE3..=0xFF => STOP,
            _ => SIGN,
        };
        b += 1;
    }
    table
}
