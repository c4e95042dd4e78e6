//! Finding rows: by id, alias, `provider/model` or bare name.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use omniroute_core::{Capabilities, Capability, Cost, ModelFact, ModelFacts, UnixMs, Usage};

use crate::cost::{self, cost};
use crate::data::{
    Aliases, Class, FileError, Medium, ModelFile, ModelRow, Packed, Prices, ProviderFile, ProviderRow,
    Skipped, Status, Tier, pack,
};
use crate::suggest::nearest;

static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalog.bin"));

/// Providers and models. Cloning shares the bytes; rows are decoded when they are asked for.
#[derive(Clone)]
pub struct Catalog {
    bytes: Bytes,
    packed: Packed,
}

impl fmt::Debug for Catalog {
    /// Its size: the whole would fill a screen for every provider that is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Catalog({} providers)", self.packed.provider_count())
    }
}

/// A model that a name stands for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolved<'a> {
    /// Who serves it.
    pub provider: ProviderRow<'a>,
    /// The provider's name for it.
    pub model: Cow<'a, str>,
    /// Its row; none if the provider takes names that the catalogue does not list.
    pub row: Option<ModelRow<'a>>,
}

/// A name that does not stand for one model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No row has this name.
    #[error("no model {name:?}{}", did_you_mean(suggestions))]
    Unknown {
        /// The name asked for.
        name: String,
        /// Names that look like it, best first.
        suggestions: Vec<String>,
    },
    /// Several providers serve it and none of them is configured.
    #[error("model {name:?} is served by {}; say provider/model or configure one", candidates.join(", "))]
    Ambiguous {
        /// The name asked for.
        name: String,
        /// `provider/model` of each, by provider.
        candidates: Vec<String>,
    },
}

impl ResolveError {
    /// Stable code for programs: `model_not_found` or `model_ambiguous`.
    pub fn code(&self) -> &'static str {
        match self {
            ResolveError::Unknown { .. } => "model_not_found",
            ResolveError::Ambiguous { .. } => "model_ambiguous",
        }
    }
}

impl Catalog {
    /// The catalogue that was compiled in. Costs nothing: nothing is parsed.
    ///
    /// ```
    /// let catalog = omniroute_providers::Catalog::embedded();
    /// assert_eq!(catalog.provider("openai").map(|row| row.name.to_string()).as_deref(), Some("OpenAI"));
    /// ```
    pub fn embedded() -> Self {
        Catalog::of(Bytes::from_static(EMBEDDED))
    }

    /// A catalogue of these rows alone, and what of them has no place in it. Of equal keys the last row counts.
    pub fn from_rows(
        providers: Vec<ProviderRow<'_>>,
        models: Vec<ModelRow<'_>>,
        aliases: &Aliases,
        as_of: &str,
    ) -> (Self, Vec<String>) {
        let (bytes, left_out) = pack(providers, models, aliases, as_of);
        (Catalog::of(Bytes::from(bytes)), left_out)
    }

    /// This catalogue with further rows; a row with a known key replaces the old one.
    ///
    /// Returns what of the new rows has no place, too.
    pub fn with_rows(
        &self,
        providers: Vec<ProviderRow<'_>>,
        models: Vec<ModelRow<'_>>,
    ) -> (Self, Vec<String>) {
        let aliases = self.aliases().map(|(name, row)| (name.to_owned(), row.full_name())).collect();
        Catalog::from_rows(
            self.providers().chain(providers).collect(),
            self.models().chain(models).collect(),
            &aliases,
            self.as_of(),
        )
    }

