//! The compressor that every language wraps: bytes in, bytes and a receipt out.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use omniroute_compress::{CallOptions, Compress, CompressError, ToolOutput};
use omniroute_core::{ChatRequest, CompressReceipt, DEFAULT_MAX_BYTES, Doc, Moment, SessionId, Skip, wire};

use crate::config::Config;
use crate::edits::{self, Edited};
use crate::error::Error;
use crate::stats::Stats;
use crate::variants::{Counter, Variants};

/// What one call may say besides its body. Everything is optional.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The wire of the body, by id or alias; guessed if absent.
    pub wire: Option<&'a str>,
    /// Another plan than the configured one.
    pub plan: Option<&'a str>,
    /// The model that counts tokens, if the body does not name it.
    pub model: Option<&'a str>,
    /// The session. What is remembered is kept apart for each.
    pub session: Option<&'a str>,
    /// The time, to age what is remembered.
    pub now: Moment,
}

/// What is known about a single text.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextOptions<'a> {
    /// What the text is; `tool_output` is the only kind today and the default.
    pub kind: Option<&'a str>,
    /// The command line that printed it.
    pub command: Option<&'a str>,
    /// How the command ended.
    pub exit_code: Option<i32>,
}

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

/// A text that is ready to be put into a request, and the record of what was done.
#[derive(Clone)]
#[non_exhaustive]
pub struct CompressedText<'t> {
    /// The text. The very same, borrowed, if nothing was changed.
    pub text: Cow<'t, str>,
    /// What was done and what was not, and why; figures are those of the text alone.
    pub receipt: CompressReceipt,
}

impl fmt::Debug for CompressedText<'_> {
    /// The size of the text only: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("CompressedText");
        out.field("bytes", &self.text.len()).field("receipt", &self.receipt).finish()
    }
}

/// The JSON text of a receipt, as every language gets it.
pub fn receipt_json(receipt: &CompressReceipt) -> String {
    serde_json::to_string(receipt).expect("a receipt has string keys and finite numbers only")
}

/// One line for people, for instance `safe: 2092 -> 1066 tokens (49.0 % of the request saved)`.
pub fn receipt_line(receipt: &CompressReceipt) -> String {
    if let Some(skip) = &receipt.skipped {
        return format!("{}: left alone ({})", receipt.plan, skip.code);
    }
    let (before, after) = (receipt.tokens_before, receipt.tokens_after);
    let about = if receipt.counter.exact { "" } else { "about " };
    let saved = receipt.tokens_saved().saturating_mul(1000).checked_div(before).unwrap_or(0);
    let (whole, tenth) = (saved / 10, saved % 10);
    format!("{}: {about}{before} -> {after} tokens ({whole}.{tenth} % of the request saved)", receipt.plan)
}

/// A compressor made from a [`Config`]. Threads may use it at the same time.
///
/// ```
/// use omniroute::{Compressor, Config, Options};
/// let compressor = Compressor::new(Config::default())?;
/// let body = r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}"#;
/// let out = compressor.compress_body(body, &Options::default())?;
/// assert_eq!(out.body, body);
/// # Ok::<(), omniroute::Error>(())
/// ```
#[derive(Debug)]
pub struct Compressor {
    variants: Variants,
    stats: Mutex<Stats>,
}

impl Compressor {
    /// Makes the engines.
    ///
    /// # Errors
    /// Code `config` with every mistake.
    pub fn new(config: Config) -> Result<Self, Error> {
        guarded(|| Ok(Compressor { variants: Variants::new(config)?, stats: Mutex::default() }))
    }

    /// What it was made from.
    pub fn config(&self) -> &Config {
        self.variants.config()
    }

    /// Compresses a body.
    ///
    /// # Errors
    /// `unknown_wire`, `unknown_plan`; in strict mode also `bad_body`. A body that cannot be read otherwise comes
    /// back unchanged and the receipt's `skipped` says why.
    pub fn compress_body(&self, body: impl Into<Bytes>, options: &Options<'_>) -> Result<Compressed, Error> {
        let body = body.into();
        guarded(|| {
            let call = self.call(options)?;
            let (out, _) = self.run(&call, body, false, |plan, counter| self.variants.get(plan, counter))?;
            self.note(&out.receipt);
            Ok(out)
        })
    }

    /// Like [`Compressor::compress_body`], but tells which strings change instead of writing a body: for hosts that
    /// hold the request as objects of their own.
    ///
    /// # Errors
    /// Those of [`Compressor::compress_body`].
    pub fn compress_edits(&self, body: impl Into<Bytes>, options: &Options<'_>) -> Result<Edited, Error> {
        let body = body.into();
        guarded(|| {
            let call = self.call(options)?;
            let (out, docs) =
                self.run(&call, body, true, |plan, counter| self.variants.get(plan, counter))?;
            self.note(&out.receipt);
            let edits = match docs {
                Some((before, after)) if out.receipt.applied => edits::between(&before, &after),
                _ => Vec::new(),
            };
            Ok(Edited { edits, receipt: out.receipt })
        })
    }

    /// What [`Compressor::compress_body`] would do with a body it has never seen. Touches neither memory nor
    /// statistics.
    ///
    /// # Errors
    /// Those of [`Compressor::compress_body`].
    pub fn preview_body(&self, body: impl Into<Bytes>, options: &Options<'_>) -> Result<Compressed, Error> {
        let body = body.into();
        guarded(|| {
            let call = self.call(options)?;
            Ok(self.run(&call, body, false, |plan, counter| self.variants.apart(plan, counter))?.0)
        })
    }

