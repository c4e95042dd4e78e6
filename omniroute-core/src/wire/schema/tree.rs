//! A schema as a tree that can be changed. Values that nobody looks into stay as they were written.

use std::borrow::Cow;

use crate::doc::{Doc, Kind, NodeId};
use crate::wire::json::JsonWriter;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node<'d> {
    /// A string, a number, a word.
    Raw(Cow<'d, str>),
    List(Vec<Node<'d>>),
    Map(Map<'d>),
}

/// An object, in the order in which it was written.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Map<'d>(pub(super) Vec<(Cow<'d, str>, Node<'d>)>);

impl<'d> Node<'d> {
    /// A value of a document, whose depth is bounded.
    pub(super) fn of(doc: &'d Doc, node: NodeId) -> Node<'d> {
        match doc.kind(node) {
            Kind::Array => Node::List(doc.elements(node).map(|n| Node::of(doc, n)).collect()),
            Kind::Object => {
                let member = |(key, value)| (doc.str(key).unwrap_or_default(), Node::of(doc, value));
                Node::Map(Map(doc.members(node).map(member).collect()))
            }
            _ => Node::Raw(doc.raw(node).into()),
        }
    }

    /// A string as a value.
    pub(super) fn text(text: &str) -> Node<'d> {
        let mut out = JsonWriter::with_capacity(text.len() + 2);
        out.text(text);
        Node::Raw(out.finish().into())
    }

    /// A word or a number as it is written; empty for lists and objects.
    pub(super) fn raw(&self) -> &str {
        match self {
            Node::Raw(raw) => raw,
            _ => "",
        }
    }

    /// The characters of a string.
    pub(super) fn chars(&self) -> Option<String> {
        let raw = Some(self.raw()).filter(|raw| raw.starts_with('"'))?;
        let doc = Doc::parse_with_limit(raw.to_owned(), usize::MAX).ok()?;
        doc.str(doc.root()).map(Cow::into_owned)
    }

    /// The value as JSON.
    pub(super) fn written(&self, bytes: usize) -> String {
        let mut out = JsonWriter::with_capacity(bytes);
        self.write(&mut out);
        out.finish()
    }

    fn write(&self, out: &mut JsonWriter) {
        match self {
            Node::Raw(raw) => drop(out.raw(raw)),
            Node::List(list) => {
                out.array();
                list.iter().for_each(|node| node.write(out));
                out.end_array();
            }
            Node::Map(map) => {
                out.object();
                for (key, value) in &map.0 {
                    out.key(key);
                    value.write(out);
                }
                out.end_object();
            }
        }
    }

    /// Nodes and bytes together, as far as `most`.
    pub(super) fn size(&self, most: usize) -> usize {
        let mut size = 1;
        match self {
            Node::Raw(raw) => size += raw.len(),
            Node::List(list) => {
                for node in list {
                    if size >= most {
                        break;
                    }
                    size += node.size(most - size);
                }
            }
            Node::Map(map) => {
                for (key, value) in &map.0 {
                    if size >= most {
                        break;
                    }
                    size += key.len() + value.size(most - size);
                }
            }
        }
        size
    }
}

impl<'d> Map<'d> {
    /// A member; of several with one name the last.
    pub(super) fn get(&self, key: &str) -> Option<&Node<'d>> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Takes a member out, and all that have its name.
    pub(super) fn take(&mut self, key: &str) -> Option<Node<'d>> {
        if !self.has(key) {
            return None;
        }
        let mut found = None;
        let mut kept = Vec::with_capacity(self.0.len());
        for (name, value) in self.0.drain(..) {
            match name == key {
                true => found = Some(value),
                false => kept.push((name, value)),
            }
        }
        self.0 = kept;
        found
    }

    /// Sets a member where it stands, or at the end.
    pub(super) fn set(&mut self, key: &'static str, value: Node<'d>) {
        match self.0.iter_mut().rev().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.into(), value)),
        }
    }
}
