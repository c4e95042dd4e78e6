//! The filters that are in force: the built-in ones and those of the user's and the project's files.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::check;
use super::common::Parsed;
use super::entry::Entry;
use super::error::{FilterError, FilterErrorKind, FilterFormat, FilterSource, FilterWarning};
use super::limits::{COMPILED_BYTES_PER_SET, FILTERS_PER_SET, VERIFY_WORK};
use super::model::{Dialect, FilterDef};
use super::{json, spot, toml};
use crate::pipeline::sha256_hex;
use crate::rtk::filters::{self, BuiltinFile};

/// An immutable set of filters; cloning shares it. A reload builds a new one.
///
/// Filters are asked in this order: the project's, the user's, the built-in ones; among those of one owner TOML before
/// JSON, then by priority, highest first, then by id.
#[derive(Debug, Clone)]
pub struct FilterSet {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    /// In the order in which they are asked.
    pub(super) custom: Vec<Custom>,
    pub(super) builtins: Vec<&'static Builtin>,
    /// Tells sets with other filters or lists apart; empty for the built-in filters alone.
    identity: String,
    /// If there is one, no other filter is used.
    allowed: Option<HashSet<String>>,
    denied: HashSet<String>,
}

/// A filter of a file, with the file's name.
#[derive(Debug)]
pub(super) struct Custom {
    pub(super) entry: Entry,
    path: String,
}

/// A built-in file; it is read when it is first needed, once for all sets.
#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) file: &'static BuiltinFile,
    entry: OnceLock<Option<Entry>>,
    tested: OnceLock<Option<Entry>>,
}

/// What a [`FilterSetBuilder`] made: the set, and what is wrong with the files that are not in it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedFilters {
    /// The filters without a mistake.
    pub set: FilterSet,
    /// Why filters or files were left out.
    pub errors: Vec<FilterError>,
    /// What the authors of loaded filters should know.
    pub warnings: Vec<FilterWarning>,
}

/// Collects filter files. Nothing is read from disk here: the caller hands bytes in.
#[derive(Debug, Default)]
pub struct FilterSetBuilder {
    identity: String,
    files: Vec<(FilterSource, String, Parsed)>,
    allowed: Option<HashSet<String>>,
    denied: HashSet<String>,
}

impl FilterSetBuilder {
    /// Adds a file. `path` is its name in messages; `source` is whose it is, [`FilterSource::User`] or
    /// [`FilterSource::Project`].
    #[must_use]
    pub fn file(mut self, source: FilterSource, format: FilterFormat, path: &str, bytes: &[u8]) -> Self {
        self.identity
            .push_str(&format!("{source:?} {format:?} {}\n", sha256_hex(&String::from_utf8_lossy(bytes))));
        let read = match format {
            FilterFormat::Json => json::read(source, path, bytes),
            FilterFormat::Toml => toml::read(source, path, bytes),
        };
        self.files.push((source, path.to_owned(), read));
        self
    }

    /// Uses these filters only. An empty list means all.
    #[must_use]
    pub fn only<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        let ids: HashSet<String> = ids.into_iter().map(Into::into).collect();
        let mut names: Vec<&str> = ids.iter().map(String::as_str).collect();
        names.sort_unstable();
        self.identity.push_str(&format!("only {names:?}\n"));
        self.allowed = (!ids.is_empty()).then_some(ids);
        self
    }

    /// Never uses these filters; the next one that fits is used in their place.
    #[must_use]
    pub fn without<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.denied.extend(ids.into_iter().map(Into::into));
        let mut names: Vec<&str> = self.denied.iter().map(String::as_str).collect();
        names.sort_unstable();
        self.identity.push_str(&format!("without {names:?}\n"));
        self
    }

    /// Runs the tests of all filters that were read and builds the set. What fails is left out and reported.
    pub fn build(self) -> LoadedFilters {
        let FilterSetBuilder { identity, files, allowed, denied } = self;
        let mut errors = Vec::new();
        let mut warnings = Vec::new();
        let mut custom: Vec<Custom> = Vec::new();
        let mut weight = 0_usize;
        for (source, path, parsed) in files {
            errors.extend(parsed.errors);
            warnings.extend(parsed.warnings);
            let work: u64 =
                parsed.filters.iter().map(super::model::FilterDef::test_work).fold(0, u64::saturating_add);
            let format = parsed.filters.first().map_or(FilterFormat::Json, |f| f.dialect.format());
            let error = |filter: Option<&FilterDef>, kind| {
                let (line, column) = filter.map_or((0, 0), |def| spot::of_mistake(def, &kind));
                let filter = filter.map(|def| def.id.clone());
                FilterError { source, format, path: path.clone(), filter, field: None, line, column, kind }
            };
            if work > VERIFY_WORK {
                errors.push(error(None, FilterErrorKind::VerifyTimeout { work, limit: VERIFY_WORK }));
                continue;
            }
            let mut loaded = Vec::new();
            let mut failed = false;
            for def in parsed.filters {
                let id = def.id.clone();
                if builtin_id(&id) {
                    let message = "it replaces the built-in filter of this id".to_owned();
                    warnings.push(FilterWarning { source, path: path.clone(), filter: id.clone(), message });
                }
                let bytes: usize = def.patterns().map(|p| p.weight).fold(0, usize::saturating_add);
                let entry = Entry::new(def);
                let mut wrong = examine(&entry);
                if custom.iter().any(|c| c.entry.def.source == source && c.entry.def.id == id) {
                    wrong.push(FilterErrorKind::DuplicateId { id: id.clone() });
                }
                if custom.len() + loaded.len() >= FILTERS_PER_SET {
                    let (size, limit) = (FILTERS_PER_SET as u64 + 1, FILTERS_PER_SET as u64);
                    wrong.push(FilterErrorKind::TooLarge { what: "the set", size, limit, unit: "filters" });
                }
                if weight.saturating_add(bytes) > COMPILED_BYTES_PER_SET {
                    let (what, limit) = ("compiled patterns of all custom filters", COMPILED_BYTES_PER_SET);
                    wrong.push(FilterErrorKind::PatternTooLarge {
                        what,
                        size: weight.saturating_add(bytes),
                        limit,
                    });
                }
                if wrong.is_empty() {
                    weight += bytes;
                    loaded.push(Custom { entry, path: path.clone() });
                } else {
                    failed = true;
                    errors.extend(wrong.into_iter().map(|kind| error(Some(&entry.def), kind)));
                }
            }
            // A TOML file loads as a whole or not at all.
            if !(failed && format == FilterFormat::Toml) {
                custom.extend(loaded);
            }
        }
        custom.sort_by(|a, b| order(&a.entry).cmp(&order(&b.entry)));
        let shadowed = |id: &str| custom.iter().any(|c| c.entry.def.id == id);
        let builtins = Builtin::all().iter().filter(|b| !shadowed(b.file.id)).collect();
        let set = FilterSet { inner: Arc::new(Inner { identity, custom, builtins, allowed, denied }) };
        LoadedFilters { set, errors, warnings }
    }
}

