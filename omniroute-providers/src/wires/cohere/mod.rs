//! Cohere chat, version 2: `{"model", "messages": [{"role", "content", "tool_calls", "tool_plan"}], "tools"}`.

mod encode;
mod message;
mod reply;
mod request;
mod stream;
mod turn;
mod write;

use bytes::Bytes;
use omniroute_core::hub::{ErrorBody, Param, Reply, Request, WriteContext};
use omniroute_core::wire::{
    Fate, JsonWriter, ParamTable, Read, SseReader, StreamReader, StreamWriter, WireError, WireFormat, Written,
};
use omniroute_core::{Conversation, Doc, DocError, Head};

use super::common::closed;

const NAME: &str = "cohere";

#[derive(Debug)]
pub(super) struct Cohere;

/// Simple parameters.
const PARAMS: ParamTable = ParamTable {
    wire: NAME,
    rows: &[
        (Param::MaxOutput, Fate::Key("max_tokens")),
        (Param::Temperature, Fate::Clamp("temperature", "0", "1")),
        (Param::TopP, Fate::Clamp("p", "0.01", "0.99")),
        (Param::TopK, Fate::Key("k")),
        (Param::MinP, Fate::Drop),
        (Param::RepetitionPenalty, Fate::Drop),
        (Param::TypicalP, Fate::Drop),
        (Param::Stop, Fate::List("stop_sequences", 5)),
        (Param::Seed, Fate::Key("seed")),
        (Param::FrequencyPenalty, Fate::Key("frequency_penalty")),
        (Param::PresencePenalty, Fate::Key("presence_penalty")),
        (Param::LogitBias, Fate::Drop),
        (Param::Logprobs, Fate::Key("logprobs")),
        (Param::TopLogprobs, Fate::Drop),
        (Param::Candidates, Fate::Incapable("unsupported_param")),
        (Param::User, Fate::Drop),
        (Param::ParallelTools, Fate::Drop),
        (Param::ServiceTier, Fate::Drop),
        (Param::Speed, Fate::Drop),
        (Param::CacheKey, Fate::Silent),
        (Param::CacheRetention, Fate::Silent),
        (Param::CacheOptions, Fate::Silent),
        (Param::CachedContent, Fate::Incapable("unsupported_param")),
        (Param::KeepAlive, Fate::Silent),
        (Param::Metadata, Fate::Drop),
        (Param::Store, Fate::Silent),
        (Param::PreviousResponse, Fate::Incapable("previous_response_not_found")),
        (Param::Conversation, Fate::Incapable("unsupported_param")),
        (Param::Include, Fate::Silent),
        (Param::Truncation, Fate::Drop),
        (Param::MaxToolCalls, Fate::Drop),
        (Param::Verbosity, Fate::Drop),
        (Param::Modalities, Fate::Drop),
        (Param::Prediction, Fate::Drop),
        (Param::SafetySettings, Fate::Own),
        (Param::MediaResolution, Fate::Drop),
        (Param::SpeechConfig, Fate::Drop),
        (Param::ContextManagement, Fate::Incapable("unsupported_param")),
        (Param::Documents, Fate::Key("documents")),
    ],
    also: &[], // the word `safety_mode` is an extra: other wires have lists of settings
};

impl WireFormat for Cohere {
    fn id(&self) -> &'static str {
        NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["cohere-v2", "cohere_chat"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        // Requests look like chat completions but for names that only this wire has.
        let root = doc.root();
        let telling = ["p", "k", "documents", "safety_mode", "strict_tools", "stop_sequences"];
        doc.get(root, "messages").is_some() && telling.iter().any(|key| doc.get(root, key).is_some())
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let get = |key| doc.get(doc.root(), key);
        let mut head = Head::default();
        head.model = get("model").and_then(|n| doc.json_str(n));
        head.stream = get("stream").and_then(|n| doc.bool(n)).unwrap_or(false);
        head.max_output = get("max_tokens").and_then(|n| doc.integer(n));
        head
    }

    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError> {
        closed(doc, self.head(doc))
    }

    fn read_request<'d>(&self, doc: &'d Doc) -> Result<Read<Request<'d>>, WireError> {
        request::read(doc)
    }

    fn write(&self, request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
        write::write(request, cx)
    }

    fn read_reply<'d>(&self, doc: &'d Doc) -> Result<Read<Reply<'d>>, WireError> {
        reply::read(doc)
    }

    fn write_reply(&self, reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
        reply::write(reply, cx)
    }

    /// `{"id", "message"}`.
    fn write_error(&self, error: &ErrorBody) -> Bytes {
        let mut out = JsonWriter::default();
        out.object();
        if let Some(id) = &error.request_id {
            out.key("id").text(id);
        }
        out.key("message").text(&error.message);
        if let Some(code) = &error.code {
            out.key("code").text(code);
        }
        out.end_object();
        out.finish().into()
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        Some(Box::new(SseReader::new(stream::ChatDecoder::default())))
    }

    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        Some(Box::new(encode::ChatWriter::new(cx)))
    }
}

#[cfg(test)]
mod tests {
    use super::PARAMS;
    use crate::wires::table_tests::check;

    #[test]
    fn the_table_says_what_the_matrix_says() {
        check(&PARAMS);
    }
}
