//! One item and its text: the class, and how sure it is.

use std::ops::Range;

use super::board::Board;
use super::classes::{self, Class, Set};
use super::command;
use super::item::{Expect, Item, Need};
use super::model::{By, Detection, Evidence, FILE_VIEW, Kind, LOG, STRUCTURED, TRACE, UNKNOWN};
use super::runner;
use super::sections;
use super::shape;
use super::text::{self, Looked};
use super::words::Lookup;
use crate::shell::{lex, logs};

/// Every class: what may be another one has to be seen too.
const ALL: Set = !0;

/// Parts of a text in order, without gaps.
pub(super) type Parts = Vec<(Range<usize>, Detection)>;

/// Deepest chain of scripts that start scripts.
const MAX_DEPTH: usize = 4;

/// What the items of a script left in `text`.
pub(super) fn resolve(items: &[Item], text: &str, is_command: &Lookup<'_>, depth: usize) -> Parts {
    let loud: Vec<&Item> = items.iter().filter(|item| !item.quiet && !item.is_separator()).collect();
    let separators = items.iter().any(Item::is_separator);
    match loud.as_slice() {
        [one] if !separators => judge(one, text, is_command, depth),
        [] => match items.iter().rfind(|item| !item.is_separator()) {
            Some(quiet) if !separators => judge(quiet, text, is_command, depth),
            _ => whole(text, Detection::unknown()),
        },
        all @ [first, ..] if all.iter().all(|item| matches!(item.expect, Expect::View { .. })) => {
            let log = !separators && all.iter().all(|item| matches!(item.expect, Expect::View { log: true }));
            let view = Item { expect: Expect::View { log }, ..(*first).clone() };
            judge(&view, text, is_command, depth)
        }
        all => {
            let parts = merged(sections::split(items, text, is_command, depth));
            let open: usize =
                parts.iter().filter(|(_, found)| found.class == UNKNOWN).map(|(range, _)| range.len()).sum();
            // Nothing to tell apart: a loop over one command, say.
            match all.split_first() {
                Some((first, rest))
                    if open * 2 > text.len()
                        && rest.iter().all(|item| item.id().is_some() && item.alike(first))
                        && first.id().is_some() =>
                {
                    judge(first, text, is_command, depth)
                }
                _ => parts,
            }
        }
    }
}

fn whole(text: &str, detection: Detection) -> Parts {
    vec![(0..text.len(), detection)]
}

/// Joins neighbours that are the same.
pub(super) fn merged(parts: Parts) -> Parts {
    let mut out: Parts = Vec::with_capacity(parts.len());
    for (range, detection) in parts {
        match out.last_mut() {
            Some((last, before))
                if before.class == detection.class
                    && (before.words == detection.words || before.class == UNKNOWN)
                    && last.end == range.start =>
            {
                last.end = range.end;
                before.confidence = before.confidence.min(detection.confidence);
                if before.words != detection.words {
                    before.words = Vec::new();
                }
            }
            _ => out.push((range, detection)),
        }
    }
    out
}

/// The class of one item's text.
pub(super) fn judge(item: &Item, text: &str, is_command: &Lookup<'_>, depth: usize) -> Parts {
    let base = Detection {
        words: item.words.clone(),
        partial: item.partial,
        detail: item.detail,
        ..Detection::unknown()
    };
    let detection = match &item.expect {
        Expect::Separator(_) => Detection::unknown(),
        Expect::View { log } => {
            let class = if *log && logs::is_log(text) { LOG } else { FILE_VIEW };
            by_command(base, class, 90)
        }
        Expect::Machine if shape::is_structured(text) || shape::is_yaml(text) => {
            by_command(base, STRUCTURED, 90)
        }
        Expect::Machine => base,
        Expect::Patch => patch(base, &Looked::at(text, classes::DIFFS)),
        Expect::Known { .. } | Expect::Opaque { .. } if shape::is_structured(text) => {
            by_command(base, STRUCTURED, 90)
        }
        Expect::Known { id, sub, need } => known(base, id, *sub, *need, text),
        Expect::Opaque { crash: false } => base,
        Expect::Opaque { crash: true } => general(base, text),
        Expect::Runner { allowed, own, sure, script } => {
            if script.is_some()
                && depth < MAX_DEPTH
                && let Some(parts) = announced(item, text, is_command, depth)
            {
                return parts;
            }
            ran(base, &Looked::at(text, ALL), *allowed, *own, *sure)
        }
    };
    whole(text, detection)
}

fn by_command(base: Detection, class: &'static str, confidence: u8) -> Detection {
    let evidence = vec![Evidence { kind: Kind::Command, rule: class, line: None }];
    Detection { class, confidence, by: By::Command, evidence, ..base }
}

