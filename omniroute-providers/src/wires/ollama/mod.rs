//! Ollama's `/api/chat`: `{"model", "messages": [{"role", "content", "images", "tool_calls"}], "options"}`.
//! Calls have no ids in requests, and streams are lines of JSON.

mod encode;
mod lines;
mod message;
mod reply;
mod request;
mod stream;
mod turn;
mod write;

use bytes::Bytes;
use omniroute_core::hub::{ErrorBody, Param, Reply, Request, WriteContext};
use omniroute_core::wire::{
    Fate, JsonWriter, ParamTable, Read, StreamReader, StreamWriter, WireError, WireFormat, Written,
};
use omniroute_core::{Conversation, Doc, DocError, Head};

use super::common::closed;

const NAME: &str = "ollama";

#[derive(Debug)]
pub(super) struct Ollama;

/// Simple parameters: members of `options`, but for those that stand at the top.
const PARAMS: ParamTable = ParamTable {
    wire: NAME,
    rows: &[
        (Param::MaxOutput, Fate::Key("num_predict")),
        (Param::Temperature, Fate::Key("temperature")),
        (Param::TopP, Fate::Key("top_p")),
        (Param::TopK, Fate::Key("top_k")),
        (Param::MinP, Fate::Key("min_p")),
        (Param::RepetitionPenalty, Fate::Key("repeat_penalty")),
        (Param::TypicalP, Fate::Key("typical_p")),
        (Param::Stop, Fate::List("stop", usize::MAX)),
        (Param::Seed, Fate::Key("seed")),
        (Param::FrequencyPenalty, Fate::Key("frequency_penalty")),
        (Param::PresencePenalty, Fate::Key("presence_penalty")),
        (Param::LogitBias, Fate::Drop),
        (Param::Logprobs, Fate::Own),
        (Param::TopLogprobs, Fate::Own),
        (Param::Candidates, Fate::Incapable("unsupported_param")),
        (Param::User, Fate::Drop),
        (Param::ParallelTools, Fate::Drop),
        (Param::ServiceTier, Fate::Drop),
        (Param::Speed, Fate::Drop),
        (Param::CacheKey, Fate::Silent),
        (Param::CacheRetention, Fate::Silent),
        (Param::CacheOptions, Fate::Silent),
        (Param::CachedContent, Fate::Incapable("unsupported_param")),
        (Param::KeepAlive, Fate::Own),
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
        (Param::SafetySettings, Fate::Drop),
        (Param::MediaResolution, Fate::Drop),
        (Param::SpeechConfig, Fate::Drop),
        (Param::ContextManagement, Fate::Incapable("unsupported_param")),
        (Param::Documents, Fate::Incapable("unsupported_param")),
    ],
    also: &[],
};

/// Those that stand beside `options`.
const TOP: [(Param, &str); 3] =
    [(Param::Logprobs, "logprobs"), (Param::TopLogprobs, "top_logprobs"), (Param::KeepAlive, "keep_alive")];

impl WireFormat for Ollama {
    fn id(&self) -> &'static str {
        NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["ollama-chat", "ollama_chat"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        // Requests look like chat completions but for names that only this wire has.
        let root = doc.root();
        let telling = ["options", "keep_alive", "think", "format"];
        doc.get(root, "messages").is_some() && telling.iter().any(|key| doc.get(root, key).is_some())
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let get = |key| doc.get(doc.root(), key);
        let mut head = Head::default();
        head.model = get("model").and_then(|n| doc.json_str(n));
        head.stream = get("stream").and_then(|n| doc.bool(n)).unwrap_or(true);
        head.max_output = get("options").and_then(|o| doc.get(o, "num_predict")).and_then(|n| doc.integer(n));
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

    /// `{"error": "..."}`
    fn write_error(&self, error: &ErrorBody) -> Bytes {
        let mut out = JsonWriter::default();
        out.object().key("error").text(&error.message).end_object();
        out.finish().into()
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        Some(Box::new(lines::LineReader::default()))
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
