//! The native module `omniroute._native`: moves bytes and objects across, maps errors, decides nothing.

mod carry;
mod encode;
mod engine;
mod errors;
mod host;
mod input;
mod router;
mod strategy;

/// What the Python files of the package are built on.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::engine::{Engine, Receipt};
    #[pymodule_export]
    use super::errors::{codes, error_body, wire_of_path};
    #[pymodule_export]
    use super::input::encode;
    #[pymodule_export]
    use super::router::{Call, Events, Reply, RouterCore, Work};

    /// Version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name Python looks for")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The types of this module belong to the interpreter that loaded it first.
    #[pymodule_init]
    fn init() -> pyo3::PyResult<()> {
        super::host::refuse_other_interpreters()
    }

    /// Whether this build counts tokens with the real vocabularies.
    #[pymodule_export]
    const EXACT_TOKENS: bool = cfg!(feature = "tokens-exact");
}
