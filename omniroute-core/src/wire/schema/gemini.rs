//! The two dialects of Gemini.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::Dialect;
use super::keywords::{FORMATS, NUMBERS, told};
use super::tree::{Map, Node};

/// Deepest nesting that is sent, and most references in a row that are followed.
const DEEPEST: usize = 64;
/// Room for what references copy, beside four times the schema: 64 KiB.
const ROOM: usize = 64 << 10;

/// A schema on its way into a dialect.
pub(super) struct Fit<'d, 'r> {
    dialect: Dialect,
    /// The whole schema as it was given: what references point into.
    pub(super) root: &'r Node<'d>,
    /// What may still be copied.
    pub(super) room: usize,
    pub(super) changed: BTreeSet<String>,
    /// References that are being resolved.
    open: Vec<String>,
}

impl<'d, 'r> Fit<'d, 'r> {
    pub(super) fn new(dialect: Dialect, root: &'r Node<'d>, bytes: usize) -> Self {
        let room = ROOM + bytes.saturating_mul(4);
        Fit { dialect, root, room, changed: BTreeSet::new(), open: Vec::new() }
    }

    /// Names a keyword that is left out or said in another way.
    pub(super) fn change(&mut self, keyword: &str) {
        if !self.changed.contains(keyword) {
            self.changed.insert(keyword.chars().take(64).collect());
        }
    }

