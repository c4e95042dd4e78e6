//! What a feed says. Read only after its signature was checked.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::merge::{Change, EntryId};
use super::version::FeedVersion;
use crate::free_tiers::{Day, FreeTerms, GrantKind};

/// A feed with its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feed {
    /// Name of the feed.
    pub feed: String,
    /// Its version.
    pub version: FeedVersion,
    /// Day it was made.
    pub created: Day,
    /// Last day it may be used.
    pub expires: Day,
    /// What it says, each provider and model once.
    pub entries: Vec<FeedEntry>,
    /// Entries that could not be read.
    pub skipped: Vec<SkippedEntry>,
}

/// What a feed says about one provider's model. Everything but the two names may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FeedEntry {
    /// Who gives.
    pub provider: String,
    /// The provider's id of the model.
    pub model: String,
    /// For people.
    pub name: Option<String>,
    /// How it renews.
    pub kind: Option<GrantKind>,
    /// How much.
    pub budget: Option<FeedBudget>,
    /// How fast.
    pub limits: Option<FeedLimits>,
    /// What the model can do, by name.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// What the terms say.
    pub terms: Option<FreeTerms>,
    /// What must be proven first.
    pub gate: Option<String>,
    /// Beyond the limit calls are refused, not billed.
    pub hard_stop: Option<bool>,
    /// Page where a key is made; https, without a query, so without a referral.
    pub key_url: Option<String>,
    /// Steps to a key.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The offer is gone or must not be used.
    #[serde(default)]
    pub disabled: bool,
}

/// Tokens of an offer: a month, or of the credit, as its kind says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedBudget {
    /// This model alone.
    PerModel {
        /// Tokens.
        tokens: u64,
    },
    /// All models that name the pool together.
    SharedPool {
        /// Name of the pool.
        id: String,
        /// Tokens.
        tokens: u64,
    },
    /// Only how fast; nothing that could be summed.
    RateOnly,
}

/// Limits on speed, in a minute or a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct FeedLimits {
    /// Requests a minute.
    pub rpm: Option<u64>,
    /// Requests a day.
    pub rpd: Option<u64>,
    /// Tokens a minute.
    pub tpm: Option<u64>,
    /// Tokens a day.
    pub tpd: Option<u64>,
}

/// An entry that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// Place in the feed, from 0.
    pub at: usize,
    /// Why.
    pub reason: String,
}

impl Feed {
    /// Reads a payload. Unknown fields are ignored; an entry that cannot be read is skipped and told.
    pub(crate) fn parse(payload: &[u8]) -> Result<Feed, String> {
        let raw: RawFeed<'_> = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        if raw.schema != 1 {
            return Err(format!("schema {} is not known; ours is 1", raw.schema));
        }
        plain("feed", &raw.feed)?;
        if raw.entries.len() > MOST_ENTRIES {
            return Err(format!("{} entries are more than {MOST_ENTRIES}", raw.entries.len()));
        }
        let mut feed = Feed {
            feed: raw.feed,
            version: raw.version,
            created: raw.created,
            expires: raw.expires,
            entries: Vec::with_capacity(raw.entries.len()),
            skipped: Vec::new(),
        };
        let mut seen = HashSet::with_capacity(raw.entries.len());
        for (at, entry) in raw.entries.iter().enumerate() {
            match entry_of(entry) {
                Ok(entry) if seen.insert(entry.id()) => feed.entries.push(entry),
                Ok(_) => feed
                    .skipped
                    .push(SkippedEntry { at, reason: "its provider and model were there before".into() }),
                Err(reason) => feed.skipped.push(SkippedEntry { at, reason }),
            }
        }
        Ok(feed)
    }
}

impl FeedEntry {
    /// Provider and model.
    pub fn id(&self) -> EntryId {
        EntryId { provider: self.provider.clone(), model: self.model.clone() }
    }

    /// What it changes of a row.
    pub(crate) fn change(&self) -> Change {
        let (tokens, pool, kind) = match &self.budget {
            None => (None, None, self.kind),
            Some(FeedBudget::PerModel { tokens }) => (Some(*tokens), Some(None), self.kind),
            Some(FeedBudget::SharedPool { id, tokens }) => (Some(*tokens), Some(Some(id.clone())), self.kind),
            Some(FeedBudget::RateOnly) => (Some(0), None, Some(GrantKind::Uncapped)),
        };
        Change {
            name: self.name.clone(),
            terms: self.terms,
            kind,
            tokens,
            pool,
            gate: self.gate.clone().map(Some),
            hard_stop: self.hard_stop,
            disabled: Some(self.disabled),
        }
    }
}

const MOST_ENTRIES: usize = 20_000;
const LONGEST_NAME: usize = 200;
const MOST_SETUP: usize = 12;
const LONGEST_STEP: usize = 500;

#[derive(Deserialize)]
struct RawFeed<'a> {
    schema: u64,
    feed: String,
    version: FeedVersion,
    created: Day,
    expires: Day,
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

fn entry_of(raw: &RawValue) -> Result<FeedEntry, String> {
    let entry: FeedEntry = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    plain("provider", &entry.provider)?;
    plain("model", &entry.model)?;
    for (what, text) in [("name", &entry.name), ("gate", &entry.gate)] {
        text.as_deref().map_or(Ok(()), |text| plain(what, text))?;
    }
    for name in &entry.capabilities {
        plain("capability", name)?;
    }
    match &entry.budget {
        Some(FeedBudget::SharedPool { id, tokens }) => {
            plain("pool", id)?;
            believable(*tokens)?;
        }
        Some(FeedBudget::PerModel { tokens }) => believable(*tokens)?,
        Some(FeedBudget::RateOnly) | None => {}
    }
    if entry.setup.len() > MOST_SETUP || entry.setup.iter().any(|s| s.len() > LONGEST_STEP || steers(s)) {
        return Err("its setup steps are too many, too long, or hold control characters".to_owned());
    }
    if let Some(url) = &entry.key_url {
        let host = url.strip_prefix("https://").map(|rest| rest.split('/').next().unwrap_or_default());
        let clean =
            url.len() <= LONGEST_NAME && url.bytes().all(|b| b.is_ascii_graphic() && !b"?#@\\".contains(&b));
        if !clean || host.is_none_or(str::is_empty) {
            return Err("its key_url is not https, or has a query, a fragment or a user".to_owned());
        }
    }
    Ok(entry)
}

