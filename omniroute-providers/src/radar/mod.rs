//! Fresher facts about free offers, for those who ask for them: a signed feed laid over the shipped rows.
//!
//! Off unless an address and a key are configured; neither is built in. Nothing here opens a connection by itself: the
//! host lends its transport, or brings the bytes. Nothing is uploaded, no key of a provider is involved.
//!
//! # The feed
//!
//! One line, then the payload to the last byte:
//!
//! ```text
//! omniroute-radar 1 ed25519:<id of the key, 16 hex digits> <signature, 128 hex digits>
//! {"schema":1,"feed":"free","version":"2026.10.08.1","created":"2026-10-08","expires":"2026-11-08","entries":[..]}
//! ```
//!
//! The signature is over [`TAG`] followed by the exact bytes of the payload. It is checked before anything is parsed,
//! against keys that were pinned by configuration; the feed cannot bring its own. The id of a key is the start of the
//! SHA-256 of its 32 bytes.
//!
//! # What protects
//!
//! | against | rule |
//! | --- | --- |
//! | a changed feed | the signature covers every byte behind the first line, and only one spelling of it is accepted |
//! | an older feed served again | [`Floor`]: versions never go back, and an equal version must have equal bytes |
//! | a feed that never changes again | `expires`; afterwards it is [`SyncStatus::Stale`] and the shipped rows stand alone |
//! | a version from far ahead that would lock out all others | `created` at most two days from now, version not after it |
//! | another feed of the same signer | the floor remembers the name of the feed |
//! | a feed that makes something look free | routing takes from the feed only what the user accepted ([`Merged::routing`]) |
//! | a feed that is too large | [`MAX_FEED_BYTES`], counted while it arrives |

mod feed;
mod gate;
mod key;
mod merge;
mod source;
mod version;

pub use feed::{Feed, FeedBudget, FeedEntry, FeedLimits, SkippedEntry};
pub use gate::{Accepted, Floor, Radar, Refusal, SyncStatus};
pub use key::{FeedKey, KeyError, TAG};
pub use merge::{Change, DisabledBy, EntryId, LocalEdits, Merged, MergedEntry, Origin, merge};
pub use source::{CatalogFeed, FeedSetupError, MAX_FEED_BYTES, SignedHttpFeed};
pub use version::FeedVersion;

#[cfg(test)]
mod samples;
