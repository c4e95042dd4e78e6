//! The router, and calls that the Python side drives: polled, asked for jobs, told what became of them. No thread here,
//! and no lock that is held while Python runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omniroute::core::UnixMs;
use omniroute::router as rust;
use omniroute::{Error, router::CallOptions};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::errors::raised;
use crate::input;
use crate::strategy::HostStrategy;

/// What [`Call::poll`] has found, as its first item.
const WAITING: u8 = 0;
const REPLY: u8 = 1;
const BEGUN: u8 = 2;
const PIECE: u8 = 3;
const END: u8 = 4;
const FAILED: u8 = 5;

/// A router. Threads may share one; after a fork the child keeps its settings and forgets what was learned.
#[pyclass(frozen, module = "omniroute._native")]
pub(crate) struct RouterCore {
    config: rust::RouterConfig,
    providers: Vec<(String, Vec<String>)>,
    strategies: Vec<(String, Py<PyAny>)>,
    wall_ms: Option<i64>,
    /// Only ever locked by a thread that holds the interpreter, as the one that forks does.
    live: Mutex<(u32, rust::Router)>,
}

#[pymethods]
impl RouterCore {
    /// From the text of a configuration: TOML, or JSON if `json` is true. With `wall_ms` its time stands still until
    /// it is moved.
    #[new]
    #[pyo3(signature = (text: "str", json: "bool", seed: "int | None" = None, providers: "list[tuple[str, list[str]]] | None" = None, strategies: "list[tuple[str, object]] | None" = None, wall_ms: "int | None" = None))]
    fn new(
        py: Python<'_>,
        text: &str,
        json: bool,
        seed: Option<u64>,
        providers: Option<Vec<(String, Vec<String>)>>,
        strategies: Option<Vec<(String, Py<PyAny>)>>,
        wall_ms: Option<i64>,
    ) -> PyResult<Self> {
        let config =
            if json { rust::RouterConfig::from_json(text) } else { rust::RouterConfig::from_toml(text) };
        let mut config = config.map_err(|errors| raised(py, &Error::from(errors)))?;
        if let Some(seed) = seed {
            config = config.with_seed(seed);
        }
        let (providers, strategies) = (providers.unwrap_or_default(), strategies.unwrap_or_default());
        let router = made(py, &config, &providers, &strategies, wall_ms)?;
        let live = Mutex::new((std::process::id(), router));
        Ok(RouterCore { config, providers, strategies, wall_ms, live })
    }

