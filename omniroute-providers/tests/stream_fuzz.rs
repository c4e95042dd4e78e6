//! The checks of the fuzz targets for streams as an ordinary test: the corpus, and thousands of inputs made from it
//! from a fixed seed. All inputs are synthetic.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test; counts are printed")]

#[path = "../../fuzz/checks/streams.rs"]
mod streams;

use std::path::PathBuf;

use bytes::Bytes;
use omniroute_core::hub::StreamItem;
use omniroute_core::wire::{OPENAI_CHAT, StreamReader, WIRES, Wire, WireFormat};
use omniroute_core::{Conversation, Diagnostic, Doc, DocError, Head};
use omniroute_providers::wires::HOSTED;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Pseudo-random numbers from a seed.
fn next(seed: &mut u64, below: usize) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    usize::try_from(*seed % u64::try_from(below.max(1)).unwrap()).unwrap()
}

/// Some bytes changed, lost, doubled, or replaced by those of another input.
fn damaged(inputs: &[Vec<u8>], seed: &mut u64) -> Vec<u8> {
    let mut input = inputs[next(seed, inputs.len())].clone();
    for _ in 0..=next(seed, 4) {
        let at = next(seed, input.len());
        match next(seed, 6) {
            0 => input.truncate(at + 1),
            1 => input[at] = u8::try_from(next(seed, 256)).unwrap(),
            2 => input[at] = *b"\n\r:{}[]\",\\ \xFF".get(next(seed, 12)).unwrap(),
            3 => drop(input.drain(at..(at + next(seed, 9)).min(input.len()))),
            4 => input.extend_from_within(at..),
            _ => {
                let other = &inputs[next(seed, inputs.len())];
                input.extend_from_slice(&other[next(seed, other.len())..]);
            }
        }
        if input.is_empty() {
            return vec![1];
        }
    }
    input.truncate(4_000);
    input
}

fn check(target: &str, wires: &[Wire], rounds: usize) {
    let inputs = corpus(target);
    for input in &inputs {
        streams::read(input, wires).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(input)));
    }
    let mut seed = 0x5EED;
    for _ in 0..rounds {
        let input = damaged(&inputs, &mut seed);
        streams::read(&input, wires).unwrap_or_else(|e| panic!("{e}: {:?}", String::from_utf8_lossy(&input)));
        let noise: Vec<u8> =
            (0..next(&mut seed, 60)).map(|_| next(&mut seed, 256).to_le_bytes()[0]).collect();
        streams::read(&noise, wires).unwrap_or_else(|e| panic!("{e}: {noise:?}"));
    }
    println!("{target}: {} inputs of the corpus, {} made ones", inputs.len(), rounds * 2);
}

#[test]
fn server_sent_events_hold() {
    check("sse_read", WIRES, 3_000);
}

#[test]
fn lines_and_frames_hold() {
    check("ndjson_read", HOSTED, 3_000);
}

/// Twin: a wire whose reader loses an item.
#[derive(Debug)]
struct Lossy;

#[derive(Debug)]
struct LossyReader(Box<dyn StreamReader>);

impl StreamReader for LossyReader {
    fn feed(&mut self, bytes: Bytes, out: &mut Vec<StreamItem>) {
        self.0.feed(bytes, out);
        if out.len() > 1 {
            out.remove(0);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamItem>) {
        self.0.end(out);
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.0.notes()
    }
}

impl WireFormat for Lossy {
    fn id(&self) -> &'static str {
        "lossy"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    fn claims(&self, _: &Doc) -> bool {
        false
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        OPENAI_CHAT.head(doc)
    }

    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError> {
        OPENAI_CHAT.read(doc)
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        OPENAI_CHAT.stream_reader().map(|inner| Box::new(LossyReader(inner)) as Box<dyn StreamReader>)
    }
}

#[test]
fn a_lost_item_is_noticed() {
    assert!(corpus("sse_read").iter().any(|input| streams::read(input, &[&Lossy]).is_err()));
}
