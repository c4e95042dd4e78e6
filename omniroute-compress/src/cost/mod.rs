//! What a session is billed under a provider's prompt cache, with and without compression.
//!
//! A token sent to a model has up to four prices: read from the provider's cache, written to it,
//! plain input, output. Which one applies is decided by what was sent *before*, so a saving in
//! tokens says little about a saving in money: a change near the start of the history makes
//! everything after it new again. [`simulate`] plays a list of requests against a model of the
//! cache and returns the bill, request by request.
//!
//! # Cold starts: two facts
//!
//! 1. [`replay_billed`] reproduces the totals of a real bill *because it uses the log of that
//!    bill*: a turn whose log says that nothing was read is cold.
//! 2. Without such a log nothing can know when a cache had gone. [`simulate`] therefore takes the
//!    time of each request or an explicit cold flag; with neither, **no request is ever cold**,
//!    which understates the bill of a session with long breaks.
//!
//! # What is modelled
//!
//! * One line of conversation per [`PrefixCache`]: a request that leaves the cached prefix
//!   replaces the part it left. Give side requests (titles, sub-agents) a session of their own.
//! * Whole blocks: the common prefix ends at the last block that is equal and in place, so a
//!   change inside a block loses that block.
//! * Money is whole numbers of 1e-12 USD ([`Usd`]); equal input gives equal bills everywhere.
//! * Base prices only: surcharges of very long prompts, batch discounts and storage fees are not
//!   modelled.
//!
//! # Example
//!
//! ```
//! use omniroute_compress::cost::{Block, CachePolicy, Prices, Request, simulate};
//!
//! let prices = Prices::of_model("claude-sonnet-4-5").ok_or("no such model")?;
//! let (system, question, answer) = (Block::new(4_000, 1), Block::new(200, 2), Block::new(900, 3));
//! let first = Request::new([system, question], 900).at(0);
//! let second = Request::new([system, question, answer], 50).at(60_000);
//! let late = Request::new([system, question, answer], 50).at(3_600_000);
//!
//! let bill = simulate([&first, &second, &late], &prices, &CachePolicy::anthropic_5m());
//! assert_eq!((bill.rows[1].read, bill.rows[1].write), (4_200, 900));
//! assert_eq!((bill.rows[2].read, bill.rows[2].write), (0, 5_100)); // the cache had gone
//! assert_eq!(bill.cold, 1);
//! assert_eq!(bill.total.cost.to_string(), "0.054510");
//! # Ok::<(), &str>(())
//! ```

mod cache;
mod policy;
mod price;
mod request;
mod simulate;

pub use cache::{PrefixCache, Split};
pub use policy::{CacheKind, CachePolicy, WriteRule};
pub use price::{PRICES_AS_OF, Price, PriceError, Prices, Usd};
pub use request::{Block, Request};
pub use simulate::{Bill, Simulation, UsageRow, break_even_turns, replay_billed, simulate};
