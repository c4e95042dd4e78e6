//! Accessibility trees of pages, shorter: long runs of siblings of the same shape keep their first and last ones.
//!
//! What a model can act on stays: every element that can be clicked or filled in keeps its reference and the start of its
//! name, whatever else of its surroundings goes. An element in a state that somebody set (checked, expanded, focused)
//! stays whole. What is gone is counted in its place.

use std::fmt::Write as _;
use std::ops::Range;

use crate::hash::combine;

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

/// Roles of elements that a model acts on.
const ACTIVE: [&str; 16] = [
    "button",
    "link",
    "textbox",
    "checkbox",
    "combobox",
    "menuitem",
    "tab",
    "radio",
    "slider",
    "switch",
    "searchbox",
    "spinbutton",
    "option",
    "menuitemcheckbox",
    "menuitemradio",
    "treeitem",
];

/// States that somebody has set.
const STATES: [&str; 9] = [
    "[checked",
    "[expanded",
    "[focused",
    "[disabled",
    "[invalid",
    "[selected",
    "[pressed",
    "[active",
    "[required",
];

/// Characters of a name that stay in a shortened element.
const NAME: usize = 40;
/// Bytes at the end that stay where the whole is too long.
const END: usize = 300;

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

/// An element: its own lines, and where its last descendant ends.
#[derive(Debug)]
struct Node {
    lines: Range<usize>,
    indent: usize,
    /// Index behind the last descendant.
    end: usize,
    active: bool,
    stateful: bool,
    /// Has a name, a reference or text.
    telling: bool,
    shape: u64,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Goes with everything inside.
    Collapsed,
    /// Says nothing and holds nothing.
    Empty,
    /// Goes because the whole is too long; what is inside is judged by itself.
    Cut,
}

#[derive(Debug)]
struct Tree<'t> {
    lines: Vec<&'t str>,
    nodes: Vec<Node>,
    /// Lines before the first element.
    intro: usize,
}

