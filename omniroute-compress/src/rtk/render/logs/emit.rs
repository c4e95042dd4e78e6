//! Writes the fates of the records into the draft, and the texts that stand for folded ones.

use std::fmt::Write as _;

use super::choose::Fate;
use super::head::{Form, Head, head};
use super::mask::{Kind, Sink, walk};
use super::scan::{Class, Scan, parts};
use super::table::OTHER;
use super::values::Values;
use crate::rtk::kit::{Draft, Level, Output, Severity, What, severity};
use crate::rtk::render::stack::Traces;

/// Templates of warnings and errors with folded records that get a line of their own.
const COVERED: usize = 100;
/// Fewer records of other templates than this get no line of their own.
const FEW_OTHERS: u64 = 5;
/// A time of day with more bytes than this has fractions that nobody reads.
const LONG_STAMP: usize = 15;
/// Bytes of a template that are shown.
const MAX_TEXT: usize = 200;
/// Lines below a record that stay: of an error, of another one if there are not more.
const MAX_BELOW: (usize, usize) = (40, 2);
/// Lines below an error that stay at its end.
const LAST_BELOW: usize = 10;

/// What was folded of one template.
#[derive(Debug, Clone, Copy, Default)]
struct Gone {
    count: u32,
    first: usize,
    last: usize,
    /// The text about it stands before this record.
    place: usize,
}

impl Gone {
    fn add(&mut self, n: usize) {
        if self.count == 0 {
            self.first = n;
            self.place = if self.place == 0 { n } else { self.place };
        }
        self.count += 1;
        self.last = n;
    }
}

/// Writes everything.
pub(super) fn emit(out: &Output<'_>, draft: &mut Draft, scan: &Scan, fates: &[Fate]) {
    let mut dropped = vec![Gone::default(); scan.templates.len()];
    let mut covered = vec![Gone::default(); scan.templates.len()];
    let mut values = Values::default();
    let mut traces = Traces::default();
    let mut first_gap = None;
    let date = scan.records.first().and_then(|r| date(out.line(r.line as usize)));
    for (n, (record, fate)) in scan.records.iter().zip(fates).enumerate() {
        let lines = scan.lines(n, out.len());
        let number = record.template as usize;
        match fate {
            Fate::Keep => {
                if record.class == Class::Plain && n > 0 {
                    without_date(out, draft, lines.start, date);
                }
                below(out, draft, &mut traces, record.class, lines);
                if let Some(gone) = covered.get_mut(number).filter(|g| g.count == 0) {
                    gone.place = n + 1;
                }
            }
            Fate::Drop => {
                first_gap = first_gap.or(Some(lines.start));
                draft.drop_known(lines.start, What::Records);
                for i in lines.start + 1..lines.end {
                    if severity(out.line(i)) < Severity::Error {
                        draft.cover(i);
                    }
                }
                if let Some(gone) = dropped.get_mut(number) {
                    gone.add(n);
                }
            }
            Fate::Cover => {
                lines.clone().for_each(|i| draft.cover(i));
                if let Some(gone) = covered.get_mut(number) {
                    gone.add(n);
                }
                let line = out.line(lines.start).as_bytes();
                let h = head(line);
                if record.template != OTHER && h.is_none_or(|h| h.form == Form::Text) {
                    values.take(record.template, line, message(line, h.as_ref()), line.len());
                }
            }
        }
    }
    let text = Text { out, scan, values: &values };
    text.covered(draft, &mut traces, &covered);
    if let Some(line) = first_gap {
        text.summary(draft, line, &dropped);
    }
}

/// The date in front of the time of day.
fn date(line: &str) -> Option<&str> {
    let h = head(line.as_bytes()).filter(|h| h.form != Form::Json)?;
    line.get(h.stamp.0..h.stamp.1).filter(|d| d.len() > 5)
}

/// Writes a record below a warning without the date that the first record shows too; the stamps of CI jobs also
/// without fractions of seconds. Equal neighbours are left to the folding of repeats.
fn without_date(out: &Output<'_>, draft: &mut Draft, i: usize, first: Option<&str>) {
    let line = out.line(i);
    let Some(h) = head(line.as_bytes()).filter(|h| h.form != Form::Json && first.is_some()) else { return };
    let repeated = line == out.line(i.saturating_sub(1)) || line == out.line(i + 1);
    if line.get(h.stamp.0..h.stamp.1) != first || repeated || line.contains("==") {
        return;
    }
    let long = h.stamp.2 - h.stamp.1 > LONG_STAMP;
    let clock_end = if long { h.stamp.1 + 8 } else { h.stamp.2 };
    let (Some(a), Some(b), Some(c)) =
        (line.get(..h.stamp.0), line.get(h.stamp.1..clock_end), line.get(h.stamp.2..))
    else {
        return;
    };
    draft.cover(i);
    draft.insert_with(i, |to| [a, b, c.trim_end()].into_iter().for_each(|part| to.push_str(part)));
}

