//! The built-in files: they load, their tests pass, and the tables made at build time say the same as the files.

use super::*;
use crate::rtk::dsl::{FilterError, FilterErrorKind, verify};
use crate::rtk::filters::{COMMANDS, FILES};

#[test]
fn every_file_is_right_and_tested() {
    let report = verify(&FilterSet::builtin(), true);
    let shown = |error: &FilterError| match &error.kind {
        FilterErrorKind::TestFailed { diff, .. } => format!("{error}\n{diff}"),
        _ => error.to_string(),
    };
    let errors: Vec<String> = report.errors.iter().map(shown).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(report.passed());
    let set = FilterSet::builtin();
    let counted: Vec<_> =
        set.all().filter(|(e, _)| e.def.renderer.is_none() && e.def.tests.len() < 2).collect();
    assert!(counted.is_empty(), "at least two tests: {counted:?}");
    let filters: usize = report.per_category.iter().map(|row| row.filters).sum();
    assert_eq!(filters, FILES.len());
}

/// What is read for use stops where the tests begin: nothing of a filter may stand behind them.
#[test]
fn a_filter_read_without_its_tests_is_the_same() {
    let set = FilterSet::builtin();
    for builtin in &set.inner.builtins {
        let (used, tested) = (builtin.entry().unwrap(), builtin.tested().unwrap());
        let tested = FilterDef { tests: Vec::new(), ..tested.def.clone() };
        assert_eq!(used.def, tested, "{}", builtin.file.id);
        assert!(used.def.tests.is_empty());
    }
}

#[test]
fn tables_made_at_build_time_agree_with_the_files() {
    let set = FilterSet::builtin();
    let mut commands: Vec<(Vec<String>, String)> = Vec::new();
    for (entry, _) in set.all() {
        commands.extend(entry.def.matching.words.iter().map(|words| (words.clone(), entry.def.id.clone())));
    }
    commands.sort();
    let table: Vec<(Vec<String>, String)> = COMMANDS
        .iter()
        .map(|(words, id)| (words.iter().map(|w| (*w).to_owned()).collect(), (*id).to_owned()))
        .collect();
    assert_eq!(commands, table);
}

#[test]
fn the_report_notices_a_missing_test_and_a_wrong_one() {
    let text = "schema_version = 1\n[filters.untested]\nmatch_command = '^x'\n";
    let set = toml(text).set;
    let own = |require_all| {
        let report = verify(&set, require_all);
        let errors = report.errors.iter().filter(|e| e.source == FilterSource::Project);
        (report.without_tests.clone(), errors.map(ToString::to_string).collect::<Vec<_>>())
    };
    assert!(own(false).0.contains(&"untested".to_owned()) && own(false).1.is_empty());
    assert_eq!(
        own(true).1,
        ["project filters filters.toml:2:10: filter \"untested\": at least one test is missing"]
    );
}
