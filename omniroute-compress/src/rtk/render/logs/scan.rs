//! One pass over the lines: records, their templates, what class they are of.

use super::head::{Form, Head, head, status};
use super::level::Rank;
use super::loud::{Loud, LoudLines};
use super::mask::{Hash, Kind, Sink, walk};
use super::table::{OTHER, Table};
use crate::rtk::kit::{Output, Severity, severity};

/// What a record is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Below a warning.
    Plain,
    /// A warning.
    Warn,
    /// Below an error by its level, but its text is that of an error.
    Alarm,
    /// A word in capitals or an exception in it says that there was an error.
    Loud,
    /// An error.
    Error,
}

/// A record: its lines reach to the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    /// Its first line.
    pub(super) line: u32,
    /// Its template.
    pub(super) template: u32,
    /// What it is worth.
    pub(super) class: Class,
}

/// Records that differ only in fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    /// Its first record.
    pub(super) first: u32,
    /// Number of records.
    pub(super) count: u32,
    /// What its first record is worth by level and text.
    pub(super) class: Class,
    /// The text is that of an error.
    pub(super) alarm: bool,
    /// Tells of a start, a stop, a configuration.
    pub(super) milestone: bool,
}

/// What a log consists of.
#[derive(Debug)]
pub(super) struct Scan {
    /// In the order of the lines.
    pub(super) records: Vec<Record>,
    /// By number; the first one stands for all beyond the limit.
    pub(super) templates: Vec<Template>,
    /// Records with a head.
    pub(super) headed: usize,
}

impl Scan {
    /// Lines of the record `n`.
    pub(super) fn lines(&self, n: usize, all: usize) -> std::ops::Range<usize> {
        let start = self.records.get(n).map_or(all, |r| r.line as usize);
        start..self.records.get(n + 1).map_or(all, |r| r.line as usize)
    }
}

/// Reads all lines.
pub(super) fn scan(out: &Output<'_>) -> Scan {
    let mut loud = LoudLines::new(out.text);
    let mut table = Table::new();
    let beyond = Template { first: 0, count: 0, class: Class::Plain, alarm: false, milestone: false };
    let mut found = Scan { records: Vec::with_capacity(out.len()), templates: vec![beyond], headed: 0 };
    let mut last_rank = Rank::None;
    for (i, line) in out.lines.iter().enumerate() {
        let shout = loud.line(line);
        let bytes = line.as_bytes();
        let h = head(bytes);
        if h.is_none() {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            if let Some(record) = found.records.last_mut()
                && belongs(bytes, record.class, shout)
            {
                let fails = bytes.starts_with(b"Traceback") || bytes.starts_with(b"panic: ");
                if shout == Loud::Error || fails {
                    record.class = record.class.max(Class::Loud);
                }
                continue;
            }
        } else {
            found.headed += 1;
        }
        let mut rank = h.map_or(Rank::None, |h| h.rank);
        if rank == Rank::Same {
            rank = last_rank;
        } else {
            last_rank = rank;
        }
        let mut hash = Masked { hash: Hash::new(rank as u64) };
        parts(bytes, h.as_ref(), |from, to| walk(bytes, from, to, &mut hash));
        let (number, new) = table.number(hash.hash.value());
        if new {
            found.templates.push(judge(line, h.as_ref(), rank, found.records.len()));
        }
        let Some(template) = found.templates.get_mut(number as usize) else { continue };
        template.count += 1;
        let class = if number == OTHER { by_rank(rank) } else { template.class };
        let class = class.max(match shout {
            Loud::No => Class::Plain,
            Loud::Warn => Class::Warn,
            Loud::Error => Class::Loud,
        });
        found.records.push(Record { line: u32::try_from(i).unwrap_or(u32::MAX), template: number, class });
    }
    found
}

fn by_rank(rank: Rank) -> Class {
    match rank {
        Rank::Error => Class::Error,
        Rank::Warn => Class::Warn,
        _ => Class::Plain,
    }
}

