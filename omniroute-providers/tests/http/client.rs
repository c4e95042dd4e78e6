//! The transport of the feature `transport-reqwest` by itself: proxies, handshakes, what is sent, what is kept.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::{HttpTransport, TransportError};
use omniroute_providers::transport::{ProxySpec, ReqwestOptions, ReqwestTransport, Via};

use crate::loopback::block;
use crate::server::{Script, Seen, Server};

pub(crate) fn direct() -> ReqwestTransport {
    with(Via::Direct).unwrap()
}

fn with(via: Via) -> Result<ReqwestTransport, TransportError> {
    let mut options = ReqwestOptions::default();
    options.via = via;
    ReqwestTransport::with(options)
}

fn get(url: &str) -> http::Request<Bytes> {
    http::Request::get(url).body(Bytes::new()).unwrap()
}

async fn body(transport: &ReqwestTransport, url: &str) -> Result<String, TransportError> {
    let mut body = transport.send(get(url)).await?.into_body();
    let mut out = Vec::new();
    while let Some(piece) = body.next().await {
        out.extend_from_slice(&piece?);
    }
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_proxy_is_used_or_the_call_fails() {
    let proxy = Server::start([Script::json(200, &[], "by proxy")]);
    let url = format!("http://ann:pass-word-9@{}", proxy.address);
    let transport = with(Via::Proxy(ProxySpec::new(&url))).unwrap();
    assert!(!format!("{transport:?}").contains("pass-word-9"));
    assert_eq!(block(body(&transport, "http://vendor.example/v1")).unwrap(), "by proxy");
    let Seen::Request(first, headers, _) = proxy.next() else { panic!("no request") };
    assert_eq!(first, "GET http://vendor.example/v1 HTTP/1.1");
    assert!(headers.iter().any(|(n, v)| n == "proxy-authorization" && v.starts_with("Basic ")));

    // This machine is called straight.
    let local = Server::start([Script::json(200, &[], "straight")]);
    assert_eq!(block(body(&transport, &local.url())).unwrap(), "straight");

    // A proxy that is not there is never gone around.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let local = Server::start([Script::json(200, &[], "straight")]);
    let spec = ProxySpec::new(format!("http://ann:pass-word-9@{closed}")).even_loopback();
    let transport = with(Via::Proxy(spec)).unwrap();
    for url in ["https://vendor.example/v1", "http://vendor.example/v1", &local.url()] {
        let error = block(body(&transport, url)).unwrap_err();
        assert_eq!(error.phase, "proxy", "{url} {error}");
        assert!(!error.message.contains("pass-word-9"), "{error}");
    }
    assert!(local.is_quiet());
    assert_eq!(with(Via::Proxy(ProxySpec::new("ftp://x"))).unwrap_err().phase, "proxy");
}

#[test]
fn who_speaks_no_tls_is_told_from_who_is_not_there() {
    let server = Server::start([Script::json(200, &[], "plain")]);
    let error = block(direct().send(get(&format!("https://{}", server.address)))).unwrap_err();
    assert_eq!(error.phase, "tls", "{error}");
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let asked = crate::scripted::run(direct().send(get("http://127.0.0.1:1/")));
    assert_eq!(asked.unwrap().unwrap_err().phase, "send");
}

#[test]
fn it_sends_what_it_is_told_and_no_more() {
    let server = Server::start([Script::json(200, &[], "ok")]);
    let mut request = http::Request::post(format!("{}/v1/x%3A0?a=b", server.url()));
    request = request.header("x-one", "1").header("user-agent", "ours");
    block(direct().send(request.body(Bytes::from_static(b"{}")).unwrap())).unwrap();
    let Seen::Request(first, headers, body) = server.next() else { panic!("no request") };
    assert_eq!((first.as_str(), body.as_slice()), ("POST /v1/x%3A0?a=b HTTP/1.1", &b"{}"[..]));
    let mut names: Vec<&str> = headers.iter().map(|(n, _)| n.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "content-length", "host", "user-agent", "x-one"]);
}

#[test]
fn a_connection_that_was_read_to_its_end_serves_the_next_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Nobody would ever answer on a second connection.
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        for _ in 0..2 {
            lines.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty()).for_each(drop);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
        }
        listener
    });
    let first = direct();
    let copy = first.clone();
    block(async {
        for transport in [first, copy] {
            assert_eq!(body(&transport, &url).await.unwrap(), "ok");
            // The client's own task needs turns to keep the connection.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
    });
    drop(server.join().unwrap());
}
