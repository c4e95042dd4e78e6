//! Tests of whole files: what loads, what is refused and with which words, what the filters do.

mod builtins;
mod errors;
mod fuzz;
mod guards;
mod packs;
mod reference;
mod selection;
mod work;

use super::error::{FilterFormat, FilterSource};
use super::model::FilterDef;
use super::set::{FilterSet, LoadedFilters};
use crate::rtk::kit::{Draft, Level, Output, assemble};

/// Loads one file of a user or project.
fn load(source: FilterSource, format: FilterFormat, text: &str) -> LoadedFilters {
    let path = match format {
        FilterFormat::Json => "filters.json",
        FilterFormat::Toml => "filters.toml",
    };
    FilterSet::builder().file(source, format, path, text.as_bytes()).build()
}

fn json(text: &str) -> LoadedFilters {
    load(FilterSource::Project, FilterFormat::Json, text)
}

fn toml(text: &str) -> LoadedFilters {
    load(FilterSource::Project, FilterFormat::Toml, text)
}

/// The messages of all errors.
fn messages(loaded: &LoadedFilters) -> Vec<String> {
    loaded.errors.iter().map(ToString::to_string).collect()
}

/// Ids of filters that are not built in.
fn custom(set: &FilterSet) -> Vec<String> {
    set.ids().filter(|(_, source)| *source != FilterSource::Builtin).map(|(id, _)| id.to_owned()).collect()
}

/// Runs the user's or project's filter for a command as production does, without the never-larger rule.
fn run(set: &FilterSet, command: &str, exit_code: Option<i32>, level: Level, text: &str) -> Option<String> {
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    let out = Output { words: &words, exit_code, ..Output::new(text, level) };
    let mut draft = Draft::new(out.len());
    set.run_custom("unknown", &out, &mut draft)?;
    Some(assemble(&out, &mut draft, &mut || None).text)
}

/// A JSON filter for the command `tool` with these rules and preserve patterns.
fn tool(rules: &str, preserve: &str) -> String {
    format!(
        r#"{{"id": "tool", "label": "Tool", "category": "generic", "match": {{"commands": ["^tool\\b"]}},
            "rules": {{{rules}}}, "preserve": {{{preserve}}}}}"#
    )
}

/// Numbered lines long enough that a gap is worth its marker.
fn numbered(range: std::ops::Range<usize>) -> String {
    range.map(|n| format!("entry number {n} of the list\n")).collect()
}
