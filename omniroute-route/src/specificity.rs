//! How special a request is, from 0 to 100, and the cheapest kind of offer that makes sense for it.

use omniroute_core::route::OfferTier;

/// What the score is made of. Counts over the text that is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Signs {
    /// Fenced blocks of code.
    pub fences: u32,
    /// Pieces of code in a line.
    pub inline_code: u32,
    /// Words of programming languages.
    pub code_words: u32,
    /// Formulas.
    pub formulas: u32,
    /// Words of mathematics.
    pub math_words: u32,
    /// Words of reasoning.
    pub reasoning_words: u32,
    /// Messages of the conversation.
    pub messages: u32,
    /// Tokens of the request.
    pub tokens: u64,
    /// Tools on offer.
    pub tools: u32,
    /// Words of a special field.
    pub field_words: u32,
}

/// The score, and the tier it asks for.
#[expect(clippy::cast_precision_loss, reason = "counts are small, and capped")]
pub fn specificity(signs: &Signs) -> (f32, OfferTier) {
    let n = |count: u32| count.min(1_000) as f32;
    let context = [(64_000, 15.0), (32_000, 12.0), (16_000, 9.0), (8_000, 6.0), (4_000, 4.0), (1_000, 2.0)];
    let tools = [(20, 10.0), (10, 8.0), (5, 6.0), (2, 4.0), (0, 2.0)];
    let parts = [
        (5.0 * n(signs.fences) + 0.5 * n(signs.inline_code) + 2.0 * n(signs.code_words)).min(25.0),
        (4.0 * n(signs.formulas) + 1.5 * n(signs.math_words)).min(20.0),
        (2.0 * n(signs.reasoning_words) + n(signs.messages.min(5))).min(20.0),
        context.iter().find(|(more, _)| signs.tokens > *more).map_or(0.0, |(_, part)| *part),
        tools.iter().find(|(more, _)| signs.tools > *more).map_or(0.0, |(_, part)| *part),
        (2.0 * n(signs.field_words)).min(10.0),
    ];
    let score: f32 = parts.iter().sum();
    let tier = match score {
        score if score <= 20.0 => OfferTier::Free,
        score if score <= 65.0 => OfferTier::Cheap,
        _ => OfferTier::Premium,
    };
    let tier = if signs.tools > 0 { tier.max(OfferTier::Cheap) } else { tier };
    (score, tier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_are_capped() {
        assert_eq!(specificity(&Signs::default()), (0.0, OfferTier::Free));
        let code = Signs { fences: 2, inline_code: 3, code_words: 1, ..Signs::default() };
        assert_eq!(specificity(&code).0, 13.5);
        let much = Signs {
            fences: 900,
            formulas: 900,
            reasoning_words: 900,
            messages: 90,
            tokens: 1 << 40,
            tools: 90,
            field_words: 900,
            ..Signs::default()
        };
        assert_eq!(specificity(&much), (100.0, OfferTier::Premium));
        for (tokens, part) in [
            (1_000, 0.0),
            (1_001, 2.0),
            (4_001, 4.0),
            (8_001, 6.0),
            (16_001, 9.0),
            (32_001, 12.0),
            (64_001, 15.0),
        ] {
            assert_eq!(specificity(&Signs { tokens, ..Signs::default() }).0, part, "{tokens}");
        }
        for (tools, part) in [(0, 0.0), (1, 2.0), (2, 2.0), (3, 4.0), (6, 6.0), (11, 8.0), (21, 10.0)] {
            assert_eq!(specificity(&Signs { tools, ..Signs::default() }).0, part, "{tools}");
        }
    }

    #[test]
    fn tools_ask_for_more_than_a_free_offer() {
        assert_eq!(specificity(&Signs { tools: 1, ..Signs::default() }).1, OfferTier::Cheap);
        assert_eq!(specificity(&Signs { messages: 3, ..Signs::default() }).1, OfferTier::Free);
    }
}
