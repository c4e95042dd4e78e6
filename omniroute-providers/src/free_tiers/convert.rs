//! From a published limit to tokens a month.

/// Tokens that a request is taken to use where only requests are limited.
pub const TOKENS_PER_REQUEST: u64 = 800;

/// A limit as providers publish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// Tokens a month.
    TokensPerMonth(u64),
    /// Tokens a day.
    TokensPerDay(u64),
    /// Requests a day.
    RequestsPerDay(u64),
    /// Only how fast, in a minute: says nothing about a month.
    RateOnly,
}

impl Published {
    /// Tokens a month of 30 days; none if the limit gives none. A rate is never taken times a week of minutes.
    pub fn tokens_per_month(self) -> Option<u64> {
        match self {
            Published::TokensPerMonth(tokens) => Some(tokens),
            Published::TokensPerDay(tokens) => tokens.checked_mul(30),
            Published::RequestsPerDay(requests) => requests.checked_mul(TOKENS_PER_REQUEST)?.checked_mul(30),
            Published::RateOnly => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_limits_become_months() {
        for (published, tokens) in [
            (Published::TokensPerMonth(1_000_000_000), Some(1_000_000_000)),
            // LLM7: 5M tokens a day. Nara: a bucket of 7M a day.
            (Published::TokensPerDay(5_000_000), Some(150_000_000)),
            (Published::TokensPerDay(7_000_000), Some(210_000_000)),
            // OpenRouter: 50 requests a day, 1000 after a deposit. ModelScope: about 250 calls.
            (Published::RequestsPerDay(50), Some(1_200_000)),
            (Published::RequestsPerDay(1000), Some(24_000_000)),
            (Published::RequestsPerDay(250), Some(6_000_000)),
            (Published::RateOnly, None),
            (Published::TokensPerDay(u64::MAX), None),
            (Published::RequestsPerDay(u64::MAX / 800), None),
        ] {
            assert_eq!(published.tokens_per_month(), tokens, "{published:?}");
        }
    }
}
