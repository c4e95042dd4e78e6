//! The keys that TOML files have with `schema_version = 2` only.

use super::common;
use super::error::{FilterErrorKind, FilterSource};
use super::model::{ExitRule, FilterDef};
use super::pattern::Use;
use super::reader::{Fields, Reader, quoted};
use crate::rtk::kit::What;

/// Keys that leave something out or rewrite it. A filter that nobody has seen real output for may not have them.
const NEED_A_CAPTURE: [&str; 10] = [
    "noise",
    "strip_lines_matching",
    "keep_lines_matching",
    "replace",
    "match_output",
    "truncate_lines_at",
    "head_lines",
    "tail_lines",
    "max_lines",
    "on_empty",
];

/// Reads them into `filter`.
pub(crate) fn extend(reader: &mut Reader<'_>, fields: &mut Fields<'_>, filter: &mut FilterDef) {
    if let Some(label) = fields.string(reader, "label") {
        label.clone_into(&mut filter.label);
    }
    if let Some(category) =
        fields.need(reader, "category").and_then(|n| common::category(reader, n, "category"))
    {
        filter.category = category;
    }
    if let Some(priority) = fields.number(reader, "priority", 0, 100) {
        filter.priority = u8::try_from(priority).unwrap_or(50);
    }
    selection(reader, fields, filter);
    filter.rules.preserve = fields.patterns(reader, "preserve", Use::Text);
    filter.rules.preserve.extend(fields.patterns(reader, "summary", Use::Text));
    filter.rules.collapse = fields.patterns(reader, "collapse", Use::Line);
    let words = What::ALL.map(|what| (what.noun(2), what));
    if let Some(what) = fields.get("counted_as").and_then(|n| reader.word(n, "counted_as", &words)) {
        filter.rules.counted_as = what;
    }
    filter.rules.deduplicate = fields.switch(reader, "deduplicate").unwrap_or(false);
    if reader.source == FilterSource::Builtin {
        built_in(reader, fields, filter);
    } else {
        filter.allow_hiding_errors = fields.switch(reader, "allow_hiding_errors").unwrap_or(false);
    }
}

fn selection(reader: &mut Reader<'_>, fields: &mut Fields<'_>, filter: &mut FilterDef) {
    for (i, (command, at)) in fields.strings(reader, "commands").into_iter().enumerate() {
        let words: Vec<String> = command.split_ascii_whitespace().map(str::to_owned).collect();
        if words.is_empty() || words.join(" ") != command {
            let allowed = "words with one blank between them".to_owned();
            let kind = FilterErrorKind::OutOfRange { value: quoted(command), allowed };
            reader.report(at, &format!("commands[{i}]"), kind);
        } else {
            filter.matching.words.push(words);
        }
    }
    let classes = fields.strings(reader, "match_class");
    filter.matching.classes = classes.into_iter().map(|(c, _)| c.to_owned()).collect();
    filter.matching.texts = fields.patterns(reader, "match_output_text", Use::Text);
    let veto = fields.get("not_command").and_then(|n| reader.pattern(n, "not_command", Use::Command));
    filter.matching.not_commands = veto.into_iter().collect();
    let words = [("zero", 0), ("nonzero", 1), ("any", 2)];
    filter.matching.exit = match fields.get("exit").and_then(|n| reader.word(n, "exit", &words)) {
        Some(0) => ExitRule::Zero,
        Some(1) => ExitRule::Nonzero,
        _ => ExitRule::Any,
    };
    let keys = ["commands", "match_command", "match_class", "match_output_text"];
    if !keys.iter().any(|key| fields.has(key)) {
        let key = "one of \"commands\", \"match_command\", \"match_class\", \"match_output_text\"".to_owned();
        reader.report(filter.at.offset, "", FilterErrorKind::MissingKey { key });
    }
}

/// Keys of built-in files.
fn built_in(reader: &mut Reader<'_>, fields: &mut Fields<'_>, filter: &mut FilterDef) {
    filter.renderer = fields.string(reader, "renderer").map(str::to_owned);
    filter.rules.noise = fields.patterns(reader, "noise", Use::Line);
    let capture = fields.need_string(reader, "capture");
    if capture == Some("none") {
        if let Some(key) = NEED_A_CAPTURE.iter().find(|key| fields.has(key)) {
            let keys = format!("capture = \"none\" and {key}");
            let advice = "without a recorded output only exact repeats may be folded";
            reader.report(fields.place(key), "", FilterErrorKind::MutuallyExclusive { keys, advice });
        }
        if !filter.description.contains("no capture") {
            let value = quoted(&filter.description);
            let allowed = "a description that says there is \"no capture\"".to_owned();
            reader.report(
                fields.place("description"),
                "description",
                FilterErrorKind::OutOfRange { value, allowed },
            );
        }
    }
    filter.capture = capture.map(str::to_owned);
}
