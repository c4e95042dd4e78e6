//! Applying edits by splicing: bytes outside an edit are copied as they are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::lex::skip_space;
use super::patch::Op;
use super::{Doc, Kind, NodeId, Patch, PatchError};

/// One replacement of a byte range.
struct Cut<'p> {
    start: usize,
    end: usize,
    text: Cow<'p, str>,
    /// Takes an element away, comma included.
    removes: bool,
    /// Takes the last element of its container: the comma to remove stands before it.
    tail: bool,
}

impl<'p> Cut<'p> {
    fn new(start: usize, end: usize, text: impl Into<Cow<'p, str>>) -> Self {
        Cut { start, end, text: text.into(), removes: false, tail: false }
    }
}

/// What has to be known of the other edits to place one.
#[derive(Default)]
struct Plan {
    removed: HashSet<NodeId>,
    /// Insertions in front of an element that are still to be placed.
    inserted: HashMap<NodeId, usize>,
    /// Containers that got an element at the end already.
    appended: HashSet<NodeId>,
}

impl Doc {
    /// The document with the edits of `patch`. Without edits it is the same buffer, not a copy.
    ///
    /// Several elements added at one place appear in the order in which they were added. Elements inserted
    /// in front of a removed one take its place.
    ///
    /// # Errors
    /// [`PatchError`] when edits overlap, or one adds to what is no container or takes what is no element.
    pub fn splice(&self, patch: &Patch) -> Result<Bytes, PatchError> {
        if patch.is_empty() {
            return Ok(self.bytes().clone());
        }
        let mut plan = Plan::default();
        for (node, op) in &patch.ops {
            match op {
                Op::Remove => drop(plan.removed.insert(*node)),
                Op::InsertBefore(_) => *plan.inserted.entry(*node).or_default() += 1,
                Op::Set(_) | Op::Append { .. } => {}
            }
        }
        let replaced: HashSet<NodeId> = plan.inserted.keys().copied().collect();
        let mut cuts = Vec::with_capacity(patch.len());
        for (node, op) in &patch.ops {
            cuts.push(self.cut(*node, op, &mut plan, &replaced)?);
        }
        cuts.sort_by_key(|c| (c.start, c.end)); // stable: keeps the order of insertions at one place
        self.leading_commas(&mut cuts);
        let removed: usize = cuts.iter().map(|c| c.end - c.start).sum();
        let added: usize = cuts.iter().map(|c| c.text.len()).sum();
        let source = self.bytes();
        let mut out = Vec::with_capacity((source.len() + added).saturating_sub(removed));
        let mut at = 0;
        for cut in &cuts {
            if cut.start < at {
                return Err(PatchError::Overlap { offset: cut.start });
            }
            out.extend_from_slice(source.get(at..cut.start).unwrap_or(&[]));
            out.extend_from_slice(cut.text.as_bytes());
            at = cut.end;
        }
        out.extend_from_slice(source.get(at..).unwrap_or(&[]));
        Ok(out.into())
    }

