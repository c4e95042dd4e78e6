//! Walks values along the list of keys: kinds, words, ranges, keys that nobody reads. What is right comes out as plain
//! values, times in milliseconds and sizes in bytes; what is wrong is told and left out.

use serde_json::{Map, Value as Plain, json};

use super::mistake::{Mistake, codes, nearest};
use super::schema::{Key, Kind, STEP, wires};
use super::tree::{Member, Node, Spot, Value, push};
use super::units;

/// Walks values.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    pub(crate) mistakes: Vec<Mistake>,
    /// Texts that are no secrets: lines that are shown may show them.
    pub(crate) open: Vec<Spot>,
}

impl Walker {
    /// A table.
    pub(crate) fn table(&mut self, path: &str, node: &Node, keys: &[Key]) -> Option<Plain> {
        let Value::Table(members) = &node.value else {
            self.kind(path, node, "a table");
            return None;
        };
        let mut out = Map::new();
        for member in members {
            let mut inner = path.to_owned();
            push(&mut inner, &member.key);
            match keys.iter().find(|key| key.name == member.key) {
                None => self.unknown(inner, member, keys.iter().map(|key| key.name)),
                Some(key) => {
                    if let Some(value) = self.value(&inner, &member.node, key.kind) {
                        out.insert(member.key.clone(), value);
                    }
                }
            }
        }
        let mut whole = true;
        for key in keys.iter().filter(|key| key.required()) {
            if !members.iter().any(|member| member.key == key.name) {
                let mut inner = path.to_owned();
                push(&mut inner, key.name);
                let message = format!("{:?} is missing", key.name);
                self.mistakes
                    .push(Mistake::new(codes::MISSING, message).placed((inner, node.spot)).help(key.about));
            }
            whole &= out.contains_key(key.name);
        }
        whole.then_some(Plain::Object(out))
    }

    /// A value of a kind. None: something is wrong with it, and that is told.
    pub(crate) fn value(&mut self, path: &str, node: &Node, kind: Kind) -> Option<Plain> {
        match (kind, &node.value) {
            (Kind::Flag, Value::Flag(flag)) => Some(json!(flag)),
            (Kind::Whole(from, to), Value::Whole(number)) => self.range(
                path,
                node,
                json!(number),
                (from..=to).contains(number),
                &format!("{from} to {to}"),
            ),
            (Kind::Number(from, to), Value::Whole(_) | Value::Number(_)) => {
                let number = number(&node.value);
                self.range(
                    path,
                    node,
                    json!(number),
                    (from..=to).contains(&number),
                    &format!("{from} to {to}"),
                )
            }
            (Kind::Text | Kind::Strategy, Value::Text(text)) => {
                if !holds_password(text) {
                    self.open.push(node.spot);
                }
                if text.is_empty() {
                    let mistake = Mistake::new(codes::NAME, "the text is empty");
                    self.mistakes.push(mistake.placed((path.to_owned(), node.spot)));
                    return None;
                }
                Some(json!(text))
            }
            (Kind::Words(words), Value::Text(text)) => self.word(path, node, text, words),
            (Kind::Wire, Value::Text(text)) => self.word(path, node, text, &wires()),
            (Kind::Span(from, to), Value::Text(text)) => {
                self.open.push(node.spot);
                let read = units::span(text);
                let allowed = format!(
                    "a whole number with ms, s, m, h or d, from {} to {}",
                    units::told_span(from),
                    units::told_span(to)
                );
                self.measure(path, node, read, from, to, codes::SPAN, allowed)
            }
            (Kind::Size(from, to), Value::Text(text)) => {
                self.open.push(node.spot);
                let read = units::size(text);
                let allowed = format!(
                    "a whole number with B, KiB, MiB or GiB, from {} to {}",
                    units::told_size(from),
                    units::told_size(to)
                );
                self.measure(path, node, read, from, to, codes::SIZE, allowed)
            }
            (Kind::Span(..), _) => {
                self.kind(path, node, "a time such as \"30s\"");
                None
            }
            (Kind::Size(..), _) => {
                self.kind(path, node, "a size such as \"16MiB\"");
                None
            }
            (Kind::Texts, Value::List(items)) => {
                self.list(path, items, |walker, path, item| walker.value(path, item, Kind::Text))
            }
            (Kind::Secret, _) => self.secret(path, node),
            (Kind::Secrets, Value::List(items)) => self.list(path, items, Walker::secret),
            (Kind::Hash, Value::Text(text)) => Some(json!(text)),
            (Kind::Table(keys), _) => self.table(path, node, keys),
            (Kind::Tables(keys), Value::List(items)) => {
                self.list(path, items, |walker, path, item| walker.table(path, item, keys))
            }
            (Kind::Steps, Value::List(items)) => {
                self.list(path, items, |walker, path, item| match &item.value {
                    Value::Text(_) => {
                        walker.value(path, item, Kind::Text).map(|model| json!({"model": model}))
                    }
                    Value::Table(_) => walker.table(path, item, STEP),
                    _ => {
                        walker.kind(path, item, "a model, or a table with model or combo");
                        None
                    }
                })
            }
            (Kind::Names | Kind::Numbers, Value::Table(members)) => {
                let mut out = Map::new();
                let inner = if matches!(kind, Kind::Names) { Kind::Text } else { Kind::Number(0.0, 1_000.0) };
                for member in members {
                    let mut path = path.to_owned();
                    push(&mut path, &member.key);
                    if let Some(value) = self.value(&path, &member.node, inner) {
                        out.insert(member.key.clone(), value);
                    }
                }
                Some(Plain::Object(out))
            }
            (Kind::Options | Kind::Compression | Kind::Resilience, Value::Table(_)) => self.plain(path, node),
            _ => {
                self.kind(path, node, words(kind));
                None
            }
        }
    }

