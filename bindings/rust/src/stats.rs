//! Sums over the calls of one compressor.

use omniroute_core::CompressReceipt;
use serde::Serialize;

/// Sums over the calls of one compressor since it was made. Ratios are ratios of these sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that gave a result.
    pub calls: u64,
    /// Of these, calls that changed the body.
    pub changed: u64,
    /// Of these, calls in which nothing was attempted.
    pub skipped: u64,
    /// Tokens as they came.
    pub tokens_before: u64,
    /// Tokens as they are sent.
    pub tokens_after: u64,
    /// Bytes as they came.
    pub bytes_before: u64,
    /// Bytes as they are sent.
    pub bytes_after: u64,
}

impl Stats {
    /// Adds one call.
    pub(crate) fn add(&mut self, receipt: &CompressReceipt) {
        self.calls += 1;
        self.changed += u64::from(receipt.applied);
        self.skipped += u64::from(receipt.skipped.is_some());
        self.tokens_before += receipt.tokens_before;
        self.tokens_after += receipt.tokens_after;
        self.bytes_before += receipt.bytes_before;
        self.bytes_after += receipt.bytes_after;
    }
}
