//! Carries changed strings back into lists and dictionaries. The caller's objects are never changed: those on the way to
//! a changed string are copied, all others are the very same.

use omniroute::{Step, TextEdit};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::encode::dumped;

/// A new list in which the `edits` below `key` are done. Edits stand in document order.
pub(crate) fn carried<'py>(
    list: &Bound<'py, PyList>,
    key: &str,
    edits: &[TextEdit],
) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::new(list.py(), list.iter())?;
    // The way of the edit before, with the copies made on it.
    let mut way: Vec<(&Step, Bound<'py, PyAny>)> = Vec::new();
    for edit in edits {
        let [Step::Key(first), steps @ .., last] = edit.path.as_slice() else { continue };
        if first != key {
            continue;
        }
        let shared = way.iter().zip(steps).take_while(|((old, _), new)| old == new).count();
        way.truncate(shared);
        let unchanged = steps.get(shared..).unwrap_or(&[]);
        for step in unchanged {
            let parent = way.last().map_or(out.as_any(), |(_, parent)| parent);
            let child = copied(&get(parent, step)?)?;
            set(parent, step, &child)?;
            way.push((step, child));
        }
        let parent = way.last().map_or(out.as_any(), |(_, parent)| parent);
        set(parent, last, edit.text.as_str().into_pyobject(list.py())?.as_any())?;
    }
    Ok(out)
}

fn copied<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(dict.copy()?.into_any());
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(PyList::new(value.py(), list.iter())?.into_any());
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(PyList::new(value.py(), tuple.iter())?.into_any());
    }
    dumped(value)?.ok_or_else(gone)
}

fn get<'py>(parent: &Bound<'py, PyAny>, step: &Step) -> PyResult<Bound<'py, PyAny>> {
    match step {
        Step::Key(key) => parent.get_item(key),
        Step::Index(index) => parent.get_item(index),
    }
}

fn set(parent: &Bound<'_, PyAny>, step: &Step, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match step {
        Step::Key(key) => parent.set_item(key, value),
        Step::Index(index) => parent.set_item(index, value),
    }
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("the messages were changed by another thread while they were compressed")
}
