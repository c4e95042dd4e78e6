//! Ids of calls, fitted to what a target takes. The same id always becomes the same, so calls and results stay
//! paired and histories keep their bytes.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// What ids a target takes.
#[derive(Debug, Clone, Copy)]
pub struct IdRule {
    /// In front of ids that are made.
    pub prefix: &'static str,
    /// Longest id.
    pub longest: usize,
    /// Characters beside letters and digits.
    pub also: &'static [u8],
    /// Whether an id must have exactly the longest length.
    pub exact: bool,
}

/// Anthropic: letters, digits, `_` and `-`, at most 64.
pub const ANTHROPIC: IdRule = IdRule { prefix: "toolu_", longest: 64, also: b"_-", exact: false };
/// OpenAI chat completions: at most 40 of anything that can be seen.
pub const OPENAI: IdRule = IdRule { prefix: "call_", longest: 40, also: b"_-.:", exact: false };
/// OpenAI Responses: at most 64.
pub const RESPONSES: IdRule = IdRule { prefix: "call_", longest: 64, also: b"_-.:", exact: false };
/// Bedrock: at most 64.
pub const BEDROCK: IdRule = IdRule { prefix: "tooluse_", longest: 64, also: b"_.:-", exact: false };
/// Hosts that want exactly nine letters or digits.
pub const SHORT: IdRule = IdRule { prefix: "", longest: 9, also: b"", exact: true };

/// `id` if the target takes it, else one made from it.
pub fn fit<'a>(id: &'a str, rule: &IdRule) -> Cow<'a, str> {
    let length = if rule.exact { id.len() == rule.longest } else { (1..=rule.longest).contains(&id.len()) };
    if length && id.bytes().all(|b| b.is_ascii_alphanumeric() || rule.also.contains(&b)) {
        return Cow::Borrowed(id);
    }
    let room = rule.longest.saturating_sub(rule.prefix.len()).min(24);
    Cow::Owned(format!("{}{}", rule.prefix, digits(id, room)))
}

/// An id for a call that came without one, from its place.
pub fn made(seed: u64, place: u64) -> String {
    format!("call_{}", digits(&format!("{seed:x}/{place:x}"), 24))
}

/// An id for a call of a reply that gave none: from the reply's own id, so that later replies give others.
pub fn made_for(reply: &str, choice: u32, call: u32) -> String {
    format!("call_{}", digits(&format!("{reply}/{choice}/{call}"), 24))
}

fn digits(text: &str, count: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(count).map(|b| char::from(DIGITS[usize::from(*b) % 62])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_ids_stay_and_bad_ones_become_good() {
        for rule in [&ANTHROPIC, &OPENAI, &RESPONSES, &BEDROCK, &SHORT] {
            for id in ["call_a", "", "functions.read:0", "a b", &"x".repeat(80), "abc123XYZ"] {
                let found = fit(id, rule);
                assert_eq!(fit(&found, rule), found, "fitted once is fitted");
                assert!(found.len() <= rule.longest && !found.is_empty());
                assert_eq!(fit(id, rule), found);
            }
        }
        assert_eq!(fit("call_a", &ANTHROPIC), "call_a");
        assert_eq!(fit("call_a", &SHORT).len(), 9);
        assert_ne!(fit("a b", &ANTHROPIC), fit("a c", &ANTHROPIC));
    }
}