    fn cut<'p>(
        &self,
        node: NodeId,
        op: &'p Op,
        plan: &mut Plan,
        replaced: &HashSet<NodeId>,
    ) -> Result<Cut<'p>, PatchError> {
        let span = self.span(node);
        Ok(match op {
            Op::Set(json) => Cut::new(span.start, span.end, &**json),
            Op::InsertBefore(json) => {
                if self.place(node) != Place::Element {
                    return Err(PatchError::NotAnElement { offset: span.start });
                }
                let more = plan.inserted.get_mut(&node).map_or(0, |left| {
                    *left -= 1;
                    *left
                });
                let comma = if more > 0 || !plan.removed.contains(&node) { "," } else { "" };
                Cut::new(span.start, span.start, format!("{json}{comma}"))
            }
            Op::Append { key, value } => {
                let wanted = if key.is_some() { Kind::Object } else { Kind::Array };
                if self.kind(node) != wanted {
                    return Err(PatchError::NotAContainer { offset: span.start, found: self.kind(node) });
                }
                let mut text = String::with_capacity(value.len() + 16);
                if !plan.appended.insert(node) || !self.empties(node, &plan.removed, replaced) {
                    text.push(',');
                }
                if let Some(key) = key {
                    super::escape_into(key, &mut text);
                    text.push(':');
                }
                text.push_str(value);
                Cut::new(span.end - 1, span.end - 1, text)
            }
            Op::Remove if replaced.contains(&node) => Cut::new(span.start, span.end, ""),
            Op::Remove => self.removal(node)?,
        })
    }

    /// Whether nothing of the container's present content will be left.
    fn empties(&self, container: NodeId, removed: &HashSet<NodeId>, replaced: &HashSet<NodeId>) -> bool {
        let gone = |node: NodeId| removed.contains(&node) && !replaced.contains(&node);
        self.elements(container).all(gone) && self.members(container).all(|(key, _)| gone(key))
    }

    /// The bytes that go when an element or member goes: itself and the comma after it. The last one has none;
    /// [`Doc::leading_commas`] takes the one before it.
    fn removal(&self, node: NodeId) -> Result<Cut<'static>, PatchError> {
        let bytes = self.bytes();
        let span = self.span(node);
        let end = match self.place(node) {
            Place::Element => span.end,
            Place::Key => self.span(NodeId(node.0 + 1)).end, // its value goes with it
            Place::Other => return Err(PatchError::NotAnElement { offset: span.start }),
        };
        let after = skip_space(bytes, end);
        let tail = bytes.get(after) != Some(&b',');
        let end = if tail { end } else { skip_space(bytes, after + 1) };
        Ok(Cut { removes: true, tail, ..Cut::new(span.start, end, "") })
    }

    /// Where elements are removed up to the end of a container, the comma before them goes too.
    fn leading_commas(&self, cuts: &mut [Cut<'_>]) {
        let mut first = 0; // of a run of removals without a gap
        for at in 0..cuts.len() {
            let Some(&Cut { start, tail, removes, .. }) = cuts.get(at) else { continue };
            let joins =
                at.checked_sub(1).and_then(|p| cuts.get(p)).is_some_and(|p| p.removes && p.end == start);
            if !(removes && joins) {
                first = at;
            }
            if let Some(run) = cuts.get_mut(first).filter(|_| tail)
                && let Some(comma) =
                    self.solid_before(run.start).filter(|&p| self.bytes().get(p) == Some(&b','))
            {
                run.start = comma;
            }
        }
    }

    fn place(&self, node: NodeId) -> Place {
        let bytes = self.bytes();
        let span = self.span(node);
        if bytes.get(skip_space(bytes, span.end)) == Some(&b':') {
            return Place::Key;
        }
        match self.solid_before(span.start).and_then(|p| bytes.get(p)) {
            Some(b',' | b'[') => Place::Element,
            _ => Place::Other,
        }
    }

    /// Offset of the last byte before `at` that is not white space.
    fn solid_before(&self, at: usize) -> Option<usize> {
        self.bytes().get(..at)?.iter().rposition(|b| !b.is_ascii_whitespace())
    }
}

