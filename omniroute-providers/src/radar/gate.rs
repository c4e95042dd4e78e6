//! Whether a feed is taken: size, signature, form, age, and never an older one than before.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::feed::Feed;
use super::key::{FeedKey, hex, open};
use super::source::{CatalogFeed, MAX_FEED_BYTES};
use super::version::FeedVersion;
use crate::free_tiers::Day;

/// What became of an attempt to get a feed. A status, never a reason to fail anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SyncStatus {
    /// No address or no key is configured: radar is off.
    NotConfigured,
    /// The feed did not come.
    FetchFailed,
    /// More than [`MAX_FEED_BYTES`].
    TooLarge,
    /// Not signed, or not by a pinned key.
    InvalidSignature,
    /// Signed, and not of the form that we read.
    InvalidSchema,
    /// Older than one that was seen before or than the shipped facts, expired, or dated in the future.
    Stale,
    /// The same as before.
    Unchanged,
    /// New.
    Updated,
}

/// A feed that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The kind of reason.
    pub status: SyncStatus,
    /// The reason, for people. Never a part of the feed that was not checked.
    pub detail: String,
}

impl Refusal {
    /// A reason of a kind.
    pub fn new(status: SyncStatus, detail: impl Into<String>) -> Refusal {
        Refusal { status, detail: detail.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the feed is not used: {}", self.detail)
    }
}

impl std::error::Error for Refusal {}

/// The newest feed that was taken. Kept by the host beside the cached copy; without it an older feed could come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// Name of the feed.
    pub feed: String,
    /// Its version.
    pub version: FeedVersion,
    /// SHA-256 of its payload in hex.
    pub digest: String,
}

/// A feed that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// What it says.
    pub feed: Feed,
    /// [`SyncStatus::Updated`] or [`SyncStatus::Unchanged`].
    pub status: SyncStatus,
    /// What to keep for the next time, together with the bytes.
    pub floor: Floor,
}

/// The rules by which feeds are taken.
#[derive(Debug, Clone)]
pub struct Radar {
    pins: Vec<FeedKey>,
    shipped: Day,
}

impl Radar {
    /// Takes feeds that one of these keys signed. `shipped` is the day of the facts that came with the release: what is
    /// older would only spoil them.
    pub fn new(pins: impl IntoIterator<Item = FeedKey>, shipped: Day) -> Radar {
        Radar { pins: pins.into_iter().collect(), shipped }
    }

    /// Checks a feed, fresh or cached, on the day `today`. A cached copy is checked with each read: it comes back as
    /// [`SyncStatus::Unchanged`] until it expires.
    ///
    /// # Errors
    /// [`Refusal`] with the first rule that the feed breaks.
    pub fn accept(&self, bytes: &[u8], floor: Option<&Floor>, today: Day) -> Result<Accepted, Refusal> {
        if self.pins.is_empty() {
            return Err(Refusal::new(SyncStatus::NotConfigured, "no key is pinned"));
        }
        if bytes.len() > MAX_FEED_BYTES {
            return Err(too_large());
        }
        let payload =
            open(bytes, &self.pins).map_err(|why| Refusal::new(SyncStatus::InvalidSignature, why))?;
        let feed = Feed::parse(payload).map_err(|why| Refusal::new(SyncStatus::InvalidSchema, why))?;
        let digest = hex(&Sha256::digest(payload));
        let status =
            self.fresh(&feed, &digest, floor, today).map_err(|why| Refusal::new(SyncStatus::Stale, why))?;
        let floor = Floor { feed: feed.feed.clone(), version: feed.version, digest };
        Ok(Accepted { feed, status, floor })
    }

    /// Fetches a feed and checks it.
    ///
    /// # Errors
    /// [`Refusal`] if it does not come or breaks a rule.
    pub async fn sync(
        &self,
        source: &dyn CatalogFeed,
        floor: Option<&Floor>,
        today: Day,
    ) -> Result<Accepted, Refusal> {
        if self.pins.is_empty() {
            return Err(Refusal::new(SyncStatus::NotConfigured, "no key is pinned"));
        }
        self.accept(&source.fetch().await?, floor, today)
    }

