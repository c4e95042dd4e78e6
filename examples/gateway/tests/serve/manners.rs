//! What strange requests are told, and what answers say about themselves.

use std::io::Write;

use serde_json::json;

use super::common::gateway::Gateway;
use super::common::http::{call, raw, written};
use super::{ask, config, willing};

#[test]
fn strange_requests_are_told_what_is_wrong() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let code = |line: &str, headers: &[(&str, &str)], body: &[u8]| {
        let answer = call(gateway.port, line, headers, body);
        assert!(answer.header("x-request-id").is_some(), "{line}");
        let error = &answer.json()["error"];
        assert!(
            error["message"].is_string() && error["type"].is_string() && error.get("param").is_some(),
            "{line}"
        );
        (answer.status(), error["code"].as_str().unwrap().to_owned())
    };
    let told = |status: u16, code: &str| (status, code.to_owned());
    let chat = "POST /v1/chat/completions";
    assert_eq!(code(chat, &[], b"{\"model\": }"), told(400, "invalid_json"));
    assert_eq!(code(chat, &[], b"[]"), told(400, "invalid_request"));
    assert_eq!(code(chat, &[], b"{\"model\":5,\"messages\":[]}"), told(400, "invalid_model"));
    assert_eq!(code(chat, &[], b"\"\xff\""), told(400, "invalid_json"));
    assert_eq!(code(chat, &[("content-encoding", "br")], b"{}"), told(415, "unsupported_media_type"));
    assert_eq!(code("GET /v1/chat/completions", &[], b""), told(405, "method_not_allowed"));
    assert_eq!(code("POST /v1/v1/chat/completions", &[], b"{}"), told(404, "not_found"));
    assert_eq!(code("GET /v1/files", &[], b""), told(404, "not_found"));
    assert_eq!(code(&format!("GET /v1/models?x={}", "y".repeat(9_000)), &[], b""), told(414, "uri_too_long"));
    let hint = call(gateway.port, "POST /v1/v1/chat/completions", &[], b"{}");
    assert!(hint.text().contains("a base URL should end in /v1, not /v1/v1"));
    let wrong = gateway.post("/v1/chat/completions", &ask("dialy"));
    assert_eq!((wrong.status(), &wrong.json()["error"]["param"]), (404, &json!("model")));
    assert!(wrong.text().contains("daily"), "{}", wrong.text());
    let method = call(gateway.port, "DELETE /v1/models", &[], b"");
    assert_eq!((method.status(), method.header("allow")), (405, Some("GET,HEAD")));
    // Headers without end.
    let mut long = b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n".to_vec();
    long.extend(format!("x-a: {}\r\n", "b".repeat(40 << 10)).into_bytes());
    long.extend(b"\r\n");
    assert_eq!(raw(gateway.port, &long).status(), 431);
    assert!(vendor.heard().is_empty());
}

#[test]
fn bodies_have_a_limit_with_and_without_a_length() {
    let vendor = willing();
    let limited = config(&[&vendor]) + "[gateway]\nmax_body_bytes = 10000\n";
    let gateway = Gateway::start(&limited);
    let long = json!({ "model": "daily", "messages": [{ "role": "user", "content": "x".repeat(10_000) }] });
    let answer = gateway.post("/v1/chat/completions", &long);
    assert_eq!((answer.status(), &answer.json()["error"]["details"]["limit"]), (413, &json!(10_000)));
    let text = long.to_string();
    let chunked = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n0\r\n\r\n",
        text.len()
    );
    assert_eq!(raw(gateway.port, chunked.as_bytes()).status(), 413);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let headers = [("content-encoding", "gzip")];
    assert_eq!(call(gateway.port, "POST /v1/chat/completions", &headers, &packed).status(), 413);
    let mut small = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    small.write_all(ask("daily").to_string().as_bytes()).unwrap();
    assert_eq!(
        call(gateway.port, "POST /v1/chat/completions", &headers, &small.finish().unwrap()).status(),
        200
    );
}

