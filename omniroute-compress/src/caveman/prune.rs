//! Selects words: of each sentence the least telling ones go. Protected parts, kept words and what follows them stay.

use super::pack::{FUNCTION, Pack};
use super::{detect, packs, word};
use crate::protect;

/// Sentences and items of lists with no more words stay as they are.
const SHORT: usize = 6;
/// A word that stays whatever the share is.
const ALWAYS: usize = 100;
/// From so many words in a row on a sign shows that some have gone.
const GAP: usize = 4;

/// `text` with about `rate` percent of the words of its prose; words under `min_score` go in any case. None if nothing
/// goes, or if a word would go that decides what is said.
pub(crate) fn prune(text: &str, rate: usize, min_score: usize) -> Option<String> {
    let scan = protect::scan(text);
    let hashes = word::hashes(text, &scan.words);
    let languages = detect::of_paragraphs(text, &scan, &hashes);
    let bytes = text.as_bytes();
    let mut gone: Vec<std::ops::Range<usize>> = Vec::new();
    for (paragraph, language) in scan.paragraphs.iter().zip(languages) {
        let Some(pack) = language.filter(|l| l.is_spaced()).map(packs::builtin) else { continue };
        let words: Vec<Piece> = paragraph
            .words
            .clone()
            .filter_map(|n| {
                let word = scan.words.get(n)?;
                Some(piece(text, (word.start as usize, word.end as usize), *hashes.get(n)?, pack))
            })
            .collect();
        let first = gone.len();
        let mut from = 0;
        for at in 1..=words.len() {
            let ends = words.get(at).zip(words.get(at - 1)).is_none_or(|(next, last)| {
                let gap = bytes.get(last.end..next.start).unwrap_or_default();
                gap.contains(&b'\n') || super::spaced::ends_sentence(gap)
            });
            if ends {
                sentence(text, words.get(from..at).unwrap_or_default(), (rate, min_score), &mut gone);
                from = at;
            }
        }
        let new = without(text, paragraph.bytes.clone(), gone.get(first..).unwrap_or_default());
        let old = text.get(paragraph.bytes.clone()).unwrap_or("");
        if pack.kept_words(old) != pack.kept_words(&new) {
            return None;
        }
    }
    (!gone.is_empty()).then(|| without(text, 0..text.len(), &gone))
}

/// A word with its score.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    score: usize,
    decides: bool,
    function: bool,
}

fn piece(text: &str, (start, end): (usize, usize), hash: u64, pack: &Pack) -> Piece {
    let word = text.get(start..end).unwrap_or("");
    let bits = pack.bits_of(hash, word.as_bytes());
    let decides = bits & super::class::SAFE != 0 || !pack.kept_words(word).is_empty();
    let letters = word.chars().count();
    let score = if decides {
        ALWAYS
    } else if bits & FUNCTION != 0 {
        10
    } else if letters <= 2 {
        20
    } else if word.starts_with(char::is_uppercase) {
        80
    } else if letters >= 6 {
        70
    } else {
        50
    };
    Piece { start, end, score, decides, function: bits & FUNCTION != 0 }
}

fn sentence(
    text: &str,
    words: &[Piece],
    (rate, min_score): (usize, usize),
    gone: &mut Vec<std::ops::Range<usize>>,
) {
    if words.len() <= SHORT {
        return;
    }
    let bytes = text.as_bytes();
    let mut scores: Vec<usize> = words.iter().map(|word| word.score).collect();
    let mut negated = false;
    for (word, score) in words.iter().zip(&mut scores) {
        // What a deciding word is about stays with it.
        if negated && !word.function {
            *score = ALWAYS;
            negated = word.decides;
        }
        negated |= word.decides;
        // Only words with blanks around them go: signs keep their word.
        let blank = |b: Option<&u8>| matches!(b, Some(b' '));
        let before = word.start.checked_sub(1).and_then(|at| bytes.get(at));
        if !blank(before) || !blank(bytes.get(word.end)) {
            *score = ALWAYS;
        }
    }
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by_key(|n| (scores.get(*n).copied().unwrap_or(ALWAYS), *n));
    let target = words.len() - (words.len() * rate).div_ceil(100);
    let score = |n: usize| scores.get(n).copied().unwrap_or(ALWAYS);
    let mut out: Vec<usize> = order
        .into_iter()
        .enumerate()
        .filter(|(place, n)| score(*n) < ALWAYS && (*place < target || score(*n) < min_score))
        .map(|(_, n)| n)
        .collect();
    out.sort_unstable();
    gone.extend(out.into_iter().filter_map(|n| words.get(n)).map(|word| word.start..word.end + 1));
}

/// The text of a range without some words, each with the blank behind it.
fn without(text: &str, range: std::ops::Range<usize>, gone: &[std::ops::Range<usize>]) -> String {
    let mut out = String::with_capacity(range.len());
    let mut at = range.start;
    let mut run: usize = 0;
    for (n, word) in gone.iter().enumerate().filter(|(_, word)| word.end <= range.end) {
        out.push_str(text.get(at..word.start).unwrap_or(""));
        at = word.end;
        run = if n > 0 && gone.get(n - 1).is_some_and(|last| last.end == word.start) { run + 1 } else { 1 };
        let ends = gone.get(n + 1).is_none_or(|next| next.start != word.end);
        if ends && run >= GAP {
            out.push_str("\u{2026} ");
        }
    }
    out.push_str(text.get(at..range.end).unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "The service of the department was moved to another building in the old town during the summer of last year. You must not restart the worker before the queue of the importer is empty and the disk has 20 GB free. Run `make the test` in the morning, please.";

    fn decides(text: &str) -> Vec<String> {
        let word = |w: &&str| matches!(*w, "must" | "not" | "before" | "never" | "if" | "or");
        text.split_whitespace().filter(word).map(str::to_owned).collect()
    }

    #[test]
    fn words_that_decide_and_protected_parts_stay() {
        let out = prune(TEXT, 50, 30).unwrap();
        assert!(out.len() * 10 < TEXT.len() * 9, "{out}");
        assert_eq!(decides(&out), decides(TEXT), "{out}");
        for kept in ["20 GB", "`make the test`", "not restart"] {
            assert!(out.contains(kept), "{kept} in {out}");
        }
        // The check sees a text that lost its negation, and a sign stands where much has gone.
        assert_ne!(decides(&out.replacen(" not", "", 1)), decides(TEXT));
        assert!(prune(TEXT, 10, 100).unwrap().contains('\u{2026}'));
        assert!(prune(TEXT, 95, 0).unwrap().len() > out.len(), "the share decides");
        assert!(prune(TEXT, 95, 60).unwrap().len() < prune(TEXT, 95, 0).unwrap().len(), "the score decides");
    }

    #[test]
    fn short_and_unknown_texts_stay() {
        for text in
            ["", "Take the old road.", "qwrt zxcv bnmp lkjh gfds poiu ytre", "- one item\n- two items\n"]
        {
            assert_eq!(prune(text, 50, 30), None, "{text}");
        }
    }
}
