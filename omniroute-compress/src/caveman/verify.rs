//! The last word on every edit: looks only at what goes and what comes, knows nothing of rules.

use super::edit::Edit;
use super::pack::Pack;

/// Checks all edits of a paragraph.
///
/// # Errors
/// The name of what an edit would have changed.
pub(super) fn all(text: &str, pack: &Pack, edits: &[Edit<'_>]) -> Result<(), &'static str> {
    let mut at = 0;
    for edit in edits {
        if edit.start < at {
            return Err("safety_order");
        }
        at = edit.end;
        one(text, pack, edit)?;
    }
    Ok(())
}

fn one(text: &str, pack: &Pack, edit: &Edit<'_>) -> Result<(), &'static str> {
    let gone = text.get(edit.start..edit.end).ok_or("safety_order")?;
    let questions = |s: &str| s.chars().filter(|c| matches!(c, '?' | '？')).count();
    if gone.chars().chain(edit.to.chars()).any(char::is_numeric) {
        return Err("safety_number");
    }
    if questions(gone) != questions(&edit.to) {
        return Err("safety_question");
    }
    let (lost, new) = match pack.language().is_spaced() {
        true => {
            let (lost, new) = (sorted(pack.kept_words(gone)), sorted(pack.kept_words(&edit.to)));
            (without(&lost, &new), without(&new, &lost))
        }
        false => in_context(text, pack, edit),
    };
    if lost != *edit.takes || new != *edit.gives {
        return Err("safety_words");
    }
    let before = text.get(..edit.start).and_then(|t| t.chars().next_back());
    let after = text.get(edit.end..).and_then(|t| t.chars().next());
    let spaced = pack.language().is_spaced();
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && (spaced || c.is_ascii()));
    if edit.to.is_empty() && letter(before) && letter(after) {
        return Err("safety_join");
    }
    Ok(())
}

pub(super) fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable();
    words
}

/// Kept words that go and that come, where words are written together: with what stands around, for a word may begin
/// or end there.
fn in_context(text: &str, pack: &Pack, edit: &Edit<'_>) -> (Vec<String>, Vec<String>) {
    let around = |start: usize, end: usize| text.get(start..end).unwrap_or("");
    let from = text.get(..edit.start).and_then(|t| t.char_indices().rev().nth(5)).map_or(0, |(at, _)| at);
    let rest = text
        .get(edit.end..)
        .and_then(|t| t.char_indices().nth(6))
        .map_or(text.len(), |(at, _)| edit.end + at);
    let before = sorted(pack.kept_words(around(from, rest)));
    let new = format!("{}{}{}", around(from, edit.start), edit.to, around(edit.end, rest));
    let after = sorted(pack.kept_words(&new));
    (without(&before, &after), without(&after, &before))
}

/// The words of one sorted list that the other does not have.
pub(super) fn without(all: &[String], other: &[String]) -> Vec<String> {
    let mut other = other.iter().peekable();
    let mut left = Vec::new();
    for word in all {
        while other.next_if(|o| *o < word).is_some() {}
        if other.next_if(|o| *o == word).is_none() {
            left.push(word.clone());
        }
    }
    left
}
