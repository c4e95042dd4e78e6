//! One compressor and what it gives back.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use omniroute::core::{CompressReceipt, Diagnostic, Skip};
use omniroute::{Compressor, Config, Error, Options, Stopwatch, TextOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::carry::carried;
use crate::encode::{Encoder, Stop};
use crate::errors::raised;
use crate::input;

/// Work on bodies of this size and more lets other Python threads run.
const DETACH_FROM: usize = 4 << 10;

/// A compressor. Threads may share one; after a fork the child keeps its settings and forgets what was remembered.
#[pyclass(frozen, module = "omniroute._native")]
#[derive(Debug)]
pub(crate) struct Engine {
    config: Config,
    clock: Stopwatch,
    /// Only ever locked by a thread that holds the interpreter, as the one that forks does: a child never finds it locked.
    live: Mutex<Live>,
}

#[derive(Debug)]
struct Live {
    process: u32,
    compressor: Arc<Compressor>,
}

#[pymethods]
impl Engine {
    /// From the text of a configuration: TOML, or JSON if `json` is true.
    #[new]
    #[pyo3(signature = (text: "str", json: "bool"))]
    fn new(py: Python<'_>, text: &str, json: bool) -> PyResult<Self> {
        let config = if json { Config::from_json(text) } else { Config::from_toml(text) };
        let config = config.map_err(|errors| raised(py, &Error::from(errors)))?;
        let compressor = Compressor::new(config.clone()).map_err(|error| raised(py, &error))?;
        let live = Live { process: std::process::id(), compressor: Arc::new(compressor) };
        Ok(Engine { config, clock: Stopwatch::start(), live: Mutex::new(live) })
    }

    /// Compresses a body. Gives the body, the same object if it is bytes and nothing changed, and the receipt.
    #[pyo3(signature = (body: "object", wire: "str | None" = None, plan: "str | None" = None, model: "str | None" = None, session: "str | None" = None, preview: "bool" = false) -> "tuple[bytes, Receipt]")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn compress<'py>(
        &self,
        py: Python<'py>,
        body: Bound<'py, PyAny>,
        wire: Option<&str>,
        plan: Option<&str>,
        model: Option<&str>,
        session: Option<&str>,
        preview: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Receipt)> {
        let compressor = self.compressor(py)?;
        let options = Options { wire, plan, model, session, now: self.clock.now() };
        let bytes = input::body(&body, "body")?;
        let out = detached(py, bytes.len(), {
            let bytes = bytes.clone();
            || {
                if preview {
                    compressor.preview_body(bytes, &options)
                } else {
                    compressor.compress_body(bytes, &options)
                }
            }
        });
        let out = out.map_err(|error| raised(py, &error))?;
        let sent = match body.is_exact_instance_of::<PyBytes>() && !out.receipt.applied {
            true => body,
            false => PyBytes::new(py, &out.body).into_any(),
        };
        Ok((sent, Receipt::new(out.receipt)))
    }

    /// Compresses the list of messages of a request; `around` are the other members of the request. Gives a new list,
    /// or None if nothing changed, and the receipt.
    #[pyo3(signature = (messages: "list[object]", around: "dict[str, object]", wire: "str | None" = None, plan: "str | None" = None, model: "str | None" = None, session: "str | None" = None) -> "tuple[list[object] | None, Receipt]")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn compress_list<'py>(
        &self,
        py: Python<'py>,
        messages: Bound<'py, PyList>,
        around: Bound<'py, PyDict>,
        wire: Option<&str>,
        plan: Option<&str>,
        model: Option<&str>,
        session: Option<&str>,
    ) -> PyResult<(Option<Bound<'py, PyList>>, Receipt)> {
        let compressor = self.compressor(py)?;
        let options = Options { wire, plan, model, session, now: self.clock.now() };
        let key = omniroute::list_member(wire);
        let (text, kept) = request(&messages, key, &around)?;
        let length = text.len();
        let out = detached(py, length, || compressor.compress_edits(Bytes::from(text), &options));
        let mut out = out.map_err(|error| raised(py, &error))?;
        out.receipt.notes.extend(kept);
        let list = match out.edits.is_empty() {
            true => None,
            false => Some(carried(&messages, key, &out.edits)?),
        };
        Ok((list, Receipt::new(out.receipt)))
    }

    /// Compresses one text that is no request. Gives the text, the same object if nothing changed, and the receipt. A
    /// text with a lone surrogate, which UTF-8 cannot carry, is left alone.
    #[pyo3(signature = (text: "str", kind: "str | None" = None, command: "str | None" = None, exit_code: "int | None" = None, plan: "str | None" = None, model: "str | None" = None) -> "tuple[str, Receipt]")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn compress_text<'py>(
        &self,
        py: Python<'py>,
        text: Bound<'py, PyString>,
        kind: Option<&str>,
        command: Option<&str>,
        exit_code: Option<i64>,
        plan: Option<&str>,
        model: Option<&str>,
    ) -> PyResult<(Bound<'py, PyString>, Receipt)> {
        let compressor = self.compressor(py)?;
        let options = Options { plan, model, now: self.clock.now(), ..Options::default() };
        // Codes of Windows have 32 bits without a sign.
        let exit_code = exit_code.map(|code| i32::try_from(code).unwrap_or(i32::MAX));
        let what = TextOptions { kind, command, exit_code };
        let Ok(given) = text.to_cow() else {
            let out = compressor.compress_text("", &what, &options).map_err(|error| raised(py, &error))?;
            let reason = "the text holds a lone surrogate, which UTF-8 cannot carry";
            if self.config.strict() {
                return Err(raised(py, &Error::new("bad_body", reason)));
            }
            let mut receipt = out.receipt;
            receipt.skipped = Some(Skip::new("unparseable", reason));
            return Ok((text, Receipt::new(receipt)));
        };
        let out = detached(py, given.len(), || compressor.compress_text(&given, &what, &options));
        let out = out.map_err(|error| raised(py, &error))?;
        let sent = if out.receipt.applied { PyString::new(py, &out.text) } else { text.clone() };
        Ok((sent, Receipt::new(out.receipt)))
    }

    /// Sums over the calls so far.
    #[pyo3(signature = () -> "dict[str, int]")]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.compressor(py)?.stats();
        let out = PyDict::new(py);
        for (name, value) in [
            ("calls", stats.calls),
            ("changed", stats.changed),
            ("skipped", stats.skipped),
            ("tokens_before", stats.tokens_before),
            ("tokens_after", stats.tokens_after),
            ("bytes_before", stats.bytes_before),
            ("bytes_after", stats.bytes_after),
        ] {
            out.set_item(name, value)?;
        }
        Ok(out)
    }

    /// The plan of calls that name none.
    #[getter]
    fn plan(&self) -> &str {
        self.config.plan()
    }
}

