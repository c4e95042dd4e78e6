//! One attempt: a call of one target, looked at until it is clear that it is an answer.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::{Either, select};
use omniroute_core::hub::{Assembler, Delta, ErrorBody, Event, Reply, StreamItem, WriteContext, replay};
use omniroute_core::wire::{ToolNames, Wire};
use omniroute_core::{
    CallContext, ChatBody, ChatRequest, Clock, Doc, EventStream, Failure, FailureKind, Mono, Permit, Phase,
    Scope, Target,
};

use super::books::Books;
use super::job::{Errand, Job};
use super::reply::{
    Checked, Lens, bad, check, check_built, check_stream, meaningful, of_error, trusted, untold,
};
use super::stream::{ReplyStream, empty};
use crate::combo::StrictStream;
use crate::receipt::Role;

/// Events that are held back at most before a stream is given away.
const EVENTS: usize = 64;
/// Characters that a stream is held back for where that is asked for.
const HELD: usize = 200;
/// How long it is held back for them.
const HOLD: Duration = Duration::from_secs(2);
/// Bytes that are held back at most.
const BYTES: usize = 256 << 10;
/// The same for a stream that is held back to its end.
const ALL: usize = 32 << 20;

/// An answer of one target.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) target: Target,
    pub(super) body: AnswerBody,
}

#[derive(Debug)]
pub(super) enum AnswerBody {
    /// In the client's wire, and what was said if that was wanted.
    Whole(Bytes, String),
    Stream(ReplyStream),
}

impl Job {
    /// Calls one target under a permit.
    ///
    /// # Errors
    /// What went wrong before anything reached the caller; it has been reported.
    pub(super) async fn attempt(
        &self,
        request: &ChatRequest,
        permit: Permit,
        candidate: u32,
        errand: &Errand,
        strict: bool,
    ) -> Result<Answer, Failure> {
        let target = permit.target().clone();
        let mut books = Books {
            inner: Arc::clone(&self.inner),
            slot: Arc::clone(&self.slot),
            receipt: self.receipt.clone(),
            request: self.request.clone(),
            session: self.session.clone(),
            class: self.facts.class,
            explored: self.explored == Some(candidate),
            role: errand.role,
            began: self.began.mono,
            candidate,
            permit,
            limits: Vec::new(),
            usage: None,
            first: None,
            at: 0,
        };
        books.open();
        match self.call(request, &mut books, errand, strict).await {
            Ok(Ready::Whole(body, text)) => {
                let commits = matches!(errand.role, Role::Answer | Role::Judge);
                books.content(commits).await;
                books.close(None).await;
                Ok(Answer { target, body: AnswerBody::Whole(body, text) })
            }
            Ok(Ready::Stream { ready, items, from }) => {
                let context = self.write_context();
                let writer = if from == self.client { None } else { self.client.stream_writer(&context) };
                books.content(true).await;
                self.receipt.with(|receipt| receipt.streamed = true);
                let stream = ReplyStream::new(ready, items, writer, self.client, context, books);
                Ok(Answer { target, body: AnswerBody::Stream(stream) })
            }
            Err(failure) => {
                books.close(Some(failure.clone())).await;
                Err(failure)
            }
        }
    }

