//! The catalogue checks itself: one function per rule, each with a broken twin in the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::cost::day_number;
use crate::data::{
    Access, AuthKind, FileError, Implement, LongContext, ModelFile, ModelRow, Prices, ProviderFile,
    ProviderRow, WireId,
};

/// Highest price that is believed, in 1e-12 USD a token: 1,000 USD for a million.
const DEAREST: u64 = 1_000_000_000;

/// A rule of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Every row can be read.
    Readable,
    /// Rows are sorted and each key is there once.
    Sorted,
    /// Ids are `[a-z0-9][a-z0-9-]*`.
    Id,
    /// No alias is the id or alias of another row.
    Alias,
    /// Aliases of the catalogue stand for a row.
    AliasGoal,
    /// Addresses are https, or loopback.
    Address,
    /// Rows that are built say how the key travels.
    Key,
    /// Variables are in capitals and there once.
    Variable,
    /// What needs a browser or another vendor's sign-in is never built.
    Policy,
    /// Second wires are ones we write, each once, not the main one.
    Wire,
    /// Models belong to a provider.
    Provider,
    /// The wire of a model is one its provider speaks.
    ModelWire,
    /// Windows are positive, output and input fit in.
    Window,
    /// Prices are believable: no zero beside a charge, reads not dearer than input, long requests in order.
    Price,
    /// Days are days of the calendar.
    Date,
    /// Renamed rows lead to a row.
    Renamed,
}

impl Rule {
    /// All rules.
    pub const ALL: &'static [Rule] = &[
        Rule::Readable,
        Rule::Sorted,
        Rule::Id,
        Rule::Alias,
        Rule::AliasGoal,
        Rule::Address,
        Rule::Key,
        Rule::Variable,
        Rule::Policy,
        Rule::Wire,
        Rule::Provider,
        Rule::ModelWire,
        Rule::Window,
        Rule::Price,
        Rule::Date,
        Rule::Renamed,
    ];
}

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The row.
    pub row: String,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}: {}", self.rule, self.row, self.what)
    }
}

