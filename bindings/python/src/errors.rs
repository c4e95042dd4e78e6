//! Errors of the library as exceptions: one class for each code.

use omniroute::Error;
use omniroute::error::CODES;
use pyo3::intern;
use pyo3::prelude::*;

/// Code, class and meaning of every error.
#[pyfunction]
#[pyo3(signature = () -> "list[tuple[str, str, str]]")]
pub(crate) fn codes() -> Vec<(&'static str, &'static str, &'static str)> {
    CODES.iter().map(|row| (row.code, row.class, row.summary)).collect()
}

/// The wire of the API behind the path of a URL.
#[pyfunction]
#[pyo3(signature = (path: "str") -> "str | None")]
pub(crate) fn wire_of_path(path: &str) -> Option<&'static str> {
    omniroute::wire_of_path(path)
}

/// An error as a client of a wire reads it.
#[pyfunction]
#[pyo3(signature = (wire: "str", status: "int", code: "str", message: "str") -> "bytes")]
pub(crate) fn error_body<'py>(
    py: Python<'py>,
    wire: &str,
    status: u16,
    code: &str,
    message: &str,
) -> Bound<'py, pyo3::types::PyBytes> {
    pyo3::types::PyBytes::new(py, &omniroute::error_body(wire, status, code, message))
}

/// The exception of an error. The classes are written in Python; they are looked up when one is needed.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let made = py.import(intern!(py, "omniroute.errors")).and_then(|module| {
        let facts = error.facts().and_then(|facts| serde_json::to_string(facts).ok());
        let arguments = (error.code(), error.class(), error.to_string(), error.mistakes().to_vec(), facts);
        module.call_method1(intern!(py, "make"), arguments)
    });
    made.map_or_else(|broken| broken, PyErr::from_value)
}
