//! One parser for the line formats of linters, type checkers and compilers: `path:line:col: text` with its code
//! frame, and rows below a file heading.

use crate::rtk::kit::{Output, Severity, severity};

use super::model::{Bound, Finding, Hash, Kind, Parsed};
use super::scan::{heading, is_blank, is_caret, is_gutter, position, row};

/// The end of a line that stands for several findings.
pub(crate) const MORE: &str = " more):";
/// Longest code frame that is taken to belong to a finding.
const MAX_FRAME: usize = 60;

/// Reads an output. Lines it does not know are `Other`.
pub(crate) fn parse<'t>(out: &Output<'t>) -> Parsed<'t> {
    let mut parser = Parser {
        out,
        parsed: Parsed { kinds: vec![Kind::Other; out.len()], ..Parsed::default() },
        heading: None,
        current: None,
        run: 0,
    };
    let mut i = 0;
    while i < out.len() {
        i += parser.line(i);
    }
    parser.parsed
}

struct Parser<'a, 't> {
    out: &'a Output<'t>,
    parsed: Parsed<'t>,
    heading: Option<&'t str>,
    /// The finding that frames and details belong to.
    current: Option<u32>,
    run: u32,
}

impl<'t> Parser<'_, 't> {
    /// Looks at line `i`; the number of lines that are done.
    fn line(&mut self, i: usize) -> usize {
        let line = self.out.line(i);
        if is_blank(line) {
            self.current = None;
            return self.set(i, Kind::Blank);
        }
        if let Some(pos) = position(line) {
            if !line.starts_with([' ', '\t']) {
                self.heading = None;
            }
            self.parsed.is_rendered |= line.ends_with(MORE);
            return self.finding(i, pos, false);
        }
        if let Some(path) = self.heading
            && let Some(mut pos) = row(line)
        {
            pos.path = path;
            return self.finding(i, pos, true);
        }
        if let Some(path) = heading(line).filter(|path| self.is_followed(i, path)) {
            self.heading = Some(path);
            self.current = None;
            return self.set(i, Kind::Heading);
        }
        if is_lead(line) {
            self.current = None;
            return self.set(i, Kind::Lead);
        }
        if let Some(current) = self.current
            && line.starts_with([' ', '\t'])
        {
            let frame = is_caret(line) || is_gutter(line);
            if !frame && let Some(finding) = self.parsed.findings.get_mut(current as usize) {
                let mut hash = Hash(finding.details);
                hash.text(line.trim());
                finding.details = hash.0;
            }
            return self.set(i, if frame { Kind::Frame(current) } else { Kind::Detail(current) });
        }
        if is_decoration(line) {
            return self.set(i, Kind::Decoration);
        }
        self.current = None;
        self.heading = None;
        self.run += 1;
        1
    }

    fn set(&mut self, i: usize, kind: Kind) -> usize {
        if let Some(slot) = self.parsed.kinds.get_mut(i) {
            *slot = kind;
        }
        1
    }

    fn finding(&mut self, i: usize, pos: super::scan::Position<'t>, is_row: bool) -> usize {
        let line = self.out.line(i);
        let is_note = is_note(pos.rest);
        let bound = bound(line, &pos, is_row);
        if self.parsed.findings.last().is_some_and(|f| f.pos.path != pos.path) {
            self.run += 1;
        }
        let number = u32::try_from(self.parsed.findings.len()).unwrap_or(u32::MAX);
        self.parsed.findings.push(Finding {
            pos,
            at: i,
            bound,
            is_row,
            is_note,
            details: 0,
            run: self.run,
            own: false,
        });
        self.set(i, Kind::Finding(number));
        self.current = Some(number);
        let frame = self.frame(i + 1);
        for j in i + 1..i + 1 + frame {
            self.set(j, Kind::Frame(number));
        }
        1 + frame
    }

    /// The length of the code frame at line `i`: gutter lines, or source with a caret line below it.
    fn frame(&self, i: usize) -> usize {
        let gutter = (i..self.out.len()).take(MAX_FRAME).take_while(|j| is_gutter(self.out.line(*j))).count();
        if gutter > 0 {
            return gutter;
        }
        let source = self.out.line(i);
        let caret = self.out.line(i + 1);
        let fits = is_caret(caret) && !is_blank(source) && position(source).is_none();
        if fits { 2 } else { 0 }
    }

    /// Whether the line behind a heading is a row, or a finding of that file.
    fn is_followed(&self, i: usize, path: &str) -> bool {
        let next = self.out.line(i + 1);
        let indented = next.starts_with([' ', '\t']) || next.get(1..3) == Some(": ");
        indented && (row(next).is_some() || position(next).is_some_and(|p| p.path == path))
    }
}

/// `note: x` of a compiler. A note with a rule of its own (`[SC2086]`) is a finding.
fn is_note(rest: &str) -> bool {
    rest.starts_with("note:") && !rest.rsplit_once("[SC").is_some_and(|(_, code)| code.ends_with(']'))
}

