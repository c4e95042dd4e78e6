//! Printers: recognises how a document was printed and prints it that way again.

use super::json::{byte, is_space, literal, part, space, string_end};
use super::strings::hex4;

/// White space between tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// None, as `JSON.stringify(x)`.
    Compact,
    /// One space after `,` and `:`, as Python's `json.dumps(x)`.
    OneSpace,
    /// One value a line, indented by `width` spaces (or tabs) a level, as `JSON.stringify(x, null, 2)`.
    Indent {
        /// Characters a level, 0 to 16.
        width: u8,
        /// Tabs instead of spaces.
        tab: bool,
    },
}

/// Spelling of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// Only what JSON demands.
    Minimal,
    /// Everything but printable ASCII as `\u` with lower-case digits, as Python's default.
    Ascii,
}

/// How a document was printed, if printing it again gives the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printer {
    /// White space between tokens.
    pub layout: Layout,
    /// Spelling of strings.
    pub escapes: Escapes,
    /// The document is JSON Lines: each element of the list on its own line, no brackets.
    pub lines: bool,
}

/// What a walk over the source tells.
#[derive(Debug)]
pub(crate) struct Style {
    /// The printer that gives exactly these bytes.
    pub(crate) printer: Option<Printer>,
    /// White space between tokens, in bytes.
    pub(crate) space: usize,
}

/// What stood before a gap between tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Start,
    Open,
    Comma,
    Colon,
    Value,
}

/// Recognises the printer of a checked document.
pub(crate) fn style(src: &[u8], lines: bool) -> Style {
    let mut layout = None;
    let (mut exact, mut minimal, mut ascii) = (true, true, true);
    let mut total = 0;
    let mut depth = 0usize;
    let mut before = Before::Start;
    let mut at = 0;
    while at < src.len() {
        let from = at;
        at = space(src, at);
        let c = byte(src, at);
        total += at - from;
        let spaced = matches!(before, Before::Comma | Before::Colon);
        let plain = match layout {
            Some(Layout::Compact) => at == from && depth > 0,
            Some(Layout::OneSpace) => {
                at - from == usize::from(spaced) && depth > 0 && (!spaced || byte(src, from) == b' ')
            }
            _ => false,
        };
        exact = exact && (plain || fits(&mut layout, before, c, part(src, from, at), depth));
        before = match c {
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                Before::Open
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
                Before::Value
            }
            b',' => {
                at += 1;
                Before::Comma
            }
            b':' => {
                at += 1;
                Before::Colon
            }
            b'"' => {
                at = string(src, at, &mut minimal, &mut ascii);
                Before::Value
            }
            _ => {
                while at < src.len()
                    && !matches!(byte(src, at), b',' | b'}' | b']')
                    && !is_space(byte(src, at))
                {
                    at += 1;
                }
                Before::Value
            }
        };
    }
    let escapes = if minimal { Escapes::Minimal } else { Escapes::Ascii };
    let printer = (exact && (minimal || ascii)).then(|| Printer {
        layout: layout.unwrap_or(Layout::Compact),
        escapes,
        lines,
    });
    Style { printer, space: total }
}

fn is_indent(gap: &[u8], width: usize, unit: u8) -> bool {
    matches!(gap, [b'\n', rest @ ..] if rest.len() == width && rest.iter().all(|c| *c == unit))
}

