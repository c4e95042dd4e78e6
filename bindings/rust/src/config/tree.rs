//! A configuration as values with their places, the same for TOML and JSON.

use std::ops::Range;

use omniroute_core::{Doc, Kind, NodeId};
use toml::de::{DeTable, DeValue};

use super::error::{Mistake, Place};

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Option<Place>,
}

/// What a configuration can hold.
#[derive(Debug)]
pub(crate) enum Value {
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// Anything no key takes: floats, dates, null; as it was written.
    Other(String),
}

/// A key with its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) place: Option<Place>,
    pub(crate) node: Node,
}

impl Value {
    /// The value as it is named in a message; texts are cut, tables and lists are not shown.
    pub(crate) fn shown(&self) -> String {
        match self {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Text(text) => {
                let cut: String = text.chars().take(40).collect();
                format!("{cut:?}{}", if cut.len() < text.len() { "..." } else { "" })
            }
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::Other(text) => text.clone(),
        }
    }
}

/// Reads TOML. What can be read comes back also when there are mistakes.
pub(crate) fn from_toml(text: &str, mistakes: &mut Vec<Mistake>) -> Node {
    let lines = Lines::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let place = error.span().map(|span| lines.place(span.start));
        mistakes.push(Mistake::new("", error.message().trim_end_matches('.').to_owned(), place));
    }
    let span = table.span();
    Node { value: toml_table(table.into_inner(), &lines), place: Some(lines.place(span.start)) }
}

fn toml_table(table: DeTable<'_>, lines: &Lines<'_>) -> Value {
    let mut members: Vec<(Range<usize>, Member)> = Vec::new();
    for (key, value) in table {
        let span = key.span();
        let member = Member {
            key: key.into_inner().into_owned(),
            place: Some(lines.place(span.start)),
            node: toml_node(value, lines),
        };
        members.push((span, member));
    }
    members.sort_by_key(|(span, _)| span.start); // the order of the file
    Value::Table(members.into_iter().map(|(_, member)| member).collect())
}

fn toml_node(value: toml::Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Node {
    let place = Some(lines.place(value.span().start));
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Other(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Value::Other(number.as_str().to_owned()),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Array(list) => Value::List(list.into_iter().map(|item| toml_node(item, lines)).collect()),
        DeValue::Table(table) => toml_table(table, lines),
    };
    Node { value, place }
}

/// Reads JSON. The text is mostly written by a binding from an object of its language, so mistakes name the way to the
/// value and no line.
pub(crate) fn from_json(text: &str, mistakes: &mut Vec<Mistake>) -> Node {
    match Doc::parse(text.to_owned()) {
        Ok(doc) => json_node(&doc, doc.root()),
        Err(error) => {
            mistakes.push(Mistake::new("", error.to_string(), None));
            Node { value: Value::Table(Vec::new()), place: None }
        }
    }
}

fn json_node(doc: &Doc, node: NodeId) -> Node {
    let value = match doc.kind(node) {
        Kind::String => Value::Text(doc.str(node).unwrap_or_default().into_owned()),
        Kind::Bool => Value::Bool(doc.bool(node) == Some(true)),
        Kind::Number => doc.integer(node).map_or_else(|| Value::Other(doc.raw(node).to_owned()), Value::Int),
        Kind::Null => Value::Other("null".to_owned()),
        Kind::Array => Value::List(doc.elements(node).map(|item| json_node(doc, item)).collect()),
        Kind::Object => Value::Table(
            doc.members(node)
                .map(|(key, value)| Member {
                    key: doc.str(key).unwrap_or_default().into_owned(),
                    place: None,
                    node: json_node(doc, value),
                })
                .collect(),
        ),
    };
    Node { value, place: None }
}

/// Turns byte offsets into lines and columns.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset).unwrap_or(&[]);
        // Bytes that do not continue a character.
        let column = before.iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        Place { line: line as u32, column: column as u32 }
    }
}
