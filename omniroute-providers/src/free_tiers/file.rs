//! Reads the file of free offers. A bad row is skipped and told, a bad file is an error.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::day::Day;
use super::headline::Headline;
use super::row::{Evidence, FreeRow, FreeTerms, Grant, GrantKind, Offer};

/// More tokens than this a month are no offer but a slip of the pen.
pub(crate) const MOST_TOKENS: u64 = 1_000_000_000_000_000;

/// The file of free offers: rows with their history, pools, and what a deposit would add.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FreeTiers {
    /// One row for each provider and model, in the order of the file.
    pub rows: Vec<FreeRow>,
    /// Facts about pools. A pool that rows name may be missing here.
    pub pools: Vec<Pool>,
    /// What a one-time deposit unlocks.
    pub boosts: Vec<Boost>,
    /// Days with a full set of rows, and the source of each, oldest first.
    pub snapshots: BTreeMap<Day, String>,
    /// Figures that the file states about itself, to be held against our own.
    pub stated: BTreeMap<Day, Stated>,
    /// Rows that could not be read.
    pub skipped: Vec<SkippedRow>,
}

impl FreeTiers {
    /// The file that came with this release, read at the first call.
    pub fn embedded() -> &'static FreeTiers {
        static EMBEDDED: LazyLock<FreeTiers> = LazyLock::new(|| {
            FreeTiers::parse(include_str!("../../catalog/free_tiers.json"))
                .expect("a test reads the embedded file")
        });
        &EMBEDDED
    }

    /// Reads a file of the form `{"meta": .., "pools": [..], "entries": [..]}`, one row a line.
    ///
    /// Fields that we do not know are ignored. A row with an unknown word, an impossible figure or a name that was
    /// there before is skipped and told in `skipped`.
    ///
    /// # Errors
    /// If the file is no JSON of that form, or of a schema other than 1.
    pub fn parse(text: &str) -> Result<FreeTiers, FreeTiersError> {
        let file: RawFile<'_> = serde_json::from_str(text).map_err(|e| FreeTiersError::of(&e))?;
        if file.meta.schema != 1 {
            let message = format!("schema {} is not known; ours is 1", file.meta.schema);
            return Err(FreeTiersError { message, line: 1, column: 1 });
        }
        let mut tiers = FreeTiers {
            boosts: file.meta.boosts,
            snapshots: file.meta.snapshots,
            stated: file.meta.computed,
            ..FreeTiers::default()
        };
        tiers.rows.reserve(file.entries.len());
        let mut seen = HashSet::with_capacity(file.entries.len());
        for (at, raw) in file.entries.iter().enumerate() {
            match row(raw) {
                Ok(row) if seen.insert((row.provider.clone(), row.model.clone())) => tiers.rows.push(row),
                Ok(row) => {
                    tiers.skip("entries", at, format!("{}/{} is there twice", row.provider, row.model))
                }
                Err(reason) => tiers.skip("entries", at, reason),
            }
        }
        let mut seen = HashSet::with_capacity(file.pools.len());
        for (at, raw) in file.pools.iter().enumerate() {
            match serde_json::from_str::<RawPool>(raw.get()) {
                Ok(pool) if seen.insert(pool.pool.clone()) => tiers.pools.push(pool.into()),
                Ok(pool) => tiers.skip("pools", at, format!("{:?} is there twice", pool.pool)),
                Err(error) => tiers.skip("pools", at, error.to_string()),
            }
        }
        for row in &tiers.rows {
            for (day, _) in &row.hist {
                tiers.snapshots.entry(*day).or_default();
            }
        }
        Ok(tiers)
    }

    /// Day of the newest snapshot.
    pub fn newest(&self) -> Option<Day> {
        self.snapshots.last_key_value().map(|(day, _)| *day)
    }

    /// All offers of a snapshot, in the order of the file; none for any other day.
    pub fn offers(&self, as_of: Day) -> impl Iterator<Item = Offer<'_>> + Clone {
        self.rows.iter().filter_map(move |row| row.at(as_of))
    }

    /// The figures of a snapshot; none if there is none of that day.
    pub fn headline(&self, as_of: Day) -> Option<Headline> {
        self.snapshots.contains_key(&as_of).then(|| {
            let mut headline = Headline::of(as_of, self.offers(as_of));
            headline.boosts = self.boosts.clone();
            headline.note_evidence(|pool| self.pool(pool).and_then(|p| p.evidence.as_ref()));
            headline
        })
    }

    /// The row of a provider's model.
    pub fn find(&self, provider: &str, model: &str) -> Option<&FreeRow> {
        self.rows.iter().find(|row| row.provider == provider && row.model == model)
    }

    /// Facts about a pool.
    pub fn pool(&self, pool: &str) -> Option<&Pool> {
        self.pools.iter().find(|p| p.pool == pool)
    }

    fn skip(&mut self, list: &str, at: usize, reason: String) {
        self.skipped.push(SkippedRow { row: format!("{list}[{at}]"), reason });
    }
}

