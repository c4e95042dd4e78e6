//! Writes what is left of a tree, and in place of what is gone how much that was.

use std::fmt::Write as _;

use super::Snapshot;
use super::line::Line;
use super::tree::{Fate, Node, Tree};

/// Characters of a name that stay in a shortened element.
const NAME: usize = 40;

impl Tree<'_> {
    pub(super) fn write(&self) -> Snapshot {
        let mut out = Snapshot { text: String::new(), elements: 0, shortened: 0, lines: 0 };
        self.lines.iter().take(self.intro).for_each(|line| out.text.push_str(line));
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            at = match node.fate {
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
            end = if fate == Fate::Collapsed { node.end } else { end + 1 };
        }
        let inside = self.nodes.get(from..end).unwrap_or(&[]);
        let active: Vec<&Node> = inside.iter().filter(|n| n.active).collect();
        let (gone, lines) = (inside.len() - active.len(), self.span(from, end));
        let pad = " ".repeat(indent.min(64));
        let what = if fate == Fate::Collapsed { "elements like those before" } else { "elements" };
        let _ = writeln!(out.text, "{pad}[omitted: {lines} lines, {gone} {what}]");
        let mut role = "";
        for node in &active {
            let line = self.lines.get(node.lines.start).map_or("", |l| l.trim_start_matches(' '));
            let line = Line::read(line.strip_prefix("- ").unwrap_or(line));
            if line.role != role {
                let _ = write!(out.text, "{}{pad}- {}:", if role.is_empty() { "" } else { "\n" }, line.role);
                role = line.role;
            } else {
                out.text.push_str(" |");
            }
            if let Some(name) = line.name {
                out.text.push_str(" \"");
                out.text.extend(name.chars().take(NAME));
                out.text.push_str(if name.chars().nth(NAME).is_some() { "…\"" } else { "\"" });
            }
            let _ = write!(out.text, " {}", line.reference);
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
