//! Ollama, Cohere and Bedrock end to end: a request of another wire goes out in theirs, and their own bytes come back,
//! recorded where recordings are, else samples that no writer of ours made.

use bytes::Bytes;
use omniroute_core::hub::WriteContext;
use omniroute_core::{ChatBody, ChatRequest, Doc, FailureKind, Phase, wire};
use omniroute_providers::credentials::{Fixed, Held};
use omniroute_providers::{Call, Catalog, HttpProvider, WireId, wires};
use serde_json::Value;

use crate::exchanges::ReplyKind;
use crate::recorded::{self, drain, told};
use crate::samples;
use crate::scripted::{Step, Vendor, env, run};

const HOSTED: [(&str, WireId, &str); 3] = [
    ("ollama-local", WireId::Ollama, "http://localhost:11434/api/chat"),
    ("cohere", WireId::Cohere, "https://api.cohere.com/v2/chat"),
    (
        "bedrock",
        WireId::BedrockConverse,
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse",
    ),
];

/// The wires that are switched on.
fn hosted() -> impl Iterator<Item = (&'static str, WireId, &'static str)> {
    HOSTED.into_iter().filter(|(_, wire, _)| wires::by_id(wire.word()).is_some())
}

fn provider(row: &str, wire: WireId) -> HttpProvider {
    let builder = HttpProvider::builder(&Catalog::embedded(), row).wire(wire).value("region", "us-east-1");
    builder.credentials(Fixed(Held::key("KEY-0123456789"))).build().unwrap()
}

