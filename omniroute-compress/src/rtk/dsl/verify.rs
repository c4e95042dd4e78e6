//! The report on all filters of a set: which tests pass, which filters have none, what is saved.

use super::check::{self, Renderers};
use super::error::{FilterError, FilterErrorKind, FilterSource};
use super::model::Category;
use super::set::FilterSet;
use super::spot;

/// What [`verify`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Every test that ran, in the order of filters and files.
    pub outcomes: Vec<TestOutcome>,
    /// Ids of filters without tests. Filters whose work is done by a dedicated renderer are not among them.
    pub without_tests: Vec<String>,
    /// Totals, one row per category that has filters.
    pub per_category: Vec<CategoryReport>,
    /// Everything that is wrong.
    pub errors: Vec<FilterError>,
}

/// One test that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestOutcome {
    /// Id of the filter.
    pub filter: String,
    /// Whose filter it is.
    pub source: FilterSource,
    /// Name of the test.
    pub test: String,
    /// Whether the result is the expected one.
    pub passed: bool,
    /// Bytes of the input.
    pub bytes_in: usize,
    /// Bytes of the result.
    pub bytes_out: usize,
}

/// Totals of one category.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CategoryReport {
    /// The category.
    pub category: Category,
    /// Number of filters.
    pub filters: usize,
    /// Number of tests that ran.
    pub tests: usize,
    /// Bytes saved over all tests in whole percent, negative if results are longer than inputs.
    pub saved_pct: i64,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Runs the tests of all filters of `set`, the built-in ones included. With `require_all` a filter without tests is
/// an error.
pub fn verify(set: &FilterSet, require_all: bool) -> VerifyReport {
    verify_with(set, require_all, &crate::rtk::render::renderer)
}

/// Like [`verify`]; tests of filters with a dedicated renderer run if `renderers` knows it.
fn verify_with(set: &FilterSet, require_all: bool, renderers: Renderers<'_>) -> VerifyReport {
    let mut report = VerifyReport {
        outcomes: Vec::new(),
        without_tests: Vec::new(),
        per_category: Vec::new(),
        errors: Vec::new(),
    };
    let mut totals =
        Category::ALL.map(|category| (CategoryReport { category, filters: 0, tests: 0, saved_pct: 0 }, 0, 0));
    report.errors.extend(set.builtin_errors());
    for (entry, path) in set.all() {
        let def = &entry.def;
        let error = |kind| {
            let (line, column) = spot::of_mistake(def, &kind);
            FilterError {
                source: def.source,
                format: def.dialect.format(),
                path: path.to_owned(),
                filter: Some(def.id.clone()),
                field: None,
                line,
                column,
                kind,
            }
        };
        report.errors.extend(check::sizes(entry).map(error));
        let rendered = def.renderer.as_deref();
        if def.tests.is_empty() && rendered.is_none() {
            report.without_tests.push(def.id.clone());
            if require_all {
                report.errors.push(error(FilterErrorKind::MissingKey { key: "at least one test".into() }));
            }
        }
        let Some(total) = totals.iter_mut().find(|(row, _, _)| row.category == def.category) else {
            continue;
        };
        total.0.filters += 1;
        if rendered.is_some_and(|id| renderers(id).is_none()) {
            continue;
        }
        for test in &def.tests {
            let tested = check::test(entry, test, renderers);
            total.0.tests += 1;
            total.1 += tested.bytes_in;
            total.2 += tested.bytes_out;
            report.outcomes.push(TestOutcome {
                filter: def.id.clone(),
                source: def.source,
                test: test.name.clone(),
                passed: tested.failure.is_none(),
                bytes_in: tested.bytes_in,
                bytes_out: tested.bytes_out,
            });
            report.errors.extend(tested.failure.map(error));
        }
    }
    report.per_category = totals
        .into_iter()
        .filter(|(row, _, _)| row.filters > 0)
        .map(|(row, before, after)| CategoryReport { saved_pct: percent(before, after), ..row })
        .collect();
    report
}

fn percent(before: usize, after: usize) -> i64 {
    let (before, after) =
        (i64::try_from(before).unwrap_or(i64::MAX), i64::try_from(after).unwrap_or(i64::MAX));
    if before == 0 { 0 } else { (before - after).saturating_mul(100) / before }
}
