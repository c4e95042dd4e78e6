//! What the interpreter around must be.

use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::PyResult;
use pyo3::exceptions::PyImportError;

/// Fails in every interpreter of the process but the first that asks.
pub(crate) fn refuse_other_interpreters() -> PyResult<()> {
    static FIRST: AtomicI64 = AtomicI64::new(-1);
    #[expect(unsafe_code, reason = "there is no safe way to ask which interpreter this is")]
    // SAFETY: a module is initialised by a thread that holds the interpreter; neither call takes over anything.
    let this = unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    match FIRST.compare_exchange(-1, this, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != this => Err(PyImportError::new_err(
            "omniroute can be used by one interpreter of a process, not by several",
        )),
        _ => Ok(()),
    }
}