    async fn call(
        &self,
        request: &ChatRequest,
        books: &mut Books,
        errand: &Errand,
        strict: bool,
    ) -> Result<Ready, Failure> {
        books.permit.check().await?;
        let target = books.permit.target().clone();
        let env = &self.inner.env;
        let key = (target.provider.clone(), target.connection.clone());
        let Some(provider) = self.inner.providers.get(&key) else {
            let message =
                format!("nobody answers for connection {} of {}", target.connection, target.provider);
            return Err(Failure::local(FailureKind::Unauthorized, "no_provider", message));
        };
        let handed = self.handed(request, &target, errand.role);
        let request = handed.as_ref().unwrap_or(request);
        let streamed = request.streamed();
        let (limit, request_over) = self.limit(env.clock.now().mono);
        let late = || self.late(request_over);
        let mut cx = CallContext::new(env, &target.connection, target.model.as_str());
        cx.deadline = if streamed { self.deadline } else { Some(limit) };
        cx.write = self.write_context();
        cx.headers = self.headers.clone();
        cx.stream = Some(streamed);
        let called = within(&*env.clock, limit, provider.chat(request, cx)).await;
        let response = called.ok_or_else(late)??;
        books.limits = response.limits;
        let names = response.names;
        for note in &response.notes {
            self.receipt.note(note.code);
        }
        let context = self.write_context();
        let execution = &self.slot.execution;
        let lens = Lens {
            client: self.client,
            context: &context,
            tool_tail: self.tool_tail,
            names: &names,
            text: errand.text,
            strict,
            rules: execution.rules.as_deref().filter(|_| matches!(errand.role, Role::Answer | Role::Judge)),
        };
        let from = response.wire;
        match (response.body, streamed) {
            (ChatBody::Whole(doc), false) => Ok(self.whole(check(&doc, from, lens)?, books)),
            (ChatBody::Whole(doc), true) => {
                self.whole(check(&doc, from, lens)?, books);
                let ready = self.replayed(&doc, from, &names)?;
                let items = EventStream::new(futures::stream::empty());
                Ok(Ready::Stream { ready, items, from: self.client })
            }
            (ChatBody::Stream(items), false) => {
                let gathered = within(&*env.clock, limit, gather(items, from)).await.ok_or_else(late)??;
                Ok(self.whole(check_built(&gathered, lens)?, books))
            }
            (ChatBody::Stream(mut items), true) => {
                if from != self.client && self.client.stream_writer(&context).is_none() {
                    return Err(untold(&self.client.cannot("write streams")));
                }
                let passes = from == self.client && self.tool_tail && trusted(from);
                if execution.strict_stream == StrictStream::Full {
                    let ready = within(&*env.clock, limit, to_the_end(&mut items, from)).await;
                    let (ready, reply) = ready.ok_or_else(late)??;
                    match reply {
                        Err(error) if passes && empty(&error) => self.receipt.note("legitimate_empty"),
                        Err(error) => return Err(of_error(&error, Phase::BodyComplete)),
                        Ok(reply) => {
                            check_stream(&reply, lens)?.into_iter().for_each(|note| self.receipt.note(note));
                        }
                    }
                    let items = EventStream::new(futures::stream::empty());
                    return Ok(Ready::Stream { ready, items, from });
                }
                if lens.rules.is_some() {
                    self.receipt.note("rules_not_checked");
                }
                let holds = (execution.strict_stream == StrictStream::Start).then_some(&*env.clock);
                let peeked = within(&*env.clock, limit, peek(&mut items, passes, holds)).await;
                Ok(Ready::Stream { ready: peeked.ok_or_else(late)??, items, from })
            }
            _ => Err(Failure::local(
                FailureKind::Unsupported,
                "unknown_body",
                "the answer has a form nobody reads",
            )),
        }
    }

    /// A whole answer that is one.
    fn whole(&self, checked: Checked, books: &mut Books) -> Ready {
        checked.notes.into_iter().for_each(|note| self.receipt.note(note));
        books.usage = checked.usage;
        Ready::Whole(checked.body, checked.text)
    }

    /// A whole answer as the stream that was asked for.
    fn replayed(&self, doc: &Doc, from: Wire, names: &ToolNames) -> Result<Vec<StreamItem>, Failure> {
        let mut read = from.read_reply(doc).map_err(|error| untold(&error))?;
        names.restore(&mut read.value);
        let context = self.write_context();
        let Some(mut writer) = self.client.stream_writer(&context) else {
            return Err(untold(&self.client.cannot("write streams")));
        };
        let events = replay(read.value);
        let mut out = Vec::new();
        events.iter().for_each(|event| writer.write(event, &mut out));
        Ok(vec![StreamItem { raw: Bytes::from(out), events }])
    }

