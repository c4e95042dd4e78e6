//! Replacing string literals by others: the index moves along, nothing is scanned again.

use std::sync::Arc;

use super::lex::string_end;
use super::{Doc, Kind, Node, NodeId, PatchError};

impl Doc {
    /// The document with other string literals in place of some of its strings.
    ///
    /// Each literal is checked to be exactly one JSON string, so the structure cannot change; the index is
    /// carried over. Cheaper than [`Doc::splice`] and another parse.
    ///
    /// ```
    /// use omniroute_core::{Doc, escape};
    /// let doc = Doc::parse(r#"{"a": "x", "b": [1.0]}"#)?;
    /// let a = doc.get(doc.root(), "a").expect("is there");
    /// let new = doc.replace_strings(vec![(a, escape("say \"hi\"").into())]).expect("are strings");
    /// assert_eq!(new.bytes(), r#"{"a": "say \"hi\"", "b": [1.0]}"#);
    /// # Ok::<(), omniroute_core::DocError>(())
    /// ```
    ///
    /// # Errors
    /// [`PatchError::NotAString`] if a node or its literal is no string, [`PatchError::Overlap`] if a node is
    /// named twice.
    pub fn replace_strings(&self, mut edits: Vec<(NodeId, Arc<str>)>) -> Result<Doc, PatchError> {
        edits.sort_by_key(|(node, _)| *node);
        let source = self.bytes();
        let added: usize = edits.iter().map(|(_, literal)| literal.len()).sum();
        let mut bytes = Vec::with_capacity(source.len() + added);
        let mut done = 0;
        // After each edit: its node, how far everything behind it has moved, whether it has escapes.
        let mut moves: Vec<(u32, i64, bool)> = Vec::with_capacity(edits.len());
        let mut moved = 0i64;
        for (node, literal) in &edits {
            let span = self.span(*node);
            if span.start < done {
                return Err(PatchError::Overlap { offset: span.start });
            }
            let escaped = match string_end(literal.as_bytes(), 0) {
                Ok((end, escaped)) if end == literal.len() && literal.starts_with('"') => escaped,
                _ => return Err(PatchError::NotAString { offset: span.start }),
            };
            if self.kind(*node) != Kind::String {
                return Err(PatchError::NotAString { offset: span.start });
            }
            bytes.extend_from_slice(source.get(done..span.start).unwrap_or(&[]));
            bytes.extend_from_slice(literal.as_bytes());
            moved += literal.len() as i64 - span.len() as i64;
            moves.push((node.0, moved, escaped));
            done = span.end;
        }
        bytes.extend_from_slice(source.get(done..).unwrap_or(&[]));
        if u32::try_from(bytes.len()).is_err() {
            return Err(PatchError::TooLarge { bytes: bytes.len() });
        }
        Ok(Doc { src: bytes.into(), nodes: Arc::new(self.moved(&moves)) })
    }

    fn moved(&self, moves: &[(u32, i64, bool)]) -> Vec<Node> {
        // How far things have moved that stand behind all nodes before `node`.
        let before = |node: u32| match moves.partition_point(|(n, ..)| *n < node) {
            0 => 0,
            count => moves.get(count - 1).map_or(0, |(_, moved, _)| *moved),
        };
        let shift = |offset: u32, by: i64| (i64::from(offset) + by) as u32;
        let mut next = 0;
        let mut start_by = 0;
        let one = |(index, node): (usize, &Node)| {
            let mut node = *node;
            node.start = shift(node.start, start_by);
            let edit = moves.get(next).filter(|(n, ..)| *n as usize == index);
            let end_by = match edit {
                Some((_, moved, escaped)) => {
                    node.escaped = *escaped;
                    start_by = *moved;
                    next += 1;
                    *moved
                }
                None if matches!(node.kind, Kind::Array | Kind::Object) => before(node.next),
                None => start_by,
            };
            node.end = shift(node.end, end_by);
            node
        };
        self.nodes.iter().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Patch, escape};
    use super::*;

    const SOURCE: &str = r#"{"a" : ["x", {"b":"\u00e9", "c":[ ]}, "" ], "d": "tail"}"#;

    fn strings(doc: &Doc) -> Vec<NodeId> {
        (0..doc.node_count() as u32).map(NodeId).filter(|n| doc.kind(*n) == Kind::String).collect()
    }

    /// The index is the one a scan of the new bytes writes.
    fn same_index(doc: &Doc) -> bool {
        let again = Doc::parse(doc.bytes().clone()).unwrap();
        let flat = |d: &Doc| -> Vec<_> {
            d.nodes.iter().map(|n| (n.start, n.end, n.next, n.kind, n.escaped)).collect()
        };
        flat(&again) == flat(doc)
    }

    #[test]
    fn equals_a_splice_and_a_scan_for_every_choice_of_strings() {
        let doc = Doc::parse(SOURCE).unwrap();
        let all = strings(&doc);
        for choice in 0..1u32 << all.len() {
            let chosen = all.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1);
            let edits: Vec<(NodeId, Arc<str>)> =
                chosen.map(|(i, n)| (*n, escape(&"new \"é\n".repeat(i % 4)).into())).collect();
            let mut patch = Patch::new();
            for (node, literal) in &edits {
                patch.set_escaped(*node, literal.clone());
            }
            let new = doc.replace_strings(edits).unwrap();
            assert_eq!(new.bytes(), &doc.splice(&patch).unwrap());
            assert!(same_index(&new), "choice {choice:b}");
        }
    }

    #[test]
    fn an_index_that_did_not_move_is_caught() {
        let doc = Doc::parse(SOURCE).unwrap();
        let first = strings(&doc)[1];
        let new = doc.replace_strings(vec![(first, "\"longer\"".into())]).unwrap();
        let twin = Doc { src: new.bytes().clone(), nodes: doc.nodes.clone() };
        assert!(!same_index(&twin));
    }

    #[test]
    fn takes_strings_only_and_each_once() {
        let doc = Doc::parse(SOURCE).unwrap();
        let text = strings(&doc)[1];
        for literal in ["1", "\"a\" ", "\"a\",\"b\"", "\"a", "", "x\"\""] {
            let refused = doc.replace_strings(vec![(text, literal.into())]).unwrap_err();
            assert!(matches!(refused, PatchError::NotAString { .. }), "{literal}");
        }
        let root = doc.replace_strings(vec![(doc.root(), "\"a\"".into())]).unwrap_err();
        assert!(matches!(root, PatchError::NotAString { .. }));
        let twice = doc.replace_strings(vec![(text, "\"a\"".into()), (text, "\"b\"".into())]).unwrap_err();
        assert!(matches!(twice, PatchError::Overlap { .. }));
    }
}
