//! Parts of a text that no engine for prose may touch: code, addresses, numbers, names, tables, quotes, errors.
//!
//! One pass over the lines decides what whole lines are; one pass over the remaining paragraphs finds what stands
//! inside them. Both look at each byte a bounded number of times. In doubt a part is protected.

mod inline;
mod line;
#[cfg(test)]
mod tests;

/// What a protected part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A fenced block, with its fences.
    Fence,
    /// Lines that are indented as code.
    IndentedCode,
    /// Code between backticks.
    InlineCode,
    /// An address with a scheme, or one that starts with `www.`.
    Url,
    /// A mail address or a handle.
    Email,
    /// A path of a file, with its line number.
    Path,
    /// A JSON value, or anything else in curly or square brackets.
    Json,
    /// Rows of a table.
    Table,
    /// Settings at the start of a document.
    Frontmatter,
    /// A heading.
    Heading,
    /// A formula.
    Math,
    /// What somebody said or wrote, word for word.
    Quote,
    /// A name from a program: `snake_case`, `camelCase`, `a::b`, `--flag`, `$VAR`, hashes, versions.
    Identifier,
    /// A number with its sign, currency and unit.
    Number,
    /// A line that tells of an error.
    ErrorLine,
    /// A line of a stack trace.
    StackFrame,
    /// Lines of a diff.
    Diff,
    /// A line that something was left out here.
    Marker,
    /// A command, a line of a log, a line that is more signs than words.
    Command,
    /// A tag.
    Markup,
    /// What a pattern of the user found.
    Pattern,
}

/// A protected part: bytes `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
}

/// All protected parts of a text, in order; they never overlap and end at character boundaries.
///
/// ```
/// use omniroute_compress::protect::{Kind, spans};
/// let found = spans("Please run `make test` within 5 ms.");
/// let kinds: Vec<Kind> = found.iter().map(|s| s.kind).collect();
/// assert_eq!(kinds, [Kind::InlineCode, Kind::Number]);
/// ```
pub fn spans(text: &str) -> Vec<Span> {
    scan(text).spans
}

pub(crate) use line::line_end;

/// A plain word outside all protected parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Neighbouring lines of prose, with where its words and spans stand in the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paragraph {
    pub(crate) bytes: std::ops::Range<usize>,
    pub(crate) words: std::ops::Range<usize>,
    pub(crate) spans: std::ops::Range<usize>,
}

/// Everything a text consists of.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) spans: Vec<Span>,
    pub(crate) words: Vec<Word>,
    pub(crate) paragraphs: Vec<Paragraph>,
}

impl Scan {
    /// The same with some ranges of its paragraphs protected, too. They are in order and do not overlap.
    pub(crate) fn with(mut self, ranges: &[std::ops::Range<usize>], kind: Kind) -> Scan {
        let (old_spans, old_words) = (std::mem::take(&mut self.spans), std::mem::take(&mut self.words));
        let mut done = 0;
        let mut from = 0;
        for paragraph in &mut self.paragraphs {
            self.spans.extend(old_spans.get(done..paragraph.spans.start).unwrap_or_default());
            done = paragraph.spans.end;
            let own = old_spans.get(paragraph.spans.clone()).unwrap_or_default();
            while ranges.get(from).is_some_and(|range| range.end <= paragraph.bytes.start) {
                from += 1;
            }
            let inside = ranges.get(from..).unwrap_or_default().iter();
            let inside = inside.take_while(|range| range.start < paragraph.bytes.end).map(|range| Span {
                start: range.start.max(paragraph.bytes.start),
                end: range.end.min(paragraph.bytes.end),
                kind,
            });
            let mut all: Vec<Span> = own.iter().copied().chain(inside).collect();
            all.sort_by_key(|span| (span.start, span.end));
            let first = self.spans.len();
            for span in all {
                match self
                    .spans
                    .get_mut(first..)
                    .and_then(<[Span]>::last_mut)
                    .filter(|last| span.start < last.end)
                {
                    Some(last) => last.end = last.end.max(span.end),
                    None => self.spans.push(span),
                }
            }
            let mut spans = self.spans.get(first..).unwrap_or_default().iter().peekable();
            let start = self.words.len();
            for word in old_words.get(paragraph.words.clone()).unwrap_or_default() {
                while spans.next_if(|span| span.end <= word.start as usize).is_some() {}
                if spans.peek().is_none_or(|span| span.start >= word.end as usize) {
                    self.words.push(*word);
                }
            }
            paragraph.spans = first..self.spans.len();
            paragraph.words = start..self.words.len();
        }
        self.spans.extend(old_spans.get(done..).unwrap_or_default());
        self
    }
}

/// Divides a text into protected parts and words. Texts over 4 GiB are one protected part.
pub(crate) fn scan(text: &str) -> Scan {
    let mut out = Scan::default();
    if u32::try_from(text.len()).is_err() {
        out.spans.push(Span { start: 0, end: text.len(), kind: Kind::Command });
        return out;
    }
    let bytes = text.as_bytes();
    let mut prose: Option<std::ops::Range<usize>> = None;
    line::each(bytes, &mut |part| match part {
        line::Part::Prose(range) => match &mut prose {
            Some(open) => open.end = range.end,
            None => prose = Some(range),
        },
        line::Part::Blank => close(bytes, &mut prose, &mut out),
        line::Part::Protected(span) => {
            close(bytes, &mut prose, &mut out);
            out.spans.push(span);
        }
    });
    close(bytes, &mut prose, &mut out);
    out
}

fn close(bytes: &[u8], prose: &mut Option<std::ops::Range<usize>>, out: &mut Scan) {
    if let Some(range) = prose.take() {
        let (words, spans) = (out.words.len(), out.spans.len());
        inline::paragraph(bytes, range.clone(), out);
        let (words, spans) = (words..out.words.len(), spans..out.spans.len());
        out.paragraphs.push(Paragraph { bytes: range, words, spans });
    }
}
