//! What every splice must fulfil: outside the edits the bytes are the same, inside they are what was asked for.
//!
//! The expected document is built by rendering the old one container by container, which shares nothing with
//! the cutting that `Doc::splice` does.

use std::collections::BTreeMap;

use omniroute_core::{Doc, Kind, NodeId, Patch};
use serde_json::Value;

/// One wish for one node.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Another value, as JSON.
    Set(String),
    /// Another text; on a key, another name.
    SetText(String),
    /// The element, or the member whose key it is, goes.
    Remove,
    /// An element in front of this one.
    Before(String),
    /// An element at the end of this array.
    Push(String),
    /// A member at the end of this object.
    PushMember(String, String),
}

/// Applies edits; what is judged.
pub(crate) type Splice<'s> = dyn Fn(&Doc, &Edits) -> Result<Vec<u8>, String> + 's;

/// Edits that can be applied together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edits(Vec<(NodeId, Change)>);

/// Numbers that look random and are the same in every run.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

impl Edits {
    /// Edits all over `doc`; about one value in `sparse` is touched, at most every second one.
    pub(crate) fn random(doc: &Doc, random: &mut Random, sparse: usize) -> Edits {
        let mut out = Edits::default();
        out.visit(doc, doc.root(), false, 0, random, sparse.max(2));
        if random.below(2) == 0 {
            // Another order; what is asked of one node keeps its own.
            out.0.sort_by_key(|(node, _)| std::cmp::Reverse(*node));
        }
        out
    }

    /// The same edits as a patch.
    pub(crate) fn patch(&self) -> Patch {
        let mut patch = Patch::new();
        for (node, change) in &self.0 {
            match change {
                Change::Set(json) => patch.set_json(*node, json.as_str()),
                Change::SetText(text) => {
                    patch.set_str(*node, text);
                    Ok(())
                }
                Change::Remove => {
                    patch.remove(*node);
                    Ok(())
                }
                Change::Before(json) => patch.insert_before(*node, json.as_str()),
                Change::Push(json) => patch.push_element(*node, json.as_str()),
                Change::PushMember(name, json) => patch.push_member(*node, name, json.as_str()),
            }
            .expect("snippets are JSON");
        }
        patch
    }

    fn visit(&mut self, doc: &Doc, node: NodeId, element: bool, depth: usize, r: &mut Random, sparse: usize) {
        if element && r.below(sparse) == 0 {
            (0..=r.below(2)).for_each(|_| self.0.push((node, Change::Before(snippet(r)))));
        }
        if r.below(sparse) == 0 {
            let change = match r.below(if element { 4 } else { 2 }) {
                0 if depth < 120 => Change::Set(snippet(r)),
                0 | 1 => Change::SetText(words(r)),
                _ => Change::Remove,
            };
            self.0.push((node, change));
            return;
        }
        let empties = r.below(sparse) == 0;
        match doc.kind(node) {
            Kind::Array => {
                for item in doc.elements(node) {
                    if empties {
                        self.0.push((item, Change::Remove));
                    } else {
                        self.visit(doc, item, true, depth + 1, r, sparse);
                    }
                }
                while depth < 120 && r.below(sparse) == 0 {
                    self.0.push((node, Change::Push(snippet(r))));
                }
            }
            Kind::Object => {
                for (key, value) in doc.members(node) {
                    if empties || r.below(sparse * 2) == 0 {
                        self.0.push((key, Change::Remove));
                        continue;
                    }
                    if r.below(sparse * 2) == 0 {
                        self.0.push((key, Change::SetText(words(r))));
                    }
                    self.visit(doc, value, false, depth + 1, r, sparse);
                }
                while depth < 120 && r.below(sparse) == 0 {
                    self.0.push((node, Change::PushMember(words(r), snippet(r))));
                }
            }
            _ => {}
        }
    }
}