/// The lines below a record that stays.
fn below(
    out: &Output<'_>,
    draft: &mut Draft,
    traces: &mut Traces,
    class: Class,
    lines: std::ops::Range<usize>,
) {
    let rest = lines.start + 1..lines.end;
    if rest.is_empty() {
        return;
    }
    traces.fold(out, draft, rest.clone());
    let loud = class >= Class::Alarm;
    let limit = if loud { MAX_BELOW.0 } else { MAX_BELOW.1 };
    let staying = rest.clone().filter(|i| draft.stays(*i) && !out.line(*i).trim_ascii().is_empty()).count();
    let last = if loud { LAST_BELOW } else { 0 };
    if staying <= limit + last {
        return;
    }
    let limit = if loud { limit } else { 0 };
    let mut seen = 0;
    for i in rest {
        let line = out.line(i);
        if !draft.stays(i) || line.trim_ascii().is_empty() {
            continue;
        }
        seen += 1;
        if seen > limit && seen + last <= staying && severity(line) < Severity::Error {
            draft.drop_known(i, What::Lines);
        }
    }
}

/// Where the message begins: behind the level and a thread in brackets.
fn message(line: &[u8], h: Option<&Head>) -> usize {
    let start = h.map_or(0, |h| h.message);
    let rest = line.get(start..).unwrap_or(&[]);
    let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b':' | b'\t')).count();
    match rest.get(blanks..) {
        Some(text) if text.starts_with(b"[") => {
            start + blanks + memchr::memchr(b']', text).map_or(0, |end| end + 1)
        }
        _ => start,
    }
}

struct Text<'a, 't> {
    out: &'a Output<'t>,
    scan: &'a Scan,
    values: &'a Values<'t>,
}

impl Text<'_, '_> {
    /// One line for each template with covered records, where they begin; one line for all beyond a limit. A single
    /// record stays, because its line would cost no less.
    fn covered(&self, draft: &mut Draft, traces: &mut Traces, covered: &[Gone]) {
        let mut order: Vec<(usize, Gone)> =
            covered.iter().copied().enumerate().filter(|(_, g)| g.count > 0).collect();
        order.sort_by_key(|(number, g)| (std::cmp::Reverse(g.count), *number));
        let shown = order.len().min(self.out.level.pick(COVERED, COVERED, COVERED / 2));
        let (listed, others) = order.split_at(shown);
        for (number, gone) in listed {
            let lines = self.scan.lines(gone.first, self.out.len());
            if gone.count == 1 {
                lines.clone().for_each(|i| draft.keep(i));
                below(self.out, draft, traces, Class::Error, lines);
                continue;
            }
            let place = self.scan.lines(gone.place, self.out.len()).start;
            draft.insert_with(place, |to| self.write(to, *number as u32, *gone, true));
        }
        let Some(first) = others.iter().map(|(_, g)| g.first).min() else { return };
        let count: u64 = others.iter().map(|(_, g)| u64::from(g.count)).sum();
        draft.insert_with(self.scan.lines(first, self.out.len()).start, |to| {
            let _ = write!(to, "[rtk: {count} x {} other warnings and errors]", others.len());
        });
    }

    /// One line for each template with many folded records, the most frequent first, and one for all others.
    fn summary(&self, draft: &mut Draft, line: usize, dropped: &[Gone]) {
        let mut many: Vec<(usize, Gone)> = dropped
            .iter()
            .copied()
            .enumerate()
            .filter(|(number, g)| g.count > 2 && *number != OTHER as usize)
            .collect();
        many.sort_by_key(|(number, g)| (std::cmp::Reverse(g.count), *number));
        many.truncate(self.out.level.pick(30, 30, 12));
        let listed: u64 = many.iter().map(|(_, g)| u64::from(g.count)).sum();
        let all: u64 = dropped.iter().map(|g| u64::from(g.count)).sum();
        let kinds = dropped.iter().filter(|g| g.count > 0).count() - many.len();
        let plus = if dropped.first().is_some_and(|g| g.count > 0) { "+" } else { "" };
        for (number, gone) in &many {
            draft.insert_with(line, |to| self.write(to, *number as u32, *gone, false));
        }
        if !many.is_empty() && all >= listed + FEW_OTHERS {
            draft.insert_with(line, |to| {
                let _ = write!(to, "[rtk: {} x {kinds}{plus} other templates]", all - listed);
            });
        }
    }