    fn fresh(
        &self,
        feed: &Feed,
        digest: &str,
        floor: Option<&Floor>,
        today: Day,
    ) -> Result<SyncStatus, String> {
        let Feed { version, created, expires, .. } = feed;
        if version.day() > *created {
            return Err(format!("version {version} is after {created}, the day it was made"));
        }
        if *created > today.plus(CLOCKS_DIFFER_BY) {
            return Err(format!("it was made on {created}, which is to come"));
        }
        if *expires < *created || *expires > created.plus(LONGEST_LIFE) {
            return Err(format!(
                "it lasts from {created} to {expires}; at most {LONGEST_LIFE} days are allowed"
            ));
        }
        if *expires < today {
            return Err(format!("it expired on {expires}"));
        }
        if *created < self.shipped {
            return Err(format!(
                "it was made on {created}, before the facts of {} that it would replace",
                self.shipped
            ));
        }
        let Some(floor) = floor else { return Ok(SyncStatus::Updated) };
        if floor.feed != feed.feed {
            return Err(format!("it is the feed {:?}, and {:?} was taken before", feed.feed, floor.feed));
        }
        match version.cmp(&floor.version) {
            std::cmp::Ordering::Less => Err(format!("version {version} is older than {}", floor.version)),
            std::cmp::Ordering::Equal if floor.digest != digest => {
                Err(format!("version {version} was seen with other contents"))
            }
            std::cmp::Ordering::Equal => Ok(SyncStatus::Unchanged),
            std::cmp::Ordering::Greater => Ok(SyncStatus::Updated),
        }
    }
}

/// Days that a signer's clock may be ahead.
const CLOCKS_DIFFER_BY: u32 = 2;
/// Days that a feed may last.
const LONGEST_LIFE: u32 = 92;

