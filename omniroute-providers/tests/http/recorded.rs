//! Every recorded exchange through a provider: the vendor replays its bytes, in pieces, and what comes out is what the
//! wire's reader finds in them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue};
use omniroute_core::hub::{Assembler, Reply, StreamItem};
use omniroute_core::wire::Wire;
use omniroute_core::{ChatBody, ChatRequest, Doc, Env, Failure, Phase};
use omniroute_providers::credentials::{Fixed, Held};
use omniroute_providers::{
    Call, Catalog, Dialect, HttpProvider, Scene, WireId, classify, classify_error, wires,
};
use serde_json::Value;

use crate::exchanges::{self, Exchange, ReplyKind};
use crate::scripted::{NOW, Step, Vendor, env, run};

/// A recorded call with what the wire tests do not need.
pub(crate) struct Recorded {
    pub(crate) exchange: &'static Exchange,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
}

/// All recorded calls that have a request; nothing where the recordings are absent.
pub(crate) fn all() -> Vec<Recorded> {
    let known: HashMap<String, &Exchange> = exchanges::all().iter().map(|e| (e.label(), e)).collect();
    let Some(folder) = exchanges::folder() else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    let mut out = Vec::new();
    for text in files.iter().map(|p| std::fs::read_to_string(p).unwrap()) {
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let label = format!("{}/{}", line["provider"].as_str().unwrap(), line["name"].as_str().unwrap());
            let Some(exchange) = known.get(&label).filter(|e| e.request.is_some()) else { continue };
            let headers = line["response"]["headers"].as_object().into_iter().flatten();
            let headers =
                headers.map(|(n, v)| (n.clone(), v.as_str().unwrap_or_default().to_owned())).collect();
            out.push(Recorded {
                exchange,
                path: line["request"]["path"].as_str().unwrap().to_owned(),
                headers,
            });
        }
    }
    out
}

impl Recorded {
    pub(crate) fn wire(&self) -> Option<Wire> {
        wires::by_id(self.exchange.wire)
    }

    pub(crate) fn model(&self) -> String {
        let body: Value = serde_json::from_str(self.exchange.request.as_deref().unwrap()).unwrap();
        if let Some(model) = body["model"].as_str() {
            return model.to_owned();
        }
        let step =
            self.path.split('/').find(|s| s.contains("enerateContent")).and_then(|s| s.split(':').next());
        let step = step.or_else(|| self.path.strip_prefix("/model/").and_then(|p| p.split('/').next()));
        step.unwrap_or_default().replace("%3A", ":")
    }

    /// The provider that stands for the vendor: its row, or a neighbour's row at an address of its own.
    pub(crate) fn provider(&self) -> HttpProvider {
        let (row, own) = match self.exchange.provider.as_str() {
            "llamacpp" => ("llama-cpp", None),
            "mistralrs" => ("llama-cpp", Some("http://127.0.0.1:1234/v1")),
            "ollama" => ("ollama-local", None),
            "chatgpt" => ("openai", Some("https://chatgpt.example/backend-api/codex")),
            "copilot" => ("openai", Some("https://copilot.example")),
            "doubleword" => ("openai", Some("https://doubleword.example/v1")),
            same => (same, None),
        };
        let builder = HttpProvider::builder(&Catalog::embedded(), row)
            .wire(WireId::from_word(self.exchange.wire).unwrap())
            .value("region", "us-east-1")
            .credentials(Fixed(Held::key("KEY-0123456789")));
        match own {
            Some(url) => builder.base_url(url).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }

    pub(crate) fn step(&self, reply: &[u8], seed: &mut u64) -> Step {
        let headers: Vec<_> = self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        Step::of(self.exchange.status, &headers, pieces(reply, seed))
    }

    fn scene<'a>(&'a self, dialect: Dialect, headers: &'a HeaderMap) -> Scene<'a> {
        let sent = self.exchange.request.as_deref().unwrap().as_bytes();
        Scene { dialect, headers: Some(headers), now: NOW, sent, ..Scene::default() }
    }

    fn header_map(&self) -> HeaderMap {
        let pair =
            |(n, v): &(String, String)| (n.parse::<HeaderName>().unwrap(), HeaderValue::from_str(v).unwrap());
        self.headers.iter().map(pair).collect()
    }

    fn dialect(&self) -> Dialect {
        let catalog = Catalog::embedded();
        let provider = self.provider();
        let row = catalog.provider(provider.id().as_str()).unwrap();
        Dialect::of(&row, WireId::from_word(self.exchange.wire).unwrap())
    }
}

/// Pieces that end at random places; some bytes come one by one.
pub(crate) fn pieces(bytes: &[u8], seed: &mut u64) -> Vec<Bytes> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let size = match next(seed) % 4 {
            0 => 1,
            1 => 1 + next(seed) as usize % 16,
            _ => 1 + next(seed) as usize % 700,
        };
        let (piece, tail) = rest.split_at(size.min(rest.len()));
        out.push(Bytes::copy_from_slice(piece));
        rest = tail;
    }
    out
}

