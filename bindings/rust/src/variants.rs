//! The compressors behind one configuration: one for each plan and way of counting that calls have asked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use omniroute_compress::{Compress, MemoLimits, Step};
use omniroute_core::{BlobStore, Estimator, Family, MemoryBlobs, Tokenizer};

use crate::config::{Config, Count};
use crate::error::Error;

/// Plans that a caller can ask for besides the configured one before the rest is built anew for each call.
const KEPT: usize = 16;

/// What counts the tokens of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Counter {
    /// The estimator of the model that the body names.
    OfBody,
    /// The estimator of a family.
    Family(Family),
    /// The real vocabulary.
    #[cfg(feature = "tokens-exact")]
    Exact(crate::tokens::Vocabulary),
}

impl Counter {
    /// For a call whose model is known if the caller or the body names it.
    pub(crate) fn choose(count: Count, given: Option<&str>, body: impl FnOnce() -> Option<String>) -> Self {
        match count {
            Count::Estimate => {
                drop(body); // the compressor looks itself
                given.map_or(Counter::OfBody, |model| Counter::Family(Family::of_model(model)))
            }
            #[cfg(feature = "tokens-exact")]
            Count::Exact => {
                let model = given.map(str::to_owned).or_else(body).unwrap_or_default();
                let family = Family::of_model(&model);
                crate::tokens::Vocabulary::of(family).map_or(Counter::Family(family), Counter::Exact)
            }
        }
    }

    fn tokenizer(self) -> Option<Arc<dyn Tokenizer>> {
        match self {
            Counter::OfBody => None,
            Counter::Family(family) => Some(Arc::new(Estimator::new(family))),
            #[cfg(feature = "tokens-exact")]
            Counter::Exact(vocabulary) => Some(Arc::new(crate::tokens::ExactTokens::new(vocabulary))),
        }
    }
}

/// The compressors made so far. They share where originals are kept, and nothing else.
#[derive(Debug)]
pub(crate) struct Variants {
    config: Config,
    blobs: Arc<dyn BlobStore>,
    known: Mutex<HashMap<(String, Counter), Compress>>,
}

impl Variants {
    /// Makes the configured one, so that every mistake shows now.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        let blobs = Arc::new(MemoryBlobs::default());
        let variants = Variants { config, blobs, known: Mutex::default() };
        let plan = variants.config.plan().to_owned();
        variants.get(&plan, Counter::choose(variants.config.count, None, || None))?;
        Ok(variants)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The steps of a plan.
    pub(crate) fn steps(&self, plan: &str) -> Result<Vec<Step>, Error> {
        self.config.steps(plan).ok_or_else(|| Error::unknown_plan(&self.config, plan))
    }

    /// The compressor for a plan and a counter.
    pub(crate) fn get(&self, plan: &str, counter: Counter) -> Result<Compress, Error> {
        let key = (plan.to_owned(), counter);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compress) = known.get(&key) {
            return Ok(compress.clone());
        }
        let kept = known.len() < KEPT;
        let memo = if kept { self.config.memo } else { MemoLimits::none() };
        let compress = self.make(plan, counter, memo, self.blobs.clone())?;
        if kept {
            known.insert(key, compress.clone());
        }
        Ok(compress)
    }

    /// A compressor that neither reads nor leaves anything behind.
    pub(crate) fn apart(&self, plan: &str, counter: Counter) -> Result<Compress, Error> {
        self.make(plan, counter, MemoLimits::none(), Arc::new(MemoryBlobs::default()))
    }

    fn make(
        &self,
        plan: &str,
        counter: Counter,
        memo: MemoLimits,
        blobs: Arc<dyn BlobStore>,
    ) -> Result<Compress, Error> {
        let mut builder = self.config.builder(plan)?.memo(memo).blobs(blobs);
        if let Some(tokenizer) = counter.tokenizer() {
            builder = builder.tokenizer(tokenizer);
        }
        Ok(builder.build()?)
    }
}
