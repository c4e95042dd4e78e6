//! Finds what rules change in languages whose words stand apart.

mod sentence;

use std::collections::HashSet;

use super::Condenser;
use super::class::{Class, Level, SAFE, Safety};
use super::edit::Edit;
use super::pack::{At, FUNCTION, NAMED, NEGATED, Next, OPEN, Pack, Phrase, Rule, STARTS, VERB};
use super::word;
use crate::hash::ByHash;
use crate::protect::{Kind, Paragraph, Scan, Word};

/// A paragraph with everything that is known of it.
#[derive(Clone, Copy)]
pub(super) struct Place<'t, 'p> {
    pub(super) text: &'t str,
    pub(super) scan: &'t Scan,
    pub(super) hashes: &'t [u64],
    pub(super) paragraph: &'t Paragraph,
    pub(super) pack: &'p Pack,
}

impl Place<'_, '_> {
    /// Whether a word of one letter stands in the paragraph that is neither an article nor a pronoun.
    fn has_letters(&self) -> bool {
        let words = self.scan.words.get(self.paragraph.words.clone()).unwrap_or_default();
        let bytes = self.text.as_bytes();
        words
            .iter()
            .filter(|word| word.end - word.start == 1)
            .any(|word| !matches!(bytes.get(word.start as usize), Some(b'a' | b'A' | b'i' | b'I')))
    }
}

/// Adds the edits of a paragraph. `said` are the sentences of the text so far.
pub(super) fn edits<'p>(
    place: &Place<'_, 'p>,
    condenser: &Condenser,
    said: &mut HashSet<u64, ByHash>,
    out: &mut Vec<Edit<'p>>,
) {
    let first = out.len();
    let repeats = condenser.allows("repeat", Class::Repeat, Level::Ultra);
    let bits = word_bits(place);
    let floor = place.paragraph.bytes.start;
    let letters = place.has_letters();
    let mut finder = Finder { place, condenser, bits, letters, floor, blocked: 0 };
    let mut at = place.paragraph.words.start;
    while at < place.paragraph.words.end {
        if repeats
            && finder.is_sentence_start(at)
            && let Some((edit, next)) = finder.repeated(at, said)
        {
            finder.floor = edit.end;
            out.push(edit);
            at = next;
            continue;
        }
        match finder.at(at) {
            Some((edits, words)) => {
                finder.floor = edits.last().map_or(finder.floor, |e| e.end);
                out.extend(edits);
                at += words;
            }
            None => at += 1,
        }
    }
    debug_assert!(out.get(first..).unwrap_or(&[]).is_sorted_by_key(|e| e.start));
}

/// The bits of every word of a paragraph. A word is negated if a negation stands before it in the same sentence with at
/// most two words in between, not counting those that rules might take out: what follows it is what it negates.
fn word_bits(place: &Place<'_, '_>) -> Vec<u16> {
    let bytes = place.text.as_bytes();
    let mut all = Vec::with_capacity(place.paragraph.words.len());
    let (mut reach, mut end) = (0_u8, place.paragraph.bytes.start);
    let mut open = false;
    for at in place.paragraph.words.clone() {
        let (Some(word), Some(hash)) = (place.scan.words.get(at), place.hashes.get(at)) else { break };
        let (start, stop) = (word.start as usize, word.end as usize);
        let mut bits = place.pack.bits_of(*hash, bytes.get(start..stop).unwrap_or(&[]));
        let gap = bytes.get(end..start).unwrap_or(&[]);
        if gap.len() > 1 {
            if ends_sentence(gap) {
                (reach, open) = (0, false);
            }
            // A word in capitals or between signs of emphasis is no plain word, and says the same.
            let marked = marked_bits(place.pack, gap);
            if marked & Safety::Negation.bit() != 0 {
                reach = 3;
            }
            open |= marked & OPENS != 0;
        }
        if reach > 0 {
            bits |= NEGATED;
            reach -= u8::from(bits & STARTS == 0);
        }
        if bits & Safety::Negation.bit() != 0 {
            reach = 3;
        }
        if open {
            bits |= OPEN;
        }
        open |= bits & OPENS != 0;
        end = stop;
        all.push(bits);
    }
    all
}

/// Words after which in the same sentence it matters how strongly something is said.
const OPENS: u16 = Safety::Negation.bit() | Safety::Question.bit() | Safety::Condition.bit();

