//! Learning which offering answers well: beliefs, trials, memory. Nothing in here knows candidates or requests.

mod beliefs;
mod book;
mod params;

pub use beliefs::{Learner, Prior};
pub use book::{FeedbackBook, FeedbackError};
pub use params::{Bucket, Params, shadow};