    /// This catalogue with the rows of newer files of the same form. Bad rows are skipped and returned.
    ///
    /// # Errors
    /// [`FileError`] if a text is no catalogue file at all.
    pub fn with_files(
        &self,
        providers: Option<&str>,
        models: Option<&str>,
    ) -> Result<(Self, Vec<Skipped>), FileError> {
        let providers = providers.map(ProviderFile::read).transpose()?.unwrap_or_default();
        let models = models.map(ModelFile::read).transpose()?.unwrap_or_default();
        let mut aliases: Aliases =
            self.aliases().map(|(name, row)| (name.to_owned(), row.full_name())).collect();
        aliases.extend(models.aliases);
        let as_of = self.as_of().max(models.meta.as_of.as_str());
        let (catalog, left_out) = Catalog::from_rows(
            self.providers().chain(providers.rows).collect(),
            self.models().chain(models.rows).collect(),
            &aliases,
            as_of,
        );
        let homeless = left_out.into_iter().map(|row| Skipped { row, reason: "has no place".to_owned() });
        Ok((catalog, providers.skipped.into_iter().chain(models.skipped).chain(homeless).collect()))
    }

    /// Day of the models and prices, `YYYY-MM-DD`.
    pub fn as_of(&self) -> &str {
        self.packed.dates(&self.bytes).0
    }

    /// Day of the facts and a hash of the rows: equal versions give equal answers.
    pub fn version(&self) -> &str {
        self.packed.dates(&self.bytes).1
    }

