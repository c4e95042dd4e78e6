//! What an answer has to look like, as the settings of a combo say.

use std::sync::Arc;

use serde_json::Value;

use crate::options::{OptionReader, OptionValue};

/// What an answer's text has to look like. Answers that call tools are not looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyRules {
    with: Vec<String>,
    without: Vec<String>,
    least: usize,
    json: Vec<(String, Wanted)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    /// There, and not empty.
    Filled,
    Missing,
    Equal(Value),
    Other(Value),
}

impl ReplyRules {
    /// None: there is no rule.
    pub(super) fn read(reader: &mut OptionReader<'_>) -> Option<Arc<ReplyRules>> {
        let mut rules = ReplyRules {
            with: reader.texts("reply_with"),
            without: reader.texts("reply_without"),
            least: reader.whole("reply_least", 0, 0, 100_000) as usize,
            json: Vec::new(),
        };
        for key in ["reply_json", "reply_json_not"] {
            let Some(map) = reader.map(key) else { continue };
            let equal = key == "reply_json";
            for (path, value) in map {
                let wanted = match value {
                    OptionValue::Flag(true) if equal => Wanted::Filled,
                    OptionValue::Flag(false) if equal => Wanted::Missing,
                    OptionValue::Text(text) if equal => Wanted::Equal(text.as_str().into()),
                    OptionValue::Text(text) => Wanted::Other(text.as_str().into()),
                    OptionValue::Number(number) if equal => Wanted::Equal((*number).into()),
                    OptionValue::Number(number) => Wanted::Other((*number).into()),
                    _ => {
                        let rule =
                            if equal { "a text, a number, true or false" } else { "a text or a number" };
                        reader.wrong(key, format!("has {path:?} with a value that is not {rule}"));
                        continue;
                    }
                };
                rules.json.push((path.clone(), wanted));
            }
        }
        (rules != ReplyRules::default()).then(|| Arc::new(rules))
    }

    /// The first rule that a text breaks, by its name.
    pub(crate) fn broken(&self, text: &str) -> Option<&'static str> {
        if text.chars().take(self.least).count() < self.least {
            return Some("reply_least");
        }
        if self.with.iter().any(|part| !text.contains(part)) {
            return Some("reply_with");
        }
        if self.without.iter().any(|part| text.contains(part)) {
            return Some("reply_without");
        }
        if self.json.is_empty() {
            return None;
        }
        let Ok(document) = serde_json::from_str::<Value>(unfenced(text)) else { return Some("reply_json") };
        let holds = |(path, wanted): &&(String, Wanted)| {
            let found = at(&document, path);
            match wanted {
                Wanted::Filled => found.is_some_and(filled),
                Wanted::Missing => found.is_none(),
                Wanted::Equal(value) => found.is_some_and(|found| same(found, value)),
                Wanted::Other(value) => !found.is_some_and(|found| same(found, value)),
            }
        };
        self.json.iter().find(|rule| !holds(rule)).map(|(_, wanted)| match wanted {
            Wanted::Other(_) => "reply_json_not",
            _ => "reply_json",
        })
    }
}

/// Models like to put JSON into a block of code.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).map_or(text, str::trim)
}

/// The value at `a.b.0`.
fn at<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(document, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

fn filled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b).is_eq(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionMap;

    fn rules(pairs: Vec<(&str, OptionValue)>) -> Arc<ReplyRules> {
        let map: OptionMap = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut reader = OptionReader::new("combo.x", &map);
        let rules = ReplyRules::read(&mut reader);
        reader.finish().unwrap();
        rules.unwrap()
    }

    fn text(text: &str) -> OptionValue {
        OptionValue::Text(text.to_owned())
    }

    fn map(key: &str, value: OptionValue) -> OptionValue {
        OptionValue::Map([(key.to_owned(), value)].into())
    }

    #[test]
    fn each_rule_is_broken_by_what_it_is_for() {
        let list = |word| OptionValue::List(vec![text(word)]);
        for (key, value, good, bad) in [
            ("reply_with", list("yes"), "oh yes", "no"),
            ("reply_without", list("sorry"), "fine", "so sorry"),
            ("reply_least", OptionValue::Number(3.0), "\u{fc}\u{fc}\u{fc}", "\u{fc}\u{fc}"),
            (
                "reply_json",
                map("a.0.b", OptionValue::Flag(true)),
                r#"{"a":[{"b":0}]}"#,
                r#"{"a":[{"b":""}]}"#,
            ),
            ("reply_json", map("a", OptionValue::Flag(false)), r#"{"b":1}"#, r#"{"a":1}"#),
            ("reply_json", map("a", text("x")), "```json\n{\"a\":\"x\"}\n```", r#"{"a":"y"}"#),
            ("reply_json", map("a", OptionValue::Number(1.0)), r#"{"a":1}"#, r#"{"a":2}"#),
            ("reply_json", map("a", OptionValue::Flag(true)), r#"{"a":false}"#, "no json"),
            ("reply_json_not", map("a", text("x")), r#"{"b":1}"#, r#"{"a":"x"}"#),
        ] {
            let rules = rules(vec![(key, value)]);
            assert_eq!(rules.broken(good), None, "{key} {good}");
            assert_eq!(rules.broken(bad), Some(key), "{bad}");
        }
    }

    #[test]
    fn what_is_no_rule_is_an_error_with_its_place() {
        let options: OptionMap = [
            ("reply_with".to_owned(), OptionValue::List(vec![OptionValue::Number(1.0)])),
            ("reply_without".to_owned(), text("sorry")),
            ("reply_json".to_owned(), map("a", OptionValue::List(Vec::new()))),
        ]
        .into();
        let mut reader = OptionReader::new("combo.x", &options);
        ReplyRules::read(&mut reader);
        let errors: Vec<String> = reader.finish().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "combo.x.reply_with has 1, allowed are texts that are not empty",
                "combo.x.reply_without is \"sorry\", it has to be a list",
                "combo.x.reply_json has \"a\" with a value that is not a text, a number, true or false",
            ]
        );
    }
}
