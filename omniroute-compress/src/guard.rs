//! What every change must pass before it is sent, whoever made it.

use std::collections::HashSet;

use omniroute_core::{Doc, EngineInfo, Loss};

use crate::hash::{ByHash, hash};
use crate::terminal;

/// Words that turn a statement into its opposite or tell that something went wrong.
const TELLING: [&str; 14] = [
    "not", "no", "never", "without", "except", "error", "failed", "failure", "fatal", "panicked", "warning",
    "denied", "missing", "cannot",
];

/// The reason to refuse `after` in place of `before`, if there is one.
pub(crate) fn refuse(
    before: &str,
    after: &str,
    tokens: (u32, u32),
    info: &EngineInfo,
) -> Option<&'static str> {
    if after.trim().is_empty() && !before.trim().is_empty() {
        return Some("empty_result");
    }
    if tokens.1 >= tokens.0 || after.len() > before.len() {
        return Some("would_inflate");
    }
    let exact = info.own_gates || matches!(info.loss, Loss::Lossless | Loss::Recoverable);
    if !exact && breaks_json(before, after) {
        return Some("syntax_broken");
    }
    if !exact && !facts_survive(before, after) {
        return Some("fidelity_failed");
    }
    None
}

/// Whether a JSON document has become something else, or lost one of its keys.
fn breaks_json(before: &str, after: &str) -> bool {
    if !before.trim_start().starts_with(['{', '[']) {
        return false;
    }
    let keys = |text: &str| Doc::parse_with_limit(text.to_owned(), usize::MAX).ok().map(|doc| doc.keys());
    match (keys(before), keys(after)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(before), Some(after)) => before != after,
    }
}

/// Whether every number, path, identifier with a digit or separator, and every telling word of what a terminal
/// would show of `before` is in `after`.
pub(crate) fn facts_survive(before: &str, after: &str) -> bool {
    let shown = terminal::normalise(before);
    let loose = loose_lines(&shown.text, after);
    if loose.is_empty() {
        return true;
    }
    let kept: HashSet<u64, ByHash> = words(after.as_bytes()).filter(is_fact).map(hash).collect();
    loose.iter().flat_map(|line| words(line.as_bytes())).filter(is_fact).all(|w| kept.contains(&hash(w)))
}

/// Lines of `before` that do not simply stand in `after` too, in the same order; blanks at their ends aside.
fn loose_lines<'t>(before: &'t str, after: &str) -> Vec<&'t str> {
    const AHEAD: usize = 8;
    let after: Vec<&str> = after.lines().map(str::trim_end).collect();
    let mut at = 0;
    let mut is_loose = |line: &&str| {
        let near = after.get(at..).unwrap_or(&[]).iter().take(AHEAD);
        match near.enumerate().find(|(_, other)| **other == line.trim_end()) {
            Some((skip, _)) => at += skip + 1,
            None => return true,
        }
        false
    };
    before.lines().filter(|line| is_loose(line)).collect()
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let part_of_word = |b: &u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b':' | b'-' | b'%') || *b >= 0x80
    };
    text.split(move |b| !part_of_word(b)).map(trim).filter(|w| !w.is_empty())
}

/// Without the punctuation of a sentence or of JSON: `8080:` and `8080` are the same fact, `-5` and `5` are not.
fn trim(mut word: &[u8]) -> &[u8] {
    while let [b':', rest @ ..] | [rest @ .., b':' | b'.'] = word {
        word = rest;
    }
    word
}

fn is_fact(word: &&[u8]) -> bool {
    let marked = |b: &u8| b.is_ascii_digit() || matches!(b, b'_' | b'/' | b':');
    word.iter().any(marked) || TELLING.iter().any(|t| t.as_bytes().eq_ignore_ascii_case(word))
}

/// Whether two documents have the same shape: the same kinds of values, nested alike. In debug builds the bytes
/// of `after` are read again as well; its index could be wrong.
pub(crate) fn same_structure(before: &Doc, after: &Doc) -> bool {
    let read_again =
        || Doc::parse_with_limit(after.bytes().clone(), usize::MAX).is_ok_and(|d| d.same_shape(before));
    before.same_shape(after) && (!cfg!(debug_assertions) || read_again())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gate_passes_one_and_refuses_one() {
        let lossy = Loss::Lossy;
        let refuse = |before: &str, after: &str, tokens, loss| {
            refuse(before, after, tokens, &EngineInfo::new("x", loss))
        };
        assert_eq!(refuse("a 12 b b b", "a 12 b", (9, 4), lossy), None);
        assert_eq!(refuse("text", " \n", (9, 1), lossy), Some("empty_result"));
        assert_eq!(refuse("text", "text", (9, 9), lossy), Some("would_inflate"));
        assert_eq!(refuse("ab", "abc", (9, 8), lossy), Some("would_inflate"));
        assert_eq!(
            refuse("port 8080 is not open", "port is not open", (9, 8), lossy),
            Some("fidelity_failed")
        );
        assert_eq!(
            refuse("port 8080 is not open", "port 8080 is open", (9, 8), lossy),
            Some("fidelity_failed")
        );
        assert_eq!(refuse("src/a.rs:12 failed", "src/a.rs failed", (9, 8), lossy), Some("fidelity_failed"));
        assert_eq!(refuse("{\"a\": 1, \"b\": 2}", "{\"a\":1,\"b\":2}", (9, 8), lossy), None);
        assert_eq!(refuse("{\"a\": 1, \"b\": 2}", "{\"a\": 1, 2}", (9, 8), lossy), Some("syntax_broken"));
        assert_eq!(refuse("{\"a\": 1, \"b\": 2}", "{\"a\": 1}", (9, 8), lossy), Some("syntax_broken"));
        assert_eq!(
            refuse("port 8080", "port", (9, 8), Loss::Lossless),
            None,
            "lossless engines prove it themselves"
        );
        assert_eq!(
            refuse("\u{1b}[31mred 7\u{1b}[0m", "red 7", (9, 8), Loss::Layout),
            None,
            "colour codes are no facts"
        );
    }
}
