//! The same vendor on a real socket: awkward pieces, cuts, silence, redirects. Time stands still unless told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    ChatBody, ChatRequest, Env, Failure, FailureKind, HttpTransport, Inline, Phase, TransportError, wire,
};
use omniroute_providers::credentials::{Fixed, Held};
use omniroute_providers::{Call, Catalog, HttpProvider, WireId, wires};

use crate::exchanges::{self, Exchange};
use crate::recorded::{next, pieces, told};
use crate::samples;
use crate::scripted::NOW;
use crate::server::{Act, Framing, Script, Seen, Server};
use crate::socket::SocketTransport;

type Named = (&'static str, Arc<dyn HttpTransport>);

/// Every transport there is, by name.
fn transports() -> Vec<Named> {
    let socket: Named = ("socket", Arc::new(SocketTransport));
    [Some(socket), real()].into_iter().flatten().collect()
}

#[cfg(feature = "transport-reqwest")]
fn real() -> Option<Named> {
    Some(("reqwest", Arc::new(crate::client::direct())))
}

#[cfg(not(feature = "transport-reqwest"))]
fn real() -> Option<Named> {
    println!("skipped: the transport of the feature transport-reqwest");
    None
}

fn env(http: &Arc<dyn HttpTransport>) -> (Env, VirtualClock) {
    let clock = VirtualClock::at(NOW);
    (Env { clock: Arc::new(clock.clone()), http: Arc::clone(http), offload: Arc::new(Inline) }, clock)
}

/// Runs a future on a runtime of this thread; panics if it hangs.
pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), future).await }).expect("it ends")
}

/// A provider of one wire at a server.
fn provider(wire: &str, server: &Server) -> HttpProvider {
    let (row, path) = match wire {
        "anthropic-messages" => ("anthropic", "/v1"),
        "gemini" => ("gemini", "/v1beta"),
        "ollama" => ("ollama-local", ""),
        "cohere" => ("cohere", ""),
        "bedrock-converse" => ("bedrock", ""),
        _ => ("openai", "/v1"),
    };
    HttpProvider::builder(&Catalog::embedded(), row)
        .wire(WireId::from_word(wire).unwrap())
        .base_url(format!("{}{path}", server.url()))
        .credentials(Fixed(Held::key("KEY-0123456789")))
        .build()
        .unwrap()
}

fn request() -> ChatRequest {
    let body = r#"{"model":"x","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

/// Reads a streamed answer to its end.
async fn read(provider: &HttpProvider, env: &Env) -> Result<Vec<omniroute_core::hub::StreamItem>, Failure> {
    let answer = provider.chat(env, &request(), &Call::new("m-1")).await?;
    let ChatBody::Stream(items) = answer.body else { panic!("not streamed") };
    items.collect::<Vec<_>>().await.into_iter().collect()
}

fn read_at_once(wire: wire::Wire, bytes: &[u8]) -> Result<omniroute_core::hub::Reply<'static>, String> {
    let (mut reader, mut items) = (wire.stream_reader().unwrap(), Vec::new());
    reader.feed(Bytes::copy_from_slice(bytes), &mut items);
    reader.end(&mut items);
    told(wire, &items)
}

