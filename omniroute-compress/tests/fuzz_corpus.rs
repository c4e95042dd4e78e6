//! The corpus of the fuzz targets for command output, filters and prose, replayed through the same checks as an ordinary test.
#![expect(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking; the checks are shared")]

#[path = "../../fuzz/checks/prose.rs"]
mod prose;
#[path = "../../fuzz/checks/rtk.rs"]
mod rtk;

use std::path::PathBuf;

fn replay(target: &str, check: fn(&[u8]) -> Result<(), String>) -> usize {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in &paths {
        let bytes = std::fs::read(path).unwrap();
        check(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        // Cut and with bytes that are none of a text.
        let mut cut = bytes.get(..bytes.len() / 2).unwrap().to_vec();
        cut.extend_from_slice(b"\xff\xfe\x00\r\x1b[2K");
        check(&cut).unwrap_or_else(|e| panic!("{} cut: {e}", path.display()));
    }
    paths.len()
}

#[test]
fn outputs_hold() {
    assert!(replay("rtk_output", rtk::output) >= 24);
}

#[test]
fn filters_hold() {
    assert!(replay("rtk_filter", rtk::filter) >= 10);
}

#[test]
fn screens_hold() {
    assert!(replay("rtk_screen", rtk::screen) >= 20);
}

#[test]
fn texts_without_a_command_hold() {
    assert!(replay("rtk_detect", rtk::detect) >= 15);
}

#[test]
fn commands_hold() {
    assert!(replay("rtk_command", rtk::command) >= 25);
}

#[test]
fn diffs_hold() {
    assert!(replay("rtk_diff", rtk::diff) >= 14);
}

#[test]
fn prose_holds() {
    assert!(replay("prose_scan", prose::prose) >= 14);
}
