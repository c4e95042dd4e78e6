//! The template of a record: its text without numbers, identifiers, addresses and durations.
//!
//! One walk over the bytes cuts a text into literal parts and fields. What is done with them (a hash, a readable
//! text, a list of values) is the business of a [`Sink`].

use super::stamp::stamp;

/// Bytes of a text that are looked at.
const MAX_BYTES: usize = 1024;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number.
    Number,
    /// A duration.
    Duration,
    /// A UUID, a hex string, a mixture of letters and digits.
    Id,
    /// An address with or without a port.
    Address,
    /// A point in time.
    Time,
}

impl Kind {
    /// How it is written in a template.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Kind::Number => "<n>",
            Kind::Duration => "<t>",
            Kind::Id => "<id>",
            Kind::Address => "<ip>",
            Kind::Time => "<time>",
        }
    }
}

/// Takes the parts of a text.
pub(super) trait Sink {
    /// Text that belongs to the template.
    fn literal(&mut self, text: &[u8]);
    /// Text that does not; `at` is where it begins.
    fn field(&mut self, kind: Kind, at: usize, text: &[u8]);
}

/// Cuts the text between `from` and `to` into literal parts and fields.
pub(super) fn walk(line: &[u8], from: usize, to: usize, sink: &mut impl Sink) {
    let end = to.min(line.len()).min(from + MAX_BYTES);
    let Some(line) = line.get(..end) else { return };
    let (mut literal, mut at) = (from, from);
    while let Some(digit) = next_digit(line, at) {
        let start = word_start(line, literal, digit);
        let stop = word_end(line, digit);
        match uuid(line, literal, start).or_else(|| field(line, start, stop, end)) {
            Some((kind, start, stop)) => {
                sink.literal(line.get(literal..start).unwrap_or(&[]));
                sink.field(kind, start, line.get(start..stop).unwrap_or(&[]));
                literal = stop;
                at = stop;
            }
            None => at = stop,
        }
    }
    sink.literal(line.get(literal..).unwrap_or(&[]));
}

