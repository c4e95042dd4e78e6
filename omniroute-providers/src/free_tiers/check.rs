//! Holds the file against itself: pools against rows, stated figures against our own, numbers against evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::day::Day;
use super::file::FreeTiers;
use super::headline::Key;
use super::row::{GrantKind, Offer};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The file contradicts itself.
    Problem,
    /// Worth a look.
    Remark,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How bad.
    pub level: Level,
    /// Pool, provider or row.
    pub at: String,
    /// What does not fit what.
    pub what: String,
}

impl FreeTiers {
    /// All contradictions and remarks, sorted. `known` says whether the catalogue has a provider.
    pub fn check(&self, known: impl Fn(&str) -> bool) -> Vec<Finding> {
        let mut findings = Findings::default();
        for skipped in &self.skipped {
            findings.problem(&skipped.row, skipped.reason.clone());
        }
        for provider in self.rows.iter().map(|row| row.provider.as_str()).collect::<BTreeSet<_>>() {
            if !known(provider) {
                findings.problem(provider, "the catalogue has no such provider".to_owned());
            }
        }
        self.check_pools(&mut findings);
        self.check_stated(&mut findings);
        self.check_evidence(&mut findings);
        findings.0.into_iter().map(|(level, at, what)| Finding { level, at, what }).collect()
    }

    fn check_pools(&self, findings: &mut Findings) {
        for &day in self.snapshots.keys() {
            let mut pools: BTreeMap<&str, Vec<Offer<'_>>> = BTreeMap::new();
            for offer in self.offers(day) {
                if let Some(pool) = offer.grant.pool.as_deref() {
                    pools.entry(pool).or_default().push(offer);
                }
            }
            for pool in &self.pools {
                let rows = pools.get(pool.pool.as_str()).map(Vec::as_slice).unwrap_or_default();
                match pool.hist.get(&day) {
                    // Pools of credits need no record: no figure of the headline rests on them.
                    None if rows.iter().all(|o| o.grant.monthly == 0) => {}
                    None => {
                        findings.problem(&pool.pool, format!("{day}: rows draw from it, it has no record"))
                    }
                    Some(record) => {
                        let most = rows.iter().map(|o| o.grant.monthly).max().unwrap_or(0);
                        if most != record.monthly {
                            let what = format!("{day}: it states {} tokens, its rows {most}", record.monthly);
                            findings.problem(&pool.pool, what);
                        }
                        if rows.len() as u64 != u64::from(record.models) {
                            let what =
                                format!("{day}: it states {} models, it has {}", record.models, rows.len());
                            findings.problem(&pool.pool, what);
                        }
                        if !rows.iter().all(|o| o.grant.kind == record.kind) {
                            let what = format!("{day}: not all rows are of kind {}", record.kind.as_str());
                            findings.problem(&pool.pool, what);
                        }
                    }
                }
                for offer in rows.iter().filter(|o| !pool.providers.iter().any(|p| p == o.provider)) {
                    findings
                        .problem(&pool.pool, format!("{day}: {} is not among its providers", offer.provider));
                }
            }
        }
        for boost in &self.boosts {
            if self.pool(&boost.pool).is_none() {
                findings.problem(&boost.pool, "a boost names it, there is no such pool".to_owned());
            }
        }
    }

    /// What the file says about its sums must be what we find.
    fn check_stated(&self, findings: &mut Findings) {
        for (day, stated) in &self.stated {
            let Some(found) = self.headline(*day) else {
                findings.problem(&day.to_string(), "figures are stated, there is no snapshot".to_owned());
                continue;
            };
            for (name, stated, found) in [
                ("entries", u64::from(stated.entries), u64::from(found.rows)),
                ("pool_keys", stated.pool_keys.into(), found.pool_keys.into()),
                ("positive_pools", stated.positive_pools.into(), found.positive_pools.into()),
                ("steady", stated.steady, found.steady),
                ("gated", stated.gated, found.gated),
                ("recurring_credit", stated.recurring_credit, found.recurring_credit),
                ("one_time", stated.one_time, found.one_time),
                ("first_month", stated.first_month, found.first_month),
                ("naive_sum", stated.naive_sum, found.naive_sum),
                ("avoid_providers", stated.avoid_providers.into(), found.avoid_providers.into()),
            ] {
                if stated != found {
                    findings.problem(
                        &day.to_string(),
                        format!("{name} is stated as {stated} and comes to {found}"),
                    );
                }
            }
            if !stated.uncapped.iter().eq(found.uncapped.iter()) {
                findings
                    .problem(&day.to_string(), "uncapped names other providers than there are".to_owned());
            }
        }
    }

