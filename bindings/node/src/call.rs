//! One request on its way. JavaScript polls it, does its jobs, and tells it what became of them.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Duration;

use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi::{Env, Task};
use napi_derive::napi;
use omniroute::router as rust;

use crate::errors::facts;
use crate::reply::Reply;
use crate::strategy::{Host, within};

/// What [`Call::poll`] has found: one of these, and flags for what there is besides.
const WAITING: u32 = 0;
const REPLY: u32 = 1;
const BEGUN: u32 = 2;
const PIECE: u32 = 3;
const END: u32 = 4;
const FAILED: u32 = 5;
const JOBS: u32 = 1 << 4;
const WAKE: u32 = 1 << 5;
const OTHERS: u32 = 1 << 6;

/// What was found and not fetched yet.
#[derive(Default)]
struct Found {
    reply: Option<rust::Reply>,
    piece: Option<bytes::Bytes>,
    error: Option<String>,
    jobs: Vec<rust::Job>,
    others: Vec<u64>,
}

/// One request on its way. Belongs to the JavaScript thread that made it.
#[napi]
pub struct Call {
    id: i64,
    wire: &'static str,
    teller: rust::Teller,
    router: rust::Router,
    /// Borrowed only while it is polled: a strategy of the host that polls it meanwhile is refused.
    call: RefCell<Option<rust::Call>>,
    found: RefCell<Found>,
    wake_ms: Cell<f64>,
    works: RefCell<Vec<rust::Work>>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Call {
    pub(crate) fn new(call: rust::Call, router: rust::Router) -> Self {
        let (id, wire, teller) = (number(call.id()), call.wire().id(), call.teller());
        Call {
            id,
            wire,
            teller,
            router,
            call: RefCell::new(Some(call)),
            found: RefCell::default(),
            wake_ms: Cell::new(0.0),
            works: RefCell::default(),
        }
    }
}

/// Something that the host does for a call.
#[napi(object, object_from_js = false)]
pub struct Job {
    /// `send`, `ask`, `read`, `abort` or `work`.
    pub kind: &'static str,
    /// Names the exchange.
    pub id: i64,
    /// Of a request that is sent.
    pub method: Option<String>,
    /// Of a request that is sent.
    pub url: Option<String>,
    /// Of a request that is sent: names and values by turns. They hold keys.
    pub headers: Option<Vec<String>>,
    /// Of a request that is sent or asked.
    pub body: Option<Buffer>,
    /// Which provider of the host.
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub model: Option<String>,
    /// Whether the answer is to be streamed.
    pub stream: Option<bool>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind, self.id)
    }
}

#[napi]
impl Call {
    /// Names the call among those of its router.
    #[napi(getter)]
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The wire of the request and of the answer.
    #[napi(getter)]
    pub fn wire(&self) -> &str {
        self.wire
    }

    /// Goes on as far as it can. Gives what was found: in the lowest four bits 0 waiting, 1 reply, 2 begun, 3 piece, 4 end, 5
    /// failed; then flags: 16 jobs, 32 a time until it has to be polled again, 64 other calls that can go on.
    #[napi]
    pub fn poll(&self, env: Env, host: Option<Host>) -> napi::Result<u32> {
        let Ok(mut call) = self.call.try_borrow_mut() else {
            return Err(napi::Error::from_reason("the call is being polled"));
        };
        let Some(call) = call.as_mut() else { return Ok(END) };
        let polled = within(env, host, || call.poll());
        let mut found = self.found.borrow_mut();
        let mut flags = 0;
        flags |= match polled.progress {
            rust::Progress::Reply(reply) => {
                found.reply = Some(reply);
                REPLY
            }
            rust::Progress::Begun => BEGUN,
            rust::Progress::Piece(piece) => {
                found.piece = Some(piece);
                PIECE
            }
            rust::Progress::End => END,
            rust::Progress::Failed(error) => {
                found.error = Some(facts(&error).to_string());
                FAILED
            }
            _ => WAITING,
        };
        if !polled.jobs.is_empty() {
            found.jobs.extend(polled.jobs);
            flags |= JOBS;
        }
        if let Some(after) = polled.wake_after {
            self.wake_ms.set(milliseconds(after));
            flags |= WAKE;
        }
        if !polled.others.is_empty() {
            found.others.extend(polled.others);
            flags |= OTHERS;
        }
        Ok(flags)
    }

    /// The answer that was found.
    #[napi]
    pub fn reply(&self) -> Option<Reply> {
        self.found.borrow_mut().reply.take().map(Reply::new)
    }

    /// The piece that was found.
    #[napi]
    pub fn piece(&self) -> Option<Buffer> {
        self.found.borrow_mut().piece.take().map(|piece| Vec::from(piece).into())
    }

