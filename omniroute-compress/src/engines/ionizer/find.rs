//! Where the list of records is in a text: the document itself, a member of it, or one record a line.

use std::fmt::Write as _;

use omniroute_core::{Doc, Kind, NodeId};

/// A list of records.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) doc: Doc,
    /// The elements of the list, in order.
    pub(super) rows: Vec<NodeId>,
    array: NodeId,
}

impl Table {
    /// Finds a list of `least` to `most` elements, nine of ten of which are objects; or says why there is none.
    pub(super) fn find(text: &str, least: usize, most: usize) -> Result<Table, &'static str> {
        let doc = match Doc::parse_with_limit(text.to_owned(), usize::MAX) {
            Ok(doc) => doc,
            Err(_) => lines(text).ok_or("not_json")?,
        };
        let array = longest(&doc).ok_or("few_rows")?;
        let rows: Vec<NodeId> = doc.elements(array).collect();
        if rows.len() < least {
            return Err("few_rows");
        }
        if rows.len() > most {
            return Err("too_many_rows");
        }
        let objects = rows.iter().filter(|row| doc.kind(**row) == Kind::Object).count();
        if objects * 10 < rows.len() * 9 {
            return Err("mixed_rows");
        }
        Ok(Table { doc, rows, array })
    }

    /// `head`, then the document with only the rows `kept`; rows without ids get their number as `#`, from 0.
    pub(super) fn write(&self, head: String, kept: &[usize], has_ids: bool) -> String {
        let (source, span) = (self.doc.source(), self.doc.span(self.array));
        let mut out = head;
        out.push_str(source.get(..span.start).unwrap_or_default());
        out.push('[');
        for (position, n) in kept.iter().enumerate() {
            let Some(row) = self.rows.get(*n) else { continue };
            if position > 0 {
                out.push(',');
            }
            let raw = self.doc.raw(*row);
            match raw.strip_prefix('{') {
                Some(rest) if !has_ids => {
                    let comma = if self.doc.members(*row).next().is_some() { "," } else { "" };
                    let _ = write!(out, "{{\"#\":{n}{comma}");
                    out.push_str(rest.trim_start());
                }
                _ => out.push_str(raw),
            }
        }
        out.push(']');
        out.push_str(source.get(span.end..).unwrap_or_default());
        out
    }
}

/// The document's list, or the longest one among its members and theirs.
fn longest(doc: &Doc) -> Option<NodeId> {
    let root = doc.root();
    if doc.kind(root) == Kind::Array {
        return Some(root);
    }
    let inner = doc.members(root).flat_map(|(_, value)| {
        let below = doc.members(value).map(|(_, value)| value);
        std::iter::once(value).chain(below)
    });
    let lists = inner.filter(|node| doc.kind(*node) == Kind::Array);
    lists
        .map(|list| (doc.elements(list).count(), list))
        .max_by_key(|(count, list)| (*count, std::cmp::Reverse(*list)))
        .map(|(_, list)| list)
}

/// One record a line, as a list.
fn lines(text: &str) -> Option<Doc> {
    let mut list = String::with_capacity(text.len() + 2);
    list.push('[');
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !(line.starts_with('{') && line.ends_with('}')) {
            return None;
        }
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(line);
    }
    list.push(']');
    Doc::parse_with_limit(list, usize::MAX).ok()
}
