//! Walks a configuration tree: types, ranges, unknown keys, references; reports everything it finds.

use std::time::Duration;

use omniroute_compress::caveman::Preserve;
use omniroute_compress::{ConfigField, ENGINES, EngineEntry, MemoLimits, Plan, engine};

use super::error::{ConfigErrors, Mistake};
use super::suggest::suggestion;
use super::tree::{Member, Node, Value};
use super::{Config, Count};

const SECTIONS: &[&str] = &["compression"];
const KEYS: &[&str] = &[
    "enabled",
    "plan",
    "mode",
    "strict",
    "max_body_bytes",
    "count",
    "memo",
    "engines",
    "combos",
    "preserve_patterns",
];
const MEMO_KEYS: &[&str] = &["entries", "bytes", "ttl_s"];

/// Reads a document; `mistakes` are those found while it was parsed.
pub(super) fn document(root: &Node, mistakes: Vec<Mistake>) -> Result<Config, ConfigErrors> {
    let mut reader = Reader { mistakes };
    let mut config = Config::default();
    let Value::Table(members) = &root.value else {
        let shown = root.value.shown();
        reader.mistakes.push(Mistake::new("", format!("{shown} is not a table"), root.place));
        return Err(ConfigErrors(reader.mistakes));
    };
    // A host's object may be the section itself.
    let bare = root.place.is_none() && members.iter().any(|m| KEYS.contains(&m.key.as_str()));
    if bare {
        reader.compression("", members, &mut config);
    } else {
        for member in members {
            match (member.key.as_str(), &member.node.value) {
                ("compression", Value::Table(inner)) => reader.compression("compression", inner, &mut config),
                ("compression", _) => reader.wrong("compression", &member.node, "a table"),
                (key, _) => reader.unknown("", member, key, SECTIONS.iter().copied()),
            }
        }
    }
    if reader.mistakes.is_empty() {
        return Ok(config);
    }
    reader.mistakes.sort_by_key(|mistake| mistake.place().map(|place| (place.line, place.column)));
    Err(ConfigErrors(reader.mistakes))
}

/// Collects mistakes while it reads.
pub(crate) struct Reader {
    pub(crate) mistakes: Vec<Mistake>,
}

impl Reader {
    pub(crate) fn compression(&mut self, at: &str, members: &[Member], config: &mut Config) {
        let mut plan: Option<&Member> = None;
        // Combos first: a plan may name one that stands further down.
        for member in members.iter().filter(|m| m.key == "combos") {
            self.combos(&join(at, "combos"), &member.node, config);
        }
        for member in members {
            let path = join(at, &member.key);
            let node = &member.node;
            match member.key.as_str() {
                "enabled" => config.enabled = self.switch(&path, node).unwrap_or(config.enabled),
                "strict" => config.strict = self.switch(&path, node).unwrap_or(config.strict),
                "plan" | "mode" => match plan {
                    Some(first) => {
                        let rule = format!("\"{}\" says the same; keep one", first.key);
                        self.mistakes.push(Mistake::new(path, rule, member.place));
                    }
                    None => {
                        plan = Some(member);
                        self.plan(&path, node, config);
                    }
                },
                "max_body_bytes" => {
                    config.max_body_bytes =
                        self.size(&path, node, 1, u32::MAX.into()).or(config.max_body_bytes);
                }
                "count" => config.count = self.count(&path, node).unwrap_or(config.count),
                "memo" => self.memo(&path, node, config),
                "engines" => self.engines(&path, node, config),
                "combos" => {}
                "preserve_patterns" => self.preserve(&path, node, config),
                key => self.unknown(at, member, key, KEYS.iter().copied()),
            }
        }
    }

    fn plan(&mut self, path: &str, node: &Node, config: &mut Config) {
        let Some(text) = self.text(path, node) else { return };
        if config.knows_plan(text) {
            config.plan = text.to_owned();
            return;
        }
        let list = text.contains(',') || text.contains(':');
        let message = match Plan::parse(text) {
            Err(errors) if list => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            _ => {
                format!(
                    "{} is not a plan, an engine or a combo{}",
                    node.value.shown(),
                    config.plan_hint(text)
                )
            }
        };
        self.mistakes.push(Mistake::new(path, message, node.place));
    }

    fn count(&mut self, path: &str, node: &Node) -> Option<Count> {
        match self.text(path, node)? {
            "estimate" => Some(Count::Estimate),
            #[cfg(feature = "tokens-exact")]
            "exact" => Some(Count::Exact),
            #[cfg(not(feature = "tokens-exact"))]
            "exact" => {
                let rule = "\"exact\" needs a build with the feature tokens-exact";
                self.mistakes.push(Mistake::new(path, rule, node.place));
                None
            }
            _ => {
                self.wrong(path, node, "one of \"estimate\", \"exact\"");
                None
            }
        }
    }

    fn memo(&mut self, path: &str, node: &Node, config: &mut Config) {
        let mut limits = MemoLimits::default();
        for member in self.table(path, node) {
            let inner = join(path, &member.key);
            match member.key.as_str() {
                "entries" => {
                    limits =
                        self.size(&inner, &member.node, 0, 1 << 24).map_or(limits, |n| limits.entries(n));
                }
                "bytes" => {
                    limits = self.size(&inner, &member.node, 0, 1 << 40).map_or(limits, |n| limits.bytes(n));
                }
                "ttl_s" => {
                    let seconds = self.size(&inner, &member.node, 0, 31_536_000);
                    limits = seconds.map_or(limits, |n| limits.ttl(Duration::from_secs(n as u64)));
                }
                key => self.unknown(path, member, key, MEMO_KEYS.iter().copied()),
            }
        }
        config.memo = limits;
    }

