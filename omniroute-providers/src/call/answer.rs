//! A good status is no answer yet: what came is opened as a stream, or read whole and looked into.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use http::HeaderMap;
use omniroute_core::hub::ErrorBody;
use omniroute_core::wire::{WireError, Written};
use omniroute_core::{Body, ChatBody, ChatResponse, Doc, Env, Failure, Phase};

use super::clocked::{Limit, Timeouts, What};
use super::exchange::Exchange;
use super::provider::{Call, Inner};
use super::steps::{classify_or_shape, gather, unreadable};
use super::stream::{Parts, items};
use crate::classify::{Scene, classify, classify_error, classify_transport, limits_seen};
use crate::data::WireId;
use crate::prepare::accept;
use crate::redact::Redactor;

/// Longest whole answer, in bytes.
const LONGEST: usize = 64 << 20;

/// Headers in which vendors name a call.
const CALL_NAMES: [&str; 5] =
    ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "mistral-correlation-id"];

impl Inner {
    /// Opens a stream, whose limits are given, or reads a whole answer.
    pub(super) async fn answer(
        &self,
        env: &Env,
        call: &Call<'_>,
        stream: Option<Timeouts>,
        mut exchange: Exchange,
        mut written: Written,
    ) -> Result<ChatResponse, Failure> {
        written.notes.extend(exchange.changed.take());
        let headers = exchange.response.headers();
        let now = env.clock.now().wall;
        let limits = limits_seen(headers, self.dialect, now);
        let request_id = call_name(headers, &exchange.redactor);
        let resent = exchange.resent;
        let reader = stream.and_then(|timeouts| Some((timeouts, written.stream_reader(self.format)?)));
        let reader = match reader {
            // Some answer whole although events were asked for.
            Some((timeouts, reader)) if streams_events(self.wire) && is_json(exchange.response.headers()) => {
                let start = env.clock.now().mono;
                let whole = exchange.limit.min(Limit::after(start, timeouts.total, What::Total));
                let first = whole.min(Limit::after(start, timeouts.first_event, What::FirstEvent));
                let (head, mut body) = exchange.response.into_parts();
                let piece = first.hold(&*env.clock, Phase::Headers, body.next()).await?;
                let json = matches!(&piece, Some(Ok(piece)) if piece.trim_ascii_start().starts_with(b"{"));
                let body = Body::stream(futures::stream::iter(piece).chain(body));
                exchange.response = http::Response::from_parts(head, body);
                if json {
                    exchange.limit = whole;
                }
                (!json).then_some((timeouts, reader))
            }
            reader => reader,
        };
        let body = match reader {
            Some((timeouts, reader)) => {
                self.credentials.heard(&exchange.held, None, now);
                let (head, body) = exchange.response.into_parts();
                ChatBody::Stream(items(Parts {
                    body,
                    reader,
                    clock: Arc::clone(&env.clock),
                    timeouts,
                    deadline: call.deadline,
                    dialect: self.dialect,
                    headers: head.headers,
                    sent: exchange.sent,
                    redactor: exchange.redactor,
                }))
            }
            None => {
                let check = |status, bytes, scene: &Scene<'_>| self.check(status, bytes, scene);
                ChatBody::Whole(self.whole(env, exchange, check).await?)
            }
        };
        let mut response = ChatResponse::new(self.format, body);
        (response.limits, response.notes, response.names) = (limits, written.notes, written.names);
        (response.request_id, response.resent) = (request_id, resent);
        Ok(response)
    }

    /// Reads a whole answer, which `check` looks into. The source of the credential hears how that ended.
    pub(super) async fn whole<T>(
        &self,
        env: &Env,
        exchange: Exchange,
        check: impl FnOnce(u16, Bytes, &Scene<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Exchange { response, redactor, held, sent, limit, .. } = exchange;
        let (head, body) = response.into_parts();
        let scene = Scene {
            dialect: self.dialect,
            phase: Phase::BodyComplete,
            headers: Some(&head.headers),
            now: env.clock.now().wall,
            sent: &sent,
            redactor: Some(&redactor),
        };
        let read = limit.hold(&*env.clock, Phase::Headers, gather(body, LONGEST)).await;
        let checked = read.and_then(|read| {
            let (bytes, whole) = read.map_err(|error| classify_transport(&error, &scene))?;
            if !whole {
                return Err(unreadable("response_too_large", "the answer is longer than 64 MiB"));
            }
            check(head.status.as_u16(), bytes, &scene)
        });
        self.credentials.heard(&held, checked.as_ref().err(), scene.now);
        checked
    }

    /// A success has to be an answer.
    fn check(&self, status: u16, bytes: Bytes, scene: &Scene<'_>) -> Result<Doc, Failure> {
        let doc = match Doc::parse_with_limit(bytes.clone(), LONGEST) {
            Ok(doc) => doc,
            Err(_) if bytes.trim_ascii_start().first() == Some(&b'<') => {
                return Err(classify(status, &bytes, scene));
            }
            Err(error) => return Err(unreadable("bad_json", &format!("the answer is no JSON: {error}"))),
        };
        match self.format.read_reply(&doc) {
            Ok(_) => {}
            Err(WireError::Vendor(error)) if is_empty(&error) && ended(&doc) => {}
            Err(WireError::Vendor(error)) if is_empty(&error) => {
                return Err(unreadable("empty_reply", "the answer has no content"));
            }
            Err(WireError::Vendor(error)) => return Err(classify_error(&error, scene)),
            Err(WireError::Unsupported { .. }) => {} // the wire passes through and cannot be looked into
            Err(_) => return Err(classify_or_shape(status, &bytes, &doc, scene)),
        }
        Ok(doc)
    }
}

/// Whether streams of a wire are server-sent events, of which none is plain JSON.
fn streams_events(wire: WireId) -> bool {
    accept(wire, true) == "text/event-stream"
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind =
        headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Whether an error is that of an answer without content.
pub(super) fn is_empty(error: &ErrorBody) -> bool {
    error.code.as_deref() == Some("empty_reply")
}

/// Whether the vendor itself says that its answer is complete, in any wire's words.
fn ended(doc: &Doc) -> bool {
    const PLACES: [&str; 6] =
        ["stop_reason", "stopReason", "finish_reason", "finishReason", "done_reason", "status"];
    const WORDS: [&str; 5] = ["stop", "eos", "end_turn", "completed", "complete"];
    let said = |node| {
        PLACES.iter().any(|place| {
            let word = doc.get(node, place).and_then(|word| doc.str(word));
            word.is_some_and(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
        })
    };
    let mut choices = ["choices", "candidates"].into_iter().filter_map(|name| doc.get(doc.root(), name));
    said(doc.root()) || choices.any(|list| doc.elements(list).any(said))
}

fn call_name(headers: &HeaderMap, redactor: &Redactor) -> Option<String> {
    let found = CALL_NAMES.iter().find_map(|name| headers.get(*name)?.to_str().ok());
    found.map(|id| redactor.clean(id))
}
