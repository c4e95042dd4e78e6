//! Below a certain length a provider's cache keeps nothing, and every token is billed in full again in every turn. So the
//! first tokens of a conversation, as many as the cache needs, stay as they came, unless what is taken out of them is
//! worth more than that.
//!
//! What a text is sent as is settled by the texts before it, so every later turn comes to the same answer. A request
//! that no other one follows has nothing to lose; one without a named session is taken for such.

/// Why a text is kept.
pub(super) const REASON: &str = "below_cache_minimum";
/// Tokens by which a conversation grows in a turn: a call and a short answer.
const GROWTH: u64 = 100;
/// Turns that are looked ahead, at most.
const TURNS: u64 = 10;

/// How many tokens will be sent before the next text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Floor {
    minimum: u64,
    sent: u64,
}

impl Floor {
    /// For a cache that keeps prompts of `minimum` tokens and more; 0 lets everything pass.
    pub(super) fn new(minimum: u64) -> Floor {
        Floor { minimum, sent: 0 }
    }

    /// Whether the next text, of so many tokens before and after, has to stay as it is.
    pub(super) fn refuses(&self, before: u32, after: u32) -> bool {
        let (kept, short) = (self.sent + u64::from(before), self.sent + u64::from(after));
        if short >= self.minimum || after >= before {
            return false;
        }
        // Until it has grown long enough the short prompt is paid in full each time; the long one once, and then a tenth
        // of it, where reading is cheapest and writing costs nothing extra.
        let turns = TURNS.min((self.minimum - short) / GROWTH + 2);
        kept < self.minimum || short * turns * 10 > kept * (turns + 9)
    }

    /// Whether the prompt is too short as yet.
    pub(super) fn is_open(&self) -> bool {
        self.sent < self.minimum
    }

    /// Takes notice of what the text is sent as.
    pub(super) fn pass(&mut self, tokens: u32) {
        self.sent += u64::from(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_where_the_prompt_would_fall_short() {
        let rows = [
            ("it crosses the minimum and would not", 600, (500, 100), true),
            ("it crosses either way", 600, (900, 430), false),
            ("too short as yet", 100, (500, 100), true),
            ("too short, and nearly nothing is left", 0, (900, 10), true),
            ("long past it", 90_000, (500, 100), false),
            ("so much is taken out that the cache is not needed", 100, (5_000, 600), false),
            ("not enough is taken out", 100, (2_000, 600), true),
            ("it will be long enough in the next turn but one", 100, (3_000, 900), false),
            ("longer than before is for others to refuse", 100, (500, 600), false),
        ];
        for (what, sent, (before, after), want) in rows {
            let mut floor = Floor::new(1_024);
            floor.pass(sent);
            assert_eq!(floor.refuses(before, after), want, "{what}");
            assert!(!Floor::new(0).refuses(before, after), "no cache, no minimum");
        }
    }
}
