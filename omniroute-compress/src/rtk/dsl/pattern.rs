//! One pattern of a filter: checked when it is read, with the facts that make it fast.
//!
//! Patterns run without look-around and back-references, on bytes. `\w`, `\d`, `\s` and `\b` mean ASCII, unless the
//! pattern holds a character beyond ASCII, a `\p{..}` class, or `(?u)`.

use regex_syntax::ast::{self, ErrorKind as AstError};
use regex_syntax::hir::{self, Hir, HirKind, Look};

use super::error::FilterErrorKind;
use super::limits::{COMPILED_BYTES, PATTERN_BYTES};
use super::literals;

/// Estimated bytes of one state of a compiled pattern.
const STATE_BYTES: usize = 24;

/// What a pattern is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Single lines; it must not match the empty part of a line.
    Line,
    /// The command, wrappers removed.
    Command,
    /// Single lines or the whole text, where a match of nothing does no harm.
    Text,
}

/// How the patterns of a file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Whether upper and lower case are the same.
    pub(crate) ignore_case: bool,
    /// What to do instead of a look-ahead in a pattern for commands.
    pub(crate) veto: &'static str,
    /// What to do instead of look-around in other patterns.
    pub(crate) exception: &'static str,
}

/// A checked pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// As written.
    pub(crate) source: String,
    /// Whether its classes are those of Unicode.
    pub(crate) unicode: bool,
    /// Whether it cannot become a branch of a larger pattern.
    pub(crate) solo: bool,
    /// One of these must occur for a match, case aside; none if nothing is known.
    pub(crate) literals: Vec<Vec<u8>>,
    /// Estimated compiled size in bytes.
    pub(crate) weight: usize,
}

/// A mistake in a pattern and its byte offset there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// The rule.
    pub(crate) kind: FilterErrorKind,
    /// Byte offset inside the pattern.
    pub(crate) offset: usize,
}

impl Pattern {
    /// Checks a pattern.
    pub(crate) fn parse(source: &str, used: Use, syntax: Syntax) -> Result<Pattern, PatternError> {
        if source.len() > PATTERN_BYTES {
            let kind = FilterErrorKind::PatternTooLarge {
                what: "pattern",
                size: source.len(),
                limit: PATTERN_BYTES,
            };
            return Err(PatternError { kind, offset: 0 });
        }
        let ast = ast::parse::ParserBuilder::new()
            .nest_limit(100)
            .build()
            .parse(source)
            .map_err(|e| ast_error(source, &e, used, syntax))?;
        let mut unicode = !source.is_ascii();
        let mut translated = translate(source, &ast, unicode, used, syntax);
        if matches!(&translated, Err(e) if !unicode && *e.kind() == hir::ErrorKind::UnicodeNotAllowed) {
            unicode = true;
            translated = translate(source, &ast, unicode, used, syntax);
        }
        let hir = translated.map_err(|e| bad(source, &e.kind().to_string(), e.span().start.offset))?;
        if used == Use::Line && matches_nothing(&hir) {
            return Err(PatternError { kind: FilterErrorKind::EmptyMatch, offset: 0 });
        }
        let weight = weight(&hir);
        if weight > 4 * COMPILED_BYTES {
            return Err(too_large());
        }
        let solo = has_names_or_blank_mode(source);
        Ok(Pattern { source: source.to_owned(), unicode, solo, literals: literals::required(&hir), weight })
    }

    /// Estimated number of states, the work it may do per byte.
    pub(crate) fn states(&self) -> u64 {
        (self.weight / STATE_BYTES) as u64 + 1
    }

    /// The pattern as a branch of a larger one.
    pub(crate) fn branch(&self) -> String {
        let flag = if self.unicode { "u" } else { "-u" };
        format!("(?{flag}:{})", self.source)
    }
}

/// A pattern that is too large once compiled.
pub(crate) fn too_large() -> PatternError {
    let kind = FilterErrorKind::PatternTooLarge {
        what: "compiled pattern",
        size: COMPILED_BYTES,
        limit: COMPILED_BYTES,
    };
    PatternError { kind, offset: 0 }
}

fn translate(
    source: &str,
    ast: &ast::Ast,
    unicode: bool,
    used: Use,
    syntax: Syntax,
) -> Result<Hir, hir::Error> {
    hir::translate::TranslatorBuilder::new()
        .utf8(false)
        .unicode(unicode)
        .case_insensitive(syntax.ignore_case)
        .multi_line(used == Use::Text)
        .build()
        .translate(source, ast)
}

fn ast_error(source: &str, error: &ast::Error, used: Use, syntax: Syntax) -> PatternError {
    let offset = error.span().start.offset;
    let feature = match error.kind() {
        AstError::UnsupportedLookAround => {
            let here = source.get(offset..).unwrap_or("");
            if here.starts_with("(?<") { "look-behind" } else { "look-ahead" }
        }
        AstError::UnsupportedBackreference => "a back-reference",
        other => return bad(source, &other.to_string(), offset),
    };
    let advice = match (feature, used) {
        ("a back-reference", _) => "write the alternatives out",
        (_, Use::Command) => syntax.veto,
        _ => syntax.exception,
    };
    PatternError {
        kind: FilterErrorKind::UnsupportedRegex { feature, advice, column: column(source, offset) },
        offset,
    }
}

fn bad(source: &str, detail: &str, offset: usize) -> PatternError {
    let line: String = detail.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let detail = format!("not a regular expression: {}", line.trim().trim_end_matches('.'));
    PatternError { kind: FilterErrorKind::BadRegex { detail, column: column(source, offset) }, offset }
}