/// What is known of the words of letters between two plain words.
fn marked_bits(pack: &Pack, gap: &[u8]) -> u16 {
    let text = std::str::from_utf8(gap).unwrap_or("");
    let words = text.split(|c: char| !c.is_alphabetic() && !matches!(c, '\'' | '’')).filter(|w| w.len() > 1);
    words.take(8).fold(0, |bits, word| bits | pack.bits_of(word::of(word.as_bytes()), word.as_bytes()))
}

/// Whether a sentence ends between two words. A dot inside a name or a number ends none, nor does the end of a line.
pub(super) fn ends_sentence(gap: &[u8]) -> bool {
    let ends = |at: usize| gap.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    gap.iter().enumerate().any(|(at, b)| matches!(b, b'.' | b'!' | b'?') && ends(at))
}

struct Finder<'t, 'p, 'a> {
    place: &'a Place<'t, 'p>,
    condenser: &'a Condenser,
    /// What is known of each word of the paragraph.
    bits: Vec<u16>,
    /// Whether single letters stand in it that are no words.
    letters: bool,
    /// End of the last edit.
    floor: usize,
    /// Words before this one belong to a phrase that must stay.
    blocked: usize,
}

impl<'p> Finder<'_, 'p, '_> {
    fn word(&self, at: usize) -> Option<Word> {
        self.place.paragraph.words.contains(&at).then(|| self.place.scan.words.get(at).copied())?
    }

    fn text(&self, at: usize) -> &str {
        self.word(at).and_then(|w| self.place.text.get(w.start as usize..w.end as usize)).unwrap_or("")
    }

    fn bits(&self, at: usize) -> u16 {
        let at = at.checked_sub(self.place.paragraph.words.start);
        at.and_then(|at| self.bits.get(at)).copied().unwrap_or(0)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        (at < self.place.paragraph.bytes.end).then(|| self.place.text.as_bytes().get(at).copied())?
    }

    fn before(&self, at: usize) -> Option<u8> {
        (at > self.place.paragraph.bytes.start).then(|| self.place.text.as_bytes().get(at - 1).copied())?
    }

    /// Whether the words at `at` and `at + 1` stand beside each other.
    fn joined(&self, at: usize) -> bool {
        match (self.word(at), self.word(at + 1)) {
            (Some(a), Some(b)) => a.end + 1 == b.start && self.byte(a.end as usize) == Some(b' '),
            _ => false,
        }
    }

    /// The word before, if nothing else stands between.
    fn neighbour_before(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        self.joined(before).then_some(before)
    }

    /// The edits for the word at `at` and how many words they cover.
    fn at(&mut self, at: usize) -> Option<(Vec<Edit<'p>>, usize)> {
        let pack = self.place.pack;
        let hash = *self.place.hashes.get(at)?;
        if at < self.blocked || self.bits(at) & STARTS == 0 {
            return None;
        }
        for phrase in pack.phrases.get(&hash)? {
            if !self.is_here(at, phrase) {
                continue;
            }
            if let Some(found) = self.phrase(at, phrase) {
                return Some(found);
            }
            self.blocked = self.blocked.max(at + phrase.words.len());
        }
        None
    }

    /// Whether the words of a phrase stand here.
    fn is_here(&self, at: usize, phrase: &Phrase) -> bool {
        let count = phrase.words.len();
        let same = |n: usize| self.place.hashes.get(at + n) == phrase.words.get(n);
        self.word(at + count - 1).is_some()
            && (1..count).all(|n| same(n) && self.joined(at + n - 1))
            && (0..count).all(|n| phrase.text.get(n).is_some_and(|t| word::is(self.text(at + n), t)))
    }

    fn phrase(&self, at: usize, phrase: &Phrase) -> Option<(Vec<Edit<'p>>, usize)> {
        let pack: &'p Pack = self.place.pack;
        let count = phrase.words.len();
        let rule = pack.rules.get(phrase.rule)?;
        if !self.condenser.allows(&rule.id, rule.class(), rule.level()) {
            return None;
        }
        let last = at + count - 1;
        let (start, end) = (self.word(at)?.start as usize, self.word(last)?.end as usize);
        if start < self.floor || !self.may(rule, at, last, start, end) {
            return None;
        }
        let edit = |start, end, to: String| Edit {
            start,
            end,
            to,
            rule: &rule.id,
            takes: &rule.takes,
            gives: &rule.gives,
        };
        match rule.class() {
            Class::Existential => {
                let that = self.partner(last)?;
                let cut = self.word(that)?;
                let after = self.word(that + 1)?;
                let frame = edit(start, self.word(last + 1)?.start as usize, String::new());
                let mut second = edit(cut.start as usize, after.start as usize, String::new());
                second.takes = &[];
                Some((vec![frame, second], that - at + 1))
            }
            _ if !rule.to.is_empty() => {
                let capital = self.text(at).chars().next().is_some_and(char::is_uppercase);
                let to = if capital { capitalised(&rule.to) } else { rule.to.clone() };
                Some((vec![edit(start, end, to)], count))
            }
            _ => {
                let (start, end) = match rule.at {
                    At::Sentence => self.sentence(start, end)?,
                    _ => self.cut(start, end),
                };
                (start >= self.floor).then(|| (vec![edit(start, end, String::new())], count))
            }
        }
    }

