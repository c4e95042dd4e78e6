//! ava: the tree of its default reporter, then the failures between rulers.

use super::detail::cap;
use super::jest::is_cause;
use super::lines::{after_number, indent, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `ava` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine =
        (0..out.len()).any(|i| is_total(out.line(i))) && (0..out.len()).any(|i| row(out.line(i)).is_some());
    if !mine {
        return super::tap::render(out, draft);
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let rulers: Vec<usize> = (0..out.len()).filter(|i| out.line(*i).trim() == "\u{2500}").collect();
    let tree = rulers.first().copied().unwrap_or(0);
    for i in 0..tree {
        if row(out.line(i)) == Some('\u{2714}') {
            draft.drop_known(i, What::PassingTests);
        }
    }
    if out.level != Level::Minimal {
        fold_frames(out, draft, tree..out.len());
    }
    for pair in rulers.windows(2) {
        if let [start, end] = pair {
            cap(out, draft, *start..*end, is_cause);
        }
    }
    Verdict::Done
}

fn row(line: &str) -> Option<char> {
    let sign = line.trim_start().chars().next()?;
    if indent(line) == 2 && matches!(sign, '\u{2714}' | '\u{2718}' | '\u{2716}') { Some(sign) } else { None }
}

/// `  3 tests failed`, `  4 tests passed`.
fn is_total(line: &str) -> bool {
    let rest = after_number(line.trim_start()).unwrap_or("");
    indent(line) == 2
        && [" test passed", " tests passed", " test failed", " tests failed", " uncaught exception"]
            .iter()
            .any(|w| rest.starts_with(w))
}