#[test]
fn nothing_of_ours_reaches_a_vendor() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let headers = [
        ("x-session-id", "session-secret-1"),
        ("x-codex-session-id", "session-secret-2"),
        ("x-omniroute-session", "session-secret-3"),
        ("x-omniroute-mode", "fast"),
        ("x-omniroute-tag", ""),
        ("authorization", "Bearer client-secret"),
        ("x-api-key", "client-secret"),
        ("cookie", "cookie-secret"),
        ("x-request-id", "named-by-client"),
        ("anthropic-beta", "some-beta"),
        ("x-forwarded-for", "10.1.2.3"),
    ];
    let answer = gateway.post_with("/v1/chat/completions", &headers, &ask("daily"));
    assert_eq!((answer.status(), answer.header("x-request-id")), (200, Some("named-by-client")));
    let heard = vendor.heard()[0].all();
    for secret in
        ["secret-1", "secret-2", "secret-3", "client-secret", "cookie-secret", "omniroute-mode", "10.1.2.3"]
    {
        assert!(!heard.contains(secret), "{secret}: {heard}");
    }
    assert!(heard.contains("some-beta") && heard.contains("named-by-client"));
    let decisions = gateway.get("/api/routing/decisions").text().to_owned();
    for secret in ["secret", "\"hi\"", "hello"] {
        assert!(!decisions.contains(secret), "{secret}: {decisions}");
    }
}

#[test]
fn receipts_can_be_read_afterwards() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let answer = gateway.post_with("/v1/chat/completions", &[("x-omniroute-explain", "true")], &ask("daily"));
    let id = answer.header("x-omniroute-receipt-id").unwrap().to_owned();
    let told = gateway.get(&format!("/api/routing/decisions/{id}")).json();
    assert_eq!((&told["outcome"], &told["model"]), (&json!("answered"), &json!("daily")));
    assert_eq!(told["receipt"]["attempts"][0]["key"], "v1/a/m");
    for _ in 0..4 {
        gateway.post("/v1/chat/completions", &ask("v1/m"));
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = gateway.get(&format!("/api/routing/decisions?limit=2{cursor}")).json();
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let mut unique = seen.clone();
    unique.dedup();
    assert_eq!((seen.len(), unique.len(), seen.last()), (5, 5, Some(&id)));
    assert_eq!(gateway.get("/api/routing/decisions?cursor=xyz").json()["error"]["code"], "invalid_cursor");
    assert_eq!(gateway.get("/api/routing/decisions?limit=0").status(), 400);
    assert_eq!(gateway.get("/api/routing/decisions/rcp_ffff").status(), 404);
    let explained =
        gateway.post("/api/routing/explain", &json!({ "model": "daily", "input_tokens": 50 })).json();
    assert_eq!(explained["picks"][0]["key"], "v1/a/m");
    let unknown = gateway.post("/api/routing/explain", &json!({ "model": "daily", "tokens": 50 })).json();
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["param"]),
        (&json!("unknown_field"), &json!("/tokens"))
    );
}

#[test]
fn models_are_listed_once_and_unchanged_lists_are_not_sent_again() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let list = gateway.get("/v1/models");
    let ids: Vec<String> = list.json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        (ids.first().map(String::as_str), ids.last().map(String::as_str)),
        (Some("daily"), Some("v1/m"))
    );
    assert!(ids.contains(&"auto/coding".to_owned()));
    let tag = list.header("etag").unwrap();
    let again = call(gateway.port, "GET /v1/models", &[("if-none-match", tag)], b"");
    assert_eq!((again.status(), again.body.len()), (304, 0));
    for path in ["/v1/models/v1/m", "/v1/models/v1%2Fm"] {
        assert_eq!(gateway.get(path).json()["id"], "v1/m", "{path}");
    }
    assert_eq!(gateway.get("/v1/models/nobody").status(), 404);
    let nothing = Gateway::start("");
    let empty = nothing.get("/v1/models");
    assert_eq!((empty.status(), empty.header("x-omniroute-note")), (200, Some("no_connections")));
    assert_eq!(nothing.get("/readyz").status(), 503);
    assert_eq!(nothing.get("/healthz").text(), "ok\n");
}

