//! Bodies as Python programs have them: bytes, text, buffers, dictionaries and lists.

use bytes::Bytes;
use omniroute::Error;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::encode::{Encoder, Stop, dumped};
use crate::errors::raised;

/// A body as JSON text. Bytes and text are borrowed, buffers are copied because their owner may change them, a list is
/// taken as the messages of a request, other objects are written as JSON.
pub(crate) fn body(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let py = value.py();
    if value.is_instance_of::<PyBytes>() {
        return Ok(Bytes::from_owner(value.extract::<PyBackedBytes>().map_err(PyErr::from)?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.clone().extract::<PyBackedStr>();
        return text.map(Bytes::from_owner).map_err(|_| wrong(py, "the body holds a lone surrogate"));
    }
    if let Ok(list) = value.cast::<PyList>() {
        let mut encoder = Encoder::new(false);
        encoder.open();
        let written = encoder.messages("messages", list);
        encoder.close();
        return match written {
            Ok(()) => Ok(encoder.finish().0.into()),
            Err(Stop::Raised(error)) => Err(error),
            Err(Stop::Foreign) => {
                let around = PyDict::new(py);
                around.set_item(intern!(py, "messages"), list)?;
                by_host(around.as_any())
            }
        };
    }
    if value.is_instance_of::<PyDict>() || value.hasattr(intern!(py, "model_dump"))? {
        let mut encoder = Encoder::new(false);
        return match encoder.value(value) {
            Ok(()) => Ok(encoder.finish().0.into()),
            Err(Stop::Raised(error)) => Err(error),
            Err(Stop::Foreign) => by_host(value),
        };
    }
    if let Ok(buffer) = PyBuffer::<u8>::get(value) {
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the body is a buffer with gaps; pass bytes(body)"));
        }
        return Ok(buffer.to_vec(py)?.into());
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("a body is bytes, str, a buffer of bytes, dict or list, not {kind}")))
}

/// The body as bytes; the very same object if it is bytes.
#[pyfunction]
#[pyo3(signature = (body) -> "bytes")]
pub(crate) fn encode<'py>(body: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if body.is_exact_instance_of::<PyBytes>() {
        return Ok(body);
    }
    Ok(PyBytes::new(body.py(), &self::body(&body)?).into_any())
}

/// What the native encoder does not know goes through the one of the host.
fn by_host(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item(intern!(py, "separators"), (",", ":"))?;
    options.set_item(intern!(py, "allow_nan"), false)?;
    let default = pyo3::wrap_pyfunction!(fields, py)?;
    options.set_item(intern!(py, "default"), default)?;
    let dumps = py.import(intern!(py, "json"))?.getattr(intern!(py, "dumps"))?;
    let text = dumps.call((value,), Some(&options)).map_err(|error| {
        let refused = error.is_instance_of::<pyo3::exceptions::PyValueError>(py)
            || error.is_instance_of::<PyTypeError>(py);
        if refused {
            wrong(py, &format!("the body cannot be written as JSON: {}", error.value(py)))
        } else {
            error
        }
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
