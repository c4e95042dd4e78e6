//! The compressor: built once, shared by all calls.

mod builder;
mod options;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use omniroute_core::{
    BlobStore, ChatRequest, CompressReceipt, CompressionEngine, Compressor, Diagnostic, Doc, DocError,
    Estimator, Moment, Principal, SessionId, Skip, Tokenizer, wire,
};

use crate::ccr::{self, Answer, Ask, RetrieveError};
use crate::combos::Combos;
use crate::config::ConfigErrors;
use crate::cost::{CachePolicy, Prices};
use crate::entry::Parts;
use crate::memo::{Memo, MemoLimits};
use crate::pipeline::{Limit, Pipeline};
use crate::plan::{Plan, Steps};
use crate::rewrite::Rewrite;
use crate::sessions::SessionStore;
use crate::style::OutputStyle;

pub use builder::CompressBuilder;
pub use options::CallOptions;

/// A body that is ready to be sent, and the record of what was done.
#[derive(Clone)]
#[non_exhaustive]
pub struct Compressed {
    /// The body. The very same bytes if nothing was changed.
    pub body: Bytes,
    /// What was done and what was not, and why.
    pub receipt: CompressReceipt,
}

impl fmt::Debug for Compressed {
    /// The size of the body only: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressed").field("bytes", &self.body.len()).field("receipt", &self.receipt).finish()
    }
}

/// Why there is no result. Without `strict` a body never is a reason.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompressError {
    /// The configuration is wrong; holds every mistake.
    #[error("configuration: {0}")]
    Config(#[from] ConfigErrors),
    /// Strict mode: the body is not a request.
    #[error("bad body: {0}")]
    BadBody(#[from] DocError),
    /// Strict mode: the body is JSON and none of the wires knows it.
    #[error("the body is no chat request: none of \"messages\", \"input\", \"contents\" is there as a list")]
    UnknownWire,
}

impl CompressError {
    /// Stable code for programs and other languages.
    pub fn code(&self) -> &'static str {
        match self {
            CompressError::Config(_) => "config",
            CompressError::BadBody(_) => "bad_body",
            CompressError::UnknownWire => "unknown_wire",
        }
    }
}

/// Compresses one body with the plan `safe`. Remembers nothing: in a session build a [`Compress`] once, its
/// calls then cost only what is new.
///
/// A body that cannot be read comes back unchanged and the receipt says why.
///
/// ```
/// use omniroute_compress::compress;
/// use omniroute_core::wire;
/// let body = r#"{"messages": [{"role": "user", "content": "hi"}]}"#;
/// let out = compress(wire::OPENAI_CHAT, body)?;
/// assert_eq!(out.body, body);
/// assert_eq!(out.receipt.tokens_after, out.receipt.tokens_before);
/// # Ok::<(), omniroute_compress::CompressError>(())
/// ```
///
/// # Errors
/// None today; the signature leaves room for strict use.
pub fn compress(wire: wire::Wire, body: impl Into<Bytes>) -> Result<Compressed, CompressError> {
    let compressor = Compress::builder().memo(MemoLimits::none()).build()?;
    compressor.compress_body(Some(wire), body, Moment::default())
}

/// A compressor. Cloning shares what it remembers; threads may use it at the same time.
///
/// ```
/// use omniroute_compress::Compress;
/// use omniroute_core::{ChatRequest, Moment, wire};
/// let compressor = Compress::builder().plan("safe").build()?;
/// let body = r#"{"messages": [{"role": "user", "content": "hi"}]}"#;
/// let mut request = ChatRequest::parse(wire::OPENAI_CHAT, body).expect("is JSON");
/// let out = compressor.compress(&mut request, None, Moment::default());
/// assert_eq!(out.receipt.plan, "safe");
/// # Ok::<(), omniroute_compress::CompressError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Compress {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    steps: Arc<Steps>,
    engines: Vec<Arc<dyn CompressionEngine>>,
    parts: Parts,
    combos: Combos,
    style: Option<OutputStyle>,
    profiles: Mutex<HashMap<String, Arc<Steps>>>,
    tokenizer: Option<Arc<dyn Tokenizer>>,
    blobs: Arc<dyn BlobStore>,
    memo: Memo,
    sessions: Arc<dyn SessionStore>,
    retrieval: bool,
    lossless_only: bool,
    rewrite: Rewrite,
    prices: Option<Prices>,
    cache: Option<CachePolicy>,
    strict: bool,
    max_bytes: usize,
}

