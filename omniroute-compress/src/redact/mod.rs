//! Takes secrets out of text: `[REDACTED:<kind>]` stands where one was.
//!
//! Precision comes first: a redacted commit hash corrupts an agent's reasoning without a trace. One pass finds the
//! anchors, short literals near which a secret may stand; the rule of that anchor then looks at lengths, letters and
//! surroundings. Text is read once, work is linear, the same text gives the same result everywhere, and redacting
//! twice changes nothing more.

mod allow;
mod assign;
mod blocks;
mod bytes;
mod flags;
mod kind;
mod kube;
mod names;
mod prefixed;
mod rules;
mod scan;
mod shaped;
mod web;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use kind::Kind;
use rules::Secret;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text; borrowed if there was nothing to take out.
    pub text: Cow<'t, str>,
    /// How many secrets of each kind were taken out.
    pub counts: BTreeMap<Kind, u32>,
}

/// `text` without its secrets; borrowed if it has none.
///
/// `DB_PASSWORD=hunter2` becomes `DB_PASSWORD=[REDACTED:password]`.
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_counted(text).text
}

/// As [`redact`], with the number of secrets of each kind.
pub fn redact_counted(text: &str) -> Redacted<'_> {
    let mut out = Redacted { text: Cow::Borrowed(text), counts: BTreeMap::new() };
    // What a first pass takes out may leave a neighbour in sight (`a=1=b=2`); texts without secrets are read once.
    for _ in 0..ROUNDS {
        let found = rules::find(out.text.as_bytes());
        if found.is_empty() {
            break;
        }
        out.text = Cow::Owned(replace(&out.text, &found, &mut out.counts));
    }
    out
}

/// At most so many passes over a text, which keeps the work linear.
const ROUNDS: usize = 8;

/// The text with markers in place of secrets.
fn replace(text: &str, found: &[Secret], counts: &mut BTreeMap<Kind, u32>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for secret in found {
        // All ranges start and end beside ASCII, so both texts are there.
        let Some(kept) = text.get(done..secret.start).filter(|_| text.is_char_boundary(secret.end)) else {
            continue;
        };
        out.push_str(kept);
        out.push_str(secret.kind.marker());
        *counts.entry(secret.kind).or_insert(0) += 1;
        done = secret.end;
    }
    out.push_str(text.get(done..).unwrap_or(""));
    out
}
