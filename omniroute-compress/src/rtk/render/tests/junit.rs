//! The console runner of JUnit 4: dots, numbered failures with Java traces, counts.

use super::detail::cap;
use super::lines::{indent, is_number, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict};

/// Renders what `org.junit.runner.JUnitCore` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        line.starts_with("JUnit version ") || (line.starts_with("Tests run: ") && line.contains("Failures: "))
    });
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let starts: Vec<usize> = (0..out.len()).filter(|i| is_failure(out.line(*i))).collect();
    for (n, start) in starts.iter().copied().enumerate() {
        let next = starts.get(n + 1).copied().unwrap_or(out.len());
        let end = (start + 1..next)
            .find(|i| out.line(*i).starts_with("FAILURES!!!") || out.line(*i).starts_with("Tests run: "))
            .unwrap_or(next);
        if out.level != Level::Minimal {
            fold_frames(out, draft, start + 1..end);
        }
        cap(out, draft, start + 1..end, |l| indent(l) == 0);
    }
    Verdict::Done
}

/// `1) name(Class)`.
fn is_failure(line: &str) -> bool {
    line.split_once(") ").is_some_and(|(n, name)| is_number(n) && name.ends_with(')') && name.contains('('))
}