    /// Size of the packed rows.
    pub fn packed_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All providers, by id.
    pub fn providers(&self) -> impl Iterator<Item = ProviderRow<'_>> {
        (0..self.packed.provider_count()).map(|at| self.packed.provider(&self.bytes, at))
    }

    /// The provider with this id or alias.
    pub fn provider(&self, name: &str) -> Option<ProviderRow<'_>> {
        Some(self.packed.provider(&self.bytes, self.packed.find_provider(&self.bytes, name)?))
    }

    /// All models, by provider and id.
    pub fn models(&self) -> impl Iterator<Item = ModelRow<'_>> {
        (0..self.packed.model_count()).map(|at| self.packed.model(&self.bytes, at))
    }

    /// The models of a provider, by id; none if the provider is not known.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = ModelRow<'_>> {
        let number = self.packed.find_provider(&self.bytes, provider);
        let range = number.map_or(0..0, |number| self.packed.models_of(&self.bytes, number));
        range.map(|at| self.packed.model(&self.bytes, at))
    }

    /// The model that this provider lists under exactly this id or row alias.
    pub fn model(&self, provider: &str, id: &str) -> Option<ModelRow<'_>> {
        let number = self.packed.find_provider(&self.bytes, provider)?;
        self.model_at(number, id)
    }

    /// The row whose facts hold for `model` at `provider`, also where the name differs in spelling only.
    ///
    /// Asks in order: the id, row aliases, without a reasoning effort behind it, without a date behind it,
    /// without a vendor before it. Never another provider.
    pub fn facts_of(&self, provider: &str, model: &str) -> Option<ModelRow<'_>> {
        let number = self.packed.find_provider(&self.bytes, provider)?;
        spellings(model).find_map(|(id, effort)| {
            self.model_at(number, id).filter(|row| !effort || row.reasoning == Some(true))
        })
    }

    /// Names that stand for a `provider/model` of the whole catalogue.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, ModelRow<'_>)> {
        self.packed.aliases(&self.bytes).map(|(name, at)| (name, self.packed.model(&self.bytes, at)))
    }

    /// Everybody who serves a model under this bare id or row alias, by provider. Retired rows are left out.
    pub fn serving(&self, name: &str) -> impl Iterator<Item = ModelRow<'_>> {
        let rows = self.packed.named(&self.bytes, name).map(|at| self.packed.model(&self.bytes, at));
        rows.filter(|row| row.status != Status::Removed)
    }

    /// The model that a name stands for.
    ///
    /// `configured` are the ids of the providers that can be called, most wanted first.
    ///
    /// # Behavior
    /// - `provider/model` means that provider, also by alias.
    /// - A bare name means the first configured provider that serves it, else what an alias of the catalogue says,
    ///   else the only provider there is.
    /// - A provider that takes unlisted names gets what stands behind its id.
    ///
    /// # Errors
    /// [`ResolveError::Unknown`] with names that look alike; [`ResolveError::Ambiguous`] with all candidates.
    pub fn resolve(&self, name: &str, configured: &[&str]) -> Result<Resolved<'_>, ResolveError> {
        let at = name.split_once('/').and_then(|(provider, model)| Some((self.provider(provider)?, model)));
        if let Some((provider, model)) = &at
            && let Some(row) = self.model(&provider.id, model)
        {
            return Ok(self.resolved(row));
        }
        let candidates: Vec<ModelRow<'_>> = self.serving(name).collect();
        let wanted = configured.iter().filter_map(|id| self.provider(id));
        let first =
            wanted.filter_map(|provider| candidates.iter().find(|row| row.provider == provider.id)).next();
        if let Some(row) = first {
            return Ok(self.resolved(row.clone()));
        }
        if let Some(at) = self.packed.alias(&self.bytes, name) {
            return Ok(self.resolved(self.packed.model(&self.bytes, at)));
        }
        if candidates.len() > 1 {
            let candidates = candidates.iter().map(ModelRow::full_name).collect();
            return Err(ResolveError::Ambiguous { name: name.to_owned(), candidates });
        }
        if let Some(row) = candidates.into_iter().next() {
            return Ok(self.resolved(row));
        }
        if let Some((provider, model)) =
            at.filter(|(provider, model)| provider.passthrough_models && !model.is_empty())
        {
            return Ok(Resolved { provider, model: Cow::Owned(model.to_owned()), row: None });
        }
        Err(ResolveError::Unknown { name: name.to_owned(), suggestions: self.suggest(name) })
    }

    /// Up to five names of models that look like `name`, best first.
    ///
    /// `provider/x` is compared with the models of that provider, or with ids of providers if there is none.
    pub fn suggest(&self, name: &str) -> Vec<String> {
        if let Some((provider, model)) = name.split_once('/') {
            if let Some(row) = self.provider(provider) {
                let found = nearest(model, self.models_of(&row.id).map(|model| model.id.to_string()));
                return found.into_iter().map(|id| format!("{}/{id}", row.id)).collect();
            }
            let providers = nearest(provider, self.providers().map(|row| row.id.to_string()));
            if !providers.is_empty() {
                return providers.into_iter().map(|id| format!("{id}/{model}")).collect();
            }
        }
        nearest(name, self.models().filter(|row| row.status != Status::Removed).map(|row| row.id.to_string()))
    }

    /// The window of a model in tokens: its own, else the provider's usual one.
    pub fn context_window(&self, provider: &str, model: &str) -> Option<u64> {
        let own = self.facts_of(provider, model).and_then(|row| row.context_window);
        own.or_else(|| self.provider(provider)?.default_context)
    }

    /// The prices of a model at a provider; none if unknown.
    pub fn prices(&self, provider: &str, model: &str) -> Option<Prices> {
        self.facts_of(provider, model)?.price
    }

    /// Whether the prices are older than 60 days at `when`.
    pub fn prices_stale(&self, when: UnixMs) -> bool {
        cost::stale(self.as_of(), when)
    }

    fn of(bytes: Bytes) -> Self {
        let packed = Packed::open(&bytes);
        Catalog { bytes, packed }
    }

    fn model_at(&self, provider: usize, id: &str) -> Option<ModelRow<'_>> {
        let exact = self.packed.find_model(&self.bytes, provider, id);
        let by_alias = || {
            let range = self.packed.models_of(&self.bytes, provider);
            self.packed.named(&self.bytes, id).find(|at| range.contains(at))
        };
        exact.or_else(by_alias).map(|at| self.packed.model(&self.bytes, at))
    }

    fn resolved<'a>(&'a self, row: ModelRow<'a>) -> Resolved<'a> {
        let provider = self.provider(&row.provider).expect("packing keeps only models of a known provider");
        Resolved { provider, model: row.id.clone(), row: Some(row) }
    }
}

