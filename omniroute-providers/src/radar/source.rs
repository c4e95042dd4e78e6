//! Where a feed comes from: any source, or one address over the host's transport.

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::Uri;
use omniroute_core::HttpTransport;

use super::gate::{Refusal, SyncStatus, too_large};

/// The most that is read of a feed.
pub const MAX_FEED_BYTES: usize = 10 * 1024 * 1024;

/// Brings the bytes of a feed, unchecked: [`super::Radar`] checks them.
#[async_trait::async_trait]
pub trait CatalogFeed: Send + Sync + fmt::Debug {
    /// Fetches the feed once.
    ///
    /// # Behavior
    /// - Reads at most [`MAX_FEED_BYTES`] and one byte more.
    /// - Sends nothing about the user, and no key of a provider.
    /// - No retries and no time limit: those belong to the caller. Dropping the future aborts.
    ///
    /// # Errors
    /// [`SyncStatus::FetchFailed`] or [`SyncStatus::TooLarge`].
    async fn fetch(&self) -> Result<Bytes, Refusal>;
}

/// A feed at an address, fetched by one plain GET over the transport of the host.
#[derive(Debug, Clone)]
pub struct SignedHttpFeed {
    url: Uri,
    http: Arc<dyn HttpTransport>,
}

impl SignedHttpFeed {
    /// A feed at `url`: https, or http to this machine.
    ///
    /// # Errors
    /// [`FeedSetupError`] if the address is neither, or names a user.
    pub fn new(url: &str, http: Arc<dyn HttpTransport>) -> Result<SignedHttpFeed, FeedSetupError> {
        let uri: Uri = url.parse().map_err(|_| FeedSetupError::Form)?;
        let authority = uri.authority().ok_or(FeedSetupError::Form)?;
        if authority.as_str().contains('@') {
            return Err(FeedSetupError::User);
        }
        let here = matches!(authority.host(), "localhost" | "127.0.0.1" | "[::1]");
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if here => {}
            _ => return Err(FeedSetupError::Plain),
        }
        Ok(SignedHttpFeed { url: uri, http })
    }
}

#[async_trait::async_trait]
impl CatalogFeed for SignedHttpFeed {
    async fn fetch(&self) -> Result<Bytes, Refusal> {
        let failed = |why: String| Refusal::new(SyncStatus::FetchFailed, why);
        let mut request = http::Request::new(Bytes::new());
        *request.uri_mut() = self.url.clone();
        let response = self.http.send(request).await.map_err(|error| failed(error.to_string()))?;
        if response.status() != http::StatusCode::OK {
            return Err(failed(format!("status {}", response.status().as_u16())));
        }
        let length = response.headers().get(http::header::CONTENT_LENGTH);
        let declared = length.and_then(|value| value.to_str().ok()).and_then(|text| text.parse::<u64>().ok());
        if declared.is_some_and(|length| length > MAX_FEED_BYTES as u64) {
            return Err(too_large());
        }
        let mut body = response.into_body();
        let mut bytes = BytesMut::new();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| failed(error.to_string()))?;
            if piece.len() > MAX_FEED_BYTES - bytes.len() {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes.freeze())
    }
}

/// An address that no feed is fetched from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedSetupError {
    /// Not an absolute address.
    Form,
    /// Neither https nor this machine.
    Plain,
    /// It names a user.
    User,
}

impl fmt::Display for FeedSetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FeedSetupError::Form => "the address of the feed is no absolute url",
            FeedSetupError::Plain => "the feed is fetched by https, or by http from this machine only",
            FeedSetupError::User => "the address of the feed must not name a user",
        })
    }
}

