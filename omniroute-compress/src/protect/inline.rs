//! What stands inside a paragraph: code, quotes, brackets, formulas, and words that are more than words.

mod token;

use std::ops::Range;

use memchr::memmem;

use super::line::line_end;
use super::{Kind, Scan, Span};

/// Opening signs and their closing ones, each of several bytes.
const PAIRS: [(&str, &str); 7] =
    [("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"), ("《", "》"), ("‘", "’")];

/// Finds spans and words of the paragraph at `range`.
pub(super) fn paragraph(bytes: &[u8], range: Range<usize>, out: &mut Scan) {
    let mut walk = Walk {
        bytes: bytes.get(..range.end).unwrap_or(bytes),
        first_span: out.spans.len(),
        first_word: out.words.len(),
        out,
        line_start: range.start,
        quote: None,
        brackets: Vec::new(),
        no_backticks: 0,
        no_pair: 0,
        no_math: 0,
        line_dead: 0,
        line_stop: 0,
    };
    walk.run(range.start);
    let (spans, words) = (walk.first_span, walk.first_word);
    paths_with_blanks(bytes, spans, words, out);
}

/// Most bytes between two parts of one path.
const PATH_GAP: usize = 60;

/// Joins the parts of paths whose folders have blanks in their names: `C:\\Program Files\\the app\\x` is one path. In doubt
/// the words between stay as they are.
fn paths_with_blanks(bytes: &[u8], first_span: usize, first_word: usize, out: &mut Scan) {
    let text = |span: &Span| bytes.get(span.start..span.end).unwrap_or(&[]);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for pair in out.spans.get(first_span..).unwrap_or_default().windows(2) {
        let [a, b] = pair else { continue };
        let gap = bytes.get(a.end..b.start).unwrap_or(&[]);
        let names = !gap.is_empty()
            && gap.len() <= PATH_GAP
            && gap.iter().all(|b| *b == b' ' || *b >= 0x80 || b.is_ascii_alphanumeric());
        let (head, tail) = (text(a), text(b));
        let starts = matches!(head, [b'/' | b'\\' | b'~' | b'.', ..] | [_, b':', b'\\' | b'/', ..]);
        let open = joined.last().is_some_and(|last| last.end == a.end);
        let goes_on = match b.kind {
            Kind::Path => !matches!(tail, [b'/' | b'\\' | b'~' | b'.', ..] | [_, b':', ..]),
            Kind::Identifier => tail.contains(&b'.'),
            _ => false,
        };
        if a.kind == Kind::Path && names && goes_on && (starts || open) {
            match joined.last_mut().filter(|last| last.end == a.end) {
                Some(last) => last.end = b.end,
                None => joined.push(a.start..b.end),
            }
        }
    }
    if joined.is_empty() {
        return;
    }
    let inside = |start: usize, end: usize| {
        let at = joined.partition_point(|range| range.end <= start);
        joined.get(at).filter(|range| range.start <= start && end <= range.end)
    };
    let mut spans: Vec<Span> = Vec::new();
    for span in out.spans.drain(first_span..) {
        match inside(span.start, span.end) {
            Some(range) if spans.last().is_some_and(|last| last.start == range.start) => {}
            Some(range) => spans.push(Span { start: range.start, end: range.end, kind: Kind::Path }),
            None => spans.push(span),
        }
    }
    out.spans.extend(spans);
    let words: Vec<super::Word> = out.words.drain(first_word..).collect();
    out.words.extend(words.into_iter().filter(|w| inside(w.start as usize, w.end as usize).is_none()));
}

/// Searches in the present line that have found nothing, so that nobody searches again.
const DEAD_TAG: u8 = 1;
const DEAD_QUOTE: u8 = 2;
const DEAD_DOLLAR: u8 = 4;

struct Walk<'b, 'o> {
    bytes: &'b [u8],
    first_span: usize,
    first_word: usize,
    out: &'o mut Scan,
    line_start: usize,
    quote: Option<usize>,
    brackets: Vec<(u8, usize)>,
    no_backticks: u64,
    no_pair: u8,
    no_math: u8,
    line_dead: u8,
    /// End of the line that was looked at last.
    line_stop: usize,
}

