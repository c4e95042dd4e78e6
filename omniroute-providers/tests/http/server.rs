//! A vendor on a real socket: plain threads, HTTP/1.1, every byte as the script says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// What is done for one request.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) acts: Vec<Act>,
}

/// How the end of the body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Chunked,
    /// Length of the whole body.
    Length(usize),
    /// The connection ends.
    Close,
}

/// One step of a body.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Piece(Vec<u8>),
    Wait(Duration),
    /// The connection is cut.
    Cut,
    /// Nothing more, until the client goes.
    Hang,
    /// Not even a head.
    Silence,
}

/// What happened at the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A request: its first line, its headers in small letters, its body.
    Request(String, Vec<(String, String)>, Vec<u8>),
    /// The client closed a connection that was open.
    Closed,
    /// A body was sent to its end.
    Done,
}

/// The vendor. Its threads end with their connections.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Receiver<Seen>,
}

impl Script {
    pub(crate) fn of(status: u16, framing: Framing, pieces: impl IntoIterator<Item = Vec<u8>>) -> Script {
        let acts = pieces.into_iter().map(Act::Piece).collect();
        Script { status, headers: vec![("content-type".into(), "text/event-stream".into())], framing, acts }
    }

    pub(crate) fn json(status: u16, headers: &[(&str, &str)], body: &str) -> Script {
        let mut script = Script::of(status, Framing::Length(body.len()), [body.as_bytes().to_vec()]);
        script.headers = vec![("content-type".into(), "application/json".into())];
        script.headers.extend(headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        script
    }

    pub(crate) fn then(mut self, act: Act) -> Script {
        self.acts.push(act);
        self
    }
}

impl Server {
    /// Answers requests with these, in order; then closes.
    pub(crate) fn start(scripts: impl IntoIterator<Item = Script>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, seen) = channel();
        let mut scripts: std::collections::VecDeque<Script> = scripts.into_iter().collect();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(script) = scripts.pop_front() else { return };
                let tell = tell.clone();
                std::thread::spawn(move || serve(stream, &script, &tell));
            }
        });
        Server { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next thing that happens; panics if nothing does.
    pub(crate) fn next(&self) -> Seen {
        self.seen.recv_timeout(Duration::from_secs(20)).expect("something happens at the server")
    }

    /// Waits until a client has closed its connection.
    pub(crate) fn until_closed(&self) {
        while self.next() != Seen::Closed {}
    }

    /// Whether nothing happened yet.
    pub(crate) fn is_quiet(&self) -> bool {
        self.seen.try_recv().is_err()
    }
}

fn serve(mut stream: TcpStream, script: &Script, tell: &Sender<Seen>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let first = line.trim_end().to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(n, _)| n == "content-length").and_then(|(_, v)| v.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    tell.send(Seen::Request(first, headers, body)).ok()?;
    if !matches!(script.acts.first(), Some(Act::Silence)) {
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", script.status);
        script.headers.iter().for_each(|(n, v)| head.push_str(&format!("{n}: {v}\r\n")));
        head.push_str(&match script.framing {
            Framing::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
            Framing::Length(length) => format!("content-length: {length}\r\n"),
            Framing::Close => String::new(),
        });
        head.push_str("connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
    }
    for act in &script.acts {
        match act {
            Act::Piece(piece) if piece.is_empty() => {} // an empty chunk would be the end
            Act::Piece(piece) if script.framing == Framing::Chunked => {
                // A chunk in three writes: its size, its data, its end.
                let written = stream
                    .write_all(format!("{:x}\r\n", piece.len()).as_bytes())
                    .and_then(|()| stream.write_all(piece))
                    .and_then(|()| stream.write_all(b"\r\n"));
                if written.is_err() {
                    return tell.send(Seen::Closed).ok();
                }
            }
            Act::Piece(piece) => {
                if stream.write_all(piece).is_err() {
                    return tell.send(Seen::Closed).ok();
                }
            }
            Act::Wait(span) => std::thread::park_timeout(*span),
            Act::Cut => return None,
            Act::Hang | Act::Silence => {
                // The client says nothing more: what ends this is its going.
                let _ = reader.read(&mut [0]);
                return tell.send(Seen::Closed).ok();
            }
        }
    }
    if script.framing == Framing::Chunked {
        stream.write_all(b"0\r\n\r\n").ok()?;
    }
    tell.send(Seen::Done).ok()
}
