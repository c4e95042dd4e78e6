//! A request that a host refused for a reason it names, made acceptable: another name of the limit, a parameter less,
//! reasoning of an earlier turn left out. Who calls it sends the result once, at once.

use bytes::Bytes;
use omniroute_core::{Diagnostic, Doc, Failure, NodeId, Patch};

use super::body::key;
use super::lessons::Lesson;
use crate::data::WireId;

/// Parameters that some models serve at their default alone.
const SAMPLING: [&str; 5] = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias"];

/// What Google documents in place of a signature that cannot be had.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Correction {
    /// A habit of the host, worth remembering.
    Lesson(Lesson),
    /// Reasoning of earlier turns is left out: the host cannot read its seals.
    NoReasoning,
}

/// What a refusal asks for, if it says so.
pub(super) fn asked(failure: &Failure, wire: WireId) -> Option<Correction> {
    if !matches!(failure.status, Some(400 | 422)) {
        return None;
    }
    let said = failure.message.to_ascii_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let of_thinking = any(&["signature"]) && any(&["thinking", "thought", "reasoning"]);
    if of_thinking || any(&["encrypted content", "encrypted_content"]) {
        return Some(Correction::NoReasoning);
    }
    let refused =
        any(&["not support", "unsupported", "unrecognized", "unknown", "not permitted", "only the default"]);
    if !refused {
        return None;
    }
    let lesson = if let Some(name) = SAMPLING.iter().find(|name| said.contains(**name)) {
        Lesson::Without(name)
    } else {
        match (said.rfind("max_completion_tokens"), said.rfind("max_tokens")) {
            // The one that is told instead is named last; alone it is the refused one.
            (Some(new), Some(old)) if new < old => Lesson::MaxTokens,
            (_, Some(_)) => Lesson::MaxCompletionTokens,
            (Some(_), None) => Lesson::MaxTokens,
            (None, None) => return None,
        }
    };
    lesson.is_of(wire).then_some(Correction::Lesson(lesson))
}

/// The changed body and a remark; `None` if there is nothing to change.
pub(super) fn apply(correction: Correction, body: &Bytes, wire: WireId) -> Option<(Bytes, Diagnostic)> {
    if matches!(correction, Correction::Lesson(lesson) if !lesson.is_of(wire)) {
        return None;
    }
    let doc = Doc::parse_with_limit(body.clone(), usize::MAX).ok()?;
    let mut patch = Patch::new();
    let note = match correction {
        Correction::Lesson(Lesson::MaxCompletionTokens) => {
            rename(&doc, &mut patch, "max_tokens", "max_completion_tokens")?
        }
        Correction::Lesson(Lesson::MaxTokens) => {
            rename(&doc, &mut patch, "max_completion_tokens", "max_tokens")?
        }
        Correction::Lesson(Lesson::Without(name)) => {
            patch.remove(key(&doc, doc.root(), name)?);
            let action = "not sent: the target serves its default alone";
            Diagnostic::new("param_dropped", format!("/{name}"), action)
        }
        Correction::NoReasoning => {
            strip(&doc, &mut patch, wire);
            if patch.is_empty() {
                return None;
            }
            let action = "reasoning of earlier turns left out: the target does not accept its signatures";
            Diagnostic::new("signature_rectified", "", action)
        }
    };
    Some((doc.splice(&patch).ok()?, note))
}

fn rename(doc: &Doc, patch: &mut Patch, old: &'static str, new: &'static str) -> Option<Diagnostic> {
    let old_key = key(doc, doc.root(), old)?;
    let value = doc.get(doc.root(), old)?;
    patch.remove(old_key);
    if doc.get(doc.root(), new).is_none() {
        patch.push_member(doc.root(), new, doc.raw(value)).ok()?;
    }
    Some(Diagnostic::new(
        "param_renamed",
        format!("/{old}"),
        format!("sent as {new}: the target wants that name"),
    ))
}

