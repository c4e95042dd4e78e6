//! Private keys that span lines: PEM, SSH, PGP.

use memchr::memmem;

use super::bytes::{Set, byte, part, run};
use super::kind::Kind;

/// What is remembered between blocks, so that no part of a text is searched twice.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Where the next `-----END` at or after `from` stands; the end of the text if there is none.
    next: usize,
    from: usize,
    known: bool,
}

const END: &[u8] = b"-----END";

impl Ends {
    /// The first `-----END` at or after `at`.
    fn after(&mut self, text: &[u8], at: usize) -> Option<usize> {
        if !self.known || at < self.from || self.next < at {
            let found = memmem::find(part(text, at, text.len()), END);
            *self = Ends { next: found.map_or(text.len(), |n| at + n), from: at, known: true };
        }
        (self.next < text.len()).then_some(self.next)
    }
}

/// The private key whose first line has `PRIVATE KEY` at `anchor`. Without its end: as far as lines of base64 follow.
pub(super) fn private_key(text: &[u8], anchor: usize, ends: &mut Ends) -> Option<(usize, usize, Kind)> {
    let head = part(text, anchor.saturating_sub(32), anchor);
    let at = anchor - head.len() + memmem::rfind(head, b"-----BEGIN")?;
    let label = dashes(text, at + 10)?;
    if !part(text, at + 10, label).windows(11).any(|w| w == b"PRIVATE KEY") {
        return None;
    }
    let body = label + 5;
    let end = match ends.after(text, body) {
        // The end of another block: this one was cut off.
        Some(end) if !begins_between(text, body, end) => dashes(text, end + END.len()).map_or(end, |d| d + 5),
        _ => armour(text, body),
    };
    // A block without a line of base64 is prose about blocks.
    let mut line = body;
    let keyed = loop {
        let next = run(text, line, Set::BASE64, 40);
        if next >= line + 32 {
            break true;
        }
        line = next + 1;
        if line >= end {
            break false;
        }
    };
    keyed.then_some((at, end, Kind::PrivateKey))
}

fn begins_between(text: &[u8], from: usize, to: usize) -> bool {
    memmem::find(part(text, from, to), b"-----BEGIN").is_some()
}

/// Where the `-----` stands that closes a label; labels are short and in one line.
fn dashes(text: &[u8], at: usize) -> Option<usize> {
    let label = part(text, at, at + 48);
    let found = memmem::find(label, b"-----")?;
    label.iter().take(found).all(|b| *b == b' ' || b.is_ascii_alphanumeric()).then_some(at + found)
}

/// End of the lines of base64 that start at `at`; line ends may be written `\n`.
fn armour(text: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        let mut next = end;
        loop {
            next = match (byte(text, next), byte(text, next + 1)) {
                (b'\\', b'n' | b'r') => next + 2,
                (b'\n' | b'\r' | b' ' | b'\t', _) if next < text.len() => next + 1,
                _ => break,
            };
        }
        let line = run(text, next, Set::BASE64, 100_000);
        // Words are shorter than lines of base64; the last line may be short.
        if line - next < 40 {
            let last = end > at && line - next >= 4 && part(text, line - 1, line) == b"=";
            return if last { line } else { end };
        }
        end = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_only() {
        let line = "A1b2".repeat(16);
        let begin = format!("-----BEGIN {}-----", "RSA PRIVATE KEY");
        let whole = format!("{begin}\n{line}\n{line}==\n-----END RSA PRIVATE KEY-----");
        let rows = [
            (format!("{whole}\nrest"), Some(whole.len())),
            (format!("{begin}\n{line}\n{line}\ncut here"), Some(begin.len() + 130)),
            (format!("{begin}\n...\n-----END RSA PRIVATE KEY-----"), None),
            (format!("-----BEGIN CERTIFICATE-----\n{line}\n-----END CERTIFICATE-----"), None),
            (
                format!("{begin}\n{line}\nlog\n-----BEGIN X-----\n{line}\n-----END X-----"),
                Some(begin.len() + 65),
            ),
        ];
        for (text, expected) in rows {
            let found = private_key(text.as_bytes(), text.find("PRIVATE").unwrap_or(0), &mut Ends::default());
            assert_eq!(found.map(|f| f.1), expected, "{text}");
        }
    }
}
