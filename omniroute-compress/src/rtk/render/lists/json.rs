//! JSON documents without the blanks between their tokens. Nothing else is touched: order, numbers, escapes and
//! repeated keys stay as they are.

use crate::rtk::kit::{Draft, Level, Output, Verdict};

/// One document, or several one after the other, each of which gets a line.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let Some(small) = minified(out.text) else { return Verdict::NotMine };
    if out.level == Level::Minimal || small.len() >= out.text.trim_ascii_end().len() {
        return Verdict::Done;
    }
    for i in 0..out.len() {
        draft.cover(i);
    }
    draft.insert(0, &small);
    Verdict::Done
}

/// The documents without blanks, one a line; `None` if the text is anything else than whole JSON documents.
fn minified(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut small = Vec::with_capacity(bytes.len());
    let (mut open, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                if open.is_empty() && !small.is_empty() {
                    small.push(b'\n');
                }
                open.push(byte);
                small.push(byte);
            }
            b'}' | b']' => {
                let wanted = if byte == b'}' { b'{' } else { b'[' };
                if open.pop() != Some(wanted) {
                    return None;
                }
                small.push(byte);
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ if open.is_empty() => return None,
            b'"' => {
                let end = string_end(bytes, at)?;
                small.extend_from_slice(bytes.get(at..=end)?);
                at = end;
            }
            b',' | b':' => small.push(byte),
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'E' | b'e' | b'a'..=b'd' | b'f'..=b'z' => {
                // Two words with only blanks between them would become one.
                let before = at.checked_sub(1).and_then(|i| bytes.get(i));
                if small.last().is_some_and(u8::is_ascii_alphanumeric)
                    && before.is_some_and(u8::is_ascii_whitespace)
                {
                    return None;
                }
                small.push(byte);
            }
            _ => return None,
        }
        at += 1;
    }
    if !open.is_empty() || small.is_empty() {
        return None;
    }
    String::from_utf8(small).ok()
}

/// Index of the quote that ends the string opened at `start`. A line end inside is no JSON.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            b'\n' => return None,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_between_tokens_go() {
        for (text, wanted) in [
            (
                "{\n  \"a b\": [1, 2.50e+3, -0],\n  \"c\": \" \\\" \\n \"\n}\n",
                "{\"a b\":[1,2.50e+3,-0],\"c\":\" \\\" \\n \"}",
            ),
            ("{\"a\": 1}\n{\"a\": 2}\n", "{\"a\":1}\n{\"a\":2}"),
            ("[ ]", "[]"),
            ("[true , null]", "[true,null]"),
        ] {
            assert_eq!(minified(text).as_deref(), Some(wanted));
        }
        for text in [
            "",
            "x",
            "{",
            "[}",
            "{\"a\": 1} trailing",
            "1",
            "[1 2]",
            "[\"a\nb\"]",
            "{\"a\": \"b}",
            "\"s\"",
            "[a b]",
        ] {
            assert_eq!(minified(text), None, "{text}");
        }
    }
}