impl ModelFacts for Catalog {
    fn lookup(&self, provider: &str, model: &str) -> Option<ModelFact> {
        let row = self.facts_of(provider, model)?;
        let mut fact = ModelFact::default();
        fact.context_window = row.context_window.or_else(|| self.provider(provider)?.default_context);
        fact.max_input = row.max_input;
        fact.max_output = row.max_output;
        fact.capabilities = capabilities(&row);
        fact.tier = row.tier.map(|tier| match tier {
            Tier::Small => 0,
            Tier::Mid => 1,
            Tier::Frontier => 2,
        });
        fact.free = row.is_free();
        if let Some(price) = &row.price {
            fact.input_price = price.input;
            fact.output_price = price.output;
            fact.cache_read_price = price.cache_read.or(price.input);
        }
        Some(fact)
    }

    fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Cost {
        if let Some(reported) = usage.reported {
            return Cost::Known(reported);
        }
        let row = self.facts_of(provider, model);
        let total = row.as_ref().and_then(|row| cost(usage, row.price.as_ref()?, None).total);
        if self.provider(provider).is_some_and(|provider| is_flat(&provider)) {
            return Cost::Flat { estimate: total };
        }
        match (row, total) {
            (Some(row), _) if row.is_free() => Cost::Free,
            (_, Some(total)) => Cost::Known(total),
            _ => Cost::Unknown,
        }
    }

    fn version(&self) -> &str {
        Catalog::version(self)
    }
}

/// What a row says about abilities.
pub(crate) fn capabilities(row: &ModelRow<'_>) -> Capabilities {
    let reads = |medium| row.inputs.map(|set| set.has(medium));
    let mut known = Capabilities::default();
    for (capability, can) in [
        (Capability::Tools, row.tools),
        (Capability::ParallelTools, row.parallel_tools),
        (Capability::JsonSchema, row.json_schema),
        (Capability::Reasoning, row.reasoning),
        (Capability::PromptCache, row.prompt_cache),
        (Capability::ImageInput, reads(Medium::Image)),
        (Capability::PdfInput, reads(Medium::Pdf)),
        (Capability::AudioInput, reads(Medium::Audio)),
        (Capability::VideoInput, reads(Medium::Video)),
        (Capability::AudioOutput, row.outputs.map(|set| set.has(Medium::Audio))),
    ] {
        known.set(capability, can);
    }
    known
}

/// Whether calls are covered by a subscription.
fn is_flat(provider: &ProviderRow<'_>) -> bool {
    provider.class == Class::Oauth || provider.tags.iter().any(|tag| tag.starts_with("subscription"))
}

/// The name and its plainer spellings, see [`Catalog::facts_of`]. With `true`, only a reasoning model is meant:
/// `-max` may also be part of a name.
fn spellings(model: &str) -> impl Iterator<Item = (&str, bool)> {
    const EFFORTS: [&str; 7] = ["-none", "-minimal", "-low", "-medium", "-high", "-xhigh", "-max"];
    let effort = EFFORTS.iter().find_map(|effort| model.strip_suffix(effort));
    let dated = undated(model).map(|name| (name, false));
    let both = effort.and_then(undated).map(|name| (name, true));
    let here = [Some((model, false)), effort.map(|name| (name, true)), dated, both].into_iter().flatten();
    let bare = here.clone().filter_map(|(name, effort)| Some((name.split_once('/')?.1, effort)));
    here.chain(bare)
}

/// Without `-20250929`, `@20250929` or `-2025-09-29` at the end.
fn undated(model: &str) -> Option<&str> {
    const SHAPES: [&str; 3] = ["-dddddddd", "@dddddddd", "-dddd-dd-dd"];
    SHAPES.iter().find_map(|shape| {
        let (base, date) = model.split_at_checked(model.len().checked_sub(shape.len())?)?;
        let fits =
            |(byte, wanted): (u8, u8)| if wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted };
        (!base.is_empty() && date.bytes().zip(shape.bytes()).all(fits)).then_some(base)
    })
}

fn did_you_mean(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        some => format!("; did you mean {}", some.join(", ")),
    }
}