    /// Whether the rule may act on the words `at..=last`, which are the bytes `start..end`.
    fn may(&self, rule: &Rule, at: usize, last: usize, start: usize, end: usize) -> bool {
        let place_ok = match rule.at {
            At::Any => true,
            At::Start => self.is_sentence_start(at),
            At::End => self.is_sentence_end(end),
            At::Edge => self.is_sentence_start(at) || self.is_sentence_end(end),
            At::Sentence => self.is_sentence_start(at) && self.is_sentence_end(end),
        };
        if !place_ok {
            return false;
        }
        let before = self.neighbour_before(at);
        let after = self.joined(last).then_some(last + 1);
        // A capital inside a sentence is a name or, in some languages, a noun.
        if self.text(at).starts_with(char::is_uppercase) && !self.is_sentence_start(at) {
            return false;
        }
        if self.bits(at) & NEGATED != 0 {
            return false;
        }
        let [next, prev] = &rule.unless;
        let listed = |list: &[u64], words: &[String], n: Option<usize>| {
            let Some((n, hash)) = n.and_then(|n| Some((n, self.place.hashes.get(n)?))) else { return false };
            list.contains(hash) && words.iter().any(|word| word::is(self.text(n), word))
        };
        if listed(prev, &rule.unless_prev, before) || listed(next, &rule.unless_next, after) {
            return false;
        }
        let next_ok = match rule.next {
            None => true,
            Some(Next::Verb) => after.is_some_and(|n| self.bits(n) & VERB != 0),
            Some(Next::Word) => after.is_some_and(|n| self.is_content(n)),
            Some(Next::Comma) => self.byte(end) == Some(b','),
        };
        next_ok
            && match rule.class() {
                Class::Article => self.article(at, start, before, after),
                Class::Intensifier => self.intensifier(at, after),
                _ => true,
            }
    }

    fn is_content(&self, at: usize) -> bool {
        let text = self.text(at);
        self.bits(at) & SAFE == 0
            && text.chars().count() >= 2
            && text.chars().next().is_some_and(char::is_lowercase)
    }

    /// An article goes only where it stands before an ordinary word in small letters and is no name itself.
    fn article(&self, at: usize, start: usize, before: Option<usize>, after: Option<usize>) -> bool {
        let Some(after) = after.filter(|n| self.is_content(*n) && self.bits(*n) & FUNCTION == 0) else {
            return false;
        };
        let name = |n: usize| self.text(n).chars().count() < 2 || self.bits(n) & NAMED != 0;
        if before.is_some_and(name) || self.text(after).contains(['-', '\'']) {
            return false;
        }
        // Where other single letters are names, so may be this one.
        if self.letters && self.text(at).len() == 1 {
            return false;
        }
        !self.span_before(start).is_some_and(|kind| matches!(kind, Kind::Number | Kind::Identifier))
    }

    /// An intensifier goes only before an ordinary word, and only from a plain statement.
    fn intensifier(&self, at: usize, after: Option<usize>) -> bool {
        let plain = self.bits(at) & OPEN == 0 && !self.is_asked(at);
        plain && after.is_some_and(|n| self.is_content(n) && self.bits(n) & FUNCTION == 0)
    }

    /// The kind of the span that ends one blank before `start`.
    fn span_before(&self, start: usize) -> Option<Kind> {
        let spans = self.place.scan.spans.get(self.place.paragraph.spans.clone())?;
        let at = spans.partition_point(|s| s.end < start);
        spans.get(at.checked_sub(1)?).filter(|s| s.end + 1 == start).map(|s| s.kind)
    }

    /// The word "that" behind a frame like "there are", with a verb behind it and nothing kept in between.
    fn partner(&self, last: usize) -> Option<usize> {
        for n in last + 1..last + 7 {
            if !self.joined(n - 1) || self.bits(n) & SAFE != 0 {
                return None;
            }
            if self.text(n) == "that" {
                let verb = self.joined(n) && self.bits(n + 1) & (VERB | SAFE) == VERB;
                return (n > last + 1 && verb).then_some(n);
            }
        }
        None
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
