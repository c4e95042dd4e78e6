//! Whole and streamed answers on every wire, and what happens when vendors fail.

use std::time::Duration;

use serde_json::json;

use super::common::gateway::Gateway;
use super::common::http::{Said, Vendor};
use super::{STREAM, WHOLE, ask, config, willing};

#[test]
fn bytes_pass_where_the_wire_is_the_same() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    for path in ["/v1/chat/completions", "/api/v1/chat/completions", "/v1/chat/completions/"] {
        let answer = gateway.post(path, &ask("daily"));
        assert_eq!((answer.status(), answer.text()), (200, WHOLE), "{path}");
        assert!(answer.header("x-omniroute-decision").unwrap().contains("provider=v1; model=m; attempts=1"));
        assert_eq!(answer.header("x-omniroute-tokens-in"), Some("5"));
    }
    let mut request = ask("v1/m");
    request["stream"] = json!(true);
    request["unknown"] = json!({ "kept": [1.50, null] });
    let answer = gateway.post("/v1/chat/completions", &request);
    assert_eq!(answer.text(), STREAM.concat());
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(answer.header("content-length").is_none() && answer.header("x-omniroute-tokens-in").is_none());
    let heard = vendor.heard();
    let sent = heard.last().unwrap().json();
    assert_eq!((&sent["model"], &sent["unknown"]), (&json!("m"), &request["unknown"]));
    assert_eq!(heard.last().unwrap().header("authorization"), Some("Bearer sk-mock-secret-0001"));
}

#[test]
fn every_wire_is_answered_in_its_own_words() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let contents = json!([{ "role": "user", "parts": [{ "text": "hi" }] }]);
    let anthropic =
        gateway.post("/v1/messages", &json!({ "model": "daily", "max_tokens": 9, "messages": messages }));
    assert_eq!(anthropic.json()["content"][0]["text"], "hello");
    let responses = gateway.post("/v1/responses", &json!({ "model": "daily", "input": "hi" }));
    assert_eq!(responses.json()["output"][0]["content"][0]["text"], "hello");
    let gemini = gateway.post("/v1beta/models/daily:generateContent", &json!({ "contents": contents }));
    assert_eq!(gemini.json()["candidates"][0]["content"]["parts"][0]["text"], "hello");
    // Names with a slash stand in the path as they are, or escaped.
    for path in ["/v1beta/models/v1/m:generateContent", "/v1beta/models/v1%2Fm:generateContent"] {
        let gemini = gateway.post(path, &json!({ "contents": contents }));
        assert_eq!(gemini.json()["candidates"][0]["content"]["parts"][0]["text"], "hello", "{path}");
    }
    let ollama =
        gateway.post("/api/chat", &json!({ "model": "daily", "messages": messages, "stream": false }));
    assert_eq!((ollama.status(), &ollama.json()["message"]["content"]), (200, &json!("hello")));

    let anthropic = gateway.post(
        "/v1/messages",
        &json!({ "model": "daily", "max_tokens": 9, "stream": true, "messages": messages }),
    );
    let events: Vec<&str> =
        anthropic.text().lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!((events.first(), events.last()), (Some(&"message_start"), Some(&"message_stop")));
    let responses =
        gateway.post("/v1/responses", &json!({ "model": "daily", "stream": true, "input": "hi" }));
    assert!(responses.text().contains("event: response.completed"), "{}", responses.text());
    let path = "/v1beta/models/daily:streamGenerateContent";
    let events = gateway.post(&format!("{path}?alt=sse"), &json!({ "contents": contents }));
    assert!(events.text().starts_with("data: {"), "{}", events.text());
    let array = gateway.post(path, &json!({ "contents": contents }));
    let said: String = array
        .json()
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|piece| piece["candidates"][0]["content"]["parts"][0]["text"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, "hello");
}

#[test]
fn a_stream_is_one_only_if_the_body_says_so() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    for (stream, status) in [(json!(null), 200), (json!(false), 200), (json!("true"), 400), (json!(1), 400)] {
        let mut request = ask("daily");
        request["stream"] = stream.clone();
        let answer = gateway.post_with("/v1/chat/completions", &[("accept", "text/event-stream")], &request);
        assert_eq!(answer.status(), status, "{stream}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    let mut request = ask("daily");
    request["stream"] = json!(true);
    let answer = gateway.post_with("/v1/chat/completions", &[("accept", "application/json")], &request);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
}

#[test]
fn others_answer_when_one_fails_and_the_last_error_is_told() {
    let slow = r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#;
    let broken = Vendor::new(|_, _| Said::whole(503, r#"{"error":{"message":"down"}}"#));
    let limited = Vendor::new(move |_, _| {
        let mut said = Said::whole(429, slow);
        said.headers.push(("retry-after", "7".to_owned()));
        said
    });
    // A success without content is none, and the head of a stream is no answer yet.
    let empty = Vendor::new(|_, _| Said::stream(&["data: [DONE]\n\n"], Duration::ZERO));
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&broken, &limited, &empty, &vendor]));
    let mut request = ask("daily");
    request["stream"] = json!(true);
    let answer = gateway.post("/v1/chat/completions", &request);
    assert_eq!(answer.text(), STREAM.concat());
    assert!(answer.header("x-omniroute-decision").unwrap().contains("provider=v4; model=m; attempts=4"));

    let gateway = Gateway::start(&config(&[&broken, &limited]));
    for (path, body) in [
        ("/v1/chat/completions", request.clone()),
        (
            "/v1/messages",
            json!({ "model": "daily", "max_tokens": 1, "messages": [{ "role": "user", "content": "x" }] }),
        ),
    ] {
        let answer = gateway.post(path, &body);
        assert!(matches!(answer.status(), 429 | 503), "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(!answer.text().contains("sk-mock"), "{}", answer.text());
    }
}

#[test]
fn a_lost_upstream_is_an_error_in_the_words_of_the_client() {
    let vendor = Vendor::new(|_, _| {
        let mut said = Said::stream(&STREAM[..1], Duration::ZERO);
        said.pieces.push((Duration::ZERO, b"data: {\"broken".to_vec()));
        said
    });
    let gateway = Gateway::start(&config(&[&vendor]));
    let mut request = ask("daily");
    request["stream"] = json!(true);
    let chat = gateway.post("/v1/chat/completions", &request);
    let last = chat.text().trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.starts_with("data: {\"error\":"), "{}", chat.text());
    assert!(!chat.text().contains("[DONE]") && !chat.text().contains("\"finish_reason\":\"stop\""));
    let anthropic = gateway.post(
        "/v1/messages",
        &json!({ "model": "daily", "max_tokens": 9, "stream": true, "messages": request["messages"] }),
    );
    assert!(anthropic.text().contains("event: error\n") && !anthropic.text().contains("message_stop"));
    let responses =
        gateway.post("/v1/responses", &json!({ "model": "daily", "stream": true, "input": "hi" }));
    assert!(responses.text().contains("response.failed"), "{}", responses.text());
}

