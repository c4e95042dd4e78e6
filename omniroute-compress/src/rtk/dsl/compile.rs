//! From checked patterns to automata: one alternation per step, and a gate that finds the lines worth looking at.

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use super::limits::{CACHE_BYTES, COMPILED_BYTES};
use super::model::{FilterDef, Matching};
use super::pattern::Pattern;
use super::replacement::Replacer;

/// What a filter runs with.
#[derive(Debug)]
pub(crate) struct Compiled {
    gate: Option<AhoCorasick>,
    pub(crate) drop: LineSet,
    pub(crate) noise: LineSet,
    pub(crate) keep: LineSet,
    pub(crate) collapse: LineSet,
    pub(crate) preserve: LineSet,
    pub(crate) replace: Vec<Replacer>,
    pub(crate) outputs: Vec<OutputCheck>,
}

/// Patterns of which any may match a line.
#[derive(Debug, Default)]
pub(crate) struct LineSet {
    /// All of them, for lines that the gate let through.
    all: Vec<Regex>,
    /// Those that may match any line.
    always: Vec<Regex>,
}

/// A rule that answers for the whole text.
#[derive(Debug)]
pub(crate) struct OutputCheck {
    pub(crate) pattern: Regex,
    pub(crate) unless: Option<Regex>,
}

/// What decides whether a filter is chosen.
#[derive(Debug)]
pub(crate) struct Chooser {
    pub(crate) commands: LineSet,
    pub(crate) not_commands: LineSet,
    pub(crate) texts: Vec<Regex>,
}

/// How patterns are compiled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) ignore_case: bool,
    pub(crate) multi_line: bool,
    /// Largest cache of one automaton in bytes.
    pub(crate) cache: usize,
}

impl Options {
    fn of(filter: &FilterDef) -> Options {
        let rules = &filter.rules;
        let automata = 10 + rules.replace.len() + 2 * rules.match_output.len();
        Options {
            ignore_case: filter.dialect.ignore_case(),
            multi_line: false,
            cache: CACHE_BYTES / automata,
        }
    }

    pub(crate) fn build(self, source: &str, patterns: usize) -> Result<Regex, regex::Error> {
        RegexBuilder::new(source)
            .unicode(false)
            .case_insensitive(self.ignore_case)
            .multi_line(self.multi_line)
            .size_limit(COMPILED_BYTES.saturating_mul(patterns.max(1)))
            .dfa_size_limit(self.cache)
            .build()
    }

    pub(crate) fn one(self, pattern: &Pattern) -> Result<Regex, regex::Error> {
        if pattern.unicode {
            return RegexBuilder::new(&pattern.source)
                .case_insensitive(self.ignore_case)
                .multi_line(self.multi_line)
                .size_limit(COMPILED_BYTES)
                .dfa_size_limit(self.cache)
                .build();
        }
        self.build(&pattern.source, 1)
    }
}