/// Streams of every wire that is switched on: recorded ones, else samples.
fn streams(of_each: usize, longest: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut out: Vec<(&'static str, Vec<u8>)> = Vec::new();
    let names =
        ["openai-chat", "openai-responses", "anthropic-messages", "ollama", "cohere", "bedrock-converse"];
    for name in names.into_iter().filter(|name| wires::by_id(name).is_some()) {
        let short = |e: &&&Exchange| e.wire == name && e.streamed() && e.reply.len() <= longest;
        let all: Vec<&Exchange> = exchanges::all().iter().collect();
        out.extend(all.iter().filter(short).take(of_each).map(|e| (name, e.reply.clone())));
        if !matches!(name, "openai-chat" | "openai-responses" | "anthropic-messages") {
            out.push((name, samples::bytes(name)));
        }
    }
    out
}

fn same(wire: &'static str, bytes: &[u8], script: Script, http: &Arc<dyn HttpTransport>, what: &str) {
    let server = Server::start([script]);
    let (env, _) = env(http);
    let items = block(read(&provider(wire, &server), &env)).unwrap_or_else(|f| panic!("{what} {wire}: {f}"));
    let raw: Vec<u8> = items.iter().flat_map(|i| i.raw.to_vec()).collect();
    assert!(raw == bytes, "{what} {wire}: other bytes");
    let format = wires::by_id(wire).unwrap();
    assert_eq!(told(format, &items), read_at_once(format, bytes), "{what} {wire}");
}

#[test]
fn awkward_pieces_give_the_same_message() {
    let (mut seed, mut count) = (11, 0);
    for (name, http) in transports() {
        for (wire, bytes) in streams(1, 3_000) {
            let each = bytes.chunks(1).map(<[u8]>::to_vec);
            same(wire, &bytes, Script::of(200, Framing::Chunked, each), &http, name);
            count += 1;
        }
        for (wire, bytes) in streams(4, 200_000) {
            for framing in [Framing::Chunked, Framing::Length(bytes.len()), Framing::Close] {
                let cut = pieces(&bytes, &mut seed).into_iter().map(|piece| piece.to_vec());
                let mut script = Script::of(200, framing, cut);
                // Some pieces come late.
                for _ in 0..3 {
                    let at = next(&mut seed) as usize % (script.acts.len() + 1);
                    script.acts.insert(at, Act::Wait(Duration::from_millis(3)));
                }
                same(wire, &bytes, script, &http, name);
                count += 1;
            }
        }
    }
    println!("{count} streams over real sockets");
}

#[test]
fn a_connection_cut_in_the_middle_is_a_failure() {
    let mut count = 0;
    for (name, http) in transports() {
        for (wire, bytes) in streams(1, 60_000) {
            for framing in [Framing::Chunked, Framing::Length(bytes.len()), Framing::Close] {
                for end in [0, bytes.len() / 3, bytes.len() / 2] {
                    let script = Script::of(200, framing, [bytes[..end].to_vec()]).then(Act::Cut);
                    let server = Server::start([script]);
                    let (env, _) = env(&http);
                    let failure = block(read(&provider(wire, &server), &env)).unwrap_err();
                    assert_eq!(
                        failure.kind,
                        FailureKind::BadReply,
                        "{name} {wire} {framing:?} {end}: {failure:?}"
                    );
                    if framing != Framing::Close {
                        assert_eq!(failure.rule, "net.cut", "{name} {wire} {framing:?} {end}");
                    }
                    count += 1;
                }
            }
        }
    }
    println!("{count} cut connections");
}

#[test]
fn dropping_closes_the_connection() {
    for (name, http) in transports() {
        let content =
            b"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\"}}]}\n\n".to_vec();
        let server = Server::start([
            Script::of(200, Framing::Chunked, [content.clone()]).then(Act::Hang),
            Script::of(200, Framing::Chunked, []).then(Act::Silence),
            Script::json(429, &[], "").then(Act::Hang),
        ]);
        let provider = provider("openai-chat", &server);
        let (env, _) = env(&http);
        block(async {
            // In the middle of a stream.
            let (request, call) = (request(), Call::new("m"));
            let answer = provider.chat(&env, &request, &call).await.unwrap();
            let ChatBody::Stream(mut items) = answer.body else { panic!("not streamed") };
            items.next().await.unwrap().unwrap();
            assert!(matches!(server.next(), Seen::Request(..)), "{name}");
            assert!(server.is_quiet(), "{name}: open as long as it is held");
            drop(items);
            // The client's own task needs a turn to close.
            tokio::task::yield_now().await;
        });
        server.until_closed();
        block(async {
            // Before there is an answer.
            let (request, call) = (request(), Call::new("m"));
            let waiting = std::pin::pin!(provider.chat(&env, &request, &call));
            let asked = std::pin::pin!(async {
                while server.is_quiet() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            });
            let first = futures::future::select(waiting, asked).await;
            assert!(matches!(first, futures::future::Either::Right(_)), "{name}: it waits");
        });
        server.until_closed();
    }
}

/// Lets the clock run, 10 seconds every few milliseconds, until it is dropped.
struct Ticking(Arc<AtomicBool>);

impl Ticking {
    fn start(clock: VirtualClock) -> Ticking {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(5));
                clock.advance(Duration::from_secs(10));
            }
        });
        Ticking(stop)
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn limits_of_time_are_the_injected_clocks() {
    let content =
        b"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\"}}]}\n\n".to_vec();
    let cases = [
        (Script::of(200, Framing::Chunked, []).then(Act::Silence), "net.first_byte", Phase::Transport),
        (Script::of(200, Framing::Chunked, []).then(Act::Hang), "net.first_event", Phase::BeforeFirstContent),
        (Script::of(200, Framing::Chunked, [content]).then(Act::Hang), "net.idle", Phase::MidStream),
    ];
    for (name, http) in transports() {
        for (script, rule, phase) in cases.clone() {
            let server = Server::start([script]);
            let (env, clock) = env(&http);
            let provider = provider("openai-chat", &server);
            let ticking = Ticking::start(clock);
            let failure = block(async {
                let failure = read(&provider, &env).await.unwrap_err();
                tokio::task::yield_now().await;
                failure
            });
            drop(ticking);
            assert_eq!((failure.kind, failure.rule.as_ref()), (FailureKind::Timeout, rule), "{name}");
            assert_eq!(failure.phase, phase, "{name} {rule}");
            server.until_closed();
        }
    }
}