    /// Values as they are, for readers of their own.
    fn plain(&mut self, path: &str, node: &Node) -> Option<Plain> {
        Some(match &node.value {
            Value::Flag(flag) => json!(flag),
            Value::Whole(number) => json!(number),
            Value::Number(number) if number.is_finite() => json!(number),
            Value::Text(text) => {
                if !holds_password(text) {
                    self.open.push(node.spot);
                }
                json!(text)
            }
            Value::List(items) => return self.list(path, items, Walker::plain),
            Value::Table(members) => {
                let mut out = Map::new();
                for member in members {
                    let mut inner = path.to_owned();
                    push(&mut inner, &member.key);
                    if let Some(value) = self.plain(&inner, &member.node) {
                        out.insert(member.key.clone(), value);
                    }
                }
                Plain::Object(out)
            }
            Value::Number(_) | Value::Other => {
                self.kind(path, node, "a finite number, a text, true or false, a list or a table");
                return None;
            }
        })
    }

    fn list(
        &mut self,
        path: &str,
        items: &[Node],
        mut each: impl FnMut(&mut Walker, &str, &Node) -> Option<Plain>,
    ) -> Option<Plain> {
        // What is wrong stays as null, so that the others keep their numbers.
        let each = |(at, item)| each(self, &format!("{path}[{at}]"), item).unwrap_or(Plain::Null);
        Some(Plain::Array(items.iter().enumerate().map(each).collect()))
    }

    fn secret(&mut self, path: &str, node: &Node) -> Option<Plain> {
        let wrong = |walker: &mut Walker, spot: Spot, message: &str| {
            let mistake = Mistake::new(codes::SECRET, message).placed((path.to_owned(), spot));
            walker.mistakes.push(mistake.allowed("{ env = \"NAME\" } or { file = \"PATH\" }"));
            None
        };
        match &node.value {
            Value::Text(text) if text.trim().is_empty() => wrong(self, node.spot, "the secret is empty"),
            Value::Text(text) => {
                Some(json!({ "plain": text, "start": node.spot.start, "source": node.spot.source }))
            }
            Value::Table(members) => match members.as_slice() {
                [Member { key, node, .. }] if key == "env" || key == "file" => match &node.value {
                    Value::Text(text) if variable(text) || (key == "file" && !text.is_empty()) => {
                        self.open.push(node.spot);
                        Some(json!({ key: text, "source": node.spot.source }))
                    }
                    // It may be the secret itself.
                    _ if key == "env" => wrong(self, node.spot, "this is no name of a variable"),
                    _ => wrong(self, node.spot, "this is no path"),
                },
                _ => wrong(self, node.spot, "a secret is said in one way, by env or by file"),
            },
            _ => wrong(self, node.spot, "this is no secret"),
        }
    }