/// A known command: its words weigh most, anchors add to them, missing anchors take away.
fn known(base: Detection, id: &'static str, sub: bool, need: Need, text: &str) -> Detection {
    if need == Need::Records {
        let log = logs::is_log(text) || is_indented_log(text);
        return if log { by_command(base, id, 95) } else { general(base, text) };
    }
    let own = classes::accepted(id);
    let looked = Looked::at(text, own);
    let anchors = looked.anchors(own);
    match need {
        Need::Chosen if anchors == 0 => return base,
        Need::Anchor if anchors == 0 && own != 0 && looked.board.lines > 0 => return base,
        _ => {}
    }
    let mut confidence = if sub { 90 } else { 75 } + 5 * anchors.min(5);
    let always = classes::main_class(id).is_some_and(Class::always);
    if anchors == 0 && always && looked.board.lines > 3 {
        confidence -= 40;
    }
    if need == Need::Chosen {
        confidence = confidence.min(60 + 5 * anchors.min(4));
    }
    let mut detection = by_command(base, id, u8::try_from(confidence.min(100)).unwrap_or(0));
    detection.evidence.extend(seen(&looked.board, own));
    detection
}

/// A log whose records go on in indented lines (statements of a database, traces).
fn is_indented_log(text: &str) -> bool {
    let records: Vec<&str> = text.split('\n').filter(|line| !line.starts_with([' ', '\t'])).collect();
    logs::is_log(&records.join("\n"))
}

/// At most three anchors of these classes.
fn seen(board: &Board, own: Set) -> Vec<Evidence> {
    classes::members(own).flat_map(|class| board.of(class).evidence().collect::<Vec<_>>()).take(3).collect()
}

/// Classes that are no tool's own: a log, a trace, a machine format.
fn general(base: Detection, text: &str) -> Detection {
    let found = text::decide(&Looked::at(text, ALL), runner::ANY);
    if matches!(found.class, LOG | TRACE | STRUCTURED) { with(found, base) } else { base }
}

/// `found` with the marks of the command; the words stay away when another program printed.
fn with(found: Detection, base: Detection) -> Detection {
    Detection { words: base.words, partial: base.partial, detail: base.detail, ..found }
}

/// A patch of a tool that is no diff tool.
fn patch(base: Detection, looked: &Looked<'_>) -> Detection {
    let git = looked.board.of(Class::GitDiff);
    let plain = looked.board.of(Class::Diff);
    let class = if git.rules() >= 2 {
        Class::GitDiff
    } else if plain.rules() >= 2 {
        Class::Diff
    } else {
        return base;
    };
    let mut detection = by_command(base, class.id(), 85);
    detection.evidence.extend(seen(&looked.board, class.bit()));
    detection
}

/// Another program ran: the text decides, then the runner's own filter.
fn ran(
    base: Detection,
    looked: &Looked<'_>,
    allowed: Set,
    own: Option<&'static str>,
    sure: bool,
) -> Detection {
    let found = text::decide(looked, allowed);
    let native = own == Some("make") && found.class == Class::Gcc.id();
    if found.class != UNKNOWN && found.class != FILE_VIEW && !native {
        // The words of the runner say nothing about the flags of what ran.
        let words = if own == Some(found.class) { base.words } else { Vec::new() };
        return Detection { words, partial: base.partial, detail: base.detail, ..found };
    }
    let Some(id) = own else {
        return if found.class == FILE_VIEW {
            Detection { by: By::Text, ..with(found, base.forget()) }
        } else {
            base.forget()
        };
    };
    let set = classes::accepted(id);
    let anchors = looked.anchors(set);
    if anchors == 0 && (!sure || found.class == FILE_VIEW) {
        return base.forget();
    }
    let mut detection = by_command(base, id, u8::try_from(60 + 10 * anchors.min(4)).unwrap_or(0));
    detection.evidence.extend(seen(&looked.board, set));
    detection
}

/// Follows the banners of a package manager; `None` when there are none.
fn announced(item: &Item, text: &str, is_command: &Lookup<'_>, depth: usize) -> Option<Parts> {
    let banners = runner::banners(text);
    let mut parts: Parts = Vec::new();
    let mut start = 0;
    for (position, banner) in banners.iter().enumerate() {
        let end = banners.get(position + 1).map_or(text.len(), |next| title(text, next.at));
        if banner.at >= end {
            continue;
        }
        let script = lex::parse(banner.command);
        let mut inner = if script.certain { command::items(&script, is_command)? } else { Vec::new() };
        // A script that only starts another script: its banner follows.
        let passes = inner.iter().all(|item| matches!(&item.expect, Expect::Runner { script: Some(_), .. }));
        if passes && end < text.len() {
            continue;
        }
        for inner in &mut inner {
            inner.partial |= item.partial;
            inner.detail |= item.detail;
        }
        let chunk = text.get(start..end)?;
        let found = resolve(&inner, chunk, is_command, depth + 1);
        parts.extend(
            found.into_iter().map(|(range, detection)| (range.start + start..range.end + start, detection)),
        );
        start = end;
    }
    (!parts.is_empty() && start == text.len()).then_some(parts)
}

/// Where the title line above a banner's command starts, blank lines included.
fn title(text: &str, command: usize) -> usize {
    let head = text.as_bytes().get(..command).unwrap_or_default();
    let line = |end: usize| {
        memchr::memrchr(b'\n', head.get(..end.saturating_sub(1)).unwrap_or_default()).map_or(0, |at| at + 1)
    };
    line(command)
}
