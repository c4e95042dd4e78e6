//! Small edits of a finished body: the stream flag, and what clouds want changed in another vendor's wire.

use bytes::Bytes;
use omniroute_core::wire::WireError;
use omniroute_core::{Doc, DocError, Failure, NodeId, Patch};

use super::steps::refused;
use crate::data::{ProviderRow, WireId};
use crate::prepare::is_vertex;

/// The version that Google's cloud names for Anthropic's messages.
const VERTEX_VERSION: &str = "\"vertex-2023-10-16\"";

/// The same request with another stream flag. Two wires say it in the address: their bodies stay. With `ask_usage` the
/// wire that tells usage in a stream on demand only is asked for it.
///
/// # Errors
/// [`Failure`] if the body cannot be edited.
pub(super) fn with_stream(
    body: Bytes,
    wire: WireId,
    stream: bool,
    ask_usage: bool,
) -> Result<Bytes, Failure> {
    if matches!(wire, WireId::Gemini | WireId::BedrockConverse) {
        return Ok(body);
    }
    edited(body, |doc, patch| {
        let flag = if stream { "true" } else { "false" };
        match doc.get(doc.root(), "stream") {
            Some(node) => patch.set_json(node, flag)?,
            None => patch.push_member(doc.root(), "stream", flag)?,
        }
        let asks = ask_usage && wire == WireId::OpenaiChat;
        if asks && doc.get(doc.root(), "stream_options").is_none() {
            patch.push_member(doc.root(), "stream_options", r#"{"include_usage":true}"#)?;
        }
        Ok(())
    })
}

/// The same request as the cloud wants it: Google's takes Anthropic's messages with the model in the address alone
/// and the version in the body.
///
/// # Errors
/// [`Failure`] if the body cannot be edited.
pub(super) fn for_cloud(body: Bytes, row: &ProviderRow<'_>, wire: WireId) -> Result<Bytes, Failure> {
    if !(is_vertex(row) && wire == WireId::AnthropicMessages) {
        return Ok(body);
    }
    edited(body, |doc, patch| {
        key(doc, doc.root(), "model").into_iter().for_each(|key| patch.remove(key));
        match doc.get(doc.root(), "anthropic_version") {
            Some(_) => Ok(()),
            None => patch.push_member(doc.root(), "anthropic_version", VERTEX_VERSION),
        }
    })
}

/// The key of a member, which is what is removed.
pub(super) fn key(doc: &Doc, object: NodeId, name: &str) -> Option<NodeId> {
    doc.members(object).map(|(key, _)| key).find(|key| doc.json_str(*key).is_some_and(|k| k.is(name)))
}

fn edited(
    body: Bytes,
    edit: impl FnOnce(&Doc, &mut Patch) -> Result<(), DocError>,
) -> Result<Bytes, Failure> {
    let doc = Doc::parse_with_limit(body, usize::MAX).map_err(|error| refused(WireError::Shape(error)))?;
    let mut patch = Patch::new();
    edit(&doc, &mut patch).map_err(|error| refused(WireError::Shape(error)))?;
    let bad =
        |error: omniroute_core::PatchError| refused(WireError::invalid("bad_edit", "", error.to_string()));
    doc.splice(&patch).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    #[test]
    fn only_what_has_to_change_changes() {
        let body = Bytes::from_static(br#"{"model":"m", "stream": false,"messages":[]}"#);
        let flagged = with_stream(body.clone(), WireId::OpenaiChat, true, false).unwrap();
        assert_eq!(flagged, &br#"{"model":"m", "stream": true,"messages":[]}"#[..]);
        assert_eq!(with_stream(body.clone(), WireId::Gemini, true, true).unwrap(), body);
        let added = with_stream(Bytes::from_static(b"{}"), WireId::Cohere, true, true).unwrap();
        assert_eq!(added, &br#"{"stream":true}"#[..]);
        for (body, wanted) in [
            ("{}", r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            (r#"{"stream_options":null}"#, r#"{"stream_options":null,"stream":true}"#),
        ] {
            let asked = with_stream(body.into(), WireId::OpenaiChat, true, true).unwrap();
            assert_eq!(asked, wanted, "what the client says of it stays");
        }

        let catalog = Catalog::embedded();
        let row = catalog.provider("vertex-partner").unwrap();
        let cloud = for_cloud(body.clone(), &row, WireId::AnthropicMessages).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&cloud).unwrap();
        let wanted =
            serde_json::json!({"stream": false, "messages": [], "anthropic_version": "vertex-2023-10-16"});
        assert_eq!(value, wanted);
        assert_eq!(for_cloud(body.clone(), &row, WireId::OpenaiChat).unwrap(), body);
    }
}