/// What is known of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pool {
    /// Its name.
    pub pool: String,
    /// Who gives from it.
    pub providers: Vec<String>,
    /// What it held on the day of each snapshot.
    pub hist: BTreeMap<Day, PoolRecord>,
    /// Where the figure comes from.
    pub evidence: Option<Evidence>,
}

/// A pool on one day.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PoolRecord {
    /// Tokens a month.
    pub monthly: u64,
    /// How it renews.
    pub kind: GrantKind,
    /// Models that draw from it.
    pub models: u32,
}

/// More tokens after a one-time deposit. Never part of the headline.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
#[non_exhaustive]
pub struct Boost {
    /// The pool that grows.
    pub pool: String,
    /// Tokens a month afterwards.
    pub monthly: u64,
    /// What must be paid.
    pub condition: String,
}

/// Figures that a file states about one of its snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Stated {
    /// Rows.
    pub entries: u32,
    /// Pools of counted rows.
    pub pool_keys: u32,
    /// Those with a number.
    pub positive_pools: u32,
    /// Tokens a month.
    pub steady: u64,
    /// Tokens a month behind a gate.
    pub gated: u64,
    /// Credits every month.
    pub recurring_credit: u64,
    /// Credits given once.
    pub one_time: u64,
    /// Tokens in the first month.
    pub first_month: u64,
    /// Every row on its own.
    pub naive_sum: u64,
    /// Providers whose terms say avoid.
    pub avoid_providers: u32,
    /// Providers without a published number.
    pub uncapped: BTreeSet<String>,
}

/// A row that was left out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SkippedRow {
    /// List and place, for instance `entries[7]`.
    pub row: String,
    /// Why.
    pub reason: String,
}

/// A file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreeTiersError {
    /// Why.
    pub message: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl FreeTiersError {
    fn of(error: &serde_json::Error) -> FreeTiersError {
        FreeTiersError { message: error.to_string(), line: error.line(), column: error.column() }
    }
}

impl fmt::Display for FreeTiersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Errors of the parser name the place themselves.
        write!(f, "free tiers cannot be read: {}", self.message)
    }
}

impl std::error::Error for FreeTiersError {}

#[derive(Deserialize)]
struct RawFile<'a> {
    meta: RawMeta,
    #[serde(borrow, default)]
    pools: Vec<&'a RawValue>,
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawMeta {
    schema: u64,
    #[serde(default)]
    snapshots: BTreeMap<Day, String>,
    #[serde(default)]
    boosts: Vec<Boost>,
    #[serde(default)]
    computed: BTreeMap<Day, Stated>,
}

#[derive(Deserialize)]
struct RawPool {
    pool: String,
    #[serde(default)]
    providers: Vec<String>,
    #[serde(default)]
    hist: BTreeMap<Day, PoolRecord>,
    evidence: Option<String>,
}

impl From<RawPool> for Pool {
    fn from(raw: RawPool) -> Pool {
        let evidence = raw.evidence.as_deref().map(Evidence::parse);
        Pool { pool: raw.pool, providers: raw.providers, hist: raw.hist, evidence }
    }
}

#[derive(Deserialize)]
struct RawRow {
    provider: String,
    model: String,
    #[serde(default)]
    name: String,
    terms: FreeTerms,
    #[serde(default)]
    trains_on_prompts: bool,
    hist: Vec<RawRecord>,
}

#[derive(Deserialize)]
struct RawRecord {
    as_of: Day,
    kind: GrantKind,
    monthly: u64,
    #[serde(default)]
    credit: u64,
    #[serde(default)]
    pool: Option<String>,
    #[serde(default)]
    gate: Option<String>,
    #[serde(default)]
    hard_stop: bool,
}

fn row(raw: &RawValue) -> Result<FreeRow, String> {
    let raw: RawRow = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let name = || format!("{}/{}", raw.provider, raw.model);
    if raw.provider.is_empty() || raw.model.is_empty() {
        return Err(format!("{} lacks a provider or a model", name()));
    }
    let mut hist = Vec::with_capacity(raw.hist.len());
    for record in raw.hist {
        let RawRecord { as_of, kind, monthly, credit, pool, gate, hard_stop } = record;
        let grant = Grant { kind, monthly, credit, pool, gate, hard_stop };
        sane(&grant).map_err(|what| format!("{}/{} {as_of}: {what}", raw.provider, raw.model))?;
        hist.push((as_of, grant));
    }
    hist.sort_by_key(|(day, _)| *day);
    if let Some(day) = hist.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0) {
        return Err(format!("{}/{}: two records of {day}", raw.provider, raw.model));
    }
    Ok(FreeRow {
        provider: raw.provider,
        model: raw.model,
        name: raw.name,
        terms: raw.terms,
        trains_on_prompts: raw.trains_on_prompts,
        hist,
    })
}

