//! A pack as it is written, in TOML or JSON.

use std::ops::Range;

use omniroute_core::Doc;
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
#[derive(Debug, Clone, Deserialize)]
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
    /// The numbers of the words of both lists, the following ones first.
    #[serde(skip)]
    pub(in crate::caveman) unless: [Vec<u64>; 2],
    #[serde(default)]
    pub(in crate::caveman) takes: Vec<String>,
    #[serde(default)]
    pub(in crate::caveman) gives: Vec<String>,
    #[serde(rename = "in")]
    pub(super) example: String,
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
    #[serde(default)]
    pub(super) safety: SafetyFile,
    #[serde(default)]
    pub(super) lists: Lists,
    pub(super) rules: Vec<Rule>,
}

/// Words that are kept, by kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SafetyFile {
    negation: String,
    pub(super) negation_endings: Vec<String>,
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

/// Line, place and message.
type Wrong = (usize, String, String);

/// Reads a file, in JSON if it starts with a brace, and the line of each rule.
///
/// # Errors
/// The first mistake with its line, the rule it stands in and the key.
pub(super) fn read(text: &str) -> Result<(File, Vec<usize>), Wrong> {
    if text.trim_start().starts_with('{') { read_json(text) } else { read_toml(text) }
}

fn read_toml(text: &str) -> Result<(File, Vec<usize>), Wrong> {
    let starts: Vec<usize> = toml::from_str::<Spots>(text)
        .map(|spots| spots.rules.iter().map(|rule| rule.span().start).collect())
        .unwrap_or_default();
    match toml::from_str::<File>(text) {
        Ok(file) => {
            let lines = (0..file.rules.len()).map(|n| line_of(text, starts.get(n).copied().unwrap_or(0)));
            let lines = lines.collect();
            Ok((file, lines))
        }
        Err(error) => {
            let at = error.span().map_or(text.len(), |span| span.start);
            let before = text.get(..at).unwrap_or("");
            let headed = text.get(..at + 9).unwrap_or(before);
            let rule = headed.rfind("[[rules]]").and_then(|from| {
                let rest = text.get(from + 9..)?;
                let end = rest.find("[[").unwrap_or(rest.len());
                let id = rest.get(..end)?.lines().find_map(|line| line.trim().strip_prefix("id"))?;
                id.trim_start().strip_prefix('=')?.trim().trim_matches(['"', '\'']).to_owned().into()
            });
            let line = before.rsplit('\n').next().unwrap_or("");
            let key = line.split_once('=').map(|(key, _)| key.trim().to_owned());
            Err((line_of(text, at), place(rule), named(key, error.message())))
        }
    }
}

fn read_json(text: &str) -> Result<(File, Vec<usize>), Wrong> {
    let doc = Doc::parse(text.to_owned()).ok();
    let rules: Vec<(Range<usize>, Option<String>)> = doc.as_ref().map_or_else(Vec::new, |doc| {
        let list = doc.get(doc.root(), "rules").into_iter().flat_map(|list| doc.elements(list));
        let id = |rule| doc.get(rule, "id").and_then(|id| doc.str(id)).map(|id| id.into_owned());
        list.map(|rule| (doc.span(rule), id(rule))).collect()
    });
    match serde_json::from_str::<File>(text) {
        Ok(file) => Ok((file, rules.iter().map(|(span, _)| line_of(text, span.start)).collect())),
        Err(error) => {
            let start: usize =
                text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let at = (start + error.column()).min(text.len());
            let rule = rules.into_iter().find(|(span, _)| span.start < at && at <= span.end + 1);
            let before = text.get(start..at).unwrap_or("");
            let key = before.rsplit_once(':').and_then(|(key, _)| key.trim_end().strip_suffix('"'));
            let key = key.and_then(|key| key.rsplit_once('"')).map(|(_, key)| key.to_owned());
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            Err((error.line(), place(rule.and_then(|(_, id)| id)), named(key, message)))
        }
    }
}

/// Where rules stand in TOML.
#[derive(Deserialize)]
struct Spots {
    rules: Vec<toml::Spanned<toml::Value>>,
}

fn place(rule: Option<String>) -> String {
    rule.map_or_else(|| "file".to_owned(), |id| format!("rule \"{id}\""))
}

/// The message with the key that it is about, unless it names one.
fn named(key: Option<String>, message: &str) -> String {
    match key {
        Some(key) if !message.contains("field `") => format!("key \"{key}\": {message}"),
        _ => message.to_owned(),
    }
}

/// Line of the first place where a key is given.
pub(super) fn line_of_key(text: &str, key: &str) -> usize {
    text.find(key).map_or(1, |at| line_of(text, at))
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|b| *b == b'\n').count()
}
