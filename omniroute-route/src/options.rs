//! Settings of strategies: a map of plain values, read with bounds, unknown keys refused.

use std::collections::BTreeMap;

use crate::error::{ConfigCode, ConfigError};
use crate::names::nearest;

/// One value of a configuration.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OptionValue {
    /// A number; whole or not.
    Number(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// Several values.
    List(Vec<OptionValue>),
    /// Values by name.
    Map(OptionMap),
}

/// Values by name.
pub type OptionMap = BTreeMap<String, OptionValue>;

impl OptionValue {
    fn kind(&self) -> &'static str {
        match self {
            OptionValue::Number(_) => "a number",
            OptionValue::Text(_) => "a text",
            OptionValue::Flag(_) => "true or false",
            OptionValue::List(_) => "a list",
            OptionValue::Map(_) => "a table",
        }
    }

    fn shown(&self) -> String {
        match self {
            OptionValue::Number(number) => format!("{number}"),
            OptionValue::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
            OptionValue::Flag(flag) => format!("{flag}"),
            other => other.kind().to_owned(),
        }
    }
}

/// Reads options one by one and remembers what is wrong.
#[derive(Debug)]
pub struct OptionReader<'a> {
    path: String,
    map: &'a OptionMap,
    known: Vec<&'static str>,
    errors: Vec<ConfigError>,
}

impl<'a> OptionReader<'a> {
    /// Options found at a place of the configuration, for instance `combo.daily`.
    pub fn new(path: impl Into<String>, map: &'a OptionMap) -> Self {
        OptionReader { path: path.into(), map, known: Vec::new(), errors: Vec::new() }
    }

    /// A number within bounds, both included.
    pub fn number(&mut self, key: &'static str, default: f64, low: f64, high: f64) -> f64 {
        match self.value(key) {
            None => default,
            Some(OptionValue::Number(number)) if *number >= low && *number <= high => *number,
            Some(OptionValue::Number(number)) => {
                self.wrong(key, format!("is {number}, allowed is {low} to {high}"));
                default
            }
            Some(other) => {
                self.wrong(key, format!("is {}, it has to be a number", other.shown()));
                default
            }
        }
    }

