//! Settings of a compressor, checked when it is built.

use std::sync::{Arc, Mutex};

use omniroute_core::{BlobStore, CompressionEngine, DEFAULT_MAX_BYTES, MemoryBlobs, Tokenizer};

use super::{Compress, CompressError, Inner};
use crate::caveman::{Preserve, RulePacks};
use crate::combos::Combos;
use crate::config::{ConfigError, ConfigErrors, Step, Value, suggestion};
use crate::cost::{CachePolicy, Prices};
use crate::entry::Parts;
use crate::memo::{Memo, MemoLimits};
use crate::plan::Plan;
use crate::registry::{self, ENGINES};
use crate::rewrite::Rewrite;
use crate::rtk::FilterSet;
use crate::sessions::{MemorySessions, SessionStore};
use crate::style::OutputStyle;

/// Settings of a compressor.
#[derive(Debug, Clone, Default)]
pub struct CompressBuilder {
    plan: Option<String>,
    steps: Option<Vec<Step>>,
    engines: Vec<Arc<dyn CompressionEngine>>,
    tokenizer: Option<Arc<dyn Tokenizer>>,
    blobs: Option<Arc<dyn BlobStore>>,
    parts: Parts,
    memo: MemoLimits,
    sessions: Option<Arc<dyn SessionStore>>,
    without_retrieval: bool,
    lossless_only: bool,
    rewrite: Rewrite,
    combos: Option<Combos>,
    style: Option<OutputStyle>,
    prices: Option<Prices>,
    cache: Option<CachePolicy>,
    strict: bool,
    max_bytes: Option<usize>,
}

impl CompressBuilder {
    /// A plan by name, or engines separated by commas; default `"safe"`.
    #[must_use]
    pub fn plan(mut self, plan: impl Into<String>) -> Self {
        self.plan = Some(plan.into());
        self
    }