    /// A schema in the dialect. `true`, `false` and what is no schema become the schema that allows everything.
    pub(super) fn schema(&mut self, node: Node<'d>, depth: usize) -> Node<'d> {
        let Node::Map(map) = node else {
            self.change(if node.raw() == "true" { "true" } else { "false" });
            return Node::Map(Map::default());
        };
        if depth > DEEPEST {
            let cut = anything(&map);
            if cut != map {
                self.change("nesting");
            }
            return Node::Map(cut);
        }
        let open = self.open.len();
        let map = self.keywords(map, depth);
        self.open.truncate(open);
        Node::Map(map)
    }

    fn openapi(&self) -> bool {
        self.dialect == Dialect::GeminiOpenapi
    }

    fn keywords(&mut self, mut map: Map<'d>, depth: usize) -> Map<'d> {
        self.together(&mut map);
        let mut notes = Vec::new();
        self.numbers(&mut map);
        self.values(&mut map);
        self.lists(&mut map);
        if self.openapi() {
            self.types(&mut map);
            self.enums(&mut map, &mut notes);
            self.rest(&mut map, &mut notes);
        }
        self.required(&mut map);
        self.limits(&mut map, &mut notes);
        self.choose(&mut map, &mut notes);
        self.inner(&mut map, depth);
        describe(&mut map, &notes);
        map
    }

    /// References, and schemas that hold at once.
    fn together(&mut self, map: &mut Map<'d>) {
        let older = map.take("definitions");
        if older.is_some() {
            self.change("definitions");
        }
        if let Some(old) = older.filter(|_| !self.openapi()) {
            match (map.0.iter_mut().find(|(name, _)| name == "$defs"), old) {
                (Some((_, Node::Map(defs))), Node::Map(more)) => defs.0.extend(more.0),
                (_, old) => map.0.push(("$defs".into(), old)),
            }
        } else if self.openapi() && map.take("$defs").is_some() {
            self.change("$defs");
        }
        for _ in 0..DEEPEST {
            if let Some(reference) = map.get("$ref").and_then(Node::chars) {
                if !self.openapi() {
                    self.keep_reference(map, &reference);
                    if map.has("$ref") {
                        break; // nothing else may stand beside it
                    }
                    continue;
                }
                map.take("$ref");
                self.change("$ref");
                let shut = self.open.contains(&reference) || self.open.len() >= DEEPEST;
                let says = ["type", "anyOf", "oneOf", "allOf", "enum", "const"];
                match (!shut).then(|| self.target(&reference)).flatten() {
                    Some(target) => {
                        self.both(map, target);
                        self.open.push(reference);
                    }
                    // A circle, or a way to nowhere: what stands beside it is all that can be said.
                    None if !says.iter().any(|key| map.has(key)) => map.set("type", Node::text("object")),
                    None => {}
                }
            } else if self.openapi() && map.has("oneOf") {
                self.one_of(map);
            } else if self.openapi() && self.without_null(map) {
                // What is left of it holds.
            } else if let Some(list) = map.take("allOf") {
                self.change("allOf");
                self.all_of(map, list);
            } else {
                break;
            }
        }
    }

    /// A reference stays one, but nothing may stand beside it.
    fn keep_reference(&mut self, map: &mut Map<'d>, reference: &str) {
        let moved = reference.strip_prefix("#/definitions/").map(|rest| format!("#/$defs/{rest}"));
        if let Some(moved) = &moved {
            self.change("$ref");
            map.set("$ref", Node::text(moved));
        }
        if map.0.iter().all(|(name, _)| name.starts_with('$')) {
            return;
        }
        self.change("$ref");
        let inner = map.take("$ref").into_iter().map(|node| Map(vec![("$ref".into(), node)]));
        let inner: Vec<Node<'d>> = inner.map(Node::Map).collect();
        if map.has("anyOf") {
            let mut all = match map.take("allOf") {
                Some(Node::List(list)) => list,
                _ => Vec::new(),
            };
            all.extend(inner);
            map.0.push(("allOf".into(), Node::List(all)));
        } else {
            map.0.push(("anyOf".into(), Node::List(inner)));
        }
    }

    fn one_of(&mut self, map: &mut Map<'d>) {
        self.change("oneOf");
        match (map.has("anyOf"), map.take("oneOf")) {
            (false, Some(list)) => map.0.push(("anyOf".into(), list)),
            (true, Some(list)) => self.lost("oneOf", &list),
            (_, None) => {}
        }
    }

    /// A choice with `null` is one among the others that may be null.
    fn without_null(&mut self, map: &mut Map<'d>) -> bool {
        let Some((_, Node::List(list))) = map.0.iter_mut().find(|(name, _)| name == "anyOf") else {
            return false;
        };
        let before = list.len();
        list.retain(|branch| !is_null(branch));
        if list.len() == before {
            return false;
        }
        let left = list.len();
        self.change("anyOf");
        self.change("type");
        map.set("nullable", Node::Raw("true".into()));
        if left < 2 {
            let rest = map.take("anyOf");
            if let Some(rest) = rest.filter(|_| left == 1) {
                self.all_of(map, rest);
            }
        }
        true
    }

    fn all_of(&mut self, map: &mut Map<'d>, list: Node<'d>) {
        let Node::List(list) = list else { return };
        let only = list.len() == 1;
        for branch in list {
            let Node::Map(mut branch) = branch else { continue };
            let reference = branch.get("$ref").and_then(Node::chars);
            let Some(reference) = reference else {
                self.both(map, branch);
                continue;
            };
            let alone = only && branch.0.len() == 1 && !map.has("anyOf") && !self.openapi();
            if alone {
                map.0.push(("anyOf".into(), Node::List(vec![Node::Map(branch)])));
                continue;
            }
            branch.take("$ref");
            self.change("$ref");
            self.both(map, branch);
            if self.open.contains(&reference) || self.open.len() >= DEEPEST {
                // What it would add is being added, further out.
                if self.openapi() && !map.has("type") {
                    map.set("type", Node::text("object"));
                }
                continue;
            }
            let moved = reference.strip_prefix("#/$defs/").map(|rest| format!("#/definitions/{rest}"));
            let found = self.target(&reference).or_else(|| self.target(&moved?));
            if let Some(target) = found {
                self.both(map, target);
            }
            self.open.push(reference);
        }
    }

    /// Numbers that are written as strings.
    fn numbers(&mut self, map: &mut Map<'d>) {
        for (key, value) in &mut map.0 {
            let quoted = NUMBERS.contains(&key.as_ref()).then(|| value.chars()).flatten();
            if let Some(number) = quoted.filter(|text| number(text).is_some()) {
                *value = Node::Raw(number.into());
                self.changed.insert(key.to_string());
            }
        }
    }

    /// One value only is a list of one.
    fn values(&mut self, map: &mut Map<'d>) {
        if let Some(value) = map.take("const") {
            self.change("const");
            map.set("enum", Node::List(vec![value]));
        }
    }

    /// Lists with a schema for each place.
    fn lists(&mut self, map: &mut Map<'d>) {
        if matches!(map.get("items"), Some(Node::List(_)))
            && let Some(list) = map.take("items")
        {
            self.change("items");
            map.set("prefixItems", list);
        }
        if !self.openapi() {
            return;
        }
        if let Some(Node::List(list)) = map.take("prefixItems") {
            self.change("prefixItems");
            for key in ["minItems", "maxItems"] {
                if !map.has(key) {
                    map.set(key, Node::Raw(list.len().to_string().into()));
                }
            }
            let mut choice = list;
            choice.extend(map.take("items").filter(|rest| matches!(rest, Node::Map(_))));
            map.set("items", Node::Map(Map(vec![("anyOf".into(), Node::List(choice))])));
        }
        if map.get("type").is_some_and(|t| t.raw() == "\"array\"") && !map.has("items") {
            self.change("items");
            map.set("items", Node::Map(Map(vec![("type".into(), Node::text("string"))])));
        }
    }

    /// One type, which may be null.
    fn types(&mut self, map: &mut Map<'d>) {
        let Some((_, value)) = map.0.iter_mut().find(|(name, _)| name == "type") else { return };
        if value.raw() == "\"null\"" {
            *value = Node::List(vec![Node::text("null")]);
        }
        let Node::List(list) = value else { return };
        let mut types: Vec<Node<'d>> = std::mem::take(list);
        let all = types.len();
        types.retain(|t| t.raw() != "\"null\"");
        let nullable = types.len() < all;
        self.changed.insert("type".to_owned());
        match types.len() {
            1 => *value = types.remove(0),
            _ => {
                map.take("type");
                if !map.has("anyOf") && !types.is_empty() {
                    let branches = types.into_iter().map(|kind| branch(map, kind)).collect();
                    map.0.push(("anyOf".into(), Node::List(branches)));
                }
            }
        }
        if nullable {
            map.set("nullable", Node::Raw("true".into()));
        }
    }

    /// Lists of strings stay; others are told.
    fn enums(&mut self, map: &mut Map<'d>, notes: &mut Vec<String>) {
        let Some((_, Node::List(list))) = map.0.iter_mut().find(|(name, _)| name == "enum") else { return };
        let all = list.len();
        list.retain(|value| value.raw() != "null");
        let nullable = list.len() < all;
        let strings = list.iter().all(|value| value.raw().starts_with('"'));
        let kind = match list.iter().map(Node::raw).collect::<Vec<_>>().as_slice() {
            [] => None,
            raws if raws.iter().all(|raw| raw.starts_with('"')) => Some("string"),
            raws if raws.iter().all(|raw| matches!(*raw, "true" | "false")) => Some("boolean"),
            raws if raws.iter().all(|raw| raw.parse::<i64>().is_ok()) => Some("integer"),
            raws if raws.iter().all(|raw| number(raw).is_some()) => Some("number"),
            _ => None,
        };
        if nullable {
            self.change("enum");
            map.set("nullable", Node::Raw("true".into()));
        }
        if !strings || kind.is_none() {
            self.change("enum");
            if let Some(list) = map.take("enum").filter(|_| kind.is_some() || !strings) {
                notes.extend(told("enum", &list.written(64), None));
            }
        }
        if let Some(kind) = kind.filter(|_| !map.has("type")) {
            self.change("enum");
            map.0.insert(0, ("type".into(), Node::text(kind)));
        }
    }

    /// Formats, and the type of what has properties.
    fn rest(&mut self, map: &mut Map<'d>, notes: &mut Vec<String>) {
        let odd = map.get("format").and_then(Node::chars).filter(|f| !FORMATS.contains(&f.as_str()));
        if let Some(format) = odd {
            map.take("format");
            self.change("format");
            notes.extend(told("format", "", Some(&format)));
        }
        if map.has("properties") && !map.has("type") {
            self.change("type");
            map.0.insert(0, ("type".into(), Node::text("object")));
        }
    }

    /// Each name once; older hosts take only names of properties that there are.
    fn required(&mut self, map: &mut Map<'d>) {
        let names: HashSet<Cow<'d, str>> = match map.get("properties") {
            Some(Node::Map(inner)) => inner.0.iter().map(|(name, _)| name.clone()).collect(),
            _ => HashSet::new(),
        };
        if map.get("required").is_some_and(|names| !matches!(names, Node::List(_))) {
            map.take("required");
            self.change("required");
        }
        let any = !self.openapi();
        let Some((_, Node::List(list))) = map.0.iter_mut().find(|(name, _)| name == "required") else {
            return;
        };
        let all = list.len();
        let mut seen = HashSet::new();
        list.retain(|name| match name.chars() {
            Some(name) => (any || names.contains(name.as_str())) && seen.insert(name),
            None => false,
        });
        if list.len() < all {
            self.changed.insert("required".to_owned());
            if list.is_empty() {
                map.take("required");
            }
        }
    }

    /// Limits that a value must not reach: the next whole number is one that it may, where numbers are whole.
    fn limits(&mut self, map: &mut Map<'d>, notes: &mut Vec<String>) {
        let whole = map.get("type").is_some_and(|t| t.raw() == "\"integer\"");
        for (from, to, step) in [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)] {
            let Some(limit) = map.take(from) else { continue };
            self.change(from);
            let old = map.get(to).map(|node| node.raw().to_owned());
            // An older way of writing it: the limit stands beside a switch.
            let limit = match (limit.raw(), &old) {
                ("true", Some(old)) => old.clone(),
                ("true" | "false", _) => continue,
                (raw, _) => raw.to_owned(),
            };
            let (Some(value), next) =
                (number(&limit), limit.parse::<i64>().ok().and_then(|n| n.checked_add(step)))
            else {
                continue;
            };
            let reached = match next.filter(|_| whole) {
                Some(next) => next.to_string(),
                None => {
                    notes.extend(told(from, &limit, None));
                    limit
                }
            };
            let weaker = old.as_deref().and_then(number).is_none_or(|old| match step {
                1 => old <= value,
                _ => old >= value,
            });
            if weaker {
                map.set(to, Node::Raw(reached.into()));
            }
        }
    }

