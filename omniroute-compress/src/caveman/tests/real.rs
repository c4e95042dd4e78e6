//! Prose of real sessions: what the user says there stays said.

use serde_json::Value;

use super::super::class::{Language, Level};
use super::super::{Condenser, detect};
use super::facts;

/// All texts in user turns of the sessions in the folder that OMNIROUTE_DATA names.
fn texts() -> Vec<String> {
    let mut all = Vec::new();
    let Ok(root) = std::env::var("OMNIROUTE_DATA") else { return all };
    for folder in ["sessions", "dev-sessions", "own-sessions"] {
        let Ok(list) = std::fs::read_dir(std::path::Path::new(&root).join(folder)) else { continue };
        let mut paths: Vec<_> = list.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "json")) {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
            collect(&value, false, &mut all);
        }
    }
    all
}

fn collect(value: &Value, user: bool, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| collect(v, user, out)),
        Value::Object(members) => {
            let user = members.get("role").map_or(user, |role| role == "user");
            for (key, member) in members {
                match member {
                    Value::String(text) if user && (key == "content" || key == "text") => {
                        out.push(text.clone())
                    }
                    other => collect(other, user, out),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn what_users_say_in_real_sessions_stays() {
    let texts = texts();
    let mut changed = 0;
    for text in &texts {
        for level in Level::ALL {
            let condenser = Condenser::new(level);
            let out = condenser.condense(text);
            if out.kept.is_some() {
                continue;
            }
            changed += 1;
            assert_eq!(condenser.condense(&out.text).text, out.text, "twice is once");
            let language = detect(text).unwrap_or(Language::En);
            assert_eq!(facts::changed(language, text, &out.text), None, "{level:?}");
        }
    }
    match texts.len() {
        0 => eprintln!("skipped: 1 (no sessions, OMNIROUTE_DATA is not set)"),
        n => assert!(n > 50 && changed > 50, "{n} texts, {changed} changes"),
    }
}