/// Whether the gap before the token `c` is what the layout asks for. The first gap that tells layouts
/// apart sets it.
fn fits(layout: &mut Option<Layout>, before: Before, c: u8, gap: &[u8], depth: usize) -> bool {
    let close = matches!(c, b'}' | b']');
    match before {
        Before::Start => return gap.is_empty(),
        Before::Open if close => return gap.is_empty(),
        _ if matches!(c, b':' | b',') => return gap.is_empty(),
        Before::Value if depth == 0 => return gap == b"\n",
        _ => {}
    }
    let known = match (*layout, before, gap) {
        (Some(known), ..) => known,
        (None, Before::Open, [b'\n', rest @ ..]) if rest.len() <= 16 => {
            Layout::Indent { width: rest.len() as u8, tab: byte(rest, 0) == b'\t' }
        }
        (None, Before::Comma | Before::Colon, b" ") => Layout::OneSpace,
        (None, Before::Comma | Before::Colon, b"") => Layout::Compact,
        (None, ..) => return gap.is_empty(),
    };
    *layout = Some(known);
    match (known, before) {
        (Layout::OneSpace, Before::Comma | Before::Colon) | (Layout::Indent { .. }, Before::Colon) => {
            gap == b" "
        }
        (Layout::Indent { width, tab }, _) => {
            let levels = depth - usize::from(close);
            is_indent(gap, levels * usize::from(width), if tab { b'\t' } else { b' ' })
        }
        _ => gap.is_empty(),
    }
}

/// Looks at the spelling of a string; returns its end.
fn string(src: &[u8], open: usize, minimal: &mut bool, ascii: &mut bool) -> usize {
    let found = literal(src, open);
    if found.simple {
        return found.end;
    }
    let inner = part(src, open + 1, found.end - 1);
    if *ascii && !inner.is_ascii() {
        *ascii = false;
    }
    if *ascii && inner.contains(&0x7f) {
        *ascii = false;
    }
    let mut at = 0;
    while let Some(slash) = memchr::memchr(b'\\', part(inner, at, inner.len())) {
        at += slash + 2;
        match byte(inner, at - 1) {
            b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f' => {}
            b'u' => {
                let code = hex4(inner, at);
                let lower = !part(inner, at, at + 4).iter().any(u8::is_ascii_uppercase);
                let forced = code < 0x20 && !matches!(code, 8 | 9 | 10 | 12 | 13);
                *minimal &= lower && forced;
                *ascii &= lower && (forced || code >= 0x7f);
            }
            _ => (*minimal, *ascii) = (false, false),
        }
    }
    found.end
}

