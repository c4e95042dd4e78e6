//! The figures of one snapshot: what is free each month, each pool once, and what stands apart.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::day::Day;
use super::file::Boost;
use super::row::{Evidence, FreeTerms, GrantKind, Offer};

/// The figures of one day. Tokens are whole numbers; a figure that is not known is not part of any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Headline {
    /// Day of the facts.
    pub as_of: Day,
    /// Tokens a month, every month: the largest figure of each pool plus all rows without a pool.
    pub steady: u64,
    /// The same without the largest budget.
    pub without_largest: u64,
    /// The same without rows whose terms say `avoid`.
    pub without_avoid: u64,
    /// The same without either.
    pub without_both: u64,
    /// Tokens in the first month: `steady` and all credits.
    pub first_month: u64,
    /// Credits that come every month, each pool once.
    pub recurring_credit: u64,
    /// Credits for signing up, each pool once.
    pub one_time: u64,
    /// Tokens a month behind a proof of identity or the like, each pool once.
    pub gated: u64,
    /// Every row on its own, which counts shared pools many times. Not a figure to quote.
    pub naive_sum: u64,
    /// Rows of the snapshot.
    pub rows: u32,
    /// Pools of counted rows.
    pub pool_keys: u32,
    /// Those with a number.
    pub positive_pools: u32,
    /// Rows with a number and without a pool.
    pub unpooled_rows: u32,
    /// Providers with a row whose terms say `avoid`.
    pub avoid_providers: u32,
    /// Providers that publish no number, by name.
    pub uncapped: Vec<String>,
    /// More tokens after a deposit.
    pub boosts: Vec<Boost>,
    /// Everything with a number, largest first.
    pub budgets: Vec<Budget>,
}

/// A number of tokens that is given as one: a pool, or the rows of a provider that share none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Budget {
    /// The pool; none: the sum of rows without a pool.
    pub pool: Option<String>,
    /// Who gives.
    pub providers: Vec<String>,
    /// Counted models that draw from it.
    pub models: u32,
    /// Tokens a month.
    pub monthly: u64,
    /// The same without rows whose terms say `avoid`.
    pub monthly_without_avoid: u64,
    /// How the largest of its rows renews.
    pub kind: GrantKind,
    /// The hardest terms among its rows.
    pub terms: FreeTerms,
    /// Every row of it refuses beyond the limit instead of billing.
    pub hard_stop: bool,
    /// Where the figure comes from.
    pub evidence: Option<String>,
}

impl Budget {
    /// Pool or provider.
    pub fn name(&self) -> &str {
        self.pool.as_deref().or(self.providers.first().map(String::as_str)).unwrap_or_default()
    }
}

/// What to leave out of the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Selection {
    /// Rows whose terms say `avoid`.
    pub exclude_avoid: bool,
    /// The largest budget of those that remain.
    pub without_largest: bool,
}

impl Headline {
    /// Adds up the offers of a day. Their order does not matter.
    pub fn of<'a>(as_of: Day, offers: impl IntoIterator<Item = Offer<'a>>) -> Headline {
        let mut sums = Sums::default();
        for offer in offers {
            sums.add(&offer);
        }
        sums.finish(as_of)
    }

    /// Tokens a month with something left out.
    pub fn monthly(&self, selection: Selection) -> u64 {
        match (selection.exclude_avoid, selection.without_largest) {
            (false, false) => self.steady,
            (false, true) => self.without_largest,
            (true, false) => self.without_avoid,
            (true, true) => self.without_both,
        }
    }

    /// The budgets that make up [`Headline::monthly`] with their tokens, largest first.
    pub fn selected(&self, selection: Selection) -> Vec<(&Budget, u64)> {
        let tokens = |b: &Budget| if selection.exclude_avoid { b.monthly_without_avoid } else { b.monthly };
        let mut all: Vec<_> = self.budgets.iter().map(|b| (b, tokens(b))).filter(|(_, n)| *n > 0).collect();
        all.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.name().cmp(b.name())));
        if selection.without_largest && !all.is_empty() {
            all.remove(0);
        }
        all
    }

    /// The budget that `without_largest` leaves out.
    pub fn largest(&self) -> Option<&Budget> {
        self.budgets.first()
    }

    pub(crate) fn note_evidence<'a>(&mut self, of: impl Fn(&str) -> Option<&'a Evidence>) {
        for budget in &mut self.budgets {
            budget.evidence = budget.pool.as_deref().and_then(&of).map(Evidence::to_string);
        }
    }
}

/// A pool, or a provider's rows without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key<'a> {
    Pool(&'a str),
    Unpooled(&'a str),
}

impl<'a> Key<'a> {
    pub(crate) fn of(offer: &Offer<'a>) -> Key<'a> {
        offer.grant.pool.as_deref().map_or(Key::Unpooled(offer.provider), Key::Pool)
    }

    /// What a figure of one more row makes of the figure so far.
    pub(crate) fn join(self, so_far: u64, more: u64) -> u64 {
        match self {
            Key::Pool(_) => so_far.max(more),
            Key::Unpooled(_) => so_far.saturating_add(more),
        }
    }
}

#[derive(Debug, Default)]
struct Sums<'a> {
    counted: BTreeMap<Key<'a>, Counted<'a>>,
    gated: BTreeMap<Key<'a>, u64>,
    recurring: BTreeMap<Key<'a>, u64>,
    one_time: BTreeMap<Key<'a>, u64>,
    naive: u64,
    rows: u32,
    unpooled_rows: u32,
    avoid: BTreeSet<&'a str>,
    uncapped: BTreeSet<&'a str>,
}

#[derive(Debug)]
struct Counted<'a> {
    providers: BTreeSet<&'a str>,
    models: u32,
    monthly: u64,
    without_avoid: u64,
    most: u64,
    kind: GrantKind,
    terms: FreeTerms,
    hard_stop: bool,
}