#[test]
fn error_answers_are_classified() {
    let busy = r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
    let cases = [
        (
            401,
            "x-a",
            "1",
            r#"{"error":{"message":"no","code":"invalid_api_key"}}"#,
            FailureKind::Unauthorized,
            None,
        ),
        (429, "retry-after", "7", busy, FailureKind::RateLimited, Some(7_000)),
        (429, "retry-after-ms", "350", busy, FailureKind::RateLimited, Some(350)),
        (503, "x-a", "1", "<html><title>busy</title></html>", FailureKind::Unavailable, None),
        (
            404,
            "x-a",
            "1",
            r#"{"error":{"message":"x","code":"model_not_found"}}"#,
            FailureKind::ModelUnavailable,
            None,
        ),
    ];
    for (name, http) in transports() {
        for (status, header, value, body, kind, wait) in cases {
            let server =
                Server::start([Script::json(status, &[(header, value), ("x-request-id", "r-1")], body)]);
            let (env, _) = env(&http);
            let failure = block(read(&provider("openai-chat", &server), &env)).unwrap_err();
            assert_eq!((failure.kind, failure.status), (kind, Some(status)), "{name} {failure:?}");
            if let Some(wait) = wait {
                assert_eq!(failure.retry_at.map(|at| at.0 - NOW.0), Some(wait), "{name}");
            }
        }
    }
}

#[test]
fn a_redirect_takes_the_key_nowhere() {
    for (name, http) in transports() {
        let elsewhere = Server::start([Script::json(200, &[], "{}")]);
        let there = format!("{}/v1/chat/completions", elsewhere.url());
        for status in [301, 302, 303, 307, 308] {
            let server = Server::start([Script::json(status, &[("location", &there)], "")]);
            let (env, _) = env(&http);
            let failure = block(read(&provider("openai-chat", &server), &env)).unwrap_err();
            assert_eq!(failure.status, Some(status), "{name}");
            assert!(elsewhere.is_quiet(), "{name}: nobody was asked there");
        }
    }
}

#[test]
fn nobody_at_the_address_is_told() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (name, http) in transports() {
        let request = http::Request::post(format!("http://{closed}/v1")).body(Bytes::new()).unwrap();
        let error: TransportError = block(http.send(request)).unwrap_err();
        assert_eq!(error.phase, "connect", "{name} {error}");
        assert!(!error.message.contains("/v1"), "{name} {error}");
    }
}
