//! The elements of a tree, how they hang together, and which of them go.

use std::ops::Range;

use super::SnapshotOptions;
use super::line::Line;
use crate::hash::{combine, hash};

/// Bytes at the end that stay where the whole is too long.
const END: usize = 300;

/// An element: its own lines, and where its last descendant ends.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) lines: Range<usize>,
    pub(super) indent: usize,
    /// Index behind the last descendant.
    pub(super) end: usize,
    pub(super) active: bool,
    /// Has to stay whole, or something inside has to: in a state that somebody set, or text that is no element.
    held: bool,
    /// Has a name, a reference or text.
    telling: bool,
    shape: u64,
    pub(super) fate: Fate,
}

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    /// Goes with everything inside.
    Collapsed,
    /// Says nothing and holds nothing.
    Empty,
    /// Goes because the whole is too long; what is inside is judged by itself.
    Cut,
}

#[derive(Debug)]
pub(super) struct Tree<'t> {
    pub(super) lines: Vec<&'t str>,
    pub(super) nodes: Vec<Node>,
    /// Lines before the first element.
    pub(super) intro: usize,
}

impl<'t> Tree<'t> {
    /// None if the text has too few elements to be a tree.
    pub(super) fn read(text: &'t str) -> Option<Tree<'t>> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut nodes: Vec<Node> = Vec::new();
        let (mut with_role, mut refs) = (0, 0);
        let mut intro = lines.len();
        for (at, text) in lines.iter().enumerate() {
            let trimmed = text.trim_start_matches(' ');
            match trimmed.strip_prefix("- ") {
                Some(rest) => {
                    intro = intro.min(at);
                    let line = Line::read(rest);
                    with_role += usize::from(!line.role.is_empty());
                    refs += usize::from(!line.reference.is_empty());
                    // An item of another list, such as what the page logged.
                    let is_text = line.role.is_empty() && !rest.starts_with('/');
                    nodes.push(Node {
                        lines: at..at + 1,
                        indent: text.len() - trimmed.len(),
                        end: 0,
                        active: line.is_active(),
                        held: line.is_stateful() || is_text,
                        telling: line.role.is_empty()
                            || !line.rest.trim_end().trim_end_matches(':').is_empty(),
                        shape: hash(line.role.as_bytes()),
                        fate: Fate::Kept,
                    });
                }
                // A line that goes on, or one behind the tree.
                None => {
                    if let Some(last) = nodes.last_mut() {
                        last.lines.end = at + 1;
                        let says = !trimmed.trim().is_empty();
                        (last.telling, last.held) = (last.telling || says, last.held || says);
                    }
                }
            }
        }
        if with_role < 5 || refs == 0 {
            return None;
        }
        let mut tree = Tree { lines, nodes, intro };
        tree.link();
        Some(tree)
    }

    /// Finds the ends of all elements and their shapes, which are those of their children; what is inside decides for
    /// what is around.
    fn link(&mut self) {
        let count = self.nodes.len();
        // Elements that are open from the end backwards: an element ends where the next of its depth starts.
        let mut open: Vec<usize> = Vec::new();
        for at in (0..count).rev() {
            let (ahead, behind) = self.nodes.split_at_mut(at + 1);
            let Some(node) = ahead.last_mut() else { break };
            let of = |n: usize| behind.get(n - at - 1);
            let depth = behind.first().map_or(0, |n| n.indent);
            let mut inner = Vec::new();
            while let Some(child) = open.pop_if(|n| of(*n).is_some_and(|n| n.indent > node.indent)) {
                let Some(child) = of(child) else { break };
                if child.indent == depth {
                    inner.push(child.shape);
                }
                node.held |= child.held;
                node.telling |= child.telling;
            }
            node.end = open.last().copied().unwrap_or(count);
            // Runs inside count as one: two lists of other lengths have one shape.
            inner.dedup();
            node.shape = combine(&[node.shape, combine(&inner)]);
            open.push(at);
        }
    }

    /// Marks the middle of long runs of siblings.
    pub(super) fn mark_runs(&mut self, options: &SnapshotOptions) {
        let mut seen = vec![false; self.nodes.len()];
        for first in 0..self.nodes.len() {
            if seen.get(first).copied().unwrap_or(true) {
                continue;
            }
            let mut run = Vec::new();
            let mut at = first;
            let Some((indent, shape)) = self.nodes.get(first).map(|n| (n.indent, n.shape)) else { break };
            while let Some(node) = self.nodes.get(at).filter(|n| n.indent == indent && n.shape == shape) {
                run.push(at);
                if let Some(flag) = seen.get_mut(at) {
                    *flag = true;
                }
                at = node.end;
            }
            if run.len() < options.run.max(options.head + options.tail + 1) {
                continue;
            }
            let last = run.len() - options.tail;
            for at in run.get(options.head..last).unwrap_or(&[]) {
                if let Some(node) = self.nodes.get_mut(*at).filter(|n| !n.held) {
                    node.fate = Fate::Collapsed;
                }
            }
        }
    }

    pub(super) fn mark_empty(&mut self) {
        for node in self.nodes.iter_mut().filter(|n| !n.telling && n.fate == Fate::Kept) {
            node.fate = Fate::Empty;
        }
    }

    /// Marks what is in the middle of a text that is too long.
    pub(super) fn mark_middle(&mut self, most: usize) {
        let lines = &self.lines;
        let size =
            |node: &Node| lines.get(node.lines.clone()).unwrap_or(&[]).iter().map(|l| l.len()).sum::<usize>();
        let mut left = most.saturating_sub(END);
        let mut tail = END;
        let mut keep_from = self.nodes.len();
        while let Some(node) = keep_from.checked_sub(1).and_then(|at| self.nodes.get(at)) {
            let Some(rest) = tail.checked_sub(size(node)) else { break };
            tail = rest;
            keep_from -= 1;
        }
        // Behind what goes already.
        let mut next = 0;
        for (at, node) in self.nodes.iter_mut().enumerate().take(keep_from) {
            if node.fate != Fate::Kept {
                next = next.max(node.end);
            }
            if at < next {
                continue;
            }
            match left.checked_sub(size(node)) {
                Some(rest) => left = rest,
                None => {
                    left = 0;
                    if !node.held {
                        node.fate = Fate::Cut;
                    }
                }
            }
        }
    }
}
