//! Bodies as Python programs have them: bytes, text, buffers, dictionaries and lists.

use bytes::Bytes;
use omniroute::Error;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::encode::{Encoder, Stop, culprit, dumped};
use crate::errors::raised;

/// A body, or what else `what` says, as JSON text. Bytes and text are borrowed, buffers are copied because their owner may change them, a list is
/// taken as the messages of a request, other objects are written as JSON.
pub(crate) fn body(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Bytes> {
    let py = value.py();
    if value.is_instance_of::<PyBytes>() {
        return Ok(Bytes::from_owner(value.extract::<PyBackedBytes>().map_err(PyErr::from)?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.clone().extract::<PyBackedStr>();
        let wrong = |_| wrong(py, &format!("the {what} holds a lone surrogate, which UTF-8 cannot carry"));
        return text.map(Bytes::from_owner).map_err(wrong);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let request = PyDict::new(py);
        request.set_item(intern!(py, "messages"), value)?;
        return body(request.as_any(), what);
    }
    if value.is_instance_of::<PyDict>() || value.hasattr(intern!(py, "model_dump"))? {
        let mut encoder = Encoder::new(false);
        return match encoder.value(value) {
            Ok(()) => Ok(encoder.finish().0.into()),
            Err(Stop::Raised(error)) => Err(error),
            Err(Stop::Foreign) => by_host(value, what),
        };
    }
    if let Ok(buffer) = PyUntypedBuffer::get(value) {
        let Ok(buffer) = buffer.into_typed::<u8>() else {
            return Err(PyBufferError::new_err(format!("the {what} is a buffer of items that are no bytes")));
        };
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err(format!(
                "the {what} is a buffer with gaps; copy it with bytes()"
            )));
        }
        return Ok(buffer.to_vec(py)?.into());
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("a {what} is bytes, str, a buffer of bytes, dict or list, not {kind}")))
}

/// The body as bytes; the very same object if it is bytes. Messages call it `what`.
#[pyfunction]
#[pyo3(signature = (body: "object", what: "str" = "body") -> "bytes")]
pub(crate) fn encode<'py>(body: Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    if body.is_exact_instance_of::<PyBytes>() {
        return Ok(body);
    }
    Ok(PyBytes::new(body.py(), &self::body(&body, what)?).into_any())
}

/// What the native encoder does not know goes through the one of the host.
fn by_host(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Bytes> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item(intern!(py, "separators"), (",", ":"))?;
    options.set_item(intern!(py, "allow_nan"), false)?;
    let default = pyo3::wrap_pyfunction!(fields, py)?;
    options.set_item(intern!(py, "default"), default)?;
    let dumps = py.import(intern!(py, "json"))?.getattr(intern!(py, "dumps"))?;
    let text = dumps.call((value,), Some(&options)).map_err(|error| {
        if !error.is_instance_of::<PyValueError>(py) && !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        let why = match culprit(value) {
            Some(kept) if kept.kind == "float" => format!("a number at {} is infinite or nan", kept.pointer),
            Some(kept) if kept.key => format!("a name of type {} in {:?}", kept.kind, kept.pointer),
            Some(kept) => format!("an object of type {} at {}", kept.kind, kept.pointer),
            None => error.value(py).to_string(),
        };
        wrong(py, &format!("the {what} cannot be written as JSON: {why}"))
    })?;
    Ok(Bytes::from_owner(text.extract::<PyBackedStr>()?))
}

/// For the host's encoder: the fields of an object it does not know.
#[pyfunction]
fn fields<'py>(value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let kind = value.get_type().name()?;
    dumped(&value)?.ok_or_else(|| PyTypeError::new_err(format!("no JSON for an object of type {kind}")))
}

fn wrong(py: Python<'_>, message: &str) -> PyErr {
    raised(py, &Error::new("bad_argument", message))
}
