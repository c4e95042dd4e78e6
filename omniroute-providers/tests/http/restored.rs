//! What is changed on the way out is changed back on the way in: names of tools, usage that only we asked for, streams
//! of hosts that give nothing else.

use std::sync::Arc;

use futures::StreamExt;
use omniroute_core::hub::{Event, PartKind, StreamItem};
use omniroute_core::{ChatBody, ChatRequest, Failure, wire};
use omniroute_providers::credentials::{Fixed, Held};
use omniroute_providers::{Call, Catalog, HttpProvider};

use crate::scripted::{Step, Vendor, env, run};

fn provider(id: &str) -> HttpProvider {
    let builder = HttpProvider::builder(&Catalog::embedded(), id);
    builder.credentials(Fixed(Held::key("KEY-0123456789"))).build().unwrap()
}

fn request(stream: bool, more: &str) -> ChatRequest {
    let body =
        format!(r#"{{"model":"x","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]{more}}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

fn items(
    vendor: &Arc<Vendor>,
    id: &str,
    request: &ChatRequest,
    call: &Call<'_>,
) -> Vec<Result<StreamItem, Failure>> {
    let (env, _) = env(vendor);
    let answer = run(provider(id).chat(&env, request, call)).unwrap().unwrap();
    let ChatBody::Stream(items) = answer.body else { panic!("not streamed") };
    run(items.collect::<Vec<_>>()).unwrap()
}

const HALF: &str = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\n";

/// The vendor calls a tool by the name it was told; the client hears its own.
#[test]
fn pitfall_09_names_of_tools_come_back_from_a_call() {
    let name = "mcp.files/read";
    let more = format!(
        r#","tools":[{{"type":"function","function":{{"name":"{name}","parameters":{{"type":"object"}}}}}}]"#
    );
    let vendor = Vendor::new([Step::json(500, "{}")]);
    let (env, _) = env(&vendor);
    _ = run(provider("anthropic").chat(&env, &request(true, &more), &Call::new("m"))).unwrap();
    let sent: serde_json::Value = serde_json::from_slice(vendor.seen()[0].body()).unwrap();
    let alias = sent["tools"][0]["name"].as_str().unwrap().to_owned();
    assert_ne!(alias, name);

    let event = |v: serde_json::Value| format!("event: {}\ndata: {v}\n\n", v["type"].as_str().unwrap());
    let block = serde_json::json!({"type": "tool_use", "id": "toolu_1", "name": alias, "input": {}});
    let stream = [
        event(
            serde_json::json!({"type": "message_start", "message": {"id": "m", "model": "m", "content": []}}),
        ),
        event(serde_json::json!({"type": "content_block_start", "index": 0, "content_block": block})),
        event(serde_json::json!({"type": "content_block_stop", "index": 0})),
        event(serde_json::json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})),
        event(serde_json::json!({"type": "message_stop"})),
    ]
    .concat();
    let vendor = Vendor::new([Step::stream(&stream, 50)]);
    let told = items(&vendor, "anthropic", &request(true, &more), &Call::new("m"));
    let names: Vec<_> = told
        .iter()
        .flat_map(|item| &item.as_ref().unwrap().events)
        .filter_map(|e| match e {
            Event::PartStart { kind: PartKind::Call { name, .. }, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, [name]);

    let whole = serde_json::json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [block], "stop_reason": "tool_use"});
    let vendor = Vendor::new([Step::json(200, whole.to_string())]);
    let (env, _) = crate::scripted::env(&vendor);
    let answer =
        run(provider("anthropic").chat(&env, &request(false, &more), &Call::new("m"))).unwrap().unwrap();
    let ChatBody::Whole(doc) = &answer.body else { panic!("streamed") };
    let mut reply = answer.wire.read_reply(doc).unwrap().value;
    answer.names.restore(&mut reply);
    let told = wire::OPENAI_CHAT.write_reply(&reply, &Default::default()).unwrap().body;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["choices"][0]["message"]["tool_calls"][0]["function"]["name"], name);
}

