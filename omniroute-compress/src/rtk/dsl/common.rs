//! What all readers of filter files share: ids, levels, tests, replacements, totals per filter.

use super::error::{FilterErrorKind, FilterWarning, short};
use super::limits::{PATTERNS_PER_FILTER, TEST_BYTES, TESTS_PER_FILTER};
use super::model::{Category, FilterDef, InlineTest, OutputRule, ReplaceRule};
use super::pattern::Use;
use super::reader::{Fields, Reader, quoted};
use super::spot::{Spot, locate};
use super::tree::Node;
use crate::rtk::kit::Level;

/// The words for levels.
pub(crate) const LEVELS: [(&str, Level); 3] =
    [("minimal", Level::Minimal), ("standard", Level::Standard), ("aggressive", Level::Aggressive)];

/// The words for modes of a test: whether it is guarded.
pub(crate) const MODES: [(&str, bool); 2] = [("exact", false), ("guarded", true)];

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Parsed {
    /// Filters without a mistake.
    pub(crate) filters: Vec<FilterDef>,
    /// What was wrong with the others.
    pub(crate) errors: Vec<super::error::FilterError>,
    /// What their authors should know.
    pub(crate) warnings: Vec<FilterWarning>,
}

impl Parsed {
    /// What a reader found.
    pub(crate) fn new(reader: Reader<'_>, path: &str, mut filters: Vec<FilterDef>) -> Parsed {
        locate(reader.text, &mut filters);
        let source = reader.source;
        let warning = |(filter, message)| FilterWarning { source, path: path.to_owned(), filter, message };
        let warnings = reader.notes.into_iter().map(warning).collect();
        Parsed { filters, errors: reader.errors, warnings }
    }
}

/// Names of keys that differ between the dialects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestKeys {
    /// The exit code, if the dialect has one.
    pub(crate) exit_code: Option<&'static str>,
    /// Whether tests without a mode are guarded.
    pub(crate) guarded: bool,
}

/// The category of a filter.
pub(crate) fn category(reader: &mut Reader<'_>, node: &Node, path: &str) -> Option<Category> {
    let words = Category::ALL.map(|c| (c.name(), c));
    reader.word(node, path, &words)
}

/// Checks an id.
pub(crate) fn checked_id(reader: &mut Reader<'_>, id: &str, at: usize, field: &str) -> Option<String> {
    let mut bytes = id.bytes();
    let alnum = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let good = id.len() <= 64
        && bytes.next().is_some_and(alnum)
        && bytes.all(|b| alnum(b) || matches!(b, b'.' | b'_' | b'-'));
    if good {
        return Some(id.to_owned());
    }
    reader.report(at, field, FilterErrorKind::BadId { id: short(id, 64) });
    None
}