    pub(super) fn write_context(&self) -> WriteContext {
        let mut context = WriteContext::default();
        context.ids = self.ids;
        context
    }
}

/// What a call gave.
enum Ready {
    Whole(Bytes, String),
    Stream { ready: Vec<StreamItem>, items: EventStream, from: Wire },
}

/// The output of a future; none: the time is up, and it is dropped.
pub(super) async fn within<T>(clock: &dyn Clock, limit: Mono, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), clock.sleep_until(limit)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Holds back what comes until it is clear that it is an answer: content, or an end that is meant. `holds`: content alone
/// is not enough, some more of it has to be there, or a moment has to pass by this clock.
///
/// # Errors
/// If it is none. Nothing has reached the caller then.
async fn peek(
    items: &mut EventStream,
    empty_passes: bool,
    holds: Option<&dyn Clock>,
) -> Result<Vec<StreamItem>, Failure> {
    let mut held: Vec<StreamItem> = Vec::new();
    let (mut events, mut bytes, mut letters) = (0, 0, 0);
    let mut until: Option<(&dyn Clock, Mono)> = None;
    loop {
        let next = match until {
            None => items.next().await,
            Some((clock, until)) => match within(clock, until, items.next()).await {
                Some(next) => next,
                None => return Ok(held),
            },
        };
        let Some(item) = next else {
            let message = "the stream ended before the answer began";
            let mut failure = bad("truncated_stream", Scope::Model, message);
            failure.phase = Phase::BeforeFirstContent;
            return Err(failure);
        };
        let item = item?;
        let (mut commits, mut ends) = (false, false);
        for event in &item.events {
            match event {
                Event::Error(error) if empty_passes && empty(error) => ends = true,
                Event::Error(error) => return Err(of_error(error, Phase::BeforeFirstContent)),
                Event::Finish => ends = true,
                event => {
                    if let Event::Delta { delta: Delta::Text(text), .. } = event {
                        letters += text.chars().count();
                    }
                    commits |= meaningful(event);
                }
            }
        }
        events += item.events.len();
        bytes += item.raw.len();
        held.push(item);
        let enough = until.is_some() && letters >= HELD;
        if ends || enough || events > EVENTS || bytes > BYTES {
            return Ok(held);
        }
        if commits && until.is_none() {
            match holds.filter(|_| letters < HELD) {
                Some(clock) => until = Some((clock, clock.now().mono.after(HOLD))),
                None => return Ok(held),
            }
        }
    }
}

/// Holds a stream back to its end.
///
/// # Errors
/// If it has none, or is too large to be held.
type Built = Result<Reply<'static>, Box<ErrorBody>>;

async fn to_the_end(items: &mut EventStream, from: Wire) -> Result<(Vec<StreamItem>, Built), Failure> {
    let mut assembler = Assembler::new(from.id());
    let (mut held, mut bytes, mut ended) = (Vec::new(), 0, false);
    while let Some(item) = items.next().await {
        let item = match item {
            Ok(item) => item,
            // What breaks after the end takes nothing from the answer.
            Err(_) if ended => break,
            Err(failure) => return Err(failure),
        };
        bytes += item.raw.len();
        if bytes > ALL {
            return Err(bad("response_too_large", Scope::Model, "the answer is too large to be held back"));
        }
        ended |= item.events.iter().any(|event| matches!(event, Event::Finish));
        item.events.iter().for_each(|event| assembler.push(event.clone()));
        held.push(item);
    }
    Ok((held, assembler.finish()))
}

/// Reads a stream to its end although the whole answer was asked for.
async fn gather(mut items: EventStream, from: Wire) -> Result<Reply<'static>, Failure> {
    let mut assembler = Assembler::new(from.id());
    while let Some(item) = items.next().await {
        item?.events.into_iter().for_each(|event| assembler.push(event));
    }
    assembler.finish().map_err(|error| of_error(&error, Phase::BodyComplete))
}