impl Engine {
    /// The compressor of this process. In a forked child a lock of the parent's threads may be held for ever, so the
    /// child starts with a new one.
    fn compressor(&self, py: Python<'_>) -> PyResult<Arc<Compressor>> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if live.process != process {
            let compressor = Compressor::new(self.config.clone()).map_err(|error| raised(py, &error))?;
            // What the parent left behind may be locked as well: it is not dropped.
            std::mem::forget(std::mem::replace(&mut live.compressor, Arc::new(compressor)));
            live.process = process;
        }
        Ok(live.compressor.clone())
    }
}

/// Runs `work` without the interpreter if it is worth it.
fn detached<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes >= DETACH_FROM { py.detach(work) } else { work() }
}

/// The messages and what stands around them as one request, and remarks about what could not be written.
fn request(
    messages: &Bound<'_, PyList>,
    key: &str,
    around: &Bound<'_, PyDict>,
) -> PyResult<(String, Vec<Diagnostic>)> {
    let mut encoder = Encoder::new(true);
    encoder.open();
    let written = (|| {
        for (name, value) in around.iter() {
            let name = name.cast_into::<PyString>().map_err(PyErr::from)?;
            encoder.member(name.to_str()?, &value)?;
        }
        encoder.messages(key, messages)
    })();
    encoder.close();
    match written {
        Ok(()) => {
            let (text, kept) = encoder.finish();
            let note = |kept: crate::encode::Kept| {
                let action = format!("an object of type {} was kept as it is", kept.kind);
                Diagnostic::new("kept_object", kept.pointer, action)
            };
            Ok((text, kept.into_iter().map(note).collect()))
        }
        Err(Stop::Raised(error)) => Err(error),
        Err(Stop::Foreign) => unreachable!("a lenient encoder keeps foreign objects"),
    }
}

/// What one call did. Written as JSON only when asked.
#[pyclass(frozen, module = "omniroute._native")]
#[derive(Debug)]
pub(crate) struct Receipt {
    receipt: CompressReceipt,
}

impl Receipt {
    fn new(receipt: CompressReceipt) -> Self {
        Receipt { receipt }
    }
}

#[pymethods]
impl Receipt {
    /// The whole receipt as JSON text.
    fn json(&self) -> String {
        omniroute::receipt_json(&self.receipt)
    }

    /// One line for people.
    fn summary(&self) -> String {
        omniroute::receipt_line(&self.receipt)
    }

    /// Whether anything was changed.
    #[getter]
    fn applied(&self) -> bool {
        self.receipt.applied
    }

    /// Tokens as they came.
    #[getter]
    fn tokens_before(&self) -> u64 {
        self.receipt.tokens_before
    }

    /// Tokens as they are sent.
    #[getter]
    fn tokens_after(&self) -> u64 {
        self.receipt.tokens_after
    }
}
