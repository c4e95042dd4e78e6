//! One call with everything it needs, ready to run on any thread.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use napi::{Env, Status, Task};
use napi_derive::napi;
use omniroute::core::{Diagnostic, Moment};
use omniroute::{Compressor, Error, Options, TextOptions};

use crate::errors::raised;
use crate::joined::joined;
use crate::outcome::Outcome;

/// What is to be done with the text of a call.
#[napi(string_enum = "lowercase")]
#[derive(Debug)]
pub enum What {
    /// A body: gives a body.
    Body,
    /// A body that leaves no trace in memory or statistics.
    Preview,
    /// A body of which only the changed strings are wanted.
    Edits,
    /// A text that is no request.
    Text,
}

/// A call as JavaScript says it.
#[napi(object, object_to_js = false)]
pub struct Call {
    /// What is to be done.
    pub what: What,
    /// The wire of a body.
    pub wire: Option<String>,
    /// Another plan than the configured one.
    pub plan: Option<String>,
    /// The model that counts tokens.
    pub model: Option<String>,
    /// The session of a body.
    pub session: Option<String>,
    /// What a text is.
    pub kind: Option<String>,
    /// The command line that printed a text.
    pub command: Option<String>,
    /// How the command ended.
    pub exit_code: Option<i32>,
    /// Objects that could not be written into the body.
    pub kept: Option<Vec<Kept>>,
    /// Set if the long texts of the body stand behind it: the length of the body alone, then those of the texts.
    pub lengths: Option<Vec<u32>>,
}

impl std::fmt::Debug for Call {
    /// Not the command: it may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("what", &self.what).finish_non_exhaustive()
    }
}

/// An object that was kept as it is: its place and type.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct Kept {
    /// Where it stands.
    pub pointer: String,
    /// Name of its class.
    pub kind: String,
}

/// Tells a job that nobody waits for it any more.
#[napi]
#[derive(Debug, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
}

#[napi]
impl Cancel {
    /// Nothing is asked yet.
    #[napi(constructor)]
    pub fn new() -> Self {
        Cancel::default()
    }

    /// A job that has not begun never will.
    #[napi]
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

/// A call on its way to a thread.
pub struct Job {
    compressor: Arc<Compressor>,
    call: Call,
    input: Vec<u8>,
    now: Moment,
    asked: Option<Arc<AtomicBool>>,
}

impl std::fmt::Debug for Job {
    /// The size of the text only: it may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("call", &self.call)
            .field("bytes", &self.input.len())
            .finish_non_exhaustive()
    }
}

impl Job {
    /// The `input` is copied: its owner may change it.
    pub(crate) fn new(
        compressor: Arc<Compressor>,
        call: Call,
        input: &[u8],
        now: Moment,
        cancel: Option<&Cancel>,
    ) -> Self {
        let asked = cancel.map(|cancel| cancel.asked.clone());
        Job { compressor, call, input: input.to_vec(), now, asked }
    }
}

impl Task for Job {
    type Output = Outcome;
    type JsValue = Outcome;

    fn compute(&mut self) -> napi::Result<Outcome> {
        if self.asked.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed)) {
            return Err(napi::Error::new(Status::Cancelled, "nobody waits for this call"));
        }
        let input = Cow::Owned(std::mem::take(&mut self.input));
        run(&self.compressor, &self.call, input, self.now).map_err(|error| raised(&error))
    }

    fn resolve(&mut self, _: Env, output: Outcome) -> napi::Result<Outcome> {
        Ok(output)
    }
}

/// Works here and now. The `input` is copied only where the work keeps it.
pub(crate) fn run(
    compressor: &Compressor,
    call: &Call,
    input: Cow<'_, [u8]>,
    now: Moment,
) -> Result<Outcome, Error> {
    let options = Options {
        wire: call.wire.as_deref(),
        plan: call.plan.as_deref(),
        model: call.model.as_deref(),
        session: call.session.as_deref(),
        now,
    };
    match call.what {
        What::Body => compressor.compress_body(input.into_owned(), &options).map(Outcome::of_body),
        What::Preview => compressor.preview_body(input.into_owned(), &options).map(Outcome::of_body),
        What::Edits => {
            let body = match &call.lengths {
                Some(lengths) => joined(&input, lengths)?,
                None => input.into_owned().into(),
            };
            let mut out = compressor.compress_edits(body, &options)?;
            out.receipt.notes.extend(call.kept.iter().flatten().map(note));
            Ok(Outcome::of_edits(out))
        }
        What::Text => {
            let text = std::str::from_utf8(&input)
                .map_err(|error| Error::new("bad_argument", format!("text: not UTF-8: {error}")))?;
            let what = TextOptions {
                kind: call.kind.as_deref(),
                command: call.command.as_deref(),
                exit_code: call.exit_code,
            };
            compressor.compress_text(text, &what, &options).map(Outcome::of_text)
        }
    }
}

fn note(kept: &Kept) -> Diagnostic {
    let action = format!("an object of type {} was kept as it is", kept.kind);
    Diagnostic::new("kept_object", kept.pointer.clone(), action)
}
