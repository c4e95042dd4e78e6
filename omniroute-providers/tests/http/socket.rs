//! A tiny transport over plain sockets, for tests: one thread and one connection a call, no TLS, no runtime.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

use bytes::Bytes;
use futures::StreamExt;
use futures::channel::{mpsc, oneshot};
use http::{HeaderName, HeaderValue, Request, Response};
use omniroute_core::{Body, HttpTransport, TransportError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketTransport;

type Piece = Result<Bytes, TransportError>;

/// Closes the connection, whatever the thread is waiting for.
struct Guard(TcpStream);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

#[async_trait::async_trait]
impl HttpTransport for SocketTransport {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>, TransportError> {
        let fail = |phase| move |error: std::io::Error| TransportError::new(phase, error.to_string());
        let place = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let stream = TcpStream::connect(place).map_err(fail("connect"))?;
        let guard = Guard(stream.try_clone().map_err(fail("connect"))?);
        let (head, answer) = oneshot::channel();
        let (pieces, body) = mpsc::unbounded();
        std::thread::spawn(move || exchange(stream, &request, head, &pieces));
        let lost = |_| TransportError::new("read", "the connection was cut before the head");
        let response: Response<()> = answer.await.map_err(lost)??;
        let body = body.map(move |piece| {
            let _ = &guard;
            piece
        });
        Ok(response.map(|()| Body::stream(body)))
    }
}

fn exchange(
    mut stream: TcpStream,
    request: &Request<Bytes>,
    head: oneshot::Sender<Result<Response<()>, TransportError>>,
    pieces: &mpsc::UnboundedSender<Piece>,
) {
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let mut text =
        format!("{} {path} HTTP/1.1\r\nhost: {}\r\n", request.method(), request.uri().authority().unwrap());
    for (name, value) in request.headers() {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    text.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", request.body().len()));
    let sent = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(request.body()));
    if let Err(error) = sent {
        let _ = head.send(Err(TransportError::new("send", error.to_string())));
        return;
    }
    let mut reader = BufReader::new(stream);
    let Some(response) = read_head(&mut reader) else { return };
    let length =
        |name| response.headers().get(name).and_then(|v: &HeaderValue| v.to_str().ok()?.parse().ok());
    let (chunked, length) = (response.headers().contains_key("transfer-encoding"), length("content-length"));
    if head.send(Ok(response)).is_err() {
        return;
    }
    let whole =
        if chunked { read_chunks(&mut reader, pieces) } else { read_up_to(&mut reader, length, pieces) };
    if whole.is_none() {
        let _ = pieces.unbounded_send(Err(TransportError::new("read", "the connection was cut")));
    }
}

fn read_head(reader: &mut impl BufRead) -> Option<Response<()>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut response = Response::new(());
    *response.status_mut() = line.split(' ').nth(1)?.parse().ok()?;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Some(response) };
        response.headers_mut().append(name.parse::<HeaderName>().ok()?, value.trim().parse().ok()?);
    }
}

/// `None`: cut.
fn read_chunks(reader: &mut impl BufRead, pieces: &mpsc::UnboundedSender<Piece>) -> Option<()> {
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
        if size == 0 {
            return Some(());
        }
        read_up_to(reader, Some(size), pieces)?;
        line.clear();
        reader.read_line(&mut line).ok()?;
    }
}

fn read_up_to(
    reader: &mut impl Read,
    length: Option<usize>,
    pieces: &mpsc::UnboundedSender<Piece>,
) -> Option<()> {
    let mut left = length.unwrap_or(usize::MAX);
    let mut buffer = [0; 4096];
    while left > 0 {
        let room = left.min(buffer.len());
        let count = reader.read(&mut buffer[..room]).ok()?;
        if count == 0 {
            return if length.is_none() { Some(()) } else { None };
        }
        left -= count;
        pieces.unbounded_send(Ok(Bytes::copy_from_slice(&buffer[..count]))).ok()?;
    }
    Some(())
}
