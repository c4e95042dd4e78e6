//! What a caller may say about one request.

/// What a caller knows about one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// Whether the provider's prompt cache is cold for this session. None: the times of the requests decide.
    pub cold: Option<bool>,
    /// Tokens that the request may have. A longer one has old results cut to [`CallOptions::target`].
    pub limit: Option<u64>,
    /// Tokens that are aimed at where the limit is passed; the limit itself if nothing is said.
    pub target: Option<u64>,
    /// The caller can only change texts in place: no note is added and nothing is left out that needs one.
    pub texts_only: bool,
    /// No other request follows that starts like this one. In a named session the first tokens, as many as the
    /// provider's cache needs to keep anything, are otherwise left as they came unless much can be taken out
    /// (`below_cache_minimum` in the receipt).
    pub one_shot: bool,
}

impl CallOptions {
    /// Says whether the provider's cache is cold.
    #[must_use]
    pub fn cold(mut self, cold: bool) -> Self {
        self.cold = Some(cold);
        self
    }

    /// The model's context window without room for the answer, in tokens. A request over it is cut to 85 % of it, so
    /// that the next turns fit, too, without another cut.
    #[must_use]
    pub fn context_limit(mut self, tokens: u64) -> Self {
        (self.limit, self.target) = (Some(tokens), Some(tokens.saturating_mul(85) / 100));
        self
    }

    /// Cuts old results until the request has at most this many tokens, as far as that is possible.
    #[must_use]
    pub fn target_tokens(mut self, tokens: u64) -> Self {
        (self.limit, self.target) = (Some(tokens), Some(tokens));
        self
    }

    /// Says that the caller can only change texts in place.
    #[must_use]
    pub fn texts_only(mut self, on: bool) -> Self {
        self.texts_only = on;
        self
    }

    /// Says that no other request follows that starts like this one.
    #[must_use]
    pub fn one_shot(mut self, on: bool) -> Self {
        self.one_shot = on;
        self
    }
}
