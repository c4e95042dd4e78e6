//! Every value that holds, with where it comes from.

use serde_json::{Value as Plain, json};

use super::Sources;
use super::check::sections;
use super::schema::{Key, Kind, ROOT, STEP};
use super::tree::{Node, Value, push};

/// Where a value comes from if nobody said it.
const BUILT_IN: &str = "built-in";

/// A value.
#[derive(Debug)]
pub(super) struct Shown {
    path: String,
    /// As it is written in TOML.
    value: String,
    origin: String,
}

/// All values of a configuration without errors, in the order of the list of keys.
pub(super) fn values(sources: &Sources) -> Vec<Shown> {
    let mut showing = Showing { sources, out: Vec::new() };
    showing.table("", Some(&sources.root), ROOT);
    showing.out
}

/// What options of the command line say.
pub(super) fn options(values: &mut Vec<Shown>, seed: Option<u64>, connections: &[String]) {
    if let Some(seed) = seed {
        for shown in values.iter_mut().filter(|shown| shown.path == "routing.seed") {
            (shown.value, shown.origin) = (seed.to_string(), "option --seed".to_owned());
        }
    }
    let before =
        values.iter().filter(|shown| shown.path.starts_with("connections[") && shown.path.ends_with("].id"));
    let before = before.count();
    for (at, id) in connections.iter().enumerate() {
        let path = format!("connections[{}].id", before + at);
        values.push(Shown { path, value: quoted(id), origin: "option --connection".to_owned() });
    }
}

/// One line for each.
pub(super) fn text(values: &[Shown], origin: bool) -> String {
    let width = values.iter().map(|shown| shown.path.chars().count() + shown.value.chars().count() + 3);
    let width = width.filter(|width| *width <= 72).max().unwrap_or(0);
    let mut out = String::new();
    for Shown { path, value, origin: from } in values {
        let line = format!("{path} = {value}");
        match origin {
            true => out.push_str(&format!("{line:width$}  # {from}\n")),
            false => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

/// The document for programs.
pub(super) fn json(values: &[Shown]) -> Plain {
    let one = |shown: &Shown| json!({ "path": shown.path, "value": shown.value, "origin": shown.origin });
    json!({ "values": values.iter().map(one).collect::<Vec<_>>() })
}

struct Showing<'s> {
    sources: &'s Sources,
    out: Vec<Shown>,
}

impl Showing<'_> {
    fn table(&mut self, path: &str, node: Option<&Node>, keys: &[Key]) {
        for key in keys {
            let mut inner = path.to_owned();
            push(&mut inner, key.name);
            let found = node.and_then(|node| node.get(key.name));
            match (key.kind, found) {
                (Kind::Table(keys), found) => self.table(&inner, found, keys),
                (Kind::Tables(keys), Some(node)) => {
                    for (at, item) in node.value.items().iter().enumerate() {
                        self.table(&format!("{inner}[{at}]"), Some(item), keys);
                    }
                }
                (Kind::Steps, Some(node)) => {
                    for (at, item) in node.value.items().iter().enumerate() {
                        let path = format!("{inner}[{at}]");
                        match item.value {
                            Value::Table(_) => self.table(&path, Some(item), STEP),
                            _ => self.leaf(path, item),
                        }
                    }
                }
                (Kind::Resilience, found) => {
                    let knobs = sections::read(&self.sources.root, &mut Vec::new()).1;
                    self.tree(&inner, &serde_json::to_value(knobs).unwrap_or_default(), found);
                }
                (Kind::Compression, found) => {
                    let mode =
                        found.is_none_or(|node| node.get("plan").is_none() && node.get("mode").is_none());
                    for (key, value) in [("enabled", "true"), ("mode", "\"safe\""), ("strict", "false")] {
                        if found.is_none_or(|node| node.get(key).is_none()) && (key != "mode" || mode) {
                            self.push(format!("{inner}.{key}"), value.to_owned(), BUILT_IN.to_owned());
                        }
                    }
                    if let Some(node) = found {
                        self.all(&inner, node);
                    }
                }
                (Kind::Names | Kind::Numbers | Kind::Options, Some(node)) => self.all(&inner, node),
                (_, Some(node)) => self.leaf(inner, node),
                (_, None) if key.default.is_empty() || key.required() => {}
                // Said in its older spelling.
                (_, None)
                    if twin(key.name).is_some_and(|old| node.is_some_and(|node| node.get(old).is_some())) => {
                }
                (_, None) => self.push(inner, key.default.to_owned(), BUILT_IN.to_owned()),
            }
        }
    }

    /// Everything below a node, as it was said.
    fn all(&mut self, path: &str, node: &Node) {
        match &node.value {
            Value::Table(members) => {
                for member in members {
                    let mut inner = path.to_owned();
                    push(&mut inner, &member.key);
                    self.all(&inner, &member.node);
                }
            }
            Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))) => {
                for (at, item) in items.iter().enumerate() {
                    self.all(&format!("{path}[{at}]"), item);
                }
            }
            _ => self.leaf(path.to_owned(), node),
        }
    }

    /// The numbers of resilience, with the places of those that somebody said.
    fn tree(&mut self, path: &str, value: &Plain, node: Option<&Node>) {
        match value {
            Plain::Object(members) => {
                for (key, value) in members {
                    let mut inner = path.to_owned();
                    push(&mut inner, key);
                    self.tree(&inner, value, node.and_then(|node| node.get(key)));
                }
            }
            Plain::Null => {}
            value => {
                let origin = node.map_or_else(|| BUILT_IN.to_owned(), |node| self.origin(node));
                self.push(path.to_owned(), value.to_string(), origin);
            }
        }
    }

    fn leaf(&mut self, path: String, node: &Node) {
        let (value, origin) = (self.value(node), self.origin(node));
        self.push(path, value, origin);
    }

    fn push(&mut self, path: String, value: String, origin: String) {
        self.out.push(Shown { path, value, origin });
    }

    /// A value as it is written; secrets as stars.
    fn value(&self, node: &Node) -> String {
        match &node.value {
            Value::Text(_) if self.sources.hidden.contains(&node.spot) => "\"***\"".to_owned(),
            Value::Text(text) => quoted(text),
            Value::Flag(flag) => flag.to_string(),
            Value::Whole(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::List(items) => {
                format!("[{}]", items.iter().map(|item| self.value(item)).collect::<Vec<_>>().join(", "))
            }
            Value::Table(members) => {
                let one =
                    |member: &super::tree::Member| format!("{} = {}", member.key, self.value(&member.node));
                format!("{{ {} }}", members.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Value::Other => "?".to_owned(),
        }
    }

    fn origin(&self, node: &Node) -> String {
        let Some(source) = self.sources.list.get(node.spot.source) else { return BUILT_IN.to_owned() };
        if source.variable {
            return format!("variable {}", source.name);
        }
        format!("{}:{}", source.name, source.line_column(node.spot.start).0 + 1)
    }
}

/// The older spelling of a key.
fn twin(name: &str) -> Option<&'static str> {
    super::check::TWINS.iter().find(|(new, _)| *new == name).map(|(_, old)| *old)
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