/// Pseudo-random numbers from a seed.
pub(crate) fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// What a reader finds in bytes that come at once.
pub(crate) fn told(wire: Wire, items: &[StreamItem]) -> Result<Reply<'static>, String> {
    let mut assembler = Assembler::new(wire.id());
    items.iter().flat_map(|i| &i.events).for_each(|event| assembler.push(event.clone()));
    assembler.finish().map_err(|error| error.message)
}

fn read_at_once(wire: Wire, bytes: &[u8]) -> Result<Reply<'static>, String> {
    let (mut reader, mut items) = (wire.stream_reader().unwrap(), Vec::new());
    reader.feed(Bytes::copy_from_slice(bytes), &mut items);
    reader.end(&mut items);
    told(wire, &items)
}

/// Items of a streamed answer and how it ended.
pub(crate) fn drain(body: ChatBody) -> (Vec<StreamItem>, Option<Failure>) {
    let ChatBody::Stream(items) = body else { panic!("not streamed") };
    let mut out = (Vec::new(), None);
    for item in run(items.collect::<Vec<_>>()).expect("nothing hangs") {
        match item {
            Ok(item) => out.0.push(item),
            Err(failure) => out.1 = Some(failure),
        }
    }
    out
}

/// One call; `reply` is what the vendor sends. Says what is not as recorded.
fn check(recorded: &Recorded, reply: &[u8], seed: &mut u64) -> Result<&'static str, String> {
    let exchange = recorded.exchange;
    let wire = recorded.wire().unwrap();
    let provider = recorded.provider();
    let vendor = Vendor::new([recorded.step(reply, seed)]);
    let (env, _): (Env, _) = env(&vendor);
    let body = exchange.request.clone().unwrap();
    let request = ChatRequest::parse(wire, body.clone()).map_err(|e| e.to_string())?;
    let model = recorded.model();
    let mut call = Call::new(&model);
    let in_address = recorded.path.ends_with("converse-stream");
    call.stream = in_address.then_some(true);
    let streamed = in_address || request.head().stream;
    let answered = run(provider.chat(&env, &request, &call)).ok_or("it hangs")?;
    let sent = vendor.seen();
    let sent = sent.first().ok_or("nothing was sent")?;
    let same = |what: &str, same: bool| if same { Ok(()) } else { Err(format!("another {what}")) };
    same("body", sent.body() == body.as_bytes())?;
    if exchange.provider != "deepseek" {
        same(&format!("path {}", sent.uri().path()), sent.uri().path() == recorded.path)?;
    }
    same("count of open exchanges", vendor.open() == usize::from(streamed && answered.is_ok()))?;
    if exchange.kind == ReplyKind::Error {
        let failure = answered.err().ok_or("an error looks like success")?;
        let headers = recorded.header_map();
        let wanted =
            classify(exchange.status, &exchange.reply, &recorded.scene(recorded.dialect(), &headers));
        same(&format!("failure {failure:?}, wanted {wanted:?}"), failure == wanted)?;
        return Ok("error");
    }
    if let (Err(failure), false) = (&answered, streamed) {
        let doc = Doc::parse(exchange.reply.clone()).unwrap();
        let empty = wire.read_reply(&doc).is_err() && reply == exchange.reply;
        same(&format!("failure {failure:?}"), empty && failure.rule == "ok.empty")?;
        return Ok("empty, a failure");
    }
    let response = answered.map_err(|failure| failure.to_string())?;
    if !streamed {
        let ChatBody::Whole(doc) = &response.body else { return Err("not whole".to_owned()) };
        let wanted = Doc::parse(exchange.reply.clone()).unwrap();
        if wire.read_reply(&wanted).is_err() {
            same("bytes", doc.bytes() == &exchange.reply)?;
            return Ok("empty, and meant to be");
        }
        let wanted = wire.read_reply(&wanted).unwrap().value.into_owned();
        same("bytes", doc.bytes() == &exchange.reply)?;
        same("message", wire.read_reply(doc).map_err(|e| e.to_string())?.value.into_owned() == wanted)?;
        return Ok("whole");
    }
    let (items, failure) = drain(response.body);
    if let Some(failure) = failure {
        return Err(format!("ended with {failure}"));
    }
    let raw: Vec<u8> = items.iter().flat_map(|item| item.raw.iter().copied()).collect();
    same("bytes", raw == exchange.reply)?;
    same("message", told(wire, &items)? == read_at_once(wire, &exchange.reply)?)?;
    same("count of open exchanges", vendor.open() == 0)?;
    Ok(if exchange.kind == ReplyKind::Whole { "whole for a stream" } else { "streamed" })
}

