//! Any bytes as a filter file: no panic, sound errors.
#![no_main]

#[path = "../checks/rtk.rs"]
mod rtk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = rtk::filter(bytes) {
        panic!("{error}");
    }
});
