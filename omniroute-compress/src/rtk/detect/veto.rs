//! What a text is before any tool is thought of: prose, source code, a numbered view.

use super::line::digits;
use super::sample::Sample;

/// What forbids the anchors to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Veto {
    /// Sentences or Markdown.
    Prose,
    /// Source code or configuration.
    Source,
    /// A gutter of line numbers.
    Gutter,
}

/// First words of lines of source code.
const KEYWORDS: &[&[u8]] = &[
    b"import",
    b"from",
    b"export",
    b"const",
    b"let",
    b"var",
    b"function",
    b"class",
    b"def",
    b"return",
    b"if",
    b"else",
    b"elif",
    b"for",
    b"while",
    b"use",
    b"pub",
    b"fn",
    b"impl",
    b"struct",
    b"enum",
    b"mod",
    b"package",
    b"func",
    b"type",
    b"interface",
    b"public",
    b"private",
    b"protected",
    b"static",
    b"void",
    b"int",
    b"#include",
    b"#define",
    b"namespace",
    b"using",
    b"switch",
    b"case",
    b"try",
    b"catch",
    b"async",
    b"await",
    b"require",
    b"end",
    b"assert",
    b"self",
    b"this",
    b"@Test",
    b"@Override",
    b"match",
    b"with",
];

/// Looks at the sampled lines only.
pub(super) fn veto(sample: &Sample<'_>) -> Option<Veto> {
    let (mut lines, mut sentences, mut markdown, mut source, mut gutter) = (0_usize, 0, 0, 0, 0);
    for raw in &sample.lines {
        let raw = raw.get(..raw.len().min(512)).unwrap_or_default().trim_ascii_end();
        let body = raw.trim_ascii_start();
        let Some(&first) = body.first() else { continue };
        lines += 1;
        if is_numbered(body) {
            gutter += 1;
            continue;
        }
        if is_sentence(body) {
            sentences += 1;
        } else if is_markdown(first, body) {
            markdown += 1;
        }
        if is_source(body) {
            source += 1;
        }
    }
    if lines == 0 {
        return None;
    }
    if gutter * 10 >= lines * 9 && lines >= 3 {
        return Some(Veto::Gutter);
    }
    if sentences * 10 >= lines * 4 || (markdown + sentences) * 2 > lines && markdown > 0 {
        return Some(Veto::Prose);
    }
    (source * 10 >= lines * 3).then_some(Veto::Source)
}

/// `  12\ttext`, `12│ text`, `12→text`, `12: text`, `12 | text`.
fn is_numbered(body: &[u8]) -> bool {
    digits(body).is_some_and(|rest| {
        rest.starts_with(b"\t")
            || rest.starts_with(b"|")
            || rest.starts_with(b" |")
            || rest.starts_with(b":") && !rest.get(1).is_some_and(u8::is_ascii_digit)
            || rest.starts_with("│".as_bytes())
            || rest.starts_with("→".as_bytes())
    })
}

/// Six words and more, an end mark, mostly letters.
fn is_sentence(body: &[u8]) -> bool {
    let (Some(first), Some(last)) = (body.first(), body.last()) else { return false };
    // Marks such as a tick open lines of tools; ideographs start at 0xe3.
    if !(first.is_ascii_alphabetic()
        || matches!(first, b'"' | b'\'' | b'(' | b'`')
        || (0xc3..0xe2).contains(first)
        || *first >= 0xe3)
    {
        return false;
    }
    if !matches!(last, b'.' | b'?' | b'!' | b':') && body.len() < 70 {
        return false;
    }
    let (mut words, mut letters, mut inside) = (0_usize, 0_usize, false);
    for byte in body {
        let letter = byte.is_ascii_alphabetic() || *byte >= 0x80;
        letters += usize::from(letter);
        words += usize::from(letter && !inside);
        inside = !byte.is_ascii_whitespace();
    }
    words >= 6
        && letters * 10 > body.len() * 7
        && (matches!(last, b'.' | b'?' | b'!' | b':') || letters * 100 > body.len() * 78)
}

/// Headings, bullets, quotes, tables, fences, links.
fn is_markdown(first: u8, body: &[u8]) -> bool {
    match first {
        b'#' => body.iter().find(|byte| **byte != b'#') == Some(&b' '),
        b'-' | b'*' => body.get(1) == Some(&b' ') && !body.ends_with(b"***"),
        b'>' => body.get(1) == Some(&b' '),
        b'|' => body.ends_with(b"|"),
        b'`' => body.starts_with(b"```"),
        b'[' => body.windows(2).take(200).any(|pair| pair == b"](" || pair == b"]:"),
        _ => false,
    }
}

fn is_source(body: &[u8]) -> bool {
    if matches!(body.last(), Some(b'{' | b'}' | b';' | b',' | b'('))
        || matches!(body, b")" | b"]" | b"});" | b"end" | b"then" | b"fi" | b"done")
    {
        return true;
    }
    let end = body
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'@' | b'_')))
        .unwrap_or(body.len());
    let head = body.get(..end).unwrap_or_default();
    let follows = body.get(end);
    matches!(follows, Some(b' ' | b'(' | b'.')) && KEYWORDS.contains(&head)
        || body.starts_with(b"//")
        || body.starts_with(b"/*")
}

#[cfg(test)]
mod tests {
    use super::{Veto, veto};
    use crate::rtk::detect::sample::Sample;

    #[test]
    fn prose_code_and_gutters() {
        for (text, expected) in [
            (
                "This is a sentence with enough words in it.\nAnd here we have another one of them.\n",
                Some(Veto::Prose),
            ),
            ("# Title\n\n- one\n- two\n- three\n", Some(Veto::Prose)),
            ("fn main() {\n    let x = 1;\n}\n", Some(Veto::Source)),
            ("     1\tfn main() {\n     2\t    x\n     3\t}\n", Some(Veto::Gutter)),
            ("12:use a;\n13:use b;\n14:use c;\n", Some(Veto::Gutter)),
            ("On branch main\nnothing to commit, working tree clean\n", None),
            ("", None),
        ] {
            assert_eq!(veto(&Sample::new(text)), expected, "{text:?}");
        }
    }
}