#[test]
fn recorded_exchanges_come_through_a_provider() {
    let (mut counts, mut wrong, mut seed) = (BTreeMap::new(), Vec::new(), 0x5EED);
    for recorded in all() {
        if recorded.wire().is_none() {
            *counts.entry("skipped: wire not switched on").or_insert(0) += 1;
            continue;
        }
        match check(&recorded, &recorded.exchange.reply, &mut seed) {
            Ok(kind) => *counts.entry(kind).or_insert(0) += 1,
            Err(error) => wrong.push(format!("{}: {error}", recorded.exchange.label())),
        }
    }
    println!("recorded exchanges through a provider: {counts:?}, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let read: i32 = counts.values().sum();
    assert!(read == 0 || read >= 900, "{read} of 917 requests");
}

/// Twins: a letter changed on the way, a stream cut, an error with another status. The same check sees them.
#[test]
fn what_changes_on_the_way_is_noticed() {
    let (mut seed, mut caught) = (1, 0);
    for recorded in all().iter().filter(|r| r.wire().is_some()).step_by(23) {
        let reply = &recorded.exchange.reply;
        let mut cut = reply.clone();
        cut.truncate(reply.len() - 1 - reply.len() / 3);
        let mut other = reply.clone();
        let at = other.iter().rposition(|b| *b == b'e').unwrap();
        other[at] = b'f';
        for twin in [cut, other] {
            // Of a long error the message may be cut before the change; all else must show.
            let seen = check(recorded, &twin, &mut seed).is_err();
            assert!(seen || recorded.exchange.kind == ReplyKind::Error, "{}", recorded.exchange.label());
            caught += usize::from(seen);
        }
    }
    println!("{caught} changed answers noticed");
}

/// The tables were judged by hand on these errors; through a provider they mean the same.
#[test]
fn recorded_errors_through_a_provider_mean_what_was_judged() {
    let judged: HashMap<&str, Vec<&str>> = include_str!("../classify/recorded.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| (line.split('\t').nth(1).unwrap(), line.split('\t').collect()))
        .collect();
    let (mut count, mut wrong, mut seed) = (0, Vec::new(), 7);
    for recorded in all().iter().filter(|r| r.exchange.kind == ReplyKind::Error && r.wire().is_some()) {
        let row = &judged[recorded.exchange.name.as_str()];
        if !format!("{:?}", recorded.dialect()).eq_ignore_ascii_case(row[2]) {
            continue; // a neighbour's row stands for the vendor
        }
        let vendor = Vendor::new([recorded.step(&recorded.exchange.reply, &mut seed)]);
        let (env, _) = env(&vendor);
        let wire = recorded.wire().unwrap();
        let request = ChatRequest::parse(wire, recorded.exchange.request.clone().unwrap()).unwrap();
        let model = recorded.model();
        let failure = run(recorded.provider().chat(&env, &request, &Call::new(&model))).unwrap().unwrap_err();
        let scope = serde_json::to_string(&failure.scope).unwrap();
        let found = (failure.kind.code(), scope.trim_matches('"'), failure.rule.as_ref());
        if found != (row[4], row[5], row[6]) || failure.status != Some(recorded.exchange.status) {
            wrong.push(format!("{}: {found:?}, judged {:?}", recorded.exchange.label(), &row[4..]));
        }
        assert_eq!(failure.phase, Phase::Headers, "{}", recorded.exchange.label());
        count += 1;
    }
    println!("{count} recorded errors through a provider");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An error that a wire's reader finds in a stream is classified as the same error with a status.
#[test]
fn an_error_in_a_stream_is_read_by_the_same_tables() {
    let body = br#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
    let scene = Scene { dialect: Dialect::Anthropic, now: NOW, ..Scene::default() };
    let error = wires::by_id("anthropic").unwrap().read_error(429, body);
    let (one, two) = (classify_error(&error, &scene), classify(429, body, &scene));
    assert_eq!((one.kind, one.scope, one.rule), (two.kind, two.scope, two.rule));
}