    /// Starts a call. Nothing happens before it is polled.
    #[pyo3(signature = (body: "object", wire: "str | None" = None, session: "str | None" = None, model: "str | None" = None, stream: "bool | None" = None, timeout: "float | None" = None, tags: "list[str] | None" = None, connection: "str | None" = None, plan: "str | None" = None, request: "str | None" = None) -> "Call")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn chat(
        &self,
        py: Python<'_>,
        body: Bound<'_, PyAny>,
        wire: Option<&str>,
        session: Option<&str>,
        model: Option<&str>,
        stream: Option<bool>,
        timeout: Option<f64>,
        tags: Option<Vec<String>>,
        connection: Option<&str>,
        plan: Option<&str>,
        request: Option<&str>,
    ) -> PyResult<Call> {
        let (router, body) = (self.router(py)?, input::body(&body, "body")?);
        let tags = tags.unwrap_or_default();
        let timeout = timeout.map(duration).transpose().map_err(|error| raised(py, &error))?;
        let options =
            CallOptions { wire, session, model, stream, timeout, tags: &tags, connection, plan, request };
        let call = py.detach(|| router.chat(body, &options)).map_err(|error| raised(py, &error))?;
        let (id, wire, teller) = (call.id(), call.wire(), call.teller());
        Ok(Call { id, wire: wire.id(), teller, router, call: Mutex::new(Some(call)) })
    }

    /// Who would be asked, and why: for people, and as JSON.
    #[pyo3(signature = (body: "object", wire: "str | None" = None, session: "str | None" = None, model: "str | None" = None, tags: "list[str] | None" = None, connection: "str | None" = None) -> "tuple[str, str]")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn explain(
        &self,
        py: Python<'_>,
        body: Bound<'_, PyAny>,
        wire: Option<&str>,
        session: Option<&str>,
        model: Option<&str>,
        tags: Option<Vec<String>>,
        connection: Option<&str>,
    ) -> PyResult<(String, String)> {
        let (router, body) = (self.router(py)?, input::body(&body, "body")?);
        let tags = tags.unwrap_or_default();
        let options = CallOptions { wire, session, model, tags: &tags, connection, ..CallOptions::default() };
        let told = py.detach(|| router.explain(body, &options)).map_err(|error| raised(py, &error))?;
        Ok((told.text, told.json))
    }

    /// How everything stands, as JSON.
    fn health(&self, py: Python<'_>) -> PyResult<String> {
        let router = self.router(py)?;
        Ok(py.detach(|| router.health_json()))
    }

    /// Names that requests may use.
    #[pyo3(signature = () -> "list[str]")]
    fn models(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.router(py)?.models())
    }

    /// How good the answer of a request was, 0 to 1. False: nobody remembers the request.
    fn feedback(&self, py: Python<'_>, request: &str, reward: f32, weight: f32) -> PyResult<bool> {
        let router = self.router(py)?;
        Ok(py.detach(|| router.feedback(request, reward, weight)))
    }

    /// What is odd about the combos but not wrong.
    #[pyo3(signature = () -> "list[str]")]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.router(py)?.warnings().to_vec())
    }

    /// The time in seconds since 1970.
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        let ms = self.router(py)?.now().wall.0;
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of our times are far below 2^53")]
        Ok(ms as f64 / 1e3)
    }

    /// Moves a time that stands still, by nanoseconds; false if it is that of the machine.
    fn advance(&self, py: Python<'_>, nanoseconds: u64) -> PyResult<bool> {
        Ok(self.router(py)?.advance(Duration::from_nanos(nanoseconds)))
    }
}

impl RouterCore {
    /// The router of this process. In a forked child a lock of the parent's threads may be held for ever, so the child
    /// starts with a new one.
    fn router(&self, py: Python<'_>) -> PyResult<rust::Router> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if live.0 != process {
            let router = made(py, &self.config, &self.providers, &self.strategies, self.wall_ms)?;
            // What the parent left behind may be locked as well: it is not dropped.
            std::mem::forget(std::mem::replace(&mut live.1, router));
            live.0 = process;
        }
        Ok(live.1.clone())
    }
}

fn made(
    py: Python<'_>,
    config: &rust::RouterConfig,
    providers: &[(String, Vec<String>)],
    strategies: &[(String, Py<PyAny>)],
    wall_ms: Option<i64>,
) -> PyResult<rust::Router> {
    let mut parts = rust::Parts::default();
    parts.providers.extend(providers.iter().map(|(id, models)| rust::HostProvider::new(id, models.clone())));
    for (id, object) in strategies {
        parts.strategies.push(Arc::new(HostStrategy::new(id, object.clone_ref(py))));
    }
    let made = py.detach(|| match wall_ms {
        Some(ms) => rust::Router::on_told_time(config, parts, UnixMs(ms)),
        None => rust::Router::new(config, parts),
    });
    made.map_err(|error| raised(py, &error))
}

fn duration(seconds: f64) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        Error::new("bad_argument", format!("timeout is {seconds}, it has to be seconds from 0 on"))
    })
}

/// One request on its way. Belongs to the event loop that polls it.
#[pyclass(frozen, module = "omniroute._native")]
pub(crate) struct Call {
    id: u64,
    wire: &'static str,
    teller: rust::Teller,
    router: rust::Router,
    call: Mutex<Option<rust::Call>>,
}

#[pymethods]
impl Call {
    /// Names the call among those of its router.
    #[getter]
    fn id(&self) -> u64 {
        self.id
    }

