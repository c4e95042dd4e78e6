//! The configuration of a router: connections, providers of one's own, combos, other names, compression.

use std::fmt;

use omniroute_route::{ComboConfig, OptionMap, OptionValue, StepConfig};

use crate::config::read::{Reader, join};
use crate::config::tree::{self, Member, Node, Value};
use crate::config::{Config, ConfigErrors, Mistake, Place};

const SECTIONS: &[&str] = &["connections", "providers", "combos", "models", "routing", "compression"];
const CONNECTION: &[&str] =
    &["id", "key", "env", "base_url", "wire", "values", "account", "billing", "disabled", "only_named"];
const PROVIDER: &[&str] = &["id", "wire", "base_url", "models"];
const MODEL: &[&str] = &["id", "context", "max_output", "input_usd", "output_usd", "tools", "vision"];
const COMBO: &[&str] = &["name", "strategy", "account_strategy", "steps", "compression", "options"];
const STEP: &[&str] =
    &["model", "combo", "weight", "connections", "tags", "label", "prompt", "only_on_quota_exhaustion"];
const ROUTING: &[&str] = &[
    "seed",
    "max_attempts",
    "same_target_retries",
    "set_retries",
    "fallback_delay",
    "target_timeout",
    "deadline",
    "explore",
    "queue",
    "session_affinity",
    "cache_affinity",
];
const ACCOUNTS: &[&str] = &["free", "standard", "pro", "ultra"];
const BILLINGS: &[&str] = &["metered", "subscription", "free"];

/// A key: itself, or the name of the variable that holds it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Key {
    Itself(String),
    Variable(String),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Itself(_) => f.write_str("Itself(..)"),
            Key::Variable(name) => write!(f, "Variable({name})"),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionLine {
    pub(super) id: String,
    pub(super) key: Option<Key>,
    pub(super) base_url: Option<String>,
    pub(super) wire: Option<String>,
    pub(super) values: Vec<(String, String)>,
    pub(super) account: Option<String>,
    pub(super) billing: Option<String>,
    pub(super) disabled: bool,
    pub(super) only_named: Option<bool>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ProviderLine {
    pub(super) id: String,
    pub(super) wire: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) models: Vec<ModelLine>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ModelLine {
    pub(super) id: String,
    pub(super) context: Option<u64>,
    pub(super) max_output: Option<u64>,
    pub(super) input_usd: Option<f64>,
    pub(super) output_usd: Option<f64>,
    pub(super) tools: Option<bool>,
    pub(super) vision: Option<bool>,
}

/// What holds for all routes; none: the router's own default.
#[derive(Debug, Clone, Default)]
pub(super) struct Routing {
    pub(super) seed: u64,
    pub(super) max_attempts: Option<u32>,
    pub(super) same_target_retries: Option<u32>,
    pub(super) set_retries: Option<u32>,
    pub(super) fallback_delay: Option<f64>,
    pub(super) target_timeout: Option<f64>,
    pub(super) deadline: Option<f64>,
    pub(super) explore: Option<bool>,
    pub(super) queue: Option<bool>,
    pub(super) session_affinity: Option<bool>,
    pub(super) cache_affinity: Option<bool>,
}

/// Everything a router is made from. Reads no file, no environment, no network.
///
/// ```
/// use omniroute::router::RouterConfig;
/// let errors = RouterConfig::from_toml("[[connections]]\nid = \"openai\"\nkye = \"x\"\n").unwrap_err();
/// assert_eq!(
///     errors.to_string(),
///     "line 2, column 6: connections[0].id: \"openai\" is not provider/name; \
///      line 3, column 1: connections[0].kye: this key is not known; did you mean \"key\"?"
/// );
/// ```
#[derive(Debug, Clone, Default)]
pub struct RouterConfig {
    pub(super) connections: Vec<ConnectionLine>,
    pub(super) providers: Vec<ProviderLine>,
    pub(super) combos: Vec<ComboConfig>,
    pub(super) aliases: Vec<(String, String)>,
    pub(super) routing: Routing,
    pub(super) compression: Config,
}

impl RouterConfig {
    /// Reads TOML.
    ///
    /// # Errors
    /// Every mistake with line and column. No message shows a key.
    pub fn from_toml(text: &str) -> Result<RouterConfig, ConfigErrors> {
        let mut mistakes = Vec::new();
        let root = tree::from_toml(text, &mut mistakes);
        document(&root, mistakes)
    }

    /// Reads a JSON object.
    ///
    /// # Errors
    /// Every mistake with the way to its value. No message shows a key.
    pub fn from_json(text: &str) -> Result<RouterConfig, ConfigErrors> {
        let mut mistakes = Vec::new();
        let root = tree::from_json(text, &mut mistakes);
        document(&root, mistakes)
    }

    /// Where random numbers start.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.routing.seed = seed;
        self
    }
}

