//! The filters of a set as rows of a table, for people.

use super::error::FilterSource;
use super::model::{Category, FilterDef};
use super::set::FilterSet;

/// One filter of a [`FilterSet`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterInfo {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub source: FilterSource,
    /// What it does, in one line; may be empty.
    pub description: String,
    /// What kind of tool it is for.
    pub category: Category,
    /// 0 to 100, higher is asked first.
    pub priority: u8,
    /// First words of its commands, then patterns for commands as `/pattern/`.
    pub commands: Vec<String>,
    /// Id of the dedicated renderer that does the work; built-in filters only.
    pub renderer: Option<String>,
    /// The recorded output it was written from, or `none`; built-in filters only.
    pub capture: Option<String>,
    /// Number of its own tests.
    pub tests: usize,
}

impl FilterSet {
    /// All filters in the order in which they are asked. The built-in files are read for it.
    pub fn catalogue(&self) -> Vec<FilterInfo> {
        self.all().map(|(entry, _)| info(&entry.def)).collect()
    }
}

fn info(def: &FilterDef) -> FilterInfo {
    let words = def.matching.words.iter().map(|words| words.join(" "));
    let patterns = def.matching.commands.iter().map(|pattern| format!("/{}/", pattern.source));
    FilterInfo {
        id: def.id.clone(),
        source: def.source,
        description: def.description.clone(),
        category: def.category,
        priority: def.priority,
        commands: words.chain(patterns).collect(),
        renderer: def.renderer.clone(),
        capture: def.capture.clone(),
        tests: def.tests.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::FilterFormat;
    use super::*;

    #[test]
    fn rows_tell_what_files_say() {
        let text = "schema_version = 2\n[filters.x]\ncategory = \"build\"\ncommands = [\"x a\"]\nmatch_command = '^y\\b'\n";
        let set = FilterSet::builder().file(FilterSource::User, FilterFormat::Toml, "f", text.as_bytes());
        let all = set.build().set.catalogue();
        assert_eq!((all[0].id.as_str(), all[0].source, all[0].priority), ("x", FilterSource::User, 50));
        assert_eq!(all[0].commands, ["x a", "/^y\\b/"]);
        assert!(all[0].renderer.is_none() && all[0].capture.is_none());
        let built_in: Vec<_> = all.iter().filter(|f| f.source == FilterSource::Builtin).collect();
        assert_eq!(built_in.len(), FilterSet::builtin().ids().count());
        let for_a_class = |id: &str| id == "generic-output";
        assert!(
            built_in.iter().all(|f| f.capture.is_some() && (for_a_class(&f.id) || !f.commands.is_empty()))
        );
    }
}