fn column(source: &str, offset: usize) -> u32 {
    source.get(..offset).map_or(0, |before| before.chars().count()) as u32 + 1
}

/// Whether a pattern for lines matches an empty part of every line. `^\s*$` does not: it matches blank lines only.
fn matches_nothing(hir: &Hir) -> bool {
    empty_matches(hir) & !(1 << WHOLE_LINE) != 0
}

const START: u8 = 1;
const END: u8 = 2;
const WHOLE_LINE: u8 = START | END;

/// The ways in which a pattern matches no character, as a set of bits: bit `n` stands for those that need the start
/// of the line (`n & START`) and the end of it (`n & END`).
fn empty_matches(hir: &Hir) -> u8 {
    match hir.kind() {
        HirKind::Empty => 1,
        HirKind::Look(Look::Start | Look::StartLF | Look::StartCRLF) => 1 << START,
        HirKind::Look(Look::End | Look::EndLF | Look::EndCRLF) => 1 << END,
        HirKind::Look(_) => 1,
        HirKind::Literal(_) | HirKind::Class(_) => 0,
        HirKind::Capture(group) => empty_matches(&group.sub),
        HirKind::Repetition(repeat) => empty_matches(&repeat.sub) | u8::from(repeat.min == 0),
        HirKind::Alternation(branches) => branches.iter().fold(0, |set, b| set | empty_matches(b)),
        HirKind::Concat(parts) => parts.iter().fold(1, |set, part| {
            let other = empty_matches(part);
            let both = |a: u8, b: u8| set & (1 << a) != 0 && other & (1 << b) != 0;
            let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
            pairs.filter(|(a, b)| both(*a, *b)).fold(0, |set, (a, b)| set | 1 << (a | b))
        }),
    }
}

/// Groups with names clash when patterns are joined, and a comment in blank mode would swallow what follows.
fn has_names_or_blank_mode(source: &str) -> bool {
    source.split("(?").skip(1).any(|rest| {
        let flags = rest.bytes().take_while(u8::is_ascii_alphabetic);
        rest.starts_with("P<")
            || rest.starts_with('<')
            || flags.into_iter().any(|b| b == b'x')
            || rest.contains("-x")
    })
}

/// Estimated size of the compiled pattern.
fn weight(hir: &Hir) -> usize {
    let states = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(hir::Class::Bytes(class)) => class.ranges().len().max(1),
        HirKind::Class(hir::Class::Unicode(class)) => class.ranges().len().max(1) * 3,
        HirKind::Capture(group) => return weight(&group.sub).saturating_add(64),
        HirKind::Repetition(repeat) => {
            let times = repeat.max.unwrap_or(repeat.min.saturating_add(1)).max(1) as usize;
            return weight(&repeat.sub).saturating_add(32).saturating_mul(times);
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            return parts.iter().fold(32, |sum: usize, part| sum.saturating_add(weight(part)));
        }
    };
    states.saturating_mul(STATE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNTAX: Syntax =
        Syntax { ignore_case: true, veto: "use match.notCommands", exception: "use preserve" };

    fn error(source: &str, used: Use) -> String {
        Pattern::parse(source, used, SYNTAX).unwrap_err().kind.to_string()
    }

    #[test]
    fn refuses_what_cannot_run_in_linear_time() {
        for (source, used, message) in [
            (
                "git (?!status)",
                Use::Command,
                "look-ahead is not supported by the linear-time engine; use match.notCommands (column 5 of the pattern)",
            ),
            (
                "(?<=a)b",
                Use::Line,
                "look-behind is not supported by the linear-time engine; use preserve (column 1 of the pattern)",
            ),
            (
                r"(a)\1",
                Use::Line,
                "a back-reference is not supported by the linear-time engine; write the alternatives out (column 4 of the pattern)",
            ),
            ("\u{e9}(", Use::Line, "not a regular expression: unclosed group (column 2 of the pattern)"),
            ("a*", Use::Line, "the pattern matches every line, because it matches no character at all"),
        ] {
            assert_eq!(error(source, used), message, "{source}");
        }
        assert_eq!(error(&"a".repeat(1001), Use::Line), "the pattern has 1001 bytes, the limit is 1000");
        assert_eq!(
            error(r"((a{900}){900}){900}", Use::Line),
            "the compiled pattern takes more than 1048576 bytes"
        );
    }

    #[test]
    fn tells_blank_lines_from_every_line() {
        for source in [r"^\s*$", "^$", r"(^\s*$|^x)", r"^(?:\s*)$", r"^\s+"] {
            assert!(Pattern::parse(source, Use::Line, SYNTAX).is_ok(), "{source}");
        }
        for source in ["", "^", "$", r"\s*", r"^\s*", r"\b", "(a|)", "^$|b*"] {
            assert!(Pattern::parse(source, Use::Line, SYNTAX).is_err(), "{source}");
            assert!(Pattern::parse(source, Use::Text, SYNTAX).is_ok(), "{source}");
        }
    }

    #[test]
    fn unicode_only_where_it_is_needed() {
        for (source, unicode) in
            [(r"\w+\s\d", false), ("caf\u{e9}", true), (r"\p{L}x", true), (r"[\u2713x]", true)]
        {
            assert_eq!(Pattern::parse(source, Use::Line, SYNTAX).unwrap().unicode, unicode, "{source}");
        }
    }

    #[test]
    fn finds_what_cannot_be_joined() {
        for (source, solo) in
            [("(?P<n>a)", true), ("(?<n>a)", true), ("(?x) a # b", true), ("(?i)a", false), ("(?:x)a", false)]
        {
            assert_eq!(Pattern::parse(source, Use::Line, SYNTAX).unwrap().solo, solo, "{source}");
        }
    }
}