/// The first digit at or behind `at`; eight bytes at a time.
fn next_digit(line: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let rest = line.get(at..)?;
    let (words, _) = rest.as_chunks::<8>();
    for word in words {
        // Digits become values below ten; the lowest byte that is found is right.
        let values = u64::from_le_bytes(*word) ^ (ONES * 0x30);
        let below = values.wrapping_sub(ONES * 10) & !values & HIGHS;
        if below != 0 {
            return Some(at + below.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    line.get(at..)?.iter().position(u8::is_ascii_digit).map(|n| at + n)
}

fn word_start(line: &[u8], from: usize, at: usize) -> usize {
    let before = line.get(from..at).unwrap_or(&[]);
    at - before.iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count()
}

fn word_end(line: &[u8], at: usize) -> usize {
    at + line.get(at..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_alphanumeric()).count()
}

/// A UUID that begins with the word at `start` or holds it: its first groups may be without a digit.
fn uuid(line: &[u8], from: usize, start: usize) -> Option<(Kind, usize, usize)> {
    let dash = |at: usize| line.get(at) == Some(&b'-');
    let first = if dash(start + 8) {
        Some(start)
    } else if start > 0 && dash(start - 1) {
        [9, 14, 19, 24]
            .into_iter()
            .filter_map(|n| start.checked_sub(n))
            .find(|at| *at >= from && dash(at + 8) && dash(at + 13))
    } else {
        None
    }?;
    is_uuid(line.get(first..first + 36)).then_some((Kind::Id, first, first + 36))
}

fn digits(line: &[u8], at: usize, end: usize) -> usize {
    line.get(at..end).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count()
}

/// The field that begins in the word `at..stop`: kind, first byte, byte behind it.
fn field(line: &[u8], at: usize, stop: usize, end: usize) -> Option<(Kind, usize, usize)> {
    let text = line.get(at..stop)?;
    let letters = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let tail = text.get(letters..)?;
    let number = tail.iter().take_while(|b| b.is_ascii_digit()).count();
    if number == 0 {
        return None;
    }
    let unit = tail.get(number..)?;
    if letters == 0 && unit.is_empty() {
        return number_field(line, at, stop, end);
    }
    if letters == 0 && unit.iter().all(u8::is_ascii_alphabetic) {
        if is_duration(unit) {
            return Some((Kind::Duration, at, stop));
        }
        return Some(if unit.len() > 2 && text.len() > 6 {
            (Kind::Id, at, stop)
        } else {
            (Kind::Number, at, at + number)
        });
    }
    if unit.is_empty() {
        let hex = text.len() >= 5 && text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
        let id = text.len() >= 16 || letters == 1 && number > 7 || hex;
        return Some(if id { (Kind::Id, at, stop) } else { (Kind::Number, at + letters, stop) });
    }
    let id = text.len() >= 4 || text.starts_with(b"0x");
    Some(if id { (Kind::Id, at, stop) } else { (Kind::Number, at + letters, at + letters + number) })
}

/// A word of digits, with what belongs to it: `1,234.5`, `10.0.0.1:80`, `2026-01-15T10:00:00Z`, `12.5ms`.
fn number_field(line: &[u8], at: usize, stop: usize, end: usize) -> Option<(Kind, usize, usize)> {
    let len = stop - at;
    if len == 3 && is_status(line, at, stop) || len == 2 && is_level(line, at) {
        return None;
    }
    let dated = (len == 4 || len == 2) && matches!(line.get(stop), Some(b'-' | b'/' | b':'));
    if dated && let Some(s) = stamp(line.get(at..end)?) {
        return Some((Kind::Time, at, at + s.len));
    }
    let (mut last, mut points, mut colons) = (stop, 0, 0);
    while matches!(line.get(last), Some(b'.' | b',' | b':')) {
        let more = digits(line, last + 1, end);
        if more == 0 {
            break;
        }
        points += usize::from(line.get(last) == Some(&b'.'));
        colons += usize::from(line.get(last) == Some(&b':'));
        last += 1 + more;
    }
    if points == 3 {
        return Some((Kind::Address, at, last));
    }
    if colons == 0 && last > stop || last == stop {
        let unit_end = word_end(line, last);
        let unit = line.get(last..unit_end).unwrap_or(&[]);
        if is_duration(unit) {
            return Some((Kind::Duration, at, unit_end));
        }
        if matches!(line.get(last..last + 3), Some([0xc2, 0xb5, b's'])) {
            return Some((Kind::Duration, at, last + 3));
        }
    }
    Some((Kind::Number, at, last))
}

fn is_duration(unit: &[u8]) -> bool {
    matches!(
        unit,
        b"ms" | b"s" | b"us" | b"ns" | b"m" | b"h" | b"sec" | b"secs" | b"seconds" | b"min" | b"mins"
    )
}

/// Three digits that are the status of an HTTP answer by what stands before them.
fn is_status(line: &[u8], at: usize, stop: usize) -> bool {
    let first = matches!(line.get(at), Some(b'1'..=b'5'));
    let behind = matches!(line.get(stop), None | Some(b' ' | b',' | b'}' | b'"' | b']' | b')' | b';'));
    if !first || !behind {
        return false;
    }
    let before = line.get(at.saturating_sub(40)..at).unwrap_or(&[]);
    if let Some(text) = before.strip_suffix(b" ") {
        let last = text.rsplit(|b| *b == b' ').next().unwrap_or(&[]);
        return last.starts_with(b"/")
            || last.ends_with(b"\"") && last.len() > 1
            || matches!(last, b"status" | b"status:" | b"HTTP" | b"code" | b"->" | b"=>")
            || last.starts_with(b"HTTP/");
    }
    let key = before.strip_suffix(b"=").or_else(|| before.strip_suffix(b":")).unwrap_or(&[]);
    let key = key.strip_suffix(b"\"").unwrap_or(key);
    [b"status".as_slice(), b"code", b"Status", b"Code", b"statusCode"].iter().any(|word| key.ends_with(word))
}

/// Two digits that are the level of a JSON record.
fn is_level(line: &[u8], at: usize) -> bool {
    line.get(..at).is_some_and(|l| l.ends_with(b"\"level\":") || l.ends_with(b"\"level\": "))
}

fn is_uuid(text: Option<&[u8]>) -> bool {
    let Some(text) = text.and_then(|t| t.first_chunk::<36>()) else { return false };
    let dashes = [8, 13, 18, 23].iter().all(|at| text.get(*at) == Some(&b'-'));
    dashes && text.iter().fold(0, |hex, b| hex + usize::from(b.is_ascii_hexdigit())) == 32
}

/// A hash of the template.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    /// Begins a hash.
    pub(super) fn new(seed: u64) -> Self {
        Hash(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The value.
    pub(super) fn value(self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    /// Adds bytes.
    pub(super) fn add(&mut self, text: &[u8]) {
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        // What is left is read as the last bytes of the text where it is long enough.
        let last = match rest {
            [] => text.len() as u64,
            [a] => u64::from(*a) | 0x0100_0000_0000_0000,
            [a, b] => u64::from(u16::from_le_bytes([*a, *b])) | 0x0200_0000_0000_0000,
            [a, b, c] => u64::from(u32::from_le_bytes([*a, *b, *c, 3])),
            [a, b, c, d, tail @ ..] => {
                let n = tail.len();
                let end = [rest.get(n), rest.get(n + 1), rest.get(n + 2), rest.get(n + 3)]
                    .map(|b| b.copied().unwrap_or(0));
                u64::from(u32::from_le_bytes([*a, *b, *c, *d])) | u64::from(u32::from_le_bytes(end)) << 32
            }
        };
        self.mix(last ^ (rest.len() as u64) << 61);
    }

    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x2545_f491_4f6c_dd1d);
    }
}

impl Sink for Hash {
    fn literal(&mut self, text: &[u8]) {
        self.add(text);
    }

    fn field(&mut self, _: Kind, _: usize, _: &[u8]) {
        self.mix(1);
    }
}

/// A hash that tells apart what a reader may need to tell apart in a warning: only digits are taken out, runs of
/// blanks count once.
pub(super) fn fine(text: &[u8]) -> u64 {
    let mut hash = Hash::new(7);
    let (mut digit, mut blank) = (false, false);
    for b in text.iter().take(100) {
        if b.is_ascii_digit() {
            if !digit {
                hash.mix(1);
            }
        } else if !(blank && b.is_ascii_whitespace()) {
            hash.mix(u64::from(*b) + 2);
        }
        digit = b.is_ascii_digit();
        blank = b.is_ascii_whitespace();
    }
    hash.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(String);

    impl Sink for Text {
        fn literal(&mut self, text: &[u8]) {
            self.0.push_str(&String::from_utf8_lossy(text));
        }

        fn field(&mut self, kind: Kind, _: usize, _: &[u8]) {
            self.0.push_str(kind.sign());
        }
    }

    #[test]
    fn masks_what_varies() {
        for (line, expected) in [
            (
                "GET /api/items/933 200 40ms req=d12f5382-f126-abd5-8c59-19cca07313a1",
                "GET /api/items/<n> 200 <t> req=<id>",
            ),
            ("req=abcdefab-f126-abd5-8c59-19cca07313a1 x", "req=<id> x"),
            ("slow cache read: key=user:67 took 992ms", "slow cache read: key=user:<n> took <t>"),
            ("[pool-1-thread-5] heartbeat ok", "[pool-<n>-thread-<n>] heartbeat ok"),
            ("from 10.0.0.1:5432 at 2026-01-15T10:00:00.5Z", "from <ip> at <time>"),
            ("took 1,234.5 s and 12.5ms, 40% of 3kB", "took <n> s and <t>, <n>% of <n>kB"),
            ("pod api-7d9f8b6c5-eeaf4 of worker12", "pod api-<id>-<id> of worker<n>"),
            ("commit 3fa9c01b2 of v12 at 0x7ffe12", "commit <id> of v<n> at <id>"),
            ("\"GET / HTTP/1.1\" 503 12", "\"GET / HTTP/<n>\" 503 <n>"),
            ("{\"status\":404,\"ms\":404}", "{\"status\":404,\"ms\":<n>}"),
            ("took 345 ms", "took <n> ms"),
            ("café 5 日本", "café <n> 日本"),
            ("no numbers here-at_all", "no numbers here-at_all"),
        ] {
            let mut text = Text(String::new());
            walk(line.as_bytes(), 0, line.len(), &mut text);
            assert_eq!(text.0, expected);
        }
    }

    #[test]
    fn fine_hashes_keep_identifiers_apart() {
        assert_eq!(fine(b"a  12 b"), fine(b"a 7 b"));
        assert_ne!(fine(b"id a1b2"), fine(b"id c3d4"));
    }
}
