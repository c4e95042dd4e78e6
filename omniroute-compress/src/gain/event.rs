//! One compressed, or not compressed, tool result.

use omniroute_core::UnixMs;
use sha2::{Digest, Sha256};

/// Characters of a result that harnesses show, unless the caller knows better: 30,000.
pub const HARNESS_CAP: usize = 30_000;

/// What one tool result became. Holds no text of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavingsEvent {
    /// Class of the output, for instance `"test.pytest"`; `"unknown"` if there is none.
    pub class: String,
    /// Filter or renderer that did it.
    pub filter: Option<String>,
    /// Intensity, for instance `"standard"`.
    pub intensity: &'static str,
    /// Bytes of the result as it came.
    pub bytes_in: u64,
    /// Bytes as sent.
    pub bytes_out: u64,
    /// Tokens as it came.
    pub tokens_in: u64,
    /// Tokens as sent.
    pub tokens_out: u64,
    /// Tokens of what the harness would have shown of the original.
    pub tokens_in_capped: u64,
    /// Tokens of what the harness shows of the result.
    pub tokens_out_capped: u64,
    /// Whether tokens are exact counts, not estimates.
    pub exact: bool,
    /// Whether the result was changed.
    pub changed: bool,
    /// Why, or why not, for instance `"Compressed"` or `"NoGain"`.
    pub reason: String,
    /// Microseconds it took, if the caller has a clock.
    pub micros: Option<u64>,
    /// Lines that the failure guard put back.
    pub guard_reinserted: u32,
    /// The command, to notice when it is run again.
    pub command: Option<CommandId>,
    /// When it happened, for sums by day.
    pub at: Option<UnixMs>,
}

impl SavingsEvent {
    /// An event about a text and what became of it, counted with `count` under a cap of `cap` characters.
    ///
    /// Set the other fields afterwards; `changed` is whether the two differ.
    pub fn new(class: &str, before: &str, after: &str, cap: usize, count: impl Fn(&str) -> u64) -> Self {
        let capped = |text: &str, whole: u64| {
            let view = harness_view(text, cap);
            if view.len() == text.len() { whole } else { count(view) }
        };
        let tokens_in = count(before);
        let tokens_out = if before == after { tokens_in } else { count(after) };
        SavingsEvent {
            class: class.to_owned(),
            bytes_in: before.len() as u64,
            bytes_out: after.len() as u64,
            tokens_in,
            tokens_out,
            tokens_in_capped: capped(before, tokens_in),
            tokens_out_capped: capped(after, tokens_out),
            changed: before != after,
            ..SavingsEvent::default()
        }
    }

    /// Tokens saved against what the harness would have shown; negative if the result is longer.
    pub fn saved(&self) -> i64 {
        signed(self.tokens_in_capped) - signed(self.tokens_out_capped)
    }
}

/// A number that fits; sums of tokens are far below the limit.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What a harness shows of a text: its first `cap` characters.
pub fn harness_view(text: &str, cap: usize) -> &str {
    if text.len() <= cap {
        return text;
    }
    let end = text.char_indices().nth(cap).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// A command without its text: equal commands have equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommandId(u64);

impl CommandId {
    /// The id of a command; runs of blanks count as one.
    pub fn of(command: &str) -> Self {
        let mut hash = Sha256::new();
        for word in command.split_whitespace() {
            hash.update(word.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        CommandId(digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_counts_characters() {
        assert_eq!(harness_view("abc", 3), "abc");
        assert_eq!(harness_view("äöüß", 3), "äöü");
        assert_eq!(harness_view("äöü", 5), "äöü");
        assert_eq!(CommandId::of("ls  -l"), CommandId::of(" ls -l\n"));
        assert_ne!(CommandId::of("ls -l"), CommandId::of("ls -la"));
        assert_ne!(CommandId::of("ls -l"), CommandId::of("ls-l"));
    }

    #[test]
    fn what_the_harness_cuts_is_no_saving() {
        let long = "x".repeat(100);
        let count = |text: &str| text.len() as u64;
        let cut = SavingsEvent::new("a", &long, &"x".repeat(30), 30, count);
        assert_eq!((cut.tokens_in, cut.tokens_in_capped, cut.saved()), (100, 30, 0));
        // The result is cut as well: what is left beyond the cap costs nothing.
        let both = SavingsEvent::new("a", &long, &"x".repeat(50), 30, count);
        assert_eq!((both.tokens_out, both.tokens_out_capped, both.saved()), (50, 30, 0));
        let real = SavingsEvent::new("a", &long, &"x".repeat(10), 30, count);
        assert_eq!(real.saved(), 20);
    }
}
