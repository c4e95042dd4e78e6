//! Catch2: only what failed is printed; rulers go.

use super::lines::{has, is_ruler, is_short};
use crate::rtk::kit::{Draft, Level, Output, Verdict};

/// Renders what a Catch2 program wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        (line.starts_with("test cases: ") && has(line, " | "))
            || has(line, " is a Catch ")
            || has(line, " is a Catch2 ")
            || line.starts_with("All tests passed (")
    });
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) || out.level == Level::Minimal {
        return Verdict::Done;
    }
    for i in 0..out.len() {
        let line = out.line(i);
        if is_ruler(line) || line == "Run with -? for options" {
            draft.noise(i);
        }
    }
    Verdict::Done
}
