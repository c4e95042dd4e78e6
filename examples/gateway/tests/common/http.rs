//! A client that writes its requests byte by byte, and vendors that answer with given bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request as it arrived, or an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    /// The first line.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The other side went away before the end.
    pub(crate) cut: bool,
}

impl Message {
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap_or_default().parse().unwrap_or(0)
    }

    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// Everything, for looking for what must not be there.
    pub(crate) fn all(&self) -> String {
        format!("{} {:?} {}", self.line, self.headers, String::from_utf8_lossy(&self.body))
    }
}

/// Reads one message; none: the line was closed before it began.
pub(crate) fn read(stream: &mut BufReader<TcpStream>) -> Option<Message> {
    let mut message = Message::default();
    let mut line = String::new();
    if stream.read_line(&mut line).ok()? == 0 {
        return None;
    }
    message.line = line.trim_end().to_owned();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if message.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            if stream.read_line(&mut size).unwrap_or(0) == 0 {
                message.cut = true;
                break;
            }
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut piece = vec![0; size + 2];
            if stream.read_exact(&mut piece).is_err() {
                message.cut = true;
                break;
            }
            message.body.extend_from_slice(&piece[..size]);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = message.header("content-length") {
        message.body = vec![0; length.parse().unwrap()];
        message.cut = stream.read_exact(&mut message.body).is_err();
    }
    Some(message)
}

/// What a vendor says.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Pieces, and how long each is waited for. One piece without a wait is a whole body.
    pub(crate) pieces: Vec<(Duration, Vec<u8>)>,
    pub(crate) streamed: bool,
}

impl Said {
    pub(crate) fn whole(status: u16, body: impl Into<Vec<u8>>) -> Said {
        let headers = vec![("content-type", "application/json".to_owned())];
        Said { status, headers, pieces: vec![(Duration::ZERO, body.into())], streamed: false }
    }

    pub(crate) fn stream(pieces: &[&str], wait: Duration) -> Said {
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        let pieces = pieces.iter().map(|piece| (wait, piece.as_bytes().to_vec())).collect();
        Said { status: 200, headers, pieces, streamed: true }
    }
}

/// A vendor on a port of its own.
#[derive(Debug)]
pub(crate) struct Vendor {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<Message>>>,
    /// Answers that could not be sent to their end.
    broken: Arc<Mutex<usize>>,
}

impl Vendor {
    /// Answers with what `script` says to the request and its number.
    pub(crate) fn new(script: impl Fn(&Message, usize) -> Said + Send + Sync + 'static) -> Vendor {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, broken) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let (script, all, cut) = (Arc::new(script), Arc::clone(&heard), Arc::clone(&broken));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, all, cut) = (Arc::clone(&script), Arc::clone(&all), Arc::clone(&cut));
                thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let mut out = stream.try_clone().unwrap();
                    let mut input = BufReader::new(stream);
                    while let Some(message) = read(&mut input) {
                        let number = {
                            let mut all = all.lock().unwrap();
                            all.push(message.clone());
                            all.len() - 1
                        };
                        if say(&mut out, &script(&message, number)).is_err() {
                            *cut.lock().unwrap() += 1;
                            break;
                        }
                    }
                });
            }
        });
        Vendor { port, heard, broken }
    }

    /// Requests so far.
    pub(crate) fn heard(&self) -> Vec<Message> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn broken(&self) -> usize {
        *self.broken.lock().unwrap()
    }
}

/// Waits: other processes know no clock but the real one.
#[expect(clippy::disallowed_methods, reason = "a vendor is slow by real time")]
pub(crate) fn pause(wait: Duration) {
    thread::sleep(wait);
}

fn say(out: &mut TcpStream, said: &Said) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\n", said.status);
    for (name, value) in &said.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !said.streamed {
        let body: Vec<u8> = said.pieces.iter().flat_map(|(_, piece)| piece.clone()).collect();
        said.pieces.iter().for_each(|(wait, _)| pause(*wait));
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        out.write_all(head.as_bytes())?;
        return out.write_all(&body);
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    out.write_all(head.as_bytes())?;
    for (wait, piece) in &said.pieces {
        pause(*wait);
        out.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        out.write_all(piece)?;
        out.write_all(b"\r\n")?;
    }
    out.write_all(b"0\r\n\r\n")
}

/// Sends a request as it is and reads the answer.
pub(crate) fn raw(port: u16, request: &[u8]) -> Message {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut out = stream.try_clone().unwrap();
    // A server may answer before it has read everything, and close.
    let _ = out.write_all(request);
    read(&mut BufReader::new(stream)).unwrap_or_default()
}

/// Sends a request with a body.
pub(crate) fn call(port: u16, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Message {
    raw(port, &written(port, line, headers, body))
}

/// A request as bytes: `line` is method and path.
pub(crate) fn written(port: u16, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("{line} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        out.push_str(&format!("host: 127.0.0.1:{port}\r\n"));
    }
    if !body.is_empty() {
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            out.push_str("content-type: application/json\r\n");
        }
        out.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("connection: close\r\n\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    out
}