impl Compress {
    /// Starts with plan `safe`, an estimator for the request's model, memory stores, not strict.
    pub fn builder() -> CompressBuilder {
        CompressBuilder::default()
    }

    /// Compresses `request` in place and returns its new body. `session` names the session if the request does
    /// not; `now` ages what is remembered.
    pub fn compress(
        &self,
        request: &mut ChatRequest,
        session: Option<&SessionId>,
        now: Moment,
    ) -> Compressed {
        if let (None, Some(session)) = (request.session(), session) {
            *request = request.clone().with_session(session.clone());
        }
        self.compress_with(request, CallOptions::default(), now)
    }

    /// As [`Compress::compress`], with what the caller knows about this one request.
    pub fn compress_with(&self, request: &mut ChatRequest, options: CallOptions, now: Moment) -> Compressed {
        let steps = self.inner.steps.clone();
        let receipt = self
            .run(&steps, request, options, now)
            .unwrap_or_else(|error| unreadable(&steps, request, &error));
        Compressed { body: request.to_bytes(), receipt }
    }

    /// Compresses a body; guesses its wire if none is given.
    ///
    /// # Errors
    /// In strict mode [`CompressError::BadBody`] and [`CompressError::UnknownWire`]. Otherwise such a body comes
    /// back unchanged and the receipt's `skipped` says why.
    pub fn compress_body(
        &self,
        wire: Option<wire::Wire>,
        body: impl Into<Bytes>,
        now: Moment,
    ) -> Result<Compressed, CompressError> {
        let body = body.into();
        let steps = self.inner.steps.clone();
        if steps.is_off() && !self.inner.strict {
            return Ok(untouched(&steps, body, Skip::new("off", "the plan has no steps")));
        }
        let doc = match Doc::parse_with_limit(body.clone(), self.inner.max_bytes) {
            Ok(doc) => doc,
            Err(error) if self.inner.strict => return Err(error.into()),
            Err(error) => return Ok(untouched(&steps, body, Skip::unreadable(&error))),
        };
        let Some(wire) = wire.or_else(|| wire::detect(&doc)) else {
            if self.inner.strict {
                return Err(CompressError::UnknownWire);
            }
            let skip = Skip::new("unknown_wire", CompressError::UnknownWire.to_string());
            return Ok(untouched(&steps, body, skip));
        };
        let mut request = ChatRequest::from_doc(wire, doc);
        match self.run(&steps, &mut request, CallOptions::default(), now) {
            Ok(receipt) => Ok(Compressed { body: request.to_bytes(), receipt }),
            Err(error) if self.inner.strict => Err(error.into()),
            Err(error) => Ok(untouched(&steps, body, Skip::unreadable(&error))),
        }
    }