/// Takes the reasoning out of earlier turns.
fn strip(doc: &Doc, patch: &mut Patch, wire: WireId) {
    let is = |node: NodeId, name: &str, words: &[&str]| {
        let value = doc.get(node, name).and_then(|n| doc.json_str(n));
        value.is_some_and(|value| words.iter().any(|word| value.is(word)))
    };
    let root = doc.root();
    let list = |name| doc.get(root, name).into_iter().flat_map(|node| doc.elements(node));
    match wire {
        WireId::AnthropicMessages => {
            let thinks = |part| is(part, "type", &["thinking", "redacted_thinking"]);
            let before = patch.len();
            list("messages").for_each(|turn| remove_parts(doc, patch, turn, "content", &thinks));
            // A call without its reasoning is refused while thinking by a budget is on.
            let last = list("messages").filter(|turn| is(*turn, "role", &["assistant"])).last();
            let calls = last
                .and_then(|turn| doc.get(turn, "content"))
                .is_some_and(|content| doc.elements(content).any(|part| is(part, "type", &["tool_use"])));
            if let Some(thinking) = doc.get(root, "thinking").filter(|t| is(*t, "type", &["enabled"]))
                && calls
                && patch.len() > before
            {
                let _ = patch.set_json(thinking, r#"{"type":"disabled"}"#);
            }
        }
        WireId::BedrockConverse => {
            let thinks = |part| doc.get(part, "reasoningContent").is_some();
            list("messages").for_each(|turn| remove_parts(doc, patch, turn, "content", &thinks));
        }
        WireId::Gemini => {
            for turn in list("contents") {
                let thought = |part| doc.get(part, "thought").and_then(|n| doc.bool(n)) == Some(true);
                let parts = doc.get(turn, "parts").into_iter().flat_map(|node| doc.elements(node));
                for part in parts.filter(|part| !thought(*part)) {
                    for name in ["thoughtSignature", "thought_signature"] {
                        let Some(found) = key(doc, part, name) else { continue };
                        match doc.get(part, name) {
                            // Calls must carry one; a value that is ours already was refused too.
                            Some(value) if doc.get(part, "functionCall").is_some() => {
                                if !doc.json_str(value).is_some_and(|v| v.is(NO_SIGNATURE)) {
                                    patch.set_str(value, NO_SIGNATURE);
                                }
                            }
                            _ => patch.remove(found),
                        }
                    }
                }
                remove_parts(doc, patch, turn, "parts", &thought);
            }
        }
        WireId::OpenaiResponses => {
            list("input")
                .filter(|item| is(*item, "type", &["reasoning"]))
                .for_each(|item| patch.remove(item));
        }
        WireId::OpenaiChat => {
            let names = ["reasoning_details", "reasoning_content", "reasoning"];
            for turn in list("messages") {
                names.iter().filter_map(|name| key(doc, turn, name)).for_each(|key| patch.remove(key));
            }
        }
        _ => {}
    }
}

/// Removes the parts that fit; a turn of nothing else goes as a whole.
fn remove_parts(doc: &Doc, patch: &mut Patch, turn: NodeId, name: &str, fits: &dyn Fn(NodeId) -> bool) {
    let Some(list) = doc.get(turn, name) else { return };
    let (gone, kept): (Vec<NodeId>, Vec<NodeId>) = doc.elements(list).partition(|part| fits(*part));
    if kept.is_empty() && !gone.is_empty() {
        patch.remove(turn);
        return;
    }
    gone.into_iter().for_each(|part| patch.remove(part));
}

#[cfg(test)]
mod tests {
    use super::*;
    use omniroute_core::{FailureKind, Scope};

    fn refusal(status: u16, message: &str) -> Failure {
        let mut failure = Failure::new(FailureKind::Unsupported, Scope::Request, message);
        failure.status = Some(status);
        failure
    }

    #[test]
    fn refusals_say_what_they_want() {
        let chat = WireId::OpenaiChat;
        let lesson = |lesson| Some(Correction::Lesson(lesson));
        let cases = [
            (
                chat,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                lesson(Lesson::MaxCompletionTokens),
            ),
            (
                chat,
                "Unrecognized request argument supplied: max_completion_tokens",
                lesson(Lesson::MaxTokens),
            ),
            (chat, "max_completion_tokens is not supported, use max_tokens", lesson(Lesson::MaxTokens)),
            (
                chat,
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
                lesson(Lesson::Without("temperature")),
            ),
            (
                chat,
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
                None,
            ),
            (
                WireId::AnthropicMessages,
                "messages.1.content.0: Invalid `signature` in `thinking` block",
                Some(Correction::NoReasoning),
            ),
            (
                WireId::Gemini,
                "Function call is missing a thought_signature in functionCall parts",
                Some(Correction::NoReasoning),
            ),
            (
                WireId::OpenaiResponses,
                "The encrypted content for item rs_1 could not be verified.",
                Some(Correction::NoReasoning),
            ),
            (WireId::AnthropicMessages, "max_tokens: unknown", None),
            (chat, "Invalid signature of the webhook", None),
        ];
        for (wire, message, wanted) in cases {
            assert_eq!(asked(&refusal(400, message), wire), wanted, "{message}");
            assert_eq!(asked(&refusal(401, message), wire), None, "{message}");
        }
    }

    #[test]
    fn only_what_was_asked_for_changes() {
        let changed = |wire, correction, body: &str| {
            let (body, _) = apply(correction, &Bytes::copy_from_slice(body.as_bytes()), wire)?;
            Some(String::from_utf8(body.to_vec()).unwrap())
        };
        let none = Correction::NoReasoning;
        let cases = [
            (
                WireId::OpenaiChat,
                Correction::Lesson(Lesson::MaxCompletionTokens),
                r#"{"model":"m","max_tokens": 5.0,"messages":[]}"#,
                Some(r#"{"model":"m","messages":[],"max_completion_tokens":5.0}"#),
            ),
            (
                WireId::OpenaiChat,
                Correction::Lesson(Lesson::Without("top_p")),
                r#"{"top_p":1,"n":1}"#,
                Some(r#"{"n":1}"#),
            ),
            (WireId::OpenaiChat, Correction::Lesson(Lesson::Without("top_p")), r#"{"n":1}"#, None),
            // The last member leaves and another comes in its place.
            (
                WireId::OpenaiChat,
                Correction::Lesson(Lesson::MaxTokens),
                r#"{"messages":[],"max_completion_tokens":5}"#,
                Some(r#"{"messages":[],"max_tokens":5}"#),
            ),
            // A connection may be spoken to on several wires: what one of them taught is not said of another.
            (
                WireId::AnthropicMessages,
                Correction::Lesson(Lesson::MaxCompletionTokens),
                r#"{"max_tokens":5,"messages":[]}"#,
                None,
            ),
            (
                WireId::Cohere,
                Correction::Lesson(Lesson::Without("temperature")),
                r#"{"temperature":1}"#,
                None,
            ),
            (
                WireId::AnthropicMessages,
                none,
                r#"{"thinking":{"type":"enabled","budget_tokens":9},"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"}]}]}"#,
                Some(
                    r#"{"thinking":{"type":"enabled","budget_tokens":9},"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}"#,
                ),
            ),
            (
                WireId::Gemini,
                none,
                r#"{"contents":[{"parts":[{"text":"t","thought":true},{"text":"a","thoughtSignature":"x"},{"functionCall":{"name":"f"},"thoughtSignature":"y"}]}]}"#,
                Some(
                    r#"{"contents":[{"parts":[{"text":"a"},{"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"}]}]}"#,
                ),
            ),
            (
                WireId::OpenaiResponses,
                none,
                r#"{"input":[{"type":"reasoning","id":"r","encrypted_content":"e"},{"role":"user","content":"hi"}]}"#,
                Some(r#"{"input":[{"role":"user","content":"hi"}]}"#),
            ),
            (WireId::OpenaiChat, none, r#"{"messages":[{"role":"user","content":"thinking"}]}"#, None),
        ];
        for (wire, correction, body, wanted) in cases {
            assert_eq!(changed(wire, correction, body).as_deref(), wanted, "{body}");
        }
    }
}
