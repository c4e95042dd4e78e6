//! The `replace` rules: all matches in a line, with groups. Matches grow to whole characters, so that the result is
//! text whatever the pattern does with bytes.

use regex::bytes::{Captures, Regex};

use super::compile::Options;
use super::model::{Dialect, ReplaceRule};

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Replacer {
    regex: Regex,
    parts: Vec<Part>,
    /// Whether only lines that the gate let through can match.
    gated: bool,
}

/// A piece of the replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

impl Replacer {
    /// Compiles a rule.
    pub(crate) fn new(
        rule: &ReplaceRule,
        dialect: Dialect,
        options: Options,
        gated: bool,
    ) -> Result<Replacer, regex::Error> {
        let regex = options.one(&rule.pattern)?;
        let names: Vec<Option<&str>> = regex.capture_names().collect();
        let parts = parts(&rule.replacement, &names, dialect);
        let gated = gated && !rule.pattern.literals.is_empty();
        Ok(Replacer { regex, parts, gated })
    }

    /// The line after the rule; `None` if nothing matches or the result would have more than `max` bytes.
    /// `candidate` is what the gate says of the line.
    pub(crate) fn apply(&self, line: &str, candidate: bool, max: usize) -> Option<String> {
        if self.gated && !candidate || !self.regex.is_match(line.as_bytes()) {
            return None;
        }
        let mut out = String::new();
        let mut done = 0;
        for groups in self.regex.captures_iter(line.as_bytes()) {
            let whole = groups.get(0)?;
            let (start, end) = (floor(line, whole.start()), ceil(line, whole.end()));
            if start < done {
                continue; // began inside a character that the match before it took whole
            }
            out.push_str(line.get(done..start)?);
            self.expand(line, &groups, &mut out);
            done = end;
            if out.len() > max {
                return None;
            }
        }
        out.push_str(line.get(done..)?);
        (out.len() <= max && out != line).then_some(out)
    }

    fn expand(&self, line: &str, groups: &Captures<'_>, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(number) => {
                    let group = groups
                        .get(*number)
                        .and_then(|g| line.get(floor(line, g.start())..ceil(line, g.end())));
                    out.push_str(group.unwrap_or(""));
                }
            }
        }
    }
}

fn floor(line: &str, mut at: usize) -> usize {
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(line: &str, mut at: usize) -> usize {
    while !line.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Splits a replacement. `$$` is a dollar, `${name}` and `$1` are groups; an unknown one is nothing. TOML version 1
/// reads the longest word after `$` as the name, JSON at most two digits.
fn parts(replacement: &str, names: &[Option<&str>], dialect: Dialect) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        if let Some(tail) = after.strip_prefix('$') {
            text.push('$');
            rest = tail;
            continue;
        }
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, tail) = match braced {
            Some(found) => found,
            None => after.split_at(name_len(after, names.len(), dialect)),
        };
        rest = tail;
        if name.is_empty() {
            text.push('$');
            continue;
        }
        let number = name.parse().ok().filter(|n| *n < names.len());
        if let Some(number) = number.or_else(|| names.iter().position(|n| *n == Some(name))) {
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Group(number));
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    parts
}

fn name_len(after: &str, groups: usize, dialect: Dialect) -> usize {
    if dialect == Dialect::TomlV1 {
        return after.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    }
    let digits = after.bytes().take_while(u8::is_ascii_digit).count().min(2);
    let number = |len: usize| after.get(..len).and_then(|d| d.parse::<usize>().ok()).unwrap_or(usize::MAX);
    if digits == 2 && number(2) >= groups { 1 } else { digits }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{Pattern, Syntax, Use};
    use super::*;

    fn apply(pattern: &str, replacement: &str, dialect: Dialect, line: &str) -> Option<String> {
        let syntax = Syntax { ignore_case: dialect.ignore_case(), veto: "", exception: "" };
        let pattern = Pattern::parse(pattern, Use::Line, syntax).unwrap();
        let options = Options { ignore_case: dialect.ignore_case(), multi_line: false, cache: 1 << 20 };
        let rule = ReplaceRule { pattern, replacement: replacement.to_owned() };
        Replacer::new(&rule, dialect, options, false).unwrap().apply(line, false, 100)
    }

    #[test]
    fn expands_groups_as_the_dialect_does() {
        for (pattern, replacement, dialect, line, expected) in [
            (r"(\d+)ms", "$1 ms", Dialect::Json, "took 12MS", Some("took 12 ms")),
            (r"(\d+)ms", "$1x", Dialect::Json, "12ms", Some("12x")),
            (r"(\d+)ms", "$1x", Dialect::TomlV1, "12ms", Some("")),
            (r"(?P<n>\d+)ms", "${n}$$", Dialect::TomlV1, "12ms", Some("12$")),
            ("(a)(b)", "$12$9", Dialect::Json, "ab", Some("a2")),
            ("a", "$", Dialect::Json, "ab", Some("$b")),
            ("x", "y", Dialect::Json, "ab", None),
            ("a", "a", Dialect::Json, "ab", None),
            ("b", &"c".repeat(101), Dialect::Json, "b", None),
        ] {
            assert_eq!(
                apply(pattern, replacement, dialect, line).as_deref(),
                expected,
                "{pattern} {replacement} {line}"
            );
        }
    }

    #[test]
    fn never_splits_a_character() {
        for (pattern, line, expected) in [
            ("^.", "\u{e9}a", "-a"),
            ("..", "\u{4f60}\u{597d}", "--"),
            (r"[^a]", "a\u{1f600}b", "a--"),
            (r"\W", "\u{e9}x", "-x"),
        ] {
            assert_eq!(
                apply(pattern, "-", Dialect::Json, line).as_deref(),
                Some(expected),
                "{pattern} {line}"
            );
        }
    }
}
