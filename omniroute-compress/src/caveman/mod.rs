//! Condenses prose by rules: fewer words, the same statement.
//!
//! A rule replaces a phrase that carries no fact of its own by a shorter one or by nothing. What a text says does not
//! change: negations, numbers, names, conditions, modal verbs and questions are never part of an edit, code and
//! everything else in [`crate::protect`] is never touched, and a text whose language is not certain stays as it is.
//!
//! ```
//! use omniroute_compress::caveman::{Condenser, Level};
//! let out = Condenser::new(Level::Full).condense("Could you please restart the server in order to apply the change?");
//! assert_eq!(out.text, "restart server to apply change?");
//! assert_eq!(out.rules, [("article", 2), ("could-you", 1), ("in-order-to", 1)]);
//! ```

mod class;
mod detect;
mod edit;
mod pack;
mod packs;
mod prune;
mod spaced;
#[cfg(test)]
mod tests;
mod unspaced;
mod verify;
mod word;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use class::{Class, Language, Level, Safety};
pub use detect::detect;
pub(crate) use prune::prune;

use crate::protect;
use edit::Edit;
use pack::Pack;

/// Rounds after which a text that still changes is left as it was.
const MAX_ROUNDS: usize = 6;

/// A text and what was done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Condensed<'t> {
    /// The text. The very same, borrowed, if nothing was changed.
    pub text: Cow<'t, str>,
    /// Ids of the rules that acted and how often, by id.
    pub rules: Vec<(&'static str, u32)>,
    /// Why nothing was changed.
    pub kept: Option<&'static str>,
}

/// Condenses texts at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condenser {
    level: Level,
    language: Option<Language>,
    without: u16,
    pack: Option<&'static Pack>,
    only: Option<&'static str>,
    unchecked: bool,
}

impl Condenser {
    /// Finds out the language of each paragraph; all classes of rules up to the level.
    pub fn new(level: Level) -> Self {
        Condenser { level, language: None, without: 0, pack: None, only: None, unchecked: false }
    }

    /// Takes every text as one in this language.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Leaves a class of rules out.
    #[must_use]
    pub fn without(mut self, class: Class) -> Self {
        self.without |= class.bit();
        self
    }

    /// Uses one pack for everything, whatever the language.
    #[cfg(test)]
    fn pack(mut self, pack: &'static Pack) -> Self {
        self.pack = Some(pack);
        self
    }

    /// Uses one rule of the pack.
    #[cfg(test)]
    fn only(mut self, rule: &'static str) -> Self {
        self.only = Some(rule);
        self
    }

    /// Lets edits pass that the check of edits would refuse, so that a test sees what it would see without it.
    #[cfg(test)]
    fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Condenses one text. Condensing the result again changes nothing.
    pub fn condense<'t>(&self, text: &'t str) -> Condensed<'t> {
        let kept = |reason| Condensed { text: Cow::Borrowed(text), rules: Vec::new(), kept: Some(reason) };
        let mut rules = BTreeMap::new();
        let mut now = Cow::Borrowed(text);
        let mut decided = false;
        for _ in 0..MAX_ROUNDS {
            let (edits, certain) = match self.round(&now) {
                Ok(found) => found,
                Err(class) => return kept(class),
            };
            decided |= certain;
            if edits.is_empty() {
                return match rules.is_empty() {
                    true => kept(if decided { "no_gain" } else { "language_unknown" }),
                    false => Condensed { text: now, rules: rules.into_iter().collect(), kept: None },
                };
            }
            let next = edit::apply(&now, &edits);
            if next.trim().is_empty() {
                return kept("would_be_empty");
            }
            for edit in &edits {
                *rules.entry(edit.rule).or_default() += 1;
            }
            now = Cow::Owned(next);
        }
        kept("unsettled")
    }

    /// The edits of one pass, and whether the language of any paragraph was certain.
    fn round(&self, text: &str) -> Result<(Vec<Edit>, bool), &'static str> {
        let scan = protect::scan(text);
        let hashes = word::hashes(text, &scan.words);
        let found = match (self.pack, self.language) {
            (None, None) => detect::of_paragraphs(text, &scan, &hashes),
            _ => Vec::new(),
        };
        let mut edits = Vec::new();
        let mut certain = false;
        let mut said = Default::default();
        for (at, paragraph) in scan.paragraphs.iter().enumerate() {
            let language = self.language.or_else(|| found.get(at).copied().flatten());
            let pack = self.pack.or_else(|| language.map(packs::builtin));
            let Some(pack) = pack else { continue };
            certain = true;
            let before = edits.len();
            if pack.language().is_spaced() {
                let place = spaced::Place { text, scan: &scan, hashes: &hashes, paragraph, pack };
                spaced::edits(&place, self, &mut said, &mut edits);
            } else {
                unspaced::edits(text, &scan, paragraph, pack, self, &mut edits);
            }
            if !self.unchecked {
                verify::all(text, pack, edits.get(before..).unwrap_or(&[]))?;
            }
        }
        Ok((edits, certain))
    }

    /// Whether a rule may act.
    fn allows(&self, id: &str, class: Class, level: Level) -> bool {
        level <= self.level && self.without & class.bit() == 0 && self.only.is_none_or(|only| only == id)
    }
}
