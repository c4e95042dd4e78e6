//! Dedicated renderers, found by the id of their filter. A family is one folder here and one line in [`FAMILIES`].

mod findings;
mod git;
mod infra;
mod lists;
mod logs;
mod progress;
pub(crate) mod stack;
mod tests;

use super::kit::{Draft, Output, Render, Verdict};

const FAMILIES: &[&[(&str, Render)]] = &[
    git::RENDERERS,
    tests::RENDERERS,
    findings::RENDERERS,
    logs::RENDERERS,
    stack::RENDERERS,
    progress::RENDERERS,
    lists::RENDERERS,
    infra::RENDERERS,
];

/// Ids of classes whose output has the form of another one.
const SAME_FORM: &[(&str, &str)] = &[
    ("structured", "json-output"),
    ("git-stat", "git-diff-stat"),
    ("rspec", "test-rspec"),
    ("dpkg", "table"),
    ("cargo-check", "cargo-build"),
    ("go-vet", "go-build"),
];

/// The renderer for a class or filter.
pub(crate) fn renderer(id: &str) -> Option<Render> {
    let id = SAME_FORM.iter().find(|(class, _)| *class == id).map_or(id, |(_, like)| *like);
    FAMILIES.iter().flat_map(|family| family.iter()).find(|(name, _)| *name == id).map(|(_, render)| *render)
}

/// Whether the renderer of this class shows everything in another form. What the caller asked to see in detail is
/// then there as well.
pub(crate) fn is_lossless(id: &str) -> bool {
    lists::RENDERERS.iter().any(|(name, _)| *name == id)
        || matches!(id, "structured" | "dpkg" | "kubectl" | "git-branch" | "git-remote")
}

/// For output of a command without a filter: forms that can be told from the text alone and are shown without loss.
pub(crate) fn any_form(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let first = out.text.trim_ascii_start();
    if first.starts_with(['{', '[']) && lists::json(out, draft) == Verdict::Done {
        return Verdict::Done;
    }
    draft.reset();
    if lists::table(out, draft) == Verdict::Done {
        return Verdict::Done;
    }
    draft.reset();
    match progress::fold_progress(out, draft, 0..out.len()) {
        0 => Verdict::NotMine,
        _ => Verdict::Done,
    }
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn every_id_has_one_renderer() {
        let mut ids: Vec<&str> = FAMILIES.iter().flat_map(|f| f.iter().map(|(id, _)| *id)).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
