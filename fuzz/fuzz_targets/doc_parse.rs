//! Any bytes as a document: agreement with `serde_json`, a faithful index, exact splices.
#![no_main]

#[path = "../checks/doc.rs"]
mod doc;
#[path = "../checks/splice.rs"]
mod splice;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = splice::document(bytes) {
        panic!("{error}");
    }
});
