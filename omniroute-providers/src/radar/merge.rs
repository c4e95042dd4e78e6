//! Lays a feed and the user's own edits over the shipped rows.
//!
//! For each field the user's edit wins over the feed, and the feed over what was shipped. What is free for routing does
//! not depend on the feed, but for the entries that the user accepted: so it comes out the same without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::feed::{Feed, FeedEntry};
use crate::free_tiers::{FreeTerms, Grant, GrantKind, Offer};

/// Names an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId {
    /// Who gives.
    pub provider: String,
    /// The provider's id of the model.
    pub model: String,
}

impl EntryId {
    /// An id from its parts.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> EntryId {
        EntryId { provider: provider.into(), model: model.into() }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// New values for some fields of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// For people.
    pub name: Option<String>,
    /// What the terms say.
    pub terms: Option<FreeTerms>,
    /// How it renews.
    pub kind: Option<GrantKind>,
    /// Tokens a month, or of the credit, as the kind says.
    pub tokens: Option<u64>,
    /// The pool; `Some(None)` takes it out of its pool.
    pub pool: Option<Option<String>>,
    /// What must be proven first; `Some(None)` is nothing.
    pub gate: Option<Option<String>>,
    /// Beyond the limit calls are refused, not billed.
    pub hard_stop: Option<bool>,
    /// Not to be used.
    pub disabled: Option<bool>,
}

/// What the user decided. Kept by the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalEdits {
    /// Fields that the user set.
    pub fields: BTreeMap<EntryId, Change>,
    /// Entries that the user deleted. No feed brings them back.
    pub deleted: BTreeSet<EntryId>,
    /// Entries for which the user takes the feed's word in routing.
    pub accepted: BTreeSet<EntryId>,
}

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The release.
    Shipped,
    /// The feed.
    Radar,
}

/// Who switched an entry off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DisabledBy {
    /// The feed.
    Radar,
    /// The user.
    User,
}

/// An entry after the merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedEntry {
    /// Its name.
    #[serde(flatten)]
    pub id: EntryId,
    /// For people; empty if nobody gave one.
    pub name: String,
    /// What the terms say.
    pub terms: FreeTerms,
    /// What is given, by the newest word of all.
    pub grant: Grant,
    /// Where it comes from.
    pub origin: Origin,
    /// Who switched it off, if anybody.
    pub disabled_by: Option<DisabledBy>,
    /// The user takes the feed's word for it in routing.
    pub accepted: bool,
    /// What routing may rely on; none: nothing.
    #[serde(skip)]
    routed: Option<Facts>,
}

/// All entries after the merge, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Merged {
    /// The entries that the user did not delete, also those that are switched off.
    pub entries: Vec<MergedEntry>,
    /// New entries of the feed that lack a kind or a budget.
    pub incomplete: Vec<EntryId>,
}

impl Merged {
    /// What is to be counted: everything but what is switched off.
    pub fn counting(&self) -> impl Iterator<Item = Offer<'_>> {
        self.entries.iter().filter(|entry| entry.disabled_by.is_none()).map(|entry| Offer {
            provider: &entry.id.provider,
            model: &entry.id.model,
            terms: entry.terms,
            grant: &entry.grant,
        })
    }

    /// What is free for routing: shipped entries as shipped and edited, and accepted ones as the feed says.
    pub fn routing(&self) -> impl Iterator<Item = Offer<'_>> {
        self.entries.iter().filter_map(|entry| {
            let facts = entry.routed.as_ref()?;
            let (provider, model) = (&entry.id.provider, &entry.id.model);
            Some(Offer { provider, model, terms: facts.terms, grant: &facts.grant })
        })
    }
}

/// Merges the shipped offers of a snapshot, a feed that was accepted, and the user's edits.
pub fn merge<'a>(
    shipped: impl IntoIterator<Item = Offer<'a>>,
    feed: Option<&Feed>,
    local: &LocalEdits,
) -> Merged {
    let mut pairs: BTreeMap<EntryId, (Option<Facts>, Option<&FeedEntry>)> = BTreeMap::new();
    for offer in shipped {
        pairs.entry(EntryId::new(offer.provider, offer.model)).or_default().0 = Some(Facts::of(&offer));
    }
    for entry in feed.map(|feed| feed.entries.as_slice()).unwrap_or_default() {
        pairs.entry(entry.id()).or_default().1 = Some(entry);
    }
    let mut merged = Merged::default();
    for (id, (shipped, fed)) in pairs {
        if local.deleted.contains(&id) {
            continue;
        }
        match one(&id, shipped, fed, local) {
            Some(entry) => merged.entries.push(entry),
            None => merged.incomplete.push(id),
        }
    }
    merged
}

fn one(
    id: &EntryId,
    shipped: Option<Facts>,
    fed: Option<&FeedEntry>,
    local: &LocalEdits,
) -> Option<MergedEntry> {
    let said = fed.map(FeedEntry::change);
    let edits = local.fields.get(id);
    let origin = if shipped.is_some() { Origin::Shipped } else { Origin::Radar };
    let accepted = local.accepted.contains(id);

    let newest = match &said {
        Some(said) => shipped.clone().or_else(|| Facts::new(said))?.with(said),
        None => shipped.clone()?,
    };
    let with_edits = |facts: Facts| match edits {
        Some(edits) => facts.with(edits),
        None => facts,
    };
    let relied_on = if accepted { Some(newest.clone()) } else { shipped };
    let routed = relied_on.map(&with_edits).filter(|facts| !facts.disabled);

    let facts = with_edits(newest);
    let disabled_by = facts.disabled.then(|| match edits.and_then(|edits| edits.disabled) {
        Some(true) => DisabledBy::User,
        _ => DisabledBy::Radar,
    });
    let Facts { name, terms, grant, .. } = facts;
    Some(MergedEntry { id: id.clone(), name, terms, grant, origin, disabled_by, accepted, routed })
}

/// The values of an entry while changes are laid on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    name: String,
    terms: FreeTerms,
    grant: Grant,
    disabled: bool,
}

impl Facts {
    fn of(offer: &Offer<'_>) -> Facts {
        Facts { name: String::new(), terms: offer.terms, grant: offer.grant.clone(), disabled: false }
    }

    /// An entry that nobody shipped: it must say how it renews and how much it gives.
    fn new(said: &Change) -> Option<Facts> {
        said.tokens?;
        let grant =
            Grant { kind: said.kind?, monthly: 0, credit: 0, pool: None, gate: None, hard_stop: false };
        Some(Facts { name: String::new(), terms: FreeTerms::Unknown, grant, disabled: false })
    }

    fn with(mut self, change: &Change) -> Facts {
        let grant = &mut self.grant;
        let tokens = change.tokens.unwrap_or(grant.monthly.max(grant.credit));
        grant.kind = change.kind.unwrap_or(grant.kind);
        // A figure stands where its kind counts it, and nowhere else.
        let credit = matches!(grant.kind, GrantKind::OneTime | GrantKind::RecurringCredit);
        grant.monthly = if grant.kind.counted() { tokens } else { 0 };
        grant.credit = if credit { tokens } else { 0 };
        if let Some(pool) = &change.pool {
            grant.pool.clone_from(pool);
        }
        if let Some(gate) = &change.gate {
            grant.gate.clone_from(gate);
        }
        grant.hard_stop = change.hard_stop.unwrap_or(grant.hard_stop);
        self.name = change.name.clone().unwrap_or(self.name);
        self.terms = change.terms.unwrap_or(self.terms);
        self.disabled = change.disabled.unwrap_or(self.disabled);
        self
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
