//! Packs of rules: read from TOML or JSON, checked, and turned into tables.

mod own;
mod written;

use std::collections::HashMap;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::class::{Class, Language, Level, SAFE, Safety};
use super::verify::{sorted, without};
use super::word;
use crate::hash::ByHash;
pub use own::RulePacks;
use written::File;
pub(super) use written::{At, Next, Rule};

/// Most rules in a pack.
const MAX_RULES: usize = 500;
/// Bits beside those of [`Safety`].
pub(super) const VERB: u16 = 1 << 8;
pub(super) const STARTS: u16 = 1 << 9;
pub(super) const NAMED: u16 = 1 << 10;
pub(super) const FUNCTION: u16 = 1 << 11;
/// Of a word in a text: a negation stands shortly before.
pub(super) const NEGATED: u16 = 1 << 12;

/// Of a word in a text: a negation, a condition or a question word stands before it in its sentence.
pub(super) const OPEN: u16 = 1 << 13;

/// What is wrong with a pack, with the line and the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: line {line}: {place}: {message}")]
pub(super) struct PackError {
    /// The file; `pack` for one that is built in.
    pub(super) file: String,
    /// Line in the file, from 1.
    pub(super) line: usize,
    /// The rule, or the part of the file.
    pub(super) place: String,
    /// What is wrong.
    pub(super) message: String,
}

/// Rules and words of one language.
#[derive(Debug)]
pub(super) struct Pack {
    language: Language,
    pub(super) rules: Vec<Rule>,
    /// Bits of each word that has any.
    pub(super) bits: HashMap<u64, u16, ByHash>,
    /// Phrases by their first word, the longest first.
    pub(super) phrases: HashMap<u64, Vec<Phrase>, ByHash>,
    /// Endings and beginnings that make a word a negation.
    endings: Vec<String>,
    beginnings: Vec<String>,
    /// For languages without spaces: phrases of rules, and words that are kept.
    pub(super) finder: Option<Finder>,
}

/// Searches of a language without spaces.
#[derive(Debug)]
pub(super) struct Finder {
    pub(super) phrases: AhoCorasick,
    /// The rule of each phrase.
    pub(super) rule: Vec<usize>,
    kept: AhoCorasick,
    kept_words: Vec<String>,
}

/// A phrase of a rule, word by word.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) words: Vec<u64>,
    pub(super) text: Vec<String>,
    pub(super) rule: usize,
}

impl Pack {
    /// The language of its texts.
    pub(super) fn language(&self) -> Language {
        self.language
    }

    pub(super) fn empty(language: Language) -> Pack {
        Pack {
            language,
            rules: Vec::new(),
            bits: HashMap::default(),
            phrases: HashMap::default(),
            endings: Vec::new(),
            beginnings: Vec::new(),
            finder: None,
        }
    }

    /// Reads and checks a pack without its examples.
    pub(super) fn compile(text: &str) -> Result<Pack, PackError> {
        Pack::build(text, true)
    }

    /// Reads a pack; `checked` refuses rules that touch words that are kept.
    pub(super) fn build(text: &str, checked: bool) -> Result<Pack, PackError> {
        let part = Part::read("pack", text)?;
        Pack::of(part.language, &[part], checked)
    }

