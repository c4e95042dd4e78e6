//! One pass over the lines: trims, joins blank lines and folds repeats.
//!
//! Nothing is copied until the first edit.

use std::fmt::Write as _;

use super::lines::{self, Line, line_at};
use super::region::Region;
use super::{Counts, Rules};

/// Applies the line rules; `None` when the text stays as it is.
pub(crate) fn run(text: &str, rules: Rules, counts: &mut Counts) -> Option<String> {
    let mut pass = Pass { text, rules, counts, out: String::new(), copied: 0, markdown: None };
    pass.lines();
    pass.finish()
}

struct Pass<'t> {
    text: &'t str,
    rules: Rules,
    counts: &'t mut Counts,
    out: String,
    /// Offset up to which the text has been copied or cut.
    copied: usize,
    markdown: Option<bool>,
}

impl Pass<'_> {
    fn lines(&mut self) {
        let bytes = self.text.as_bytes();
        let mut region = Region::Free;
        let mut feeds = 0;
        let mut at = 0;
        while at < bytes.len() {
            let line = line_at(bytes, at);
            let after = || {
                let next = line_at(bytes, line.next);
                &bytes[next.start..next.end]
            };
            if region.protects(&bytes[at..line.end], after) {
                feeds = 1;
                at = line.next;
                continue;
            }
            let line = self.trim(line);
            at = line.next;
            if line.content == line.start && line.has_usual_end() {
                feeds += 1;
                if self.rules.blank_lines && feeds > 2 {
                    bump(&mut self.counts.blank_lines, 1);
                    self.cut(line.start, line.next, 0);
                    continue;
                }
            } else {
                feeds = 1;
                if let Some(next) = self.fold(line) {
                    at = next;
                    continue;
                }
            }
            if line.content < line.end {
                bump(&mut self.counts.trimmed_lines, 1);
                self.cut(line.content, line.end, 0);
            }
        }
    }

    /// The line with its content cut where `trim_eol` says.
    #[inline]
    fn trim(&mut self, line: Line) -> Line {
        let bytes = self.text.as_bytes();
        if !self.rules.trim_eol || line.end == line.start || !matches!(bytes[line.end - 1], b' ' | b'\t') {
            return line;
        }
        let trimmed = line.trimmed(bytes);
        let hard_break = trimmed.content > trimmed.start && bytes[trimmed.content..line.end] == *b"  ";
        if hard_break {
            let text = self.text;
            if *self.markdown.get_or_insert_with(|| lines::has_markdown(text)) {
                return line;
            }
        }
        trimmed
    }

    /// Folds the run of equal lines that begins with `line`, if it is one, and
    /// returns the offset after it.
    #[inline]
    fn fold(&mut self, line: Line) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let content = &bytes[line.start..line.content];
        if !self.rules.dup_consecutive || !bytes[line.next..].starts_with(content) {
            return None;
        }
        let ending = &bytes[line.end..line.next];
        if ending.is_empty() || !may_fold(content) {
            return None;
        }
        let (mut count, mut last) = (1, line);
        while bytes[last.next..].starts_with(content) {
            let next = self.trim(line_at(bytes, last.next));
            let next_ending = &bytes[next.end..next.next];
            let closes = next_ending.is_empty() && next.next == bytes.len();
            if next.content - next.start != content.len() || !(closes || next_ending == ending) {
                break;
            }
            (count, last) = (count + 1, next);
            if closes {
                break;
            }
        }
        let gain = (count - 1) * (content.len() + ending.len());
        let suffix = " (x)".len() + count.to_string().len();
        if count < 3 || gain <= suffix {
            return None;
        }
        bump(&mut self.counts.folded_runs, 1);
        bump(&mut self.counts.folded_lines, count);
        self.cut(line.content, last.end, count);
        Some(last.next)
    }

    /// Leaves out a part of the text and writes ` (x<count>)` for a count.
    fn cut(&mut self, from: usize, to: usize, count: usize) {
        if self.copied == 0 {
            self.out.reserve(self.text.len());
        }
        self.out.push_str(self.text.get(self.copied..from).unwrap_or_default());
        if count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(self.out, " (x{count})");
        }
        self.copied = to;
    }

    fn finish(mut self) -> Option<String> {
        if self.copied == 0 {
            return None;
        }
        self.out.push_str(self.text.get(self.copied..).unwrap_or_default());
        Some(self.out)
    }
}

/// False for blank lines, JSON, possible diff headers, lines that already
/// carry a count, and lines with an incomplete escape sequence, which a suffix
/// could complete.
fn may_fold(content: &[u8]) -> bool {
    !content.trim_ascii().is_empty()
        && !lines::has_count(content)
        && !content.starts_with(b"--- ")
        && !content.starts_with(b"*** ")
        && !content.contains(&0x1b)
        && !content.windows(2).any(|pair| matches!(pair, [0xc2, 0x9b | 0x9d]))
        && !lines::is_json(content)
}

fn bump(count: &mut u32, by: usize) {
    *count = count.saturating_add(u32::try_from(by).unwrap_or(u32::MAX));
}
