//! `codex-responses`: command output with at most 160 lines, as one coding agent's own harness is used to.
//!
//! First the grammar of the tool decides what can go ([`crate::rtk`]); what is longer then is cut. Lines that tell of
//! trouble always stay, so do the first and the last 24 lines, and of search hits the first one of every file. What
//! went is counted where it was.

use std::collections::HashSet;
use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, Replacement, SegmentView,
};

use super::rtk;
use crate::budget::{is_telling, without};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::hash::{ByHash, hash};
use crate::rtk::kit::Level;
use crate::rtk::{FilterSet, run};
use crate::shell::class::ResultClass;

const INFO: EngineInfo = EngineInfo::new("codex-responses", Loss::Lossy)
    .summary("command output with at most 160 lines: errors, both ends and the first hit of each file stay")
    .priority(12)
    .min_bytes(512)
    .own_gates();

const FIELDS: &[ConfigField] =
    &[ConfigField::int("max_lines", 160, (80, 100_000), "lines that stay, unless more tell of errors")];

/// Longer texts are left alone, in bytes.
const MAX_BYTES: usize = 512 << 10;
/// Lines that stay at both ends.
const EDGE: usize = 24;

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS);

fn build(settings: &Settings, parts: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Responses { max_lines: settings.size("max_lines"), filters: parts.filters.clone() })
}

#[derive(Debug)]
struct Responses {
    max_lines: usize,
    filters: Arc<FilterSet>,
}

impl CompressionEngine for Responses {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let text = view.text();
        if text.len() > MAX_BYTES {
            return Ok(Edit::Keep("too_large"));
        }
        let input = rtk::input(view);
        let class = input.class;
        match class {
            ResultClass::View => return Ok(Edit::Keep("file_view")),
            ResultClass::Structured => return Ok(Edit::Keep("structured")),
            ResultClass::Unknown if !is_search(text) => return Ok(Edit::Keep("unknown_class")),
            _ => {}
        }
        let level = if view.this().is_error { Level::Minimal } else { Level::default() };
        let ran = run::run(&input, level, &self.filters, &mut |_| None).ok();
        let shorter = ran.as_ref().map_or(text, |ran| ran.text.as_str());
        // Every line of a diff is a fact, and an error is told in full.
        let whole = class == ResultClass::Diff || view.this().is_error;
        let cut = if whole { None } else { bounded(shorter, self.max_lines) };
        let mut out = match (cut, &ran) {
            (Some((text, lines)), _) => {
                let mut out = Replacement::new(text).technique("cut", 1);
                out.dropped.lines = lines;
                out
            }
            (None, Some(ran)) => Replacement::new(ran.text.clone()),
            (None, None) => return Ok(Edit::Keep("no_gain")),
        };
        if let Some(ran) = ran {
            out.dropped.lines += ran.folded + ran.omitted.iter().map(|(_, n)| n).sum::<u64>();
            for (name, count) in ran.techniques {
                out = out.technique(name, count);
            }
        }
        out.dropped.bytes = text.len().saturating_sub(out.text.len()) as u64;
        Ok(Edit::Replace(out))
    }
}

/// The text with at most `most` lines, and how many went; none if it has no more.
fn bounded(text: &str, most: usize) -> Option<(String, u64)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.len() <= most {
        return None;
    }
    let mut stays = vec![false; lines.len()];
    let mut count = 0;
    let mut keep = |n: usize| {
        if let Some(stay) = stays.get_mut(n).filter(|stay| !**stay) {
            *stay = true;
            count += 1;
        }
        count
    };
    let telling = lines.iter().enumerate().filter(|(_, line)| is_telling(line)).map(|(n, _)| n);
    let edges = (0..EDGE).chain(lines.len().saturating_sub(EDGE)..lines.len());
    for n in telling.chain(edges) {
        keep(n);
    }
    let mut files: HashSet<u64, ByHash> = HashSet::default();
    let mut firsts = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        if hit_of(line).is_some_and(|file| files.insert(hash(file.as_bytes()))) {
            firsts.push(n);
        }
    }
    for n in firsts.into_iter().chain(0..lines.len()) {
        if keep(lines.len()) >= most {
            break;
        }
        keep(n);
    }
    let goes: Vec<bool> = stays.iter().map(|stay| !stay).collect();
    without(&lines, &goes, None).map(|cut| (cut.text, cut.lines))
}

/// Whether at least half of the lines are search hits.
fn is_search(text: &str) -> bool {
    let (mut hits, mut all) = (0, 0);
    for line in text.lines().filter(|line| !line.is_empty()).take(1_000) {
        all += 1;
        hits += usize::from(hit_of(line).is_some());
    }
    all >= 8 && hits * 2 >= all
}

/// The file of a search hit: `path:12:`.
fn hit_of(line: &str) -> Option<&str> {
    let (file, rest) = line.split_once(':')?;
    let (number, _) = rest.split_once(':')?;
    let is_number = !number.is_empty() && number.len() < 9 && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !file.is_empty() && !file.contains(' ')).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_ends_and_first_hits_stay() {
        let line = |n: usize| match n {
            100 => "error: no space left on the device of the build\n".to_owned(),
            n if n % 50 == 7 => format!("src/file{n}.rs:12: the first hit of this file with some text\n"),
            n => format!("an ordinary line number {n} of a long output of a command\n"),
        };
        let text: String = (0..400).map(line).collect();
        let (cut, gone) = bounded(&text, 160).unwrap();
        let shown: Vec<&str> = cut.lines().filter(|line| !line.starts_with("[omitted: ")).collect();
        assert_eq!(shown.len() as u64 + gone, 400, "every line is there or counted");
        assert!(shown.len() <= 160, "{}", shown.len());
        for n in [0, 23, 100, 57, 307, 376, 399] {
            assert!(cut.contains(line(n).trim_end()), "line {n}");
        }
        assert_eq!(bounded("a\n", 160), None);
    }

    #[test]
    fn hits_are_told_from_other_lines() {
        for (line, file) in [
            ("src/a.rs:12: fn main() {", Some("src/a.rs")),
            ("src/a.rs:12:5: error", Some("src/a.rs")),
            ("at 12:30:01 it began", None),
            ("a:b:c", None),
            ("a:1", None),
        ] {
            assert_eq!(hit_of(line), file, "{line}");
        }
    }
}
