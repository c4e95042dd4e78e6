//! The values under `data:` and `stringData:` of a Kubernetes Secret, in YAML and in JSON.

use memchr::{memchr, memrchr};

use super::allow::is_placeholder;
use super::bytes::{Set, byte, part, run, skip_blanks};
use super::kind::Kind;

/// Secrets of the document whose `kind: Secret` stands at `at`; returns how far it was looked at. Nothing before
/// `done` is looked at again, and nothing behind the next `kind`.
pub(super) fn secret(
    text: &[u8],
    at: usize,
    done: usize,
    mut found: impl FnMut(usize, usize, Kind),
) -> usize {
    let quoted = byte(text, at + 4) == b'"';
    let value = skip_blanks(text, at + if quoted { 6 } else { 5 });
    let word = value + usize::from(byte(text, value) == b'"');
    let is_kind = part(text, word, word + 6) == b"Secret" && !byte(text, word + 6).is_ascii_alphabetic();
    let colon = byte(text, at + if quoted { 5 } else { 4 }) == b':';
    if !is_kind || !colon {
        return done;
    }
    let from = start_of_document(text, at, done.min(at));
    let to = end_of_document(text, word, text.len());
    let mut line = from;
    let mut inside: Option<usize> = None;
    while line < to {
        let end = memchr(b'\n', part(text, line, to)).map_or(to, |n| line + n);
        let key = run(text, line, Set::INDENT, 512);
        let depth = key - line;
        let bytes = part(text, key, end);
        match inside {
            _ if is_data(bytes) => inside = Some(depth),
            Some(outer) if depth > outer => entry(text, key, end, &mut found),
            Some(outer) if depth == outer && bytes.is_empty() => {}
            _ => inside = None,
        }
        line = end + 1;
    }
    to
}

fn is_data(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    matches!(line, b"data:" | b"stringData:" | b"\"data\": {" | b"\"stringData\": {")
}

/// One `name: value`.
fn entry(text: &[u8], key: usize, end: usize, found: &mut impl FnMut(usize, usize, Kind)) {
    let open = key + usize::from(byte(text, key) == b'"');
    let name = run(text, open, Set::NAME, 253);
    let colon = name + usize::from(byte(text, name) == b'"');
    if name == open || byte(text, colon) != b':' {
        return;
    }
    let at = skip_blanks(text, colon + 1);
    let at = at + usize::from(matches!(byte(text, at), b'"' | b'\''));
    let tail = part(text, at, end)
        .iter()
        .rev()
        .take_while(|b| matches!(b, b'"' | b'\'' | b',' | b'\r' | b' '))
        .count();
    let stop = end.saturating_sub(tail);
    let value = part(text, at, stop);
    let hidden = value.starts_with(b"[REDACTED:") || matches!(value.first(), Some(b'|' | b'>' | b'{'));
    if value.len() >= 4 && !hidden && !is_placeholder(value) {
        found(at, stop, Kind::KubernetesSecret);
    }
}

fn start_of_document(text: &[u8], at: usize, limit: usize) -> usize {
    let mut line = memrchr(b'\n', part(text, limit, at)).map_or(limit, |n| limit + n + 1);
    while line > limit {
        let previous = memrchr(b'\n', part(text, limit, line - 1)).map_or(limit, |n| limit + n + 1);
        let bytes = part(text, previous, line);
        // A document, or the item of a list, starts here.
        if bytes.starts_with(b"---") {
            return line;
        }
        line = previous;
        if bytes.starts_with(b"- ") || bytes.trim_ascii_start().starts_with(b"- apiVersion") {
            break;
        }
    }
    line
}

fn end_of_document(text: &[u8], at: usize, limit: usize) -> usize {
    let mut line = at;
    while let Some(next) = memchr(b'\n', part(text, line, limit)) {
        line += next + 1;
        let bytes = part(text, line, limit.min(line + 200));
        let bare = bytes.trim_ascii_start();
        let item = bare.starts_with(b"- apiVersion")
            || bare.starts_with(b"apiVersion")
            || bare.starts_with(b"kind:");
        if bytes.starts_with(b"---") || item || bare.starts_with(b"\"kind\":") {
            return line;
        }
    }
    limit
}
