//! The law of growing bodies: what was sent once is never sent differently.

use bytes::Bytes;

use super::Session;
use super::bodies::{literals, raw_messages};

/// Sends the bodies of `order` (indices into `cuts`) and gives the outputs in the order of `cuts`.
pub fn outputs(
    cuts: &[usize],
    order: &[usize],
    body: impl Fn(usize) -> Vec<u8>,
    send: &mut dyn FnMut(Vec<u8>) -> Bytes,
) -> Vec<Bytes> {
    let mut out = vec![Bytes::new(); cuts.len()];
    for &i in order {
        out[i] = send(body(cuts[i]));
    }
    out
}

/// Whether the messages of each output are byte for byte the first messages of the longest, and none came or went.
pub fn append_only(cuts: &[usize], outputs: &[Bytes]) -> Result<(), String> {
    grows(cuts, outputs, raw_messages)
}

/// The same for literals, cache markers taken away.
pub fn append_only_texts(cuts: &[usize], outputs: &[Bytes]) -> Result<(), String> {
    grows(cuts, outputs, literals)
}

fn grows<T: PartialEq>(
    cuts: &[usize],
    outputs: &[Bytes],
    parts: impl Fn(&[u8]) -> Vec<T>,
) -> Result<(), String> {
    let whole = parts(outputs.last().ok_or("no output")?);
    for (cut, output) in cuts.iter().zip(outputs) {
        let shorter = parts(output);
        if shorter.len() != *cut {
            return Err(format!("{cut} messages became {}", shorter.len()));
        }
        if let Some(i) = (0..*cut).find(|i| whole.get(*i) != shorter.get(*i)) {
            return Err(format!(
                "message {i} of {cut} was sent otherwise when the body had {} messages",
                whole.len()
            ));
        }
    }
    Ok(())
}

/// The law for one session with its bodies as they are.
pub fn check(
    session: &Session,
    cuts: &[usize],
    send: &mut dyn FnMut(Vec<u8>) -> Bytes,
) -> Result<Vec<Bytes>, String> {
    let order: Vec<usize> = (0..cuts.len()).collect();
    let outputs = outputs(cuts, &order, |k| session.first(k), send);
    append_only(cuts, &outputs).map_err(|e| format!("{}: {e}", session.name))?;
    Ok(outputs)
}

/// The same order for the same seed.
pub fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = seed | 1;
    for i in (1..n).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % (i as u64 + 1)) as usize);
    }
    order
}
