//! `relevance`: old, long results keep the parts that have to do with what was asked last. At rewrite points only.
//!
//! Parts are paragraphs or blocks of ten lines. They are ranked by BM25 against the last text of the user and the arguments
//! of the last three calls. First and last part, errors, decisions and numbers with a unit always stay.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use omniroute_core::{CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss, SegmentKind};

use super::kept::{Cut, Lines, open_results, put, stays};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts, one_of};
use crate::hash::{ByHash, hash};
use crate::protect::{self, Kind, Span};

const INFO: EngineInfo = EngineInfo::new("relevance", Loss::Lossy)
    .summary("old, long results keep what has to do with the last question; only where the history is rewritten anyway")
    .priority(35)
    .targets(&[])
    .offers_retrieval()
    .rewrites_history();

const FIELDS: &[ConfigField] = &[
    ConfigField::int("min_chars", 2_000, (200, 1_000_000), "shorter results stay, in bytes"),
    ConfigField::int(
        "budget",
        50,
        (5, 95),
        "share of a result that stays, in percent; more if more must stay",
    ),
    ConfigField::int("overlap", 10, (0, 100), "share of the asked words that a part must hold, in percent"),
    ConfigField::int(
        "boilerplate",
        50,
        (1, 100),
        "parts with this share of lines said before go, in percent",
    ),
];

/// Lines of a part without blank lines.
const BLOCK: usize = 10;
/// Calls whose arguments are looked for.
const CALLS: usize = 3;
/// Words of the question that are looked for.
const MAX_WORDS: usize = 500;

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry =
    EngineEntry::new(INFO, build).fields(FIELDS).technique(|name| one_of(&["relevance"], name));

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Relevance {
        min: settings.size("min_chars"),
        budget: settings.size("budget"),
        overlap: settings.size("overlap"),
        boilerplate: settings.size("boilerplate"),
    })
}

#[derive(Debug)]
struct Relevance {
    min: usize,
    budget: usize,
    overlap: usize,
    boilerplate: usize,
}

type Words = HashSet<u64, ByHash>;

impl CompressionEngine for Relevance {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        if past.end() == 0 {
            return Ok(());
        }
        let asked = asked(past);
        if asked.is_empty() {
            return Ok(());
        }
        for index in open_results(past, self.min) {
            let Some(segment) = past.segments().get(index) else { continue };
            let cut = self.cut(segment.sent(), &asked);
            put(past, cx, INFO.id, (index, "relevance"), cut)?;
        }
        Ok(())
    }
}

/// What was asked last.
fn asked(past: &History<'_, '_>) -> Words {
    let segments = past.segments();
    let mut words = Words::default();
    if let Some(user) = segments.iter().rev().find(|s| s.kind == SegmentKind::User) {
        words.extend(words_of(user.original()).take(MAX_WORDS));
    }
    for call in segments.iter().rev().filter(|s| s.kind == SegmentKind::ToolCall).take(CALLS) {
        for leaf in call.argument_leaves() {
            words.extend(words_of(&leaf).take(MAX_WORDS));
        }
    }
    words
}

/// Words of three letters and more, in small letters, by number.
fn words_of(text: &str) -> impl Iterator<Item = u64> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.chars().nth(2).is_some());
    words.map(|word| hash(word.to_lowercase().as_bytes()))
}

#[derive(Debug, Default)]
struct Part {
    lines: Range<usize>,
    bytes: usize,
    length: usize,
    found: HashMap<u64, usize, ByHash>,
    fixed: bool,
    said_before: bool,
}

impl Relevance {
    fn cut(&self, text: &str, asked: &Words) -> Cut {
        let spans = protect::spans(text);
        let mut lines = Lines::new(text, &spans);
        let mut parts = self.parts(text, &lines.lines, &spans, asked);
        let count = parts.len();
        if count < 3 {
            return Cut::default();
        }
        if let Some(first) = parts.first_mut() {
            first.fixed = true;
        }
        if let Some(last) = parts.last_mut() {
            last.fixed = true;
        }
        let mut budget = (text.len() / 100).saturating_mul(self.budget);
        for part in parts.iter().filter(|part| part.fixed) {
            budget = budget.saturating_sub(part.bytes);
            lines.keep(part.lines.clone());
        }
        let scores = scores(&parts);
        let enough = |part: &Part| part.found.len() * 100 >= self.overlap * asked.len().min(40);
        let mut order: Vec<usize> = (0..count)
            .filter(|n| parts.get(*n).is_some_and(|p| !p.fixed && !p.said_before && enough(p)))
            .collect();
        let score = |n: usize| scores.get(n).copied().unwrap_or(0.0);
        order.sort_by(|a, b| score(*b).partial_cmp(&score(*a)).unwrap_or(Ordering::Equal).then(a.cmp(b)));
        for n in order {
            let Some(part) = parts.get(n) else { continue };
            if part.bytes <= budget {
                budget -= part.bytes;
                lines.keep(part.lines.clone());
            }
        }
        lines.cut()
    }

