//! Blocks of progress lines: of every step the last state stays.

use std::collections::HashMap;
use std::ops::Range;

use super::line::{BAR, COUNTER, PERCENT, RATE, SIZE, State, WORD, state};
use super::train::is_measurement;
use crate::rtk::kit::{Draft, Output, Severity, What, severity};

/// Fewest states of a step that are folded.
const MIN_STATES: u32 = 3;
/// Steps that may be under way at the same time.
const MAX_STEPS: usize = 256;

/// What is known of a step within a block.
#[derive(Debug, Clone, Copy)]
struct Step {
    done: Option<u64>,
    states: u32,
    /// States that were not looked at when the block was closed.
    left: u32,
    /// Its numbers never went back and it shows a sign of progress.
    grows: bool,
}

/// Folds the blocks among the lines `range`; the number of lines left out.
pub(super) fn fold(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) -> usize {
    let mut block: Vec<(usize, State)> = Vec::new();
    let mut steps: HashMap<u64, Step> = HashMap::new();
    let (mut folded, mut meter) = (0, false);
    for i in range {
        let line = out.line(i);
        if line.trim_ascii().is_empty() && !block.is_empty() {
            continue;
        }
        meter = is_meter_header(line) || meter && is_meter_row(line);
        let found = if meter && is_meter_row(line) {
            Some(State { key: 1, done: Some(0), signs: PERCENT | RATE })
        } else {
            state(line).filter(|s| {
                draft.stays(i) && counts(*s) && !is_measurement(line) && severity(line) < Severity::Weak
            })
        };
        let Some(s) = found else {
            folded += close(draft, &mut block, &mut steps);
            continue;
        };
        if steps.len() >= MAX_STEPS {
            folded += close(draft, &mut block, &mut steps);
        }
        let step = steps.entry(s.key).or_insert(Step { done: s.done, states: 0, left: 0, grows: true });
        step.states += 1;
        step.left += 1;
        step.grows &= s.done >= step.done;
        step.done = s.done;
        block.push((i, s));
    }
    folded + close(draft, &mut block, &mut steps)
}

/// Whether the signs of a line are enough.
fn counts(s: State) -> bool {
    let strong = s.signs & (BAR | RATE) != 0;
    let soft = s.signs & (SIZE | WORD | COUNTER) != 0;
    s.signs & PERCENT != 0 && (strong || soft)
        || s.signs & COUNTER != 0 && (strong || s.signs & WORD != 0)
        || strong && s.signs & (SIZE | WORD) != 0
}

/// Drops all states of a step but the last.
fn close(draft: &mut Draft, block: &mut Vec<(usize, State)>, steps: &mut HashMap<u64, Step>) -> usize {
    let mut folded = 0;
    for (i, s) in block.drain(..) {
        let Some(step) = steps.get_mut(&s.key) else { continue };
        step.left -= 1;
        if step.states >= MIN_STATES && step.grows && step.left > 0 {
            draft.drop_known(i, What::Progress);
            folded += 1;
        }
    }
    steps.clear();
    folded
}

/// The head of curl's progress meter.
fn is_meter_header(line: &str) -> bool {
    line.starts_with("  % Total    % Received") || line.trim_start().starts_with("Dload  Upload")
}

/// A row of curl's progress meter: numbers, sizes, times.
fn is_meter_row(line: &str) -> bool {
    line.len() > 60
        && line
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'.' | b':' | b'-' | b'k' | b'M' | b'G' | b'T'))
}