/// `bytes` are accepted like `serde_json` does, and then indexed faithfully and spliced exactly.
pub(crate) fn document(bytes: &[u8]) -> Result<(), String> {
    let parse = |bytes: &[u8]| Doc::parse(bytes.to_vec());
    let Some(doc) = super::doc::agreement(&parse, bytes)? else { return Ok(()) };
    // 128 levels, or a number no float can hold, are beyond serde_json.
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        super::doc::faithful(&doc, &value)?;
    }
    if doc.splice(&Patch::new()).map_err(|e| e.to_string())? != bytes {
        return Err("a splice without edits changed something".into());
    }
    let mut random =
        Random(bytes.iter().fold(7, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)));
    let sparse = 2 + random.below(20);
    check(&doc, &Edits::random(&doc, &mut random, sparse), &real)
}

/// The splice of the crate.
pub(crate) fn real(doc: &Doc, edits: &Edits) -> Result<Vec<u8>, String> {
    doc.splice(&edits.patch()).map(|b| b.to_vec()).map_err(|e| e.to_string())
}

/// `splice` did to `doc` what `edits` say and nothing else.
pub(crate) fn check(doc: &Doc, edits: &Edits, splice: &Splice<'_>) -> Result<(), String> {
    let found = splice(doc, edits)?;
    let mut by_node: BTreeMap<NodeId, Vec<&Change>> = BTreeMap::new();
    for (node, change) in &edits.0 {
        by_node.entry(*node).or_default().push(change);
    }
    let root = doc.span(doc.root());
    let (inner, value) = Render { doc, edits: &by_node }.value(doc.root());
    let source = doc.bytes();
    let parts = [source.get(..root.start).unwrap_or(&[]), &inner, source.get(root.end..).unwrap_or(&[])];
    let expected = parts.concat();
    if found != expected {
        return Err(format!("spliced {:?}, expected {:?}", text(&found), text(&expected)));
    }
    let read = Doc::parse(found.clone()).map_err(|e| format!("the result is no document: {e}"))?;
    // Numbers no float can hold and the 128th level are beyond serde_json.
    let Ok(theirs) = serde_json::from_slice::<Value>(&found) else { return Ok(()) };
    super::doc::faithful(&read, &theirs)?;
    if theirs == value { Ok(()) } else { Err(format!("value {theirs}, expected {value}")) }
}

struct Render<'d> {
    doc: &'d Doc,
    edits: &'d BTreeMap<NodeId, Vec<&'d Change>>,
}

impl Render<'_> {
    fn value(&self, node: NodeId) -> (Vec<u8>, Value) {
        for change in self.of(node) {
            match change {
                Change::Set(json) => return (json.clone().into_bytes(), parsed(json)),
                Change::SetText(text) => {
                    let value = Value::String(text.clone());
                    return (value.to_string().into_bytes(), value);
                }
                _ => {}
            }
        }
        match self.doc.kind(node) {
            Kind::Array => self.array(node),
            Kind::Object => self.object(node),
            _ => (self.doc.raw(node).as_bytes().to_vec(), parsed(self.doc.raw(node))),
        }
    }

    fn array(&self, node: NodeId) -> (Vec<u8>, Value) {
        let mut values = Vec::new();
        let mut list = List::new(self.doc, node);
        for item in self.doc.elements(node) {
            let mut texts: Vec<Vec<u8>> = Vec::new();
            for change in self.of(item) {
                if let Change::Before(json) = change {
                    texts.push(json.clone().into_bytes());
                    values.push(parsed(json));
                }
            }
            if !self.of(item).any(|c| matches!(c, Change::Remove)) {
                let (text, value) = self.value(item);
                texts.push(text);
                values.push(value);
            }
            list.child(self.doc.span(item), texts);
        }
        for change in self.of(node) {
            if let Change::Push(json) = change {
                list.push(json.as_bytes());
                values.push(parsed(json));
            }
        }
        (list.close(), Value::Array(values))
    }

    fn object(&self, node: NodeId) -> (Vec<u8>, Value) {
        let mut values = serde_json::Map::new();
        let mut list = List::new(self.doc, node);
        for (key, member) in self.doc.members(node) {
            let (from, to) = (self.doc.span(key), self.doc.span(member));
            let mut texts = Vec::new();
            if !self.of(key).any(|c| matches!(c, Change::Remove)) {
                let (mut text, name) = self.value(key);
                let (inner, value) = self.value(member);
                text.extend_from_slice(self.doc.bytes().get(from.end..to.start).unwrap_or(&[]));
                text.extend_from_slice(&inner);
                texts.push(text);
                values.insert(name.as_str().unwrap_or("").to_owned(), value);
            }
            list.child(from.start..to.end, texts);
        }
        for change in self.of(node) {
            if let Change::PushMember(name, json) = change {
                list.push(format!("{}:{json}", Value::String(name.clone())).as_bytes());
                values.insert(name.clone(), parsed(json));
            }
        }
        (list.close(), Value::Object(values))
    }

    fn of(&self, node: NodeId) -> impl Iterator<Item = &Change> {
        self.edits.get(&node).into_iter().flatten().copied()
    }
}

