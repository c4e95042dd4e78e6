//! What happens, as it happens: server-sent events that a reader can take up again where it stopped.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::FutureExt;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::super::fault::Fault;
use super::super::gateway::{Gateway, Place as Held};
use super::super::keys::Scope;
use super::{Ask, Effect, Field, Op, Place, Run, Takes, Type, Verb, form};

/// How often is looked for what is new. Nobody waits for a reader.
const LOOK: Duration = Duration::from_millis(200);
/// Comments in silence.
const ALIVE: Duration = Duration::from_secs(15);

const FIELDS: &[Field] = &[
    Field {
        name: "since",
        place: Place::Query,
        kind: Type::Integer,
        needed: false,
        about: "the first number wanted",
    },
    Field {
        name: "kinds",
        place: Place::Query,
        kind: Type::Texts,
        needed: false,
        about: "only events of these kinds",
    },
];

const ROW: Op = Op {
    name: "events",
    summary: "What happens to breakers, rests, sessions, quotas and leases",
    scopes: &[&[Scope::ReadHealth]],
    effect: Effect::Read,
    method: Verb::Get,
    path: "/api/events",
    takes: Takes::Nothing,
    fields: FIELDS,
    run: Run::Whole(|ask| async move { events(&ask) }.boxed()),
};

/// The rows.
pub(super) const OPS: &[Op] = &[ROW, Op { name: "events.resilience", path: "/api/resilience/events", ..ROW }];

struct Reader {
    gateway: Arc<Gateway>,
    next: u64,
    kinds: Vec<String>,
    silent: Duration,
    _stream: Held,
}

fn events(ask: &Ask) -> Result<Response, Fault> {
    let query = ask.head.uri.query().unwrap_or_default();
    ROW.input(&[], query, &Bytes::new())?;
    let mut since: Option<u64> = None;
    let mut kinds = Vec::new();
    for (name, value) in form(query) {
        match name.as_str() {
            "since" => since = value.parse().ok(),
            _ => kinds
                .extend(value.split(',').map(|kind| kind.trim().to_owned()).filter(|kind| !kind.is_empty())),
        }
    }
    let last =
        ask.head.headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let next = last.map(|last| last.saturating_add(1)).or(since);
    let next = next.unwrap_or_else(|| ask.gateway.resilience.events(u64::MAX).next);
    let gateway = Arc::clone(&ask.gateway);
    let stream = Held::of(&gateway.streams);
    let reader = Reader { gateway, next, kinds, silent: Duration::ZERO, _stream: stream };
    let body = futures::stream::unfold(reader, |mut reader| async move {
        let bytes = reader.more().await?;
        Some((Ok::<_, Infallible>(bytes), reader))
    });
    let first = futures::stream::once(async { Ok(Bytes::from_static(b": events\n\n")) });
    let mut response = Response::new(Body::from_stream(futures::StreamExt::chain(first, body)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

impl Reader {
    /// The next piece; none: the program ends.
    async fn more(&mut self) -> Option<Bytes> {
        loop {
            let found = self.gateway.resilience.events(self.next);
            let mut out = String::new();
            if found.dropped > 0 {
                let (from, to) = (self.next, self.next.saturating_add(found.dropped - 1));
                out.push_str(&format!("event: dropped\ndata: {{\"from\":{from},\"to\":{to}}}\n\n"));
            }
            self.next = found.next;
            for event in &found.events {
                let Ok(data) = serde_json::to_value(event) else { continue };
                let kind = data["kind"].as_str().unwrap_or_default().to_owned();
                if self.kinds.is_empty() || self.kinds.contains(&kind) {
                    out.push_str(&format!("id: {}\nevent: {kind}\ndata: {data}\n\n", event.seq));
                }
            }
            if !out.is_empty() {
                self.silent = Duration::ZERO;
                return Some(out.into());
            }
            if self.silent >= ALIVE {
                self.silent = Duration::ZERO;
                return Some(Bytes::from_static(b": ping\n\n"));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => self.silent += LOOK,
                () = self.gateway.stopping.begun.clone() => return None,
            }
        }
    }
}
