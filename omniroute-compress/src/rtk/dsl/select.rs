//! Which filter an output gets.

use super::entry::Entry;
use super::error::FilterSource;
use super::set::FilterSet;
use crate::rtk::filters;
use crate::rtk::kit::{Draft, Output, Verdict};

/// The class of outputs that nothing recognised.
const UNKNOWN: &str = "unknown";

/// Why a filter was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The command.
    Command,
    /// The class of the output.
    Class,
    /// The text alone.
    Text,
}

impl FilterSet {
    /// The built-in filter for a command, by the longest list of first words; options are passed over. Filters that
    /// are not allowed give way to the next one.
    pub(crate) fn class_of(&self, words: &[&str]) -> Option<&'static str> {
        filters::candidates(words).find(|id| self.usable(id))
    }

    /// The filter of the user or the project for an output of this class, if there is one.
    ///
    /// # Behavior
    ///
    /// The project's filters are asked before the user's. Of one owner's, the first that names the command wins, then
    /// the first that names the class, then, for an unknown command and class, the first of whose patterns for texts
    /// all match. Filters that are not allowed, or that forbid the command or the exit code, are passed over.
    pub(crate) fn choose(&self, class: &str, out: &Output<'_>) -> Option<(&Entry, By)> {
        let custom = &self.inner.custom;
        if custom.is_empty() {
            return None;
        }
        let line = out.words.join(" ");
        let known = !out.words.is_empty();
        for source in [FilterSource::Project, FilterSource::User] {
            let own = || {
                let mine = custom.iter().map(|c| &c.entry).filter(move |e| e.def.source == source);
                mine.filter(|e| self.permits(&e.def.id) && !e.is_vetoed(&line, out.exit_code))
            };
            let by_command = || own().find(|e| known && e.is_for_command(out.words, &line));
            let by_class = || own().find(|e| e.def.matching.classes.iter().any(|c| c == class));
            let by_text = || own().find(|e| !known && class == UNKNOWN && e.is_for_text(out.text));
            let chosen = by_command().map(|entry| (entry, By::Command));
            let chosen = chosen.or_else(|| by_class().map(|entry| (entry, By::Class)));
            let chosen = chosen.or_else(|| by_text().map(|entry| (entry, By::Text)));
            if chosen.is_some() {
                return chosen;
            }
        }
        None
    }

    /// Marks the draft with the user's or the project's filter for this output; `None` if there is none.
    pub(crate) fn run_custom(&self, class: &str, out: &Output<'_>, draft: &mut Draft) -> Option<Verdict> {
        let (entry, _) = self.choose(class, out)?;
        entry.run(out, draft);
        Some(Verdict::Done)
    }

    /// The built-in filter of this id, with a renderer or without: `None` if there is none, if it may not be used, or
    /// if it forbids the command or the exit code.
    pub(crate) fn builtin_entry(&self, id: &str, out: &Output<'_>) -> Option<&Entry> {
        let builtin = self.inner.builtins.iter().find(|b| b.file.id == id && self.permits(id))?;
        builtin.entry().filter(|e| !e.is_vetoed(&out.words.join(" "), out.exit_code))
    }

    /// Marks the draft with the built-in filter of this id; not its own if it may not be used or if a renderer does
    /// its work.
    pub(crate) fn run_builtin(&self, id: &str, out: &Output<'_>, draft: &mut Draft) -> Verdict {
        match self.builtin_entry(id, out) {
            Some(entry) if entry.def.renderer.is_none() => {
                entry.run(out, draft);
                Verdict::Done
            }
            _ => Verdict::NotMine,
        }
    }

    /// Whether a built-in filter exists here and may be used.
    fn usable(&self, id: &str) -> bool {
        self.permits(id) && self.inner.builtins.iter().any(|b| b.file.id == id)
    }
}