impl<'t> Tree<'t> {
    fn read(text: &'t str) -> Option<Tree<'t>> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut nodes: Vec<Node> = Vec::new();
        let (mut with_role, mut refs) = (0, 0);
        let mut intro = lines.len();
        for (at, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start_matches(' ');
            match trimmed.strip_prefix("- ") {
                Some(rest) => {
                    intro = intro.min(at);
                    let role = role_of(rest);
                    let has_ref = rest.contains("[ref=");
                    with_role += usize::from(!role.is_empty());
                    refs += usize::from(has_ref);
                    let after = rest.get(role.len()..).unwrap_or("").trim_end().trim_end_matches(':');
                    nodes.push(Node {
                        lines: at..at + 1,
                        indent: line.len() - trimmed.len(),
                        end: 0,
                        active: has_ref && ACTIVE.contains(&role),
                        stateful: STATES.iter().any(|state| rest.contains(state)),
                        telling: role.is_empty() || !after.is_empty(),
                        shape: crate::hash::hash(role.as_bytes()),
                        fate: Fate::Kept,
                    });
                }
                // A line that goes on, or one behind the tree.
                None => {
                    if let Some(last) = nodes.last_mut() {
                        last.lines.end = at + 1;
                        last.telling |= !trimmed.trim().is_empty();
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

    /// Finds the ends of all elements and their shapes, which are those of their children.
    fn link(&mut self) {
        let count = self.nodes.len();
        // Elements that are open from the end backwards: an element ends where the next of its depth starts.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for at in (0..count).rev() {
            let Some(indent) = self.nodes.get(at).map(|n| n.indent) else { break };
            let mut inner = Vec::new();
            while let Some((child, depth)) = open.pop_if(|(_, depth)| *depth > indent) {
                if inner.is_empty() || depth == self.nodes.get(at + 1).map_or(0, |n| n.indent) {
                    inner.push(self.nodes.get(child).map_or(0, |n| n.shape));
                }
            }
            let end = open.last().map_or(count, |(next, _)| *next);
            if let Some(node) = self.nodes.get_mut(at) {
                node.end = end;
                // Runs inside count as one: two lists of other lengths have one shape.
                inner.dedup();
                node.shape = combine(&[node.shape, combine(&inner)]);
            }
            open.push((at, indent));
        }
        // What is inside decides for what is around.
        for at in (0..count).rev() {
            let Some(node) = self.nodes.get(at) else { break };
            let (end, stateful, telling) = (node.end, node.stateful, node.telling);
            let mut child = at + 1;
            let (mut inner_state, mut inner_telling) = (false, false);
            while child < end {
                let Some(n) = self.nodes.get(child) else { break };
                inner_state |= n.stateful;
                inner_telling |= n.telling;
                child = n.end.max(child + 1);
            }
            if let Some(node) = self.nodes.get_mut(at) {
                node.stateful = stateful || inner_state;
                node.telling = telling || inner_telling;
            }
        }
    }

    /// Marks the middle of long runs of siblings.
    fn mark_runs(&mut self, options: &SnapshotOptions) {
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
                at = node.end.max(at + 1);
            }
            if run.len() < options.run.max(options.head + options.tail + 1) {
                continue;
            }
            let last = run.len() - options.tail;
            for at in run.get(options.head..last).unwrap_or(&[]) {
                if let Some(node) = self.nodes.get_mut(*at).filter(|n| !n.stateful) {
                    node.fate = Fate::Collapsed;
                }
            }
        }
    }

    fn mark_empty(&mut self) {
        for node in self.nodes.iter_mut().filter(|n| !n.telling && n.fate == Fate::Kept) {
            node.fate = Fate::Empty;
        }
    }

    /// Marks what is in the middle of a text that is too long.
    fn mark_middle(&mut self, most: usize) {
        let sizes: Vec<usize> = self.lines.iter().map(|l| l.len()).collect();
        let size = |lines: &Range<usize>| sizes.get(lines.clone()).unwrap_or(&[]).iter().sum::<usize>();
        let mut left = most.saturating_sub(END);
        let mut tail = END;
        let mut keep_from = self.nodes.len();
        while let Some(node) = keep_from.checked_sub(1).and_then(|at| self.nodes.get(at)) {
            let Some(rest) = tail.checked_sub(size(&node.lines)) else { break };
            tail = rest;
            keep_from -= 1;
        }
        let mut skip = 0;
        for at in 0..keep_from {
            let Some(node) = self.nodes.get_mut(at) else { break };
            if at < skip || node.fate != Fate::Kept {
                skip = skip.max(if node.fate == Fate::Kept { skip } else { node.end });
                continue;
            }
            match left.checked_sub(size(&node.lines)) {
                Some(rest) => left = rest,
                None => {
                    left = 0;
                    if !node.stateful {
                        node.fate = Fate::Cut;
                    }
                }
            }
        }
    }

    fn write(&self) -> Snapshot {
        let mut out = Snapshot { text: String::new(), elements: 0, shortened: 0, lines: 0 };
        self.lines.iter().take(self.intro).for_each(|line| out.text.push_str(line));
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            let next = match node.fate {
                Fate::Kept => {
                    self.lines
                        .get(node.lines.clone())
                        .unwrap_or(&[])
                        .iter()
                        .for_each(|l| out.text.push_str(l));
                    at + 1
                }
                Fate::Empty => {
                    out.elements += (node.end - at) as u32;
                    out.lines += self.span(at, node.end) as u32;
                    node.end
                }
                Fate::Collapsed | Fate::Cut => self.gap(at, node.fate, &mut out),
            };
            at = next.max(at + 1);
        }
        out
    }

    fn span(&self, from: usize, to: usize) -> usize {
        self.nodes.get(from..to).unwrap_or(&[]).iter().map(|n| n.lines.len()).sum()
    }

    /// Writes what is left of neighbours with one fate; returns the index behind them.
    fn gap(&self, from: usize, fate: Fate, out: &mut Snapshot) -> usize {
        let indent = self.nodes.get(from).map_or(0, |n| n.indent);
        let mut end = from;
        while let Some(node) = self.nodes.get(end) {
            // Neighbours of a run are siblings; a cut goes on at any depth.
            if node.fate != fate || (fate == Fate::Collapsed && node.indent != indent) {
                break;
            }
            end = if fate == Fate::Collapsed { node.end.max(end + 1) } else { end + 1 };
        }
        let inside = self.nodes.get(from..end).unwrap_or(&[]);
        let active: Vec<&Node> = inside.iter().filter(|n| n.active).collect();
        let (gone, lines) = (inside.len() - active.len(), self.span(from, end));
        let pad = " ".repeat(indent.min(64));
        let what = if fate == Fate::Collapsed { "elements like those before" } else { "elements" };
        let _ = writeln!(out.text, "{pad}[omitted: {lines} lines, {gone} {what}]");
        let mut role = "";
        for node in &active {
            let line = self.lines.get(node.lines.start).map_or("", |l| l.trim_start_matches([' ', '-']));
            let own = role_of(line);
            if own != role {
                let _ = write!(out.text, "{}{pad}- {own}:", if role.is_empty() { "" } else { "\n" });
                role = own;
            } else {
                out.text.push_str(" |");
            }
            if let Some(name) = name_of(line) {
                out.text.push_str(" \"");
                out.text.extend(name.chars().take(NAME));
                out.text.push_str(if name.chars().nth(NAME).is_some() { "…\"" } else { "\"" });
            }
            let _ = write!(out.text, " {}", reference_of(line));
        }
        if !active.is_empty() {
            out.text.push('\n');
        }
        out.elements += gone as u32;
        out.shortened += active.len() as u32;
        out.lines += lines as u32;
        end
    }
}

/// The role at the start of a line; empty for a property.
fn role_of(line: &str) -> &str {
    let end = line.bytes().take_while(u8::is_ascii_lowercase).count();
    let ends = line.as_bytes().get(end).is_none_or(|b| matches!(b, b' ' | b':' | b'\n' | b'\r' | b'['));
    if ends { line.get(..end).unwrap_or("") } else { "" }
}

/// The text between the first quotes.
fn name_of(line: &str) -> Option<&str> {
    let rest = line.split_once('"')?.1;
    let mut escaped = false;
    let end = rest.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    rest.get(..end)
}

/// `[ref=…]`.
fn reference_of(line: &str) -> &str {
    let Some(start) = line.find("[ref=") else { return "" };
    let rest = line.get(start..).unwrap_or("");
    rest.find(']').and_then(|end| rest.get(..=end)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    /// A page of a shop as a browser's tool prints it: header, form, a long list, pages.
    fn shop(rows: usize) -> String {
        let mut out = String::from(
            "### Page state\n- Page URL: https://shop.example/list\n- generic [active] [ref=e1]:\n  - banner [ref=e2]:\n    - link \"Home\" [ref=e3] [cursor=pointer]:\n      - /url: /\n    - generic:\n      - img\n    - searchbox \"Search\" [ref=e4]\n  - form [ref=e5]:\n    - checkbox \"In stock\" [checked] [ref=e6]\n    - button \"Apply\" [ref=e7]\n  - list [ref=e8]:\n",
        );
        for n in 0..rows {
            let state = if n == rows / 2 { " [selected]" } else { "" };
            let _ = writeln!(
                out,
                "    - listitem{state} [ref=i{n}]:\n      - heading \"Lamp {n}\" [level=3] [ref=h{n}]\n      - text: {n}.99 EUR\n      - link \"Details of lamp number {n} with a name that goes on and on\" [ref=l{n}]\n      - button \"Add\" [ref=b{n}]"
            );
        }
        out + "  - navigation [ref=n1]:\n    - link \"Next\" [ref=n2]\n"
    }

    fn active_refs(text: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for line in text.lines() {
            let line = line.trim_start_matches([' ', '-']);
            if ACTIVE.contains(&role_of(line)) {
                found.extend(
                    line.split("[ref=").skip(1).filter_map(|r| r.split_once(']')).map(|(r, _)| r.to_owned()),
                );
            }
        }
        found
    }

    #[test]
    fn a_page_keeps_everything_that_can_be_acted_on() {
        for rows in [29, 30, 100, 1000] {
            let page = shop(rows);
            let out = filter_snapshot(&page, SnapshotOptions::default());
            let text = out.as_ref().map_or(page.as_str(), |o| &o.text);
            assert_eq!(active_refs(&page), active_refs(text), "{rows}");
            for fact in ["[checked]", "[selected]", "\"Apply\"", "https://shop.example/list", "\"Lamp 0\""] {
                assert!(text.contains(fact), "{rows}: {fact}");
            }
            assert!(text.contains(&format!("\"Lamp {}\"", rows - 1)));
            if rows >= 100 {
                let out = out.unwrap();
                assert!(out.text.len() * 10 < page.len() * 7, "{} of {}", out.text.len(), page.len());
                assert!(out.shortened > 0 && out.lines > out.shortened);
                // Elements and lines in the output, those counted as gone, and the markers make the whole.
                let kept = |t: &str| t.lines().filter(|l| l.trim_start().starts_with("- ")).count();
                let joined: usize = out
                    .text
                    .lines()
                    .filter(|l| l.contains(": \"") && l.contains("[ref=") && !l.contains("text:"))
                    .count();
                assert!(kept(&page) <= kept(&out.text) + (out.elements + out.shortened) as usize + joined);
            }
        }
    }

    #[test]
    fn the_check_catches_a_lost_reference() {
        let page = shop(100);
        let out = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
        assert_ne!(active_refs(&page), active_refs(&out.text.replace("[ref=l50]", "")));
    }

    #[test]
    fn other_texts_and_short_ones_are_none() {
        let prose = "- one thing\n- another thing\n".repeat(200);
        assert_eq!(filter_snapshot(&prose, SnapshotOptions::default()), None);
        assert_eq!(filter_snapshot(&shop(3), SnapshotOptions::default()).map(|o| o.lines), None);
        assert_eq!(filter_snapshot("", SnapshotOptions { min_bytes: 0, ..Default::default() }), None);
    }

    #[test]
    fn a_text_over_the_limit_is_cut_in_the_middle() {
        let mut page = String::from("- main [ref=m]:\n");
        for n in 0..2000 {
            let role = ["heading", "paragraph", "article"][n % 3];
            let _ = writeln!(
                page,
                "  - {role} \"part {n}\" [ref=p{n}]: words of part {n}\n  - link \"go {n}\" [ref=g{n}]"
            );
        }
        assert!(page.len() > 50_001);
        let out = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
        assert_eq!(active_refs(&page), active_refs(&out.text));
        assert!(out.text.contains("part 0\"") && out.text.contains("part 1999\""));
        assert!(out.text.contains("[omitted: ") && out.text.len() < page.len());
        assert_eq!(
            filter_snapshot(&page, SnapshotOptions { max_bytes: page.len(), ..Default::default() }),
            None
        );
    }

    #[test]
    fn each_setting_changes_the_outcome() {
        let page = shop(60);
        let plain = filter_snapshot(&page, SnapshotOptions::default()).unwrap();
        for options in [
            SnapshotOptions { min_bytes: 1 << 20, ..Default::default() },
            SnapshotOptions { run: 100, ..Default::default() },
            SnapshotOptions { head: 12, ..Default::default() },
            SnapshotOptions { tail: 9, ..Default::default() },
            SnapshotOptions { max_bytes: 3_000, ..Default::default() },
        ] {
            assert_ne!(filter_snapshot(&page, options).as_ref(), Some(&plain), "{options:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn references_and_states_stay_in_any_tree(
            rows in prop::collection::vec((0_usize..4, 0_usize..6, prop::bool::weighted(0.05), 1_usize..50), 1..40),
            max in prop::sample::select(vec![500_usize, 3_000, 50_000]),
        ) {
            let roles = ["generic", "listitem", "link", "button", "img", "text"];
            let mut page = String::from("- main [ref=m]:\n");
            let mut id = 0;
            for (depth, role, state, times) in rows {
                for _ in 0..times {
                    id += 1;
                    let pad = "  ".repeat(depth + 1);
                    let state = if state { " [expanded]" } else { "" };
                    let reference = if roles[role] == "text" { String::new() } else { format!(" [ref=r{id}]") };
                    let _ = writeln!(page, "{pad}- {}{state}{reference}: some words here", roles[role]);
                }
            }
            let options = SnapshotOptions { min_bytes: 0, max_bytes: max, ..Default::default() };
            if let Some(out) = filter_snapshot(&page, options) {
                prop_assert_eq!(active_refs(&page), active_refs(&out.text));
                prop_assert_eq!(page.matches("[expanded]").count(), out.text.matches("[expanded]").count());
                prop_assert!(out.text.len() < page.len());
            }
        }
    }
}
