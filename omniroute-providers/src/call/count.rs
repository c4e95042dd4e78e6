//! Bodies that ask how many tokens a request has, as each vendor wants them.

use bytes::Bytes;
use omniroute_core::wire::JsonWriter;
use omniroute_core::wire::WireError;
use omniroute_core::{Doc, Failure};

use super::steps::refused;
use crate::data::WireId;

/// What Anthropic counts; any other member of a request is refused there.
const ANTHROPIC: [&str; 10] = [
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "context_management",
    "cache_control",
    "mcp_servers",
];

/// The body that has `request` counted. Other wires take a request as it is.
///
/// # Errors
/// [`Failure`] if the request is no JSON object.
pub(super) fn body(request: Bytes, wire: WireId, model: &str, vertex: bool) -> Result<Bytes, Failure> {
    let parsed = || {
        let doc = Doc::parse_with_limit(request.clone(), usize::MAX);
        doc.map_err(|error| refused(WireError::Shape(error)))
    };
    let mut out = JsonWriter::default();
    match wire {
        WireId::AnthropicMessages => {
            let doc = parsed()?;
            out.object().key("model").text(model);
            members(&doc, |name| ANTHROPIC.contains(&name), &mut out);
            out.end_object();
        }
        // The public interface counts instructions and tools only inside a whole request, which names its model.
        WireId::Gemini if !vertex => {
            let doc = parsed()?;
            let name = format!("models/{}", model.strip_prefix("models/").unwrap_or(model));
            out.object().key("generateContentRequest").object().key("model").text(&name);
            members(&doc, |name| name != "model", &mut out);
            out.end_object().end_object();
        }
        WireId::BedrockConverse => {
            let doc = parsed()?;
            out.object().key("input").object().key("converse").object();
            members(&doc, |name| matches!(name, "messages" | "system" | "toolConfig"), &mut out);
            out.end_object().end_object().end_object();
        }
        _ => return Ok(request),
    }
    Ok(out.finish().into())
}

fn members(doc: &Doc, wanted: impl Fn(&str) -> bool, out: &mut JsonWriter) {
    for (key, value) in doc.members(doc.root()) {
        if let Some(name) = doc.str(key).filter(|name| wanted(name)) {
            out.key(&name).raw(doc.raw(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_becomes_what_is_counted() {
        let request = r#"{"model":"x","max_tokens":9,"stream":true,"system":"s","messages":[{"role":"user","content":"caf\u00e9"}]}"#;
        let text = |wire, vertex| {
            let body = body(Bytes::from_static(request.as_bytes()), wire, "m-1", vertex).unwrap();
            String::from_utf8(body.to_vec()).unwrap()
        };
        assert_eq!(
            text(WireId::AnthropicMessages, false),
            r#"{"model":"m-1","system":"s","messages":[{"role":"user","content":"caf\u00e9"}]}"#
        );
        let gemini = text(WireId::Gemini, false);
        assert!(
            gemini.starts_with(r#"{"generateContentRequest":{"model":"models/m-1","max_tokens":9"#),
            "{gemini}"
        );
        assert_eq!(text(WireId::Gemini, true), request);
        assert!(
            text(WireId::BedrockConverse, false)
                .starts_with(r#"{"input":{"converse":{"system":"s","messages""#)
        );
        assert!(body(Bytes::from_static(b"[]x"), WireId::Gemini, "m", false).is_err());
    }
}
