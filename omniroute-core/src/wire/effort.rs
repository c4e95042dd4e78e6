//! How much to think: words, budgets and what a model takes of them.

use std::borrow::Cow;

use crate::hub::{Caps, Reasoning, Thinking};

/// The words, least first.
const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Tokens for a word; `max` is as much as the model has.
pub fn budget_of(word: &str, caps: &Caps) -> u64 {
    match word {
        "none" => 0,
        "minimal" => 1_024,
        "low" => 4_096,
        "medium" => 10_240,
        "high" => 24_576,
        "xhigh" => 32_768,
        _ => caps.max_output.unwrap_or(32_768),
    }
}

/// The word for so many tokens; a negative number leaves it to the model.
pub fn word_of(budget: i64) -> &'static str {
    match budget {
        0 => "none",
        1..2_560 => "minimal",
        2_560..7_168 => "low",
        7_168..17_408 => "medium",
        17_408..28_672 => "high",
        28_672.. => "xhigh",
        _ => "medium",
    }
}

/// The word that says what the request asks for, among those the model knows: an unknown one becomes the nearest
/// lower one. The second value tells whether it changed.
pub fn word<'a>(reasoning: &'a Reasoning<'_>, caps: &'a Caps) -> (Option<Cow<'a, str>>, bool) {
    let asked: Cow<'a, str> = match (&reasoning.effort, reasoning.budget, reasoning.thinking) {
        (Some(word), ..) => word.decode(),
        (None, Some(budget), _) => word_of(budget).into(),
        (None, None, Some(Thinking::Off)) => "none".into(),
        (None, None, Some(Thinking::On)) => "medium".into(),
        (None, None, _) => return (None, false),
    };
    if caps.efforts.is_empty() || caps.efforts.iter().any(|e| *e == asked) {
        return (Some(asked), false);
    }
    let rank = |w: &str| WORDS.iter().position(|x| *x == w).unwrap_or(3);
    let lower = caps.efforts.iter().filter(|e| rank(e) <= rank(&asked)).max_by_key(|e| rank(e));
    let nearest = lower.or_else(|| caps.efforts.iter().min_by_key(|e| rank(e)));
    (nearest.map(|e| Cow::Borrowed(e.as_str())), true)
}

/// The tokens that say what the request asks for; nothing if it leaves that to the model.
pub fn budget(reasoning: &Reasoning<'_>, caps: &Caps) -> Option<u64> {
    match (reasoning.budget, &reasoning.effort, reasoning.thinking) {
        (Some(budget), ..) if budget >= 0 => Some(budget.unsigned_abs()),
        (_, Some(word), _) => Some(budget_of(&word.decode(), caps)),
        (_, None, Some(Thinking::Off)) => Some(0),
        (_, None, Some(Thinking::On)) => Some(budget_of("medium", caps)),
        _ => None,
    }
}

/// Fits a thinking budget and the caller's limit into the model's: total limit and budget, or nothing if there is
/// no room to think.
pub fn fit(asked: Option<u64>, budget: u64, caps: &Caps) -> Option<(u64, u64)> {
    const LEAST: u64 = 1_024;
    let cap = caps.max_output.unwrap_or(u64::MAX);
    for room in [asked.unwrap_or(4_096).max(LEAST), LEAST] {
        let total = room.saturating_add(budget).min(cap);
        let left = total.saturating_sub(room);
        if left >= LEAST {
            return Some((total, left));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(max_output: u64) -> Caps {
        Caps { max_output: Some(max_output), ..Caps::default() }
    }

    #[test]
    fn budgets_fit_into_the_model() {
        assert_eq!(fit(Some(32_000), 131_072, &caps(128_000)), Some((128_000, 96_000)));
        assert_eq!(fit(Some(2_000), 24_576, &caps(64_000)), Some((26_576, 24_576)));
        assert_eq!(
            fit(Some(8_000), 24_576, &caps(8_192)),
            Some((8_192, 7_168)),
            "room for the answer shrinks"
        );
        assert_eq!(fit(Some(8_000), 24_576, &caps(1_500)), None);
    }

    #[test]
    fn words_and_budgets() {
        for (budget, expected) in
            [(0, "none"), (1, "minimal"), (4_096, "low"), (24_576, "high"), (-1, "medium")]
        {
            assert_eq!(word_of(budget), expected);
        }
        let known = Caps { efforts: vec!["low".into(), "high".into()], ..Caps::default() };
        let asked = |effort: &'static str| Reasoning { effort: Some(effort.into()), ..Reasoning::default() };
        for (effort, found, changed) in
            [("high", "high", false), ("medium", "low", true), ("none", "low", true)]
        {
            let reasoning = asked(effort);
            assert_eq!(word(&reasoning, &known), (Some(found.into()), changed));
        }
    }
}