    fn run(
        &self,
        steps: &Steps,
        request: &mut ChatRequest,
        options: CallOptions,
        now: Moment,
    ) -> Result<CompressReceipt, DocError> {
        if steps.is_off() {
            let length = request.doc().bytes().len() as u64;
            let mut receipt = skipped(steps, length, Skip::new("off", "the plan has no steps"));
            receipt.wire = request.wire().id().to_owned();
            return Ok(receipt);
        }
        let estimator;
        let tokenizer: &dyn Tokenizer = match &self.inner.tokenizer {
            Some(own) => own.as_ref(),
            None => {
                estimator =
                    Estimator::for_model(&request.head().model.map(|m| m.decode()).unwrap_or_default());
                &estimator
            }
        };
        let (memo, blobs) = (&self.inner.memo, self.inner.blobs.as_ref());
        let pipeline = Pipeline {
            steps,
            tokenizer,
            blobs,
            memo,
            sessions: self.inner.sessions.as_ref(),
            retrieval: self.inner.retrieval && !options.texts_only,
            rewrite: steps.rewrite.unwrap_or(self.inner.rewrite),
            prices: self.inner.prices,
            cache: self.inner.cache,
            cold: options.cold,
            one_shot: options.one_shot,
            limit: options.limit.map(|most| Limit { most, target: options.target.unwrap_or(most).min(most) }),
            now,
        };
        let passed = pipeline.run(request)?;
        request.replace_doc(passed.doc);
        Ok(passed.receipt)
    }

    /// Answers a call of the retrieval tool ([`ccr::TOOL`]) for a tenant; `arguments` are those of the call.
    ///
    /// # Errors
    /// [`RetrieveError`], whose text is meant for the model.
    pub fn retrieve(
        &self,
        principal: &Principal,
        arguments: &str,
        now: Moment,
    ) -> Result<Answer, RetrieveError> {
        ccr::retrieve(self.inner.blobs.as_ref(), principal, &Ask::from_json(arguments)?, now)
    }

    /// The named profiles: which one a route refers to is [`Combos::for_route`], and its name can be given as the
    /// profile of a call.
    pub fn combos(&self) -> &Combos {
        &self.inner.combos
    }

    /// Where recoverable engines keep originals.
    pub fn blobs(&self) -> &Arc<dyn BlobStore> {
        &self.inner.blobs
    }

    /// The steps of a plan that the caller names for one request.
    fn profile(&self, name: &str) -> Result<Arc<Steps>, ConfigErrors> {
        let mut known = self.inner.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(steps) = known.get(name) {
            return Ok(steps.clone());
        }
        let (engines, parts) = (&self.inner.engines, &self.inner.parts);
        let steps = match (Plan::parse(name), self.inner.combos.get(name)) {
            (Ok(plan), _) => plan.build(engines, parts)?,
            (Err(_), Some(combo)) => combo.build(engines, parts)?,
            (Err(errors), None) => return Err(errors),
        };
        let style = self.inner.style.as_ref().filter(|_| !steps.engines.is_empty());
        let steps = Arc::new(steps.lossless_only(self.inner.lossless_only).style(style));
        if known.len() < 64 {
            known.insert(name.to_owned(), steps.clone());
        }
        Ok(steps)
    }
}

impl Compressor for Compress {
    fn compress(&self, request: &mut ChatRequest, profile: Option<&str>, now: Moment) -> CompressReceipt {
        let named = profile.map(|name| self.profile(name));
        let steps = match &named {
            Some(Ok(steps)) => steps.clone(),
            _ => self.inner.steps.clone(),
        };
        let mut receipt = self
            .run(&steps, request, CallOptions::default(), now)
            .unwrap_or_else(|error| unreadable(&steps, request, &error));
        if let Some(Err(errors)) = named {
            let action = format!("{errors}; plan \"{}\" was used", steps.name);
            receipt.notes.push(Diagnostic::new("ignored_unknown", "", action));
        }
        receipt
    }
}

fn unreadable(steps: &Steps, request: &ChatRequest, error: &DocError) -> CompressReceipt {
    skipped(steps, request.doc().bytes().len() as u64, Skip::unreadable(error))
}

fn untouched(steps: &Steps, body: Bytes, skip: Skip) -> Compressed {
    let receipt = skipped(steps, body.len() as u64, skip);
    Compressed { body, receipt }
}

fn skipped(steps: &Steps, bytes: u64, skip: Skip) -> CompressReceipt {
    let mut receipt = CompressReceipt::default();
    receipt.plan = steps.name.clone();
    receipt.skipped = Some(skip);
    receipt.bytes_before = bytes;
    receipt.bytes_after = bytes;
    receipt
}
