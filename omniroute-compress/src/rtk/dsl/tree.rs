//! One tree for JSON and TOML: values with their byte offsets, so that both readers share all checks.

use omniroute_core::{Doc, Kind, NodeId};
use toml::de::{DeTable, DeValue};

use super::error::FilterErrorKind;
use super::limits::NESTING;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Byte offset of its first character.
    pub(crate) at: usize,
    /// What it is.
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A string; `content` is the offset of its first character if it has no escapes.
    Str { text: String, content: Option<usize> },
    /// A whole number.
    Int(i64),
    /// A switch.
    Bool(bool),
    /// A list.
    List(Vec<Node>),
    /// A table or object, in the order of the file.
    Table(Vec<Member>),
    /// Something no filter file needs, by its name.
    Other(&'static str),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The key.
    pub(crate) key: String,
    /// Byte offset of the key.
    pub(crate) at: usize,
    /// The value.
    pub(crate) value: Node,
}

impl Node {
    /// Name of its type, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Str { .. } => "a string",
            Value::Int(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(name) => name,
        }
    }
}

/// A mistake and its byte offset.
pub(crate) type Placed = (usize, FilterErrorKind);

/// Reads JSON. Duplicate keys are mistakes; all of them are reported.
pub(crate) fn from_json(text: &str) -> Result<Node, Vec<Placed>> {
    let doc = Doc::parse(text.as_bytes().to_vec())
        .map_err(|e| vec![(e.offset(), FilterErrorKind::Syntax(format!("not JSON: {}", e.detail())))])?;
    let mut mistakes = Vec::new();
    let root = json_node(&doc, doc.root(), 1, &mut mistakes);
    if mistakes.is_empty() { Ok(root) } else { Err(mistakes) }
}

fn json_node(doc: &Doc, id: NodeId, depth: usize, mistakes: &mut Vec<Placed>) -> Node {
    let at = doc.offset(id);
    let value = match doc.kind(id) {
        Kind::Null => Value::Other("null"),
        Kind::Bool => Value::Bool(doc.bool(id).unwrap_or(false)),
        Kind::Number => doc.integer(id).map_or(Value::Other("a number that is not whole"), Value::Int),
        Kind::String => {
            let text = doc.str(id).unwrap_or_default().into_owned();
            let plain = doc.raw(id).len() == text.len() + 2;
            Value::Str { text, content: plain.then_some(at + 1) }
        }
        Kind::Array | Kind::Object if depth > NESTING => too_deep(at, mistakes),
        Kind::Array => {
            Value::List(doc.elements(id).map(|n| json_node(doc, n, depth + 1, mistakes)).collect())
        }
        Kind::Object => {
            let mut members: Vec<Member> = Vec::new();
            for (key, value) in doc.members(id) {
                let name = doc.str(key).unwrap_or_default().into_owned();
                let at = doc.offset(key);
                members.push(Member { key: name, at, value: json_node(doc, value, depth + 1, mistakes) });
            }
            duplicates(&members, mistakes);
            Value::Table(members)
        }
    };
    Node { at, value }
}

/// Reads TOML. All mistakes of the syntax are reported.
pub(crate) fn from_toml(text: &str) -> Result<Node, Vec<Placed>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let table = table.into_inner();
    let mut mistakes: Vec<Placed> =
        errors.iter().map(|e| (e.span().map_or(0, |s| s.start), syntax(e.message()))).collect();
    if mistakes.is_empty() {
        let root = toml_table(text, table, 0, 1, &mut mistakes);
        if mistakes.is_empty() {
            return Ok(root);
        }
    } else {
        dismantle(DeValue::Table(table));
    }
    Err(mistakes)
}

/// Drops a tree level by level: the parser bounds inline tables and dotted keys, but not their product, and a
/// recursive drop of thousands of levels could exhaust the stack.
fn dismantle(value: DeValue<'_>) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            DeValue::Array(items) => pending.extend(items.into_iter().map(|v| v.into_inner())),
            DeValue::Table(table) => pending.extend(table.into_iter().map(|(_, v)| v.into_inner())),
            _ => {}
        }
    }
}

fn syntax(message: &str) -> FilterErrorKind {
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    FilterErrorKind::Syntax(format!("not TOML: {}", line.trim().trim_end_matches('.')))
}

fn toml_table(text: &str, table: DeTable<'_>, at: usize, depth: usize, mistakes: &mut Vec<Placed>) -> Node {
    if depth > NESTING {
        dismantle(DeValue::Table(table));
        return Node { at, value: too_deep(at, mistakes) };
    }
    let mut members: Vec<Member> = Vec::with_capacity(table.len());
    for (key, value) in table {
        let value = toml_node(text, value.span().start, value.into_inner(), depth + 1, mistakes);
        members.push(Member { at: key.span().start, key: key.into_inner().into_owned(), value });
    }
    members.sort_by_key(|m| m.at);
    Node { at, value: Value::Table(members) }
}