impl<'a> Sums<'a> {
    fn add(&mut self, offer: &Offer<'a>) {
        let (grant, key) = (offer.grant, Key::of(offer));
        self.rows += 1;
        let avoid = offer.terms == FreeTerms::Avoid;
        if avoid {
            self.avoid.insert(offer.provider);
        }
        let credits = match grant.kind {
            GrantKind::RecurringCredit => Some(&mut self.recurring),
            GrantKind::OneTime => Some(&mut self.one_time),
            _ => None,
        };
        if let Some(credits) = credits {
            let sum = credits.entry(key).or_default();
            *sum = key.join(*sum, grant.credit);
        }
        if grant.kind == GrantKind::Uncapped {
            self.uncapped.insert(offer.provider);
        }
        if !grant.kind.counted() {
            return;
        }
        self.naive = self.naive.saturating_add(grant.monthly);
        if grant.gate.is_some() {
            let sum = self.gated.entry(key).or_default();
            *sum = key.join(*sum, grant.monthly);
            return;
        }
        if grant.pool.is_none() && grant.monthly > 0 {
            self.unpooled_rows += 1;
        }
        let counted = self.counted.entry(key).or_insert_with(|| Counted {
            providers: BTreeSet::new(),
            models: 0,
            monthly: 0,
            without_avoid: 0,
            most: 0,
            kind: grant.kind,
            terms: offer.terms,
            hard_stop: true,
        });
        counted.providers.insert(offer.provider);
        counted.models += 1;
        counted.monthly = key.join(counted.monthly, grant.monthly);
        if !avoid {
            counted.without_avoid = key.join(counted.without_avoid, grant.monthly);
        }
        // Of equal rows the kind that comes first, so that the order of rows does not show.
        if grant.monthly > counted.most || (grant.monthly == counted.most && grant.kind < counted.kind) {
            (counted.most, counted.kind) = (grant.monthly, grant.kind);
        }
        counted.terms = counted.terms.max(offer.terms);
        counted.hard_stop &= grant.hard_stop;
    }

    fn finish(self, as_of: Day) -> Headline {
        let pools = |only: fn(&Counted<'_>) -> bool| {
            let pools = self.counted.iter().filter(|(key, sum)| matches!(key, Key::Pool(_)) && only(sum));
            u32::try_from(pools.count()).unwrap_or(u32::MAX)
        };
        let (pool_keys, positive_pools) = (pools(|_| true), pools(|sum| sum.monthly > 0));
        let mut budgets: Vec<Budget> = self
            .counted
            .iter()
            .filter(|(_, sum)| sum.monthly > 0)
            .map(|(key, sum)| sum.budget(*key))
            .collect();
        budgets.sort_by(|a, b| b.monthly.cmp(&a.monthly).then_with(|| a.name().cmp(b.name())));

        let steady = total(budgets.iter().map(|b| b.monthly));
        let without_avoid = total(budgets.iter().map(|b| b.monthly_without_avoid));
        let largest = |of: fn(&Budget) -> u64| budgets.iter().map(of).max().unwrap_or(0);
        let (recurring_credit, one_time) =
            (total(self.recurring.into_values()), total(self.one_time.into_values()));
        Headline {
            as_of,
            steady,
            without_largest: steady - largest(|b| b.monthly),
            without_avoid,
            without_both: without_avoid - largest(|b| b.monthly_without_avoid),
            first_month: total([steady, recurring_credit, one_time]),
            recurring_credit,
            one_time,
            gated: total(self.gated.into_values()),
            naive_sum: self.naive,
            rows: self.rows,
            pool_keys,
            positive_pools,
            unpooled_rows: self.unpooled_rows,
            avoid_providers: u32::try_from(self.avoid.len()).unwrap_or(u32::MAX),
            uncapped: self.uncapped.into_iter().map(str::to_owned).collect(),
            boosts: Vec::new(),
            budgets,
        }
    }
}

impl Counted<'_> {
    fn budget(&self, key: Key<'_>) -> Budget {
        Budget {
            pool: match key {
                Key::Pool(pool) => Some(pool.to_owned()),
                Key::Unpooled(_) => None,
            },
            providers: self.providers.iter().map(|p| (*p).to_owned()).collect(),
            models: self.models,
            monthly: self.monthly,
            monthly_without_avoid: self.without_avoid,
            kind: self.kind,
            terms: self.terms,
            hard_stop: self.hard_stop,
            evidence: None,
        }
    }
}

/// At most the largest number there is; single figures are far below.
fn total(figures: impl IntoIterator<Item = u64>) -> u64 {
    figures.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