    /// `[rtk: 214 x "GET /api/items/<n> 200 <t>" 10:02:11-10:07:40]`.
    fn write(&self, to: &mut String, number: u32, gone: Gone, values: bool) {
        let _ = write!(to, "[rtk: {} x ", gone.count);
        if number == OTHER {
            to.push_str("other templates");
        } else {
            self.template(to, number, gone, values);
        }
        self.range(to, gone);
        to.push(']');
    }

    fn template(&self, to: &mut String, number: u32, gone: Gone, values: bool) {
        let line = self.line(gone.first);
        let bytes = line.as_bytes();
        let h = head(bytes);
        let shown = h.is_none_or(|h| h.form == Form::Text) && values;
        let mut writer =
            Writer { to, values: shown.then_some((self.values, number)), field: 0, start: 0, blank: true };
        writer.to.push('"');
        writer.start = writer.to.len();
        let message = message(bytes, h.as_ref());
        if shown {
            walk(bytes, message, bytes.len(), &mut writer);
        } else {
            parts(bytes, h.as_ref(), |from, to| walk(bytes, from, to, &mut writer));
        }
        if writer.to.len() - writer.start >= MAX_TEXT {
            to.push_str("...");
        }
        to.push('"');
    }

    fn line(&self, record: usize) -> &str {
        self.scan.records.get(record).map_or("", |r| self.out.line(r.line as usize))
    }

    /// First and last time of day; with the dates if they differ.
    fn range(&self, to: &mut String, gone: Gone) {
        let (first, last) = (self.line(gone.first), self.line(gone.last));
        let (Some(a), Some(b)) = (head(first.as_bytes()), head(last.as_bytes())) else { return };
        let part =
            |text: &str, from: usize, end: usize| text.get(from..end).map(str::to_owned).unwrap_or_default();
        let same_day = first.get(a.stamp.0..a.stamp.1) == last.get(b.stamp.0..b.stamp.1);
        let clock = |text: &str, s: (usize, usize, usize)| {
            let from = if same_day { s.1 } else { s.0 };
            part(text, from, (s.1 + 8).min(s.2))
        };
        let (from, until) = (clock(first, a.stamp), clock(last, b.stamp));
        if from.is_empty() || until.is_empty() {
            return;
        }
        let _ = if from == until { write!(to, " {from}") } else { write!(to, " {from}-{until}") };
    }
}

/// Writes a template, with signs or with values in the place of its fields.
struct Writer<'a, 't> {
    to: &'a mut String,
    values: Option<(&'a Values<'t>, u32)>,
    field: usize,
    start: usize,
    blank: bool,
}

impl Writer<'_, '_> {
    fn push(&mut self, text: &[u8]) {
        for b in text {
            if self.to.len() - self.start >= MAX_TEXT {
                return;
            }
            let blank = matches!(b, b' ' | b'\t');
            match b {
                b' ' | b'\t' if self.blank => {}
                b'\t' => self.to.push(' '),
                0x20..=0x7e => self.to.push(char::from(*b)),
                0x80..=0xbf => {}
                _ => self.to.push('?'),
            }
            self.blank = blank;
        }
    }
}

impl Sink for Writer<'_, '_> {
    fn literal(&mut self, text: &[u8]) {
        self.push(text);
    }

    fn field(&mut self, kind: Kind, _: usize, _: &[u8]) {
        let number = self.field;
        self.field += 1;
        let Some(field) = self.values.and_then(|(values, template)| values.field(template, number)) else {
            self.push(kind.sign().as_bytes());
            return;
        };
        let full = self.values.is_some_and(|(v, _)| v.full);
        self.push(b"<");
        for (n, value) in field.listed.iter().enumerate() {
            if n > 0 {
                self.push(b" ");
            }
            self.push(value);
        }
        let more = field.different as usize - field.listed.len();
        if more > 0 {
            let text = format!(" +{more}{}", if full { " or more" } else { "" });
            self.push(text.as_bytes());
        }
        self.push(b">");
    }
}

/// Whether a level folds records at all.
pub(super) fn folds(level: Level) -> bool {
    level > Level::Minimal
}