fn document(root: &Node, mistakes: Vec<Mistake>) -> Result<RouterConfig, ConfigErrors> {
    let mut read = Read { reader: Reader { mistakes }, plans: Vec::new() };
    let mut config = RouterConfig::default();
    for member in read.reader.table("", root) {
        let (path, node) = (member.key.as_str(), &member.node);
        match path {
            "connections" => config.connections = read.list(path, node, Read::connection),
            "providers" => config.providers = read.list(path, node, Read::provider),
            "combos" => config.combos = read.list(path, node, Read::combo),
            "models" => read.models(path, node, &mut config.aliases),
            "routing" => config.routing = read.routing(path, node),
            "compression" => {
                let members = read.reader.table(path, node);
                read.reader.compression(path, members, &mut config.compression);
            }
            key => read.reader.unknown("", member, key, SECTIONS.iter().copied()),
        }
    }
    let mut mistakes = read.reader.mistakes;
    // A section with mistakes of its own tells them, and nothing about names.
    let sound = !mistakes.iter().any(|mistake| mistake.path().starts_with("compression"));
    for (plan, path, place) in
        read.plans.iter().filter(|(plan, ..)| sound && !config.compression.knows_plan(plan))
    {
        let hint = config.compression.plan_hint(plan);
        let shown = Value::Text(plan.clone()).shown();
        let message = format!("{shown} is not a plan, an engine or one of compression.combos{hint}");
        mistakes.push(Mistake::new(path.clone(), message, *place));
    }
    if mistakes.is_empty() {
        return Ok(config);
    }
    mistakes.sort_by_key(|mistake| mistake.place().map(|place| (place.line, place.column)));
    Err(ConfigErrors(mistakes))
}

/// Walks the tree.
struct Read {
    reader: Reader,
    /// Plans of compression that combos name, with their places.
    plans: Vec<(String, String, Option<Place>)>,
}

impl Read {
    fn list<T>(
        &mut self,
        path: &str,
        node: &Node,
        mut each: impl FnMut(&mut Self, &str, &Node) -> T,
    ) -> Vec<T> {
        let Value::List(items) = &node.value else {
            self.reader.wrong(path, node, "a list of tables");
            return Vec::new();
        };
        items.iter().enumerate().map(|(n, item)| each(self, &format!("{path}[{n}]"), item)).collect()
    }

    fn owned(&mut self, path: &str, node: &Node) -> Option<String> {
        self.reader.text(path, node).map(str::to_owned)
    }

    fn texts(&mut self, path: &str, node: &Node) -> Vec<String> {
        let Value::List(items) = &node.value else {
            self.reader.wrong(path, node, "a list of strings");
            return Vec::new();
        };
        items.iter().enumerate().filter_map(|(n, item)| self.owned(&format!("{path}[{n}]"), item)).collect()
    }

    fn number(&mut self, path: &str, node: &Node, low: f64, high: f64) -> Option<f64> {
        let number = number(&node.value).filter(|number| (low..=high).contains(number));
        if number.is_none() {
            self.reader.wrong(path, node, &format!("a number from {low} to {high}"));
        }
        number
    }

    fn whole(&mut self, path: &str, node: &Node, low: u32, high: u32) -> Option<u32> {
        let found = self.reader.size(path, node, low.into(), high.into())?;
        u32::try_from(found).ok()
    }

    fn word(&mut self, path: &str, node: &Node, words: &[&str]) -> Option<String> {
        let word = self.owned(path, node)?;
        if words.contains(&word.as_str()) {
            return Some(word);
        }
        self.reader.wrong(path, node, &format!("one of {}", words.join(", ")));
        None
    }

    fn missing(&mut self, at: &str, node: &Node, key: &str) {
        self.reader.mistakes.push(Mistake::new(at, format!("\"{key}\" is missing"), node.place));
    }

