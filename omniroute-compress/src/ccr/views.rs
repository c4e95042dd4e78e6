//! Parts of a text: from a byte on, lines by number, lines that match, facts.

use std::fmt::Write as _;

use omniroute_core::{BlobId, UnixMs};
use regex::{Regex, RegexBuilder};

use super::retrieve::{Answer, RetrieveError};

/// Most bytes of one answer.
const MAX_BYTES: usize = 256 << 10;
/// Most matches of one answer.
const MAX_MATCHES: usize = 1_000;
const FIRST_MATCHES: &str = "[cut: the first 1000 matches; a narrower pattern shows others]";
/// Of longer lines only what is around a match is shown: a list of records often is one line.
const LONG_LINE: usize = 2_000;
/// Bytes in front of a match and behind it.
const AROUND: usize = 160;

/// From byte `offset` on; an offset inside a character means that character.
pub(super) fn full(text: &str, offset: u64) -> Result<Answer, RetrieveError> {
    let from = usize::try_from(offset).unwrap_or(usize::MAX);
    if from > text.len() {
        let rule = format!("{offset} is behind the end, the text has {} bytes", text.len());
        return Err(RetrieveError::argument("offset", rule));
    }
    let from = char_start(text, from);
    let rest = text.get(from..).unwrap_or_default();
    if rest.len() <= MAX_BYTES {
        return Ok(Answer { text: rest.to_owned(), complete: true });
    }
    let end = char_start(rest, MAX_BYTES);
    let part = rest.get(..end).unwrap_or_default();
    let end = from + end;
    let text =
        format!("{part}\n[cut: bytes {from}-{end} of {}; go on with mode=full offset={end}]", text.len());
    Ok(Answer { text, complete: false })
}

/// `count` lines from line `start` on, of `wanted` lines that were asked for.
pub(super) fn lines(text: &str, start: u64, count: u64, wanted: u64) -> Answer {
    let total = count_lines(text);
    if start > total {
        return Answer { text: format!("[the text has {total} lines]"), complete: true };
    }
    let skip = usize::try_from(start - 1).unwrap_or(usize::MAX);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut out = String::new();
    let mut shown = 0;
    for line in text.split_inclusive('\n').skip(skip).take(count) {
        if out.len() + line.len() > MAX_BYTES && shown > 0 {
            break;
        }
        out.push_str(line);
        shown += 1;
    }
    let last = start - 1 + shown;
    let all = last >= total || shown >= wanted;
    let (mut out, fits) = bounded(out);
    if !all {
        end_line(&mut out);
        let _ = write!(out, "[cut: lines {start}-{last} of {total}; go on with start={}]", last + 1);
    }
    Answer { text: out, complete: all && fits }
}

/// The last `n` lines.
pub(super) fn tail(text: &str, n: u64) -> Answer {
    let total = count_lines(text);
    lines(text, total.saturating_sub(n).saturating_add(1).min(total.max(1)), n, n)
}

