//! Reads TOML files. Version 1 is the dialect that other tools' filter files are written in; version 2 adds what our
//! own files need. A file loads as a whole or not at all.

use super::common::{self, Parsed, TestKeys};
use super::error::{FilterErrorKind, FilterFormat, FilterSource, short};
use super::infer;
use super::limits::FILTERS_PER_FILE;
use super::model::{Category, Dialect, FilterDef, Matching, Rules};
use super::pattern::{Syntax, Use};
use super::reader::{Fields, Reader};
use super::spot::Spot;
use super::toml2;
use super::tree::{self, Member, Node, Value};

const SYNTAX_V1: Syntax = Syntax {
    ignore_case: false,
    veto: "schema_version 2 has not_command",
    exception: "name the exceptions in keep_lines_matching of a filter of its own",
};
const SYNTAX_V2: Syntax =
    Syntax { ignore_case: true, veto: "use not_command", exception: "name the exceptions in preserve" };

/// Reads a file; all mistakes are in [`Parsed::errors`].
pub(crate) fn read(source: FilterSource, path: &str, bytes: &[u8]) -> Parsed {
    let mut reader = match Reader::open(source, FilterFormat::Toml, path, bytes, SYNTAX_V1) {
        Ok(reader) => reader,
        Err(parsed) => return parsed,
    };
    let root = match tree::from_toml(reader.text) {
        Ok(root) => root,
        Err(mistakes) => {
            reader.report_all(mistakes);
            return Parsed::new(reader, path, Vec::new());
        }
    };
    let mut filters = file(&mut reader, &root);
    if !reader.errors.is_empty() {
        filters.clear();
        reader.notes.clear();
    }
    Parsed::new(reader, path, filters)
}

fn file(reader: &mut Reader<'_>, root: &Node) -> Vec<FilterDef> {
    let Some(mut fields) = reader.table(root, "") else { return Vec::new() };
    let Some(dialect) = schema(reader, &mut fields) else { return Vec::new() };
    let filters = members(reader, fields.get("filters"), "filters");
    let mut tests: Vec<&Member> = members(reader, fields.get("tests"), "tests").iter().collect();
    if filters.is_empty() {
        reader.report(0, "", FilterErrorKind::MissingKey { key: "a table [filters.<name>]".into() });
    }
    if filters.len() > FILTERS_PER_FILE {
        let (size, limit) = (filters.len() as u64, FILTERS_PER_FILE as u64);
        reader.report(0, "", FilterErrorKind::TooLarge { what: "the file", size, limit, unit: "filters" });
        return Vec::new();
    }
    fields.finish(reader);
    let mut read = Vec::with_capacity(filters.len());
    for member in filters {
        let own = tests.iter().position(|t| t.key == member.key).map(|at| tests.remove(at));
        read.extend(one(reader, member, own.map(|t| &t.value), dialect));
        reader.filter = None;
    }
    for stray in tests {
        let name = short(&stray.key, 64);
        reader.report(stray.at, "tests", FilterErrorKind::UnknownTest { name });
    }
    read
}

/// The tables of a table of tables.
fn members<'n>(reader: &mut Reader<'_>, node: Option<&'n Node>, key: &str) -> &'n [Member] {
    let Some(node) = node else { return &[] };
    match &node.value {
        Value::Table(members) => members,
        _ => {
            reader.table(node, key);
            &[]
        }
    }
}

fn schema(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Dialect> {
    let node = fields.need(reader, "schema_version")?;
    let version = reader.number(node, "schema_version", 0, u32::MAX.into())?;
    let (dialect, syntax) = match version {
        1 => (Dialect::TomlV1, SYNTAX_V1),
        2 => (Dialect::TomlV2, SYNTAX_V2),
        other => {
            let other = u32::try_from(other).unwrap_or(u32::MAX);
            reader.report(node.at, "schema_version", FilterErrorKind::UnsupportedSchema(other));
            return None;
        }
    };
    reader.syntax = syntax;
    Some(dialect)
}

fn one(
    reader: &mut Reader<'_>,
    member: &Member,
    tests: Option<&Node>,
    dialect: Dialect,
) -> Option<FilterDef> {
    reader.filter = Some(short(&member.key, 64));
    let id = common::checked_id(reader, &member.key, member.at, "");
    let mut fields = reader.table(&member.value, "")?;
    let commands = fields.get("match_command");
    let commands: Vec<_> =
        commands.and_then(|n| reader.pattern(n, "match_command", Use::Command)).into_iter().collect();
    let description = fields.string(reader, "description").unwrap_or("").to_owned();
    let rules = rules(reader, &mut fields);
    let mut filter = FilterDef {
        id: id.clone().unwrap_or_default(),
        label: member.key.clone(),
        description,
        category: Category::Generic,
        priority: 50,
        source: reader.source,
        dialect,
        matching: Matching { commands, ..Matching::default() },
        rules,
        renderer: None,
        capture: None,
        allow_hiding_errors: false,
        tests: Vec::new(),
        at: Spot::at(member.at),
    };
    if dialect == Dialect::TomlV2 {
        toml2::extend(reader, &mut fields, &mut filter);
    } else {
        if !fields.has("match_command") {
            reader.report(member.at, "", FilterErrorKind::MissingKey { key: "key \"match_command\"".into() });
        }
        if !filter.rules.drop.is_empty() && !filter.rules.keep.is_empty() {
            let keys = "strip_lines_matching and keep_lines_matching".to_owned();
            let kind = FilterErrorKind::MutuallyExclusive { keys, advice: "split the filter" };
            reader.report(fields.place("keep_lines_matching"), "", kind);
        }
        if filter.rules.filter_stderr {
            filter.rules.filter_stderr = false;
            let message = "filter_stderr has no effect: the output is already one text".to_owned();
            reader.notes.push((filter.id.clone(), message));
        }
        let command = filter.matching.commands.first().map_or("", |p| p.source.as_str());
        filter.category = infer::category(&filter.id, command);
    }
    fields.finish(reader);
    let keys = TestKeys {
        exit_code: (dialect == Dialect::TomlV2).then_some("exit_code"),
        guarded: dialect == Dialect::TomlV2,
    };
    if let Some(node) = tests {
        let items = reader.list(node, "tests").iter().enumerate();
        let tables = items.filter_map(|(i, n)| reader.table(n, &format!("tests[{i}]"))).collect();
        filter.tests = common::tests(reader, tables, keys);
    }
    common::check_whole(reader, &filter);
    id.map(|_| filter)
}

fn rules(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Rules {
    fields.switch(reader, "strip_ansi"); // terminal sequences are always removed before a filter runs
    Rules {
        filter_stderr: fields.switch(reader, "filter_stderr").unwrap_or(false),
        replace: common::replace_rules(reader, fields),
        match_output: common::output_rules(reader, fields, "match_output"),
        drop: fields.patterns(reader, "strip_lines_matching", Use::Line),
        keep: fields.patterns(reader, "keep_lines_matching", Use::Line),
        truncate_at: fields.count(reader, "truncate_lines_at").unwrap_or(0),
        head: fields.count(reader, "head_lines"),
        tail: fields.count(reader, "tail_lines"),
        max_lines: fields.count(reader, "max_lines").unwrap_or(0),
        on_empty: fields.string(reader, "on_empty").filter(|m| !m.is_empty()).map(str::to_owned),
        ..Rules::default()
    }
}