    /// The wire of the request and of the answer.
    #[getter]
    fn wire(&self) -> &'static str {
        self.wire
    }

    /// Goes on as far as it can: what was found (0 waiting, 1 reply, 2 begun, 3 piece, 4 end, 5 failed) with its value, jobs,
    /// seconds until it has to be polled again, and other calls that can go on.
    #[pyo3(signature = () -> "tuple[int, object, list[tuple[object, ...]] | None, float | None, list[int] | None]")]
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let polled = py.detach(|| {
            let mut call = self.call.try_lock().ok()?;
            let polled = match call.as_mut() {
                Some(call) => call.poll(),
                None => return Some(None),
            };
            Some(Some(polled))
        });
        let Some(polled) = polled else {
            return Err(PyRuntimeError::new_err("the call is being polled by another thread"));
        };
        let nothing = || py.None().into_bound(py);
        let Some(polled) = polled else {
            return PyTuple::new(
                py,
                [END.into_pyobject(py)?.into_any(), nothing(), nothing(), nothing(), nothing()],
            );
        };
        let (state, value) = match polled.progress {
            rust::Progress::Waiting => (WAITING, nothing()),
            rust::Progress::Reply(reply) => (REPLY, Bound::new(py, Reply { reply })?.into_any()),
            rust::Progress::Begun => (BEGUN, nothing()),
            rust::Progress::Piece(piece) => (PIECE, PyBytes::new(py, &piece).into_any()),
            rust::Progress::End => (END, nothing()),
            rust::Progress::Failed(error) => {
                (FAILED, raised(py, &error).into_value(py).into_bound(py).into_any())
            }
            _ => (WAITING, nothing()),
        };
        let jobs = match polled.jobs.is_empty() {
            true => nothing(),
            false => {
                let jobs = polled.jobs.into_iter().map(|job| told(py, job)).collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, jobs)?.into_any()
            }
        };
        let wake = match polled.wake_after {
            Some(after) => after.as_secs_f64().into_pyobject(py)?.into_any(),
            None => nothing(),
        };
        let others = match polled.others.is_empty() {
            true => nothing(),
            false => PyList::new(py, polled.others)?.into_any(),
        };
        PyTuple::new(py, [state.into_pyobject(py)?.into_any(), value, jobs, wake, others])
    }

    /// The head of an answer, what is there of its body, and whether that is all of it.
    #[pyo3(signature = (id: "int", status: "int", headers: "list[tuple[str, str]]", piece: "bytes | None" = None, whole: "bool" = false))]
    fn answered(
        &self,
        id: u64,
        status: u16,
        headers: Vec<(String, String)>,
        piece: Option<&[u8]>,
        whole: bool,
    ) -> PyResult<()> {
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        self.teller.answered(id, status, headers, piece.unwrap_or_default().to_vec(), whole);
        Ok(())
    }

    /// More of the body of an answer.
    fn piece(&self, id: u64, piece: &[u8]) {
        self.teller.piece(id, piece.to_vec());
    }

    /// The body is complete.
    fn ended(&self, id: u64) {
        self.teller.ended(id);
    }

    /// The exchange failed in `phase`: connect, tls, send or read.
    fn broke(&self, id: u64, phase: &str, message: String) {
        self.teller.broke(id, phase, message);
    }

    /// The receipt as JSON, from the head of the answer on.
    #[pyo3(signature = () -> "str | None")]
    fn receipt(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.call.try_lock().ok()?.as_ref()?.receipt_json())
    }

    /// Ends it. Gives other calls that can go on now.
    #[pyo3(signature = () -> "list[int]")]
    fn close(&self, py: Python<'_>) -> Vec<u64> {
        py.detach(|| {
            let call = self.call.try_lock().ok().and_then(|mut call| call.take());
            drop(call);
            self.router.woken()
        })
    }
}

