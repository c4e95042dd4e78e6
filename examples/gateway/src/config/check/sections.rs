//! Sections that libraries read themselves: compression and resilience.

use omniroute_resilience::Config as Knobs;
use serde_json::Value as Plain;

use super::super::mistake::{Mistake, codes, nearest};
use super::super::tree::{Node, Value, push};
use super::combos::{parted, plain};

/// Both sections, and what is wrong with them.
pub(in super::super) fn read(root: &Node, mistakes: &mut Vec<Mistake>) -> (omniroute::Config, Knobs) {
    let compression = root.get("compression").map(|node| compression(root, node, mistakes));
    let resilience = root.get("resilience").map(|node| resilience(root, node, mistakes));
    (compression.unwrap_or_default(), resilience.unwrap_or_else(built_in))
}

/// The numbers of resilience where nothing is said: sessions stay where they are for half an hour.
pub(in super::super) fn built_in() -> Knobs {
    let mut knobs = Knobs::default();
    knobs.affinity.ttl = omniroute_resilience::Span::minutes(30);
    knobs
}

fn compression(root: &Node, node: &Node, mistakes: &mut Vec<Mistake>) -> omniroute::Config {
    let Some(section) = plain(node) else { return omniroute::Config::default() };
    if !section.is_object() {
        return omniroute::Config::default(); // told by the walk
    }
    let document = serde_json::json!({ "compression": section }).to_string();
    let errors = match omniroute::Config::from_json(&document) {
        Ok(config) => return config,
        Err(errors) => errors,
    };
    for error in errors.iter() {
        let way = steps(error.path());
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        let (message, meant) = parted(error.message());
        let unknown = message.starts_with("this key is not known");
        let (mut path, mut spot) = root.place(&way);
        if let Some((last, above)) = way.split_last() {
            if unknown && let Some(member) = root.find(above).and_then(|node| node.member(last)) {
                spot = member.spot;
            }
            if path.is_empty() {
                path = error.path().to_owned();
            }
        }
        let (code, message) = match way.last() {
            Some(last) if unknown => (codes::UNKNOWN, format!("unknown key {last:?}")),
            Some(last) if !last.bytes().all(|byte| byte.is_ascii_digit()) => {
                (codes::COMPRESSION, format!("{last}: {message}"))
            }
            _ => (codes::COMPRESSION, message),
        };
        let mut mistake = Mistake::new(code, message).placed((path, spot));
        mistake.suggestion = meant;
        mistakes.push(mistake);
    }
    omniroute::Config::default()
}

/// Keys and numbers of `a.b[1]."c d"`.
fn steps(path: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for letter in path.chars() {
        match letter {
            '"' => quoted = !quoted,
            '.' | '[' if !quoted => out.push(String::new()),
            ']' if !quoted => {}
            letter => {
                if let Some(last) = out.last_mut() {
                    last.push(letter);
                }
            }
        }
    }
    out.retain(|step| !step.is_empty());
    out
}

fn resilience(root: &Node, node: &Node, mistakes: &mut Vec<Mistake>) -> Knobs {
    let defaults = serde_json::to_value(built_in()).unwrap_or_default();
    let mut merged = defaults.clone();
    let before = mistakes.len();
    overlay("resilience", node, &defaults, &mut merged, mistakes);
    if mistakes.len() > before {
        return built_in();
    }
    let knobs: Knobs = match serde_json::from_value(merged) {
        Ok(knobs) => knobs,
        Err(error) => {
            let mistake = Mistake::new(codes::RESILIENCE, error.to_string());
            mistakes.push(mistake.placed(("resilience".to_owned(), node.spot)));
            return built_in();
        }
    };
    for error in knobs.validate().err().unwrap_or_default() {
        let way: Vec<&str> = std::iter::once("resilience").chain(error.key.split('.')).collect();
        let message = format!("{} is not allowed here", error.value);
        mistakes
            .push(Mistake::new(codes::RESILIENCE, message).placed(root.place(&way)).allowed(error.allowed));
    }
    knobs
}

/// Puts what is said over the built-in numbers, key by key.
fn overlay(path: &str, node: &Node, defaults: &Plain, merged: &mut Plain, mistakes: &mut Vec<Mistake>) {
    let (Value::Table(members), Plain::Object(known)) = (&node.value, defaults) else {
        return;
    };
    for member in members {
        let mut inner = path.to_owned();
        push(&mut inner, &member.key);
        let Some(default) = known.get(&member.key) else {
            let message = format!("unknown key {:?}", member.key.chars().take(40).collect::<String>());
            let mut mistake = Mistake::new(codes::UNKNOWN, message).placed((inner, member.spot));
            mistake.suggestion = nearest(&member.key, known.keys().map(String::as_str));
            if mistake.suggestion.is_none() {
                mistake.allowed = Some(known.keys().map(String::as_str).collect::<Vec<_>>().join(", "));
            }
            mistakes.push(mistake);
            continue;
        };
        let wanted = match (default, &member.node.value) {
            (Plain::Object(_), Value::Table(_)) => {
                overlay(&inner, &member.node, default, &mut merged[&member.key], mistakes);
                continue;
            }
            (Plain::Object(_), _) => "a table",
            (Plain::Bool(_), Value::Flag(_))
            | (Plain::Number(_) | Plain::Null, Value::Whole(0..=0xffff_ffff)) => "",
            (Plain::Bool(_), _) => "true or false",
            (Plain::String(_) | Plain::Null, Value::Text(text))
                if omniroute_resilience::Span::parse(text).is_some() =>
            {
                ""
            }
            (Plain::Number(_) | Plain::Null, _) => "a whole number of 0 or more",
            (Plain::String(_), Value::Whole(0..)) => "",
            (Plain::String(_), _) => "a time such as \"30s\", or milliseconds",
            (Plain::Array(_), _) => "nothing: it cannot be set",
        };
        if wanted.is_empty() {
            merged[&member.key] = plain(&member.node).unwrap_or_default();
        } else {
            let message = match &member.node.value {
                Value::Text(text) => format!("{} is not allowed here", super::super::walk::shown(text)),
                Value::Whole(number) => format!("{number} is not allowed here"),
                other => format!("this is {}", other.kind()),
            };
            let mistake = Mistake::new(codes::RESILIENCE, message).placed((inner, member.node.spot));
            mistakes.push(mistake.allowed(wanted));
        }
    }
}
