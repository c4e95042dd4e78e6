//! Every recorded exchange again, with a vendor that echoes the key wherever it can: nothing that a program could log
//! holds a trace of it.

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::{ChatBody, ChatRequest};
use omniroute_providers::credentials::{AwsKeys, Fixed, Held, KeyRing, RingOrder};
use omniroute_providers::{Call, Catalog, HttpProvider, KeyOrigin, Secret, Surface, Upload, WireId};
use serde_json::Value;

use crate::exchanges::ReplyKind;
use crate::recorded::{self, Recorded};
use crate::samples;
use crate::scripted::{Step, Vendor, env, run};

/// Of no known shape, so that only who knows it can find it; with characters that other forms write in another way.
const KEY: &str = "q7/Zx+9=wV4tR2mN8pL3";
/// What every form of it leaves.
const TRACE: &str = "wV4tR2mN8pL3";

fn has_trace(text: &str) -> bool {
    text.contains(TRACE)
}

/// Everything a call shows, but for the content of a success: that is the caller's own.
fn shown(provider: &HttpProvider, recorded: &Recorded, steps: Vec<Step>) -> String {
    let vendor = Vendor::new(steps);
    let (env, _) = env(&vendor);
    let wire = recorded.wire().unwrap();
    let request = ChatRequest::parse(wire, recorded.exchange.request.clone().unwrap()).unwrap();
    let model = recorded.model();
    let mut call = Call::new(&model);
    call.stream = recorded.path.ends_with("converse-stream").then_some(true);
    let mut out = format!("{provider:?} {env:?} {call:?}");
    match run(provider.chat(&env, &request, &call)).expect("nothing hangs") {
        Err(failure) => out += &format!("{failure} {failure:?}"),
        Ok(response) => {
            out +=
                &format!("{response:?} {:?} {:?} {:?}", response.limits, response.request_id, response.notes);
            if let ChatBody::Stream(items) = response.body {
                let failures = run(items.collect::<Vec<_>>()).expect("nothing hangs").into_iter();
                failures.filter_map(Result::err).for_each(|failure| out += &format!("{failure} {failure:?}"));
            }
        }
    }
    for sent in vendor.seen() {
        out += &format!("{sent:?} {}", sent.uri());
    }
    out
}

/// The recorded answer with the key in it: in headers, in every text of an error, in an error inside a stream, cut.
fn echoes(recorded: &Recorded, secret: &str) -> Vec<Vec<Step>> {
    let exchange = recorded.exchange;
    let mut headers: Vec<(String, String)> =
        recorded.headers.iter().filter(|(n, _)| n != "x-request-id" && n != "request-id").cloned().collect();
    for name in ["x-request-id", "retry-after", "x-ratelimit-reset-requests", "x-amzn-errortype", "server"] {
        headers.push((name.to_owned(), secret.to_owned()));
    }
    let headers: Vec<_> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let step = |status: u16, body: Vec<u8>| vec![Step::of(status, &headers, vec![Bytes::from(body)]); 2];
    let error = format!(
        r#"{{"error":{{"message":"bad key {secret}","code":"{secret}","type":"{secret}","status":"{secret}"}},"message":"{secret}","detail":"{secret}"}}"#
    );
    let mut out = vec![step(exchange.status, exchange.reply.clone()), step(401, error.clone().into_bytes())];
    match exchange.kind {
        ReplyKind::Error => {
            let mut value: Value = serde_json::from_slice(&exchange.reply).unwrap_or_else(|_| secret.into());
            plant(&mut value, secret);
            out.push(step(exchange.status, value.to_string().into_bytes()));
        }
        ReplyKind::Whole => {
            out.push(step(200, error.into_bytes()));
            out.push(step(200, [exchange.reply.clone(), secret.into()].concat()));
        }
        ReplyKind::Sse => {
            let half = exchange.reply.len() / 2;
            let event = format!("\n\nevent: error\ndata: {error}\n\n");
            out.push(step(200, [&exchange.reply[..half], event.as_bytes()].concat()));
        }
        ReplyKind::Ndjson => {
            out.push(step(200, format!("{{\"error\":\"bad key {secret}\"}}\n").into_bytes()))
        }
        ReplyKind::EventStream => out.push(step(200, [&exchange.reply[..40], secret.as_bytes()].concat())),
    }
    out.push(vec![Step::Refuse("connect", format!("https://{secret}@host refused {secret}")); 2]);
    out
}

/// Puts the key into every text.
fn plant(value: &mut Value, secret: &str) {
    match value {
        Value::String(text) => *text = format!("{text} {secret}"),
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, secret)),
        Value::Object(members) => members.values_mut().for_each(|member| plant(member, secret)),
        _ => {}
    }
}

