//! Settings of plan steps: which keys an engine knows, their types, ranges and defaults.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A switch.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A word.
    Word(Cow<'static, str>),
    /// Texts, each of them one entry.
    List(Vec<String>),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<&'static str> for Value {
    fn from(value: &'static str) -> Self {
        Value::Word(Cow::Borrowed(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Word(Cow::Owned(value))
    }
}

impl From<Vec<String>> for Value {
    fn from(value: Vec<String>) -> Self {
        Value::List(value)
    }
}

impl From<&[&str]> for Value {
    fn from(value: &[&str]) -> Self {
        Value::List(value.iter().map(|text| (*text).to_owned()).collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => b.fmt(f),
            Value::Int(i) => i.fmt(f),
            Value::Word(word) => word.fmt(f),
            Value::List(list) => write!(f, "{list:?}"),
        }
    }
}

/// Longest text of a list, in bytes.
const LONGEST: usize = 1_000;

/// A setting an engine knows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigField {
    /// Name, in snake case.
    pub key: &'static str,
    /// Value when nothing is said; its type is the setting's type.
    pub default: Value,
    /// Smallest whole number allowed.
    pub min: i64,
    /// Largest whole number allowed; most entries of a list.
    pub max: i64,
    /// Words allowed, for a setting that is a choice.
    pub choices: &'static [&'static str],
    /// One line for people.
    pub summary: &'static str,
}

impl ConfigField {
    /// A switch.
    pub const fn switch(key: &'static str, default: bool, summary: &'static str) -> Self {
        ConfigField { key, default: Value::Bool(default), min: 0, max: 1, choices: &[], summary }
    }

    /// A whole number in a range, both ends allowed.
    pub const fn int(key: &'static str, default: i64, range: (i64, i64), summary: &'static str) -> Self {
        ConfigField { key, default: Value::Int(default), min: range.0, max: range.1, choices: &[], summary }
    }

    /// One of several words.
    pub const fn choice(
        key: &'static str,
        default: &'static str,
        choices: &'static [&'static str],
        summary: &'static str,
    ) -> Self {
        ConfigField { key, default: Value::Word(Cow::Borrowed(default)), min: 0, max: 0, choices, summary }
    }

    /// Up to `most` texts, none by default.
    pub const fn list(key: &'static str, most: i64, summary: &'static str) -> Self {
        ConfigField { key, default: Value::List(Vec::new()), min: 0, max: most, choices: &[], summary }
    }

    /// What may be said, in words: `a whole number from 1 to 9`.
    pub fn allowed(&self) -> String {
        match self.default {
            Value::Bool(_) => "true or false".to_owned(),
            Value::Int(_) => format!("a whole number from {} to {}", self.min, self.max),
            Value::Word(_) => format!("one of {}", self.choices.join(", ")),
            Value::List(_) => format!("a list of at most {} texts, each of 1 to {LONGEST} bytes", self.max),
        }
    }

    /// Whether this value may be said.
    pub fn accepts(&self, value: &Value) -> bool {
        match (&self.default, value) {
            (Value::Bool(_), Value::Bool(_)) => true,
            (Value::Int(_), Value::Int(n)) => (self.min..=self.max).contains(n),
            (Value::Word(_), Value::Word(word)) => self.choices.contains(&word.as_ref()),
            (Value::List(_), Value::List(list)) => {
                list.len() as i64 <= self.max && list.iter().all(|text| (1..=LONGEST).contains(&text.len()))
            }
            _ => false,
        }
    }
}

/// One step of a plan: an engine and the settings that differ from its defaults.
///
/// ```
/// use omniroute_compress::Step;
/// let step = Step::new("session-dedup").with("min_lines", 3);
/// assert_eq!(step.engine(), "session-dedup");
/// ```
///
/// `Step::new("rtk:aggressive")` sets the level of an engine that has levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    engine: String,
    level: Option<String>,
    settings: BTreeMap<String, Value>,
}

impl Step {
    /// The engine with this id or alias, with its defaults.
    pub fn new(engine: impl Into<String>) -> Self {
        let mut engine = engine.into();
        let level = engine.split_once(':').map(|(base, level)| (base.len(), level.to_owned()));
        if let Some((end, _)) = level {
            engine.truncate(end);
        }
        Step { engine, level: level.map(|(_, level)| level), settings: BTreeMap::new() }
    }