/// What a value is to its container.
#[derive(PartialEq, Eq)]
enum Place {
    Element,
    Key,
    /// The value of a member, or the root.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(source: &str, edit: impl FnOnce(&Doc, &mut Patch)) -> String {
        let doc = Doc::parse(source.to_owned()).unwrap();
        let mut patch = Patch::new();
        edit(&doc, &mut patch);
        let out = doc.splice(&patch).unwrap();
        Doc::parse(out.clone()).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        String::from_utf8(out.to_vec()).unwrap()
    }

    fn get(doc: &Doc, key: &str) -> NodeId {
        doc.get(doc.root(), key).unwrap()
    }

    fn key(doc: &Doc, name: &str) -> NodeId {
        doc.members(doc.root()).find(|(k, _)| doc.str(*k).unwrap() == name).unwrap().0
    }

    #[test]
    fn sets_and_keeps_the_rest() {
        let out =
            apply("{ \"a\" :1.0 ,\t\"b\":\"x\\u00e9\" }", |d, p| p.set_json(get(d, "a"), "[2]").unwrap());
        assert_eq!(out, "{ \"a\" :[2] ,\t\"b\":\"x\\u00e9\" }");
    }

    #[test]
    fn removes_with_one_comma() {
        let source = r#"{"a": 1, "b": [1, 2, 3], "c": 3}"#;
        assert_eq!(apply(source, |d, p| p.remove(key(d, "a"))), r#"{"b": [1, 2, 3], "c": 3}"#);
        assert_eq!(apply(source, |d, p| p.remove(key(d, "c"))), r#"{"a": 1, "b": [1, 2, 3]}"#);
        let last = |d: &Doc, p: &mut Patch| p.remove(d.elements(get(d, "b")).nth(2).unwrap());
        assert_eq!(apply(source, last), r#"{"a": 1, "b": [1, 2], "c": 3}"#);
        assert_eq!(apply("[1]", |d, p| p.remove(d.elements(d.root()).next().unwrap())), "[]");
    }

    #[test]
    fn appends_and_inserts() {
        let out = apply("{}", |d, p| {
            p.push_member(d.root(), "k", "1").unwrap();
            p.push_member(d.root(), "l", "2").unwrap();
        });
        assert_eq!(out, r#"{"k":1,"l":2}"#);
        let out = apply("[1]", |d, p| {
            p.push_element(d.root(), "2").unwrap();
            p.insert_before(d.elements(d.root()).next().unwrap(), "0").unwrap();
        });
        assert_eq!(out, "[0,1,2]");
        let out = apply("[1]", |d, p| {
            p.remove(d.elements(d.root()).next().unwrap());
            p.push_element(d.root(), "2").unwrap();
        });
        assert_eq!(out, "[2]");
    }

    #[test]
    fn refuses_overlap_and_non_containers() {
        let doc = Doc::parse(r#"{"a":{"b":"x"}}"#).unwrap();
        let a = get(&doc, "a");
        let mut patch = Patch::new();
        patch.set_str(a, "y");
        patch.set_str(doc.get(a, "b").unwrap(), "z");
        assert_eq!(doc.splice(&patch), Err(PatchError::Overlap { offset: 10 }));
        let mut patch = Patch::new();
        patch.push_element(a, "1").unwrap();
        assert!(matches!(doc.splice(&patch), Err(PatchError::NotAContainer { .. })));
        assert!(Patch::new().set_json(a, "{").is_err());
        for node in [doc.root(), a] {
            let mut patch = Patch::new();
            patch.remove(node);
            assert!(matches!(doc.splice(&patch), Err(PatchError::NotAnElement { .. })));
        }
    }

    #[test]
    fn removes_and_inserts_together() {
        let nth = |d: &Doc, n| d.elements(d.root()).nth(n).unwrap();
        let several = |removed: &[usize], before: &[usize], append: bool| {
            apply("[1, 2, 3]", |d, p| {
                removed.iter().for_each(|n| p.remove(nth(d, *n)));
                before.iter().for_each(|n| p.insert_before(nth(d, *n), "0").unwrap());
                if append {
                    p.push_element(d.root(), "9").unwrap();
                }
            })
        };
        assert_eq!(several(&[1, 2], &[], false), "[1]");
        assert_eq!(several(&[2, 1, 0], &[], false), "[]");
        assert_eq!(several(&[0, 1], &[], false), "[3]");
        assert_eq!(several(&[0, 1, 2], &[], true), "[9]");
        assert_eq!(several(&[1, 2], &[], true), "[1,9]");
        assert_eq!(several(&[0, 1, 2], &[2], false), "[0]");
        assert_eq!(several(&[1, 2], &[1, 1], true), "[1, 0,0,9]");
        assert_eq!(several(&[2], &[2], false), "[1, 2, 0]");
    }

    #[test]
    fn no_edit_is_the_same_buffer() {
        let doc = Doc::parse("[1]").unwrap();
        assert_eq!(doc.splice(&Patch::new()).unwrap().as_ptr(), doc.bytes().as_ptr());
    }
}
