//! Which records stay.

use std::collections::HashSet;

use super::head::{Form, head};
use super::mask::{Hash, fine};
use super::scan::{Class, Scan, Template};
use super::table::MAX_TEMPLATES;
use crate::rtk::kit::{Level, Output};

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays.
    Keep,
    /// It goes; its gap is counted.
    Drop,
    /// It goes; a text about its template says so.
    Cover,
}

/// How much stays at a level.
#[derive(Debug, Clone, Copy)]
struct Limits {
    head: usize,
    tail: usize,
    /// Of the last records, these stay in any case.
    tail_whole: usize,
    context: usize,
    clusters: usize,
    errors: usize,
    warnings: usize,
    milestones: usize,
    singles: usize,
}

const STANDARD: Limits = Limits {
    head: 5,
    tail: 20,
    tail_whole: 5,
    context: 3,
    clusters: 20,
    errors: 200,
    warnings: 100,
    milestones: 40,
    singles: 25,
};
const AGGRESSIVE: Limits = Limits {
    head: 3,
    tail: 10,
    tail_whole: 3,
    context: 1,
    clusters: 10,
    errors: 100,
    warnings: 20,
    milestones: 20,
    singles: 10,
};

/// A template with more records than this is frequent.
const FREQUENT: u32 = 10;
/// Of the first records, this many at the end of them go if their template is frequent.
const HEAD_SPARSE: usize = 2;
/// Errors of one template that stay when there are too many.
const FIRST_ERRORS: u32 = 3;
/// Records of a template whose text is that of an error that stay.
const FIRST_ALARMS: u32 = 20;
/// Records without an error after which the next one begins a new cluster.
const QUIET: usize = 5;
/// Clusters with all of their context; those behind them and those of a known error show one record.
const WHOLE_CLUSTERS: usize = 5;
/// More templates with one or two records than this many times the limit: none of them is special.
const MANY_SINGLES: usize = 3;
/// Records before an error of a CI job.
const CI_CONTEXT: usize = 30;

/// The fate of every record.
pub(super) fn choose(out: &Output<'_>, scan: &Scan) -> Vec<Fate> {
    let limits = if out.level == Level::Aggressive { AGGRESSIVE } else { STANDARD };
    let mut chooser = Chooser { out, scan, limits, fates: vec![Fate::Drop; scan.records.len()] };
    chooser.ends();
    chooser.errors();
    chooser.warnings();
    chooser.plain();
    chooser.fates
}

struct Chooser<'a, 't> {
    out: &'a Output<'t>,
    scan: &'a Scan,
    limits: Limits,
    fates: Vec<Fate>,
}

