//! Renderers for infrastructure tools.

mod describe;
mod terraform;

use super::lists;
use crate::rtk::kit::{Draft, Output, Render, Verdict};

/// The renderers of this family by the id of their filter.
pub(crate) const RENDERERS: &[(&str, Render)] = &[
    ("terraform-plan", terraform::render),
    ("terraform-apply", terraform::render),
    ("tofu-plan", terraform::render),
    ("kubectl-describe", describe::render),
    ("kubectl", kubectl),
];

/// Tables of `get`, objects of `describe`.
fn kubectl(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    match describe::render(out, draft) {
        Verdict::Done => Verdict::Done,
        Verdict::NotMine => lists::table(out, draft),
    }
}
