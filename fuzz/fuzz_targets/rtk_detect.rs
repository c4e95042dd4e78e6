//! Any text without a command, and as a file.
#![no_main]

#[path = "../checks/rtk.rs"]
mod rtk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = rtk::detect(bytes) {
        panic!("{error}");
    }
});
