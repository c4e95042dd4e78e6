//! A pack as it is written in TOML.

use serde::Deserialize;

use super::super::class::{Class, Level, Safety};

/// Where in a sentence a rule acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::caveman) enum At {
    /// Anywhere.
    #[default]
    Any,
    /// At the start of a sentence.
    Start,
    /// At its end.
    End,
    /// At its start or its end.
    Edge,
    /// If the phrase is the whole sentence.
    Sentence,
}

/// What has to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::caveman) enum Next {
    /// A verb of the pack's list.
    Verb,
    /// A word in small letters that is none of those that are kept.
    Word,
    /// A comma.
    Comma,
}

/// A rule as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::caveman) struct Rule {
    pub(in crate::caveman) id: String,
    pub(super) class: String,
    pub(super) level: String,
    /// Phrases, separated by ` | `.
    pub(super) from: String,
    #[serde(default)]
    pub(in crate::caveman) to: String,
    #[serde(default)]
    pub(in crate::caveman) at: At,
    #[serde(default)]
    pub(in crate::caveman) next: Option<Next>,
    /// Words that may not follow, or not stand before.
    #[serde(default)]
    pub(in crate::caveman) unless_next: Vec<String>,
    #[serde(default)]
    pub(in crate::caveman) unless_prev: Vec<String>,
    #[serde(default)]
    pub(in crate::caveman) takes: Vec<String>,
    #[serde(default)]
    pub(in crate::caveman) gives: Vec<String>,
    #[serde(rename = "in")]
    #[cfg_attr(not(test), expect(dead_code, reason = "tried by tests"))]
    pub(super) example: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "tried by tests"))]
    pub(super) out: String,
    /// Texts that the rule leaves alone.
    #[serde(default)]
    pub(super) keep: Vec<String>,
    /// Class and level, once they are read.
    #[serde(skip)]
    pub(super) kind: Option<(Class, Level)>,
}

impl Rule {
    pub(in crate::caveman) fn class(&self) -> Class {
        self.kind.map_or(Class::Filler, |(class, _)| class)
    }

    /// How many phrases it looks for.
    #[cfg(test)]
    pub(in crate::caveman) fn phrases(&self) -> usize {
        self.from.split('|').count()
    }

    pub(in crate::caveman) fn level(&self) -> Level {
        self.kind.map_or(Level::Ultra, |(_, level)| level)
    }
}

/// A whole pack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) language: String,
    pub(super) safety: SafetyFile,
    #[serde(default)]
    pub(super) lists: Lists,
    pub(super) rules: Vec<toml::Spanned<Rule>>,
}

/// Words that are kept, by kind.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SafetyFile {
    negation: String,
    #[serde(default)]
    pub(super) negation_endings: Vec<String>,
    #[serde(default)]
    pub(super) negation_beginnings: Vec<String>,
    modality: String,
    condition: String,
    quantity: String,
    question: String,
    stance: String,
}

/// Words by their use.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Lists {
    /// Base verbs that may follow a wrapper.
    pub(super) verbs: String,
    /// Words behind which a letter or a number is a name.
    pub(super) named: String,
    /// Words that no article stands before.
    pub(super) function: String,
}

impl SafetyFile {
    pub(super) fn lists(&self) -> [(Safety, &str); 6] {
        [
            (Safety::Negation, &self.negation),
            (Safety::Modality, &self.modality),
            (Safety::Condition, &self.condition),
            (Safety::Quantity, &self.quantity),
            (Safety::Question, &self.question),
            (Safety::Stance, &self.stance),
        ]
    }
}
