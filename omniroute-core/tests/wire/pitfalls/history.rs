//! Histories: calls and results, reasoning and its seals, what may stand where.

use omniroute_core::hub::{ReasoningStyle, WriteContext};
use omniroute_core::wire::{ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRES, by_id, translate};
use omniroute_core::{ChatRequest, Doc};
use serde_json::{Value, json};

use super::sent;

fn parallel() -> Value {
    let call = |id: &str, city: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": format!("{{\"city\":\"{city}\"}}")}});
    json!({"model": "m", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo and Rome?"},
        {"role": "assistant", "content": null, "tool_calls": [call("call_a", "Oslo"), call("call_b", "Rome")]},
        {"role": "tool", "tool_call_id": "call_b", "content": "{\"c\":24}"},
        {"role": "tool", "tool_call_id": "call_a", "content": "rain"}]})
}

/// One turn with two calls, as four wires write it: results in the order of the calls, all in one message.
#[test]
fn p07_results_of_one_message_stand_together() {
    let plain = WriteContext::default();
    let (found, codes) = sent(OPENAI_CHAT, ANTHROPIC, &parallel(), &plain);
    assert!(codes.is_empty(), "{codes:?}");
    assert_eq!(found["system"], json!([{"type": "text", "text": "Be brief."}]));
    let wanted = json!([
        {"role": "user", "content": "Weather in Oslo and Rome?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "call_a", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "call_b", "name": "weather", "input": {"city": "Rome"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_a", "content": "rain"},
            {"type": "tool_result", "tool_use_id": "call_b", "content": "{\"c\":24}"}]}]);
    assert_eq!(found["messages"], wanted);

    let (found, _) = sent(OPENAI_CHAT, GEMINI, &parallel(), &plain);
    assert_eq!(found["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
    let wanted = json!([
        {"role": "user", "parts": [{"text": "Weather in Oslo and Rome?"}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "call_a", "name": "weather", "args": {"city": "Oslo"}}},
            {"functionCall": {"id": "call_b", "name": "weather", "args": {"city": "Rome"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "call_a", "name": "weather", "response": {"output": "rain"}}},
            {"functionResponse": {"id": "call_b", "name": "weather", "response": {"c": 24}}}]}]);
    assert_eq!(found["contents"], wanted);

    let (found, _) = sent(OPENAI_CHAT, OPENAI_RESPONSES, &parallel(), &plain);
    assert_eq!(
        (&found["store"], &found["include"]),
        (&json!(false), &json!(["reasoning.encrypted_content"]))
    );
    let items = found["input"].as_array().unwrap();
    let outputs: Vec<_> = items.iter().filter(|i| i["type"] == "function_call_output").collect();
    let wanted = [("call_a", "rain"), ("call_b", "{\"c\":24}")];
    for (output, (id, text)) in outputs.iter().zip(wanted) {
        assert_eq!((&output["call_id"], &output["output"]), (&json!(id), &json!(text)));
    }
    assert_eq!(outputs.len(), 2);
}

#[test]
fn p08_histories_are_mended() {
    let mut body = parallel();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.remove(4);
    messages.push(json!({"role": "tool", "tool_call_id": "lost", "content": "found"}));
    messages.push(json!({"role": "user", "content": "Go on."}));
    for target in WIRES.iter().copied().filter(|w| *w != OPENAI_CHAT) {
        let (found, codes) = sent(OPENAI_CHAT, target, &body, &WriteContext::default());
        assert!(codes.contains(&"missing_result") && codes.contains(&"orphan_result"), "{codes:?}");
        let text = found.to_string();
        assert!(text.contains("no result was recorded for this call"), "{}", target.id());
        assert!(text.contains("[tool result without a call: lost]"), "{}", target.id());
    }
}

#[test]
fn p10_seals_are_never_made_up() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
        {"role": "user", "content": "on"}]});
    for target in [ANTHROPIC, GEMINI, OPENAI_RESPONSES] {
        let (found, codes) = sent(OPENAI_CHAT, target, &body, &WriteContext::default());
        let text = found.to_string();
        assert!(!text.contains("Hm.") && !text.contains("ignature"), "{}: {text}", target.id());
        assert!(codes.contains(&"reasoning_dropped"), "{}: {codes:?}", target.id());
    }
}