impl Walk<'_, '_> {
    fn run(&mut self, mut at: usize) {
        while let Some(&b) = self.bytes.get(at) {
            at = match b {
                b' ' | b'\t' | b'\r' => at + 1,
                b'\n' => {
                    (self.line_start, self.line_dead) = (at + 1, 0);
                    at + 1
                }
                b'`' => self.backticks(at),
                b'"' => self.double_quote(at),
                b'\'' => self.single_quote(at),
                b'{' | b'[' => {
                    self.brackets.push((b, at));
                    at + 1
                }
                b'}' | b']' => self.close_bracket(b, at),
                b'<' => self.until_line_end(at, b'>', DEAD_TAG, Kind::Markup).unwrap_or(at + 1),
                b'$' => self.dollar(at).unwrap_or_else(|| self.token(at)),
                b'\\' => self.backslash(at).unwrap_or_else(|| self.token(at)),
                0xC2 | 0xE2 | 0xE3 => self.pair(at).unwrap_or_else(|| self.token(at)),
                0xE4..=0xEF | 0xF0.. => at + width(b),
                _ => self.token(at),
            };
        }
    }

    /// End of the line that `at` is in; looked for once a line.
    fn stop(&mut self, at: usize) -> usize {
        if self.line_stop <= at {
            self.line_stop = line_end(self.bytes, at);
        }
        self.line_stop
    }

    /// Records a span and drops what was found inside it.
    fn span(&mut self, start: usize, end: usize, kind: Kind) {
        let mut start = start;
        while self.out.spans.len() > self.first_span
            && self.out.spans.last().is_some_and(|s| s.start >= start)
        {
            self.out.spans.pop();
        }
        if self.out.spans.len() > self.first_span
            && let Some(last) = self.out.spans.last()
        {
            start = start.max(last.end);
        }
        while self.out.words.len() > self.first_word
            && self.out.words.last().is_some_and(|w| w.start as usize >= start)
        {
            self.out.words.pop();
        }
        self.out.spans.push(Span { start, end, kind });
    }

    fn backticks(&mut self, at: usize) -> usize {
        let count = self.run_of(at);
        let bit = 1_u64 << count.min(63);
        if self.no_backticks & bit == 0 {
            let mut from = at + count;
            while let Some(n) = memchr::memchr(b'`', self.bytes.get(from..).unwrap_or(&[])) {
                let other = self.run_of(from + n);
                from += n + other;
                if other == count {
                    self.note_lines(at, from);
                    self.span(at, from, Kind::InlineCode);
                    return from;
                }
            }
            self.no_backticks |= bit;
        }
        at + count
    }

