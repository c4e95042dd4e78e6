//! A hard budget: what to leave out when a request would not fit otherwise.
//!
//! Only old tool results are cut, each in proportion to its size. They are taken apart into paragraphs of at most ten
//! lines; of the least telling paragraphs those lines go that hold no fact. Lines that tell of errors or hold a path,
//! an address, a `key=value`, a number with a unit, a frame of a stack or the fence of a code block always stay.
//! What went is counted where it was.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::hash::{ByHash, hash};
use crate::marker;

/// Lines of one paragraph at most.
const UNIT_LINES: usize = 10;
/// Shorter runs are not worth a marker.
const MIN_RUN_BYTES: usize = 80;

/// A text that was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) text: String,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// One paragraph: its lines, and how much it tells.
#[derive(Debug)]
struct Unit {
    lines: std::ops::Range<usize>,
    /// Bytes of lines that may go.
    loose: usize,
    score: u64,
}

/// The text with at least `bytes` fewer, or as many as may go; none if nothing may. `handle` names where the
/// whole text is kept.
pub(crate) fn cut(text: &str, bytes: usize, handle: Option<&str>) -> Option<Cut> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let stays = keepers(&lines);
    let mut units = units(&lines, &stays);
    units.sort_by_key(|unit| (unit.score, unit.lines.start));
    let mut goes = vec![false; lines.len()];
    let mut freed = 0;
    for unit in units.iter().filter(|unit| unit.loose > 0) {
        if freed >= bytes {
            break;
        }
        for n in unit.lines.clone() {
            if let (Some(false), Some(go)) = (stays.get(n), goes.get_mut(n)) {
                *go = true;
            }
        }
        freed += unit.loose;
    }
    without(&lines, &goes, handle).filter(|cut| cut.text.len() < text.len())
}

/// The text of `lines` (with their line ends) without those that go; none if nothing goes. Short runs stay.
pub(crate) fn without(lines: &[&str], goes: &[bool], handle: Option<&str>) -> Option<Cut> {
    let rest = handle.map_or_else(|| "not recoverable".to_owned(), |handle| format!("full -> {handle}"));
    marked(lines, goes, |gone, bytes| {
        let chars: usize = gone.iter().map(|line| line.chars().count()).sum();
        (bytes >= MIN_RUN_BYTES).then(|| format!("[omitted: {} lines, {chars} chars, {rest}]", gone.len()))
    })
}

/// The text of `lines` with the line that `marker` gives in place of each run that goes, with the end of the run's last
/// line; none if nothing goes. `marker` is told the lines of a run and their bytes; one without a marker stays.
pub(crate) fn marked(
    lines: &[&str],
    goes: &[bool],
    marker: impl Fn(&[&str], usize) -> Option<String>,
) -> Option<Cut> {
    let mut out = Cut { text: String::new(), lines: 0, bytes: 0 };
    let mut at = 0;
    while at < lines.len() {
        let run = goes.get(at..).unwrap_or_default().iter().take_while(|go| **go).count();
        let here = lines.get(at..at + run.max(1)).unwrap_or_default();
        let bytes: usize = here.iter().map(|line| line.len()).sum();
        match (run > 0).then(|| marker(here, bytes)).flatten() {
            Some(marker) => {
                out.text.push_str(&marker);
                let last = here.last().copied().unwrap_or("");
                out.text.push_str(last.strip_prefix(last.trim_end_matches(['\r', '\n'])).unwrap_or(""));
                out.lines += run as u64;
                out.bytes += bytes as u64;
            }
            None => here.iter().for_each(|line| out.text.push_str(line)),
        }
        at += run.max(1);
    }
    (out.lines > 0).then_some(out)
}

/// Paragraphs between empty lines, at most ten lines each. A paragraph tells the more, the more words it has that no
/// earlier one had.
fn units(lines: &[&str], stays: &[bool]) -> Vec<Unit> {
    let mut out = Vec::new();
    let mut known: HashSet<u64, ByHash> = HashSet::default();
    let mut start = 0;
    for end in 1..=lines.len() {
        let blank = lines.get(end - 1).is_some_and(|line| line.trim().is_empty());
        if !(blank || end - start == UNIT_LINES || end == lines.len()) {
            continue;
        }
        let (mut loose, mut words, mut new) = (0, 0_u64, 0_u64);
        for n in start..end {
            let line = lines.get(n).copied().unwrap_or_default();
            if stays.get(n) == Some(&false) {
                loose += line.len();
            }
            for word in line.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
                words += 1;
                new += u64::from(known.insert(hash(word.as_bytes())));
            }
        }
        // New words of a hundred; texts without words tell least.
        out.push(Unit { lines: start..end, loose, score: (new * 100).checked_div(words).unwrap_or(0) });
        start = end;
    }
    out
}

