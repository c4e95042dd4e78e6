//! Python objects as JSON text, without the detour over the host's encoder.

use std::fmt::Write as _;

use omniroute::core::escape_into;
use pyo3::exceptions::{PyException, PyRecursionError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

/// Nesting that no request needs and no document allows; also stops objects that hold themselves.
const MAX_DEPTH: usize = 120;

/// Stands for a message that cannot be read; a message in every wire.
const UNREADABLE_MESSAGE: &str = r#"{"role":"user","content":"","parts":[]}"#;

/// Why an object was not written.
pub(crate) enum Stop {
    /// Something only the host's encoder may know.
    Foreign,
    /// An exception.
    Raised(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Stop::Raised(error)
    }
}

/// An object that was kept as it is: its place and type.
pub(crate) struct Kept {
    pub(crate) pointer: String,
    pub(crate) kind: String,
    /// Whether it is the name of a member.
    pub(crate) key: bool,
}

/// Writes JSON.
pub(crate) struct Encoder {
    out: String,
    /// Whether foreign objects are left out and noted instead of stopping.
    lenient: bool,
    kept: Vec<Kept>,
    /// Places of the lists and objects around, for notes.
    path: Vec<String>,
}

impl Encoder {
    pub(crate) fn new(lenient: bool) -> Self {
        Encoder { out: String::with_capacity(1 << 12), lenient, kept: Vec::new(), path: Vec::new() }
    }

    pub(crate) fn finish(self) -> (String, Vec<Kept>) {
        (self.out, self.kept)
    }

    /// Writes the member of an object that the caller opens and closes.
    pub(crate) fn member(&mut self, key: &str, value: &Bound<'_, PyAny>) -> Result<(), Stop> {
        self.key(key);
        self.path.push(key.to_owned());
        self.value(value)?;
        self.path.pop();
        Ok(())
    }

    /// As [`Encoder::member`] for the list of messages: one that cannot be written is kept.
    pub(crate) fn messages(&mut self, key: &str, list: &Bound<'_, PyList>) -> Result<(), Stop> {
        self.key(key);
        self.out.push('[');
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.path.extend([key.to_owned(), index.to_string()]);
            let (start, notes) = (self.out.len(), self.kept.len());
            self.value(&item)?;
            let is_object = self.out.as_bytes().get(start..).is_some_and(|written| written.starts_with(b"{"));
            if self.lenient && !is_object {
                if self.kept.len() == notes {
                    self.note(&item, false)?;
                }
                self.out.truncate(start);
                self.out.push_str(UNREADABLE_MESSAGE);
            }
            self.path.clear();
        }
        self.out.push(']');
        Ok(())
    }

    pub(crate) fn open(&mut self) {
        self.out.push('{');
    }

    pub(crate) fn close(&mut self) {
        self.out.push('}');
    }

    pub(crate) fn value(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Stop> {
        if let Ok(text) = value.cast::<PyString>() {
            return self.text(text);
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.dict(dict);
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.list(list.iter());
        }
        if value.is_none() {
            self.out.push_str("null");
            return Ok(());
        }
        if let Ok(truth) = value.cast::<PyBool>() {
            self.out.push_str(if truth.is_true() { "true" } else { "false" });
            return Ok(());
        }
        if value.is_exact_instance_of::<PyInt>() {
            return self.number(value, false);
        }
        if value.is_exact_instance_of::<PyFloat>() {
            return self.number(value, true);
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return self.list(tuple.iter());
        }
        match dumped(value) {
            Ok(Some(dict)) => self.value(&dict),
            Ok(None) => self.foreign(value),
            Err(error) if self.lenient && error.is_instance_of::<PyException>(value.py()) => {
                self.foreign(value)
            }
            Err(error) => Err(Stop::Raised(error)),
        }
    }

    fn key(&mut self, key: &str) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        escape_into(key, &mut self.out);
        self.out.push(':');
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Result<(), Stop> {
        match text.to_str() {
            Ok(text) => escape_into(text, &mut self.out),
            // A lone surrogate: no JSON text can carry it.
            Err(_) => return self.foreign(text.as_any()),
        }
        Ok(())
    }

    fn number(&mut self, value: &Bound<'_, PyAny>, float: bool) -> Result<(), Stop> {
        if !float && let Ok(number) = value.extract::<i64>() {
            let _ = write!(self.out, "{number}");
            return Ok(());
        }
        let shown = value.repr().map_err(Stop::Raised)?;
        let shown = shown.to_str()?;
        if shown.bytes().any(|byte| byte == b'n') {
            return self.foreign(value); // nan, inf
        }
        self.out.push_str(shown);
        Ok(())
    }

    fn list<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> Result<(), Stop> {
        self.deeper()?;
        self.out.push('[');
        self.path.push(String::new());
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            if let Some(last) = self.path.last_mut() {
                last.clear();
                let _ = write!(last, "{index}");
            }
            self.value(&item)?;
        }
        self.path.pop();
        self.out.push(']');
        Ok(())
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>) -> Result<(), Stop> {
        self.deeper()?;
        self.out.push('{');
        self.path.push(String::new());
        // A list of its own: a value's code may change the dictionary.
        for item in dict.items() {
            let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let Ok(name) = key.cast::<PyString>() else {
                self.foreign_key(&key)?;
                continue;
            };
            let Ok(name) = name.to_str() else {
                self.foreign_key(&key)?;
                continue;
            };
            self.key(name);
            if let Some(last) = self.path.last_mut() {
                last.clear();
                last.push_str(name);
            }
            self.value(&value)?;
        }
        self.path.pop();
        self.out.push('}');
        Ok(())
    }

    fn deeper(&self) -> Result<(), Stop> {
        if self.path.len() < MAX_DEPTH {
            return Ok(());
        }
        let message = format!("the request is nested more than {MAX_DEPTH} levels deep");
        Err(Stop::Raised(PyRecursionError::new_err(message)))
    }

    fn foreign(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Stop> {
        if !self.lenient {
            return Err(Stop::Foreign);
        }
        self.note(value, false)?;
        self.out.push_str("null");
        Ok(())
    }

    fn foreign_key(&mut self, key: &Bound<'_, PyAny>) -> Result<(), Stop> {
        if self.lenient { self.note(key, true) } else { Err(Stop::Foreign) }
    }

    fn note(&mut self, value: &Bound<'_, PyAny>, key: bool) -> Result<(), Stop> {
        let around = self.path.len() - usize::from(key && !self.path.is_empty());
        let pointer = self
            .path
            .iter()
            .take(around)
            .fold(String::new(), |out, step| out + "/" + &step.replace('~', "~0").replace('/', "~1"));
        let kind = value.get_type().name()?.to_str()?.to_owned();
        self.kept.push(Kept { pointer, kind, key });
        Ok(())
    }
}

/// What makes a value that the host's encoder refused no JSON, and where it stands.
pub(crate) fn culprit(value: &Bound<'_, PyAny>) -> Option<Kept> {
    let mut encoder = Encoder::new(true);
    let _ = encoder.value(value);
    // The host writes names that are numbers, and lone surrogates as escapes.
    let fine = |kept: &Kept| match kept.kind.as_str() {
        "str" => true,
        "int" | "float" | "bool" | "NoneType" => kept.key,
        _ => false,
    };
    encoder.kept.into_iter().find(|kept| !fine(kept))
}

/// The fields of an object of an SDK; `None` if it has no way to tell them.
pub(crate) fn dumped<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if value.is_instance_of::<PyType>() {
        return Ok(None); // a class has the method, but no fields
    }
    let Some(dump) = value.getattr_opt(intern!(py, "model_dump"))?.filter(|dump| dump.is_callable()) else {
        return Ok(None);
    };
    let options = PyDict::new(py);
    options.set_item(intern!(py, "mode"), intern!(py, "json"))?;
    options.set_item(intern!(py, "exclude_unset"), true)?;
    let fields = match dump.call((), Some(&options)) {
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => dump.call0()?,
        other => other?,
    };
    // An object that gives itself would never end.
    Ok((fields.is_instance_of::<PyDict>() || fields.is_instance_of::<PyList>()).then_some(fields))
}
