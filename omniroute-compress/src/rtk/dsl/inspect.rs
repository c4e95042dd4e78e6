//! What the filters of a file can do to an output, for people who decide whether to trust it. Nothing is loaded.

use super::check;
use super::entry::Entry;
use super::error::{FilterError, FilterFormat, FilterSource};
use super::{json, toml};

/// Commands that have nothing in common. A filter for both is a filter for everything.
const UNLIKE: [&[&str]; 2] = [&["qzx9"], &["git", "status", "--short"]];

/// What one filter can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterFacts {
    /// Its id.
    pub(crate) id: String,
    /// It rewrites parts of lines.
    pub(crate) replaces: bool,
    /// It answers with a text of its own in place of an output.
    pub(crate) answers: bool,
    /// Every command chooses it.
    pub(crate) is_for_everything: bool,
    /// An error line of a sample output is gone after it, or it asks to be allowed that.
    pub(crate) hides_errors: bool,
    /// The text that stands for an output of which nothing is left.
    pub(crate) on_empty: Option<String>,
}

/// Reads a file and tells what its filters can do, and what is wrong with it.
pub(crate) fn inspect(
    source: FilterSource,
    format: FilterFormat,
    path: &str,
    bytes: &[u8],
) -> (Vec<FilterFacts>, Vec<FilterError>) {
    let parsed = match format {
        FilterFormat::Json => json::read(source, path, bytes),
        FilterFormat::Toml => toml::read(source, path, bytes),
    };
    let facts = |mut def: super::model::FilterDef| {
        let asks = std::mem::replace(&mut def.allow_hiding_errors, false);
        let entry = Entry::new(def);
        let too_large = check::sizes(&entry).is_some();
        let def = &entry.def;
        FilterFacts {
            id: def.id.clone(),
            replaces: !def.rules.replace.is_empty(),
            answers: !def.rules.match_output.is_empty(),
            is_for_everything: UNLIKE.iter().all(|words| entry.is_for_command(words, &words.join(" "))),
            hides_errors: asks || !too_large && check::canaries(&entry).is_some(),
            on_empty: def.rules.on_empty.clone(),
        }
    };
    (parsed.filters.into_iter().map(facts).collect(), parsed.errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_filters_can_do() {
        let text = r#"[
            {"id": "a", "label": "A", "category": "generic", "match": {"commands": ["."]},
             "rules": {"replace": [{"pattern": "x", "replacement": "y"}], "onEmpty": "fine"}},
            {"id": "b", "label": "B", "category": "docker", "match": {"commands": ["^docker logs"]}, "allowHidingErrors": true,
             "rules": {"includePatterns": [" 200 "], "matchOutput": [{"pattern": "^ok", "message": "ok"}]}},
            {"id": "c", "label": "C", "category": "docker", "match": {"commands": ["^docker logs"]},
             "rules": {"dropPatterns": ["GET"]}}]"#;
        let (facts, errors) = inspect(FilterSource::Project, FilterFormat::Json, "f", text.as_bytes());
        assert!(errors.is_empty(), "{errors:?}");
        let shown: Vec<_> = facts
            .iter()
            .map(|f| {
                (
                    f.id.as_str(),
                    f.replaces,
                    f.answers,
                    f.is_for_everything,
                    f.hides_errors,
                    f.on_empty.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("a", true, false, true, false, Some("fine")),
                ("b", false, true, false, true, None),
                ("c", false, false, false, false, None),
            ]
        );
        assert_eq!(inspect(FilterSource::User, FilterFormat::Toml, "f", b"x").1.len(), 1);
    }
}