    /// The error that was found, as JSON text.
    #[napi]
    pub fn error(&self) -> Option<String> {
        self.found.borrow_mut().error.take()
    }

    /// What is to be done, in this order.
    #[napi]
    pub fn jobs(&self) -> Vec<Job> {
        let jobs = std::mem::take(&mut self.found.borrow_mut().jobs);
        jobs.into_iter().map(|job| self.told(job)).collect()
    }

    /// How long at most until it has to be polled again.
    #[napi]
    pub fn wake_ms(&self) -> f64 {
        self.wake_ms.get()
    }

    /// Other calls that can go on.
    #[napi]
    pub fn others(&self) -> Vec<i64> {
        std::mem::take(&mut self.found.borrow_mut().others).into_iter().map(number).collect()
    }

    /// The head of an answer, its headers as names and values by turns.
    #[napi]
    pub fn answered(&self, id: i64, status: u16, headers: Vec<String>) {
        // A string of JavaScript's fetch holds one byte in each character.
        let latin = |text: &String| text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect::<Vec<_>>();
        let pairs: Vec<(&str, Vec<u8>)> = headers
            .chunks_exact(2)
            .filter_map(|pair| Some((pair.first()?.as_str(), latin(pair.get(1)?))))
            .collect();
        let pairs = pairs.iter().map(|(name, value)| (*name, value.as_slice()));
        self.teller.answered(exchange(id), status, pairs, bytes::Bytes::new(), false);
    }

    /// More of the body of an answer.
    #[napi]
    pub fn told_piece(&self, id: i64, piece: Uint8Array) {
        self.teller.piece(exchange(id), piece.to_vec());
    }

    /// The body is complete.
    #[napi]
    pub fn ended(&self, id: i64) {
        self.teller.ended(exchange(id));
    }

    /// The exchange failed in `phase`: connect, tls, send or read.
    #[napi]
    pub fn broke(&self, id: i64, phase: String, message: String) {
        self.teller.broke(exchange(id), &phase, message);
    }

    /// Does the heavy work of the call on a thread of the host's pool. It has to be polled afterwards.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn work(&self) -> AsyncTask<Works> {
        AsyncTask::new(Works { works: std::mem::take(&mut *self.works.borrow_mut()) })
    }

    /// The receipt as JSON text, from the head of the answer on.
    #[napi]
    pub fn receipt(&self) -> Option<String> {
        self.call.try_borrow().ok()?.as_ref()?.receipt_json()
    }

    /// Ends it. Gives other calls that can go on now.
    #[napi]
    pub fn close(&self, env: Env, host: Option<Host>) -> Vec<i64> {
        let call = self.call.try_borrow_mut().ok().and_then(|mut call| call.take());
        within(env, host, || drop(call));
        self.found.take();
        self.works.take();
        self.router.woken().into_iter().map(number).collect()
    }

    fn told(&self, job: rust::Job) -> Job {
        let none = |kind, id| Job {
            kind,
            id: number(id),
            method: None,
            url: None,
            headers: None,
            body: None,
            provider: None,
            model: None,
            stream: None,
        };
        match job {
            rust::Job::Send { id, request } => {
                let (head, body) = request.into_parts();
                let mut headers = Vec::with_capacity(head.headers.len() * 2);
                for (name, value) in &head.headers {
                    headers.push(name.as_str().to_owned());
                    headers.push(value.as_bytes().iter().map(|byte| char::from(*byte)).collect());
                }
                Job {
                    method: Some(head.method.to_string()),
                    url: Some(head.uri.to_string()),
                    headers: Some(headers),
                    body: Some(Vec::from(body).into()),
                    ..none("send", id)
                }
            }
            rust::Job::Ask { id, provider, model, stream, body } => Job {
                provider: Some(provider.to_string()),
                model: Some(model),
                stream: Some(stream),
                body: Some(Vec::from(body).into()),
                ..none("ask", id)
            },
            rust::Job::Read { id } => none("read", id),
            rust::Job::Abort { id } => none("abort", id),
            rust::Job::Work(work) => {
                self.works.borrow_mut().push(work);
                none("work", 0)
            }
            _ => none("none", 0),
        }
    }
}

/// Heavy work on its way to a thread of the host's pool.
#[derive(Debug)]
pub struct Works {
    works: Vec<rust::Work>,
}

impl Task for Works {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        self.works.drain(..).for_each(rust::Work::run);
        Ok(())
    }

    fn resolve(&mut self, _: Env, (): ()) -> napi::Result<()> {
        Ok(())
    }
}

/// Names of calls and exchanges count from 1.
fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

fn exchange(id: i64) -> u64 {
    id.unsigned_abs()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
