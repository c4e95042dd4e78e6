//! The failure guard: which lines tell of an error or a warning, whatever tool wrote them.
//!
//! One pass of a multi-pattern search over a line finds the words; the characters around a word decide. Two degrees:
//! strong evidence is the form of an error message (`error:` at the start, `Permission denied`, `ValueError: x`),
//! weak evidence is a word such as `failed` anywhere. A number of errors that is zero is no error.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// What a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Nothing of the kind.
    None,
    /// A warning or deprecation.
    Warning,
    /// Perhaps an error: a word says so.
    Weak,
    /// An error message.
    Error,
}

/// What must stand before the word.
#[derive(Clone, Copy)]
enum Left {
    Any,
    /// No letter, digit or `_`.
    Word,
    /// Only blanks since the start of the line.
    Start,
    /// Only letters, digits and `_` since the start of the line.
    FirstWord,
    /// Like `Word`, and not inside a path, a compound word or a name.
    Prose,
}

/// What must stand behind the word.
#[derive(Clone, Copy)]
enum Right {
    Any,
    /// No letter, digit or `_`.
    Word,
    /// `:` and a blank, or the end of the line.
    Colon,
    /// `:`, `[`, a blank.
    Label,
    /// An optional `:`, a blank and a digit that is not 0.
    Code,
    /// Like `Word`, and not inside a path, a compound word or a call.
    Prose,
}

use Left::{FirstWord, Start};
use Severity::{Error, Warning, Weak};