    fn connection(&mut self, at: &str, node: &Node) -> ConnectionLine {
        let mut line = ConnectionLine::default();
        let mut named = None;
        for member in self.reader.table(at, node) {
            let (path, node) = (join(at, &member.key), &member.node);
            match member.key.as_str() {
                "id" => named = self.owned(&path, node).map(|id| (id, node)),
                "key" => self.key(&path, member, &mut line.key),
                "env" => match self.owned(&path, node) {
                    Some(name) if line.key.is_none() => line.key = Some(Key::Variable(name)),
                    Some(_) => self.twice(&path, member),
                    None => {}
                },
                "base_url" => line.base_url = self.owned(&path, node),
                "wire" => line.wire = self.owned(&path, node),
                "values" => {
                    for value in self.reader.table(&path, node) {
                        let inner = join(&path, &value.key);
                        let text = self.owned(&inner, &value.node);
                        line.values.extend(text.map(|text| (value.key.clone(), text)));
                    }
                }
                "account" => line.account = self.word(&path, node, ACCOUNTS),
                "billing" => line.billing = self.word(&path, node, BILLINGS),
                "disabled" => line.disabled = self.reader.switch(&path, node).unwrap_or(false),
                "only_named" => line.only_named = self.reader.switch(&path, node),
                key => self.reader.unknown(at, member, key, CONNECTION.iter().copied()),
            }
        }
        match named {
            None => self.missing(at, node, "id"),
            Some((id, node)) => {
                let parts = id.split_once('/');
                if parts.is_none_or(|(provider, name)| provider.is_empty() || name.is_empty()) {
                    self.reader.wrong(&join(at, "id"), node, "provider/name");
                }
                line.id = id;
            }
        }
        line
    }

