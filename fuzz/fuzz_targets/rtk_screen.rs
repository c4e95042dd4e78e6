//! Any bytes on a terminal.
#![no_main]

#[path = "../checks/rtk.rs"]
mod rtk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = rtk::screen(bytes) {
        panic!("{error}");
    }
});