    fn run_of(&self, at: usize) -> usize {
        self.bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| **b == b'`').count()
    }

    /// Takes notice of the lines inside a jump.
    fn note_lines(&mut self, from: usize, to: usize) {
        if let Some(n) = memchr::memrchr(b'\n', self.bytes.get(from..to).unwrap_or(&[])) {
            (self.line_start, self.line_dead) = (from + n + 1, 0);
        }
    }

    fn double_quote(&mut self, at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|n| self.bytes.get(n)).copied().unwrap_or(b' ');
        match self.quote {
            Some(_) if before == b'\\' => {}
            Some(open) => {
                self.quote = None;
                self.forget_brackets(open);
                self.span(open, at + 1, Kind::Quote);
            }
            // Inches.
            None if before.is_ascii_digit() => {}
            None => self.quote = Some(at),
        }
        at + 1
    }

    /// Several words between single quotes, or one: both are somebody's words.
    fn single_quote(&mut self, at: usize) -> usize {
        let starts = self.bytes.get(at + 1).is_some_and(|b| !b.is_ascii_whitespace());
        if !starts || self.line_dead & DEAD_QUOTE != 0 {
            return at + 1;
        }
        let end = self.stop(at);
        let mut from = at + 1;
        while let Some(n) = memchr::memchr(b'\'', self.bytes.get(from..end).unwrap_or(&[])) {
            from += n + 1;
            let inside = self.bytes.get(from).is_some_and(|b| b.is_ascii_alphanumeric() || *b >= 0x80);
            if !inside {
                self.span(at, from, Kind::Quote);
                return from;
            }
        }
        self.line_dead |= DEAD_QUOTE;
        at + 1
    }

    fn close_bracket(&mut self, b: u8, at: usize) -> usize {
        let opener = if b == b'}' { b'{' } else { b'[' };
        // Inside quotes only what was opened there is closed.
        let from = self.quote.unwrap_or(0);
        while let Some((open, start)) = self.brackets.pop_if(|(_, start)| *start >= from) {
            if open == opener {
                self.span(start, at + 1, Kind::Json);
                break;
            }
        }
        at + 1
    }

    /// Drops brackets that were opened at `from` or later.
    fn forget_brackets(&mut self, from: usize) {
        while self.brackets.last().is_some_and(|(_, start)| *start >= from) {
            self.brackets.pop();
        }
    }

    /// A part that ends at `close` on the same line.
    fn until_line_end(&mut self, at: usize, close: u8, dead: u8, kind: Kind) -> Option<usize> {
        if self.line_dead & dead != 0 {
            return None;
        }
        let end = self.stop(at);
        match memchr::memchr(close, self.bytes.get(at + 1..end)?) {
            Some(n) if n > 0 => {
                self.span(at, at + n + 2, kind);
                Some(at + n + 2)
            }
            Some(_) => None,
            None => {
                self.line_dead |= dead;
                None
            }
        }
    }

    fn dollar(&mut self, at: usize) -> Option<usize> {
        if self.bytes.get(at + 1) == Some(&b'$') {
            return self.block(at, b"$$", b"$$", 1);
        }
        let next = *self.bytes.get(at + 1)?;
        let formula = !next.is_ascii_digit() && !next.is_ascii_whitespace() && next != b'{' && next != b'(';
        formula.then(|| self.until_line_end(at, b'$', DEAD_DOLLAR, Kind::Math)).flatten()
    }

    fn backslash(&mut self, at: usize) -> Option<usize> {
        match self.bytes.get(at + 1)? {
            b'[' => self.block(at, b"\\[", b"\\]", 2),
            b'(' => self.block(at, b"\\(", b"\\)", 4),
            b'b' if self.bytes.get(at..)?.starts_with(b"\\begin{") => {
                let end = self.block(at, b"\\begin{", b"\\end{", 8)?;
                let close = memchr::memchr(b'}', self.bytes.get(end..self.stop(end))?);
                let end = close.map_or(end, |n| end + n + 1);
                self.span(at, end, Kind::Math);
                Some(end)
            }
            _ => None,
        }
    }

    fn block(&mut self, at: usize, open: &[u8], close: &[u8], bit: u8) -> Option<usize> {
        if self.no_math & bit != 0 {
            return None;
        }
        let from = at + open.len();
        match memmem::find(self.bytes.get(from..)?, close) {
            Some(n) => {
                let end = from + n + close.len();
                self.note_lines(at, end);
                self.span(at, end, Kind::Math);
                Some(end)
            }
            None => {
                self.no_math |= bit;
                None
            }
        }
    }

    /// Quotes of several bytes. None if this is no opening quote; a sign without a partner is passed over.
    fn pair(&mut self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        let (n, (open, close)) =
            PAIRS.iter().enumerate().find(|(_, (open, _))| rest.starts_with(open.as_bytes()))?;
        let bit = 1_u8 << n;
        let from = at + open.len();
        if self.no_pair & bit == 0 {
            if let Some(n) = memmem::find(self.bytes.get(from..)?, close.as_bytes()) {
                let end = from + n + close.len();
                self.note_lines(at, end);
                self.span(at, end, Kind::Quote);
                return Some(end);
            }
            self.no_pair |= bit;
        }
        Some(from)
    }
}

/// Bytes of the character that starts with this one.
fn width(b: u8) -> usize {
    match b {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}
