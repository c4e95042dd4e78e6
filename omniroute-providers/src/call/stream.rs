//! A streamed answer: pieces in, items out, time limits and errors in between.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use http::HeaderMap;
use omniroute_core::hub::{Event, StopReason, StreamItem};
use omniroute_core::wire::StreamReader;
use omniroute_core::{Body, Clock, EventStream, Failure, Mono, Phase};

use super::answer::is_empty;
use super::clocked::{Limit, Timeouts, What};
use crate::classify::{Dialect, Scene, classify_error, classify_transport};
use crate::redact::Redactor;

/// What a stream is made of.
pub(crate) struct Parts {
    pub(crate) body: Body,
    pub(crate) reader: Box<dyn StreamReader>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timeouts: Timeouts,
    pub(crate) deadline: Option<Mono>,
    pub(crate) dialect: Dialect,
    pub(crate) headers: HeaderMap,
    /// The request's body: phrases that it contains prove nothing.
    pub(crate) sent: Bytes,
    pub(crate) redactor: Redactor,
}

struct State {
    parts: Parts,
    ready: VecDeque<StreamItem>,
    opened: Mono,
    useful: Mono,
    content: bool,
    /// The vendor says that its answer is complete.
    complete: bool,
    ended: bool,
}

/// The items of a streamed answer.
pub(crate) fn items(parts: Parts) -> EventStream {
    let now = parts.clock.now().mono;
    let (opened, useful) = (now, now);
    let (content, complete, ended) = (false, false, false);
    let state = State { parts, ready: VecDeque::new(), opened, useful, content, complete, ended };
    EventStream::new(futures::stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        match state.next().await {
            None => None,
            Some(Ok(item)) => Some((Ok(item), Some(state))),
            Some(Err(failure)) => Some((Err(failure), None)), // the body is dropped here
        }
    }))
}

impl State {
    async fn next(&mut self) -> Option<Result<StreamItem, Failure>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(self.give(item));
            }
            if self.ended {
                return None;
            }
            let mut items = Vec::new();
            let clock = Arc::clone(&self.parts.clock);
            let piece = self.limit().hold(&*clock, self.phase(), self.parts.body.next()).await;
            match piece {
                Err(late) => return Some(Err(late)),
                Ok(Some(Ok(bytes))) => self.parts.reader.feed(bytes, &mut items),
                Ok(Some(Err(error))) => {
                    let scene = self.scene();
                    return Some(Err(classify_transport(&error, &scene)));
                }
                Ok(None) => {
                    self.ended = true;
                    self.parts.reader.end(&mut items);
                }
            }
            self.ready.extend(items);
        }
    }

    /// An item with an error in it is a failure; others pass, and so does the end of an answer that the vendor means to
    /// be empty.
    fn give(&mut self, item: StreamItem) -> Result<StreamItem, Failure> {
        for event in &item.events {
            match event {
                Event::Error(error) if self.complete && is_empty(error) => {}
                Event::Error(error) => return Err(classify_error(error, &self.scene())),
                Event::Delta { .. } => self.content = true,
                Event::Stop { stop, .. } => {
                    self.complete |= stop.reason == StopReason::Stop && stop.raw.is_some();
                }
                _ => {}
            }
        }
        if !item.events.is_empty() {
            self.useful = self.parts.clock.now().mono;
        }
        Ok(item)
    }

    fn phase(&self) -> Phase {
        if self.content { Phase::MidStream } else { Phase::BeforeFirstContent }
    }

    fn limit(&self) -> Limit {
        let now = self.parts.clock.now().mono;
        let times = &self.parts.timeouts;
        let idle = Limit::after(now, times.idle, What::Idle);
        let useful = if self.content {
            Limit::after(self.useful, times.idle_useful, What::Idle)
        } else {
            Limit::after(self.opened, times.first_event, What::FirstEvent)
        };
        Limit::deadline(self.parts.deadline).min(useful).min(idle)
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            dialect: self.parts.dialect,
            phase: self.phase(),
            headers: Some(&self.parts.headers),
            now: self.parts.clock.now().wall,
            sent: &self.parts.sent,
            redactor: Some(&self.parts.redactor),
        }
    }
}
