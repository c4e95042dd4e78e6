//! Any text as the output of any command: the laws of the engine.
#![no_main]

#[path = "../checks/rtk.rs"]
mod rtk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = rtk::output(bytes) {
        panic!("{error}");
    }
});