    /// Compresses one text that is no request: what a tool printed.
    ///
    /// # Errors
    /// `bad_argument` for an unknown kind, `unknown_plan`; in strict mode `bad_body` for a text over the limit.
    pub fn compress_text<'t>(
        &self,
        text: &'t str,
        what: &TextOptions<'_>,
        options: &Options<'_>,
    ) -> Result<CompressedText<'t>, Error> {
        guarded(|| {
            if let Some(kind) = what.kind.filter(|kind| !matches!(*kind, "tool_output" | "tool_result")) {
                let shown: String = kind.chars().take(40).collect();
                let message = format!(
                    "kind: {shown:?} is not \"tool_output\"; a command line is an argument of its own"
                );
                return Err(Error::new("bad_argument", message));
            }
            let call = self.call(options)?;
            let counter = Counter::choose(self.config().count, options.model, || None);
            let compress = self.variants.get(call.plan, counter)?;
            let mut output = ToolOutput::new(text);
            if let Some(command) = what.command {
                output = output.command(command);
            }
            if let Some(code) = what.exit_code {
                output = output.exit_code(code);
            }
            let out = compress.compress_output(output, options.now)?;
            let mut receipt = out.receipt;
            call.plan.trim().clone_into(&mut receipt.plan);
            self.note(&receipt);
            let text = match out.text {
                Cow::Borrowed(_) => Cow::Borrowed(text),
                Cow::Owned(text) => Cow::Owned(text),
            };
            Ok(CompressedText { text, receipt })
        })
    }

    /// Sums over the calls so far.
    pub fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<'a>(&'a self, options: &Options<'a>) -> Result<Call<'a>, Error> {
        let wire = match options.wire {
            None => None,
            Some(name) => Some(wire::by_id(name).ok_or_else(|| unknown_wire(name))?),
        };
        let plan = options.plan.unwrap_or_else(|| self.config().plan());
        Ok(Call { wire, plan, options: *options })
    }

    /// One body through the compressor that `get` gives, and the document before and after.
    fn run(
        &self,
        call: &Call<'_>,
        body: Bytes,
        texts_only: bool,
        get: impl Fn(&str, Counter) -> Result<Compress, Error>,
    ) -> Result<(Compressed, Option<(Doc, Doc)>), Error> {
        let config = self.config();
        let off = self.variants.steps(call.plan)?.is_empty();
        if off && !config.strict {
            let out = get(call.plan, Counter::OfBody)?.compress_body(call.wire, body, call.options.now)?;
            return Ok((call.done(out.body, out.receipt), None));
        }
        let limit = config.max_body_bytes.unwrap_or(DEFAULT_MAX_BYTES);
        let doc = match Doc::parse_with_limit(body.clone(), limit) {
            Ok(doc) => doc,
            Err(error) if config.strict => return Err(CompressError::from(error).into()),
            Err(error) => return Ok((call.left_alone(body, Skip::unreadable(&error)), None)),
        };
        let Some(wire) = call.wire.or_else(|| wire::detect(&doc)) else {
            let error = CompressError::UnknownWire;
            if config.strict {
                return Err(error.into());
            }
            return Ok((call.left_alone(body, Skip::new("unknown_wire", error.to_string())), None));
        };
        let before = doc.clone();
        let mut request = ChatRequest::from_doc(wire, doc);
        if let Some(session) = call.options.session {
            request = request.with_session(SessionId::new(session));
        }
        let named = || request.head().model.map(|model| model.decode().into_owned());
        let counter = Counter::choose(config.count, call.options.model, named);
        let options = CallOptions::default().texts_only(texts_only);
        let out = get(call.plan, counter)?.compress_with(&mut request, options, call.options.now);
        if let Some(skip) = out.receipt.skipped.as_ref().filter(|skip| config.strict && skip.code != "off") {
            return Err(Error::new("bad_body", format!("bad body: {}", skip.detail)));
        }
        let after = request.doc().clone();
        Ok((call.done(out.body, out.receipt), Some((before, after))))
    }

    fn note(&self, receipt: &CompressReceipt) {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).add(receipt);
    }
}

/// A call with its names looked up.
struct Call<'a> {
    wire: Option<wire::Wire>,
    plan: &'a str,
    options: Options<'a>,
}

impl Call<'_> {
    fn done(&self, body: Bytes, mut receipt: CompressReceipt) -> Compressed {
        self.plan.trim().clone_into(&mut receipt.plan);
        Compressed { body, receipt }
    }

    fn left_alone(&self, body: Bytes, skip: Skip) -> Compressed {
        let mut receipt = CompressReceipt::default();
        receipt.skipped = Some(skip);
        receipt.bytes_before = body.len() as u64;
        receipt.bytes_after = body.len() as u64;
        self.done(body, receipt)
    }
}

pub(crate) fn unknown_wire(name: &str) -> Error {
    let shown: String = name.chars().take(40).collect();
    let ids = wire::WIRES.iter().flat_map(|wire| wire.aliases().iter().copied().chain([wire.id()]));
    let mut hint = crate::config::suggestion(name, ids);
    if hint.is_empty() {
        let known: Vec<&str> = wire::WIRES.iter().map(|wire| wire.id()).collect();
        hint = format!("; it is one of {}", known.join(", "));
    }
    Error::new("unknown_wire", format!("wire {shown:?} is not known{hint}"))
}

/// A panic in an engine is caught further down; one anywhere else becomes an error here, so that no other language ever
/// sees one.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::new("internal", "a bug in omniroute: please report the message on standard error"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = guarded::<()>(|| panic!("made up for the test")).unwrap_err();
        assert_eq!((error.code(), error.class()), ("internal", "Internal"));
    }
}
