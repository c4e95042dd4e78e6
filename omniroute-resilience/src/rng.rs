//! Seeded numbers for jitter. Same seed, same numbers, on every platform.

use std::sync::atomic::{AtomicU64, Ordering};

/// A generator that any thread may draw from. Which thread gets which number depends on their order.
#[derive(Debug)]
pub struct Rng(AtomicU64);

impl Rng {
    /// Starts from a seed.
    pub const fn new(seed: u64) -> Rng {
        Rng(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        let state = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low);
        let wide = u128::from(self.next()) * (u128::from(span) + 1);
        low + u64::try_from(wide >> 64).unwrap_or(span)
    }

    /// `ms` times a factor between `low` and `high`, in millionths.
    pub(crate) fn stretch(&self, ms: i64, low: u64, high: u64) -> i64 {
        let factor = i128::from(self.between(low, high));
        i64::try_from(i128::from(ms) * factor / 1_000_000).unwrap_or(i64::MAX)
    }
}

/// Spreads the bits of a number.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stable hash of bytes, for short tags inside records.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(state)
}

/// A hash of bytes for tables in memory, eight bytes at a time. Never stored.
pub(crate) fn quick(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ (bytes.len() as u64);
    for word in words {
        state = (state ^ u64::from_le_bytes(*word)).wrapping_mul(0x9fb2_1c65_1e98_df25);
        state ^= state >> 32;
    }
    let mut last = [0; 8];
    if let Some(part) = last.get_mut(..rest.len()) {
        part.copy_from_slice(rest);
    }
    mix(state ^ u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers_inside_the_range() {
        let (a, b) = (Rng::new(7), Rng::new(7));
        for _ in 0..1_000 {
            let n = a.between(3, 9);
            assert!((3..=9).contains(&n));
            assert_eq!(n, b.between(3, 9));
        }
        assert_eq!(a.between(5, 5), 5);
        let _whole_range = a.between(0, u64::MAX);
    }
}