#[test]
fn services_beside_chat_pass_with_another_name_of_the_model() {
    let vendor = Vendor::new(|message, _| match message.path() {
        "/v1/embeddings" => Said::whole(200, r#"{"object":"list","data":[{"embedding":[0.5]}]}"#),
        "/v1/audio/transcriptions" => Said::whole(200, r#"{"text":"spoken"}"#),
        other => Said::whole(404, format!("{{\"error\":{{\"message\":\"{other}\"}}}}")),
    });
    let gateway = Gateway::start(&config(&[&vendor]));
    let answer = gateway.post("/v1/embeddings", &json!({ "model": "v1/e-1", "input": "x" }));
    assert_eq!((answer.status(), answer.text()), (200, r#"{"object":"list","data":[{"embedding":[0.5]}]}"#));
    assert_eq!(vendor.heard()[0].text(), r#"{"input":"x","model":"e-1"}"#);
    let form = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nv1/w-1\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n\u{1}\r\n--b--\r\n";
    let kind = [("content-type", "multipart/form-data; boundary=b")];
    let answer =
        super::common::http::call(gateway.port, "POST /v1/audio/transcriptions", &kind, form.as_bytes());
    assert_eq!(answer.text(), r#"{"text":"spoken"}"#);
    assert_eq!(vendor.heard()[1].body, form.replace("v1/w-1", "w-1").into_bytes());
    let unknown = gateway.post("/v1/embeddings", &json!({ "model": "nobody/e", "input": "x" }));
    assert_eq!((unknown.status(), &unknown.json()["error"]["code"]), (404, &json!("unknown_model")));
    let none = gateway.post("/v1/embeddings", &json!({ "input": "x" }));
    assert_eq!((none.status(), &none.json()["error"]["param"]), (400, &json!("model")));
}

#[test]
fn tokens_are_counted_by_the_vendor_or_estimated_and_that_is_said() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let body = json!({ "model": "daily", "messages": [{ "role": "user", "content": "one two three four" }] });
    let answer = gateway.post("/v1/messages/count_tokens", &body);
    assert!(answer.json()["input_tokens"].as_u64().unwrap() >= 3, "{}", answer.text());
    assert!(answer.header("x-omniroute-counter").unwrap().starts_with("estimate"), "{answer:?}");
    assert!(vendor.heard().is_empty());

    let counting = Vendor::new(|message, _| match message.path() {
        "/v1/messages/count_tokens" => Said::whole(200, r#"{"input_tokens":42}"#),
        _ => Said::whole(500, "{}"),
    });
    let config = config(&[&counting])
        .replace("[[providers.models]]", "wire = \"anthropic-messages\"\n[[providers.models]]");
    let gateway = Gateway::start(&config);
    let answer = gateway.post("/v1/messages/count_tokens", &body);
    assert_eq!(answer.json()["input_tokens"], 42, "{}", answer.text());
    assert!(answer.header("x-omniroute-counter").unwrap().starts_with("vendor"));
}

#[test]
fn a_picture_reaches_a_blind_model_in_words_and_the_answer_says_so() {
    let (blind, sees) = (willing(), willing());
    let all = config(&[&blind, &sees]).replace("[\"v1/m\", \"v2/m\"]", "[\"v1/m\"]");
    let (front, back) = all.rsplit_once("tools = true").unwrap();
    let config = format!("{front}tools = true\nvision = true{back}options = {{ describer = \"v2/m\" }}\n");
    let gateway = Gateway::start(&config);
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } });
    let mut request = ask("daily");
    request["messages"][0]["content"] = json!([{ "type": "text", "text": "what is it" }, image]);
    let answer = gateway.post("/v1/chat/completions", &request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.header("x-omniroute-modality-bridge"), Some("image->text; model=v2/m; parts=1"));
    assert!(
        blind.heard()[0].text().contains("[Image 1]: hello") && !blind.heard()[0].text().contains("iVBOR")
    );
    assert!(sees.heard()[0].text().contains("iVBOR"));
    let plain = gateway.post("/v1/chat/completions", &ask("daily"));
    assert!(plain.header("x-omniroute-modality-bridge").is_none());
}
