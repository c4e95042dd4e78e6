//! The class of a text by its anchors alone.

use super::board::{Board, Tally};
use super::classes::{ALL, CARGO, Class, DIFFS, Set, absorbs};
use super::line::digits;
use super::model::{By, Detection, FILE_VIEW, LOG, STRUCTURED};
use super::rules;
use super::sample::Sample;
use super::shape;
use super::veto::{self, Veto};
use crate::shell::logs;

/// Most that anchors alone can say, in percent.
const CAP: u32 = 85;

/// A text with its sample and what the rules saw of it.
#[derive(Debug)]
pub(super) struct Looked<'t> {
    /// The text.
    pub(super) text: &'t str,
    /// The lines that were looked at.
    pub(super) sample: Sample<'t>,
    /// What was seen.
    pub(super) board: Board,
}

impl<'t> Looked<'t> {
    /// Takes the sample and runs the rules of the wanted classes.
    pub(super) fn at(text: &'t str, wanted: Set) -> Self {
        let sample = Sample::new(text);
        let mut board = Board::new(false);
        let mut before: &[u8] = b"";
        for (number, raw) in sample.lines.iter().enumerate() {
            if sample.gap == Some(number) {
                before = b"";
            }
            rules::scan(raw, before, u32::try_from(number).unwrap_or(u32::MAX), wanted, &mut board);
            before = raw.get(..raw.len().min(512)).unwrap_or_default().trim_ascii_end();
        }
        Self { text, sample, board }
    }

    /// Different anchors that speak for one of `classes`.
    pub(super) fn anchors(&self, classes: Set) -> u32 {
        ALL.into_iter()
            .filter(|class| classes & class.bit() != 0)
            .map(|class| self.board.of(class).rules())
            .sum()
    }
}

/// The class when the command says nothing; `allowed` are the classes it may be.
pub(super) fn decide(looked: &Looked<'_>, allowed: Set) -> Detection {
    if looked.board.lines == 0 {
        return Detection::unknown();
    }
    if shape::is_structured(looked.text) {
        return found(STRUCTURED, 90);
    }
    let veto = veto::veto(&looked.sample);
    if veto != Some(Veto::Prose) && logs::is_log(looked.text) && !maven(looked) && !is_listing(&looked.sample)
    {
        return found(LOG, 80);
    }
    let winner = winner(looked, allowed);
    match (veto, winner) {
        (Some(Veto::Gutter), _) => found(FILE_VIEW, 85),
        (_, Some((class, tally))) if veto.is_none() || holds(veto, class, &tally, looked) => {
            let mut detection = found(class.id(), confidence(&tally, looked));
            detection.evidence = tally.evidence().collect();
            detection
        }
        (Some(Veto::Source), _) => found(FILE_VIEW, 70),
        _ => Detection::unknown(),
    }
}

/// Dates, sizes and names: a listing of a store, which passes the log grammar.
fn is_listing(sample: &Sample<'_>) -> bool {
    let rows = sample.lines.iter().filter(|line| {
        let shape: &[u8] = b"0000-00-00 00:00:00 ";
        let stamp = line.get(..shape.len()).unwrap_or_default();
        let dated = stamp.len() == shape.len()
            && stamp
                .iter()
                .zip(shape)
                .all(|(byte, mark)| if *mark == b'0' { byte.is_ascii_digit() } else { byte == mark });
        dated
            && digits(line.get(shape.len()..).unwrap_or_default().trim_ascii_start())
                .is_some_and(|rest| rest.starts_with(b" "))
    });
    rows.count() * 2 > sample.lines.len()
}

fn found(class: &'static str, confidence: u8) -> Detection {
    Detection { class, confidence, by: By::Text, ..Detection::unknown() }
}

/// Maven's output passes the log grammar; its own anchors come first.
fn maven(looked: &Looked<'_>) -> bool {
    qualifies(&looked.board.of(Class::Maven), looked)
}

/// Two anchors of different kinds, one of them structural; many lines of one grammar count as a second kind.
fn qualifies(tally: &Tally, looked: &Looked<'_>) -> bool {
    tally.structural() >= 1 && (tally.rules() >= 2 && tally.kinds() >= 2 || dense(tally, looked))
}

/// At least three lines and half of the text.
fn dense(tally: &Tally, looked: &Looked<'_>) -> bool {
    tally.hits >= 3 && tally.hits * 2 >= looked.board.lines
}

fn confidence(tally: &Tally, looked: &Looked<'_>) -> u8 {
    let structural = tally.structural() + u32::from(dense(tally, looked) && tally.structural() < 2);
    let density = 5 * tally.hits.min(looked.board.lines) / looked.board.lines.max(1);
    u8::try_from((45 + 15 * structural + density).min(CAP)).unwrap_or(0)
}

/// The one class that qualifies and is not inside another; two strangers mean that it is neither.
fn winner(looked: &Looked<'_>, allowed: Set) -> Option<(Class, Tally)> {
    let mut left: Vec<(Class, Tally)> = ALL
        .into_iter()
        .filter(|class| allowed & class.bit() != 0)
        .map(|class| (class, looked.board.of(class)))
        .filter(|(class, tally)| {
            qualifies(tally, looked) && *class != Class::Progress
                || tally.structural() == 2 && *class == Class::Progress
        })
        .collect();
    // A patch starts the text; one inside a test's message is no patch.
    let commits = looked.board.of(Class::GitLog).rules() >= 2;
    left.retain(|(class, tally)| {
        DIFFS & class.bit() == 0
            || commits
            || tally.evidence().any(|seen| seen.line.is_some_and(|line| line <= 4))
    });
    patches(looked, &mut left);
    let all = left.clone();
    left.retain(|(class, _)| !all.iter().any(|(outer, _)| absorbs(*outer, *class)));
    match left.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Commit headers with patches below them are `git show`, whatever number of commits; a plan with steps is an apply.
fn patches(looked: &Looked<'_>, left: &mut [(Class, Tally)]) {
    if looked.board.of(Class::GitLog).rules() >= 2
        && let Some((class, _)) = left.iter_mut().find(|(class, _)| *class == Class::GitDiff)
    {
        *class = Class::GitShow;
    }
    if looked.board.of(Class::TerraformApply).hits > 0
        && !left.iter().any(|(class, _)| *class == Class::TerraformApply)
        && let Some((class, _)) = left.iter_mut().find(|(class, _)| *class == Class::TerraformPlan)
    {
        *class = Class::TerraformApply;
    }
}

/// Outputs that hold source lines or sentences themselves: their anchors outweigh the veto.
fn holds(veto: Option<Veto>, class: Class, tally: &Tally, looked: &Looked<'_>) -> bool {
    match veto {
        Some(Veto::Source) => {
            DIFFS & class.bit() != 0
                || matches!(class, Class::GitLog | Class::CargoFmt)
                || dense(tally, looked)
                || tally.structural() >= 2 && tally.hits * 8 >= looked.board.lines
                || CARGO & class.bit() != 0
                    && tally.structural() >= 2
                    && tally.hits * 16 >= looked.board.lines
        }
        Some(Veto::Prose) => {
            tally.structural() >= 2 && tally.hits * 3 >= looked.board.lines || dense(tally, looked)
        }
        _ => false,
    }
}
