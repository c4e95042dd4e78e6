//! A fast 64-bit hash for finding equal texts, and a hasher for tables whose keys are such hashes.

use std::hash::{BuildHasherDefault, Hasher};

const K: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hash of some bytes; never 0.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut state = (bytes.len() as u64).wrapping_mul(K) ^ 0x51_7C_C1_B7;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = mix(state ^ u64::from_le_bytes(*word));
    }
    let mut tail = [0; 8];
    for (to, from) in tail.iter_mut().zip(rest) {
        *to = *from;
    }
    mix(state ^ u64::from_le_bytes(tail)).max(1)
}

/// Hash of several hashes in order.
pub(crate) fn combine(hashes: &[u64]) -> u64 {
    hashes.iter().fold(0, |state, h| mix(state ^ *h))
}

/// Multiplies to 128 bits and folds.
fn mix(x: u64) -> u64 {
    let wide = u128::from(x ^ 0xA076_1D64_78BD_642F) * 0xE703_7ED1_A0B4_28DB;
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// For tables whose keys are hashes already.
pub(crate) type ByHash = BuildHasherDefault<Direct>;

/// Passes a `u64` through.
#[derive(Debug, Default)]
pub(crate) struct Direct(u64);

impl Hasher for Direct {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn short_texts_do_not_collide() {
        let texts: Vec<Vec<u8>> = (0..60_000u32).map(|n| format!("line {n}").into_bytes()).collect();
        let zeros = (0..100).map(|n| vec![0u8; n]);
        let all: HashSet<u64> = texts.iter().map(|t| hash(t)).chain(zeros.map(|t| hash(&t))).collect();
        assert_eq!(all.len(), 60_100);
        assert_ne!(combine(&[1, 2]), combine(&[2, 1]));
    }
}
