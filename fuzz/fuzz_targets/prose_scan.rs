//! Any text as prose.
#![no_main]

#[path = "../checks/prose.rs"]
mod prose;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = prose::prose(bytes) {
        panic!("{error}");
    }
});