/// Prints a canonical compact document.
pub(crate) fn print(canonical: &str, printer: Printer) -> String {
    let b = canonical.as_bytes();
    let mut out = Vec::with_capacity(b.len() + b.len() / 4);
    let mut depth = 0usize;
    let mut at = 0;
    while at < b.len() {
        let c = byte(b, at);
        let outer = printer.lines && depth == usize::from(c != b'[');
        match c {
            b'[' | b']' if outer => depth = usize::from(c == b'['),
            b',' if outer => out.push(b'\n'),
            b'{' | b'[' => {
                out.push(c);
                if matches!(byte(b, at + 1), b'}' | b']') {
                    at += 1;
                    out.push(byte(b, at));
                } else {
                    depth += 1;
                    line_break(&printer, depth, &mut out);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line_break(&printer, depth, &mut out);
                out.push(c);
            }
            b',' => {
                out.push(c);
                if printer.layout == Layout::OneSpace {
                    out.push(b' ');
                }
                line_break(&printer, depth, &mut out);
            }
            b':' => {
                out.push(c);
                if printer.layout != Layout::Compact {
                    out.push(b' ');
                }
            }
            b'"' => {
                let end = string_end(b, at);
                push_literal(part(b, at, end), printer.escapes, &mut out);
                at = end;
                continue;
            }
            _ => out.push(c),
        }
        at += 1;
    }
    String::from_utf8(out).unwrap_or_default()
}

fn line_break(printer: &Printer, depth: usize, out: &mut Vec<u8>) {
    if let Layout::Indent { width, tab } = printer.layout {
        let levels = depth - usize::from(printer.lines).min(depth);
        out.push(b'\n');
        out.extend(std::iter::repeat_n(if tab { b'\t' } else { b' ' }, levels * usize::from(width)));
    }
}

fn push_literal(literal: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
    if escapes == Escapes::Minimal || (literal.is_ascii() && !literal.contains(&0x7f)) {
        out.extend_from_slice(literal);
        return;
    }
    // Escapes that stand already are ASCII and stay as they are.
    for c in std::str::from_utf8(literal).unwrap_or("").chars() {
        if (' '..='~').contains(&c) {
            out.push(c as u8);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(b"\\u");
            let digit =
                |shift: u32| *b"0123456789abcdef".get(usize::from(*unit >> shift & 15)).unwrap_or(&b'0');
            out.extend_from_slice(&[digit(12), digit(8), digit(4), digit(0)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::strings::{push_compact, unquote};
    use super::*;

    #[test]
    fn recognised_documents_print_again() {
        let indent = |width, tab| Some((Layout::Indent { width, tab }, Escapes::Minimal));
        let spaced = Some((Layout::OneSpace, Escapes::Minimal));
        for (source, expected) in [
            (r#"{"a":[1,{"b":"é\n"}],"c":{}}"#, Some((Layout::Compact, Escapes::Minimal))),
            (r#"{"a": [1, {"b": "x"}], "c": []}"#, spaced),
            (r#"[1, 2]"#, spaced),
            (r#"["\u00e9\ud83d\ude00\u007f", 2]"#, Some((Layout::OneSpace, Escapes::Ascii))),
            ("{\n  \"a\": [\n    1,\n    {}\n  ]\n}", indent(2, false)),
            ("[\n    {\n        \"a\": 1\n    },\n    []\n]", indent(4, false)),
            ("{\n\t\"a\": [\n\t\t1\n\t]\n}", indent(1, true)),
            ("[\n{\n\"a\": 1\n}\n]", indent(0, false)),
            (r#"[{}, {"a": [[], 1]}]"#, spaced),
            (r#"[[[{"a":[]}]]]"#, Some((Layout::Compact, Escapes::Minimal))),
            ("{\r\n  \"a\": 1\r\n}", None),
            ("{\n  \"a\" : 1\n}", None),
            ("{\n  \"a\": [1, 2]\n}", None),
            ("{ \"a\": 1 }", None),
            ("{\"a\": 1,\"b\": 2}", None),
            (r#"["\u00E9"]"#, None),
            (r#"["\/"]"#, None),
            (r#"["\u0041"]"#, None),
            (r#"["é\u00e9"]"#, None),
            (r#"["\u000a"]"#, None),
            (r#"["\u001f"]"#, Some((Layout::Compact, Escapes::Minimal))),
        ] {
            let found = style(source.as_bytes(), false);
            assert_eq!(found.printer.map(|p| (p.layout, p.escapes)), expected, "{source}");
            let mut compact = Vec::new();
            push_compact(source.as_bytes(), &mut compact);
            let compact = String::from_utf8(compact).unwrap();
            if let Some(printer) = found.printer {
                assert_eq!(print(&compact, printer), source);
            }
        }
    }

    #[test]
    fn lines() {
        for (source, list, exact) in [
            ("{\"a\":1}\n{\"a\":[1,2]}", "[{\"a\":1},{\"a\":[1,2]}]", true),
            ("{\"a\": 1}\n{\"a\": {}}", "[{\"a\":1},{\"a\":{}}]", true),
            ("{\"a\":1}\n\n{\"a\":2}", "", false),
            ("{\"a\":1}\r\n{\"a\":2}", "", false),
        ] {
            let found = style(source.as_bytes(), true).printer;
            assert_eq!(found.map(|p| print(list, p)), exact.then(|| source.to_owned()), "{source}");
        }
    }

    #[test]
    fn unquoting_agrees_with_ascii_printing() {
        let mut out = Vec::new();
        push_literal("\"日本😀\u{7f}\\n\"".as_bytes(), Escapes::Ascii, &mut out);
        assert_eq!(unquote(&out), "日本😀\u{7f}\n");
    }
}