impl Default for FilterSet {
    fn default() -> Self {
        FilterSet::builtin()
    }
}

impl FilterSet {
    /// The built-in filters.
    pub fn builtin() -> FilterSet {
        FilterSet::builder().build().set
    }

    /// Changes whenever the same output may be treated otherwise.
    pub(crate) fn identity(&self) -> &str {
        &self.inner.identity
    }

    /// Starts with the built-in filters.
    pub fn builder() -> FilterSetBuilder {
        FilterSetBuilder::default()
    }

    /// Ids of all filters in the order in which they are asked, with their owners.
    pub fn ids(&self) -> impl Iterator<Item = (&str, FilterSource)> {
        let custom = self.inner.custom.iter().map(|c| (c.entry.def.id.as_str(), c.entry.def.source));
        custom.chain(self.inner.builtins.iter().map(|b| (b.file.id, FilterSource::Builtin)))
    }

    /// Whether there are filters of the user or the project.
    pub(crate) fn has_custom(&self) -> bool {
        !self.inner.custom.is_empty()
    }

    /// Whether there is a built-in filter of this id, used or not.
    pub(crate) fn is_builtin(&self, id: &str) -> bool {
        builtin_id(id)
    }

    /// Whether the lists of allowed and denied filters let this one be used.
    pub(super) fn permits(&self, id: &str) -> bool {
        !self.inner.denied.contains(id) && self.inner.allowed.as_ref().is_none_or(|a| a.contains(id))
    }

    /// All filters with their tests and the names of their files; the built-in ones are read for it.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Entry, &str)> {
        let custom = self.inner.custom.iter().map(|c| (&c.entry, c.path.as_str()));
        custom.chain(self.inner.builtins.iter().filter_map(|b| b.tested().map(|e| (e, b.file.id))))
    }

    /// What is wrong with built-in files.
    pub(super) fn builtin_errors(&self) -> Vec<FilterError> {
        let files = self.inner.builtins.iter().map(|b| b.file);
        files.flat_map(|file| read_builtin(file, file.text).errors).collect()
    }
}

impl Builtin {
    /// Every built-in file, in order of the ids.
    fn all() -> &'static [Builtin] {
        static ALL: OnceLock<Vec<Builtin>> = OnceLock::new();
        let new = |file| Builtin { file, entry: OnceLock::new(), tested: OnceLock::new() };
        ALL.get_or_init(|| filters::FILES.iter().map(new).collect())
    }

    /// The filter of the file, without its tests; `None` if the file is wrong, which a test excludes.
    pub(super) fn entry(&self) -> Option<&Entry> {
        let text = self.file.text.get(..self.file.tests).unwrap_or(self.file.text);
        self.entry.get_or_init(|| self.read(text)).as_ref()
    }

    /// The filter with its tests.
    pub(super) fn tested(&self) -> Option<&Entry> {
        self.tested.get_or_init(|| self.read(self.file.text)).as_ref()
    }

    fn read(&self, text: &str) -> Option<Entry> {
        read_builtin(self.file, text).filters.into_iter().find(|f| f.id == self.file.id).map(Entry::new)
    }
}

fn read_builtin(file: &BuiltinFile, text: &str) -> Parsed {
    toml::read(FilterSource::Builtin, file.id, text.as_bytes())
}

fn builtin_id(id: &str) -> bool {
    filters::FILES.iter().any(|f| f.id == id)
}

/// Everything a filter of a file must pass. The first failing test is enough.
fn examine(entry: &Entry) -> Vec<FilterErrorKind> {
    if let Some(kind) = check::sizes(entry) {
        return vec![kind];
    }
    let own = entry
        .def
        .tests
        .iter()
        .find_map(|t| check::test(entry, t, &|_| None).failure.or_else(|| check::laws(entry, t)));
    own.into_iter().chain(check::canaries(entry)).collect()
}

fn order(entry: &Entry) -> impl Ord + use<'_> {
    let def = &entry.def;
    (
        std::cmp::Reverse(def.source),
        def.dialect == Dialect::Json,
        std::cmp::Reverse(def.priority),
        def.id.as_str(),
    )
}
