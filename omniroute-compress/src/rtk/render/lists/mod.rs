//! Renderers for listings, search hits, tables and JSON: rows are data, so all of them stay in fewer tokens.

mod bars;
mod entry;
mod inventory;
mod json;
mod listing;
mod search;
mod table;

use crate::rtk::kit::{Draft, Output, Render, Verdict};

/// The renderers of this family by the id of their filter.
pub(crate) const RENDERERS: &[(&str, Render)] = &[
    ("json-output", json::render),
    ("shell-ls", ls),
    ("shell-find", find),
    ("fd", find),
    ("git-ls-files", find),
    ("tree", tree),
    ("tar", ls),
    ("unzip", unzip),
    ("shell-grep", grep),
    ("table", table),
    ("ps", table),
    ("df", table),
    ("docker-ps", table),
    ("docker-images", table),
    ("kubectl-get", table),
    ("psql", table),
    ("npm-ls", tree),
    ("cargo-tree", tree),
    ("pip-list", table),
    ("npm-outdated", table),
    ("apt-list", inventory::apt_list),
    ("ss", table),
    ("du", du),
    ("mysql", table),
    ("sqlite", table),
];

/// Outputs up to this size stay as they are: a reader takes them in at a glance.
const SMALL: usize = 600;

/// Leaves small outputs alone.
fn sizeable(out: &Output<'_>, draft: &mut Draft, render: Render) -> Verdict {
    if out.text.len() <= SMALL { Verdict::NotMine } else { render(out, draft) }
}

/// A table in either form.
fn any_table(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    match bars::render(out, draft) {
        Verdict::Done => Verdict::Done,
        Verdict::NotMine => table::render(out, draft),
    }
}

pub(crate) fn table(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    sizeable(out, draft, any_table)
}

fn ls(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    sizeable(out, draft, listing::ls)
}

fn find(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    sizeable(out, draft, listing::find)
}

fn tree(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    sizeable(out, draft, listing::tree)
}

fn unzip(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    sizeable(out, draft, listing::unzip)
}

fn grep(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    sizeable(out, draft, search::render)
}

/// Sizes and paths are as short as they can be.
fn du(_: &Output<'_>, _: &mut Draft) -> Verdict {
    Verdict::Done
}

pub(crate) use json::render as json;