fn provider(recorded: &Recorded, held: Held) -> HttpProvider {
    let row = recorded.provider();
    let builder = HttpProvider::builder(&Catalog::embedded(), row.id().as_str())
        .wire(WireId::from_word(recorded.exchange.wire).unwrap())
        .value("region", "us-east-1");
    builder.credentials(Fixed(held)).build().unwrap()
}

#[test]
fn no_recorded_exchange_shows_the_key() {
    let (mut calls, mut twins) = (0, 0);
    for recorded in recorded::all().iter().filter(|r| r.wire().is_some()) {
        let ours = provider(recorded, Held::key(KEY));
        // Twin: a call with another key cannot know this one, and the same search finds it.
        let twin = provider(recorded, Held::key("another-key-0123"));
        let mut found = false;
        for steps in echoes(recorded, KEY) {
            let out = shown(&ours, recorded, steps.clone());
            assert!(!has_trace(&out), "{}\n{out}", recorded.exchange.label());
            found |= has_trace(&shown(&twin, recorded, steps));
            calls += 1;
        }
        assert!(found, "{}: the search can fail", recorded.exchange.label());
        twins += 1;
    }
    println!("{calls} calls show no key, {twins} twins do");
}

/// The same without recordings, for every kind of right.
#[test]
fn no_kind_of_right_shows() {
    let keys = AwsKeys {
        access_key: Secret::new("ID-wV4tR2mN8pL3"),
        secret_key: Secret::new(KEY),
        session_token: Some(Secret::new("TOKEN-wV4tR2mN8pL3")),
        origin: KeyOrigin::Connection,
    };
    let mut rights = vec![
        ("openai", Held::key(KEY)),
        ("azure-openai", Held::token(KEY, None)),
        ("vertex", Held::token(KEY, None)),
    ];
    if cfg!(all(feature = "bedrock", feature = "sigv4")) {
        rights.push(("bedrock", Held::Aws(keys)));
    }
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let request = ChatRequest::parse(omniroute_core::wire::OPENAI_CHAT, body).unwrap();
    let error = format!(r#"{{"error":{{"message":"key {KEY} is bad","code":"{KEY}"}}}}"#);
    for (row, held) in rights {
        let all = error.replace("key ", "ID-wV4tR2mN8pL3 and TOKEN-wV4tR2mN8pL3 and key ");
        let error = if row == "bedrock" { all } else { error.clone() };
        let ring = KeyRing::new("acc", vec![held.clone()], RingOrder::RoundRobin, 0);
        let provider = HttpProvider::builder(&Catalog::embedded(), row)
            .value("resource", "acme")
            .value("region", "us-east-1")
            .value("project", "p-1")
            .credentials(ring)
            .build()
            .unwrap();
        for status in [200, 400, 401, 403, 429, 500] {
            let vendor = Vendor::new(vec![Step::json(status, error.clone()); 3]);
            let (env, _) = env(&vendor);
            let failure = run(provider.chat(&env, &request, &Call::new("m"))).unwrap().unwrap_err();
            let mut out = format!("{provider:?} {failure} {failure:?} {held:?} {:?}", vendor.seen());
            if row == "openai" {
                let upload = Upload::json("{}");
                let passed = run(provider.pass(&env, Surface::Embeddings, upload, &Call::new("m"))).unwrap();
                out += &format!("{passed:?}");
            }
            assert!(!has_trace(&out), "{row} {status}: {out}");
        }
    }
    assert!(has_trace(&error), "the search can fail");
}

/// A sample stream with the key after its first bytes, for a wire whose frames have sums: what is broken is not shown.
#[test]
fn broken_frames_are_not_shown() {
    if !cfg!(feature = "bedrock") {
        return;
    }
    let provider = HttpProvider::builder(&Catalog::embedded(), "bedrock")
        .value("region", "us-east-1")
        .credentials(Fixed(Held::key(KEY)))
        .build()
        .unwrap();
    let bytes = samples::bytes("bedrock-converse");
    let request = ChatRequest::parse(
        omniroute_core::wire::OPENAI_CHAT,
        r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#,
    )
    .unwrap();
    for at in (0..bytes.len()).step_by(37) {
        let body = [&bytes[..at], KEY.as_bytes(), &bytes[at..]].concat();
        let vendor = Vendor::new([Step::of(200, &[], vec![body.into()])]);
        let (env, _) = env(&vendor);
        let answer = run(provider.chat(&env, &request, &Call::new("m"))).unwrap().unwrap();
        let ChatBody::Stream(items) = answer.body else { panic!("not streamed") };
        let ends = run(items.collect::<Vec<_>>()).unwrap();
        let failure = ends.last().unwrap().as_ref().unwrap_err();
        assert!(!has_trace(&format!("{failure} {failure:?}")), "{at}: {failure:?}");
    }
}