fn toml_node(text: &str, at: usize, value: DeValue<'_>, depth: usize, mistakes: &mut Vec<Placed>) -> Node {
    let value = match value {
        DeValue::String(s) => {
            let rest = text.as_bytes().get(at..).unwrap_or(&[]);
            let quotes = if rest.starts_with(b"\"\"\"") || rest.starts_with(b"'''") { 3 } else { 1 };
            let plain = rest.get(quotes..).is_some_and(|content| content.starts_with(s.as_bytes()));
            Value::Str { text: s.into_owned(), content: plain.then_some(at + quotes) }
        }
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
            .map_or(Value::Other("a number beyond 64 bits"), Value::Int),
        DeValue::Float(_) => Value::Other("a number that is not whole"),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(_) if depth > NESTING => {
            dismantle(value);
            too_deep(at, mistakes)
        }
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .map(|v| toml_node(text, v.span().start, v.into_inner(), depth + 1, mistakes))
                .collect(),
        ),
        DeValue::Table(table) => return toml_table(text, table, at, depth, mistakes),
    };
    Node { at, value }
}

fn too_deep(at: usize, mistakes: &mut Vec<Placed>) -> Value {
    let detail = format!("tables and lists are nested more than {NESTING} deep");
    mistakes.push((at, FilterErrorKind::Syntax(detail)));
    Value::Other("a value nested too deeply")
}

fn duplicates(members: &[Member], mistakes: &mut Vec<Placed>) {
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key).then(a.at.cmp(&b.at)));
    for pair in sorted.windows(2) {
        if let [a, b] = pair
            && a.key == b.key
        {
            mistakes.push((
                b.at,
                FilterErrorKind::Syntax(format!(
                    "key \"{}\" is given twice",
                    super::error::short(&b.key, 64)
                )),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(result: Result<Node, Vec<Placed>>) -> Vec<(usize, String)> {
        result.unwrap_err().into_iter().map(|(at, kind)| (at, kind.to_string())).collect()
    }

    #[test]
    fn both_formats_give_the_same_tree_with_places() {
        let json = from_json(r#"{"a": ["x\n", 3], "b": true}"#).unwrap();
        let toml = from_toml("a = [\"x\\n\", 3]\nb = true\n").unwrap();
        let shape = |node: &Node| match &node.value {
            Value::Table(members) => {
                members.iter().map(|m| (m.key.clone(), m.value.type_name())).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        };
        assert_eq!(shape(&json), shape(&toml));
        let Value::Table(members) = &toml.value else { panic!("a table") };
        assert_eq!(members.iter().map(|m| (m.at, m.value.at)).collect::<Vec<_>>(), [(0, 4), (15, 19)]);
        let Value::Table(members) = from_toml("a = '''x'''\nb = \"\\t\"").unwrap().value else {
            panic!("a table")
        };
        let content = |m: &Member| match &m.value.value {
            Value::Str { content, .. } => *content,
            _ => None,
        };
        assert_eq!(members.iter().map(content).collect::<Vec<_>>(), [Some(7), None]);
    }

    #[test]
    fn mistakes_have_places() {
        assert_eq!(
            messages(from_json(r#"{"a": 1, "b": {"a": 1, "a": 2}, "a": 3}"#)),
            [(23, "key \"a\" is given twice".to_owned()), (32, "key \"a\" is given twice".to_owned()),]
        );
        assert_eq!(messages(from_json("{")).len(), 1);
        assert_eq!(messages(from_toml("a = 1\nb = \nc = ]\n")).len(), 2);
    }

    #[test]
    fn nesting_is_bounded_however_it_is_written() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(from_json(&deep(NESTING)).is_ok());
        assert_eq!(
            messages(from_json(&deep(NESTING + 1)))[0].1,
            "tables and lists are nested more than 64 deep"
        );
        assert!(from_toml(&format!("a = {}", deep(NESTING - 1))).is_ok());
        assert_eq!(messages(from_toml(&format!("a = {}", deep(NESTING)))).len(), 1);
        let dotted = vec!["a"; 70].join(".");
        let product = format!("x = {}1{}", format!("{{ {dotted} = ").repeat(70), " }".repeat(70));
        assert_eq!(messages(from_toml(&product))[0].1, "tables and lists are nested more than 64 deep");
    }
}
