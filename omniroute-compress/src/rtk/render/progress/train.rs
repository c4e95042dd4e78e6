//! Training and evaluation loops: lines with the same metrics again and again.

use std::collections::HashMap;
use std::ops::Range;

use crate::rtk::kit::{Draft, Level, Output, What};

/// Fewest lines of a loop that are folded.
const MIN_LINES: usize = 10;
/// Different forms of lines in one loop: training step, evaluation, learning rate.
const MAX_FORMS: usize = 16;
/// First and last lines of each form that stay.
const ENDS: usize = 3;
/// First lines of a form with a value that is no number that stay.
const ODD: usize = 20;

/// A line with metrics.
#[derive(Debug, Clone, Copy)]
struct Metrics {
    form: u64,
    /// First metric that should fall, and first that should rise.
    low: Option<f64>,
    high: Option<f64>,
    odd: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Form {
    count: usize,
    seen: usize,
    low: Option<(f64, usize)>,
    high: Option<(f64, usize)>,
}

/// Folds the loops among the lines `range`; the number of lines left out.
pub(super) fn fold(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) -> usize {
    if out.level == Level::Minimal {
        return 0;
    }
    let mut block: Vec<(usize, Metrics)> = Vec::new();
    let (mut folded, mut strange) = (0, 0);
    for i in range {
        let line = out.line(i);
        match metrics(line).filter(|_| draft.stays(i)) {
            Some(m) => {
                block.push((i, m));
                strange = 0;
            }
            // A few other lines between two epochs do not end a loop; they stay.
            None if !block.is_empty() && strange < 3 => strange += 1,
            None => {
                folded += close(draft, &mut block);
                strange = 0;
            }
        }
    }
    folded + close(draft, &mut block)
}

/// Whether a line shows metrics of a loop.
pub(super) fn is_measurement(line: &str) -> bool {
    metrics(line).is_some()
}

fn close(draft: &mut Draft, block: &mut Vec<(usize, Metrics)>) -> usize {
    let lines = std::mem::take(block);
    let mut forms: HashMap<u64, Form> = HashMap::new();
    for (i, m) in &lines {
        if forms.len() > MAX_FORMS {
            return 0;
        }
        let form = forms.entry(m.form).or_default();
        form.count += 1;
        if let Some(v) = m.low.filter(|v| form.low.is_none_or(|(best, _)| *v < best)) {
            form.low = Some((v, *i));
        }
        if let Some(v) = m.high.filter(|v| form.high.is_none_or(|(best, _)| *v > best)) {
            form.high = Some((v, *i));
        }
    }
    let mut folded = 0;
    for (i, m) in &lines {
        let Some(form) = forms.get_mut(&m.form) else { continue };
        form.seen += 1;
        let at_end = form.seen <= ENDS || form.seen + ENDS > form.count;
        let best = [form.low, form.high].into_iter().flatten().any(|(_, n)| n == *i);
        let odd = m.odd && form.seen <= ODD;
        if form.count >= MIN_LINES && !at_end && !best && !odd {
            draft.drop_known(*i, What::Progress);
            folded += 1;
        }
    }
    folded
}

const LOW: &[&[u8]] = &[b"loss", b"err", b"ppl", b"perplexity", b"mae", b"mse", b"rmse", b"wer"];
const HIGH: &[&[u8]] =
    &[b"acc", b"accuracy", b"f1", b"auc", b"reward", b"bleu", b"map", b"score", b"iou", b"r2"];
const STEP: &[&[u8]] = &[b"epoch", b"step", b"iter", b"iteration", b"batch", b"round", b"episode"];

/// Reads a line that names a metric or a step and has at least two numbers.
fn metrics(line: &str) -> Option<Metrics> {
    let bytes = line.as_bytes();
    if bytes.len() > 400 || bytes.len() < 12 {
        return None;
    }
    let mut m = Metrics { form: 0xcbf2_9ce4_8422_2325, low: None, high: None, odd: false };
    let (mut numbers, mut named, mut steps, mut word): (usize, usize, usize, &[u8]) = (0, 0, 0, &[]);
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or(&[]);
        if b.is_ascii_digit() {
            let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.')).count();
            let exponent = usize::from(rest.get(len - 1) == Some(&b'e') && rest.get(len) == Some(&b'-'));
            let tail = if exponent > 0 {
                rest.iter().skip(len + 1).take_while(|b| b.is_ascii_digit()).count() + 1
            } else {
                0
            };
            let (low, high) = (is(word, LOW), is(word, HIGH));
            numbers += 1;
            named += usize::from(low || high);
            if low && m.low.is_none() {
                m.low = value(rest.get(..len + tail));
            } else if high && m.high.is_none() {
                m.high = value(rest.get(..len + tail));
            }
            at += len + tail;
            continue;
        }
        if b.is_ascii_alphabetic() {
            let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_')).count();
            word = rest.get(..len).unwrap_or(&[]);
            steps += usize::from(steps == 0 && is(word, STEP));
            m.odd |= word.eq_ignore_ascii_case(b"nan") || word.eq_ignore_ascii_case(b"inf");
            for b in word.iter().filter(|b| !b.is_ascii_digit()) {
                m.form = (m.form ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            at += len;
            continue;
        }
        at += 1;
    }
    (numbers >= 2
        && (named > 0 && (steps > 0 || named > 1 || numbers >= 3) || m.odd && (named > 0 || steps > 0)))
        .then_some(m)
}

fn value(number: Option<&[u8]>) -> Option<f64> {
    std::str::from_utf8(number?).ok()?.trim_end_matches('.').parse().ok()
}

/// The word, without a prefix such as `train_` or `val_`, is one of `words`.
fn is(word: &[u8], words: &[&[u8]]) -> bool {
    if word.len() < 2 || word.len() > 32 {
        return false;
    }
    let last = memchr::memrchr(b'_', word).and_then(|at| word.get(at + 1..)).unwrap_or(word);
    words
        .iter()
        .any(|w| w.eq_ignore_ascii_case(last) || last.len() < word.len() && w.eq_ignore_ascii_case(word))
}