impl Compiled {
    /// Compiles the steps of a filter.
    ///
    /// # Errors
    /// A pattern is too large; it was checked in every other way when it was read.
    pub(crate) fn new(filter: &FilterDef) -> Result<Compiled, regex::Error> {
        let rules = &filter.rules;
        let options = Options::of(filter);
        let whole = Options { multi_line: true, ..options };
        let output = |rule: &super::model::OutputRule| {
            let unless = rule.unless.as_ref().map(|p| whole.one(p)).transpose()?;
            Ok(OutputCheck { pattern: whole.one(&rule.pattern)?, unless })
        };
        let per_line = [&rules.drop, &rules.noise, &rules.keep, &rules.collapse, &rules.preserve];
        let patterns = per_line.into_iter().flatten().chain(rules.replace.iter().map(|r| &r.pattern));
        let mut words: Vec<&[u8]> = patterns.flat_map(|p| p.literals.iter().map(Vec::as_slice)).collect();
        words.sort_unstable();
        words.dedup();
        let gate = (!words.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .ascii_case_insensitive(true)
                    .match_kind(MatchKind::Standard)
                    .build(words)
                    .ok()
            })
            .flatten();
        let gated = gate.is_some();
        Ok(Compiled {
            drop: LineSet::new(&rules.drop, options, gated)?,
            noise: LineSet::new(&rules.noise, options, gated)?,
            keep: LineSet::new(&rules.keep, options, gated)?,
            collapse: LineSet::new(&rules.collapse, options, gated)?,
            preserve: LineSet::new(&rules.preserve, options, gated)?,
            replace: rules
                .replace
                .iter()
                .map(|rule| Replacer::new(rule, filter.dialect, options, gated))
                .collect::<Result<_, _>>()?,
            outputs: rules.match_output.iter().map(output).collect::<Result<_, regex::Error>>()?,
            gate,
        })
    }

    /// One mark per line: whether it holds a string that a gated pattern needs. Empty if nothing is gated.
    pub(crate) fn candidates(&self, text: &str, lines: &[&str]) -> Vec<bool> {
        let Some(gate) = &self.gate else { return Vec::new() };
        let mut marks = vec![false; lines.len()];
        let base = text.as_ptr() as usize;
        let end = |line: &str| (line.as_ptr() as usize).wrapping_sub(base).wrapping_add(line.len());
        let (mut at, mut i) = (0, 0);
        while at < text.len() {
            let input = aho_corasick::Input::new(text).span(at..text.len());
            let Some(found) = gate.find(input) else { break };
            while lines.get(i).is_some_and(|line| end(line) < found.end()) {
                i += 1;
            }
            let (Some(line), Some(mark)) = (lines.get(i), marks.get_mut(i)) else { break };
            *mark = true;
            at = end(line).max(found.end());
        }
        marks
    }
}

impl LineSet {
    fn new(patterns: &[Pattern], options: Options, gated: bool) -> Result<LineSet, regex::Error> {
        let all: Vec<&Pattern> = patterns.iter().collect();
        if !gated {
            let all = join(&all, options)?;
            return Ok(LineSet { always: all.clone(), all });
        }
        let always: Vec<&Pattern> = patterns.iter().filter(|p| p.literals.is_empty()).collect();
        Ok(LineSet { always: join(&always, options)?, all: join(&all, options)? })
    }

    /// Whether there is no pattern.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a pattern matches the line. `candidate` is what the gate says of it.
    pub(crate) fn is_match(&self, line: &str, candidate: bool) -> bool {
        let regexes = if candidate { &self.all } else { &self.always };
        regexes.iter().any(|r| r.is_match(line.as_bytes()))
    }
}

impl Chooser {
    /// Compiles what selects a filter.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub(crate) fn new(matching: &Matching, ignore_case: bool) -> Result<Chooser, regex::Error> {
        let options = Options { ignore_case, multi_line: false, cache: CACHE_BYTES / 8 };
        let whole = Options { multi_line: true, ..options };
        Ok(Chooser {
            commands: LineSet::new(&matching.commands, options, false)?,
            not_commands: LineSet::new(&matching.not_commands, options, false)?,
            texts: matching.texts.iter().map(|p| whole.one(p)).collect::<Result<_, _>>()?,
        })
    }
}

/// As few automata as possible for `patterns`: those that can be joined become one.
fn join(patterns: &[&Pattern], options: Options) -> Result<Vec<Regex>, regex::Error> {
    let (solo, joined): (Vec<&Pattern>, Vec<&Pattern>) = patterns.iter().copied().partition(|p| p.solo);
    let mut regexes = Vec::with_capacity(solo.len() + 1);
    match joined.as_slice() {
        [] => {}
        [one] => regexes.push(options.one(one)?),
        many => {
            let source = many.iter().map(|p| p.branch()).collect::<Vec<_>>().join("|");
            match options.build(&source, many.len()) {
                Ok(regex) => regexes.push(regex),
                Err(_) => {
                    for pattern in many {
                        regexes.push(options.one(pattern)?);
                    }
                }
            }
        }
    }
    for pattern in solo {
        regexes.push(options.one(pattern)?);
    }
    Ok(regexes)
}