#[test]
fn p11_the_same_wire_keeps_every_byte() {
    let body = r#"{ "model":"a" , "max_tokens":9,"messages":[{"content":[{"type":"thinking","signature":"c2ln\u002bLw==","thinking":""},{"type":"text","text":"caf\u00e9 \/"}],"role":"assistant"}],"unknown":{"z":1.0,"a":1e2}}"#;
    let request = ChatRequest::parse(ANTHROPIC, body).unwrap();
    let mut cx = WriteContext::default();
    assert_eq!(translate(&request, ANTHROPIC, &cx).unwrap().body, body);
    cx.model = Some("b".into());
    assert_eq!(translate(&request, ANTHROPIC, &cx).unwrap().body, body.replace("\"a\" ,", "\"b\" ,"));
}

/// The seal of one vendor is not sent to another; what the vendor says then is for who calls it.
#[test]
fn p12_seals_go_to_their_issuer_alone() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2VhbA=="},
            {"type": "redacted_thinking", "data": "aGlkZGVu"},
            {"type": "text", "text": "Yes."}]},
        {"role": "user", "content": "on"}]});
    for target in [OPENAI_CHAT, GEMINI, OPENAI_RESPONSES] {
        let (found, codes) = sent(ANTHROPIC, target, &body, &WriteContext::default());
        let text = found.to_string();
        assert!(!text.contains("c2VhbA") && !text.contains("aGlkZGVu"), "{}: {text}", target.id());
        assert!(codes.contains(&"reasoning_dropped"), "{}: {codes:?}", target.id());
    }
}

fn seals_of(cx: &WriteContext, calls: Value) -> Vec<Option<String>> {
    let ids: Vec<_> = calls.as_array().unwrap().iter().map(|c| c["id"].clone()).collect();
    let mut messages = vec![
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
    ];
    messages.extend(ids.iter().map(|id| json!({"role": "tool", "tool_call_id": id, "content": "1"})));
    let (found, _) = sent(OPENAI_CHAT, GEMINI, &json!({"model": "m", "messages": messages}), cx);
    let parts = found["contents"][1]["parts"].as_array().unwrap().clone();
    parts.iter().map(|p| p["thoughtSignature"].as_str().map(str::to_owned)).collect()
}

fn call(id: &str, seal: Option<&str>) -> Value {
    let mut call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    if let Some(seal) = seal {
        call["extra_content"] = json!({"google": {"thought_signature": seal}});
    }
    call
}

const PLACEHOLDER: &str = "skip_thought_signature_validator";

#[test]
fn p13_calls_carry_their_seal_or_the_vendors_placeholder() {
    let mut cx = WriteContext::default();
    cx.caps.reasoning = Some(ReasoningStyle::Effort); // models that demand it
    assert_eq!(seals_of(&cx, json!([call("a", Some("c2VhbA=="))])), [Some("c2VhbA==".to_owned())]);
    assert_eq!(seals_of(&cx, json!([call("a", None)])), [Some(PLACEHOLDER.to_owned())]);
    assert_eq!(seals_of(&WriteContext::default(), json!([call("a", None)])), [None], "nobody else gets one");
}

#[test]
fn p14_only_the_first_call_of_a_step_is_signed() {
    let mut cx = WriteContext::default();
    cx.caps.reasoning = Some(ReasoningStyle::Effort);
    let found = seals_of(&cx, json!([call("a", Some("c2VhbA==")), call("b", None), call("c", None)]));
    assert_eq!(found, [Some("c2VhbA==".to_owned()), None, None]);
    let found = seals_of(&cx, json!([call("a", None), call("b", None)]));
    assert_eq!(found, [Some(PLACEHOLDER.to_owned()), None]);
}

#[test]
fn p18_hosts_that_want_reasoning_back_get_it_or_an_empty_text() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "2"}]}]});
    let mut cx = WriteContext::default();
    cx.quirks.repeat_reasoning = true;
    let (found, _) = sent(ANTHROPIC, OPENAI_CHAT, &body, &cx);
    let said: Vec<_> = [1, 3].map(|at| found["messages"][at]["reasoning_content"].clone()).into();
    assert_eq!(said, ["", "Hm."]);
    let (found, _) = sent(ANTHROPIC, OPENAI_CHAT, &body, &WriteContext::default());
    assert!(!found.to_string().contains("reasoning_content"), "others are not sent it");
}

#[test]
fn p35_images_of_results_are_shown_by_the_user() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "see"}, image]}]}]});
    let (found, codes) = sent(ANTHROPIC, OPENAI_CHAT, &body, &WriteContext::default());
    let messages = found["messages"].as_array().unwrap();
    assert_eq!(messages[2]["content"], "see");
    assert_eq!(messages[3]["role"], "user");
    assert_eq!(messages[3]["content"][0]["text"], "[attachments of tool result toolu_1]");
    assert_eq!(messages[3]["content"][1]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
    assert!(codes.contains(&"tool_result_media_moved"));
}