pub(crate) fn too_large() -> Refusal {
    Refusal::new(SyncStatus::TooLarge, format!("it is larger than {MAX_FEED_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{other_key, payload, seal, signer_key};
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    fn radar() -> Radar {
        Radar::new([signer_key()], day("2026-09-12"))
    }

    fn feed(version: &str) -> Vec<u8> {
        seal(payload(version, "").as_bytes())
    }

    #[test]
    fn refuses_by_rule() {
        use SyncStatus::*;
        let today = day("2026-10-10");
        let good = feed("2026.10.08.2");
        let text = payload("2026.10.08.2", "");
        let signed = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            seal(text.replacen(from, to, 1).as_bytes())
        };
        let taken = radar().accept(&good, None, today).unwrap();
        assert_eq!((taken.status, taken.floor.version.to_string()), (Updated, "2026.10.08.2".to_owned()));
        let again = radar().accept(&good, Some(&taken.floor), today).unwrap();
        assert_eq!((again.status, &again.floor), (Unchanged, &taken.floor));

        let mut changed = good.clone();
        *changed.last_mut().unwrap() = b' ';
        let floor = Some(&taken.floor);
        for (bytes, floor, today, status, detail) in [
            (text.clone().into_bytes(), None, today, InvalidSignature, "the first line is not"),
            (changed, None, today, InvalidSignature, "the signature does not fit"),
            (vec![b'x'; MAX_FEED_BYTES + 1], None, today, TooLarge, "larger than 10485760 bytes"),
            (seal(b"{}"), None, today, InvalidSchema, "missing field"),
            (signed("\"schema\":1", "\"schema\":9"), None, today, InvalidSchema, "schema 9"),
            (signed("08.2", "09.1"), None, today, Stale, "is after 2026-10-08"),
            (feed("2026.10.13.1"), None, today, Stale, "which is to come"),
            (signed("2026-11-07", "2027-11-07"), None, today, Stale, "at most 92 days"),
            (signed("2026-11-07", "2026-10-07"), None, today, Stale, "at most 92 days"),
            (good.clone(), None, day("2026-11-08"), Stale, "it expired on 2026-11-07"),
            (feed("2026.09.11.1"), None, day("2026-09-20"), Stale, "before the facts of 2026-09-12"),
            (feed("2026.10.08.1"), floor, today, Stale, "version 2026.10.08.1 is older than 2026.10.08.2"),
            (signed("[]", "[ ]"), floor, today, Stale, "was seen with other contents"),
            (signed("\"free\"", "\"live\""), floor, today, Stale, "it is the feed \"live\""),
        ] {
            let refusal = radar().accept(&bytes, floor, today).unwrap_err();
            assert_eq!(refusal.status, status, "{refusal}");
            assert!(refusal.detail.contains(detail), "{detail}: {refusal}");
        }
        let strict = Radar::new([other_key()], day("2026-09-12"));
        assert_eq!(strict.accept(&good, None, today).unwrap_err().status, InvalidSignature);
        let both = Radar::new([other_key(), signer_key()], day("2026-09-12"));
        assert!(both.accept(&good, None, today).is_ok());
        let none = Radar::new([], day("2026-09-12"));
        assert_eq!(none.accept(&good, None, today).unwrap_err().status, NotConfigured);
        assert!(radar().accept(&feed("2026.10.12.1"), None, today).is_ok(), "a clock may be two days ahead");
    }

    type Gate = fn(&[u8], Option<&Floor>, Day) -> Result<Accepted, Refusal>;

    /// Whatever is served in whatever order, versions never go back and one version has one content.
    fn never_back(gate: Gate) -> Result<(), String> {
        let today = day("2026-10-20");
        let versions = ["2026.10.08.9", "2026.10.08.10", "2026.10.10.1", "2026.10.02.3"];
        let mut feeds: Vec<Vec<u8>> = versions.iter().map(|version| feed(version)).collect();
        // The same version with another entry.
        feeds.push(seal(payload(versions[2], "{\"provider\":\"p\",\"model\":\"m\"}").as_bytes()));
        // All orders of three of them.
        for first in &feeds {
            for second in &feeds {
                for third in &feeds {
                    let (mut floor, mut newest): (Option<Floor>, Option<Floor>) = (None, None);
                    for bytes in [first, second, third] {
                        let Ok(taken) = gate(bytes, floor.as_ref(), today) else { continue };
                        let own = taken.floor.clone();
                        if let Some(newest) = &newest {
                            if own.version < newest.version {
                                return Err(format!("{} after {}", own.version, newest.version));
                            }
                            if own.version == newest.version && own.digest != newest.digest {
                                return Err(format!("two contents of {}", own.version));
                            }
                        }
                        newest = Some(own.clone());
                        floor = Some(own);
                    }
                    if newest.is_none() {
                        return Err("nothing is taken at all".into());
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn versions_never_go_back() {
        never_back(|bytes, floor, today| radar().accept(bytes, floor, today)).unwrap();

        // Forgets what was there before.
        let forgetful: Gate = |bytes, _, today| radar().accept(bytes, None, today);
        assert!(never_back(forgetful).unwrap_err().contains(" after "));
        // Compares versions as texts: 9 comes after 10.
        let as_text: Gate = |bytes, floor, today| {
            let taken = radar().accept(bytes, None, today)?;
            let older = floor.is_some_and(|floor| {
                let [own, seen] = [&taken.floor, floor].map(|f| (f.version.to_string(), &f.digest));
                own.0 < seen.0 || (own.0 == seen.0 && own.1 != seen.1)
            });
            if older { Err(Refusal::new(SyncStatus::Stale, "")) } else { Ok(taken) }
        };
        assert!(never_back(as_text).unwrap_err().contains("2026.10.08.9 after 2026.10.08.10"));
        // Compares versions, not contents.
        let versions_only: Gate = |bytes, floor, today| {
            let taken = radar().accept(bytes, None, today)?;
            let older = floor.is_some_and(|floor| taken.floor.version < floor.version);
            if older { Err(Refusal::new(SyncStatus::Stale, "")) } else { Ok(taken) }
        };
        assert!(never_back(versions_only).unwrap_err().contains("two contents of 2026.10.10.1"));
        // Takes nothing: safe and useless.
        assert!(
            never_back(|_, _, _| Err(Refusal::new(SyncStatus::Stale, ""))).unwrap_err().contains("nothing")
        );
    }

    #[test]
    fn a_floor_survives_a_file() {
        let floor = radar().accept(&feed("2026.10.08.10"), None, day("2026-10-10")).unwrap().floor;
        let text = serde_json::to_string(&floor).unwrap();
        assert!(text.contains("\"version\":\"2026.10.08.10\""), "{text}");
        assert_eq!(serde_json::from_str::<Floor>(&text).unwrap(), floor);
        assert_eq!(serde_json::to_value(SyncStatus::InvalidSignature).unwrap(), "invalid_signature");
    }
}
