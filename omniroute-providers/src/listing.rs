//! Rows for lists: filters, plain values to print or to write as JSON, and text tables.

use omniroute_core::{Capability, Usd};
use serde::Serialize;

use crate::availability::Availability;
use crate::catalog::{Catalog, capabilities};
use crate::data::{Access, FreeKind, Kind, ModelRow, ProviderRow, Status, Terms, WireId};

/// Which providers to list. The default lists all.
#[derive(Clone, Debug, Default)]
pub struct ProviderFilter<'a> {
    /// Part of the id, an alias or the name, in any case.
    pub text: Option<&'a str>,
    /// By what right it is reached.
    pub access: Option<Access>,
    /// Terms.
    pub terms: Option<Terms>,
    /// A wire it speaks.
    pub wire: Option<WireId>,
    /// A service it offers.
    pub kind: Option<Kind>,
    /// Only those with a free tier.
    pub free: bool,
    /// Only those for which calls can be prepared.
    pub built: bool,
}

/// Which models to list. The default lists all that are served.
#[derive(Clone, Debug, Default)]
pub struct ModelFilter<'a> {
    /// Part of `provider/id`, an alias or the name, in any case.
    pub text: Option<&'a str>,
    /// Id or alias of the provider.
    pub provider: Option<&'a str>,
    /// What it is known to be able to do.
    pub can: &'a [Capability],
    /// Smallest window, in tokens.
    pub min_context: Option<u64>,
    /// Highest price of an input token, in 1e-12 USD.
    pub max_input_price: Option<u64>,
    /// Only those with something free.
    pub free: bool,
    /// Only those with a price.
    pub priced: bool,
    /// Also those that are no longer served.
    pub removed: bool,
}

/// A provider in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProviderLine {
    /// Id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Main wire.
    pub wire: WireId,
    /// By what right it is reached.
    pub access: Access,
    /// Terms.
    pub terms: Terms,
    /// Whether it is still served.
    pub status: Status,
    /// Has a free tier.
    pub free: bool,
    /// Number of models the catalogue lists.
    pub models: usize,
    /// `built`, `needs-base-url`, `listed-only`, `not-yet` or `by-policy`.
    pub availability: &'static str,
    /// Why it is not built; empty if it is.
    pub reason: String,
    /// Variables that may hold the key.
    pub env: Vec<String>,
    /// Base address.
    pub base_url: Option<String>,
}

/// A model in a list. Prices are texts in USD for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModelLine {
    /// `provider/id`.
    pub model: String,
    /// Name for people.
    pub name: Option<String>,
    /// Window in tokens.
    pub context: Option<u64>,
    /// Longest output in tokens.
    pub max_output: Option<u64>,
    /// Input price.
    pub input: Option<String>,
    /// Output price.
    pub output: Option<String>,
    /// Cache-read price.
    pub cache_read: Option<String>,
    /// Cache-write price.
    pub cache_write: Option<String>,
    /// What is free.
    pub free: Option<FreeKind>,
    /// What it is known to be able to do, by name.
    pub can: Vec<&'static str>,
    /// Whether it is still served.
    pub status: Status,
    /// Day of retirement.
    pub deprecated_on: Option<String>,
}

const NAMES: [(Capability, &str); 10] = [
    (Capability::Tools, "tools"),
    (Capability::ParallelTools, "parallel-tools"),
    (Capability::JsonSchema, "json-schema"),
    (Capability::Reasoning, "reasoning"),
    (Capability::PromptCache, "cache"),
    (Capability::ImageInput, "image"),
    (Capability::PdfInput, "pdf"),
    (Capability::AudioInput, "audio"),
    (Capability::VideoInput, "video"),
    (Capability::AudioOutput, "speech"),
];

impl ProviderFilter<'_> {
    fn passes(&self, row: &ProviderRow<'_>) -> bool {
        let names = || row.aliases.iter().chain([&row.id, &row.name]);
        self.text.is_none_or(|text| names().any(|name| contains(name, text)))
            && self.access.is_none_or(|access| row.access == access)
            && self.terms.is_none_or(|terms| row.terms == terms)
            && self.wire.is_none_or(|wire| row.speaks(wire))
            && self.kind.is_none_or(|kind| row.kinds.contains(&kind))
            && (!self.free || row.free)
            && (!self.built || Availability::of(row) == Availability::Built)
    }
}

impl ModelFilter<'_> {
    fn passes(&self, row: &ModelRow<'_>) -> bool {
        let known = capabilities(row);
        let price = row.price.as_ref();
        let text = |text| {
            contains(&row.full_name(), text)
                || row.aliases.iter().chain(&row.name).any(|name| contains(name, text))
        };
        (self.removed || row.status != Status::Removed)
            && self.text.is_none_or(text)
            && self.can.iter().all(|capability| known.get(*capability) == Some(true))
            && self.min_context.is_none_or(|least| row.context_window.is_some_and(|window| window >= least))
            && self.max_input_price.is_none_or(|most| price.and_then(|p| p.input).is_some_and(|p| p <= most))
            && (!self.free || row.free.is_some())
            && (!self.priced || price.is_some_and(|p| p.input.is_some() && p.output.is_some()))
    }
}

