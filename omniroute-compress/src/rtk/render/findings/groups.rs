//! Findings that say the same: which may be written once with a list of positions, and whether that is shorter.

use std::collections::HashMap;

use super::cost::cost;
use super::model::{Bound, Finding, Hash, hash, masked};

/// Fewest findings that are written as one.
const MIN_GROUP: usize = 4;

/// What becomes of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Stands for itself.
    Alone,
    /// The first of the group with this number.
    Head(u32),
    /// Stands in the list of its group.
    Member,
}

/// Findings with one text.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The role of every finding.
    pub(crate) roles: Vec<Role>,
    /// The findings of each group in their order.
    pub(crate) members: Vec<Vec<u32>>,
}

/// Finds the groups that are worth it.
pub(crate) fn groups(findings: &[Finding<'_>]) -> Groups {
    let mut groups = Groups { roles: vec![Role::Alone; findings.len()], members: Vec::new() };
    // Chains: the first and last finding of every text, and for every finding the next one of its text.
    let mut chains: HashMap<u64, usize> = HashMap::with_capacity(findings.len() / 2);
    let mut ends: Vec<(usize, usize, usize)> = Vec::new();
    let mut next = vec![usize::MAX; findings.len()];
    for (i, finding) in findings.iter().enumerate() {
        let explained = findings.get(i + 1).is_some_and(|next| next.is_note && next.run == finding.run);
        if explained || finding.is_note {
            continue;
        }
        let number = *chains.entry(key(finding)).or_insert(ends.len());
        match ends.get_mut(number) {
            None => ends.push((i, i, 1)),
            Some((_, last, count)) => {
                if let Some(link) = next.get_mut(*last) {
                    *link = i;
                }
                *last = i;
                *count += 1;
            }
        }
    }
    for (start, _, count) in ends {
        let Some(first) = findings.get(start) else { continue };
        let repeats = matches!(first.bound, Bound::Line | Bound::Row);
        if count < if repeats { 2 } else { MIN_GROUP } {
            continue;
        }
        let follow = |i: &usize| next.get(*i).copied().filter(|n| *n != usize::MAX);
        let list: Vec<u32> =
            std::iter::successors(Some(start), follow).filter_map(|i| u32::try_from(i).ok()).collect();
        if !repeats && !pays(findings, first, &list) {
            continue;
        }
        let number = u32::try_from(groups.members.len()).unwrap_or(u32::MAX);
        for (n, i) in list.iter().enumerate() {
            if let Some(role) = groups.roles.get_mut(*i as usize) {
                *role = if n == 0 { Role::Head(number) } else { Role::Member };
            }
        }
        groups.members.push(list);
    }
    groups
}

/// What findings of a group have in common.
fn key(finding: &Finding<'_>) -> u64 {
    let pos = &finding.pos;
    let mut hash = Hash(finding.details);
    match finding.bound {
        Bound::Line | Bound::Row => {
            hash.byte(1);
            for part in [pos.path, pos.line, pos.col, pos.rest] {
                hash.text(part);
            }
        }
        Bound::First => {
            hash.byte(2);
            hash.number(masked(pos.path, false));
            hash.number(masked(pos.rest, false));
            hash.byte(u8::from(pos.col.is_empty()));
        }
        Bound::Words => {
            hash.byte(3);
            hash.text(pos.tag);
            hash.text(pos.rest);
        }
        Bound::Free => {
            hash.byte(4);
            hash.text(pos.tag);
            hash.number(masked(pos.rest, true));
        }
    }
    hash.0
}

/// Whether the list of positions is shorter than the findings below their file headings.
fn pays(findings: &[Finding<'_>], first: &Finding<'_>, list: &[u32]) -> bool {
    let text = cost(first.pos.rest);
    let mut path = (first.pos.path, 0);
    let (mut before, mut after) = (0, 8);
    for finding in list.iter().skip(1).filter_map(|i| findings.get(*i as usize)) {
        before += text + 1;
        if finding.bound == Bound::First {
            before += cost(finding.pos.path) + 4;
        }
        if finding.pos.path != path.0 {
            path = (finding.pos.path, cost(finding.pos.path));
            after += path.1 + 2;
        }
        after += 1 + cost(different(first.pos.rest, finding.pos.rest));
    }
    after < before
}

/// The part of `text` in which it differs from `first`, in whole words, without quotes around it. Empty if they are
/// equal.
pub(crate) fn different<'t>(first: &str, text: &'t str) -> &'t str {
    if first == text {
        return "";
    }
    let (a, b) = (first.as_bytes(), text.as_bytes());
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let room = a.len().min(b.len()) - prefix;
    let suffix = a.iter().rev().zip(b.iter().rev()).take(room).take_while(|(x, y)| x == y).count();
    let start = b.get(..prefix).and_then(|p| memchr::memrchr(b' ', p)).map_or(0, |at| at + 1);
    let end = b
        .get(b.len() - suffix..)
        .and_then(|s| memchr::memchr(b' ', s))
        .map_or(b.len(), |at| b.len() - suffix + at);
    // Punctuation that both have behind the word.
    let is_shared = end > b.len() - suffix && matches!(b.get(end - 1), Some(b':' | b',' | b';'));
    match text.get(start..end - usize::from(is_shared)).map(str::trim) {
        Some(part) if !part.is_empty() => unquoted(part),
        _ => text,
    }
}

/// Without the quotes around a single quoted word.
fn unquoted(part: &str) -> &str {
    let inner = ["`", "'", "\""].iter().find_map(|q| part.strip_prefix(q)?.strip_suffix(q));
    let inner = inner.or_else(|| part.strip_prefix('\u{2018}')?.strip_suffix('\u{2019}'));
    let plain =
        |p: &&str| !p.is_empty() && !p.bytes().any(|b| matches!(b, b' ' | b'`' | b'\'' | b'"' | b',' | 0xe2));
    inner.filter(plain).unwrap_or(part)
}

/// Counts notes by what they say and what they explain.
pub(crate) fn note_key(finding: &Finding<'_>, note: &Finding<'_>) -> u64 {
    let mut key = Hash(hash(finding.pos.rest));
    key.text(note.pos.rest);
    key.number(note.details);
    key.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_differs() {
        for (first, text, expected) in [
            ("X `a` y", "X `b` y", "b"),
            ("X `ab` y", "X `abc` y", "abc"),
            ("X 10 y", "X 100 y", "100"),
            ("X 'a': y", "X 'b': y", "b"),
            ("X a", "X a", ""),
            ("X a b", "X b", "b"),
            ("X `a` y `b`", "X `c` y `d`", "`c` y `d`"),
            ("unused \u{2018}u_10\u{2019} [-W]", "unused \u{2018}u_1\u{2019} [-W]", "u_1"),
            ("\u{e9}\u{e8} x", "\u{e9}\u{ea} x", "\u{e9}\u{ea}"),
        ] {
            assert_eq!(different(first, text), expected, "{first} / {text}");
        }
    }
}
