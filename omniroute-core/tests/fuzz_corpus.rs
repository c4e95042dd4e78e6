//! The corpus of the fuzz targets, replayed through the same checks as an ordinary test.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../fuzz/checks/doc.rs"]
mod doc;
#[path = "../../fuzz/checks/splice.rs"]
mod splice;
#[path = "../../fuzz/checks/wire.rs"]
mod wire;

#[path = "support/fixtures.rs"]
mod fixtures;

use std::path::PathBuf;

/// Runs `check` on every file of the corpus of `target`; gives their number.
fn replay(target: &str, check: fn(&[u8]) -> Result<(), String>) -> usize {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in &paths {
        check(&std::fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    paths.len()
}

#[test]
fn documents_hold() {
    assert!(replay("doc_parse", splice::document) >= 24);
    assert!(replay("wire_read", splice::document) >= 24);
}

#[test]
fn requests_hold() {
    assert!(replay("wire_read", wire::request) >= 24);
    replay("doc_parse", wire::request);
    for fixture in fixtures::bodies() {
        wire::request(&fixture.body).unwrap_or_else(|e| panic!("{fixture}: {e}"));
        // As another wire too: most members mean nothing then.
        splice::document(&fixture.body).unwrap_or_else(|e| panic!("{fixture}: {e}"));
    }
}

/// A body that is cut anywhere, and one whose brackets are swapped, must not confuse a wire.
#[test]
fn broken_requests_hold() {
    for fixture in fixtures::bodies().iter().filter(|f| f.body.len() < 2500) {
        for at in (0..fixture.body.len()).step_by(23) {
            let mut bytes = fixture.body.clone();
            wire::request(&bytes[..at]).unwrap_or_else(|e| panic!("{fixture} cut at {at}: {e}"));
            bytes[at] = match bytes[at] {
                b'[' => b'{',
                b'}' => b']',
                b',' => b':',
                b'"' => b' ',
                other => other ^ 1,
            };
            wire::request(&bytes).unwrap_or_else(|e| panic!("{fixture} changed at {at}: {e}"));
        }
    }
}