/// Lines that match, with their numbers and `context` lines around them.
pub(super) fn grep(
    text: &str,
    pattern: &str,
    ignore_case: bool,
    context: u64,
) -> Result<Answer, RetrieveError> {
    let regex = RegexBuilder::new(pattern).case_insensitive(ignore_case).size_limit(1 << 20).build();
    let regex = regex.map_err(|e| RetrieveError::argument("pattern", not_a_pattern(&e)))?;
    let context = usize::try_from(context).unwrap_or(0);
    let all: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    let mut next = 0; // the first line that is not shown yet
    let mut found = 0;
    let mut parts = false;
    let mut cut = "";
    for (at, _) in all.iter().enumerate().filter(|(_, line)| regex.is_match(line)) {
        if found == MAX_MATCHES {
            cut = FIRST_MATCHES;
            break;
        }
        if out.len() > MAX_BYTES {
            cut = "[cut: the answer is full; a narrower pattern shows others]";
            break;
        }
        if let Some(line) = all.get(at).filter(|line| line.len() > LONG_LINE) {
            found += around(&mut out, line, at + 1, &regex, MAX_MATCHES - found);
            (next, parts) = (next.max(at + 1), true);
            if found == MAX_MATCHES {
                cut = FIRST_MATCHES;
                break;
            }
            continue;
        }
        found += 1;
        let from = at.saturating_sub(context).max(next);
        if found > 1 && from > next {
            out.push_str("--\n");
        }
        let to = at.saturating_add(context).min(all.len() - 1);
        for (n, line) in all.iter().enumerate().take(to + 1).skip(from) {
            let mark = if regex.is_match(line) { ':' } else { '-' };
            // A long line between others: its start, and its matches in its own turn.
            let start = line.get(..char_start(line, LONG_LINE)).unwrap_or_default();
            let more = if start.len() < line.len() { "\u{2026}" } else { "" };
            let _ = writeln!(out, "{}{mark}{start}{more}", n + 1);
        }
        next = next.max(to + 1);
    }
    if found == 0 {
        return Ok(Answer { text: "[no line matches]".to_owned(), complete: true });
    }
    out.pop();
    let (mut out, fits) = bounded(out);
    if parts {
        end_line(&mut out);
        out.push_str("[cut: long lines are shown around their matches only]");
    }
    if !cut.is_empty() {
        end_line(&mut out);
        out.push_str(cut);
    }
    Ok(Answer { text: out, complete: cut.is_empty() && fits && !parts })
}

/// Shows what is around the matches in a long line, at most `most` of them; returns how many there were.
fn around(out: &mut String, line: &str, number: usize, regex: &Regex, most: usize) -> usize {
    let mut found = 0;
    let mut shown: Option<(usize, usize)> = None;
    let mut write = |(from, to): (usize, usize)| {
        let (before, behind) =
            (if from > 0 { "\u{2026}" } else { "" }, if to < line.len() { "\u{2026}" } else { "" });
        let _ = writeln!(out, "{number}:{before}{}{behind}", line.get(from..to).unwrap_or_default());
    };
    for hit in regex.find_iter(line).take(most) {
        found += 1;
        // A match may be as long as the line.
        let from = char_start(line, hit.start().saturating_sub(AROUND));
        let to = char_start(line, hit.end().min(hit.start() + LONG_LINE) + AROUND);
        match &mut shown {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => {
                if let Some(done) = shown.replace((from, to)) {
                    write(done);
                }
            }
        }
    }
    if let Some(done) = shown {
        write(done);
    }
    found
}

/// Length, lines, address and age.
pub(super) fn stats(text: &str, id: BlobId, kept: UnixMs, ttl_ms: Option<u64>) -> Answer {
    let (chars, lines) = (text.chars().count(), count_lines(text));
    let mut out = format!("chars={chars}\nlines={lines}\nbytes={}\nhash={id}", text.len());
    if kept.0 > 0 {
        let _ = write!(out, "\nkept_ms={}", kept.0);
    }
    if let Some(ttl) = ttl_ms {
        let _ = write!(out, "\nttl_s={}", ttl / 1000);
    }
    Answer { text: out, complete: true }
}

fn count_lines(text: &str) -> u64 {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    breaks + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// One line may be larger than an answer: its start is shown then.
fn bounded(mut text: String) -> (String, bool) {
    if text.len() <= MAX_BYTES + 1 {
        return (text, true);
    }
    let whole = text.len();
    text.truncate(char_start(&text, MAX_BYTES));
    let _ = write!(text, "\n[cut: {whole} bytes; mode=full shows all of them in parts]");
    (text, false)
}

/// The start of the character that byte `at` belongs to.
fn char_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

fn not_a_pattern(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("it would need more than {limit} bytes"),
        // The message draws the place under the pattern; its last line says what is wrong.
        other => {
            let text = other.to_string();
            let what = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let place = text.lines().find(|line| line.trim_start().starts_with('^'));
            let place = place.and_then(|line| line.find('^')).map_or(0, |at| at.saturating_sub(3));
            format!("not a regular expression at character {place}: {what}")
        }
    }
}