/// The parts of a record's first line that make its template.
pub(super) fn parts(line: &[u8], h: Option<&Head>, mut part: impl FnMut(usize, usize)) {
    match h {
        Some(h) if h.prefix > 0 && h.form != Form::Access => {
            part(0, h.prefix);
            part(h.body.max(h.prefix), line.len());
        }
        Some(h) if h.form == Form::Access => {
            let Some(at) = status(line, h.body) else { return };
            let request = line.get(h.body..at).unwrap_or(&[]);
            let path = memchr::memchr(b'?', request).or_else(|| memchr::memmem::find(request, b" HTTP/"));
            part(h.body + 1, h.body + path.unwrap_or(request.len()));
            part(at - 1, at + 3);
        }
        Some(h) => part(h.body, line.len()),
        None => part(0, line.len()),
    }
}

struct Masked {
    hash: Hash,
}

impl Sink for Masked {
    fn literal(&mut self, text: &[u8]) {
        self.hash.literal(text);
    }

    fn field(&mut self, kind: Kind, at: usize, text: &[u8]) {
        self.hash.field(kind, at, text);
    }
}

/// Whether a line without a head belongs to the record before it.
fn belongs(line: &[u8], class: Class, shout: Loud) -> bool {
    let first = line.first().copied().unwrap_or(b' ');
    class >= Class::Loud
        || shout == Loud::Error
        || matches!(first, b' ' | b'\t' | b'}' | b']' | b')')
        || line.starts_with(b"... ")
        || line.starts_with(b"Traceback (")
        || line.starts_with(b"goroutine ")
}

const MILESTONES: [&str; 22] = [
    "tarting",
    "tarted",
    "topping",
    "topped",
    "hutdown",
    "hutting down",
    "istening",
    " ready",
    "Ready",
    "onfig",
    "ersion",
    "nitializ",
    "xiting",
    "xited",
    "igrat",
    "eploy",
    "estart",
    "Booted",
    "onnected to",
    "##[group]",
    "Linux version",
    "ommand line",
];

/// What the first record of a template tells about all of them.
fn judge(line: &str, h: Option<&Head>, rank: Rank, first: usize) -> Template {
    let message = h.and_then(|h| line.get(h.message..)).unwrap_or(line);
    let text =
        severity(line).max(if rank == Rank::None { severity(message.trim_start()) } else { Severity::None });
    let fails = h.is_some_and(|h| h.form != Form::Access) && is_server_error(message.as_bytes());
    let alarm = text == Severity::Error || fails;
    let class = match (rank, text) {
        (Rank::Error, _) => Class::Error,
        (Rank::Warn, _) => Class::Warn,
        (Rank::None, Severity::Error) => Class::Error,
        (Rank::None, Severity::Weak | Severity::Warning) => Class::Warn,
        _ if alarm => Class::Alarm,
        _ => Class::Plain,
    };
    let milestone =
        MILESTONES.iter().any(|w| memchr::memmem::find(message.as_bytes(), w.as_bytes()).is_some());
    Template { first: u32::try_from(first).unwrap_or(u32::MAX), count: 0, class, alarm, milestone }
}

/// Holds a status of 500 and above that the template keeps.
fn is_server_error(message: &[u8]) -> bool {
    struct Status(bool);
    impl Sink for Status {
        fn literal(&mut self, text: &[u8]) {
            self.0 |= text.windows(4).any(|w| {
                let start = matches!(w.first(), Some(b' ' | b':' | b'='));
                start && matches!(w.get(1..), Some([b'5', b'0'..=b'9', b'0'..=b'9']))
            });
        }
        fn field(&mut self, _: Kind, _: usize, _: &[u8]) {}
    }
    let mut status = Status(false);
    walk(message, 0, message.len(), &mut status);
    status.0
}
