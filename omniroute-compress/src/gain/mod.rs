//! What compression saved: sums that add up, and what it cost.
//!
//! Three rules keep the numbers honest. Averages are weighted by tokens, so rows and total reconcile: every column of
//! the total is the sum of the rows. The baseline is what the model would have seen without us: harnesses cut long
//! results by themselves ([`HARNESS_CAP`]), and what they cut is not our saving; the result is counted under the same
//! cap. Costs stand beside savings: a command that is run again soon after its result was compressed, and raw output
//! that is fetched back.
//!
//! [`Gain`] takes [`SavingsEvent`]s as they happen, receipts
//! ([`CompressReceipt`](omniroute_core::CompressReceipt)), or a file of receipts with one JSON document a line. A receipt
//! of a single text counts as a result as well; receipts of requests do not tell classes apart.

mod event;
mod export;
mod money;
mod receipts;
mod share;
mod tally;
mod texts;

#[cfg(test)]
mod tests;

pub use event::{CommandId, HARNESS_CAP, SavingsEvent, harness_view};
pub use money::Costs;
pub use receipts::{BadLine, EngineTotals, JsonLines, RequestTotals};
pub use share::Share;
pub use tally::{By, Gain, Row};