    /// A plan of one's own, with settings; wins over [`CompressBuilder::plan`].
    #[must_use]
    pub fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps = Some(steps.into_iter().collect());
        self
    }

    /// An engine of one's own, to be named in [`CompressBuilder::steps`] or in a plan by its id. Wins over a
    /// built-in engine of the same id.
    #[must_use]
    pub fn engine(mut self, engine: Arc<dyn CompressionEngine>) -> Self {
        self.engines.push(engine);
        self
    }

    /// A token counter; by default an estimator for the model that the request names.
    #[must_use]
    pub fn tokenizer(mut self, tokenizer: Arc<dyn Tokenizer>) -> Self {
        self.tokenizer = Some(tokenizer);
        self
    }

    /// Where recoverable engines keep originals; by default in memory.
    #[must_use]
    pub fn blobs(mut self, blobs: Arc<dyn BlobStore>) -> Self {
        self.blobs = Some(blobs);
        self
    }

    /// Filters for command output besides the built-in ones, see [`FilterSet`].
    #[must_use]
    pub fn filters(mut self, filters: impl Into<Arc<FilterSet>>) -> Self {
        self.parts.filters = filters.into();
        self
    }

    /// Rules for prose besides the built-in ones, see [`RulePacks`].
    #[must_use]
    pub fn rule_packs(mut self, packs: impl Into<Arc<RulePacks>>) -> Self {
        self.parts.rule_packs = packs.into();
        self
    }

    /// Settings of an engine wherever a plan, a combo or a call names it without settings of its own; a level in a plan
    /// (`rtk:minimal`) counts as one. Checked when the compressor is built.
    #[must_use]
    pub fn defaults<K: Into<String>>(
        mut self,
        engine: impl Into<String>,
        settings: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let engine = engine.into();
        let id = registry::engine(&engine).map_or(engine, |entry| entry.info.id.to_owned());
        let settings = settings.into_iter().map(|(key, value)| (key.into(), value));
        self.parts.defaults.entry(id).or_default().extend(settings);
        self
    }

    /// Patterns of which whatever they find stays in sight, whatever step works on a text: a change that would take
    /// such a part away is refused, with the reason `preserved` in the receipt; `caveman` works around it. Lossless steps
    /// may refer to it.
    #[must_use]
    pub fn preserve(mut self, patterns: Preserve) -> Self {
        self.parts.preserve = patterns;
        self
    }

    /// Bounds of what is remembered between calls.
    #[must_use]
    pub fn memo(mut self, limits: MemoLimits) -> Self {
        self.memo = limits;
        self
    }

    /// Where is remembered what was decided once for a session; by default in memory.
    #[must_use]
    pub fn sessions(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Whether texts may be left out that the model can fetch with the retrieval tool, where the request's own
    /// tools have it ([`TOOL`](crate::ccr::TOOL)); default yes. A note about it is added to the system text then.
    #[must_use]
    pub fn retrieval(mut self, on: bool) -> Self {
        self.without_retrieval = !on;
        self
    }

    /// When older turns may be rewritten; default [`Rewrite::ColdOnly`], which needs the times of the requests.
    #[must_use]
    pub fn rewrite(mut self, rewrite: Rewrite) -> Self {
        self.rewrite = rewrite;
        self
    }

    /// Named profiles that calls, routes and [`CompressBuilder::plan`] may name; the active one is the plan of calls that
    /// name none, unless a plan is given here. By default the presets of [`Combos`], none active.
    #[must_use]
    pub fn combos(mut self, combos: Combos) -> Self {
        self.combos = Some(combos);
        self
    }

    /// Asks the model for shorter answers by a text of our own at the end of the system text, from the first request of
    /// a session on; default no. The plan `off` adds nothing.
    #[must_use]
    pub fn output_style(mut self, style: OutputStyle) -> Self {
        self.style = Some(style);
        self
    }

    /// Prices for forecasts; by default those of the request's model, if it is known.
    #[must_use]
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = Some(prices);
        self
    }

    /// Rules of the provider's prompt cache; by default those of the wire's vendor.
    #[must_use]
    pub fn cache(mut self, cache: CachePolicy) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Whether only that may be taken out which can be computed back from the request that is sent; default no.
    /// [`expand`](crate::expand()) then gives the very body that came.
    #[must_use]
    pub fn lossless_only(mut self, on: bool) -> Self {
        self.lossless_only = on;
        self
    }

    /// Whether a body that cannot be read is an error instead of coming back unchanged; default no.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Largest body that is worked on, in bytes; default 16 MiB.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Checks everything and makes the engines.
    ///
    /// # Errors
    /// [`CompressError::Config`] with every mistake.
    pub fn build(self) -> Result<Compress, CompressError> {
        let mut wrong = Vec::new();
        for (id, settings) in &self.parts.defaults {
            let step =
                settings.iter().fold(Step::new(id), |step, (key, value)| step.with(key, value.clone()));
            match registry::engine(id) {
                Some(entry) => drop(step.resolve(entry.fields, &mut wrong)),
                None => {
                    let hint = suggestion(id, ENGINES.iter().map(|entry| entry.info.id));
                    wrong.push(ConfigError::new("defaults", format!("engine \"{id}\" is not known{hint}")));
                }
            }
        }
        if !wrong.is_empty() {
            return Err(ConfigErrors(wrong).into());
        }
        let own = |name: &str| self.engines.iter().any(|e| e.info().id == name);
        let combos = self.combos.unwrap_or_default();
        let combo = match (&self.steps, &self.plan) {
            (Some(_), _) => None,
            // Plans and engines come first: their names mean the same everywhere.
            (None, Some(name)) => combos.get(name).filter(|_| Plan::parse(name).is_err() && !own(name)),
            (None, None) => combos.active(),
        };
        let steps = match combo {
            Some(combo) => combo.build(&self.engines, &self.parts)?,
            None => {
                let plan = match (self.steps, &self.plan) {
                    (Some(steps), _) => Plan::of(steps),
                    // A list may name engines of the caller, which only this builder knows.
                    (None, Some(text)) if text.split(',').any(|n| own(n.trim())) => {
                        Plan::of(text.split(',').map(|n| Step::new(n.trim())))
                    }
                    (None, Some(text)) => Plan::parse(text)?,
                    (None, None) => Plan::default(),
                };
                plan.build(&self.engines, &self.parts)?
            }
        };
        let style = self.style.as_ref().filter(|_| !steps.engines.is_empty());
        let steps = Arc::new(steps.lossless_only(self.lossless_only).style(style));
        Ok(Compress {
            inner: Arc::new(Inner {
                steps,
                engines: self.engines,
                parts: self.parts,
                combos,
                style: self.style,
                profiles: Mutex::default(),
                tokenizer: self.tokenizer,
                blobs: self.blobs.unwrap_or_else(|| Arc::new(MemoryBlobs::default())),
                memo: Memo::new(self.memo),
                sessions: self.sessions.unwrap_or_else(|| Arc::new(MemorySessions::default())),
                retrieval: !self.without_retrieval,
                lossless_only: self.lossless_only,
                rewrite: self.rewrite,
                prices: self.prices,
                cache: self.cache,
                strict: self.strict,
                max_bytes: self.max_bytes.unwrap_or(DEFAULT_MAX_BYTES),
            }),
        })
    }
}
