//! Configuration as values with their places, whatever file or variable they come from.

use std::ops::Range;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::mistake::{Mistake, codes};

/// Most bytes of one file.
const MOST: usize = 1 << 20;

/// A text that configuration comes from.
#[derive(Debug)]
pub(crate) struct Source {
    /// As it is shown: the path as it was given, or the variable's name.
    pub(crate) name: String,
    /// What paths in it are relative to.
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
    /// From the environment: there are no lines to speak of.
    pub(crate) variable: bool,
    starts: Vec<usize>,
}

impl Source {
    pub(crate) fn new(name: String, folder: PathBuf, text: String, variable: bool) -> Source {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Source { name, folder, text, variable, starts }
    }

    /// Number of the line from 0, and the column in characters from 1.
    pub(crate) fn line_column(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1) - 1;
        let start = self.starts.get(line).copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset).unwrap_or(&[]);
        // Bytes that do not continue a character.
        (line, before.iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1)
    }

    /// Where a line stands, its end without the line feed.
    pub(crate) fn line(&self, number: usize) -> Range<usize> {
        let start = self.starts.get(number).copied().unwrap_or(self.text.len());
        let end = self.starts.get(number + 1).map_or(self.text.len(), |next| next - 1);
        let carriage = end > start && self.text.as_bytes().get(end - 1) == Some(&b'\r');
        start..if carriage { end - 1 } else { end }
    }
}

/// A stretch of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) source: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) spot: Spot,
}

/// What configuration can hold.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// Dates, and whole numbers that are too large: no key takes them.
    Other,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) spot: Spot,
    pub(crate) node: Node,
}

impl Value {
    /// What kind of value it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Flag(_) => "true or false",
            Value::Whole(_) => "a whole number",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other => "a date, or a number that is too large",
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn items(&self) -> &[Node] {
        if let Value::List(items) = self { items } else { &[] }
    }

    pub(crate) fn members(&self) -> &[Member] {
        if let Value::Table(members) = self { members } else { &[] }
    }
}

impl Node {
    pub(crate) fn table(source: usize) -> Node {
        Node { value: Value::Table(Vec::new()), spot: Spot { source, start: 0, end: 0 } }
    }

    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.value.members().iter().find(|member| member.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.node)
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Member> {
        let Value::Table(members) = &mut self.value else { return None };
        let at = members.iter().position(|member| member.key == key)?;
        Some(members.remove(at))
    }

    /// The node at a way of keys and numbers.
    pub(crate) fn find(&self, way: &[&str]) -> Option<&Node> {
        way.iter().try_fold(self, |node, step| match &node.value {
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => node.get(step),
        })
    }

    /// The way in words, such as `combos[1].strategy`, and the place of its end: of the value, or of what is nearest above
    /// it where there is none.
    pub(crate) fn place(&self, way: &[&str]) -> (String, Spot) {
        let (mut path, mut node, mut spot) = (String::new(), Some(self), self.spot);
        for step in way {
            let listed = node.is_some_and(|node| matches!(node.value, Value::List(_)));
            if listed {
                path.push_str(&format!("[{step}]"));
            } else {
                push(&mut path, step);
            }
            node = node.and_then(|node| node.find(&[step]));
            spot = node.map_or(spot, |node| node.spot);
        }
        (path, spot)
    }

    /// Puts another on top: tables are merged, lists joined (or replaced as anything else is).
    pub(crate) fn merge(&mut self, other: Node, join: bool) {
        match (&mut self.value, other.value) {
            (Value::Table(own), Value::Table(more)) => {
                for member in more {
                    match own.iter_mut().find(|known| known.key == member.key) {
                        Some(known) => known.node.merge(member.node, join),
                        None => own.push(member),
                    }
                }
            }
            (Value::List(own), Value::List(more)) if join => own.extend(more),
            (_, value) => *self = Node { value, spot: other.spot },
        }
    }
}

/// Adds a key to a way in words.
pub(crate) fn push(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(plain) {
        path.push_str(key);
    } else {
        path.push_str(&format!("{:?}", key.chars().take(40).collect::<String>()));
    }
}

/// Reads TOML. What can be read comes back also when there are mistakes.
pub(crate) fn parse(sources: &[Source], at: usize, mistakes: &mut Vec<Mistake>) -> Node {
    let Some(source) = sources.get(at) else { return Node::table(at) };
    if source.text.len() > MOST {
        let message = format!("the file has {} bytes, allowed are {MOST}", source.text.len());
        mistakes.push(Mistake::new(codes::FILE, message).at(Spot { source: at, start: 0, end: 0 }));
        return Node::table(at);
    }
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim_end_matches('.').to_owned();
        let spot = Spot { source: at, start: span.start, end: span.end };
        mistakes.push(Mistake::new(codes::SYNTAX, message).at(spot));
    }
    let spot = spot(at, table.span());
    Node { value: table_of(at, table.into_inner()), spot: Spot { end: spot.start, ..spot } }
}

fn spot(source: usize, span: Range<usize>) -> Spot {
    Spot { source, start: span.start, end: span.end }
}

fn table_of(source: usize, table: DeTable<'_>) -> Value {
    let mut members: Vec<Member> = table
        .into_iter()
        .map(|(key, value)| Member {
            spot: spot(source, key.span()),
            key: key.into_inner().into_owned(),
            node: node_of(source, value),
        })
        .collect();
    members.sort_by_key(|member| member.spot.start); // the order of the file
    Value::Table(members)
}

fn node_of(source: usize, value: toml::Spanned<DeValue<'_>>) -> Node {
    let spot = spot(source, value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Other, Value::Whole)
        }
        DeValue::Float(number) => number.as_str().parse().map_or(Value::Other, Value::Number),
        DeValue::Datetime(_) => Value::Other,
        DeValue::Array(list) => Value::List(list.into_iter().map(|item| node_of(source, item)).collect()),
        DeValue::Table(table) => table_of(source, table),
    };
    Node { value, spot }
}