const WORDS: &[(&str, Left, Right, Severity)] = &[
    ("error", Start, Right::Label, Error),
    ("E  ", Start, Right::Any, Error),
    ("E: ", Start, Right::Any, Error),
    ("Error", FirstWord, Right::Word, Error),
    ("Error", Left::Any, Right::Colon, Error),
    ("Exception", Left::Any, Right::Colon, Error),
    ("FATAL", Start, Right::Any, Error),
    ("ERROR", Start, Right::Any, Error),
    ("ERROR:", Left::Any, Right::Any, Error),
    ("[ERROR]", Left::Any, Right::Any, Error),
    ("[error]", Left::Any, Right::Any, Error),
    ("error[", Left::Word, Right::Any, Error),
    ("error:", Left::Word, Right::Any, Error),
    ("error TS", Left::Word, Right::Any, Error),
    ("error CS", Left::Word, Right::Any, Error),
    ("error MSB", Left::Word, Right::Any, Error),
    ("npm ERR!", Start, Right::Any, Error),
    ("npm error ", Start, Right::Any, Error),
    ("fatal:", Left::Word, Right::Any, Error),
    ("fatal error", Left::Word, Right::Any, Error),
    ("curl: (", Start, Right::Any, Error),
    ("rsync: ", Start, Right::Any, Error),
    ("rsync error", Start, Right::Any, Error),
    ("ssh: ", Start, Right::Any, Error),
    (": *** ", Left::Any, Right::Any, Error),
    ("ninja: ", Start, Right::Any, Error),
    ("collect2: ", Start, Right::Any, Error),
    ("panic: ", Left::Word, Right::Any, Error),
    ("panicked at", Left::Any, Right::Any, Error),
    ("Caused by: ", Left::Any, Right::Any, Error),
    ("Traceback (most recent", Left::Any, Right::Any, Error),
    ("Segmentation fault", Left::Any, Right::Any, Error),
    ("core dumped", Left::Any, Right::Any, Error),
    ("Killed", Start, Right::Word, Error),
    ("\u{2716} ", Start, Right::Any, Error),
    ("\u{2717} ", Start, Right::Any, Error),
    ("\u{2718} ", Start, Right::Any, Error),
    ("\u{d7} ", Start, Right::Any, Error),
    ("not ok ", Start, Right::Any, Error),
    ("FAIL", Start, Right::Word, Error),
    ("--- FAIL", Start, Right::Word, Error),
    ("FAILED", Left::Word, Right::Word, Error),
    ("command not found", Left::Any, Right::Any, Error),
    ("ermission denied", Left::Any, Right::Any, Error),
    ("No such file or directory", Left::Any, Right::Any, Error),
    ("onnection refused", Left::Any, Right::Any, Error),
    ("Could not find", Left::Any, Right::Any, Error),
    ("Could not resolve", Left::Any, Right::Any, Error),
    ("CONFLICT", Left::Any, Right::Word, Error),
    ("rejected", Left::Any, Right::Word, Error),
    ("annot ", Left::Any, Right::Any, Error),
    ("AddressSanitizer: ", Left::Any, Right::Any, Error),
    ("undefined reference", Left::Any, Right::Any, Error),
    (" not found", Left::Any, Right::Word, Error),
    ("nknown flag", Left::Any, Right::Any, Error),
    ("nknown shorthand", Left::Any, Right::Any, Error),
    ("nknown option", Left::Any, Right::Any, Error),
    ("ERESOLVE", Left::Any, Right::Any, Error),
    ("forbidden:", Left::Any, Right::Any, Error),
    ("BUILD FAILURE", Left::Any, Right::Any, Error),
    ("BUILD FAILED", Left::Any, Right::Any, Error),
    ("is not recognized", Left::Any, Right::Any, Error),
    ("is not defined", Left::Any, Right::Any, Error),
    ("exit code", Left::Any, Right::Code, Error),
    ("exit status", Left::Any, Right::Code, Error),
    ("error", Left::Prose, Right::Prose, Weak),
    ("Error", Left::Prose, Right::Prose, Weak),
    ("errors", Left::Prose, Right::Prose, Weak),
    ("failed", Left::Prose, Right::Prose, Weak),
    ("Failed", Left::Prose, Right::Prose, Weak),
    ("failure", Left::Prose, Right::Prose, Weak),
    ("fatal", Left::Prose, Right::Prose, Weak),
    ("denied", Left::Prose, Right::Prose, Weak),
    ("refused", Left::Prose, Right::Prose, Weak),
    ("timed out", Left::Prose, Right::Prose, Weak),
    ("killed", Left::Prose, Right::Prose, Weak),
    ("aborted", Left::Prose, Right::Prose, Weak),
    ("unresolved", Left::Prose, Right::Prose, Weak),
    ("unable to", Left::Prose, Right::Prose, Weak),
    ("could not", Left::Prose, Right::Prose, Weak),
    ("invalid", Left::Prose, Right::Prose, Weak),
    ("exception", Left::Prose, Right::Prose, Weak),
    ("warning", Start, Right::Label, Warning),
    ("warning:", Left::Word, Right::Any, Warning),
    ("WARNING", Start, Right::Any, Warning),
    ("[WARN", Left::Any, Right::Any, Warning),
    ("npm WARN ", Start, Right::Any, Warning),
    ("npm warn ", Start, Right::Any, Warning),
    ("WARN", Left::Word, Right::Word, Warning),
    ("Warning: ", Left::Any, Right::Any, Warning),
    ("W: ", Start, Right::Any, Warning),
    ("deprecated", Left::Prose, Right::Prose, Warning),
    ("DEPRECATED", Left::Word, Right::Word, Warning),
];

fn searcher() -> &'static AhoCorasick {
    static SEARCHER: OnceLock<AhoCorasick> = OnceLock::new();
    SEARCHER.get_or_init(|| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(WORDS.iter().map(|w| w.0))
            .expect("the words are few and short")
    })
}

/// What `line` tells of. Stack frames and code frames (`at x`, `| x`, `^`) tell of nothing.
pub(crate) fn severity(line: &str) -> Severity {
    let bytes = line.as_bytes();
    let first = bytes.trim_ascii_start();
    if first.is_empty() || first.starts_with(b"at ") || first.starts_with(b"^") || first.starts_with(b"|") {
        return Severity::None;
    }
    let mut worst = Severity::None;
    for found in searcher().find_overlapping_iter(bytes) {
        let Some((_, left, right, severity)) = WORDS.get(found.pattern().as_usize()) else { continue };
        if *severity <= worst {
            continue;
        }
        let (before, after) =
            (bytes.get(..found.start()).unwrap_or(&[]), bytes.get(found.end()..).unwrap_or(&[]));
        if is_left(*left, before) && is_right(*right, after) && !(*severity == Weak && is_zero(before, after))
        {
            worst = *severity;
            if worst == Error {
                break;
            }
        }
    }
    worst
}

