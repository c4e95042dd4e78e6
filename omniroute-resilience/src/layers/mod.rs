//! The three layers as pure step functions: state, event and time in, state out. No input or output, no clock.

pub mod breaker;
pub mod connection;
pub mod effect;
pub mod lockout;

/// The next epoch of a record: one more, and never below the date, so that a record that was dropped and made
/// anew does not repeat one.
pub(crate) fn bump(epoch: u64, now: i64) -> u64 {
    epoch.saturating_add(1).max(u64::try_from(now).unwrap_or(0))
}