    /// Keywords that the dialect does not know are told or just named.
    fn choose(&mut self, map: &mut Map<'d>, notes: &mut Vec<String>) {
        let all = std::mem::take(&mut map.0);
        for (key, value) in all {
            if self.dialect.knows(&key) {
                map.0.push((key, value));
                continue;
            }
            self.change(&key);
            if value.size(256) < 256 {
                notes.extend(told(&key, &value.written(64), value.chars().as_deref()));
            }
        }
    }

    /// The schemas inside.
    fn inner(&mut self, map: &mut Map<'d>, depth: usize) {
        for (key, value) in &mut map.0 {
            match (key.as_ref(), &mut *value) {
                ("properties" | "$defs", Node::Map(named)) => {
                    for (_, node) in &mut named.0 {
                        let inner = std::mem::replace(node, Node::List(Vec::new()));
                        *node = self.schema(inner, depth + 1);
                    }
                }
                ("anyOf" | "oneOf" | "prefixItems", Node::List(list)) => {
                    for node in list {
                        let inner = std::mem::replace(node, Node::List(Vec::new()));
                        *node = self.schema(inner, depth + 1);
                    }
                }
                ("additionalProperties", Node::Raw(_)) => {}
                ("items" | "additionalProperties", node) => {
                    let inner = std::mem::replace(node, Node::List(Vec::new()));
                    *node = self.schema(inner, depth + 1);
                }
                _ => {}
            }
        }
    }
}

