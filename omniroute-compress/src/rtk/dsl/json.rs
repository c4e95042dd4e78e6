//! Reads JSON packs: one filter or a list of filters, keys in camel case. A filter with a mistake is left out, the
//! others of its file load.

use super::common::{self, Parsed, TestKeys};
use super::error::{FilterErrorKind, FilterFormat, FilterSource};
use super::legacy;
use super::limits::FILTERS_PER_FILE;
use super::model::{Dialect, ExitRule, FilterDef, Matching, Rules};
use super::pattern::{Syntax, Use};
use super::reader::{Fields, Reader};
use super::spot::Spot;
use super::tree::{self, Node, Value};

/// Lines of head and tail where a filter gives none.
pub(crate) const HEAD_AND_TAIL: usize = 20;

pub(crate) const TESTS: TestKeys = TestKeys { exit_code: Some("exitCode"), guarded: false };

const SYNTAX: Syntax = Syntax {
    ignore_case: true,
    veto: "use match.notCommands",
    exception: "name the exceptions in preserve.errorPatterns",
};

/// Reads a file; all mistakes are in [`Parsed::errors`].
pub(crate) fn read(source: FilterSource, path: &str, bytes: &[u8]) -> Parsed {
    let mut reader = match Reader::open(source, FilterFormat::Json, path, bytes, SYNTAX) {
        Ok(reader) => reader,
        Err(parsed) => return parsed,
    };
    let root = match tree::from_json(reader.text) {
        Ok(root) => root,
        Err(mistakes) => {
            reader.report_all(mistakes);
            return Parsed::new(reader, path, Vec::new());
        }
    };
    let nodes = match &root.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&root),
    };
    if nodes.len() > FILTERS_PER_FILE {
        let (size, limit) = (nodes.len() as u64, FILTERS_PER_FILE as u64);
        reader.report(0, "", FilterErrorKind::TooLarge { what: "the file", size, limit, unit: "filters" });
        return Parsed::new(reader, path, Vec::new());
    }
    let mut filters = Vec::new();
    for node in nodes {
        let before = reader.errors.len();
        let filter = one(&mut reader, node);
        if let Some(filter) = &filter {
            common::check_whole(&mut reader, filter);
        }
        if reader.errors.len() == before {
            filters.extend(filter);
        }
        reader.filter = None;
    }
    let filters = common::unique(&mut reader, filters);
    Parsed::new(reader, path, filters)
}

fn one(reader: &mut Reader<'_>, node: &Node) -> Option<FilterDef> {
    let fields = reader.table(node, "")?;
    if legacy::is_legacy(&fields) { legacy::read(reader, fields) } else { native(reader, fields) }
}

fn native(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Option<FilterDef> {
    let id = fields
        .need_string(reader, "id")
        .and_then(|id| common::checked_id(reader, id, fields.place("id"), "id"));
    reader.filter.clone_from(&id);
    let label = fields.need_string(reader, "label");
    let description = fields.string(reader, "description").unwrap_or("");
    let category = fields.need(reader, "category").and_then(|n| common::category(reader, n, "category"));
    let priority = fields.number(reader, "priority", 0, 100).unwrap_or(50);
    let matching = fields.get("match").and_then(|n| matching(reader, n)).unwrap_or_default();
    let mut rules = fields.get("rules").and_then(|n| rules(reader, n)).unwrap_or_default();
    if let Some(node) = fields.get("preserve") {
        preserve(reader, node, &mut rules);
    }
    let tables = fields.tables(reader, "tests");
    let tests = common::tests(reader, tables, TESTS);
    let allow_hiding_errors = fields.switch(reader, "allowHidingErrors").unwrap_or(false);
    let at = Spot::at(fields.at());
    fields.finish(reader);
    let id = id?;
    let chosen = !(matching.classes.is_empty() && matching.commands.is_empty() && matching.texts.is_empty());
    if !chosen {
        reader.notes.push((id.clone(), "nothing in \"match\" ever chooses it".to_owned()));
    }
    Some(FilterDef {
        label: label?.to_owned(),
        description: description.to_owned(),
        category: category?,
        priority: u8::try_from(priority).unwrap_or(50),
        source: reader.source,
        dialect: Dialect::Json,
        matching,
        rules,
        renderer: None,
        capture: None,
        allow_hiding_errors,
        tests,
        at,
        id,
    })
}

fn matching(reader: &mut Reader<'_>, node: &Node) -> Option<Matching> {
    let mut fields = reader.table(node, "match")?;
    let classes = fields.strings(reader, "outputTypes").into_iter().map(|(c, _)| c.to_owned()).collect();
    let commands = fields.patterns(reader, "commands", Use::Command);
    let texts = fields.patterns(reader, "patterns", Use::Text);
    let not_commands = fields.patterns(reader, "notCommands", Use::Command);
    let exit = fields.get("exitCodes").and_then(|n| exit_rule(reader, n, &fields.path("exitCodes")));
    fields.finish(reader);
    Some(Matching {
        classes,
        commands,
        words: Vec::new(),
        texts,
        not_commands,
        exit: exit.unwrap_or_default(),
    })
}

fn exit_rule(reader: &mut Reader<'_>, node: &Node, path: &str) -> Option<ExitRule> {
    if let Value::Str { .. } = node.value {
        let zero = reader.word(node, path, &[("zero", true), ("nonzero", false)])?;
        return Some(if zero { ExitRule::Zero } else { ExitRule::Nonzero });
    }
    let mut codes = Vec::new();
    for (i, item) in reader.list(node, path).iter().enumerate() {
        let code = reader.number(item, &format!("{path}[{i}]"), i32::MIN.into(), i32::MAX.into())?;
        codes.extend(i32::try_from(code));
    }
    Some(ExitRule::Codes(codes))
}

fn rules(reader: &mut Reader<'_>, node: &Node) -> Option<Rules> {
    let mut fields = reader.table(node, "rules")?;
    fields.switch(reader, "stripAnsi"); // terminal sequences are always removed before a filter runs
    let rules = Rules {
        filter_stderr: fields.switch(reader, "filterStderr").unwrap_or(false),
        replace: common::replace_rules(reader, &mut fields),
        match_output: common::output_rules(reader, &mut fields, "matchOutput"),
        keep: fields.patterns(reader, "includePatterns", Use::Line),
        drop: fields.patterns(reader, "dropPatterns", Use::Line),
        collapse: fields.patterns(reader, "collapsePatterns", Use::Line),
        deduplicate: fields.switch(reader, "deduplicate").unwrap_or(false),
        truncate_at: fields.count(reader, "truncateLineAt").unwrap_or(0),
        max_lines: fields.count(reader, "maxLines").unwrap_or(0),
        head: Some(fields.count(reader, "headLines").unwrap_or(HEAD_AND_TAIL)),
        tail: Some(fields.count(reader, "tailLines").unwrap_or(HEAD_AND_TAIL)),
        on_empty: fields.string(reader, "onEmpty").filter(|m| !m.is_empty()).map(str::to_owned),
        ..Rules::default()
    };
    fields.finish(reader);
    Some(rules)
}

fn preserve(reader: &mut Reader<'_>, node: &Node, rules: &mut Rules) {
    let Some(mut fields) = reader.table(node, "preserve") else { return };
    rules.preserve.extend(fields.patterns(reader, "errorPatterns", Use::Text));
    rules.preserve.extend(fields.patterns(reader, "summaryPatterns", Use::Text));
    fields.finish(reader);
}
