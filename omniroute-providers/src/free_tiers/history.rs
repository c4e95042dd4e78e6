//! How pools fared between snapshots: how long they were watched, how many lost their figure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::file::FreeTiers;
use super::headline::Key;

/// What the history says about how long a figure lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Survival {
    /// Days that all budgets with a number were watched, added up.
    pub pool_days: u64,
    /// Budgets whose providers had no counted number any more at the next snapshot.
    pub deaths: u32,
}

impl Survival {
    /// Goes through neighbouring snapshots. A pool that is split up or renamed lives on as long as its provider gives
    /// a counted number at all.
    pub fn of(tiers: &FreeTiers) -> Survival {
        let days: Vec<_> = tiers.snapshots.keys().copied().collect();
        let mut survival = Survival::default();
        for pair in days.windows(2) {
            let watched = u64::from(pair[1].days_since(pair[0]).unwrap_or(0));
            let mut givers: BTreeMap<Key<'_>, BTreeSet<&str>> = BTreeMap::new();
            for offer in tiers.offers(pair[0]).filter(|o| o.grant.counted() && o.grant.monthly > 0) {
                givers.entry(Key::of(&offer)).or_default().insert(offer.provider);
            }
            let still: BTreeSet<&str> = tiers
                .offers(pair[1])
                .filter(|o| o.grant.counted() && o.grant.monthly > 0)
                .map(|o| o.provider)
                .collect();
            survival.pool_days += watched * givers.len() as u64;
            let dead = givers.values().filter(|providers| providers.is_disjoint(&still)).count();
            survival.deaths += u32::try_from(dead).unwrap_or(u32::MAX);
        }
        survival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Provider, pool, and tokens on days.
    type Row<'a> = (&'a str, &'a str, &'a [(&'a str, u64)]);

    fn tiers(rows: &[Row<'_>]) -> FreeTiers {
        let record = |pool: &str, (day, monthly): &(&str, u64)| {
            let pool = if pool.is_empty() { serde_json::Value::Null } else { pool.into() };
            serde_json::json!({"as_of": day, "kind": "recurring-daily", "monthly": monthly, "pool": pool})
        };
        let entries: Vec<_> = rows
            .iter()
            .enumerate()
            .map(|(n, (provider, pool, hist))| {
                let hist: Vec<_> = hist.iter().map(|h| record(pool, h)).collect();
                serde_json::json!({"provider": provider, "model": n.to_string(), "terms": "ok", "hist": hist})
            })
            .collect();
        let file = serde_json::json!({"meta": {"schema": 1}, "entries": entries});
        let tiers = FreeTiers::parse(&file.to_string()).unwrap();
        assert_eq!(tiers.skipped, []);
        tiers
    }

    #[test]
    fn three_of_twenty_pools_died_in_twenty_three_days() {
        assert_eq!(Survival::of(FreeTiers::embedded()), Survival { pool_days: 20 * 23, deaths: 3 });
    }

    #[test]
    fn counts_deaths_by_provider() {
        let (a, b, c) = ("2026-01-01", "2026-01-11", "2026-01-31");
        // Watched 10 days, then dead.
        assert_eq!(
            Survival::of(&tiers(&[("p", "x", &[(a, 5), (b, 0)])])),
            Survival { pool_days: 10, deaths: 1 }
        );
        // The pool was split into rows without one: its provider still gives.
        let split = tiers(&[("p", "x", &[(a, 5)]), ("p", "", &[(b, 3)]), ("p", "", &[(b, 4)])]);
        assert_eq!(Survival::of(&split), Survival { pool_days: 10, deaths: 0 });
        // A new pool is watched from its first snapshot on; a pool of two providers dies with the last.
        let shared = tiers(&[
            ("p", "x", &[(a, 5), (b, 0)]),
            ("q", "x", &[(a, 5), (b, 5), (c, 0)]),
            ("r", "y", &[(b, 1), (c, 1)]),
        ]);
        assert_eq!(Survival::of(&shared), Survival { pool_days: 10 + 2 * 20, deaths: 1 });
        assert_eq!(Survival::of(&FreeTiers::default()), Survival::default());
    }
}
