//! What can be used without paying: pools of tokens a month, what they add up to, how long that may last.
//!
//! A pool that several models share counts once. Credits that are given once, offers behind an identity check and offers
//! without a published number are never part of the headline; they stand beside it. Offers whose terms say `avoid` are
//! labelled and counted, and a second figure leaves them out. Every figure goes with the day of its facts.
//!
//! ```
//! # use omniroute_providers::free_tiers::FreeTiers;
//! let tiers = FreeTiers::embedded();
//! let newest = tiers.newest().ok_or("no snapshot")?;
//! let headline = tiers.headline(newest).ok_or("no figures")?;
//! assert_eq!(headline.steady, 1_473_225_000);
//! assert_eq!(headline.without_largest, 473_225_000);
//! # Ok::<(), &str>(())
//! ```

mod chance;
mod check;
mod convert;
mod day;
mod file;
mod forecast;
mod headline;
mod history;
mod row;

pub use check::{Finding, Level};
pub use convert::{Published, TOKENS_PER_REQUEST};
pub use day::{Day, FreeStatus, STALE_AFTER_DAYS};
pub use file::{Boost, FreeTiers, FreeTiersError, Pool, PoolRecord, SkippedRow, Stated};
pub use forecast::{ForecastSettings, FreeForecast, Multipliers, Unit};
pub use headline::{Budget, Headline, Selection};
pub use history::Survival;
pub use row::{Evidence, FreeRow, FreeTerms, Grant, GrantKind, Offer};