/// One of several types, with what says something of it alone.
fn branch<'d>(map: &mut Map<'d>, kind: Node<'d>) -> Node<'d> {
    let own: &'static [&'static str] = match kind.raw() {
        "\"array\"" => &["items"],
        "\"object\"" => &["properties", "required"],
        _ => &[],
    };
    let mut out = vec![("type".into(), kind)];
    for key in own {
        out.extend(map.take(key).map(|value| ((*key).into(), value)));
    }
    Node::Map(Map(out))
}

/// A plain type, or an object, that is not described further.
fn anything<'d>(map: &Map<'d>) -> Map<'d> {
    let plain = ["\"string\"", "\"number\"", "\"integer\"", "\"boolean\""];
    let kind = map.get("type").filter(|kind| plain.contains(&kind.raw())).cloned();
    let mut out = Map(vec![("type".into(), kind.unwrap_or_else(|| Node::text("object")))]);
    out.0.extend(map.get("description").map(|text| ("description".into(), text.clone())));
    out
}

fn is_null(branch: &Node<'_>) -> bool {
    let Node::Map(map) = branch else { return false };
    let only = |node: &Node<'_>, word| match node {
        Node::List(list) => matches!(list.as_slice(), [one] if one.raw() == word),
        node => node.raw() == word,
    };
    map.get("type").is_some_and(|t| only(t, "\"null\""))
        || ["const", "enum"].iter().any(|key| map.get(key).is_some_and(|value| only(value, "null")))
}

fn number(text: &str) -> Option<f64> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    Some(text).filter(|_| digits && crate::Doc::check(text).is_ok())?.parse().ok()
}

/// Adds what is left out to the description.
fn describe(map: &mut Map<'_>, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    let mut text = map.get("description").and_then(Node::chars).unwrap_or_default();
    for note in notes {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(note);
    }
    map.set("description", Node::text(&text));
}