/// Whether a line holds characters that no screen shows and a model reads all the same: tags, marks that turn the
/// direction of writing, blanks without width. What hides in an output stays in sight of whoever looks at it.
pub(crate) fn is_hiding(line: &str) -> bool {
    let first = |b: u8| memchr::memchr(b, line.as_bytes()).is_some();
    (first(0xe2) || first(0xf3)) && line.chars().any(hides)
}

/// Whether no screen shows a character. Those that join letters are part of a script and no hiding place.
pub(crate) fn hides(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_left(left: Left, before: &[u8]) -> bool {
    match (left, before.last()) {
        (Left::Any, _) => true,
        (Start, _) => before.iter().all(u8::is_ascii_whitespace),
        (FirstWord, _) => before.trim_ascii_start().iter().all(|b| is_word(*b)),
        (_, None) => true,
        (Left::Word, Some(b)) => !is_word(*b),
        (Left::Prose, Some(b)) => {
            !is_word(*b) && !matches!(b, b'/' | b'\\' | b'.' | b'-' | b':' | b'$' | b'@' | b'=')
        }
    }
}

fn is_right(right: Right, after: &[u8]) -> bool {
    match (right, after) {
        (Right::Any, _) | (Right::Colon | Right::Word | Right::Prose, []) => true,
        (Right::Colon, [b':', b' ', ..] | [b':']) => true,
        (Right::Colon, rest) => rest.trim_ascii().is_empty(),
        (Right::Word, [b, ..]) => !is_word(*b),
        (Right::Prose, [b'.', next, ..]) => !is_word(*next),
        (Right::Prose, [b, ..]) => !is_word(*b) && !matches!(b, b'/' | b'\\' | b'-' | b'(' | b'=' | b'<'),
        (Right::Label, [b, ..]) => matches!(b, b':' | b'[' | b' '),
        (Right::Label, []) => false,
        (Right::Code, rest) => {
            let rest = rest.strip_prefix(b":").unwrap_or(rest);
            matches!(rest, [b' ' | b'=', b'1'..=b'9', ..])
        }
    }
}

/// `0 failed`, `no errors`, `errors: 0`, `failed=0`.
fn is_zero(before: &[u8], after: &[u8]) -> bool {
    let word = before.trim_ascii_end().rsplit(|b| !b.is_ascii_alphanumeric()).next().unwrap_or(&[]);
    let none = matches!(word, b"0" | b"no" | b"No" | b"zero" | b"without" | b"any");
    let behind = match after {
        [b':' | b'=', rest @ ..] => rest.trim_ascii_start(),
        _ => &[],
    };
    let zero =
        behind.first() == Some(&b'0') && !behind.get(1).is_some_and(|b| b.is_ascii_digit() || *b == b'x');
    none || zero
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_errors_from_names_and_zeros() {
        for (line, expected) in [
            ("error: could not compile", Error),
            ("  error[E0308]: mismatched types", Error),
            ("error TS2322: x", Error),
            ("src/a.c:3:1: error: expected", Error),
            ("E   assert 1 == 2", Error),
            ("ValueError: bad", Error),
            ("pkg.mod.MyException", Error),
            ("npm error code ERESOLVE", Error),
            ("make[1]: *** [all] Error 2", Error),
            ("ls: cannot access 'x': No such file or directory", Error),
            ("! [rejected] main -> main (fetch first)", Error),
            ("bash: foo: command not found", Error),
            ("process exited with exit code 1", Error),
            ("\u{2716} 3 problems", Error),
            ("2 failed", Weak),
            ("the server refused the upgrade", Weak),
            ("test result: ok. 3 passed; 0 failed; 0 ignored", Severity::None),
            ("Build succeeded. 0 Warning(s) 0 Error(s)", Severity::None),
            ("no errors found", Severity::None),
            ("errors: 0", Severity::None),
            ("test parser::error_handler ... ok", Severity::None),
            ("Compiling thiserror v1.0", Severity::None),
            ("src/error.rs", Severity::None),
            ("    at fail (error.js:3)", Severity::None),
            ("process finished with exit code 0", Severity::None),
            ("warning: unused variable", Warning),
            ("npm warn deprecated glob@7", Warning),
            ("2024-01-01 WARN pool low", Warning),
            ("/usr/lib/x.py:3: DeprecationWarning: gone", Warning),
            ("", Severity::None),
        ] {
            assert_eq!(severity(line), expected, "{line}");
        }
    }
}