    /// The pack of all parts together. Lists of words add up, and so do rules.
    fn of(language: Language, parts: &[Part], checked: bool) -> Result<Pack, PackError> {
        let mut pack = Pack::empty(language);
        let mut kept_words = Vec::new();
        for part in parts {
            let file = &part.file;
            pack.endings.extend(file.safety.negation_endings.iter().cloned());
            pack.beginnings.extend(file.safety.negation_beginnings.iter().cloned());
            for (kind, words) in file.safety.lists() {
                for word in words.split_whitespace() {
                    *pack.bits.entry(word::of(word.as_bytes())).or_default() |= kind.bit();
                    kept_words.push(word.to_owned());
                }
            }
            for (bit, words) in
                [(VERB, &file.lists.verbs), (NAMED, &file.lists.named), (FUNCTION, &file.lists.function)]
            {
                for word in words.split_whitespace() {
                    *pack.bits.entry(word::of(word.as_bytes())).or_default() |= bit;
                }
            }
        }
        if !language.is_spaced() {
            pack.finder = Some(Finder::new(&[], Vec::new(), &kept_words));
        }
        let mut phrases = Vec::new();
        pack.rules = parts.iter().flat_map(|part| part.file.rules.iter().cloned()).collect();
        for rule in &mut pack.rules {
            rule.takes.sort_unstable();
            rule.gives.sort_unstable();
        }
        let spots =
            parts.iter().flat_map(|part| part.lines.iter().enumerate().map(move |(n, at)| (part, n, *at)));
        for (at, (part, in_file, line)) in spots.enumerate() {
            let ids = || pack.rules.iter().take(at).map(|rule| rule.id.as_str());
            let Some(rule) = pack.rules.get(at) else { break };
            let wrong = |message: String| part.wrong(line, format!("rule \"{}\"", rule.id), message);
            let kind = Class::parse(&rule.class).zip(Level::parse(&rule.level));
            let Some(kind) = kind else {
                return Err(wrong(format!("\"{}\" at \"{}\" is no class and level", rule.class, rule.level)));
            };
            if ids().any(|id| id == rule.id) || rule.id.is_empty() || in_file >= MAX_RULES {
                return Err(wrong(format!(
                    "the id is empty or used twice, or there are over {MAX_RULES} rules"
                )));
            }
            for phrase in rule.from.split('|').map(str::trim) {
                if phrase.is_empty() || phrase != word::normal(phrase) {
                    return Err(wrong(format!("\"{phrase}\" is empty or not in small letters")));
                }
                if rule.to.len() >= phrase.len() {
                    return Err(wrong(format!("\"{}\" is not shorter than \"{phrase}\"", rule.to)));
                }
                if checked && let Some(message) = pack.unsafe_phrase(phrase, rule) {
                    return Err(wrong(message));
                }
                phrases.push((phrase.to_owned(), at));
            }
            if !matches!(kind.0, Class::Redundancy) && rule.keep.is_empty() {
                return Err(wrong("there is no text that it leaves alone".into()));
            }
            if let Some(rule) = pack.rules.get_mut(at) {
                rule.kind = Some(kind);
                let numbers =
                    |list: &[String]| list.iter().map(|w| word::of(word::normal(w).as_bytes())).collect();
                rule.unless = [numbers(&rule.unless_next), numbers(&rule.unless_prev)];
            }
        }
        if language.is_spaced() {
            pack.index(&phrases);
        } else {
            let (texts, rules): (Vec<String>, Vec<usize>) = phrases.into_iter().unzip();
            pack.finder = Some(Finder::new(&texts, rules, &kept_words));
        }
        Ok(pack)
    }

    /// What a rule must not do with words that are kept.
    fn unsafe_phrase(&self, phrase: &str, rule: &Rule) -> Option<String> {
        let (old, new) = (sorted(self.kept_words(phrase)), sorted(self.kept_words(&rule.to)));
        let (lost, new) = (without(&old, &new), without(&new, &old));
        if lost != rule.takes {
            return Some(format!("\"{phrase}\" has the kept words {lost:?}, it says {:?}", rule.takes));
        }
        if new != rule.gives {
            return Some(format!("\"{}\" has the kept words {new:?}, it says {:?}", rule.to, rule.gives));
        }
        let never = Safety::Negation.bit() | Safety::Question.bit();
        lost.iter()
            .chain(&new)
            .find(|w| self.word_bits(w) & never != 0)
            .map(|w| format!("\"{w}\" always stays"))
    }

    fn index(&mut self, phrases: &[(String, usize)]) {
        for (phrase, rule) in phrases {
            let text: Vec<String> = phrase.split(' ').map(str::to_owned).collect();
            let words: Vec<u64> = text.iter().map(|w| word::of(w.as_bytes())).collect();
            let Some(first) = words.first().copied() else { continue };
            *self.bits.entry(first).or_default() |= STARTS;
            self.phrases.entry(first).or_default().push(Phrase { words, text, rule: *rule });
        }
        for list in self.phrases.values_mut() {
            list.sort_by_key(|phrase| std::cmp::Reverse(phrase.words.len()));
        }
    }