/// How far the form of a finding is bound. A word such as `error` that the tool puts before every text says nothing;
/// what the text itself says counts.
fn bound(line: &str, pos: &super::scan::Position<'_>, is_row: bool) -> Bound {
    if !is_row
        && !pos.dashed
        && ["error: ", "fatal error: ", "error TS", "error CS"].iter().any(|e| pos.rest.starts_with(e))
    {
        return Bound::Line;
    }
    let plain = pos.rest.strip_prefix("[error] ").or_else(|| pos.rest.strip_prefix("[warning] "));
    let plain =
        plain.or_else(|| pos.rest.strip_suffix(" [error]").or_else(|| pos.rest.strip_suffix(" [warning]")));
    let plain = plain.or_else(|| match (pos.dashed, pos.rest.strip_prefix("error: ")) {
        (true, Some(rest)) => Some(rest),
        (true, None) => pos.rest.strip_prefix("warning: "),
        _ => None,
    });
    let words = if is_row { Bound::Words } else { Bound::Free };
    match severity(plain.unwrap_or(line)) {
        Severity::Error if is_row && pos.tag.is_empty() => Bound::Row,
        Severity::Error => Bound::Line,
        Severity::Warning if !is_row && is_warning(plain.unwrap_or(line), pos.rest) => Bound::First,
        _ => words,
    }
}

/// Whether a warning is one by its form, not by a word in it.
fn is_warning(line: &str, rest: &str) -> bool {
    rest.starts_with("warning") || line.contains("Warning: ") || line.contains("WARN")
}

/// `file.c: In function 'f':`, `file.c: At top level:`, `In file included from a.h:1,`, `                 from b.h:2:`.
/// GCC translates the words; the form stays.
pub(crate) fn is_lead(line: &str) -> bool {
    if line.starts_with("In file included from ")
        || line.trim_start().starts_with("from ") && line.starts_with("    ")
    {
        return true;
    }
    let Some((path, rest)) = line.split_once(": ") else { return false };
    !path.contains(' ') && super::scan::is_path(path) && rest.ends_with(':') && !rest.contains(": ")
}

/// The file a lead line speaks of; empty for include chains.
pub(crate) fn lead_path(line: &str) -> &str {
    match line.split_once(": ") {
        Some((path, _)) if !line.starts_with("In file included from ") && !line.starts_with(' ') => path,
        _ => "",
    }
}

/// Rulers, rows of dots and letters (rubocop's progress), `************* Module x`.
fn is_decoration(line: &str) -> bool {
    let text = line.trim();
    let ruler = text.len() >= 5 && text.bytes().all(|b| matches!(b, b'-' | b'=' | b'*' | b'_' | b'~'));
    ruler || text.starts_with("************* Module ") || text == "Offenses:"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::Level;

    fn kinds(text: &str) -> String {
        let out = Output::new(text, Level::Standard);
        let letter = |k: &Kind| match k {
            Kind::Other => 'o',
            Kind::Blank => '_',
            Kind::Finding(_) => 'F',
            Kind::Frame(_) => '|',
            Kind::Detail(_) => '.',
            Kind::Heading => 'H',
            Kind::Lead => 'L',
            Kind::Decoration => '-',
        };
        parse(&out).kinds.iter().map(letter).collect()
    }

    #[test]
    fn reads_the_formats() {
        for (text, expected) in [
            (
                "a.c: In function \u{2018}f\u{2019}:\na.c:1:2: error: x\n    1 | y\n      | ^\nmake: z",
                "LF||o",
            ),
            ("a.rb:1:1: C: A/B: c.\nsource 'x'\n^^^^\n\n1 file inspected", "F||_o"),
            ("/a/b.ts\n  1:2  error  x  r\n\n\u{2716} 1 problem", "HF_o"),
            ("A.java:2: error: x\nclass A {}\n   ^\n  symbol: y\n1 error", "F||.o"),
            ("a.py:\n  1:2 E1 x\n  3:4 E2 y", "HFF"),
            ("/a.py\n  /a.py:1:2 - error: x (r)\n1 error", "HFo"),
            ("== a.rb ==\nC:  1:  1: A/B: c", "HF"),
            ("************* Module a\na.py:1:0: C0114: x (m)\n-----\nrated 1", "-F-o"),
            ("a.txt\nb.txt\n", "oo"),
            ("In file included from a.h:1,\n                 from b.c:2:\nc.h:3:4: warning: x", "LLF"),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn binds_what_is_searched_for() {
        for (line, expected) in [
            ("a.c:1:2: error: x", Bound::Line),
            ("a.ts(1,2): error TS1: x", Bound::Line),
            ("a.c:1:2: warning: x", Bound::First),
            ("a.py:1:2: E711 x", Bound::Free),
            ("/a.py:1:2 - error: is bad (r)", Bound::Free),
            ("/a.py:1:2 - error: \"x\" is not defined (r)", Bound::Line),
            ("a.yml:1:2: [error] too long (line-length)", Bound::Free),
        ] {
            let pos = position(line).expect(line);
            assert_eq!(bound(line, &pos, false), expected, "{line}");
        }
    }
}