#[test]
fn p43_answers_are_begun_only_where_the_model_goes_on_from_them() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "I say: "}]});
    let mut cx = WriteContext::default();
    let (found, _) = sent(OPENAI_CHAT, ANTHROPIC, &body, &cx);
    assert_eq!(found["messages"][1]["content"], "I say:", "no white space at the end");
    cx.caps.prefill = Some(false);
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    assert_eq!(ANTHROPIC.write(&request, &cx).unwrap_err().code(), "prefill_unsupported");
    cx.options.lenient = true;
    let (found, codes) = sent(OPENAI_CHAT, ANTHROPIC, &body, &cx);
    assert_eq!(
        found["messages"][2],
        json!({"role": "user", "content": [{"type": "text", "text": "Continue."}]})
    );
    assert!(codes.contains(&"message_inserted"));
}

#[test]
fn p44_empty_texts_go_unless_they_are_signed() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "go"}]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "on"}]});
    let (found, _) = sent(OPENAI_CHAT, ANTHROPIC, &body, &WriteContext::default());
    let text = json!([{"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "text", "text": "on"}]}]);
    assert_eq!(found["messages"], text);
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"text": "Yes."}, {"text": "", "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"text": "on"}]}]});
    let (found, _) = sent(GEMINI, GEMINI, &body, &WriteContext::default());
    assert_eq!(found["contents"], body["contents"]);
}

#[test]
fn seals_of_another_vendor_come_back_through_the_clients_own_form() {
    let body = r#"{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Two lookups.","thought":true},{"functionCall":{"id":"call_a","name":"f","args":{}},"thoughtSignature":"c2Vh+Lw=="}]},"finishReason":"STOP"}],"responseId":"r"}"#;
    let gemini = by_id("gemini").unwrap();
    let doc = Doc::parse(body).unwrap();
    let reply = gemini.read_reply(&doc).unwrap().value;
    for (wire, wrap) in [
        (
            "anthropic-messages",
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}),
        ),
        ("openai-chat", json!({"model": "m", "messages": [{"role": "user", "content": "x"}]})),
        ("openai-responses", json!({"model": "m", "input": [{"role": "user", "content": "x"}]})),
    ] {
        let client = by_id(wire).unwrap();
        let told = client.write_reply(&reply, &WriteContext::default()).unwrap();
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        // The client sends back what it was told, and the result.
        let mut history = wrap.clone();
        match wire {
            "anthropic-messages" => {
                let messages = history["messages"].as_array_mut().unwrap();
                messages.push(json!({"role": "assistant", "content": told["content"]}));
                messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_a", "content": "1"}]}));
            }
            "openai-chat" => {
                let messages = history["messages"].as_array_mut().unwrap();
                messages.push(told["choices"][0]["message"].clone());
                messages.push(json!({"role": "tool", "tool_call_id": "call_a", "content": "1"}));
            }
            _ => {
                let input = history["input"].as_array_mut().unwrap();
                input.extend(told["output"].as_array().unwrap().iter().cloned());
                input.push(json!({"type": "function_call_output", "call_id": "call_a", "output": "1"}));
            }
        }
        let doc = Doc::parse(history.to_string()).unwrap();
        let request = client.read_request(&doc).unwrap().value;
        let written = gemini.write(&request, &WriteContext::default()).unwrap();
        let sent: Value = serde_json::from_slice(&written.body).unwrap();
        let parts = sent["contents"][1]["parts"].as_array().unwrap();
        let call = parts.iter().find(|p| p.get("functionCall").is_some()).unwrap();
        assert_eq!(call["thoughtSignature"], "c2Vh+Lw==", "{wire}: {sent}");
        // And nobody else is sent it.
        let other = ANTHROPIC.write(&request, &WriteContext::default()).unwrap();
        if client != ANTHROPIC {
            assert!(!String::from_utf8_lossy(&other.body).contains("omr1."), "{wire}");
        }
    }
}

/// A block that nobody knows stays in the message it stands in.
#[test]
fn unknown_blocks_stay_in_their_message() {
    let responses = by_id("openai-responses").unwrap();
    for content in
        [json!([{"type": "new_part"}]), json!([{"type": "input_text", "text": "x"}, {"type": "new_part"}])]
    {
        let message = json!({"type": "message", "role": "user", "content": content});
        let doc = Doc::parse(json!({"model": "m", "input": [message]}).to_string()).unwrap();
        let request = responses.read_request(&doc).unwrap().value;
        let written = responses.write(&request, &WriteContext::default()).unwrap();
        let sent: Value = serde_json::from_slice(&written.body).unwrap();
        assert_eq!(sent["input"], json!([message]));
    }
}