/// A job as a tuple: 0 send, 1 ask, 2 read, 3 abort, 4 work, with what belongs to it.
fn told<'py>(py: Python<'py>, job: rust::Job) -> PyResult<Bound<'py, PyTuple>> {
    match job {
        rust::Job::Send { id, request } => {
            let headers = request.headers();
            let pairs = PyList::empty(py);
            for (name, value) in headers {
                pairs.append((name.as_str(), PyBytes::new(py, value.as_bytes())))?;
            }
            let body = PyBytes::new(py, request.body());
            (0u8, id, request.method().as_str(), request.uri().to_string(), pairs, body).into_pyobject(py)
        }
        rust::Job::Ask { id, provider, model, stream, body } => {
            (1u8, id, &*provider, model, stream, PyBytes::new(py, &body)).into_pyobject(py)
        }
        rust::Job::Read { id } => (2u8, id).into_pyobject(py),
        rust::Job::Abort { id } => (3u8, id).into_pyobject(py),
        rust::Job::Work(work) => {
            let work = Work { work: Mutex::new(Some(work)) };
            (4u8, 0u64, Bound::new(py, work)?).into_pyobject(py)
        }
        _ => (3u8, 0u64).into_pyobject(py),
    }
}

/// Heavy work of a call, for a thread of Python's own or at once.
#[pyclass(frozen, module = "omniroute._native")]
pub(crate) struct Work {
    work: Mutex<Option<rust::Work>>,
}

#[pymethods]
impl Work {
    /// Does it; a second time nothing happens.
    fn run(&self, py: Python<'_>) {
        let work = self.work.try_lock().ok().and_then(|mut work| work.take());
        py.detach(|| work.into_iter().for_each(rust::Work::run));
    }
}

/// A whole answer.
#[pyclass(frozen, module = "omniroute._native")]
pub(crate) struct Reply {
    reply: rust::Reply,
}

#[pymethods]
impl Reply {
    /// The answer in the wire of the request.
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.reply.body())
    }

    /// What the answer says, as JSON.
    fn told(&self, py: Python<'_>) -> PyResult<String> {
        let told = py.detach(|| self.reply.told()).map_err(|error| raised(py, &error))?;
        serde_json::to_string(&told).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Who was asked, why, what it took, as JSON.
    fn receipt(&self) -> String {
        self.reply.receipt_json()
    }
}

/// Reads the pieces of a streamed answer.
#[pyclass(frozen, module = "omniroute._native")]
pub(crate) struct Events {
    events: Mutex<rust::Events>,
}

#[pymethods]
impl Events {
    /// Of an answer in this wire.
    #[new]
    fn new(py: Python<'_>, wire: &str) -> PyResult<Self> {
        let known = omniroute::core::wire::by_id(wire);
        let wrong = || raised(py, &Error::new("unknown_wire", format!("wire {wire:?} is not known")));
        Ok(Events { events: Mutex::new(rust::Events::new(known.ok_or_else(wrong)?)) })
    }

    /// What the next piece says; without one, the answer has ended. Each event is a tuple that begins with its kind.
    #[pyo3(signature = (piece: "bytes | None") -> "list[tuple[object, ...]]")]
    fn feed<'py>(&self, py: Python<'py>, piece: Option<&[u8]>) -> PyResult<Bound<'py, PyList>> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match piece {
            Some(piece) => events.feed(piece.to_vec()),
            None => events.end(),
        };
        let out = PyList::empty(py);
        for event in found {
            match event {
                rust::ToldEvent::Text(text) => out.append(("text", text))?,
                rust::ToldEvent::Reasoning(text) => out.append(("reasoning", text))?,
                rust::ToldEvent::ToolCall { index, id, name, arguments } => {
                    out.append(("tool_call", index, id, name, arguments))?;
                }
                rust::ToldEvent::Usage(usage) => {
                    out.append(("usage", usage.input, usage.output, usage.cached, usage.reasoning))?;
                }
                rust::ToldEvent::Stop(reason) => out.append(("stop", reason))?,
                rust::ToldEvent::Failed(error) => {
                    out.append(("failed", raised(py, &error).into_value(py)))?
                }
                _ => {}
            }
        }
        Ok(out)
    }
}