fn plain(what: &str, text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > LONGEST_NAME || steers(text) {
        return Err(format!(
            "{what} is empty, longer than {LONGEST_NAME} bytes, or holds control characters"
        ));
    }
    Ok(())
}

fn steers(text: &str) -> bool {
    text.chars().any(char::is_control)
}

fn believable(tokens: u64) -> Result<(), String> {
    if tokens > 1_000_000_000_000_000 {
        return Err(format!("{tokens} tokens are more than anybody gives"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::payload;
    use super::*;

    fn feed(entries: &str) -> Result<Feed, String> {
        Feed::parse(payload("2026.10.08.1", entries).as_bytes())
    }

    #[test]
    fn reads_all_there_is() {
        let entry = r#"{"provider":"p","model":"m","name":"M","kind":"recurring-daily",
            "budget":{"shared_pool":{"id":"x","tokens":9}},"limits":{"rpm":5,"tpd":300},"capabilities":["tools"],
            "terms":"caution","gate":"regional-identity","hard_stop":true,"key_url":"https://p.example/keys",
            "setup":["make an account"],"new_field":[1,{"a":2}]},
            {"provider":"p","model":"n","budget":{"per_model":{"tokens":7}}},{"provider":"q","model":"m","budget":"rate_only"},
            {"provider":"r","model":"m","disabled":true}"#;
        let feed = feed(entry).unwrap();
        assert_eq!((feed.entries.len(), feed.skipped.len(), feed.feed.as_str()), (4, 0, "free"));
        assert_eq!(
            (feed.created.to_string(), feed.expires.to_string()),
            ("2026-10-08".into(), "2026-11-07".into())
        );
        let change = feed.entries[0].change();
        assert_eq!((change.tokens, change.pool), (Some(9), Some(Some("x".to_owned()))));
        assert_eq!((change.gate, change.hard_stop), (Some(Some("regional-identity".to_owned())), Some(true)));
        assert_eq!(feed.entries[0].limits.unwrap().tpd, Some(300));
        assert_eq!(feed.entries[1].change().pool, Some(None));
        assert_eq!(feed.entries[2].change().kind, Some(GrantKind::Uncapped));
        assert_eq!(feed.entries[3].change().disabled, Some(true));
    }

    #[test]
    fn a_bad_entry_is_skipped_and_told() {
        for (entry, reason) in [
            (r#"{"provider":"p"}"#, "missing field `model`"),
            (r#"{"provider":"","model":"m"}"#, "provider is empty"),
            (r#"{"provider":"p\u001b","model":"m"}"#, "control characters"),
            (r#"{"provider":"p","model":"m","kind":"weekly"}"#, "unknown variant"),
            (
                r#"{"provider":"p","model":"m","budget":{"per_model":{"tokens":1000000000000001}}}"#,
                "more than anybody",
            ),
            (
                r#"{"provider":"p","model":"m","budget":{"shared_pool":{"id":"","tokens":1}}}"#,
                "pool is empty",
            ),
            (r#"{"provider":"p","model":"m","key_url":"http://p.example"}"#, "key_url is not https"),
            (r#"{"provider":"p","model":"m","key_url":"https://p.example/?ref=me"}"#, "has a query"),
            (r#"{"provider":"p","model":"m","key_url":"https://a@p.example"}"#, "key_url"),
            (r#"{"provider":"p","model":"m","key_url":"https:///x"}"#, "key_url"),
            (r#"{"provider":"p","model":"m","setup":["a\nb"]}"#, "setup steps"),
            (r#"{"provider":"ok","model":"m"}"#, "there before"),
        ] {
            let feed = feed(&format!(r#"{{"provider":"ok","model":"m"}},{entry}"#)).unwrap();
            assert_eq!((feed.entries.len(), feed.skipped.len()), (1, 1), "{entry}");
            assert!(
                feed.skipped[0].at == 1 && feed.skipped[0].reason.contains(reason),
                "{entry}: {:?}",
                feed.skipped
            );
        }
    }

    #[test]
    fn a_bad_payload_is_an_error() {
        let good = payload("2026.10.08.1", "");
        assert!(Feed::parse(good.as_bytes()).is_ok());
        for (from, to) in [
            ("\"schema\":1", "\"schema\":2"),
            ("\"free\"", "\"\""),
            ("2026.10.08.1", "2026.10.8.1"),
            ("\"created\":\"2026-10-08\"", "\"created\":\"2026-10-32\""),
            ("\"entries\":[]", "\"entries\":{}"),
            ("\"feed\":\"free\",", ""),
            ("\"schema\":1", "\"schema\":1,\"feed\":\"other\""),
        ] {
            assert_ne!(good, good.replace(from, to), "{from}");
            assert!(Feed::parse(good.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        assert!(Feed::parse(b"\xff").is_err());
        assert!(Feed::parse(format!("{good}x").as_bytes()).is_err());
        let many = vec!["0"; MOST_ENTRIES + 1].join(",");
        assert!(feed(&many).unwrap_err().contains("more than 20000"));
    }
}
