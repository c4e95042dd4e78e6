//! A loaded filter with its automata, which are made when they are first needed.

use std::sync::OnceLock;

use super::compile::{Chooser, Compiled};
use super::model::FilterDef;
use super::run::{Ready, guarded};
use crate::rtk::kit::{Draft, Output};

/// A filter of a set.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) def: FilterDef,
    compiled: OnceLock<Option<Compiled>>,
    chooser: OnceLock<Option<Chooser>>,
}

impl Entry {
    pub(crate) fn new(def: FilterDef) -> Entry {
        Entry { def, compiled: OnceLock::new(), chooser: OnceLock::new() }
    }

    /// The filter, ready to run; `None` if a pattern is too large, which files from elsewhere are checked for.
    pub(crate) fn ready(&self) -> Option<Ready<'_>> {
        let compiled = self.compiled.get_or_init(|| Compiled::new(&self.def).ok()).as_ref()?;
        Some(Ready { def: &self.def, compiled })
    }

    /// Marks the draft; leaves it alone if the filter cannot run.
    pub(crate) fn run(&self, out: &Output<'_>, draft: &mut Draft) {
        if let Some(ready) = self.ready() {
            guarded(ready, out, draft);
        }
    }

    fn chooser(&self) -> Option<&Chooser> {
        self.chooser
            .get_or_init(|| Chooser::new(&self.def.matching, self.def.dialect.ignore_case()).ok())
            .as_ref()
    }

    /// Whether the filter is for this command: its first words, or its pattern.
    pub(crate) fn is_for_command(&self, words: &[&str], line: &str) -> bool {
        let matching = &self.def.matching;
        let starts = |prefix: &Vec<String>| {
            prefix.len() <= words.len() && prefix.iter().zip(words).all(|(a, b)| a.as_str() == *b)
        };
        matching.words.iter().any(starts)
            || !matching.commands.is_empty()
                && self.chooser().is_some_and(|c| c.commands.is_match(line, true))
    }

    /// Whether command or exit code forbid the filter.
    pub(crate) fn is_vetoed(&self, line: &str, exit_code: Option<i32>) -> bool {
        let matching = &self.def.matching;
        !matching.exit.allows(exit_code)
            || !matching.not_commands.is_empty()
                && self.chooser().is_none_or(|c| c.not_commands.is_match(line, true))
    }

    /// Whether all of its patterns for texts, at least two, match.
    pub(crate) fn is_for_text(&self, text: &str) -> bool {
        self.def.matching.texts.len() >= 2
            && self.chooser().is_some_and(|c| c.texts.iter().all(|t| t.is_match(text.as_bytes())))
    }
}
