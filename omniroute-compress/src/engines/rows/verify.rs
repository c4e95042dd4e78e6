//! Run-time proof: compares what the decoder says with the source, piece by piece, holding neither.

use super::decode::{Sink, Step, Stop, decode_into};
use super::json::{byte, is_space, part, space, string_end, value_end};
use super::strings::{means, same_string};

/// Whether `block` decodes to exactly the checked document `src`: same key order, same number
/// spelling, same strings by code point. `lines`: the source is a sequence of objects.
pub(crate) fn verify(block: &str, src: &[u8], lines: bool) -> bool {
    let mut compare = Compare { src, at: space(src, 0), lines };
    decode_into(block, usize::MAX, &mut compare).is_ok() && space(src, compare.at) == src.len()
}

struct Compare<'a> {
    src: &'a [u8],
    /// Everything before is accounted for.
    at: usize,
    lines: bool,
}

impl Compare<'_> {
    /// Token by token, when the source has white space or other escapes.
    fn tokens(&mut self, piece: &[u8]) -> Step {
        let mut from = 0;
        while from < piece.len() {
            self.at = space(self.src, self.at);
            let first = byte(piece, from);
            match first {
                b' ' | b'\t' | b'\n' | b'\r' => from += 1,
                b'{' | b'}' | b'[' | b']' | b',' | b':' if first == byte(self.src, self.at) => {
                    self.at += 1;
                    from += 1;
                }
                _ => {
                    let to = value_end(piece, from).max(from + 1);
                    self.scalar(part(piece, from, to))?;
                    from = to;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn scalar(&mut self, ours: &[u8]) -> Step {
        let rest = self.src.get(self.at..).unwrap_or(&[]);
        let string = byte(ours, 0) == b'"';
        if string && rest.starts_with(ours) {
            self.at += ours.len();
            return Ok(());
        }
        let end = value_end(rest, 0);
        let theirs = part(rest, 0, end);
        if ours != theirs && !(string && byte(theirs, 0) == b'"' && same_string(ours, theirs)) {
            return Err(Stop::Differs);
        }
        self.at += end;
        Ok(())
    }
}

impl Sink for Compare<'_> {
    fn open(&mut self) -> Step {
        if self.lines { Ok(()) } else { self.text(b"[") }
    }

    fn next(&mut self) -> Step {
        if !self.lines {
            return self.text(b",");
        }
        if is_space(byte(self.src, self.at)) { Ok(()) } else { Err(Stop::Differs) }
    }

    fn close(&mut self) -> Step {
        if self.lines { Ok(()) } else { self.text(b"]") }
    }

    #[inline]
    fn text(&mut self, piece: &[u8]) -> Step {
        if self.src.get(self.at..).is_some_and(|rest| rest.starts_with(piece)) {
            self.at += piece.len();
            return Ok(());
        }
        self.tokens(piece)
    }

    #[inline]
    fn json(&mut self, piece: &[u8]) -> Step {
        self.text(piece)
    }

    #[inline]
    fn bare(&mut self, text: &[u8], simple: bool) -> Step {
        let src = self.src;
        self.at = space(src, self.at);
        let end = self.at + 1 + text.len();
        if byte(src, self.at) == b'"' && byte(src, end) == b'"' && part(src, self.at + 1, end) == text {
            // A backslash in the cell is itself, in the source it begins an escape.
            if simple || !text.contains(&b'\\') {
                self.at = end + 1;
                return Ok(());
            }
        }
        let end = string_end(src, self.at);
        if byte(src, self.at) == b'"' && means(part(src, self.at, end), text) {
            self.at = end;
            return Ok(());
        }
        Err(Stop::Differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_values_apart() {
        for (block, source, same) in [
            ("{\"a\":[1.0,\"é\"]}", " { \"a\" : [ 1.0, \"\\u00e9\" ] } ", true),
            ("{\"a\":1}", "{\"a\":1.0}", false),
            ("{\"a\":1}", "{\"a\":10}", false),
            ("{\"a\":10}", "{\"a\":1}", false),
            ("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", false),
            ("{\"a\":1}", "{\"a\":1,\"b\":2}", false),
            ("{\"a\":\"\"}", "{\"a\":null}", false),
            ("[2 rows] a:s\nx\\ny\nz", "[{\"a\":\"x\\ny\"},{\"a\":\"z\"}]", false),
            ("[2 rows] a:s\nx\\ny\nz", "[{\"a\":\"x\\\\ny\"},{\"a\":\"z\"}]", true),
            ("[2 rows] a:s\n1\n2", "[{\"a\":1},{\"a\":2}]", false),
            ("[2 rows] a:n?\n~\n-", "[{},{\"a\":null}]", true),
            ("[2 rows] a:n?\n-\n~", "[{},{\"a\":null}]", false),
            ("[2 rows] a:n\n1\n2", "[{\"a\":1},{\"a\":2},{\"a\":3}]", false),
            ("[3 rows] a:n\n1\n2\n3", "[{\"a\":1},{\"a\":2}]", false),
        ] {
            assert_eq!(verify(block, source.as_bytes(), false), same, "{block} against {source}");
        }
        assert!(verify("[2 rows] a:n\n1\n2", b"{\"a\":1}\n{ \"a\" : 2 }\n", true));
        assert!(!verify("[2 rows] a:n\n1\n2", b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}", true));
    }
}
