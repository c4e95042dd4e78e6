//! Any bytes as a request of every wire: no panic, sound errors, edits that disturb nothing else.
#![no_main]

#[path = "../checks/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = wire::request(bytes) {
        panic!("{error}");
    }
});