/// A request in the words of chat completions.
fn request(stream: bool) -> ChatRequest {
    let body = format!(
        r#"{{"model":"x","stream":{stream},"max_tokens":64,"temperature":0.5,"messages":[{{"role":"system","content":"Be short."}},{{"role":"user","content":"What does it cost?"}}]}}"#
    );
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

const MODEL: &str = "amazon.nova-lite-v1:0";

#[test]
fn a_request_goes_out_in_the_words_of_the_host() {
    for (row, id, address) in hosted() {
        for stream in [false, true] {
            let vendor = Vendor::new([Step::json(503, "{}")]);
            let (env, _) = env(&vendor);
            assert!(run(provider(row, id).chat(&env, &request(stream), &Call::new(MODEL))).unwrap().is_err());
            let sent = &vendor.seen()[0];
            let bedrock = id == WireId::BedrockConverse;
            let wanted = if stream && bedrock { format!("{address}-stream") } else { address.to_owned() };
            assert_eq!(sent.uri().to_string(), wanted);
            let body: Value = serde_json::from_slice(sent.body()).unwrap();
            let (limit, flag) = match id {
                WireId::Ollama => ("/options/num_predict", Some(stream)),
                WireId::Cohere => ("/max_tokens", Some(stream)),
                _ => ("/inferenceConfig/maxTokens", None),
            };
            assert_eq!(body.pointer(limit).and_then(Value::as_u64), Some(64), "{row}: {body}");
            let said = body.get("stream").and_then(Value::as_bool);
            assert!(said == flag || (said.is_none() && flag == Some(false)), "{row}: {body}");
            assert!(body.get("model").and_then(Value::as_str).is_none_or(|m| m == MODEL), "{row}");
            let accept = sent.headers()["accept"].to_str().unwrap();
            let kind = match (stream, id) {
                (false, _) => "application/json",
                (true, WireId::Ollama) => "application/x-ndjson",
                (true, WireId::BedrockConverse) => "application/vnd.amazon.eventstream",
                (true, _) => "text/event-stream",
            };
            assert_eq!(accept, kind, "{row}");
        }
    }
}

/// What a client of chat completions is given of a stream.
fn for_client(body: ChatBody, id: WireId) -> Result<Value, (FailureKind, Phase)> {
    let from = wires::by_id(id.word()).unwrap();
    let (items, failure) = drain(body);
    if let Some(failure) = failure {
        return Err((failure.kind, failure.phase));
    }
    let reply = told(from, &items).unwrap();
    let written = wire::OPENAI_CHAT.write_reply(&reply, &WriteContext::default()).unwrap();
    Ok(serde_json::from_slice(&written.body).unwrap())
}

#[test]
fn samples_reach_a_client_of_another_wire() {
    for (row, id, _) in hosted() {
        let bytes = samples::bytes(id.word());
        for cut in [1, 7, 40, 4096] {
            let pieces = bytes.chunks(cut).map(Bytes::copy_from_slice).collect();
            let vendor = Vendor::new([Step::of(200, &[], pieces)]);
            let (env, _) = env(&vendor);
            let answer =
                run(provider(row, id).chat(&env, &request(true), &Call::new(MODEL))).unwrap().unwrap();
            let told = for_client(answer.body, id).unwrap();
            assert_eq!(told["choices"][0]["message"]["content"], samples::TEXT, "{row}");
            assert_eq!(told["choices"][0]["finish_reason"], "stop", "{row}");
            assert_eq!(told["usage"]["prompt_tokens"], 7, "{row}");
            assert_eq!(vendor.open(), 0);
        }
    }
}

#[test]
fn samples_that_break_are_failures_at_every_cut() {
    for (row, id, _) in hosted() {
        let bytes = samples::bytes(id.word());
        // Whatever is missing before the end of the content is missed.
        for end in 0..bytes.len() / 2 {
            let vendor = Vendor::new([Step::of(200, &[], vec![Bytes::copy_from_slice(&bytes[..end])])]);
            let (env, _) = env(&vendor);
            let answer =
                run(provider(row, id).chat(&env, &request(true), &Call::new(MODEL))).unwrap().unwrap();
            assert_eq!(for_client(answer.body, id).unwrap_err().0, FailureKind::BadReply, "{row} {end}");
        }
    }
    let mut errors = vec![("ollama-local", WireId::Ollama, "ollama-error", None)];
    if cfg!(feature = "bedrock") {
        let limited = Some(FailureKind::RateLimited);
        errors.push(("bedrock", WireId::BedrockConverse, "bedrock-converse-error", limited));
    }
    for (row, id, sample, kind) in errors {
        let vendor = Vendor::new([Step::of(200, &[], vec![samples::bytes(sample).into()])]);
        let (env, _) = env(&vendor);
        let answer = run(provider(row, id).chat(&env, &request(true), &Call::new(MODEL))).unwrap().unwrap();
        let (found, phase) = for_client(answer.body, id).unwrap_err();
        assert!(kind.is_none_or(|kind| kind == found), "{row}: {found:?}");
        assert_eq!(phase, Phase::MidStream, "{row}");
    }
}

#[test]
fn recorded_answers_reach_a_client_of_another_wire() {
    let (mut counts, mut seed) = ([0; 3], 3);
    for recorded in recorded::all() {
        let exchange = recorded.exchange;
        let Some(at) = hosted().position(|(_, id, _)| id.word() == exchange.wire) else { continue };
        if exchange.kind == ReplyKind::Error {
            continue;
        }
        let (row, id, _) = hosted().nth(at).unwrap();
        let body: Value = serde_json::from_str(exchange.request.as_deref().unwrap()).unwrap();
        let ollama = id == WireId::Ollama && body["stream"] != false;
        let stream = ollama || exchange.streamed() || body["stream"] == true;
        let vendor = Vendor::new([recorded.step(&exchange.reply, &mut seed)]);
        let (env, _) = env(&vendor);
        let answer = run(provider(row, id).chat(&env, &request(stream), &Call::new(MODEL))).unwrap().unwrap();
        assert_eq!(answer.wire.id(), exchange.wire);
        let told = match answer.body {
            ChatBody::Whole(doc) => {
                let reply = answer.wire.read_reply(&doc).unwrap().value;
                let written = wire::OPENAI_CHAT.write_reply(&reply, &WriteContext::default()).unwrap();
                serde_json::from_slice(&written.body).unwrap()
            }
            body => for_client(body, id).unwrap_or_else(|f| panic!("{}: {f:?}", exchange.label())),
        };
        // What the client gets is read by the reader of its own wire.
        let doc = Doc::parse(told.to_string()).unwrap();
        let reply = wire::OPENAI_CHAT.read_reply(&doc).unwrap().value;
        assert!(!reply.is_empty(), "{}", exchange.label());
        counts[at] += 1;
    }
    println!("recorded answers of ollama, cohere and bedrock for a client of chat completions: {counts:?}");
}

/// Requests signed with AWS keys; a script that knows nothing of ours computes the signatures again.
#[cfg(all(feature = "bedrock", feature = "sigv4"))]
#[test]
fn signatures_are_those_that_another_program_finds() {
    use omniroute_providers::credentials::AwsKeys;
    use omniroute_providers::{KeyOrigin, Secret};

    const SCRIPT: &str = r#"
import hashlib, hmac, json, sys, urllib.parse
d = json.load(sys.stdin)
stamp = d["headers"]["x-amz-date"]; day = stamp[:8]
names = sorted(["host", "content-type", "x-amz-date"] + (["x-amz-security-token"] if "x-amz-security-token" in d["headers"] else []))
lines = "".join(f"{n}:{d['host'] if n == 'host' else d['headers'][n]}\n" for n in names)
path = "/".join(urllib.parse.quote(p, safe="-_.~") for p in d["path"].split("/"))
canonical = "\n".join(["POST", path, "", lines, ";".join(names), hashlib.sha256(d["body"].encode()).hexdigest()])
scope = f"{day}/{d['region']}/bedrock/aws4_request"
text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
key = ("AWS4" + d["secret"]).encode()
for part in [day, d["region"], "bedrock", "aws4_request"]:
    key = hmac.new(key, part.encode(), hashlib.sha256).digest()
print(hmac.new(key, text.encode(), hashlib.sha256).hexdigest())
"#;
    let sign = |input: &Value| {
        use std::io::Write;
        let mut child = std::process::Command::new("python3")
            .args(["-c", SCRIPT])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(input.to_string().as_bytes()).ok()?;
        Some(String::from_utf8(child.wait_with_output().ok()?.stdout).unwrap().trim().to_owned())
    };
    let mut count = 0;
    for (region, token, stream) in
        [("us-east-1", None, false), ("eu-west-1", Some("TEMPORARY-TOKEN-0123/+="), true)]
    {
        let keys = AwsKeys {
            access_key: Secret::new("AKIDEXAMPLE-0123"),
            secret_key: Secret::new("SECRET/KEY+0123456789"),
            session_token: token.map(Secret::new),
            origin: KeyOrigin::Connection,
        };
        let provider = HttpProvider::builder(&Catalog::embedded(), "bedrock")
            .value("region", region)
            .credentials(Fixed(Held::Aws(keys)))
            .build()
            .unwrap();
        let body = samples::bytes("bedrock-converse");
        let vendor = Vendor::new([Step::of(200, &[], vec![body.into()])]);
        let (env, _) = env(&vendor);
        let answered = run(provider.chat(&env, &request(stream), &Call::new(MODEL))).unwrap();
        assert_eq!(answered.is_ok(), stream, "a stream where a whole answer was asked is no answer");
        let sent = &vendor.seen()[0];
        assert_eq!(sent.headers()["x-amz-date"], "20260115T120000Z");
        let value = sent.headers()["authorization"].to_str().unwrap();
        assert!(
            sent.headers()["authorization"].is_sensitive() && !format!("{sent:?}").contains("AKIDEXAMPLE")
        );
        let headers: serde_json::Map<String, Value> =
            sent.headers().iter().map(|(n, v)| (n.to_string(), v.to_str().unwrap().into())).collect();
        let mut input = serde_json::json!({
            "host": sent.uri().host(), "path": sent.uri().path(), "headers": headers, "region": region,
            "secret": "SECRET/KEY+0123456789", "body": String::from_utf8_lossy(sent.body()),
        });
        let Some(signature) = sign(&input) else {
            assert!(std::env::var_os("CI").is_none(), "needs python3");
            println!("skipped: needs python3");
            return;
        };
        assert!(value.ends_with(&format!("Signature={signature}")), "{value} {signature}");
        // Twin: another body has another signature.
        input["body"] = "{}".into();
        assert!(!value.ends_with(&sign(&input).unwrap()));
        count += 1;
    }
    println!("{count} signatures found by another program");
}