impl Catalog {
    /// Providers that pass the filter, by id.
    pub fn list_providers(&self, filter: &ProviderFilter<'_>) -> Vec<ProviderLine> {
        let rows = self.providers().filter(|row| filter.passes(row));
        rows.map(|row| {
            let availability = Availability::of(&row);
            ProviderLine {
                name: row.name.to_string(),
                wire: row.wire,
                access: row.access,
                terms: row.terms,
                status: row.status,
                free: row.free,
                models: self.models_of(&row.id).count(),
                availability: availability.word(),
                reason: availability.reason().to_owned(),
                env: row.key_variables().map(|name| name.into_owned()).collect(),
                base_url: row.base_url.as_ref().map(ToString::to_string),
                id: row.id.into_owned(),
            }
        })
        .collect()
    }

    /// Models that pass the filter, by provider and id; none if the provider asked for is not known.
    pub fn list_models(&self, filter: &ModelFilter<'_>) -> Vec<ModelLine> {
        match filter.provider {
            Some(provider) => model_lines(self.models_of(provider), filter),
            None => model_lines(self.models(), filter),
        }
    }
}

/// A table of providers for a terminal or a pipe, with a heading, one line each.
pub fn provider_table(lines: &[ProviderLine]) -> String {
    let rows = lines.iter().map(|line| {
        [
            line.id.clone(),
            line.wire.to_string(),
            line.access.to_string(),
            line.terms.to_string(),
            if line.free { "free tier" } else { "-" }.to_owned(),
            line.models.to_string(),
            line.availability.to_owned(),
        ]
    });
    table(["PROVIDER", "WIRE", "ACCESS", "TERMS", "FREE", "MODELS", "STATE"], &[5], rows)
}

/// A table of models for a terminal or a pipe, with a heading, one line each. Prices are USD for a million tokens.
pub fn model_table(lines: &[ModelLine]) -> String {
    let rows = lines.iter().map(|line| {
        let number = |value: Option<u64>| value.map_or_else(unknown, |n| n.to_string());
        let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
        [
            line.model.clone(),
            number(line.context),
            number(line.max_output),
            text(&line.input),
            text(&line.output),
            text(&line.cache_read),
            line.free.map_or_else(unknown, |free| free.to_string()),
            line.can.join(" "),
        ]
    });
    let heads = ["MODEL", "CONTEXT", "OUTPUT", "IN $/M", "OUT $/M", "CACHED", "FREE", "CAN"];
    table(heads, &[1, 2, 3, 4, 5], rows)
}

fn model_lines<'a>(rows: impl Iterator<Item = ModelRow<'a>>, filter: &ModelFilter<'_>) -> Vec<ModelLine> {
    let passing = rows.filter(|row| filter.passes(row));
    passing
        .map(|row| {
            let known = capabilities(&row);
            let price = row.price.clone().unwrap_or_default();
            let can = NAMES.iter().filter(|(capability, _)| known.get(*capability) == Some(true));
            ModelLine {
                model: row.full_name(),
                name: row.name.as_ref().map(ToString::to_string),
                context: row.context_window,
                max_output: row.max_output,
                input: price.input.map(for_a_million),
                output: price.output.map(for_a_million),
                cache_read: price.cache_read.map(for_a_million),
                cache_write: price.cache_write.map(for_a_million),
                free: row.free,
                can: can.map(|(_, name)| *name).collect(),
                status: row.status,
                deprecated_on: row.deprecated_on.as_ref().map(ToString::to_string),
            }
        })
        .collect()
}

/// USD for a million tokens, without zeros at the end but with two decimals.
fn for_a_million(price: u64) -> String {
    let text = Usd::from_pico(u128::from(price) * 1_000_000).to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let cut = decimals.trim_end_matches('0');
    format!("{whole}.{cut:0<2}")
}

fn contains(name: &str, text: &str) -> bool {
    name.to_lowercase().contains(&text.to_lowercase())
}

/// What is not known is a question mark, never a zero.
fn unknown() -> String {
    "?".to_owned()
}

fn table<const N: usize>(
    heads: [&str; N],
    right: &[usize],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let rows: Vec<[String; N]> = [heads.map(str::to_owned)].into_iter().chain(rows).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let (before, after) = if right.contains(&at) { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line.extend([before, cell, after, "  "]);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_shown_in_full() {
        for (price, shown) in
            [(3_000_000, "3.00"), (75_000, "0.075"), (99_997, "0.099997"), (0, "0.00"), (1, "0.000001")]
        {
            assert_eq!(for_a_million(price), shown);
        }
    }

    #[test]
    fn filters_narrow() {
        let catalog = Catalog::embedded();
        let all = catalog.list_providers(&ProviderFilter::default());
        assert_eq!(all.len(), catalog.providers().count());
        let built = catalog.list_providers(&ProviderFilter { built: true, free: true, ..Default::default() });
        assert!(!built.is_empty() && built.iter().all(|line| line.free && line.availability == "built"));
        let filter = ModelFilter {
            provider: Some("anthropic"),
            can: &[Capability::Tools, Capability::ImageInput],
            min_context: Some(200_000),
            max_input_price: Some(3_000_000),
            ..Default::default()
        };
        let models = catalog.list_models(&filter);
        assert!(!models.is_empty());
        assert!(models.iter().all(|line| line.can.contains(&"tools") && line.context >= Some(200_000)));
        assert!(
            catalog.list_models(&ModelFilter { provider: Some("nobody"), ..Default::default() }).is_empty()
        );
    }

    #[test]
    fn tables_line_up() {
        let catalog = Catalog::embedded();
        let filter = ModelFilter { text: Some("anthropic/claude-sonnet-4-5"), ..Default::default() };
        let text = model_table(&catalog.list_models(&filter));
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|head| head.starts_with("MODEL")));
        assert!(lines.any(|line| line.contains("3.00") && line.contains("15.00")), "{text}");
        assert!(provider_table(&[]).lines().count() == 1);
    }
}