impl std::error::Error for FeedSetupError {}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt;
    use omniroute_core::{Body, TransportError};

    use super::super::gate::Radar;
    use super::super::samples::{payload, seal, signer_key};
    use super::*;
    use crate::free_tiers::Day;

    /// Answers once, and counts the pieces that were read.
    #[derive(Debug, Default)]
    struct Scripted {
        status: u16,
        length: Option<String>,
        pieces: Vec<Result<Bytes, TransportError>>,
        read: Arc<AtomicUsize>,
        seen: Mutex<Vec<http::Request<Bytes>>>,
    }

    #[async_trait::async_trait]
    impl HttpTransport for Scripted {
        async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Body>, TransportError> {
            self.seen.lock().unwrap().push(request);
            let read = Arc::clone(&self.read);
            let pieces = futures::stream::iter(self.pieces.clone()).inspect(move |_| {
                read.fetch_add(1, Ordering::Relaxed);
            });
            let mut response = http::Response::new(Body::stream(pieces));
            *response.status_mut() = http::StatusCode::from_u16(self.status).unwrap();
            if let Some(length) = &self.length {
                response.headers_mut().insert("content-length", length.parse().unwrap());
            }
            Ok(response)
        }
    }

    /// The scripted transport never waits.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        future.now_or_never().unwrap()
    }

    fn fetch(script: Scripted) -> (Result<Bytes, Refusal>, Arc<Scripted>) {
        let script = Arc::new(script);
        let feed = SignedHttpFeed::new("https://feed.example/v1/catalog", script.clone()).unwrap();
        (block_on(feed.fetch()), script)
    }

    #[test]
    fn a_feed_is_fetched_and_checked() {
        let bytes = Bytes::from(seal(payload("2026.10.08.1", "").as_bytes()));
        let pieces = bytes.chunks(50).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let (got, script) = fetch(Scripted { status: 200, pieces, ..Scripted::default() });
        assert_eq!(got.unwrap(), bytes);
        let seen = script.seen.lock().unwrap();
        assert_eq!((seen.len(), seen[0].method(), seen[0].body().len()), (1, &http::Method::GET, 0));
        assert!(seen[0].headers().is_empty(), "nothing is told about the user");

        let day = |text: &str| text.parse::<Day>().unwrap();
        let script = Scripted { status: 200, pieces: vec![Ok(bytes)], ..Scripted::default() };
        let feed = SignedHttpFeed::new("http://localhost:9/feed", Arc::new(script)).unwrap();
        let radar = Radar::new([signer_key()], day("2026-09-12"));
        let taken = block_on(radar.sync(&feed, None, day("2026-10-09"))).unwrap();
        assert_eq!(taken.status, SyncStatus::Updated);
        // Without a key nothing is even asked for.
        let off = Radar::new([], day("2026-09-12"));
        assert_eq!(
            block_on(off.sync(&feed, None, day("2026-10-09"))).unwrap_err().status,
            SyncStatus::NotConfigured
        );
    }

    #[test]
    fn too_much_is_not_read() {
        let piece = || Ok(Bytes::from(vec![0; 1 << 20]));
        // Declared too long: nothing is read.
        let (got, script) = fetch(Scripted {
            status: 200,
            length: Some((MAX_FEED_BYTES + 1).to_string()),
            pieces: vec![piece()],
            ..Scripted::default()
        });
        assert_eq!((got.unwrap_err().status, script.read.load(Ordering::Relaxed)), (SyncStatus::TooLarge, 0));
        // Not declared, or declared short: cut off when it is too long, not later.
        for length in [None, Some("5".to_owned())] {
            let pieces = (0..40).map(|_| piece()).collect();
            let (got, script) = fetch(Scripted { status: 200, length, pieces, ..Scripted::default() });
            assert_eq!(
                (got.unwrap_err().status, script.read.load(Ordering::Relaxed)),
                (SyncStatus::TooLarge, 11)
            );
        }
        let (got, _) = fetch(Scripted {
            status: 200,
            pieces: (0..10).map(|_| piece()).collect(),
            ..Scripted::default()
        });
        assert_eq!(got.unwrap().len(), MAX_FEED_BYTES);
    }

    #[test]
    fn failures_are_statuses() {
        let (got, _) = fetch(Scripted { status: 404, ..Scripted::default() });
        assert_eq!(got.unwrap_err(), Refusal::new(SyncStatus::FetchFailed, "status 404"));
        let pieces = vec![Ok(Bytes::from_static(b"omni")), Err(TransportError::new("read", "cut"))];
        let (got, _) = fetch(Scripted { status: 200, pieces, ..Scripted::default() });
        assert_eq!(got.unwrap_err(), Refusal::new(SyncStatus::FetchFailed, "read: cut"));
    }

    #[test]
    fn addresses() {
        let try_new = |url: &str| SignedHttpFeed::new(url, Arc::new(Scripted::default())).err();
        for (url, error) in [
            ("https://feed.example/x", None),
            ("http://127.0.0.1:8080/x", None),
            ("http://[::1]/x", None),
            ("http://feed.example/x", Some(FeedSetupError::Plain)),
            ("http://localhost.feed.example/x", Some(FeedSetupError::Plain)),
            ("ftp://localhost/x", Some(FeedSetupError::Plain)),
            ("https://me:secret@feed.example/x", Some(FeedSetupError::User)),
            ("/x", Some(FeedSetupError::Form)),
            ("", Some(FeedSetupError::Form)),
        ] {
            assert_eq!(try_new(url), error, "{url}");
        }
    }
}
