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
mod preserve;
mod prune;
mod spaced;
#[cfg(test)]
mod tests;
mod unspaced;
mod verify;
mod word;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use class::{Class, Language, Level, Safety};
pub use detect::detect;
pub use pack::RulePacks;
pub(crate) use preserve::MAX_PATTERNS;
pub use preserve::Preserve;
pub(crate) use prune::prune;

use edit::Edit;
use pack::Pack;

/// What a rule of the user's own is called where names are fixed.
pub(crate) const OWN_RULE: &str = "own-rule";
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
#[derive(Debug, Clone)]
pub struct Condenser {
    level: Level,
    language: Option<Language>,
    /// Languages whose rules act; none: all.
    among: Vec<Language>,
    without: u16,
    skipped: Arc<BTreeSet<String>>,
    own: Arc<RulePacks>,
    preserve: Preserve,
    pack: Option<Arc<Pack>>,
    only: Option<Arc<str>>,
    unchecked: bool,
}

impl Condenser {
    /// Finds out the language of each paragraph; all classes of rules up to the level.
    pub fn new(level: Level) -> Self {
        Condenser {
            level,
            language: None,
            among: Vec::new(),
            without: 0,
            skipped: Arc::default(),
            own: Arc::default(),
            preserve: Preserve::default(),
            pack: None,
            only: None,
            unchecked: false,
        }
    }

    /// Takes every text as one in this language.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Lets only the rules of these languages act; a paragraph in another one stays as it is. None: all.
    #[must_use]
    pub fn languages(mut self, languages: impl IntoIterator<Item = Language>) -> Self {
        self.among = languages.into_iter().collect();
        self
    }

    /// Leaves a class of rules out.
    #[must_use]
    pub fn without(mut self, class: Class) -> Self {
        self.without |= class.bit();
        self
    }

    /// Leaves rules out by their ids. An id that no rule has does nothing.
    #[must_use]
    pub fn skip_rules<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.skipped = Arc::new(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Adds rules of one's own to the built-in ones.
    #[must_use]
    pub fn rule_packs(mut self, packs: impl Into<Arc<RulePacks>>) -> Self {
        self.own = packs.into();
        self
    }

    /// Leaves what these patterns find as it is.
    #[must_use]
    pub fn preserve(mut self, patterns: Preserve) -> Self {
        self.preserve = patterns;
        self
    }

    /// Uses one pack for everything, whatever the language.
    fn pack(mut self, pack: Arc<Pack>) -> Self {
        self.pack = Some(pack);
        self
    }

    /// Uses one rule of the pack.
    fn only(mut self, rule: &str) -> Self {
        self.only = Some(rule.into());
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
        let mut rules: BTreeMap<(Language, &str), u32> = BTreeMap::new();
        let mut now = Cow::Borrowed(text);
        let mut decided = false;
        for _ in 0..MAX_ROUNDS {
            let round = match self.round(&now, &mut rules) {
                Ok(round) => round,
                Err(class) => return kept(class),
            };
            decided |= round.certain;
            if round.edits.is_empty() {
                if rules.is_empty() {
                    return kept(if decided { "no_gain" } else { "language_unknown" });
                }
                if self.preserve.differ(text, &now) {
                    return kept("preserved");
                }
                return Condensed { text: now, rules: named(rules), kept: None };
            }
            let next = edit::apply(&now, &round.edits);
            if next.trim().is_empty() {
                return kept("would_be_empty");
            }
            now = Cow::Owned(next);
        }
        kept("unsettled")
    }

    /// The edits of one pass. Counts the rules that acted.
    fn round<'s>(
        &'s self,
        text: &str,
        rules: &mut BTreeMap<(Language, &'s str), u32>,
    ) -> Result<Round<'s>, &'static str> {
        let scan = self.preserve.scan(text);
        let hashes = word::hashes(text, &scan.words);
        let found = match (&self.pack, self.language) {
            (None, None) => detect::of_paragraphs(text, &scan, &hashes),
            _ => Vec::new(),
        };
        let mut out = Round::default();
        let mut said = Default::default();
        for (at, paragraph) in scan.paragraphs.iter().enumerate() {
            let language = self.language.or_else(|| found.get(at).copied().flatten());
            let language = language.filter(|found| self.among.is_empty() || self.among.contains(found));
            let Some(pack) = self.pack.as_deref().or_else(|| language.map(|language| self.pack_of(language)))
            else {
                continue;
            };
            out.certain = true;
            let before = out.edits.len();
            if pack.language().is_spaced() {
                let place = spaced::Place { text, scan: &scan, hashes: &hashes, paragraph, pack };
                spaced::edits(&place, self, &mut said, &mut out.edits);
            } else {
                unspaced::edits(text, &scan, paragraph, pack, self, &mut out.edits);
            }
            let new = out.edits.get(before..).unwrap_or(&[]);
            if !self.unchecked {
                verify::all(text, pack, new)?;
            }
            for edit in new {
                *rules.entry((pack.language(), edit.rule)).or_default() += 1;
            }
        }
        Ok(out)
    }

    /// The rules for a language.
    fn pack_of(&self, language: Language) -> &Pack {
        self.own.get(language).unwrap_or_else(|| packs::builtin(language))
    }

    /// Whether a rule may act.
    fn allows(&self, id: &str, class: Class, level: Level) -> bool {
        level <= self.level
            && self.without & class.bit() == 0
            && (self.skipped.is_empty() || !self.skipped.contains(id))
            && self.only.as_deref().is_none_or(|only| only == id)
    }
}

/// What one pass found.
#[derive(Default)]
struct Round<'s> {
    edits: Vec<Edit<'s>>,
    /// Whether the language of any paragraph was certain.
    certain: bool,
}

/// The counts by the fixed names of rules; those of the user's own have one name together.
fn named(rules: BTreeMap<(Language, &str), u32>) -> Vec<(&'static str, u32)> {
    let mut out: BTreeMap<&'static str, u32> = BTreeMap::new();
    for ((language, id), count) in rules {
        *out.entry(packs::name(language, id)).or_default() += count;
    }
    out.into_iter().collect()
}