    fn parts(&self, text: &str, lines: &[&str], spans: &[Span], asked: &Words) -> Vec<Part> {
        let unit = |span: &&Span| {
            let number = || {
                text.get(span.start..span.end)
                    .is_some_and(|s| s.contains(|c: char| c.is_alphabetic() || c == '%'))
            };
            span.kind == Kind::Number && number()
        };
        let mut fences = spans.iter().filter(|s| s.kind == Kind::Fence).peekable();
        let mut units = spans.iter().filter(unit).peekable();
        let mut said: Words = Words::default();
        let mut parts: Vec<Part> = Vec::new();
        let mut part = Part::default();
        let (mut at, mut again) = (0, 0);
        for (n, line) in lines.iter().enumerate() {
            let end = at + line.len();
            part.bytes += line.len();
            part.lines.end = n + 1;
            part.fixed |= stays(line);
            while units.next_if(|span| span.end <= at).is_some() {}
            part.fixed |= units.peek().is_some_and(|span| span.start < end);
            again += usize::from(!line.trim().is_empty() && !said.insert(hash(line.as_bytes())));
            for word in words_of(line) {
                part.length += 1;
                if asked.contains(&word) {
                    *part.found.entry(word).or_default() += 1;
                }
            }
            while fences.next_if(|span| span.end <= end).is_some() {}
            let inside = fences.peek().is_some_and(|span| span.start < end);
            at = end;
            let full = line.trim().is_empty() || part.lines.len() >= BLOCK;
            if full && !inside || n + 1 == lines.len() {
                part.said_before = again * 100 >= self.boilerplate * part.lines.len();
                parts.push(std::mem::take(&mut part));
                part.lines = n + 1..n + 1;
                again = 0;
            }
        }
        parts
    }
}

/// BM25 with k1 1.2 and b 0.75. The logarithm is made of straight pieces, so that every machine ranks alike.
fn scores(parts: &[Part]) -> Vec<f64> {
    let mut with: HashMap<u64, usize, ByHash> = HashMap::default();
    for word in parts.iter().flat_map(|part| part.found.keys()) {
        *with.entry(*word).or_default() += 1;
    }
    let count = parts.len() as f64;
    let mean = (parts.iter().map(|p| p.length).sum::<usize>() as f64 / count).max(1.0);
    let one = |part: &Part| {
        let long = 1.2 * (0.25 + 0.75 * part.length as f64 / mean);
        // In one order: a sum of fractions depends on it.
        let mut found: Vec<(&u64, &usize)> = part.found.iter().collect();
        found.sort_unstable();
        found.into_iter().fold(0.0, |sum, (word, times)| {
            let with = with.get(word).copied().unwrap_or(1) as f64;
            let rare = log2(1.0 + (count - with + 0.5) / (with + 0.5));
            let times = *times as f64;
            sum + rare * times * 2.2 / (times + long)
        })
    };
    parts.iter().map(one).collect()
}

fn log2(mut x: f64) -> f64 {
    let mut whole = 0.0;
    while x >= 2.0 {
        (x, whole) = (x / 2.0, whole + 1.0);
    }
    whole + x - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_stays() {
        let engine = Relevance { min: 0, budget: 30, overlap: 10, boilerplate: 50 };
        let part = |n: usize| match n {
            12 => "The retention of invoices is set by the ledger.\n\n".to_owned(),
            17 => "A request must be signed before it is sent.\n\n".to_owned(),
            18 => "Answers come within 250ms on most days.\n\n".to_owned(),
            _ => format!("Chapter {n} tells a story about a garden and its trees.\n\n"),
        };
        let text: String = (0..40).map(part).collect();
        let asked: Words = words_of("how long is the retention of invoices?").collect();
        let cut = engine.cut(&text, &asked);
        for kept in ["retention of invoices", "must be signed", "250ms", "Chapter 0 ", "Chapter 39 "] {
            assert!(cut.text.contains(kept), "{kept} in {}", cut.text);
        }
        assert!(cut.text.len() * 2 < text.len() && !cut.text.contains("Chapter 20 "));
        // Another question leaves that part out: the question decides.
        let other: Words = words_of("who planted oaks in spring?").collect();
        assert!(!engine.cut(&text, &other).text.contains("retention of invoices"));
    }
}
