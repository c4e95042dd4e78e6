//! Clients that go away, and a program that ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::common::gateway::Gateway;
use super::common::http::{Said, Vendor, written};
use super::{STREAM, ask, config};

/// A vendor that says a word and then nothing new for long.
fn thinking() -> Vendor {
    Vendor::new(|_, _| {
        let mut said = Said::stream(&STREAM[..1], Duration::ZERO);
        for _ in 0..100 {
            said.pieces.push((Duration::from_millis(300), b": still here\n\n".to_vec()));
        }
        said
    })
}

fn streaming(gateway: &Gateway) -> TcpStream {
    let mut request = ask("daily");
    request["stream"] = json!(true);
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
        .write_all(&written(gateway.port, "POST /v1/chat/completions", &[], request.to_string().as_bytes()))
        .unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("\"he\"") {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0);
        seen.extend_from_slice(&piece[..read]);
    }
    stream
}

fn until(what: &str, done: impl Fn() -> bool) {
    for round in 0.. {
        if done() {
            break;
        }
        assert!(round < 500, "{what}");
        super::common::http::pause(Duration::from_millis(20));
    }
}

#[test]
fn a_client_that_goes_away_ends_the_call_and_blames_nobody() {
    let vendor = thinking();
    let gateway = Gateway::start(&config(&[&vendor]));
    let stream = streaming(&gateway);
    assert_eq!(gateway.get("/api/monitoring/health").json()["in_flight"]["streams"], 1);
    drop(stream);
    until("the vendor's line is closed", || vendor.broken() == 1);
    until("nothing runs", || gateway.get("/api/monitoring/health").json()["in_flight"]["streams"] == 0);
    let health = gateway.get("/api/monitoring/health").json();
    assert_eq!(
        (&health["breakers"]["items"][0]["failure_count"], &health["status"]),
        (&json!(0), &json!("healthy"))
    );
    assert_eq!(health["counts"]["abandoned"], 1);
}

#[test]
fn a_silent_stream_says_that_it_lives() {
    let vendor = thinking();
    let gateway = Gateway::start(&(config(&[&vendor]) + "[gateway]\nping_ms = 100\n"));
    let mut stream = streaming(&gateway);
    let mut seen = String::new();
    while !seen.contains(": ping\n\n") {
        assert!(seen.len() < 100_000, "{seen}");
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
}

#[test]
fn the_word_to_end_lets_streams_finish_within_their_time() {
    let slow = Vendor::new(|_, _| Said::stream(&STREAM, Duration::from_millis(150)));
    let mut gateway = Gateway::start(&config(&[&slow]));
    let mut stream = streaming(&gateway);
    gateway.terminate();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("[DONE]"), "{rest}");
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn streams_that_take_longer_end_with_an_error_in_their_own_words() {
    let vendor = thinking();
    let mut gateway = Gateway::start(&(config(&[&vendor]) + "[gateway]\nshutdown_grace_ms = 200\n"));
    let mut stream = streaming(&gateway);
    gateway.terminate();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("data: {\"error\":") && rest.contains("shutting down"), "{rest}");
    assert!(!rest.contains("[DONE]"));
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn state_outlives_the_program() {
    let vendor = Vendor::new(|_, _| {
        let mut said = Said::whole(429, r#"{"error":{"message":"later","code":"rate_limit_exceeded"}}"#);
        said.headers.push(("retry-after", "3000".to_owned()));
        said
    });
    let folder = super::common::gateway::folder();
    let file = folder.join("state.db");
    let with_store =
        config(&[&vendor]) + &format!("[store]\nkind = \"sqlite\"\npath = \"{}\"\n", file.display());
    let mut first = Gateway::start(&with_store);
    assert_eq!(first.post("/v1/chat/completions", &ask("daily")).status(), 429);
    let asked = vendor.heard().len();
    first.kill();
    let second = Gateway::start(&with_store);
    let answer = second.post("/v1/chat/completions", &ask("daily"));
    assert!(answer.status() == 429 || answer.status() == 503, "{}", answer.text());
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(vendor.heard().len(), asked, "who rests is not asked again after a restart");
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn as_many_requests_as_the_operator_allows() {
    let vendor = thinking();
    let gateway = Gateway::start(&(config(&[&vendor]) + "[gateway]\nmax_in_flight = 2\n"));
    let (first, second) = (streaming(&gateway), streaming(&gateway));
    let full = gateway.post("/v1/chat/completions", &ask("daily"));
    assert_eq!((full.status(), full.header("retry-after")), (503, Some("1")));
    drop((first, second));
}