    /// Changes a setting. Checked when the plan is built.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.insert(key.into(), value.into());
        self
    }

    /// Sets what the step does not set itself.
    pub(crate) fn or_with(mut self, key: &str, value: Value) -> Self {
        self.settings.entry(key.to_owned()).or_insert(value);
        self
    }

    /// Id or alias of the engine, as given, without the level.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The level, if one was given.
    pub fn level(&self) -> Option<&str> {
        self.level.as_deref()
    }

    /// The step as a plan names it.
    pub(crate) fn label(&self) -> String {
        self.level.as_ref().map_or_else(|| self.engine.clone(), |level| format!("{}:{level}", self.engine))
    }

    /// The level written as the setting it stands for, or the mistake. A setting given by name wins.
    pub(crate) fn with_level_as(mut self, key: Option<&str>, errors: &mut Vec<ConfigError>) -> Self {
        match (self.level.take(), key) {
            (Some(level), Some(key)) => {
                self.settings.entry(key.to_owned()).or_insert(Value::from(level));
            }
            (Some(level), None) => {
                let rule = format!("engine \"{}\" has no levels", self.engine);
                errors.push(ConfigError::new("plan", format!("level \"{level}\" is not known: {rule}")));
            }
            (None, _) => {}
        }
        self
    }

    /// All settings of `fields`, checked; every mistake is reported.
    pub(crate) fn resolve(&self, fields: &'static [ConfigField], errors: &mut Vec<ConfigError>) -> Settings {
        for (key, value) in &self.settings {
            let place = format!("engine \"{}\"", self.engine);
            match fields.iter().find(|f| f.key == key) {
                None => {
                    let hint = suggestion(key, fields.iter().map(|f| f.key));
                    errors.push(ConfigError::new(place, format!("key \"{key}\" is not known{hint}")));
                }
                Some(field) if !field.accepts(value) => {
                    let allowed = field.allowed();
                    errors.push(ConfigError::new(place, format!("key \"{key}\": {value} is not {allowed}")));
                }
                Some(_) => {}
            }
        }
        let value = |f: &ConfigField| self.settings.get(f.key).unwrap_or(&f.default).clone();
        Settings { values: fields.iter().map(|f| (f.key, value(f))).collect() }
    }
}

/// The checked settings of one step, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    values: Vec<(&'static str, Value)>,
}

impl Settings {
    /// A switch; false if the engine has no such setting.
    pub fn bool(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Value::Bool(true)))
    }

    /// A word; empty if the engine has no such setting.
    pub fn word(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// A whole number that is never negative; 0 if the engine has no such setting.
    pub fn size(&self, key: &str) -> usize {
        match self.get(key) {
            Some(Value::Int(n)) => usize::try_from(*n).unwrap_or(0),
            _ => 0,
        }
    }

    /// Texts; none if the engine has no such setting.
    pub fn list(&self, key: &str) -> &[String] {
        match self.get(key) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// Text form in the order of the engine's fields, for fingerprints.
    pub(crate) fn canonical(&self) -> String {
        self.values.iter().map(|(k, v)| format!("{k}={v};")).collect()
    }
}

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    place: String,
    message: String,
}

impl ConfigError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Every mistake in a configuration, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigErrors(pub(crate) Vec<ConfigError>);

impl ConfigErrors {
    /// The mistakes, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// `; did you mean "x"?` for the nearest of `known`, if one is near.
pub(crate) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known.map(|k| (distance(word, k), k)).min();
    match near {
        Some((d, k)) if d <= 1 + k.len() / 4 => format!("; did you mean \"{k}\"?"),
        _ => String::new(),
    }
}

/// Edits (insert, delete, replace, swap of neighbours) between two short words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (rows[i][j] + usize::from(x != y)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[ConfigField] =
        &[ConfigField::int("min_lines", 6, (2, 1000), ""), ConfigField::switch("verify", true, "")];

    #[test]
    fn resolves_defaults_and_reports_every_mistake() {
        let mut errors = Vec::new();
        let step = Step::new("x").with("min_lines", 0).with("min_line", 3).with("verify", 1);
        let settings = step.resolve(FIELDS, &mut errors);
        assert_eq!(settings.size("min_lines"), 0);
        let text = ConfigErrors(errors).to_string();
        assert_eq!(
            text,
            "engine \"x\": key \"min_line\" is not known; did you mean \"min_lines\"?; \
             engine \"x\": key \"min_lines\": 0 is not a whole number from 2 to 1000; \
             engine \"x\": key \"verify\": 1 is not true or false"
        );
        let mut errors = Vec::new();
        let settings = Step::new("x").resolve(FIELDS, &mut errors);
        assert!(errors.is_empty() && settings.bool("verify") && settings.size("min_lines") == 6);
    }

    #[test]
    fn distances() {
        for (a, b, d) in [("", "", 0), ("ulta", "ultra", 1), ("lite", "ilte", 1), ("kitten", "sitting", 3)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }
}