/// Which lines must stay.
fn keepers(lines: &[&str]) -> Vec<bool> {
    let mut fenced = false;
    let mut one = |line: &&str| {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        fenced ^= fence;
        fence || fenced || marker::is_marker(trimmed.as_bytes()) || is_fact(trimmed)
    };
    lines.iter().map(&mut one).collect()
}

static TELLING: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = [
        "error",
        "fail",
        "fatal",
        "panic",
        "exception",
        "traceback",
        "warning",
        "denied",
        "refused",
        "missing",
        "conflict",
    ];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("eleven short words")
});

/// Whether a line speaks of trouble.
pub(crate) fn is_telling(line: &str) -> bool {
    TELLING.is_match(line)
}

/// Whether a line holds something an agent acts on.
fn is_fact(line: &str) -> bool {
    if line.is_empty() {
        return false;
    }
    let frame = line.starts_with("at ") || line.starts_with("File \"") || line.starts_with("--> ");
    frame
        || line.contains("://")
        || is_telling(line)
        || line
            .split_whitespace()
            .any(|word| is_fact_word(word.trim_matches(['(', ')', ',', ';', '"', '\''])))
}

/// A path, a `key=value`, or a number with a unit.
fn is_fact_word(word: &str) -> bool {
    let bytes = word.as_bytes();
    let path = (word.contains('/') || word.contains('\\')) && bytes.iter().any(u8::is_ascii_alphanumeric);
    let pair = word.split_once('=').is_some_and(|(key, value)| {
        !key.is_empty()
            && !value.is_empty()
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    });
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let unit = digits > 0
        && bytes.first().is_some_and(u8::is_ascii_digit)
        && bytes.len() > digits
        && bytes.len() - digits <= 4
        && bytes.iter().skip(digits).all(|b| b.is_ascii_alphabetic() || *b == b'%');
    path || pair || unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(n: usize) -> String {
        format!(
            "Here is paragraph {n} of a long text that repeats what was said before and adds nothing to it.\n"
        )
    }

    #[test]
    fn facts_stay_and_what_goes_is_counted() {
        let facts = [
            "error: no such thing\n",
            "see src/lib.rs for it\n",
            "retries=3\n",
            "took 15ms in all\n",
            "at main (app.js:3:1)\n",
            "https://example.org/x\n",
            "```\nlet a = b;\n```\n",
        ];
        let text: String = facts.iter().enumerate().map(|(n, fact)| prose(n).repeat(4) + fact).collect();
        let cut = cut(&text, text.len(), None).unwrap();
        for fact in facts {
            assert!(cut.text.contains(fact), "{fact}");
        }
        let counted: u64 = cut
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("[omitted: ")?.split(' ').next()?.parse::<u64>().ok())
            .sum();
        assert_eq!(counted, cut.lines);
        let left = cut.text.lines().filter(|line| !line.starts_with("[omitted: ")).count() as u64;
        assert_eq!(left + cut.lines, text.lines().count() as u64, "every line is there or counted");
        assert!(cut.text.contains("chars, not recoverable]"));
    }

    #[test]
    fn only_as_much_goes_as_is_asked_for_and_repeated_text_first() {
        let unique: String =
            (0..10).map(|n| format!("alpha{n} beta{n} gamma{n} delta{n} epsilon{n}\n")).collect();
        let text = format!("{unique}\n{}", prose(1).repeat(10));
        let cut = cut(&text, 300, Some("CCR retrieve hash=x chars=1")).unwrap();
        assert!(cut.text.contains("alpha3") && cut.text.contains("full -> CCR retrieve"), "{}", cut.text);
        assert!(!cut.text.contains("paragraph"));
    }

    #[test]
    fn a_text_of_facts_is_not_cut() {
        let text = "src/a.rs:1: error\n".repeat(50);
        assert_eq!(cut(&text, 100, None), None);
        assert_eq!(cut("", 100, None), None);
        assert_eq!(cut("short", 100, None), None);
    }
}
