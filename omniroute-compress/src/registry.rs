//! All built-in engines. Plans, docs and bindings read this list.

use serde_json::json;

use crate::config::{ConfigField, Value};
use crate::engines;
use crate::entry::EngineEntry;

/// All built-in engines, by priority.
pub const ENGINES: &[EngineEntry] = &[
    engines::repeat::ENTRY,
    engines::ionizer::ENTRY,
    engines::lite::ENTRY,
    engines::rtk::ENTRY,
    engines::responses::ENTRY,
    engines::rows::ENTRY,
    engines::session_dedup::ENTRY,
    engines::caveman::ENTRY,
    engines::read_lifecycle::ENTRY,
    engines::ccr::ENTRY,
    engines::relevance::ENTRY,
    engines::aggressive::ENTRY,
    engines::ultra::ENTRY,
];

/// The engine with this id or alias.
pub fn engine(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|e| e.info.id == name || e.aliases.contains(&name))
}

/// All engines with all that can be set, as JSON, for docs and other languages: `id`, `aliases`, `summary`, `level` (the
/// setting that a level stands for) and `settings`, each with `key`, `type`, `default`, `allowed` (in words), `summary`
/// and, by type, `min` and `max`, `choices` or `most`.
pub fn settings_json() -> serde_json::Value {
    let setting = |field: &ConfigField| {
        let (kind, default, more) = match &field.default {
            Value::Bool(on) => ("switch", json!(on), json!({})),
            Value::Int(n) => ("int", json!(n), json!({"min": field.min, "max": field.max})),
            Value::Word(word) => ("choice", json!(word), json!({"choices": field.choices})),
            Value::List(list) => ("list", json!(list), json!({"most": field.max})),
        };
        let mut out = json!({
            "key": field.key, "type": kind, "default": default, "allowed": field.allowed(), "summary": field.summary,
        });
        if let (Some(out), serde_json::Value::Object(more)) = (out.as_object_mut(), more) {
            out.extend(more);
        }
        out
    };
    let engine = |entry: &EngineEntry| {
        json!({
            "id": entry.info.id, "aliases": entry.aliases, "summary": entry.info.summary, "level": entry.level,
            "settings": entry.fields.iter().map(setting).collect::<Vec<_>>(),
        })
    };
    serde_json::Value::Array(ENGINES.iter().map(engine).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut names = Vec::new();
        for entry in ENGINES {
            names.push(entry.info.id);
            names.extend(entry.aliases);
            assert!(!entry.info.summary.is_empty(), "{} has no summary", entry.info.id);
            assert_eq!(
                (entry.build)(
                    &crate::Step::new("x").resolve(entry.fields, &mut Vec::new()),
                    &Default::default()
                )
                .info(),
                &entry.info
            );
        }
        for name in &names {
            let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(
                name.len() <= 32 && name.bytes().all(ok) && name.as_bytes()[0].is_ascii_lowercase(),
                "{name}"
            );
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(ENGINES.is_sorted_by_key(|e| e.info.priority));
    }
}