    /// A number that is new or changed needs a source that was looked at since the snapshot before.
    fn check_evidence(&self, findings: &mut Findings) {
        let days: Vec<Day> = self.snapshots.keys().copied().collect();
        for pair in days.windows(2) {
            let [before, after] = [pair[0], pair[1]].map(|day| self.figures(day));
            for (key, monthly) in after {
                let was = before.get(&key).copied().unwrap_or(0);
                if monthly == 0 || monthly == was {
                    continue;
                }
                let (name, evidence) = match key {
                    Key::Pool(pool) => (pool, self.pool(pool).and_then(|p| p.evidence.as_ref())),
                    Key::Unpooled(provider) => (provider, None),
                };
                let looked = evidence.and_then(|e| e.day).is_some_and(|day| day > pair[0]);
                if !looked {
                    let what = format!("{}: {was} became {monthly} tokens, no evidence says why", pair[1]);
                    findings.remark(name, what);
                }
            }
        }
    }

    fn figures(&self, day: Day) -> BTreeMap<Key<'_>, u64> {
        let mut figures = BTreeMap::new();
        for offer in
            self.offers(day).filter(|o| o.grant.kind.counted() && o.grant.kind != GrantKind::Discontinued)
        {
            let key = Key::of(&offer);
            let sum: &mut u64 = figures.entry(key).or_default();
            *sum = key.join(*sum, offer.grant.monthly);
        }
        figures
    }
}

#[derive(Default)]
struct Findings(BTreeSet<(Level, String, String)>);

impl Findings {
    fn problem(&mut self, at: &str, what: String) {
        self.0.insert((Level::Problem, at.to_owned(), what));
    }

    fn remark(&mut self, at: &str, what: String) {
        self.0.insert((Level::Remark, at.to_owned(), what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(tiers: &FreeTiers) -> Vec<String> {
        let found = tiers.check(|_| true).into_iter().filter(|f| f.level == Level::Problem);
        found.map(|f| format!("{}: {}", f.at, f.what)).collect()
    }

    #[test]
    fn the_embedded_file_contradicts_itself_nowhere() {
        let tiers = FreeTiers::embedded();
        assert_eq!(tiers.stated.len(), 2, "both snapshots state their sums");
        assert_eq!(problems(tiers), [""; 0]);
        let remarks: Vec<_> =
            tiers.check(|_| true).into_iter().map(|f| format!("{}: {}", f.at, f.what)).collect();
        assert_eq!(remarks, ["groq: 2026-09-12: 0 became 30000000 tokens, no evidence says why"]);
        let strange: Vec<_> = tiers.check(|provider| provider != "groq").into_iter().map(|f| f.at).collect();
        assert_eq!(strange, ["groq", "groq"]);
    }

    /// Each break of the file is found.
    #[test]
    fn every_break_is_found() {
        type Break = fn(&mut FreeTiers);
        let newest = FreeTiers::embedded().newest().unwrap();
        let breaks: &[(Break, &str)] = &[
            (
                |t| {
                    let row = t.rows.iter_mut().find(|r| r.provider == "kiro").unwrap();
                    row.hist[0].1.monthly += 1;
                },
                "kiro: 2026-08-20: it states 25000 tokens, its rows 25001",
            ),
            (|t| t.rows.retain(|r| r.provider != "morph"), "morph: 2026-09-12: it states 2 models, it has 0"),
            (
                |t| t.pools.iter_mut().find(|p| p.pool == "cohere").unwrap().hist.clear(),
                "cohere: 2026-09-12: rows draw from it, it has no record",
            ),
            (
                |t| t.pools.iter_mut().find(|p| p.pool == "cohere").unwrap().providers.clear(),
                "cohere: 2026-09-12: cohere is not among its providers",
            ),
            (
                |t| {
                    t.rows.iter_mut().find(|r| r.provider == "cohere").unwrap().hist[1].1.kind =
                        GrantKind::Keyless
                },
                "cohere: 2026-09-12: not all rows are of kind recurring-monthly",
            ),
            (
                |t| t.stated.values_mut().for_each(|s| s.steady -= 1),
                "2026-09-12: steady is stated as 1473224999 and comes to 1473225000",
            ),
            (
                |t| t.stated.values_mut().for_each(|s| s.uncapped.clear()),
                "2026-09-12: uncapped names other providers than there are",
            ),
            (|t| t.boosts[0].pool = "nobody".to_owned(), "nobody: a boost names it, there is no such pool"),
            (|t| t.snapshots.clear(), "2026-09-12: figures are stated, there is no snapshot"),
        ];
        for (break_it, found) in breaks {
            let mut tiers = FreeTiers::embedded().clone();
            assert_eq!(tiers.newest(), Some(newest));
            break_it(&mut tiers);
            assert!(problems(&tiers).iter().any(|p| p == found), "{found}\n{:#?}", problems(&tiers));
        }
    }
}
