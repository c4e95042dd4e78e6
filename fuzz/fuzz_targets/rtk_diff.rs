//! Any text as a diff.
#![no_main]

#[path = "../checks/rtk.rs"]
mod rtk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = rtk::diff(bytes) {
        panic!("{error}");
    }
});
