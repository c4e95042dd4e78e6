//! `omniroute rtk verify`: the tests inside filter files, and what is wrong with the files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use omniroute_compress::rtk::{
    FilterError, FilterErrorKind, FilterFormat, FilterSet, FilterSource, FilterWarning, VerifyReport, verify,
};
use serde::Serialize;

use super::{FolderArgs, Loaded};
use crate::columns::columns;
use crate::exit::{Failure, Written, note, write_out};
use crate::terminal::{harmless, width};

/// Options of `omniroute rtk verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute rtk verify
  omniroute rtk verify --all my-filters.toml --json | jq .errors")]
pub(super) struct VerifyArgs {
    /// Filter files to check, .toml or .json; trust is not asked for, nothing of them is used later
    #[arg(value_name = "FILES")]
    files: Vec<PathBuf>,
    /// A filter without tests is a mistake
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    folders: FolderArgs,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let loaded = match args.files.as_slice() {
        [] => args.folders.load()?,
        files => read(files)?,
    };
    let report = verify(&loaded.set, args.all);
    let errors: Vec<&FilterError> = loaded.errors.iter().chain(&report.errors).collect();
    let data = match args.json {
        true => serde_json::to_string(&document(&loaded, &report, &errors)).map_err(Failure::failed)? + "\n",
        false => text(&report, &errors),
    };
    if !args.json {
        loaded.tell_decisions();
        loaded.warnings.iter().for_each(|warning| note(&harmless(&warning.to_string())));
    }
    if write_out(data.as_bytes())? == Written::Closed || errors.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(match errors.len() {
        1 => "1 mistake".to_owned(),
        n => format!("{n} mistakes"),
    }))
}

/// Reads the files that were named. One in a folder `.rtk` is checked as a project's, any other as the user's.
fn read(files: &[PathBuf]) -> Result<Loaded, Failure> {
    let mut builder = FilterSet::builder();
    for path in files {
        let ends_with = |end| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(end));
        let format = match (ends_with("toml"), ends_with("json")) {
            (true, _) => FilterFormat::Toml,
            (_, true) => FilterFormat::Json,
            _ => return Err(Failure::usage(format!("\"{}\" is neither .toml nor .json", path.display()))),
        };
        let bytes = fs::read(path).map_err(|e| Failure::path("read", path, &e))?;
        let in_project = path.parent().and_then(Path::file_name).is_some_and(|name| name == ".rtk");
        let source = if in_project { FilterSource::Project } else { FilterSource::User };
        builder = builder.file(source, format, &path.display().to_string(), &bytes);
    }
    let loaded = builder.build();
    Ok(Loaded { set: loaded.set, decisions: Vec::new(), errors: loaded.errors, warnings: loaded.warnings })
}

/// Totals by category, then every mistake.
fn text(report: &VerifyReport, errors: &[&FilterError]) -> String {
    let mut lines = vec![["category", "filters", "tests", "saved"].map(str::to_owned)];
    for row in &report.per_category {
        lines.push([
            row.category.name().to_owned(),
            row.filters.to_string(),
            row.tests.to_string(),
            if row.tests == 0 { "-".to_owned() } else { format!("{} %", row.saved_pct) },
        ]);
    }
    let sum = |value: fn(&omniroute_compress::rtk::CategoryReport) -> usize| {
        report.per_category.iter().map(value).sum::<usize>().to_string()
    };
    lines.push([
        "total".to_owned(),
        sum(|row| row.filters),
        sum(|row| row.tests),
        format!("{} %", saved(report)),
    ]);
    let mut out = columns(&lines, &[1, 2, 3], &[], width());
    if !report.without_tests.is_empty() {
        let names: Vec<String> = report.without_tests.iter().map(|id| harmless(id)).collect();
        out.push_str(&format!("without tests: {}\n", names.join(", ")));
    }
    for error in errors {
        out.push_str(&harmless(&error.to_string()));
        out.push('\n');
        if let FilterErrorKind::TestFailed { diff, .. } = &error.kind {
            diff.lines().for_each(|line| out.push_str(&format!("  {}\n", harmless(line))));
        }
    }
    out
}

/// Whole percent saved over the inputs of all tests.
fn saved(report: &VerifyReport) -> i64 {
    let sum = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    let before = sum(report.outcomes.iter().map(|o| o.bytes_in).sum());
    let after = sum(report.outcomes.iter().map(|o| o.bytes_out).sum());
    if before == 0 { 0 } else { (before - after).saturating_mul(100) / before }
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Document<'a> {
    passed: bool,
    categories: Vec<Category>,
    without_tests: &'a [String],
    tests: Vec<Test<'a>>,
    errors: Vec<Mistake<'a>>,
    warnings: Vec<String>,
    files: Vec<File<'a>>,
}

#[derive(Debug, Serialize)]
struct Category {
    category: &'static str,
    filters: usize,
    tests: usize,
    saved_percent: i64,
}

#[derive(Debug, Serialize)]
struct Test<'a> {
    filter: &'a str,
    owner: &'static str,
    name: &'a str,
    passed: bool,
    bytes_in: usize,
    bytes_out: usize,
}

#[derive(Debug, Serialize)]
struct Mistake<'a> {
    owner: &'static str,
    path: &'a str,
    /// From 1; null if the mistake has no place in the file.
    line: Option<u32>,
    column: Option<u32>,
    filter: Option<&'a str>,
    field: Option<&'a str>,
    code: &'static str,
    message: String,
}

/// What was decided about a file of the project or the user.
#[derive(Debug, Serialize)]
struct File<'a> {
    path: &'a str,
    loaded: bool,
    decision: String,
}

fn document<'a>(loaded: &'a Loaded, report: &'a VerifyReport, errors: &[&'a FilterError]) -> Document<'a> {
    let categories = report.per_category.iter().map(|row| Category {
        category: row.category.name(),
        filters: row.filters,
        tests: row.tests,
        saved_percent: row.saved_pct,
    });
    let tests = report.outcomes.iter().map(|outcome| Test {
        filter: &outcome.filter,
        owner: outcome.source.name(),
        name: &outcome.test,
        passed: outcome.passed,
        bytes_in: outcome.bytes_in,
        bytes_out: outcome.bytes_out,
    });
    let mistakes = errors.iter().map(|error| Mistake {
        owner: error.source.name(),
        path: &error.path,
        line: (error.line > 0).then_some(error.line),
        column: (error.line > 0).then_some(error.column),
        filter: error.filter.as_deref(),
        field: error.field.as_deref(),
        code: error.kind.code(),
        message: error.kind.to_string(),
    });
    let files =
        loaded.decisions.iter().map(|d| File { path: &d.path, loaded: d.loaded(), decision: d.to_string() });
    Document {
        passed: errors.is_empty(),
        categories: categories.collect(),
        without_tests: &report.without_tests,
        tests: tests.collect(),
        errors: mistakes.collect(),
        warnings: loaded.warnings.iter().map(FilterWarning::to_string).collect(),
        files: files.collect(),
    }
}