    /// A whole number within bounds, both included.
    pub fn whole(&mut self, key: &'static str, default: u32, low: u32, high: u32) -> u32 {
        let number = self.number(key, f64::from(default), f64::from(low), f64::from(high));
        if number.fract() != 0.0 {
            self.wrong(key, format!("is {number}, it has to be a whole number"));
            return default;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and within the bounds"
        )]
        let whole = number as u32;
        whole
    }

    /// Yes or no.
    pub fn flag(&mut self, key: &'static str, default: bool) -> bool {
        match self.value(key) {
            None => default,
            Some(OptionValue::Flag(flag)) => *flag,
            Some(other) => {
                self.wrong(key, format!("is {}, it has to be true or false", other.shown()));
                default
            }
        }
    }

    /// Any text.
    pub fn text(&mut self, key: &'static str) -> Option<&'a str> {
        match self.value(key) {
            None => None,
            Some(OptionValue::Text(text)) => Some(text),
            Some(other) => {
                self.wrong(key, format!("is {}, it has to be a text", other.shown()));
                None
            }
        }
    }

    /// One of a few words: its position.
    pub fn word(&mut self, key: &'static str, default: usize, words: &[&str]) -> usize {
        let Some(text) = self.text(key) else { return default };
        words.iter().position(|word| *word == text).unwrap_or_else(|| {
            self.wrong(key, format!("is {text:?}, allowed is one of {}", words.join(", ")));
            default
        })
    }

    /// A list of words out of a few: their positions, each once.
    pub fn words(&mut self, key: &'static str, default: &[usize], words: &[&str]) -> Vec<usize> {
        let Some(value) = self.value(key) else { return default.to_vec() };
        let OptionValue::List(items) = value else {
            self.wrong(key, format!("is {}, it has to be a list", value.shown()));
            return default.to_vec();
        };
        let mut found = Vec::new();
        for item in items {
            let position = match item {
                OptionValue::Text(text) => words.iter().position(|word| word == text),
                _ => None,
            };
            match position {
                Some(position) if !found.contains(&position) => found.push(position),
                Some(_) => {}
                None => {
                    self.wrong(key, format!("has {}, allowed is one of {}", item.shown(), words.join(", ")));
                }
            }
        }
        if found.is_empty() { default.to_vec() } else { found }
    }

    /// A list of texts, none of them empty.
    pub fn texts(&mut self, key: &'static str) -> Vec<String> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let OptionValue::List(items) = value else {
            self.wrong(key, format!("is {}, it has to be a list", value.shown()));
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            match item {
                OptionValue::Text(text) if !text.is_empty() => found.push(text.clone()),
                other => {
                    self.wrong(key, format!("has {}, allowed are texts that are not empty", other.shown()));
                }
            }
        }
        found
    }

    /// Yes, no, or one of a few words: 0 for no, 1 for yes, then the word's position and two.
    pub fn flag_or_word(&mut self, key: &'static str, words: &[&str]) -> usize {
        match self.value(key) {
            None | Some(OptionValue::Flag(false)) => 0,
            Some(OptionValue::Flag(true)) => 1,
            Some(other) => {
                let text = if let OptionValue::Text(text) = other { text.as_str() } else { "" };
                let position = words.iter().position(|word| *word == text);
                if position.is_none() {
                    let allowed = words.join(", ");
                    self.wrong(key, format!("is {}, allowed is true, false or {allowed}", other.shown()));
                }
                position.map_or(0, |position| position + 2)
            }
        }
    }

    /// Values by name.
    pub fn map(&mut self, key: &'static str) -> Option<&'a OptionMap> {
        match self.value(key) {
            None => None,
            Some(OptionValue::Map(map)) => Some(map),
            Some(other) => {
                self.wrong(key, format!("is {}, it has to be a table", other.shown()));
                None
            }
        }
    }

    /// Notes something that is wrong with a value.
    pub fn wrong(&mut self, key: &str, message: impl std::fmt::Display) {
        let path = format!("{}.{key}", self.path);
        self.errors.push(ConfigError::new(ConfigCode::BadValue, path.clone(), format!("{path} {message}")));
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// All that was wrong, unknown keys included.
    pub fn finish(mut self) -> Result<(), Vec<ConfigError>> {
        for key in self.map.keys().filter(|key| !self.known.contains(&key.as_str())) {
            let near = nearest(key, self.known.iter().copied(), 1);
            let hint = near.first().map_or_else(
                || {
                    format!(
                        "known are {}",
                        if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") }
                    )
                },
                |name| format!("did you mean {name:?}"),
            );
            let path = format!("{}.{key}", self.path);
            let message = format!("{path} is no known key; {hint}");
            self.errors.push(ConfigError::new(ConfigCode::UnknownKey, path, message));
        }
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    fn value(&mut self, key: &'static str) -> Option<&'a OptionValue> {
        self.known.push(key);
        self.map.get(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_named_with_place_value_and_rule() {
        let map: OptionMap = [
            ("sticky".to_owned(), OptionValue::Number(0.0)),
            ("patient".to_owned(), OptionValue::Text("yes".to_owned())),
            ("signal".to_owned(), OptionValue::Text("latncy".to_owned())),
            ("stiky".to_owned(), OptionValue::Number(2.0)),
        ]
        .into();
        let mut reader = OptionReader::new("combo.daily", &map);
        assert_eq!(reader.whole("sticky", 1, 1, 1_000), 1);
        assert!(!reader.flag("patient", false));
        assert_eq!(reader.word("signal", 0, &["latency", "in_flight"]), 0);
        let errors: Vec<String> = reader.finish().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "combo.daily.sticky is 0, allowed is 1 to 1000",
                "combo.daily.patient is \"yes\", it has to be true or false",
                "combo.daily.signal is \"latncy\", allowed is one of latency, in_flight",
                "combo.daily.stiky is no known key; did you mean \"sticky\"",
            ]
        );
    }

    #[test]
    fn what_is_right_is_taken() {
        let map: OptionMap = [
            ("sticky".to_owned(), OptionValue::Number(3.0)),
            ("windows".to_owned(), OptionValue::List(vec![OptionValue::Text("weekly".to_owned())])),
        ]
        .into();
        let mut reader = OptionReader::new("x", &map);
        assert_eq!(reader.whole("sticky", 1, 1, 1_000), 3);
        assert_eq!(reader.words("windows", &[0], &["session", "weekly"]), [1]);
        assert!(reader.finish().is_ok());
    }
}