    fn engines(&mut self, path: &str, node: &Node, config: &mut Config) {
        for member in self.table(path, node) {
            let inner = join(path, &member.key);
            let Some(entry) = engine(&member.key) else {
                let known = ENGINES.iter().map(|e| e.info.id);
                let hint = suggestion(&member.key, known);
                let message = format!("there is no such engine{hint}");
                self.mistakes.push(Mistake::new(inner, message, member.place));
                continue;
            };
            let settings = self.settings(&inner, &member.node, entry);
            config.engines.entry(entry.info.id.to_owned()).or_default().extend(settings);
        }
    }

    pub(super) fn settings(
        &mut self,
        path: &str,
        node: &Node,
        entry: &EngineEntry,
    ) -> Vec<(String, omniroute_compress::Value)> {
        let mut out = Vec::new();
        for member in self.table(path, node) {
            let Some(field) = entry.fields.iter().find(|f| f.key == member.key) else {
                self.unknown(path, member, &member.key, entry.fields.iter().map(|f| f.key));
                continue;
            };
            let inner = join(path, &member.key);
            if let Some(value) = self.setting(&inner, &member.node, field) {
                out.push((member.key.clone(), value));
            }
        }
        out
    }

    fn setting(&mut self, path: &str, node: &Node, field: &ConfigField) -> Option<omniroute_compress::Value> {
        use omniroute_compress::Value as Setting;
        match (&field.default, &node.value) {
            (Setting::Bool(_), Value::Bool(value)) => Some(Setting::Bool(*value)),
            (Setting::Int(_), Value::Int(value)) if (field.min..=field.max).contains(value) => {
                Some(Setting::Int(*value))
            }
            (Setting::Word(_), Value::Text(word)) if field.choices.contains(&word.as_str()) => {
                Some(Setting::from(word.clone()))
            }
            (Setting::List(_), Value::List(items)) => {
                let text = |item: &Node| match &item.value {
                    Value::Text(text) => Some(text.clone()),
                    _ => None,
                };
                let list: Option<Vec<String>> = items.iter().map(text).collect();
                let list = list.map(Setting::from).filter(|list| field.accepts(list));
                if list.is_none() {
                    self.wrong(path, node, &field.allowed());
                }
                list
            }
            _ => {
                self.wrong(path, node, &field.allowed());
                None
            }
        }
    }

    fn preserve(&mut self, path: &str, node: &Node, config: &mut Config) {
        let Value::List(items) = &node.value else {
            self.wrong(path, node, "a list of regular expressions");
            return;
        };
        let mut patterns = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let at = format!("{path}[{n}]");
            let Some(text) = self.text(&at, item) else { continue };
            if let Err(errors) = Preserve::of([text]) {
                let message = errors.to_string();
                let message = message.strip_prefix("preserve_patterns[0]: ").unwrap_or(&message).to_owned();
                self.mistakes.push(Mistake::new(at, message, item.place));
            }
            patterns.push(text);
        }
        match Preserve::of(&patterns) {
            Ok(preserve) => config.preserve = preserve,
            Err(_) if patterns.len() > 50 => {
                let message = format!("{} patterns are more than 50", patterns.len());
                self.mistakes.push(Mistake::new(path, message, node.place));
            }
            // Named above.
            Err(_) => {}
        }
    }

    pub(crate) fn table<'n>(&mut self, path: &str, node: &'n Node) -> &'n [Member] {
        match &node.value {
            Value::Table(members) => members,
            _ => {
                self.wrong(path, node, "a table");
                &[]
            }
        }
    }

    pub(crate) fn text<'n>(&mut self, path: &str, node: &'n Node) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) => Some(text),
            _ => {
                self.wrong(path, node, "a string");
                None
            }
        }
    }

    pub(crate) fn switch(&mut self, path: &str, node: &Node) -> Option<bool> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.wrong(path, node, "true or false");
                None
            }
        }
    }

    pub(crate) fn size(&mut self, path: &str, node: &Node, min: u64, max: u64) -> Option<usize> {
        let number = match node.value {
            Value::Int(number) => u64::try_from(number).ok().filter(|n| (min..=max).contains(n)),
            _ => None,
        };
        if number.is_none() {
            self.wrong(path, node, &format!("a whole number from {min} to {max}"));
        }
        number.and_then(|n| usize::try_from(n).ok())
    }

    pub(crate) fn wrong(&mut self, path: &str, node: &Node, rule: &str) {
        let message = format!("{} is not {rule}", node.value.shown());
        self.mistakes.push(Mistake::new(path, message, node.place));
    }

    pub(crate) fn unknown<'a>(
        &mut self,
        at: &str,
        member: &Member,
        key: &str,
        known: impl Iterator<Item = &'a str>,
    ) {
        let hint = suggestion(key, known);
        self.mistakes.push(Mistake::new(join(at, key), format!("this key is not known{hint}"), member.place));
    }
}

pub(crate) fn join(at: &str, key: &str) -> String {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') && !key.is_empty();
    let key = if plain { key.to_owned() } else { format!("{:?}", key.chars().take(40).collect::<String>()) };
    if at.is_empty() { key } else { format!("{at}.{key}") }
}
