//! Any bytes as lines of JSON, and a stream of every wire that only hosts speak, in any pieces.
#![no_main]

#[path = "../checks/streams.rs"]
mod streams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = streams::read(bytes, omniroute_providers::wires::HOSTED) {
        panic!("{error}");
    }
});
