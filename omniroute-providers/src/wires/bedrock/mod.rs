//! Amazon Bedrock `Converse`: `{"messages": [{"role", "content": [..]}], "system", "inferenceConfig", "toolConfig"}`.
//! Model and stream stand in the address; streams are binary frames with checksums.

mod blocks;
mod encode;
mod frames;
mod media;
mod order;
mod reader;
mod reply;
mod request;
mod stream;
mod thinking;
mod turn;
mod write;

use bytes::Bytes;
use omniroute_core::hub::{ErrorBody, Param, Reply, Request, WriteContext};
use omniroute_core::wire::read::{chars, error_body};
use omniroute_core::wire::{
    Fate, JsonWriter, ParamTable, Read, StreamReader, StreamWriter, WireError, WireFormat, Written,
};
use omniroute_core::{Conversation, Doc, DocError, Head};

use super::common::closed;

const NAME: &str = "bedrock-converse";

#[derive(Debug)]
pub(super) struct BedrockConverse;

/// Simple parameters: members of `inferenceConfig`, but for those that stand elsewhere.
const PARAMS: ParamTable = ParamTable {
    wire: NAME,
    rows: &[
        (Param::MaxOutput, Fate::Key("maxTokens")),
        (Param::Temperature, Fate::Clamp("temperature", "0", "1")),
        (Param::TopP, Fate::Key("topP")),
        (Param::TopK, Fate::Own),
        (Param::MinP, Fate::Drop),
        (Param::RepetitionPenalty, Fate::Drop),
        (Param::TypicalP, Fate::Drop),
        (Param::Stop, Fate::List("stopSequences", 4)),
        (Param::Seed, Fate::Drop),
        (Param::FrequencyPenalty, Fate::Drop),
        (Param::PresencePenalty, Fate::Drop),
        (Param::LogitBias, Fate::Drop),
        (Param::Logprobs, Fate::Drop),
        (Param::TopLogprobs, Fate::Drop),
        (Param::Candidates, Fate::Incapable("unsupported_param")),
        (Param::User, Fate::Own),
        (Param::ParallelTools, Fate::Drop),
        (Param::ServiceTier, Fate::Own),
        (Param::Speed, Fate::Drop),
        (Param::CacheKey, Fate::Silent),
        (Param::CacheRetention, Fate::Silent),
        (Param::CacheOptions, Fate::Silent),
        (Param::CachedContent, Fate::Incapable("unsupported_param")),
        (Param::KeepAlive, Fate::Silent),
        (Param::Metadata, Fate::Own),
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
        (Param::Documents, Fate::Incapable("unsupported_param")),
    ],
    also: &[],
};

impl WireFormat for BedrockConverse {
    fn id(&self) -> &'static str {
        NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["bedrock", "converse", "bedrock_converse"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        let root = doc.root();
        let telling = ["inferenceConfig", "toolConfig", "additionalModelRequestFields", "guardrailConfig"];
        doc.get(root, "messages").is_some() && telling.iter().any(|key| doc.get(root, key).is_some())
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let config = doc.get(doc.root(), "inferenceConfig");
        let mut head = Head::default();
        head.max_output = config.and_then(|c| doc.get(c, "maxTokens")).and_then(|n| doc.integer(n));
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

    /// `{"message"}` or `{"Message"}`; the type stands in a header.
    fn read_error(&self, status: u16, body: &[u8]) -> ErrorBody {
        let mut error = error_body(status, body);
        if let Ok(doc) = Doc::parse(Bytes::copy_from_slice(body))
            && let Some(message) = chars(&doc, doc.get(doc.root(), "Message"))
        {
            error.message = message.chars().take(ErrorBody::MAX / 4).collect();
        }
        error
    }

    fn write_error(&self, error: &ErrorBody) -> Bytes {
        let mut out = JsonWriter::default();
        out.object().key("message").text(&error.message);
        if let Some(kind) = &error.kind {
            out.key("__type").text(kind);
        }
        out.end_object();
        out.finish().into()
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        Some(Box::new(reader::FrameReader::default()))
    }

    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        Some(Box::new(encode::FrameWriter::new(cx)))
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
