//! Names of levels, classes of rules, languages and kinds of words that are kept.

use std::fmt;

/// How much is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Pleasantries, wrappers around requests, filler words, long-winded phrases.
    Lite,
    /// Also intensifiers, sentences about what follows, and articles where they carry nothing.
    Full,
    /// Also connectives without contrast, frames like "there are", sentences said twice.
    Ultra,
}

impl Level {
    /// All levels, the mildest first.
    pub const ALL: [Level; 3] = [Level::Lite, Level::Full, Level::Ultra];

    /// The name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Level::Lite => "lite",
            Level::Full => "full",
            Level::Ultra => "ultra",
        }
    }

    /// The level with this name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// What a rule takes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// "please", "thanks in advance".
    Pleasantry,
    /// "could you please" before a verb.
    Wrapper,
    /// "basically", "as you know".
    Filler,
    /// "in order to" for "to".
    Redundancy,
    /// "very", "extremely".
    Intensifier,
    /// "Let me give you some context."
    Meta,
    /// "the", "a" before a noun.
    Article,
    /// "there are … that".
    Existential,
    /// "Furthermore,".
    Connective,
    /// A sentence that was said before.
    Repeat,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 10] = [
        Class::Pleasantry,
        Class::Wrapper,
        Class::Filler,
        Class::Redundancy,
        Class::Intensifier,
        Class::Meta,
        Class::Article,
        Class::Existential,
        Class::Connective,
        Class::Repeat,
    ];

    /// The name in packs and settings.
    pub fn name(self) -> &'static str {
        match self {
            Class::Pleasantry => "pleasantry",
            Class::Wrapper => "wrapper",
            Class::Filler => "filler",
            Class::Redundancy => "redundancy",
            Class::Intensifier => "intensifier",
            Class::Meta => "meta",
            Class::Article => "article",
            Class::Existential => "existential",
            Class::Connective => "connective",
            Class::Repeat => "repeat",
        }
    }

    /// The class with this name.
    pub fn parse(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    pub(crate) fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Words that an edit never takes away or adds, unless the rule says that they are no more than politeness or mean
/// the same. For negations and questions there is no exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Safety {
    /// "not", "never", "without", "only".
    Negation,
    /// "must", "may", "should".
    Modality,
    /// "if", "unless", "before", "then".
    Condition,
    /// "all", "at least", "about", "few".
    Quantity,
    /// "who", "why".
    Question,
    /// "but", "because", "probably".
    Stance,
}

impl Safety {
    /// All kinds.
    pub const ALL: [Safety; 6] = [
        Safety::Negation,
        Safety::Modality,
        Safety::Condition,
        Safety::Quantity,
        Safety::Question,
        Safety::Stance,
    ];

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Bits of all kinds of words that are kept.
pub(crate) const SAFE: u16 = 0b11_1111;

/// Languages with a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Language {
    /// German.
    De,
    /// English.
    En,
    /// Spanish.
    Es,
    /// French.
    Fr,
    /// Indonesian.
    Id,
    /// Japanese.
    Ja,
    /// Portuguese of Brazil.
    PtBr,
    /// Chinese.
    Zh,
}

impl Language {
    /// All languages with a pack.
    pub const ALL: [Language; 8] = [
        Language::De,
        Language::En,
        Language::Es,
        Language::Fr,
        Language::Id,
        Language::Ja,
        Language::PtBr,
        Language::Zh,
    ];

    /// The tag: `de`, `en`, `es`, `fr`, `id`, `ja`, `pt-BR`, `zh`.
    pub fn tag(self) -> &'static str {
        match self {
            Language::De => "de",
            Language::En => "en",
            Language::Es => "es",
            Language::Fr => "fr",
            Language::Id => "id",
            Language::Ja => "ja",
            Language::PtBr => "pt-BR",
            Language::Zh => "zh",
        }
    }

    /// The language with this tag.
    pub fn parse(tag: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.tag() == tag)
    }

    /// Whether words stand apart from each other.
    pub fn is_spaced(self) -> bool {
        !matches!(self, Language::Ja | Language::Zh)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}