    /// The bits of a word, its endings and beginnings taken into account.
    pub(super) fn bits_of(&self, hash: u64, word: &[u8]) -> u16 {
        let bits = self.bits.get(&hash).copied().unwrap_or(0);
        // Parts of words count only where there is an apostrophe.
        if !word.iter().any(|b| matches!(b, b'\'' | 0xE2)) {
            return bits;
        }
        bits | self.word_bits(std::str::from_utf8(word).unwrap_or(""))
    }

    fn word_bits(&self, word: &str) -> u16 {
        let word = word::normal(word);
        let mut bits = self.bits.get(&word::of(word.as_bytes())).copied().unwrap_or(0) & SAFE;
        let ends = self.endings.iter().any(|e| word.ends_with(e.as_str()));
        if ends || self.beginnings.iter().any(|b| word.starts_with(b.as_str())) {
            bits |= Safety::Negation.bit();
        }
        if let Some((head, tail)) = word.split_once('\'') {
            for part in [format!("{head}'"), tail.to_owned()] {
                bits |= self.bits.get(&word::of(part.as_bytes())).copied().unwrap_or(0) & SAFE;
            }
        }
        bits
    }

    /// All words of a text that are kept, in order.
    pub(super) fn kept_words(&self, text: &str) -> Vec<String> {
        if let Some(finder) = &self.finder {
            let word = |m: aho_corasick::Match| finder.kept_words.get(m.pattern().as_usize()).cloned();
            return finder.kept.find_iter(text).filter_map(word).collect();
        }
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-');
        let words = text.split(|c| !inside(c)).filter(|w| !w.is_empty());
        words.filter(|w| self.word_bits(w) != 0).map(word::normal).collect()
    }

    /// Whether a text without spaces ends with a negation.
    pub(super) fn kept_at_end(&self, text: &str) -> bool {
        let Some(finder) = &self.finder else { return false };
        finder
            .kept_words
            .iter()
            .any(|w| text.ends_with(w.as_str()) && self.word_bits(w) & Safety::Negation.bit() != 0)
    }

    /// Tries the examples of the rules from number `first` on, each rule alone.
    pub(super) fn try_examples(self: &Arc<Self>, first: usize) -> Vec<(usize, String)> {
        let mut mistakes = Vec::new();
        for (at, rule) in self.rules.iter().enumerate().skip(first) {
            let alone = super::Condenser::new(Level::Ultra).pack(self.clone()).only(&rule.id);
            let only = |text: &str| alone.condense(text).text.into_owned();
            let got = only(&rule.example);
            if got != rule.out {
                mistakes.push((at, format!("\"in\": {:?} became {got:?}, not {:?}", rule.example, rule.out)));
            } else if rule.example == rule.out {
                mistakes.push((at, format!("\"in\": the rule leaves {:?} as it is", rule.example)));
            }
            let quoted = format!("`{}`", rule.example);
            for keep in rule.keep.iter().chain([&quoted]) {
                let got = only(keep);
                if got != *keep {
                    mistakes.push((at, format!("\"keep\": {keep:?} should stay and became {got:?}")));
                }
            }
        }
        mistakes
    }
}

/// One file with its name and the line of each rule.
#[derive(Debug)]
struct Part {
    name: String,
    language: Language,
    file: File,
    lines: Vec<usize>,
}

impl Part {
    /// Reads a file in TOML.
    fn read(name: &str, text: &str) -> Result<Part, PackError> {
        let (file, lines) = written::read(text).map_err(|(line, place, message)| PackError {
            file: name.to_owned(),
            line,
            place,
            message,
        })?;
        let language = Language::parse(&file.language).ok_or_else(|| PackError {
            file: name.to_owned(),
            line: written::line_of_key(text, "language"),
            place: "key \"language\"".into(),
            message: format!("\"{}\" has no pack", file.language),
        })?;
        Ok(Part { name: name.to_owned(), language, file, lines })
    }

    fn wrong(&self, line: usize, place: String, message: String) -> PackError {
        PackError { file: self.name.clone(), line, place, message }
    }
}

impl Finder {
    fn new(phrases: &[String], rule: Vec<usize>, kept: &[String]) -> Finder {
        let build = |words: &[String]| {
            let mut builder = AhoCorasickBuilder::new();
            builder.match_kind(MatchKind::LeftmostLongest);
            builder.build(words).expect("a few hundred short phrases fit into a table")
        };
        Finder { phrases: build(phrases), rule, kept: build(kept), kept_words: kept.to_vec() }
    }
}
