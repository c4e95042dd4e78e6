//! What every document must fulfil: it is accepted when `serde_json` accepts it, and its index says what is
//! there. Tests and fuzz targets share this; what is judged is an argument, so that a broken one can be handed in.

use omniroute_core::{Doc, DocError, Kind, NodeId};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Containers may be nested this deep; `serde_json` stops one earlier.
const MAX_DEPTH: usize = 128;

/// `parse` and `serde_json` agree on whether `bytes` is a document. Gives the document if it is one.
pub(crate) fn agreement(
    parse: &dyn Fn(&[u8]) -> Result<Doc, DocError>,
    bytes: &[u8],
) -> Result<Option<Doc>, String> {
    let theirs = serde_json::from_slice::<Value>(bytes);
    match (parse(bytes), theirs) {
        (Ok(doc), Ok(_)) => Ok(Some(doc)),
        (Err(error), Err(_)) => place_is_sound(&error, bytes).map(|()| None),
        (Ok(doc), Err(error)) => {
            let structure = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
            let excused = depth(&doc, doc.root()) == MAX_DEPTH || has_huge_number(&doc, doc.root());
            if structure && excused {
                Ok(Some(doc))
            } else {
                Err(format!("accepted, serde_json says {error}"))
            }
        }
        (Err(error), Ok(_)) => Err(format!("refused, serde_json accepts: {error}")),
    }
}

/// The index of `doc` tells `value`, the last of duplicate members counting.
pub(crate) fn faithful(doc: &Doc, value: &Value) -> Result<(), String> {
    let mut walk = Walk { doc, nodes: 0 };
    walk.value(doc.root(), value, 0, doc.bytes().len())?;
    same("node_count", &doc.node_count(), &walk.nodes)
}

fn place_is_sound(error: &DocError, bytes: &[u8]) -> Result<(), String> {
    let before = bytes.get(..error.offset()).ok_or("the error stands behind the end")?;
    let lines = before.iter().filter(|b| **b == b'\n').count();
    same("line", &error.line(), &(lines as u32 + 1))
}

fn depth(doc: &Doc, node: NodeId) -> usize {
    let inner = |n| depth(doc, n);
    match doc.kind(node) {
        Kind::Array => 1 + doc.elements(node).map(inner).max().unwrap_or(0),
        Kind::Object => 1 + doc.members(node).map(|(_, v)| inner(v)).max().unwrap_or(0),
        _ => 0,
    }
}

fn has_huge_number(doc: &Doc, node: NodeId) -> bool {
    match doc.kind(node) {
        Kind::Number => doc.raw(node).parse::<f64>().is_ok_and(|n| n.abs() > 1e308),
        Kind::Array => doc.elements(node).any(|n| has_huge_number(doc, n)),
        Kind::Object => doc.members(node).any(|(_, n)| has_huge_number(doc, n)),
        _ => false,
    }
}

struct Walk<'d> {
    doc: &'d Doc,
    nodes: usize,
}

impl Walk<'_> {
    /// Checks `node`, which must lie in `from..to`; returns where it ends.
    fn value(&mut self, node: NodeId, value: &Value, from: usize, to: usize) -> Result<usize, String> {
        let doc = self.doc;
        self.nodes += 1;
        let span = doc.span(node);
        if span.start < from || span.end > to || span.is_empty() {
            return Err(format!("span {span:?} leaves {from}..{to}"));
        }
        same("offset", &doc.offset(node), &span.start)?;
        same("raw", &Some(doc.raw(node).as_bytes()), &doc.bytes().get(span.clone()))?;
        same("kind", &doc.kind(node), &kind_of(value))?;
        match value {
            Value::Null => {}
            Value::Bool(b) => same("bool", &doc.bool(node), &Some(*b))?,
            Value::Number(_) => {
                same("number", &serde_json::from_str::<Value>(doc.raw(node)).ok().as_ref(), &Some(value))?;
                if let Some(n) = value.as_i64() {
                    same("integer", &doc.integer(node), &Some(n))?;
                }
            }
            Value::String(text) => self.string(node, text)?,
            Value::Array(items) => {
                let nodes: Vec<NodeId> = doc.elements(node).collect();
                same("elements", &nodes.len(), &items.len())?;
                let mut at = span.start + 1;
                for (node, item) in nodes.into_iter().zip(items) {
                    at = self.value(node, item, at, span.end - 1)?;
                }
            }
            Value::Object(map) => {
                let mut at = span.start + 1;
                let mut names = std::collections::BTreeSet::new();
                for (key, member) in doc.members(node) {
                    let name = doc.str(key).ok_or("a key is no string")?.into_owned();
                    at = self.value(key, &Value::String(name.clone()), at, span.end - 1)?;
                    let own;
                    let expected = if doc.get(node, &name) == Some(member) {
                        map.get(&name).ok_or("a member too many")?
                    } else {
                        own = serde_json::from_str(doc.raw(member)).map_err(|e| e.to_string())?;
                        &own
                    };
                    at = self.value(member, expected, at, span.end - 1)?;
                    names.insert(name);
                }
                same("names", &names.iter().collect::<Vec<_>>(), &map.keys().collect::<Vec<_>>())?;
            }
        }
        Ok(span.end)
    }

    fn string(&self, node: NodeId, text: &str) -> Result<(), String> {
        let lazy = self.doc.json_str(node).ok_or("no string")?;
        same("str", &self.doc.str(node).as_deref(), &Some(text))?;
        same("is", &(lazy.is(text), lazy.is(&format!("{text}x"))), &(true, false))?;
        same("is_empty", &lazy.is_empty(), &text.is_empty())?;
        let span = self.doc.span(node);
        same("inner", &Some(lazy.raw()), &self.doc.bytes().get(span.start + 1..span.end - 1))
    }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}