/// Checks the texts of `providers.json` and `models.json`. No finding means that all rules hold.
///
/// # Errors
/// [`FileError`] if a text is no catalogue file at all.
pub fn check_files(providers: &str, models: &str) -> Result<Vec<Finding>, FileError> {
    let providers = ProviderFile::read(providers)?;
    let models = ModelFile::read(models)?;
    let mut found = Findings(Vec::new());
    for skipped in providers.skipped.iter().chain(&models.skipped) {
        found.add(Rule::Readable, &skipped.row, &skipped.reason);
    }
    found.date("providers.json", &providers.meta.as_of);
    found.date("models.json", &models.meta.as_of);
    found.sorted(providers.rows.iter().map(|row| row.id.to_string()));
    found.sorted(models.rows.iter().map(|row| (row.provider.to_string(), row.id.to_string())));
    found.names(&providers.rows);
    for row in &providers.rows {
        found.provider(row);
    }
    let known: BTreeMap<&str, &ProviderRow<'_>> =
        providers.rows.iter().map(|row| (row.id.as_ref(), row)).collect();
    let renamed = providers.rows.iter().filter_map(|row| Some((row, row.renamed_to.as_deref()?)));
    for (row, to) in renamed.filter(|(_, to)| !known.contains_key(to)) {
        found.add(Rule::Renamed, &row.id, format!("leads to {to}, which is no row"));
    }
    for row in &models.rows {
        found.model(row, known.get(row.provider.as_ref()).copied());
    }
    found.model_names(&models);
    Ok(found.0)
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, rule: Rule, row: &str, what: impl Into<String>) {
        self.0.push(Finding { rule, row: row.to_owned(), what: what.into() });
    }

    fn date(&mut self, row: &str, day: &str) {
        if day_number(day).is_none() {
            self.add(Rule::Date, row, format!("{day:?} is no day"));
        }
    }

    fn sorted<K: Ord + fmt::Debug>(&mut self, keys: impl Iterator<Item = K>) {
        let mut before: Option<K> = None;
        for key in keys {
            if let Some(last) = before.filter(|last| *last >= key) {
                self.add(Rule::Sorted, &format!("{key:?}"), format!("stands behind {last:?}"));
            }
            before = Some(key);
        }
    }

    fn names(&mut self, rows: &[ProviderRow<'_>]) {
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_ref()).collect();
        let mut aliases = BTreeSet::new();
        for row in rows {
            for alias in &row.aliases {
                if ids.contains(alias.as_ref()) || !aliases.insert(alias.as_ref()) {
                    self.add(Rule::Alias, &row.id, format!("alias {alias} means another row too"));
                }
            }
        }
    }

    fn provider(&mut self, row: &ProviderRow<'_>) {
        let plain = row.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !plain || row.id.is_empty() || row.id.starts_with('-') {
            self.add(Rule::Id, &row.id, "is not [a-z0-9][a-z0-9-]*");
        }
        let alts = row.alt.iter().filter_map(|alt| alt.base_url.as_ref());
        for url in row.base_url.iter().chain(&row.models_url).chain(alts) {
            if !crate::prepare::is_address(url) {
                self.add(Rule::Address, &row.id, format!("{url} is neither https nor loopback"));
            }
        }
        for auth in [&row.auth].into_iter().chain(row.alt.iter().filter_map(|alt| alt.auth.as_ref())) {
            let whole = match auth.kind {
                AuthKind::Header => auth.header.is_some(),
                AuthKind::Query => auth.param.is_some(),
                AuthKind::Cookie => row.implement != Implement::Yes,
                _ => true,
            };
            if !whole {
                self.add(Rule::Key, &row.id, format!("{} without saying where the key goes", auth.kind));
            }
        }
        self.variables(row);
        let never = matches!(
            row.access,
            Access::WebSession | Access::ClientOauth | Access::ClientRestricted | Access::KeychainImport
        );
        if never && row.implement != Implement::CatalogOnly {
            self.add(Rule::Policy, &row.id, format!("{} must be catalog-only", row.access));
        }
        let mut wires = BTreeSet::from([row.wire]);
        for alt in &row.alt {
            if !alt.wire.is_written() || !wires.insert(alt.wire) {
                self.add(
                    Rule::Wire,
                    &row.id,
                    format!("second wire {} is not written or there twice", alt.wire),
                );
            }
        }
        if row.implement == Implement::Yes && !row.wire.is_written() {
            self.add(Rule::Wire, &row.id, format!("is built, but {} is not written", row.wire));
        }
        for day in &row.seen {
            self.date(&row.id, day);
        }
    }

    fn variables(&mut self, row: &ProviderRow<'_>) {
        let mut seen = BTreeSet::new();
        let settings = row.env_settings.iter().map(|(_, variable)| variable);
        for name in row.env.iter().chain(settings).flat_map(|name| name.split('+')) {
            let plain = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            if !plain || name.is_empty() || !seen.insert(name) {
                self.add(Rule::Variable, &row.id, format!("{name:?} is not in capitals or there twice"));
            }
        }
    }

    fn model(&mut self, row: &ModelRow<'_>, provider: Option<&ProviderRow<'_>>) {
        let name = row.full_name();
        match (provider, row.wire) {
            (None, _) => self.add(Rule::Provider, &name, "has no provider row"),
            (Some(provider), Some(wire)) if is_reached(provider) && !provider.speaks(wire) => {
                self.add(Rule::ModelWire, &name, format!("{} does not speak {wire}", provider.id));
            }
            _ => {}
        }
        let zero = [row.context_window, row.max_input, row.max_output, row.cache_min].contains(&Some(0));
        let window = row.context_window.unwrap_or(u64::MAX);
        if zero
            || row.max_output.is_some_and(|most| most > window)
            || row.max_input.is_some_and(|most| most > window)
        {
            self.add(Rule::Window, &name, "a window is zero, or smaller than what must fit in");
        }
        if let Some(problem) = row.price.as_ref().and_then(price_problem) {
            self.add(Rule::Price, &name, problem);
        }
        if let Some(day) = &row.deprecated_on {
            self.date(&name, day);
        }
    }

    fn model_names(&mut self, models: &ModelFile) {
        let ids: BTreeSet<(&str, &str)> =
            models.rows.iter().map(|row| (row.provider.as_ref(), row.id.as_ref())).collect();
        let mut aliases = BTreeSet::new();
        for row in &models.rows {
            for alias in &row.aliases {
                let key = (row.provider.as_ref(), alias.as_ref());
                if ids.contains(&key) || !aliases.insert(key) {
                    self.add(Rule::Alias, &row.full_name(), format!("alias {alias} means another row too"));
                }
            }
        }
        for (alias, goal) in &models.aliases {
            if !goal.split_once('/').is_some_and(|key| ids.contains(&key)) {
                self.add(Rule::AliasGoal, alias, format!("{goal} is no row"));
            }
        }
    }
}

/// Rows whose models are called through us.
fn is_reached(row: &ProviderRow<'_>) -> bool {
    row.implement == Implement::Yes && row.wire != WireId::None
}

fn price_problem(prices: &Prices) -> Option<String> {
    let Prices { input, output, cache_read, cache_write, cache_write_1h, reasoning, .. } = prices;
    if let Some(problem) =
        part_problem(&[*input, *output, *cache_read, *cache_write, *cache_write_1h, *reasoning])
    {
        return Some(problem);
    }
    if input.is_none() && output.is_none() {
        return Some("neither input nor output has a price".to_owned());
    }
    if matches!((cache_read, input), (Some(read), Some(input)) if read > input) {
        return Some("reading the cache costs more than input".to_owned());
    }
    let mut before = 0;
    for LongContext { tokens, input, output, cache_read, cache_write, cache_write_1h } in &prices.long {
        if *tokens <= before {
            return Some("prices of long requests are not in order".to_owned());
        }
        if *input < prices.input || *output < prices.output {
            return Some("a long request costs less than a short one".to_owned());
        }
        if let Some(problem) = part_problem(&[*input, *output, *cache_read, *cache_write, *cache_write_1h]) {
            return Some(problem);
        }
        before = *tokens;
    }
    None
}

fn part_problem(parts: &[Option<u64>]) -> Option<String> {
    let known = || parts.iter().flatten();
    if let Some(price) = known().find(|price| **price > DEAREST) {
        return Some(format!("{price} is more than 1,000 USD for a million tokens"));
    }
    let charged = parts.iter().take(2).flatten().any(|price| *price > 0);
    (charged && known().any(|price| *price == 0)).then(|| "a zero stands beside a charged price".to_owned())
}
