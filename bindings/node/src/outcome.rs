//! What a call gives back.

use bytes::Bytes;
use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;
use omniroute::core::CompressReceipt;
use omniroute::{Compressed, CompressedText, Edited, Step, TextEdit};

/// What a call made and what it did. Each take gives its part once; the receipt is written as JSON only when asked.
#[napi]
#[derive(Debug)]
pub struct Outcome {
    body: Bytes,
    text: Option<String>,
    edits: Vec<TextEdit>,
    receipt: CompressReceipt,
}

/// A string with a new text.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct Edit {
    /// Where it stands: keys and indices.
    pub path: Vec<Either<String, u32>>,
    /// The text that is sent.
    pub text: String,
}

#[napi]
impl Outcome {
    /// The body that is sent.
    #[napi]
    pub fn take_body(&mut self) -> Buffer {
        Vec::from(std::mem::take(&mut self.body)).into()
    }

    /// The text that is sent, if it is not the one that was given.
    #[napi]
    pub fn take_text(&mut self) -> Option<String> {
        self.text.take()
    }

    /// The changed strings in document order.
    #[napi]
    pub fn take_edits(&mut self) -> Vec<Edit> {
        std::mem::take(&mut self.edits).into_iter().map(edit).collect()
    }

    /// The whole receipt as JSON text.
    #[napi]
    pub fn json(&self) -> String {
        omniroute::receipt_json(&self.receipt)
    }

    /// One line for people.
    #[napi]
    pub fn summary(&self) -> String {
        omniroute::receipt_line(&self.receipt)
    }

    /// Whether anything was changed.
    #[napi(getter)]
    pub fn applied(&self) -> bool {
        self.receipt.applied
    }

    /// Tokens as they came.
    #[napi(getter)]
    pub fn tokens_before(&self) -> i64 {
        number(self.receipt.tokens_before)
    }

    /// Tokens as they are sent.
    #[napi(getter)]
    pub fn tokens_after(&self) -> i64 {
        number(self.receipt.tokens_after)
    }
}

impl Outcome {
    pub(crate) fn of_body(out: Compressed) -> Self {
        // A body that did not change is still in the caller's hands.
        let body = if out.receipt.applied { out.body } else { Bytes::new() };
        Outcome { body, text: None, edits: Vec::new(), receipt: out.receipt }
    }

    pub(crate) fn of_edits(out: Edited) -> Self {
        Outcome { body: Bytes::new(), text: None, edits: out.edits, receipt: out.receipt }
    }

    pub(crate) fn of_text(out: CompressedText<'_>) -> Self {
        let text = out.receipt.applied.then(|| out.text.into_owned());
        Outcome { body: Bytes::new(), text, edits: Vec::new(), receipt: out.receipt }
    }
}

fn edit(edit: TextEdit) -> Edit {
    let step = |step| match step {
        Step::Key(key) => Either::A(key),
        Step::Index(index) => Either::B(u32::try_from(index).expect("a body has less than 2^32 elements")),
    };
    Edit { path: edit.path.into_iter().map(step).collect(), text: edit.text }
}

/// Tokens are far below the largest whole number of JavaScript.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