    fn word(&mut self, path: &str, node: &Node, text: &str, words: &[&str]) -> Option<Plain> {
        self.open.push(node.spot);
        if words.contains(&text) {
            return Some(json!(text));
        }
        let mistake = Mistake::new(codes::WORD, format!("{} is not allowed here", shown(text)));
        let mistake = mistake.placed((path.to_owned(), node.spot)).allowed(words.join(", "));
        self.mistakes.push(mistake.meant(text, words.iter().copied()));
        None
    }

    fn range(&mut self, path: &str, node: &Node, value: Plain, fits: bool, allowed: &str) -> Option<Plain> {
        if fits {
            return Some(value);
        }
        if path == "config_version" {
            let mistake = Mistake::new(codes::VERSION, format!("version {value} of the file is not known"));
            let mistake = mistake.placed((path.to_owned(), node.spot)).allowed(allowed);
            self.mistakes.push(mistake.help("it was written for another release of this program"));
            return None;
        }
        let value = if value.is_null() { "this number".to_owned() } else { value.to_string() };
        let mistake = Mistake::new(codes::RANGE, format!("{value} is not allowed here"));
        self.mistakes.push(mistake.placed((path.to_owned(), node.spot)).allowed(allowed));
        None
    }

    #[expect(clippy::too_many_arguments, reason = "two kinds of measures, told alike")]
    fn measure(
        &mut self,
        path: &str,
        node: &Node,
        read: Option<u64>,
        from: u64,
        to: u64,
        code: &'static str,
        allowed: String,
    ) -> Option<Plain> {
        let text = node.value.text().unwrap_or_default();
        let what = match read {
            Some(value) if (from..=to).contains(&value) => return Some(json!(value)),
            Some(_) => "is not allowed here",
            None if code == codes::SPAN => "is no time",
            None => "is no size",
        };
        let mistake = Mistake::new(code, format!("{} {what}", shown(text)));
        self.mistakes.push(mistake.placed((path.to_owned(), node.spot)).allowed(allowed));
        None
    }

    fn kind(&mut self, path: &str, node: &Node, wanted: &str) {
        let mistake = Mistake::new(codes::KIND, format!("this is {}", node.value.kind()));
        self.mistakes.push(mistake.placed((path.to_owned(), node.spot)).allowed(wanted));
    }

    pub(crate) fn unknown<'k>(
        &mut self,
        path: String,
        member: &Member,
        known: impl Iterator<Item = &'k str>,
    ) {
        let known: Vec<&str> = known.collect();
        let key: String = member.key.chars().take(40).collect();
        let mut mistake =
            Mistake::new(codes::UNKNOWN, format!("unknown key {key:?}")).placed((path, member.spot));
        mistake.suggestion = nearest(&member.key, known.iter().copied());
        self.mistakes.push(if mistake.suggestion.is_some() {
            mistake
        } else {
            mistake.allowed(known.join(", "))
        });
    }
}

/// A text as it is named in a message, cut.
pub(crate) fn shown(text: &str) -> String {
    if holds_password(text) {
        return "this address, which holds a name or password,".to_owned();
    }
    let cut: String = text.chars().take(60).collect();
    format!("{cut:?}{}", if cut.len() < text.len() { "…" } else { "" })
}

/// An address with a name or password in it.
fn holds_password(text: &str) -> bool {
    text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'))
}

/// Whether a text can name a variable.
pub(crate) fn variable(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    // Keys of vendors are all of that too: nobody gives variables such long names with small letters and digits.
    let key = text.len() > 24
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
        && text.bytes().any(|byte| byte.is_ascii_digit());
    text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
        && text.len() <= 100
        && text.bytes().all(word)
        && !key
}

#[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
fn number(value: &Value) -> f64 {
    match value {
        Value::Whole(number) => *number as f64,
        Value::Number(number) => *number,
        _ => f64::NAN,
    }
}

/// What a kind takes, in words.
pub(crate) fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "true or false",
        Kind::Whole(..) => "a whole number",
        Kind::Number(..) => "a number",
        Kind::Text | Kind::Words(_) | Kind::Wire | Kind::Strategy | Kind::Hash => "a text",
        Kind::Span(..) => "a time",
        Kind::Size(..) => "a size",
        Kind::Texts => "a list of texts",
        Kind::Secret => "a secret",
        Kind::Secrets => "a list of secrets",
        Kind::Tables(_) => "a list of tables",
        Kind::Steps => "a list of models or tables",
        Kind::Table(_)
        | Kind::Names
        | Kind::Numbers
        | Kind::Options
        | Kind::Compression
        | Kind::Resilience => "a table",
    }
}
