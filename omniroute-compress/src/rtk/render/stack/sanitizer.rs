//! Dumps of a sanitizer report that tell a reader nothing: shadow bytes, their legend, registers.

use crate::rtk::kit::{Draft, Output, What};

/// Leaves out the dump that begins at line `i`; the line behind it, or `i` if none begins there.
pub(super) fn dump(out: &Output<'_>, draft: &mut Draft, i: usize, end: usize) -> usize {
    let line = out.line(i);
    let shadow = line.starts_with("Shadow byte");
    if !shadow && line != "Register values:" && !line.ends_with("==Register values:") {
        return i;
    }
    let mut last = i + 1;
    while last < end {
        let line = out.line(last);
        let dumped = line.starts_with("  ") || line.starts_with("=>") || line.starts_with("Shadow byte");
        let register = !shadow
            && line.split(' ').all(|w| w.is_empty() || w == "=" || w.starts_with("0x") || w.len() < 4);
        if !dumped && !register || line.trim().is_empty() {
            break;
        }
        last += 1;
    }
    for n in i..last {
        draft.drop_known(n, What::Lines);
    }
    last
}