/// `replace = [{pattern, replacement}]`.
pub(crate) fn replace_rules(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<ReplaceRule> {
    let mut rules = Vec::new();
    for mut rule in fields.tables(reader, "replace") {
        let pattern =
            rule.need(reader, "pattern").and_then(|n| reader.pattern(n, &rule.path("pattern"), Use::Line));
        let replacement = rule.need_string(reader, "replacement");
        if let Some(text) = replacement.filter(|r| r.contains(['\n', '\r'])) {
            let kind =
                FilterErrorKind::OutOfRange { value: quoted(text), allowed: "text without line ends".into() };
            reader.report(rule.place("replacement"), &rule.path("replacement"), kind);
        }
        if let (Some(pattern), Some(replacement)) = (pattern, replacement) {
            rules.push(ReplaceRule { pattern, replacement: replacement.to_owned() });
        }
        rule.finish(reader);
    }
    rules
}

/// `match_output = [{pattern, message, unless?}]` under the name of the dialect.
pub(crate) fn output_rules(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &'static str,
) -> Vec<OutputRule> {
    let mut rules = Vec::new();
    for mut rule in fields.tables(reader, key) {
        let pattern =
            rule.need(reader, "pattern").and_then(|n| reader.pattern(n, &rule.path("pattern"), Use::Text));
        let message = rule.need_string(reader, "message").map(str::to_owned);
        let unless = rule.get("unless").and_then(|n| reader.pattern(n, &rule.path("unless"), Use::Text));
        if let (Some(pattern), Some(message)) = (pattern, message) {
            rules.push(OutputRule { pattern, message, unless });
        }
        rule.finish(reader);
    }
    rules
}

/// The tests of a filter, one table each.
pub(crate) fn tests(reader: &mut Reader<'_>, tables: Vec<Fields<'_>>, keys: TestKeys) -> Vec<InlineTest> {
    if let Some(first) = tables.first().filter(|_| tables.len() > TESTS_PER_FILTER) {
        let (size, limit) = (tables.len() as u64, TESTS_PER_FILTER as u64);
        let kind = FilterErrorKind::TooLarge { what: "the filter", size, limit, unit: "tests" };
        reader.report(first.at(), "tests", kind);
        return Vec::new();
    }
    tables.into_iter().filter_map(|table| test(reader, table, keys)).collect()
}

fn test(reader: &mut Reader<'_>, mut table: Fields<'_>, keys: TestKeys) -> Option<InlineTest> {
    let at = Spot::at(table.at());
    let name = table.need_string(reader, "name");
    let input = sized(reader, &mut table, "input");
    let expected = sized(reader, &mut table, "expected");
    let (mut command, mut exit_code, mut level, mut guarded) = (None, None, None, None);
    if let Some(key) = keys.exit_code {
        command = table.string(reader, "command").map(str::to_owned);
        exit_code =
            table.number(reader, key, i32::MIN.into(), i32::MAX.into()).and_then(|n| i32::try_from(n).ok());
        level = table.get("intensity").and_then(|n| reader.word(n, &table.path("intensity"), &LEVELS));
        guarded = table.get("mode").and_then(|n| reader.word(n, &table.path("mode"), &MODES));
    }
    table.finish(reader);
    Some(InlineTest {
        name: name?.to_owned(),
        input: input?,
        expected: expected?,
        command,
        exit_code,
        level: level.unwrap_or_default(),
        guarded: guarded.unwrap_or(keys.guarded),
        at,
    })
}

fn sized(reader: &mut Reader<'_>, table: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let text = table.need_string(reader, key)?;
    if text.len() > TEST_BYTES {
        let (size, limit) = (text.len() as u64, TEST_BYTES as u64);
        let kind = FilterErrorKind::TooLarge { what: "the text", size, limit, unit: "bytes" };
        reader.report(table.place(key), &table.path(key), kind);
        return None;
    }
    Some(text.to_owned())
}

/// Checks what only the whole filter shows.
pub(crate) fn check_whole(reader: &mut Reader<'_>, filter: &FilterDef) {
    let count = filter.patterns().count();
    if count > PATTERNS_PER_FILTER {
        reader.report(
            filter.at.offset,
            "",
            FilterErrorKind::TooManyPatterns { count, limit: PATTERNS_PER_FILTER },
        );
    }
    if filter.tests.is_empty() && filter.renderer.is_none() {
        reader.notes.push((filter.id.clone(), "it has no tests".to_owned()));
    }
}

/// Reports ids that occur twice in a file and removes all but the first.
pub(crate) fn unique(reader: &mut Reader<'_>, filters: Vec<FilterDef>) -> Vec<FilterDef> {
    let mut seen = std::collections::HashSet::new();
    let mut kept = Vec::with_capacity(filters.len());
    for filter in filters {
        if seen.insert(filter.id.clone()) {
            kept.push(filter);
        } else {
            reader.filter = Some(filter.id.clone());
            reader.report(filter.at.offset, "", FilterErrorKind::DuplicateId { id: filter.id });
        }
    }
    reader.filter = None;
    kept
}
