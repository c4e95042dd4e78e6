//! Byte strings of which one must occur wherever a pattern matches.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Shorter ones occur nearly everywhere and are of no help.
const MIN_BYTES: usize = 2;
/// More branches than this are not followed.
const MAX_BRANCHES: usize = 24;

/// Strings, in lower case, of which one occurs (case aside) in every match of the pattern. Empty if nothing is known.
pub(crate) fn required(hir: &Hir) -> Vec<Vec<u8>> {
    let mut found = any_of(hir).unwrap_or_default();
    if found.iter().any(|l| l.len() < MIN_BYTES) || found.len() > MAX_BRANCHES {
        return Vec::new();
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn any_of(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    if let Some(text) = exact(hir) {
        return (!text.is_empty()).then(|| vec![text]);
    }
    match hir.kind() {
        HirKind::Capture(group) => any_of(&group.sub),
        HirKind::Repetition(repeat) if repeat.min > 0 => any_of(&repeat.sub),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(any_of(branch)?);
                if all.len() > MAX_BRANCHES {
                    return None;
                }
            }
            Some(all)
        }
        HirKind::Concat(parts) => best_part(parts),
        _ => None,
    }
}

/// The longest run of fixed characters, or the best branching part.
fn best_part(parts: &[Hir]) -> Option<Vec<Vec<u8>>> {
    let mut best: Option<Vec<Vec<u8>>> = None;
    let mut run = Vec::new();
    let mut consider = |candidate: Vec<Vec<u8>>| {
        let score =
            |set: &Vec<Vec<u8>>| (set.iter().map(Vec::len).min().unwrap_or(0), usize::MAX - set.len());
        if best.as_ref().is_none_or(|b| score(&candidate) > score(b)) {
            best = Some(candidate);
        }
    };
    for part in parts {
        if let Some(text) = exact(part) {
            run.extend(text);
            continue;
        }
        if !run.is_empty() {
            consider(vec![std::mem::take(&mut run)]);
        }
        if let Some(set) = any_of(part) {
            consider(set);
        }
    }
    if !run.is_empty() {
        consider(vec![run]);
    }
    best
}

/// The one string, in lower case, that a part matches; empty for `^` and the like.
fn exact(hir: &Hir) -> Option<Vec<u8>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(Vec::new()),
        HirKind::Literal(literal) => Some(literal.0.to_ascii_lowercase()),
        HirKind::Class(class) => one_letter(class).map(|letter| vec![letter]),
        HirKind::Capture(group) => exact(&group.sub),
        HirKind::Concat(parts) => {
            let mut text = Vec::new();
            for part in parts {
                text.extend(exact(part)?);
            }
            Some(text)
        }
        _ => None,
    }
}

/// The letter of a class such as `[Aa]`.
fn one_letter(class: &Class) -> Option<u8> {
    let pair = match class {
        Class::Bytes(bytes) => match bytes.ranges() {
            [a, b] if a.start() == a.end() && b.start() == b.end() => (a.start(), b.start()),
            _ => return None,
        },
        Class::Unicode(chars) => match chars.ranges() {
            [a, b] if a.start() == a.end() && b.start() == b.end() => {
                (u8::try_from(a.start()).ok()?, u8::try_from(b.start()).ok()?)
            }
            _ => return None,
        },
    };
    (pair.0.is_ascii_uppercase() && pair.0.to_ascii_lowercase() == pair.1).then_some(pair.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(source: &str) -> Vec<String> {
        let hir = regex_syntax::ParserBuilder::new()
            .utf8(false)
            .unicode(false)
            .case_insensitive(true)
            .build()
            .parse(source)
            .unwrap();
        required(&hir).into_iter().map(|l| String::from_utf8(l).unwrap()).collect()
    }

    #[test]
    fn takes_the_longest_certain_string() {
        for (source, expected) in [
            (r"^\s*Compiling \S+", &["compiling "][..]),
            ("warning: unused", &["warning: unused"]),
            (r"(foo|ba+r) x", &[" x"]),
            (r"(foo|bar+)x", &["ba", "foo"]),
            (r"\d+ (passed|failed)", &["failed", "passed"]),
            (r"(?:ab)?c", &[]),
            (r"\d+", &[]),
            (r"a.c", &[]),
            (r"(ab)+x", &["ab"]),
        ] {
            assert_eq!(literals(source), expected, "{source}");
        }
    }
}