    /// A key is never shown, whatever is wrong with it.
    fn key(&mut self, path: &str, member: &Member, key: &mut Option<Key>) {
        let found = match &member.node.value {
            Value::Text(text) if !text.is_empty() => Some(Key::Itself(text.clone())),
            Value::Table(members) => match members.as_slice() {
                [one] if one.key == "env" => match &one.node.value {
                    Value::Text(name) => Some(Key::Variable(name.clone())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        match found {
            Some(_) if key.is_some() => self.twice(path, member),
            Some(found) => *key = Some(found),
            None => {
                let rule = "has to be the key itself or { env = \"NAME\" }";
                self.reader.mistakes.push(Mistake::new(path, rule, member.node.place));
            }
        }
    }

    fn twice(&mut self, path: &str, member: &Member) {
        let rule = "\"key\" and \"env\" say the same; keep one";
        self.reader.mistakes.push(Mistake::new(path, rule, member.place));
    }

    fn provider(&mut self, at: &str, node: &Node) -> ProviderLine {
        let mut line = ProviderLine::default();
        for member in self.reader.table(at, node) {
            let (path, node) = (join(at, &member.key), &member.node);
            match member.key.as_str() {
                "id" => line.id = self.owned(&path, node).unwrap_or_default(),
                "wire" => line.wire = self.owned(&path, node),
                "base_url" => line.base_url = self.owned(&path, node),
                "models" => line.models = self.list(&path, node, Read::model),
                key => self.reader.unknown(at, member, key, PROVIDER.iter().copied()),
            }
        }
        if line.id.is_empty() {
            self.missing(at, node, "id");
        }
        line
    }

    fn model(&mut self, at: &str, node: &Node) -> ModelLine {
        let mut line = ModelLine::default();
        if let Value::Text(id) = &node.value {
            line.id.clone_from(id);
            return line;
        }
        for member in self.reader.table(at, node) {
            let (path, node) = (join(at, &member.key), &member.node);
            let mut tokens = || self.reader.size(&path, node, 1, 1 << 40).map(|n| n as u64);
            match member.key.as_str() {
                "id" => line.id = self.owned(&path, node).unwrap_or_default(),
                "context" => line.context = tokens(),
                "max_output" => line.max_output = tokens(),
                "input_usd" => line.input_usd = self.number(&path, node, 0.0, 1e6),
                "output_usd" => line.output_usd = self.number(&path, node, 0.0, 1e6),
                "tools" => line.tools = self.reader.switch(&path, node),
                "vision" => line.vision = self.reader.switch(&path, node),
                key => self.reader.unknown(at, member, key, MODEL.iter().copied()),
            }
        }
        if line.id.is_empty() {
            self.missing(at, node, "id");
        }
        line
    }

    fn combo(&mut self, at: &str, node: &Node) -> ComboConfig {
        let mut combo = ComboConfig::default();
        let mut compression = None;
        for member in self.reader.table(at, node) {
            let (path, node) = (join(at, &member.key), &member.node);
            match member.key.as_str() {
                "name" => combo.name = self.owned(&path, node).unwrap_or_default(),
                "strategy" => combo.strategy = self.owned(&path, node).unwrap_or_default(),
                "account_strategy" => combo.account_strategy = self.owned(&path, node),
                "compression" => compression = self.owned(&path, node).map(|plan| (plan, path, node)),
                "steps" => combo.steps = self.list(&path, node, Read::step),
                "options" => combo.options = self.options(&path, node),
                key => self.reader.unknown(at, member, key, COMBO.iter().copied()),
            }
        }
        if let Some((plan, path, node)) = compression {
            if combo.options.contains_key("compression") {
                let rule = "\"options.compression\" says the same; keep one";
                self.reader.mistakes.push(Mistake::new(path.clone(), rule, node.place));
            }
            self.plans.push((plan.clone(), path, node.place));
            combo.options.insert("compression".to_owned(), OptionValue::Text(plan));
        }
        if combo.name.is_empty() {
            self.missing(at, node, "name");
        }
        if combo.strategy.is_empty() {
            self.missing(at, node, "strategy");
        }
        combo
    }

    fn step(&mut self, at: &str, node: &Node) -> StepConfig {
        if let Value::Text(model) = &node.value {
            return StepConfig::model(model);
        }
        let mut step = StepConfig::default();
        for member in self.reader.table(at, node) {
            let (path, node) = (join(at, &member.key), &member.node);
            match member.key.as_str() {
                "model" => step.model = self.owned(&path, node),
                "combo" => step.combo = self.owned(&path, node),
                "weight" => step.weight = self.number(&path, node, 0.0, 100.0),
                "connections" => step.accounts = Some(self.texts(&path, node)),
                "tags" => step.tags = self.texts(&path, node),
                "label" => step.label = self.owned(&path, node),
                "prompt" => step.prompt = self.owned(&path, node),
                "only_on_quota_exhaustion" => {
                    step.only_on_quota_exhaustion = self.reader.switch(&path, node).unwrap_or(false);
                }
                key => self.reader.unknown(at, member, key, STEP.iter().copied()),
            }
        }
        step
    }

    /// Settings of strategies: their names and bounds are the strategies' own.
    fn options(&mut self, at: &str, node: &Node) -> OptionMap {
        let mut out = OptionMap::new();
        for member in self.reader.table(at, node) {
            match option(&member.node.value) {
                Some(value) => {
                    out.insert(member.key.clone(), value);
                }
                None => {
                    let path = join(at, &member.key);
                    self.reader.wrong(&path, &member.node, "a number, a text, a flag, a list or a table");
                }
            }
        }
        out
    }

    fn models(&mut self, at: &str, node: &Node, aliases: &mut Vec<(String, String)>) {
        for member in self.reader.table(at, node) {
            let path = join(at, &member.key);
            if member.key != "aliases" {
                self.reader.unknown(at, member, &member.key, ["aliases"].into_iter());
                continue;
            }
            for alias in self.reader.table(&path, &member.node) {
                let to = self.owned(&join(&path, &alias.key), &alias.node);
                aliases.extend(to.map(|to| (alias.key.clone(), to)));
            }
        }
    }

    fn routing(&mut self, at: &str, node: &Node) -> Routing {
        let mut out = Routing::default();
        for member in self.reader.table(at, node) {
            let (path, node) = (join(at, &member.key), &member.node);
            match member.key.as_str() {
                "seed" => out.seed = self.reader.size(&path, node, 0, i64::MAX as u64).unwrap_or(0) as u64,
                "max_attempts" => out.max_attempts = self.whole(&path, node, 1, 30),
                "same_target_retries" => out.same_target_retries = self.whole(&path, node, 0, 5),
                "set_retries" => out.set_retries = self.whole(&path, node, 0, 10),
                "fallback_delay" => out.fallback_delay = self.number(&path, node, 0.0, 5.0),
                "target_timeout" => out.target_timeout = self.number(&path, node, 1.0, 600.0),
                "deadline" => out.deadline = self.number(&path, node, 2.0, 86_400.0),
                "explore" => out.explore = self.reader.switch(&path, node),
                "queue" => out.queue = self.reader.switch(&path, node),
                "session_affinity" => out.session_affinity = self.reader.switch(&path, node),
                "cache_affinity" => out.cache_affinity = self.reader.switch(&path, node),
                key => self.reader.unknown(at, member, key, ROUTING.iter().copied()),
            }
        }
        out
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "settings are far below 2^53, and bounds are checked")]
        Value::Int(number) => Some(*number as f64),
        Value::Other(text) => text.parse().ok(),
        _ => None,
    }
}

fn option(value: &Value) -> Option<OptionValue> {
    Some(match value {
        Value::Text(text) => OptionValue::Text(text.clone()),
        Value::Bool(flag) => OptionValue::Flag(*flag),
        Value::Int(_) | Value::Other(_) => OptionValue::Number(number(value)?),
        Value::List(items) => {
            OptionValue::List(items.iter().map(|item| option(&item.value)).collect::<Option<_>>()?)
        }
        Value::Table(members) => {
            let one = |member: &Member| Some((member.key.clone(), option(&member.node.value)?));
            OptionValue::Map(members.iter().map(one).collect::<Option<_>>()?)
        }
    })
}