/// A container that is written child by child.
struct List<'d> {
    source: &'d [u8],
    /// What is written: the opening bracket and the white space behind it at first.
    out: Vec<u8>,
    /// White space and comma after the last child that was there, not yet written.
    gap: &'d [u8],
    /// Where the source is read to.
    at: usize,
    end: usize,
    children: usize,
    kept: usize,
}

impl<'d> List<'d> {
    fn new(doc: &'d Doc, node: NodeId) -> Self {
        let span = doc.span(node);
        let source: &[u8] = doc.bytes();
        let out = source.get(span.start..span.start + 1).unwrap_or(&[]).to_vec();
        List { source, out, gap: &[], at: span.start + 1, end: span.end - 1, children: 0, kept: 0 }
    }

    /// The next child of the source became `texts`; none if it was removed.
    fn child(&mut self, span: std::ops::Range<usize>, texts: Vec<Vec<u8>>) {
        let before = self.source.get(self.at..span.start).unwrap_or(&[]);
        if self.children == 0 {
            self.out.extend_from_slice(before); // blanks after the bracket
        } else if self.kept > 0 && self.gap.is_empty() {
            self.gap = before;
        }
        self.at = span.end;
        self.children += 1;
        if texts.is_empty() {
            return;
        }
        self.out.extend_from_slice(std::mem::take(&mut self.gap));
        self.out.extend_from_slice(&texts.join(&b','));
        self.kept += 1;
    }

    fn push(&mut self, text: &[u8]) {
        self.blanks();
        if self.kept > 0 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(text);
        self.kept += 1;
    }

    fn close(mut self) -> Vec<u8> {
        self.blanks();
        self.out.extend_from_slice(self.source.get(self.end..=self.end).unwrap_or(&[]));
        self.out
    }

    /// White space in front of the closing bracket, and in front of a comma that is not needed any more.
    fn blanks(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        self.out.extend(gap.iter().take_while(|b| **b != b','));
        self.out.extend_from_slice(self.source.get(self.at..self.end).unwrap_or(&[]));
        self.at = self.end;
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or(Value::Null)
}

fn snippet(r: &mut Random) -> String {
    let all = [
        "null",
        " true ",
        "-0.50",
        "1E5",
        "[]",
        "{}",
        "[1, [2]]",
        "{\"k\" : \"\\u00e9\"}",
        "\"x\\ny\"",
        "\"\"",
    ];
    all.get(r.below(all.len())).copied().unwrap_or("null").to_owned()
}

fn words(r: &mut Random) -> String {
    let all =
        ["", "plain", "a \"b\" \\ c", "line\r\n\tline", "\u{1}\u{1f}\u{7f}", "é🌊\u{2028}", "text", "role"];
    all.get(r.below(all.len())).copied().unwrap_or("").to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
