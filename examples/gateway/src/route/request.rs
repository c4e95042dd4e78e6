//! The request that is decided about: one of a file, or one that is made up.

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use omniroute_core::{ChatRequest, Doc, wire};

use crate::cli::Form;
use crate::exit::Failure;
use crate::input::{self, Content};
use crate::progress::Progress;

/// The made-up request has so many tokens if nobody says otherwise.
const USUAL: u32 = 100;

/// What is asked for.
#[derive(Debug, Args)]
pub(super) struct RequestArgs {
    /// What a client would name: a combo, auto, auto/coding, provider/model, a model
    #[arg(value_name = "MODEL")]
    pub(super) model: String,
    /// Take the request from this file; - is standard input. Its own model does not count
    #[arg(long, value_name = "FILE", conflicts_with = "input_tokens")]
    request: Option<PathBuf>,
    /// Size of the request if there is no file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    input_tokens: Option<u32>,
}

impl RequestArgs {
    /// The request, with the model put in.
    pub(super) fn read(&self) -> Result<ChatRequest, Failure> {
        let Some(file) = &self.request else {
            let bytes = self.input_tokens.unwrap_or(USUAL) as usize * 4;
            let text = "word ".repeat(bytes.div_ceil(5));
            let text = text.get(..bytes).unwrap_or(&text);
            let body =
                serde_json::json!({"model": self.model, "messages": [{"role": "user", "content": text}]});
            return ChatRequest::parse(wire::OPENAI_CHAT, body.to_string()).map_err(Failure::failed);
        };
        let mut progress = Progress::new(true);
        let input = input::read(Some(file), false, &mut progress)?;
        match Content::of(input, Form::Auto) {
            Content::Request(request) => self.named(&request),
            Content::Broken(error) => {
                Err(Failure::failed(format!("cannot read \"{}\" as a request: {error}", file.display())))
            }
            Content::Text(_) => Err(Failure::failed(format!(
                "\"{}\" is no request of a known wire: an object with messages, input or contents",
                file.display()
            ))),
        }
    }

    /// The request with this model instead of its own.
    fn named(&self, request: &ChatRequest) -> Result<ChatRequest, Failure> {
        let doc = request.doc();
        let model = serde_json::Value::from(self.model.as_str()).to_string();
        let bytes = doc.bytes();
        let (start, end, put) = match doc.get(doc.root(), "model") {
            Some(node) => (doc.span(node).start, doc.span(node).end, model),
            None => {
                let at = doc.span(doc.root()).start + 1;
                let comma = if doc.members(doc.root()).next().is_some() { "," } else { "" };
                (at, at, format!("\"model\":{model}{comma}"))
            }
        };
        let mut body = bytes.get(..start).unwrap_or_default().to_vec();
        body.extend_from_slice(put.as_bytes());
        body.extend_from_slice(bytes.get(end..).unwrap_or_default());
        let doc = Doc::parse(Bytes::from(body)).map_err(Failure::failed)?;
        Ok(ChatRequest::from_doc(request.wire(), doc))
    }
}
