//! The request bodies under `tests/fixtures`.

use std::fmt;
use std::path::PathBuf;

use omniroute_core::wire::{WIRES, Wire};

/// One valid body.
pub(crate) struct Fixture {
    pub(crate) wire: Wire,
    pub(crate) name: String,
    pub(crate) body: Vec<u8>,
}

impl fmt::Display for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.wire.id(), self.name)
    }
}

/// All bodies of all wires, in a fixed order.
pub(crate) fn bodies() -> Vec<Fixture> {
    let mut out = Vec::new();
    for wire in WIRES {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(wire.id());
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .collect();
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            out.push(Fixture { wire: *wire, name, body: std::fs::read(&path).unwrap() });
        }
    }
    out
}
