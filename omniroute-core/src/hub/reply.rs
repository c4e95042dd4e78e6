//! A reply.

use super::request::Turn;
use super::value::{Extra, Json, Str};

/// An answer of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply<'d> {
    /// The wire it was read from; extras belong to it.
    pub wire: &'static str,
    /// The provider's name for the answer.
    pub id: Option<Str<'d>>,
    /// The model that answered.
    pub model: Option<Str<'d>>,
    /// When, as the wire writes it.
    pub created: Option<Json<'d>>,
    /// The answers, at least one.
    pub choices: Vec<Choice<'d>>,
    /// What it took.
    pub usage: Option<Usage>,
    /// The service tier that was used.
    pub tier: Option<Str<'d>>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl Reply<'_> {
    /// Whether nothing was said and nothing explains why: no part, no reason but a plain stop.
    pub fn is_empty(&self) -> bool {
        let silent = |c: &Choice<'_>| {
            c.turn.parts.is_empty()
                && c.stop
                    .as_ref()
                    .is_none_or(|s| matches!(s.reason, StopReason::Stop | StopReason::ToolCalls))
        };
        self.choices.iter().all(silent)
    }
}

/// One of several answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice<'d> {
    /// Its number.
    pub index: u32,
    /// What was said.
    pub turn: Turn<'d>,
    /// Why it ended.
    pub stop: Option<Stop<'d>>,
    /// Token probabilities of the whole choice, as the wire writes them.
    pub logprobs: Option<Json<'d>>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop<'d> {
    /// The reason.
    pub reason: StopReason,
    /// The wire's own word.
    pub raw: Option<Str<'d>>,
    /// The stop sequence that was met.
    pub sequence: Option<Str<'d>>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl Stop<'_> {
    /// A reason with nothing else.
    pub fn new(reason: StopReason) -> Self {
        Stop { reason, raw: None, sequence: None, extra: Vec::new() }
    }
}

/// Why an answer ended, in our words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// A stop sequence was met.
    StopSequence,
    /// The output limit was reached.
    Length,
    /// The context is full.
    ContextFull,
    /// The model waits for tools.
    ToolCalls,
    /// A filter cut it.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// The provider paused; the same conversation goes on when sent again.
    Pause,
    /// The model wrote a call that cannot be read.
    Malformed,
    /// It broke off.
    Failed,
    /// Something new.
    Unknown,
}

/// Tokens that a call took. Unknown is not zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Input without what was read from or written to a cache.
    pub uncached: u64,
    /// Input read from a cache.
    pub cache_read: Option<u64>,
    /// Input written to a cache.
    pub cache_write: Option<u64>,
    /// Part of `cache_write` that is kept for five minutes.
    pub write_5m: Option<u64>,
    /// Part of `cache_write` that is kept for an hour.
    pub write_1h: Option<u64>,
    /// Output, reasoning included.
    pub output: u64,
    /// Part of the output that was reasoning.
    pub reasoning: Option<u64>,
    /// Whether we counted it ourselves.
    pub estimated: bool,
    /// As its wire wrote it; belongs to the reply's wire.
    pub raw: Option<Json<'static>>,
}

impl Usage {
    /// From a wire that counts cached input as input. Parts larger than the whole win.
    pub fn gross(input: u64, cache_read: Option<u64>, cache_write: Option<u64>) -> Usage {
        let parts = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        Usage { uncached: input.saturating_sub(parts), cache_read, cache_write, ..Usage::default() }
    }

    /// All input.
    pub fn input(&self) -> u64 {
        self.uncached
            .saturating_add(self.cache_read.unwrap_or(0))
            .saturating_add(self.cache_write.unwrap_or(0))
    }

    /// Input and output.
    pub fn total(&self) -> u64 {
        self.input().saturating_add(self.output)
    }

    /// As counted for billing.
    pub fn billed(&self) -> crate::model_facts::Usage {
        let write_1h = self.write_1h.unwrap_or(0);
        crate::model_facts::Usage {
            input: self.uncached,
            cache_read: self.cache_read.unwrap_or(0),
            cache_write: self.cache_write.unwrap_or(0).saturating_sub(write_1h),
            cache_write_1h: write_1h,
            output: self.output,
            reasoning: self.reasoning.unwrap_or(0),
            reported: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gross_input_is_split_and_added_up_again() {
        let usage = Usage { output: 500, ..Usage::gross(10_000, Some(8_000), Some(1_000)) };
        assert_eq!((usage.uncached, usage.input(), usage.total()), (1_000, 10_000, 10_500));
        assert_eq!(Usage::gross(5, Some(8), None).input(), 8, "the parts win");
    }
}
