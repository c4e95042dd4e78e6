//! Reads the older flat form of JSON packs: `name`, `commandTypes`, `stripPatterns`, `keepPatterns` and so on.

use super::common;
use super::error::FilterErrorKind;
use super::json::{HEAD_AND_TAIL, TESTS};
use super::model::{Category, Dialect, FilterDef, Matching, Rules};
use super::pattern::Use;
use super::reader::{Fields, Reader};
use super::spot::Spot;

/// Whether an object is written in the flat form.
pub(crate) fn is_legacy(fields: &Fields<'_>) -> bool {
    let flat =
        ["commandTypes", "stripPatterns", "keepPatterns", "priorityPatterns", "preserveHead", "preserveTail"];
    !fields.has("match") && !fields.has("rules") && flat.iter().any(|key| fields.has(key))
}

/// Reads one filter in the flat form.
pub(crate) fn read(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Option<FilterDef> {
    let given = fields.string(reader, "id");
    let label = fields.string(reader, "label");
    let name = fields.string(reader, "name");
    let Some(name) = name.or(label).or(given) else {
        reader.report(fields.at(), "", FilterErrorKind::MissingKey { key: "key \"name\"".into() });
        return None;
    };
    let key = if given.is_some() { "id" } else { "name" };
    let id = given.map_or_else(|| slug(name), str::to_owned);
    let id = common::checked_id(reader, &id, fields.place(key), key)?;
    reader.filter = Some(id.clone());
    let classes: Vec<String> =
        fields.strings(reader, "commandTypes").into_iter().map(|(c, _)| c.to_owned()).collect();
    if classes.is_empty() {
        let kind = FilterErrorKind::MissingKey { key: "at least one entry of \"commandTypes\"".into() };
        reader.report(fields.place("commandTypes"), "commandTypes", kind);
    }
    let description = fields.string(reader, "description").unwrap_or("").to_owned();
    let category = fields.get("category").and_then(|n| common::category(reader, n, "category"));
    let priority = fields.number(reader, "priority", 0, 100).unwrap_or(50);
    fields.switch(reader, "stripAnsi");
    let collapse = fields.patterns(reader, "collapsePatterns", Use::Line);
    let deduplicate = fields.switch(reader, "deduplicate").unwrap_or(!collapse.is_empty());
    let rules = Rules {
        filter_stderr: fields.switch(reader, "filterStderr").unwrap_or(false),
        replace: common::replace_rules(reader, &mut fields),
        match_output: common::output_rules(reader, &mut fields, "matchOutput"),
        drop: fields.patterns(reader, "stripPatterns", Use::Line),
        keep: fields.patterns(reader, "keepPatterns", Use::Line),
        collapse,
        preserve: fields.patterns(reader, "priorityPatterns", Use::Text),
        deduplicate,
        truncate_at: fields.count(reader, "truncateLineAt").unwrap_or(0),
        max_lines: fields.count(reader, "maxLines").unwrap_or(0),
        head: Some(fields.count(reader, "preserveHead").unwrap_or(HEAD_AND_TAIL)),
        tail: Some(fields.count(reader, "preserveTail").unwrap_or(HEAD_AND_TAIL)),
        on_empty: fields.string(reader, "onEmpty").filter(|m| !m.is_empty()).map(str::to_owned),
        ..Rules::default()
    };
    let tables = fields.tables(reader, "tests");
    let tests = common::tests(reader, tables, TESTS);
    let at = Spot::at(fields.at());
    fields.finish(reader);
    Some(FilterDef {
        id,
        label: label.unwrap_or(name).to_owned(),
        description,
        category: category.unwrap_or(Category::Generic),
        priority: u8::try_from(priority).unwrap_or(50),
        source: reader.source,
        dialect: Dialect::Json,
        matching: Matching { classes, ..Matching::default() },
        rules,
        renderer: None,
        capture: None,
        allow_hiding_errors: false,
        tests,
        at,
    })
}

/// An id from a name: lower case, everything else one dash.
fn slug(name: &str) -> String {
    let mut id = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            id.push(c.to_ascii_lowercase());
        } else if !id.ends_with('-') && !id.is_empty() {
            id.push('-');
        }
    }
    id.trim_end_matches('-').to_owned()
}
