//! What is equal in two lines that differ only in numbers, hex strings and quoted parts.

/// A hash of `line` with digits, hex runs that hold a digit, and quoted parts masked, blanks squeezed.
pub(crate) fn template(line: &str) -> u64 {
    let bytes = line.trim_ascii().as_bytes();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        at += match b {
            b'0'..=b'9' => {
                hash.add(b'#');
                run(bytes, at, |b| b.is_ascii_hexdigit() || matches!(b, b'.' | b'x' | b':'))
            }
            b'a'..=b'f' | b'A'..=b'F' if starts_hex(bytes, at) => {
                hash.add(b'#');
                run(bytes, at, |b| b.is_ascii_hexdigit())
            }
            b'\'' | b'`' | b'"' => match closing(bytes, at, b) {
                Some(len) => {
                    hash.add(b'\'');
                    len
                }
                None => {
                    hash.add(b);
                    1
                }
            },
            b' ' | b'\t' => {
                hash.add(b' ');
                run(bytes, at, |b| matches!(b, b' ' | b'\t'))
            }
            _ => {
                hash.add(b);
                1
            }
        };
    }
    hash.0
}

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

fn run(bytes: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| is(**b)).count().max(1)
}

/// A word of at least six hex digits, one of them 0 to 9, that begins here.
fn starts_hex(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| bytes.get(i));
    let len = run(bytes, at, |b| b.is_ascii_hexdigit());
    let word = bytes.get(at..at + len).unwrap_or(&[]);
    !before.is_some_and(u8::is_ascii_alphanumeric)
        && len >= 6
        && word.iter().any(u8::is_ascii_digit)
        && !bytes.get(at + len).is_some_and(u8::is_ascii_alphanumeric)
}

/// Length of a quoted part of at most 200 bytes, both quotes included.
fn closing(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let rest = bytes.get(at + 1..)?;
    memchr::memchr(quote, rest.get(..200).unwrap_or(rest)).map(|n| n + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_what_varies() {
        for (a, b) in [
            ("warning: unused variable: `x`", "  warning: unused variable: `count`"),
            ("took 12 ms", "took  7 ms"),
            ("commit 3fa9c01", "commit 9ab00c1d"),
            ("at 0x7ffe12 in 'a b'", "at 0x1 in 'c'"),
        ] {
            assert_eq!(template(a), template(b), "{a}");
        }
        for (a, b) in [("unused x", "unused y"), ("a decade", "a facade"), ("it's 1", "its 1")] {
            assert_ne!(template(a), template(b), "{a}");
        }
    }
}