/// Usage that only we asked for is read, and not shown.
#[test]
fn pitfall_20_usage_on_demand_stays_with_us() {
    let usage =
        "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":9}}\n\n";
    let end = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let stream = [HALF, end, usage, "data: [DONE]\n\n"].concat();
    for (more, shown) in [("", false), (r#","stream_options":{"include_usage":true}"#, true)] {
        let vendor = Vendor::new([Step::stream(&stream, 30)]);
        let mut call = Call::new("m");
        call.context.options.ask_usage = true;
        let told = items(&vendor, "openai", &request(true, more), &call);
        let raw: Vec<u8> = told.iter().flat_map(|item| item.as_ref().unwrap().raw.to_vec()).collect();
        assert_eq!(String::from_utf8(raw).unwrap().contains("usage"), shown);
        let read = |e: &Event| matches!(e, Event::Usage(usage) if usage.output == 9);
        assert!(told.iter().flat_map(|item| &item.as_ref().unwrap().events).any(read));
        let sent = String::from_utf8(vendor.seen()[0].body().to_vec()).unwrap();
        assert!(sent.contains(r#""stream_options":{"include_usage":true}"#), "{sent}");
    }
}

/// A host that only streams: its whole answer has the names of the client and the usage of a whole answer.
#[test]
fn a_stream_that_becomes_a_whole_answer_loses_nothing() {
    let name = "mcp.files/read";
    let more = format!(
        r#","tools":[{{"type":"function","function":{{"name":"{name}","parameters":{{"type":"object"}}}}}}]"#
    );
    // From another wire: for its own a host is sent the client's bytes.
    let request = {
        let body = r#"{"model":"x","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"mcp.files/read","input_schema":{"type":"object"}}]}"#;
        ChatRequest::parse(wire::ANTHROPIC, body).unwrap()
    };
    for request in [request, self::request(false, &more)] {
        let vendor = Vendor::new([Step::json(500, "{}")]);
        let (env, _) = env(&vendor);
        _ = run(provider("kimi").chat(&env, &request, &Call::new("m"))).unwrap();
        let sent: serde_json::Value = serde_json::from_slice(vendor.seen()[0].body()).unwrap();
        assert_eq!(sent["stream"], true);
        assert_eq!(sent["stream_options"]["include_usage"], true);
        let alias = &sent["tools"][0]["function"]["name"];

        let call = serde_json::json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": alias, "arguments": "{}"}}]);
        let chunk = |delta: serde_json::Value, end: Option<&str>| {
            let choice = serde_json::json!({"index": 0, "delta": delta, "finish_reason": end});
            format!("data: {}\n\n", serde_json::json!({"id": "c", "model": "m", "choices": [choice]}))
        };
        let usage =
            "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":9}}\n\n";
        let stream = [
            &chunk(serde_json::json!({"role": "assistant", "tool_calls": call}), None),
            &chunk(serde_json::json!({}), Some("tool_calls")),
            usage,
            "data: [DONE]\n\n",
        ]
        .concat();
        let vendor = Vendor::new([Step::stream(&stream, 30)]);
        let (env, _) = crate::scripted::env(&vendor);
        let answer = run(provider("kimi").chat(&env, &request, &Call::new("m"))).unwrap().unwrap();
        let ChatBody::Whole(doc) = &answer.body else { panic!("streamed") };
        let mut reply = answer.wire.read_reply(doc).unwrap().value;
        assert_eq!(reply.usage.as_ref().map(|usage| usage.output), Some(9));
        for _ in 0..2 {
            let told = wire::OPENAI_CHAT.write_reply(&reply, &Default::default()).unwrap().body;
            let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
            assert_eq!(told["choices"][0]["message"]["tool_calls"][0]["function"]["name"], name);
            // They are restored already; who does it again changes nothing.
            answer.names.restore(&mut reply);
        }
    }
}