impl<'t> Chooser<'_, 't> {
    fn keep(&mut self, n: usize) {
        self.set(n, Fate::Keep);
    }

    fn set(&mut self, n: usize, fate: Fate) {
        if let Some(f) = self.fates.get_mut(n) {
            *f = fate;
        }
    }

    fn is_kept(&self, n: usize) -> bool {
        self.fates.get(n) == Some(&Fate::Keep)
    }

    fn template(&self, number: u32) -> Option<&Template> {
        self.scan.templates.get(number as usize)
    }

    fn text(&self, n: usize) -> &'t str {
        self.scan.records.get(n).map_or("", |r| self.out.line(r.line as usize))
    }

    /// The first and the last records; the ones further in only if their template is not a frequent one.
    fn ends(&mut self) {
        let all = self.fates.len();
        let limits = self.limits;
        for n in (0..limits.head.min(all)).chain(all.saturating_sub(limits.tail)..all) {
            let whole = n < limits.head - HEAD_SPARSE || n + limits.tail_whole >= all;
            let Some(record) = self.scan.records.get(n) else { continue };
            let frequent = self.template(record.template).is_some_and(|t| t.count > FREQUENT);
            if whole || !frequent || record.class != Class::Plain {
                self.keep(n);
            }
        }
    }

    /// Errors: all different ones up to the limit, then the first ones and the last one of each template.
    fn errors(&mut self) {
        let mut texts: HashSet<u64> = HashSet::new();
        let mut kept = vec![0_u32; self.scan.templates.len()];
        let mut last = vec![usize::MAX; self.scan.templates.len()];
        let (mut total, mut quiet, mut clusters) = (0, QUIET, 0);
        for (n, record) in self.scan.records.iter().enumerate() {
            let alarm =
                record.class == Class::Warn && self.template(record.template).is_some_and(|t| t.alarm);
            if record.class < Class::Alarm && !alarm {
                quiet += 1;
                continue;
            }
            let text = self.text(n);
            let mut hash = Hash::new(3);
            hash.add(text.as_bytes());
            let different = texts.len() >= self.limits.errors * 4 || texts.insert(hash.value());
            let count = kept.get(record.template as usize).copied().unwrap_or(0);
            let limit = if record.class < Class::Loud { FIRST_ALARMS } else { u32::MAX };
            let room = total < self.limits.errors && count < limit;
            let first = count < FIRST_ERRORS && total < self.limits.errors * 3;
            if different && (room || first) {
                total += 1;
                if let Some(count) = kept.get_mut(record.template as usize) {
                    *count += 1;
                }
                self.keep(n);
            } else if !self.is_kept(n) {
                self.set(n, Fate::Cover);
                if let Some(last) = last.get_mut(record.template as usize) {
                    *last = if different { n } else { *last };
                }
            }
            if record.class == Class::Error {
                if quiet >= QUIET && clusters < self.limits.clusters {
                    clusters += 1;
                    let context = match head(text.as_bytes()).map(|h| h.form) {
                        Some(Form::Ci) => CI_CONTEXT,
                        Some(Form::Access) => 0,
                        _ if clusters > WHOLE_CLUSTERS || count > 0 => 1,
                        _ => self.limits.context,
                    };
                    (n.saturating_sub(context)..n).for_each(|before| self.keep_plain(before));
                }
                quiet = 0;
            } else {
                quiet += 1;
            }
        }
        let mut ends: Vec<usize> = last.into_iter().filter(|n| *n != usize::MAX).collect();
        ends.sort_unstable();
        ends.into_iter().take(self.limits.errors * 2).for_each(|n| self.keep(n));
    }

    /// Context: a record that is no error itself.
    fn keep_plain(&mut self, n: usize) {
        if self.scan.records.get(n).is_some_and(|r| r.class < Class::Alarm) {
            self.keep(n);
        }
    }

    /// Warnings: the first of each text that differs in more than numbers.
    fn warnings(&mut self) {
        let mut texts: HashSet<u64> = HashSet::new();
        let mut kept = 0;
        for (n, record) in self.scan.records.iter().enumerate() {
            if record.class != Class::Warn {
                continue;
            }
            let room = kept < self.limits.warnings && texts.len() < MAX_TEMPLATES;
            if room && texts.insert(fine(after_stamp(self.text(n)))) && !self.is_kept(n) {
                kept += 1;
                self.keep(n);
            } else if self.fates.get(n) == Some(&Fate::Drop) {
                self.set(n, Fate::Cover);
            }
        }
    }

    /// Below a warning: milestones and what comes at most twice, up to a limit.
    fn plain(&mut self) {
        let (mut milestones, mut singles) = (0, 0);
        let rare = self.scan.templates.iter().filter(|t| t.count <= 2 && t.class == Class::Plain).count();
        let most = if rare > self.limits.singles * MANY_SINGLES {
            self.limits.singles / 3
        } else {
            self.limits.singles
        };
        for (n, record) in self.scan.records.iter().enumerate() {
            let Some(template) = self.template(record.template).filter(|_| record.class == Class::Plain)
            else {
                continue;
            };
            if self.is_kept(n) {
                continue;
            }
            let first = template.first as usize == n && record.template != super::table::OTHER;
            if template.milestone && first && milestones < self.limits.milestones {
                milestones += 1;
                self.keep(n);
            } else if template.count <= 2 && first && singles < most {
                singles += 1;
                self.keep(n);
            }
        }
    }
}

/// The text without the digits and signs of a stamp at its front.
fn after_stamp(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    let stamp = bytes
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b',' | b'.' | b'T' | b'Z' | b' ' | b'-'))
        .count();
    bytes.get(stamp..).unwrap_or(&[])
}