/// Whether the figures can be an offer of this kind.
pub(crate) fn sane(grant: &Grant) -> Result<(), String> {
    if grant.monthly.max(grant.credit) > MOST_TOKENS {
        return Err(format!("{} tokens are more than anybody gives", grant.monthly.max(grant.credit)));
    }
    if grant.monthly > 0 && !grant.kind.counted() {
        return Err(format!("kind {} cannot have tokens a month", grant.kind.as_str()));
    }
    if grant.credit > 0 && !matches!(grant.kind, GrantKind::OneTime | GrantKind::RecurringCredit) {
        return Err(format!("kind {} cannot have a credit", grant.kind.as_str()));
    }
    if grant.pool.as_deref() == Some("") || grant.gate.as_deref() == Some("") {
        return Err("the name of a pool or gate is empty".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: &[&str]) -> FreeTiers {
        let text = format!("{{\"meta\":{{\"schema\":1}},\n\"entries\":[\n{}\n]}}", rows.join(",\n"));
        FreeTiers::parse(&text).unwrap()
    }

    const GOOD: &str = r#"{"provider":"p","model":"m","terms":"ok","hist":[{"as_of":"2026-08-20","kind":"keyless","monthly":7,"pool":null,"extra":[1]}]}"#;

    #[test]
    fn the_embedded_file_is_whole() {
        let tiers = FreeTiers::embedded();
        assert_eq!(tiers.skipped, []);
        assert_eq!((tiers.rows.len(), tiers.pools.len(), tiers.boosts.len()), (471, 54, 1));
        let days: Vec<String> = tiers.snapshots.keys().map(Day::to_string).collect();
        assert_eq!(days, ["2026-08-20", "2026-09-12"]);
        let groq = tiers.find("groq", "qwen/qwen3.6-27b").unwrap();
        let offer = groq.at(tiers.newest().unwrap()).unwrap();
        assert!(offer.grant.hard_stop && offer.grant.pool.is_none() && offer.grant.monthly == 6_000_000);
        assert!(tiers.find("kilo-gateway", "nothing").is_none());
        assert!(tiers.rows.iter().any(|row| row.trains_on_prompts));
        assert!(tiers.pool("mistral").unwrap().evidence.as_ref().unwrap().console_verified());
    }

    #[test]
    fn a_bad_row_is_skipped_and_told() {
        let with = |from: &str, to: &str| GOOD.replace(from, to);
        for (row, reason) in [
            (with("\"ok\"", "\"fine\""), "unknown variant `fine`"),
            (with("\"keyless\"", "\"weekly\""), "unknown variant `weekly`"),
            (with("keyless", "uncapped"), "p/m 2026-08-20: kind uncapped cannot have tokens a month"),
            (with("\"pool\":null", "\"credit\":5"), "p/m 2026-08-20: kind keyless cannot have a credit"),
            (with(":7", ":-7"), "invalid value"),
            (with(":7", ":1000000000000001"), "more than anybody gives"),
            (with("null", "\"\""), "the name of a pool or gate is empty"),
            (with("08-20", "02-30"), "is not a day"),
            (with("\"m\"", "\"\""), "lacks a provider or a model"),
            (with("\"model\":\"m\",", ""), "missing field `model`"),
            (
                with("[1]}", "[1]},{\"as_of\":\"2026-08-20\",\"kind\":\"keyless\",\"monthly\":8}"),
                "p/m: two records of 2026-08-20",
            ),
            (with("\"p\"", "7"), "invalid type"),
            ("3".to_owned(), "invalid type"),
        ] {
            let tiers = file(&[&row, &with("\"p\"", "\"q\"")]);
            assert_eq!(tiers.rows.len(), 1, "{row}");
            assert_eq!(tiers.skipped.len(), 1, "{row}");
            assert_eq!(tiers.skipped[0].row, "entries[0]");
            assert!(tiers.skipped[0].reason.contains(reason), "{row}: {:?}", tiers.skipped);
        }
        let twice = file(&[GOOD, GOOD]);
        assert_eq!((twice.rows.len(), twice.skipped[0].reason.as_str()), (1, "p/m is there twice"));
        assert_eq!(twice.rows[0].hist[0].1.monthly, 7);
        assert_eq!(twice.newest(), "2026-08-20".parse().ok());
    }

    #[test]
    fn a_bad_file_is_an_error_with_its_place() {
        let error = FreeTiers::parse("{\"meta\":{\"schema\":1},\n\"entries\":[}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 12));
        assert!(
            error.to_string().starts_with("free tiers cannot be read: expected value at line 2"),
            "{error}"
        );
        let error = FreeTiers::parse("{\"meta\":{\"schema\":2},\"entries\":[]}").unwrap_err();
        assert_eq!(error.to_string(), "free tiers cannot be read: schema 2 is not known; ours is 1");
        assert!(FreeTiers::parse("").is_err());
        assert!(FreeTiers::parse("[]").is_err());
    }
}
