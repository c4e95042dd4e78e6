//! Output of git and of `diff`: states, diffs, histories, transfers.
//!
//! Most commands print parts of a few grammars one after the other: a pull prints a transfer, a merge and a file
//! statistic. [`walk`] reads an output part by part, whatever the command; a line that belongs to no part stays.

mod advice;
mod blame;
mod branch;
mod bytes;
mod commit;
mod diff;
mod log;
mod names;
mod short_status;
mod stat;
mod status;
mod transfer;
mod walk;

use crate::rtk::kit::Render;

/// Filter ids and their renderers.
pub(crate) const RENDERERS: &[(&str, Render)] = &[
    ("git-status", status::render),
    ("git-branch", branch::render),
    ("git-diff", diff::render),
    ("diff", diff::render_plain),
    ("git-show", log::render_show),
    ("git-log", log::render),
    ("git-diff-stat", walk::render),
    ("git-push", transfer::render),
    ("git-pull", transfer::render),
    ("git-fetch", transfer::render),
    ("git-clone", transfer::render),
    ("git-merge", walk::render),
    ("git-rebase", walk::render),
    ("git-cherry-pick", walk::render),
    ("git-commit", walk::render),
    ("git-stash", walk::render),
    ("git-checkout", walk::render),
    ("git-remote", branch::render_remote),
    ("git-tag", branch::render),
    ("git-shortlog", branch::render_shortlog),
    ("git-blame", blame::render),
    ("git-reflog", walk::render_verbatim),
];

#[cfg(test)]
mod tests;
