//! Keys of the memo: digests over everything that a result depends on.

use omniroute_core::{ChatRequest, Segment, SegmentKind, Transcript};
use sha2::{Digest, Sha256};

use super::is_chained;
use crate::memo::Key;

/// Start of every key: tenant, plan, counter, wire, session (engines are told it), and what else is so of the whole
/// call. Two tenants never share a key.
pub(super) fn seed(request: &ChatRequest, fingerprint: &[u8; 32], so: &[bool]) -> Key {
    let mut hash = Sha256::new();
    field(&mut hash, request.principal().as_str().as_bytes());
    field(&mut hash, fingerprint);
    field(&mut hash, request.wire().id().as_bytes());
    field(&mut hash, request.session().map_or("", |s| s.as_str()).as_bytes());
    so.iter().for_each(|so| hash.update([u8::from(*so)]));
    hash.finalize().into()
}

/// The key of a text under what a digest stands for, from its key without it.
pub(super) fn join(key: &Key, digest: &Key) -> Key {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(digest);
    hash.finalize().into()
}

/// The key of a text that is so at this place of the request only.
pub(super) fn at(key: &Key, index: usize) -> Key {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update((index as u64).to_le_bytes());
    hash.finalize().into()
}

/// One key a segment. For tool calls and results it covers all segments before, which engines may look at; other
/// texts are worked on without a look at their neighbours, so their key covers just themselves.
pub(super) fn of(transcript: &Transcript<'_>, seed: &Key) -> Vec<Key> {
    let mut chain = *seed;
    let key = |segment: &Segment<'_>| {
        let mut hash = Sha256::new();
        if is_chained(segment.kind) {
            hash.update(chain);
            link(&mut hash, segment);
            field(&mut hash, segment.raw());
            chain = hash.finalize().into();
            return chain;
        }
        hash.update(seed);
        hash.update([segment.kind as u8, u8::from(segment.frozen.is_some())]);
        field(&mut hash, segment.raw());
        let own: Key = hash.finalize().into();
        let mut hash = Sha256::new();
        hash.update(chain);
        link(&mut hash, segment);
        hash.update(own);
        chain = hash.finalize().into();
        own
    };
    transcript.segments().iter().map(key).collect()
}

/// What else a result depends on, beside its text and the texts before it.
fn link(hash: &mut Sha256, segment: &Segment<'_>) {
    hash.update([segment.kind as u8, u8::from(segment.is_error), u8::from(segment.frozen.is_some())]);
    for n in [segment.id.message, segment.id.block, segment.id.part] {
        hash.update(n.to_le_bytes());
    }
    hash.update(segment.call.map_or(u64::MAX, |c| c as u64).to_le_bytes());
    hash.update(segment.wire_exit_code().map_or(i64::MAX, i64::from).to_le_bytes());
    if segment.kind == SegmentKind::ToolCall {
        field(hash, segment.tool_name().unwrap_or_default().as_bytes());
    }
}

/// Length first, so that two fields cannot run into each other.
pub(super) fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// SHA-256 of a text, in hex.
pub(crate) fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Engines are told the session, so it is part of every key.
    #[test]
    fn sessions_never_share_a_key() {
        use omniroute_core::{SessionId, wire};
        let body = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
        let named = |name: &str| request.clone().with_session(SessionId::new(name));
        let key = |request: &ChatRequest| seed(request, &[0; 32], &[false]);
        assert_eq!(key(&named("a")), key(&named("a")));
        assert_ne!(key(&named("a")), key(&named("b")));
        assert_ne!(key(&named("a")), key(&request));
    }
}
