//! Bodies of requests: bounded while they are read, unpacked, of a type that we read.

use std::io::Write;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use flate2::write::GzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;
use omniroute_core::Doc;
use serde_json::json;

use super::fault::Fault;

/// A body that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(30);

/// Takes what was unpacked, up to a limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + piece.len() > self.limit {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads a whole body of at most `limit` bytes after unpacking.
///
/// # Errors
/// Too long, too slow, or packed in a way nobody reads.
pub(super) async fn read(headers: &HeaderMap, mut body: Body, limit: usize) -> Result<Bytes, Fault> {
    let large = || {
        let mut fault =
            Fault::new(413, "request_too_large", format!("the body is longer than {limit} bytes"));
        fault.details = Some(json!({ "limit": limit }));
        fault
    };
    let packed = match headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?").trim()) {
        None | Some("" | "identity") => false,
        Some(name) if name.eq_ignore_ascii_case("gzip") => true,
        Some(name) => {
            let message = format!("content-encoding {name:?} is not read; allowed are gzip and identity");
            return Err(Fault::new(415, "unsupported_media_type", message));
        }
    };
    let told = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|told| told > limit) {
        return Err(large());
    }
    let bounded = Bounded { bytes: Vec::with_capacity(told.unwrap_or(0).min(limit)), limit };
    let mut plain = bounded;
    let mut gzip = packed.then(|| GzDecoder::new(Bounded { bytes: Vec::new(), limit }));
    loop {
        let frame = tokio::time::timeout(SILENCE, body.frame()).await;
        let frame = frame.map_err(|_| {
            let message = format!("nothing of the body came for {} seconds", SILENCE.as_secs());
            Fault::new(408, "request_timeout", message)
        })?;
        let piece = match frame {
            None => break,
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(_)) => return Err(Fault::bad("incomplete_body", "the body broke off")),
        };
        let written = match &mut gzip {
            Some(gzip) => gzip.write_all(&piece),
            None => plain.write_all(&piece),
        };
        written.map_err(|error| match error.kind() {
            std::io::ErrorKind::FileTooLarge => large(),
            _ => Fault::bad("invalid_encoding", "the body is no gzip, although content-encoding says so"),
        })?;
    }
    let bytes = match gzip {
        None => plain.bytes,
        Some(gzip) => {
            let end = gzip.finish().map_err(|error| match error.kind() {
                std::io::ErrorKind::FileTooLarge => large(),
                _ => Fault::bad("invalid_encoding", "the gzip of the body breaks off"),
            })?;
            end.bytes
        }
    };
    let bytes = Bytes::from(bytes);
    Ok(match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(_) => bytes.slice(3..),
        None => bytes,
    })
}

/// Whether the type of a body is JSON. `lenient`: none said is taken for JSON.
pub(super) fn json_type(headers: &HeaderMap, lenient: bool) -> Result<(), Fault> {
    let kind = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let essence = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    match essence.as_deref() {
        None if lenient => Ok(()),
        Some("application/json") => Ok(()),
        other => {
            let said = other.unwrap_or("nothing");
            let message = format!("content-type says {said:?}; allowed is application/json");
            Err(Fault::new(415, "unsupported_media_type", message))
        }
    }
}

/// The body as a document.
///
/// # Errors
/// It is no JSON: with line, column and offset.
pub(super) fn doc(bytes: Bytes) -> Result<Doc, Fault> {
    Doc::parse_with_limit(bytes, usize::MAX)
        .map_err(|error| Fault::bad("invalid_json", format!("the body is no JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(bytes: &[u8], encoding: Option<&str>, limit: usize) -> Result<Bytes, u16> {
        let mut headers = HeaderMap::new();
        if let Some(name) = encoding {
            headers.insert(CONTENT_ENCODING, name.parse().unwrap());
        }
        read(&headers, Body::from(bytes.to_vec()), limit).await.map_err(|fault| fault.status)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[tokio::test]
    async fn the_limit_counts_what_was_unpacked() {
        assert_eq!(take(b"12345", None, 5).await.unwrap(), "12345");
        assert_eq!(take(b"123456", None, 5).await, Err(413));
        let zeros = vec![b'0'; 1 << 20];
        let packed = gzip(&zeros);
        assert!(packed.len() < 10_000);
        assert_eq!(take(&packed, Some("GZIP"), 1 << 20).await.unwrap().len(), 1 << 20);
        assert_eq!(take(&packed, Some("gzip"), (1 << 20) - 1).await, Err(413));
        assert_eq!(take(&packed[..packed.len() - 9], Some("gzip"), 1 << 20).await, Err(400));
        assert_eq!(take(b"plain", Some("gzip"), 100).await, Err(400));
        assert_eq!(take(b"x", Some("br"), 100).await, Err(415));
        assert_eq!(take(b"\xef\xbb\xbf{}", None, 100).await.unwrap(), "{}");
    }

    #[test]
    fn types_of_bodies() {
        let headers = |kind: &str| HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
        assert!(json_type(&headers("application/json; charset=utf-8"), false).is_ok());
        assert!(json_type(&headers("Application/JSON"), false).is_ok());
        assert_eq!(json_type(&headers("text/plain"), true).unwrap_err().status, 415);
        assert!(json_type(&HeaderMap::new(), true).is_ok());
        assert_eq!(json_type(&HeaderMap::new(), false).unwrap_err().status, 415);
    }

    #[test]
    fn bad_json_is_placed() {
        let fault = doc(Bytes::from_static(b"{\n  \"a\": }")).unwrap_err();
        assert_eq!((fault.status, fault.code.as_str()), (400, "invalid_json"));
        assert!(fault.message.contains("line 2"), "{}", fault.message);
    }
}
