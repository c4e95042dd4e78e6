//! Any bytes as a stream of server-sent events on every wire of the core, in any pieces.
#![no_main]

#[path = "../checks/streams.rs"]
mod streams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = streams::read(bytes, omniroute_core::wire::WIRES) {
        panic!("{error}");
    }
});
