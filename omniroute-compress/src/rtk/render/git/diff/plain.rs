//! Output of `diff` itself: unified files as elsewhere; the older formats have nothing to leave out.

use crate::rtk::kit::{Draft, Output, Verdict};

use super::Patches;

/// Renders `diff`, `diff -r`, `diff -u`, `diff -c` and side-by-side output.
pub(in super::super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mut patches = Patches::new(out);
    let (mut at, mut known) = (0, false);
    while at < out.len() {
        let line = out.line(at);
        let file = match line.as_bytes().first() {
            Some(b'd' | b'-') => super::file(out, draft, at, &mut patches),
            _ => None,
        };
        if let Some(end) = file {
            known = true;
            at = end.max(at + 1);
            continue;
        }
        // Lines that are equal in one of these formats stand for different places.
        draft.pin(at);
        known |= line.starts_with("< ")
            || line.starts_with("> ")
            || line.starts_with("Only in ")
            || line.ends_with(" differ");
        at += 1;
    }
    if known && !patches.foreign { Verdict::Done } else { Verdict::NotMine }
}