#[test]
fn what_the_description_rules_out_is_told() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let code = |path: &str| {
        let told = gateway.get(path);
        (told.status(), told.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(code("/v1/models?all=null"), (400, "invalid_value".to_owned()));
    assert_eq!(code("/v1/models?all=true&all=true"), (400, "repeated_field".to_owned()));
    // Pages are asked for by clients of others; there is one.
    assert_eq!(gateway.get("/v1/models?limit=20&all=true").status(), 200);
    let both = json!({ "text": "ok", "body": {}, "engines": [] });
    let told = gateway.post("/api/compression/compare", &both);
    assert_eq!((told.status(), &told.json()["error"]["code"]), (400, &json!("missing_field")));
}

#[test]
fn compression_can_be_tried_and_switched_per_request() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let text: String = (0..200).map(|n| format!("test store::case_{n} ... ok\n")).collect();
    let text = format!(
        "running 200 tests\n{text}\ntest result: ok. 200 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    );
    let told =
        gateway.post("/api/compression/preview", &json!({ "text": text, "command": "cargo test" })).json();
    assert!(
        told["saved_ratio"].as_f64().unwrap() > 0.5 && told["text"].as_str().unwrap().contains("200 passed")
    );
    let unknown = gateway.post("/api/compression/preview", &json!({ "text": "x", "plan": "nope" })).json();
    assert_eq!(unknown["error"]["code"], "unknown_plan");
    let engines = gateway.get("/api/compression/engines").json();
    assert!(
        engines["items"].as_array().unwrap().iter().any(|one| one["id"] == "rtk" && one["enabled"] == true)
    );
    let request = json!({ "model": "daily", "messages": [
        { "role": "user", "content": "run the tests" },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function",
            "function": { "name": "bash", "arguments": "{\"command\":\"cargo test\"}" } }] },
        { "role": "tool", "tool_call_id": "c1", "content": text },
    ] });
    let short = gateway.post("/v1/chat/completions", &request);
    assert!(short.header("x-omniroute-compression").unwrap().starts_with("safe; source=default; tokens="));
    assert!(vendor.heard()[0].body.len() < request.to_string().len() / 2);
    let off = [("x-omniroute-compression", "off")];
    gateway.post_with("/v1/chat/completions", &off, &request);
    assert_eq!(vendor.heard()[1].json()["messages"], request["messages"]);
    let odd = [("x-omniroute-compression", "saef")];
    let told = gateway.post_with("/v1/chat/completions", &odd, &request);
    assert_eq!(told.header("x-omniroute-note"), Some("compression_ignored"));
}

#[test]
fn a_combo_and_a_header_may_name_a_profile_of_the_configuration() {
    let vendor = willing();
    let text = config(&[&vendor]);
    let daily = "name = \"daily\"\n";
    let text = text.replace(daily, &format!("{daily}compression = \"mine\"\n"));
    let gateway = Gateway::start(&format!(
        "{text}[compression]\nplan = \"off\"\n[compression.engines.rtk]\nintensity = \"minimal\"\n\
         [[compression.combos]]\nname = \"mine\"\nsteps = [\"rtk\"]\n\
         [[compression.combos]]\nname = \"other\"\nsteps = [\"rows\"]\n"
    ));
    let log = "   Compiling one v1.0.0\n   Compiling two v1.0.0\n   Compiling three v1.0.0\n".repeat(30);
    let request = |model: &str| {
        json!({ "model": model, "messages": [
            { "role": "user", "content": "build it" },
            { "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function",
                "function": { "name": "bash", "arguments": "{\"command\":\"cargo build\"}" } }] },
            { "role": "tool", "tool_call_id": "c1", "content": log },
        ] })
    };
    let told = |model: &str, headers: &[(&str, &str)]| {
        let answer = gateway.post_with("/v1/chat/completions", headers, &request(model));
        answer.header("x-omniroute-compression").map(str::to_owned).unwrap_or_default()
    };
    let of_route = told("daily", &[]);
    assert!(of_route.starts_with("mine; source=routing-override; tokens="), "{of_route}");
    assert!(of_route.contains("; rules: rtk/"), "{of_route}");
    assert!(vendor.heard()[0].body.len() < request("daily").to_string().len() / 2);
    let asked = told("daily", &[("x-omniroute-compression", "Other")]);
    assert!(
        asked.starts_with("other; source=request-header; tokens=") && !asked.contains("rules"),
        "{asked}"
    );
    assert_eq!(vendor.heard()[1].json()["messages"], request("daily")["messages"]);
    // What is counted and tried beforehand is what would be sent.
    let tried =
        gateway.post("/api/compression/preview", &json!({ "body": request("daily"), "plan": "mine" })).json();
    assert_eq!(tried["body"]["messages"], vendor.heard()[0].json()["messages"]);
    let plain = told("v1/m", &[]);
    assert!(plain.starts_with("off; source=default") || plain.is_empty(), "{plain}");
    assert_eq!(vendor.heard()[2].json()["messages"], request("daily")["messages"]);
}

#[test]
fn connections_are_kept_open_for_the_next_request() {
    use std::io::BufReader;
    use std::net::TcpStream;
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    let request =
        written(gateway.port, "POST /v1/chat/completions", &[], ask("daily").to_string().as_bytes());
    let request = String::from_utf8(request).unwrap().replace("connection: close\r\n", "");
    for _ in 0..3 {
        out.write_all(request.as_bytes()).unwrap();
        assert_eq!(super::common::http::read(&mut input).unwrap().status(), 200);
    }
}
