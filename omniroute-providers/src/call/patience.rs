//! How long the first content may take: long requests are read for longer.

use std::time::Duration;

use omniroute_core::{ChatRequest, Doc, NodeId};

use crate::data::WireId;

/// Nothing makes the usual wait longer than this.
const MOST: Duration = Duration::from_secs(180);

/// The limit for the first content of a streamed answer: `base`, and more for what takes a host time, up to 180 s. A
/// limit that is switched off stays so, and a longer one stays as it is.
pub(super) fn first_event(base: Duration, request: &ChatRequest, wire: WireId, own_host: bool) -> Duration {
    if base.is_zero() {
        return base;
    }
    let doc = request.doc();
    let root = doc.root();
    let list = |name| doc.get(root, name).map_or(0, |node| doc.elements(node).count());
    let turns = ["messages", "contents", "input"].into_iter().map(list).max().unwrap_or(0);
    let more = match turns {
        401.. => 45,
        151.. => 20,
        _ => 0,
    };
    let more = more + if tools(doc, root) >= 15 { 15 } else { 0 };
    let more = more
        + match doc.bytes().len() {
            750_001.. => 45,
            250_001.. => 20,
            _ => 0,
        };
    let more = more + if thinks_hard(doc, root) { 30 } else { 0 };
    let foreign = wire == WireId::AnthropicMessages && !own_host;
    let more = more + if foreign { 30 } else { 0 };
    (base + Duration::from_secs(more)).min(MOST.max(base))
}

fn tools(doc: &Doc, root: NodeId) -> usize {
    let config = doc.get(root, "toolConfig").and_then(|config| doc.get(config, "tools"));
    let Some(list) = doc.get(root, "tools").or(config) else { return 0 };
    let declared = |tool| {
        let inner = doc.get(tool, "functionDeclarations").or_else(|| doc.get(tool, "function_declarations"));
        inner.map_or(1, |inner| doc.elements(inner).count())
    };
    doc.elements(list).map(declared).sum()
}

fn thinks_hard(doc: &Doc, root: NodeId) -> bool {
    let inside = |object, name| doc.get(root, object).and_then(|node| doc.get(node, name));
    let effort = doc.get(root, "reasoning_effort").or_else(|| inside("reasoning", "effort"));
    let effort = effort.or_else(|| inside("output_config", "effort")).and_then(|node| doc.json_str(node));
    effort.is_some_and(|effort| ["high", "xhigh", "max"].iter().any(|word| effort.is(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use omniroute_core::wire;

    #[test]
    fn long_requests_get_more_time() {
        let turn = r#"{"role":"user","content":"hi"},"#;
        let tool = r#"{"type":"function","function":{"name":"f"}},"#;
        let body = |turns: usize, tools: usize, pad: usize, rest: &str| {
            let (turns, tools) = (turn.repeat(turns), tool.repeat(tools));
            let (turns, tools) = (turns.trim_end_matches(','), tools.trim_end_matches(','));
            format!(r#"{{"messages":[{turns}],"tools":[{tools}],"user":"{}"{rest}}}"#, "x".repeat(pad))
        };
        let high = r#","reasoning_effort":"high""#;
        let cases = [
            (body(2, 2, 0, ""), WireId::OpenaiChat, true, 80),
            (body(151, 14, 0, ""), WireId::OpenaiChat, true, 100),
            (body(401, 15, 0, ""), WireId::OpenaiChat, true, 140),
            (body(1, 0, 260_000, ""), WireId::OpenaiChat, true, 100),
            (body(1, 0, 760_000, high), WireId::OpenaiChat, true, 155),
            (body(1, 0, 0, ""), WireId::AnthropicMessages, true, 80),
            (body(1, 0, 0, ""), WireId::AnthropicMessages, false, 110),
            (body(401, 20, 760_000, high), WireId::AnthropicMessages, false, 180),
        ];
        for (body, wire_id, own, seconds) in cases {
            let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
            let given = |base| first_event(Duration::from_secs(base), &request, wire_id, own).as_secs();
            assert_eq!(given(80), seconds);
            assert_eq!((given(0), given(600)), (0, 600), "what the user set stays");
        }
        let gemini = r#"{"contents":[],"tools":[{"functionDeclarations":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}]}"#;
        let request = ChatRequest::parse(wire::GEMINI, gemini).unwrap();
        assert_eq!(first_event(Duration::from_secs(80), &request, WireId::Gemini, true).as_secs(), 95);
    }
}
