//! Random numbers without state: the same seed and salt give the same numbers, on every platform and in any order.

use sha2::{Digest, Sha256};

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads the bits of a number.
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One number for a seed and some fields.
///
/// ```
/// assert_eq!(omniroute_core::route::hash(1, &[1, 0]), 0x9edb_e9bd_18ad_781d);
/// ```
pub const fn hash(seed: u64, fields: &[u64]) -> u64 {
    let mut x = mix(seed.wrapping_add(STEP));
    let mut i = 0;
    while i < fields.len() {
        x = mix(x.wrapping_add(fields[i].wrapping_add(1).wrapping_mul(STEP)));
        i += 1;
    }
    x
}

/// A number in 0..1 from 64 random bits.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
pub const fn unit(value: u64) -> f64 {
    (value >> 11) as f64 / 9_007_199_254_740_992.0
}

/// What a stream is for. Streams of one seed with different salts have nothing to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salt(u64);

impl Salt {
    /// For a permutation of all candidates.
    pub const RANDOM: Salt = Salt(0x56cf_a3e9_5fb1_41a4);
    /// For a draw by weight.
    pub const WEIGHTED: Salt = Salt(0x54f5_9e8b_00b7_f0f5);
    /// For one deck of a cycle.
    pub const STRICT_RANDOM: Salt = Salt(0x9be5_9eaf_d20d_9301);
    /// For what follows the card of a deck.
    pub const STRICT_RANDOM_REST: Salt = Salt(0x7f67_d82b_6998_7d5b);
    /// For a pair of which the better one wins.
    pub const P2C: Salt = Salt(0x8add_b09c_6c31_f951);
    /// For draws of a learning policy.
    pub const EXPLORE: Salt = Salt(0x0e6f_24ab_5711_286f);

    /// A salt from its name: the first eight bytes of the name's SHA-256, little end first.
    pub fn of(name: &str) -> Salt {
        let digest = Sha256::digest(name.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Salt(u64::from_le_bytes(first))
    }

    /// The number behind it.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The numbers of one seed and one salt, one after the other.
#[derive(Debug, Clone)]
pub struct Stream {
    key: u64,
    next: u64,
}

impl Stream {
    /// Starts at the first number.
    pub const fn new(seed: u64, salt: Salt) -> Stream {
        Stream { key: hash(seed, &[salt.0]), next: 0 }
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        let value = hash(self.key, &[self.next]);
        self.next += 1;
        value
    }

    /// A number from 0 (included) to 1 (excluded).
    pub const fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// A number below `n`; 0 if `n` is 0.
    #[expect(clippy::cast_possible_truncation, reason = "the product shifted by 64 is below n")]
    pub const fn below(&mut self, n: usize) -> usize {
        ((self.bits() as u128 * n as u128) >> 64) as usize
    }

    /// Brings the items into a random order, each order equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_are_their_names() {
        let named = [
            (Salt::RANDOM, "random"),
            (Salt::WEIGHTED, "weighted"),
            (Salt::STRICT_RANDOM, "strict-random"),
            (Salt::STRICT_RANDOM_REST, "strict-random-rest"),
            (Salt::P2C, "p2c"),
        ];
        for (salt, name) in named {
            assert_eq!(salt, Salt::of(name), "{name}");
        }
        assert_eq!(Salt::EXPLORE, Salt::of("explore"));
    }

    #[test]
    fn the_reference_numbers() {
        let mut stream = Stream::new(42, Salt::RANDOM);
        let bits = [0xb8cd_3e6e_661c_d6bc_u64, 0x6334_67dd_a615_3fe6, 0x16b2_070b_d6d2_28c8];
        let units = [0.721_881_772_95, 0.387_518_397_92, 0.088_653_984_44];
        for (bits, expected) in bits.into_iter().zip(units) {
            assert_eq!(stream.bits(), bits);
            assert!((unit(bits) - expected).abs() < 1e-10);
        }
        for (seed, order) in [(42, [2, 4, 0, 1, 3]), (43, [1, 2, 0, 3, 4]), (44, [0, 1, 3, 2, 4])] {
            let mut items = [0, 1, 2, 3, 4];
            Stream::new(seed, Salt::RANDOM).shuffle(&mut items);
            assert_eq!(items, order, "seed {seed}");
        }
    }

    #[test]
    fn below_stays_below() {
        let mut stream = Stream::new(1, Salt::P2C);
        assert_eq!(stream.below(0), 0);
        assert!((0..1_000).all(|_| stream.below(3) < 3));
    }
}
