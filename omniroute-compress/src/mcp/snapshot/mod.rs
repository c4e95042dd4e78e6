//! Accessibility trees of pages, shorter: long runs of siblings of the same shape keep their first and last ones.
//!
//! What a model can act on stays: every element that can be clicked or filled in keeps its reference and the start of its
//! name, whatever else of its surroundings goes. An element in a state that somebody set (checked, expanded, focused)
//! stays whole. What is gone is counted in its place; elements without name, reference, text or anything of that inside go
//! without a word. Text that is no tree, before it and behind it, stays.

mod line;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use tree::Tree;

/// How a tree is filtered.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// Shorter texts stay as they are; default 2,000 bytes.
    pub min_bytes: usize,
    /// Siblings of one shape from which on a run is collapsed; default 30.
    pub run: usize,
    /// Siblings kept at the start of a run; default 10.
    pub head: usize,
    /// Siblings kept at its end; default 5.
    pub tail: usize,
    /// Bytes of the whole from which on lines in the middle go as well; default 50,000. References stay even then.
    pub max_bytes: usize,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        SnapshotOptions { min_bytes: 2_000, run: 30, head: 10, tail: 5, max_bytes: 50_000 }
    }
}

/// A tree and what is not in it any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The tree.
    pub text: String,
    /// Elements that are gone, those that kept a reference not counted.
    pub elements: u32,
    /// Elements of which only the reference and the start of the name are left.
    pub shortened: u32,
    /// Lines that are gone.
    pub lines: u32,
}

/// Filters the snapshot of a page as browsers' tools print it: lines `- role "name" [ref=e1] [state]: text`, indented by
/// depth. None if the text is none, is short, or nothing can go.
///
/// ```
/// use omniroute_compress::mcp::{SnapshotOptions, filter_snapshot};
/// let rows: String = (0..90).map(|n| format!("  - listitem [ref=e{n}]: entry number {n} of the list\n")).collect();
/// let tree = format!("- main [ref=m]:\n{rows}  - button \"Next\" [ref=next]\n");
/// let out = filter_snapshot(&tree, SnapshotOptions::default()).expect("is a tree");
/// assert_eq!(out.elements, 75);
/// assert!(out.text.contains("[ref=next]") && out.text.len() * 3 < tree.len());
/// assert!(out.text.contains("[omitted: 75 lines, 75 elements like those before]"));
/// ```
pub fn filter_snapshot(text: &str, options: SnapshotOptions) -> Option<Snapshot> {
    if text.len() < options.min_bytes {
        return None;
    }
    let mut tree = Tree::read(text)?;
    tree.mark_runs(&options);
    tree.mark_empty();
    let mut out = tree.write();
    if out.text.len() > options.max_bytes {
        tree.mark_middle(options.max_bytes);
        out = tree.write();
    }
    (out.text.len() < text.len()).then_some(out)
}
