//! Reading one word: quotes and escapes removed, expansions kept as written and named.

use std::borrow::Cow;

use super::nested;
use super::script::{Expands, Word};

/// A word and where it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read<'a> {
    /// The word; empty when no word can start at the index.
    pub(crate) word: Word<'a>,
    /// Index of the first byte behind it.
    pub(crate) end: usize,
    /// False when a quote or substitution in it had no end.
    pub(crate) closed: bool,
}

/// Reads the word that starts at `start`.
pub(crate) fn read(source: &str, start: usize) -> Read<'_> {
    let bytes = source.as_bytes();
    let slice = |from: usize, to: usize| source.get(from..to).unwrap_or_default();
    let plain = bytes.iter().skip(start).take_while(|byte| is_plain(**byte)).count();
    let mut at = start + plain;
    let substitution =
        plain == 0 && bytes.get(at + 1) == Some(&b'(') && matches!(bytes.get(at), Some(b'<' | b'>'));
    if bytes.get(at).is_none_or(|byte| ends_word(*byte)) && !opens_array(bytes, start, at) && !substitution {
        let word = Word { text: Cow::Borrowed(slice(start, at)), quoted: false, expands: Expands::No };
        return Read { word, end: at, closed: true };
    }
    let mut text = String::from(slice(start, at));
    let (mut quoted, mut expands) = (false, Expands::No);
    let mut closed = true;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' => {
                let end = nested::single(bytes, at);
                text.push_str(slice(at + 1, end.at - usize::from(end.closed)));
                (quoted, closed, at) = (true, closed & end.closed, end.at);
            }
            b'"' => {
                let end = nested::skip(bytes, at);
                let inner = slice(at + 1, end.at - usize::from(end.closed));
                expands = expands.max(unescape(inner, &mut text));
                (quoted, closed, at) = (true, closed & end.closed, end.at);
            }
            b'\\' => {
                let width = slice(at + 1, bytes.len()).chars().next().map_or(0, char::len_utf8);
                text.push_str(slice(at + 1, at + 1 + width).trim_start_matches('\n'));
                (quoted, at) = (true, at + 1 + width);
            }
            b'$' if bytes.get(at + 1) == Some(&b'\'') => {
                let end = ansi_quote(bytes, at + 1);
                text.push_str(slice(at + 2, end.at - usize::from(end.closed)));
                (quoted, closed, at) = (true, closed & end.closed, end.at);
            }
            b'$' | b'`' => {
                let (end, kind) = expansion(bytes, at);
                text.push_str(slice(at, end.at));
                expands = expands.max(kind);
                (closed, at) = (closed & end.closed, end.at);
            }
            b'<' | b'>' if at == start && substitution => {
                let end = nested::skip(bytes, at);
                text.push_str(slice(at, end.at));
                (expands, closed, at) = (Expands::Command, closed & end.closed, end.at);
            }
            b'(' if opens_array(bytes, start, at) => {
                let end = nested::skip(bytes, at);
                text.push_str(slice(at, end.at));
                (closed, at) = (closed & end.closed, end.at);
            }
            _ if ends_word(byte) => break,
            _ => {
                let run = bytes.iter().skip(at).take_while(|byte| is_plain(**byte)).count();
                text.push_str(slice(at, at + run.max(1)));
                at += run.max(1);
            }
        }
    }
    Read { word: Word { text: Cow::Owned(text), quoted, expands }, end: at, closed }
}

/// No quote, expansion or end of a word.
fn is_plain(byte: u8) -> bool {
    !ends_word(byte) && !matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`')
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// `name=(`: the bracket belongs to the word.
fn opens_array(bytes: &[u8], start: usize, at: usize) -> bool {
    at > start && bytes.get(at) == Some(&b'(') && bytes.get(at - 1) == Some(&b'=')
}

/// What starts with `$` or a backtick: its end and kind.
fn expansion(bytes: &[u8], at: usize) -> (nested::End, Expands) {
    let closed = |at| nested::End { at, closed: true };
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'`'), _) => (nested::skip(bytes, at), Expands::Command),
        (_, Some(b'(')) => (nested::skip(bytes, at), Expands::Command),
        (_, Some(b'{')) => {
            let end = nested::skip(bytes, at);
            let status = bytes.get(at..end.at).is_some_and(|name| name.starts_with(b"${PIPESTATUS"));
            (end, if status { Expands::Status } else { Expands::Variable })
        }
        (_, Some(b'?' | b'!' | b'$' | b'#')) => (closed(at + 2), Expands::Status),
        (_, Some(b'_' | b'@' | b'*' | b'-' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9')) => {
            let name = bytes
                .iter()
                .skip(at + 1)
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                .count();
            (closed(at + 1 + name.max(1)), Expands::Variable)
        }
        _ => (closed(at + 1), Expands::No),
    }
}

/// Copies the inside of double quotes, escapes removed; returns its strongest expansion.
fn unescape(inner: &str, text: &mut String) -> Expands {
    let bytes = inner.as_bytes();
    let mut expands = Expands::No;
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes.iter().skip(at).take_while(|byte| !matches!(byte, b'\\' | b'$' | b'`')).count();
        text.push_str(inner.get(at..at + run).unwrap_or_default());
        at += run;
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'\n')) => at += 2,
            (Some(b'\\'), Some(b'$' | b'`' | b'"' | b'\\')) => {
                text.push_str(inner.get(at + 1..at + 2).unwrap_or_default());
                at += 2;
            }
            (Some(b'\\'), _) => {
                text.push('\\');
                at += 1;
            }
            (Some(_), _) => {
                let (end, kind) = expansion(bytes, at);
                text.push_str(inner.get(at..end.at).unwrap_or_default());
                expands = expands.max(kind);
                at = end.at;
            }
            (None, _) => {}
        }
    }
    expands
}

/// The end of `$'…'`, where a backslash escapes; `quote` is the index of the quote.
fn ansi_quote(bytes: &[u8], quote: usize) -> nested::End {
    let mut at = quote + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' => {
                return nested::End { at: at + 1, closed: true };
            }
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    nested::End { at: bytes.len(), closed: false }
}
