//! Randomness from a seed, in integers only, so that a trace is the same on every platform.

/// A generator with the distributions that the world needs.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

/// Quantiles of a log-normal time to the first token (median 0.8 s, 99th percentile 6 s), in ms, one for each
/// sixteenth; the last step ends at the 99.9th percentile.
const FIRST_TOKEN: [i64; 17] =
    [80, 212, 295, 371, 448, 528, 613, 702, 800, 911, 1_044, 1_212, 1_429, 1_726, 2_169, 3_018, 11_500];

/// Quantiles of an exponential distribution with mean 1000, one for each sixteenth.
const EXPONENTIAL: [i64; 17] =
    [0, 65, 134, 208, 288, 375, 470, 575, 693, 827, 981, 1_163, 1_386, 1_674, 2_079, 2_773, 6_000];

impl Dice {
    /// Starts from a seed; `salt` keeps the streams of one seed apart.
    pub(crate) fn new(seed: u64, salt: u64) -> Dice {
        let mut dice = Dice(seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.next();
        dice
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from((u128::from(self.next()) * end as u128) >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(0);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// True `ppm` times in a million.
    pub(crate) fn chance(&mut self, ppm: usize) -> bool {
        self.below(1_000_000) < ppm
    }

    /// A gap between two arrivals, in millionths of a second, `per_hour` of them in an hour on average.
    pub(crate) fn gap_us(&mut self, per_hour: u64) -> u64 {
        let mean_us = 3_600_000_000 / per_hour.max(1);
        u64::try_from(self.quantile(&EXPONENTIAL)).unwrap_or(0) * mean_us / 1_000
    }

    /// Time to the first token, in ms.
    pub(crate) fn first_token(&mut self) -> i64 {
        self.quantile(&FIRST_TOKEN)
    }

    /// One of a list.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Shuffles.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            let other = self.below(at + 1);
            list.swap(at, other);
        }
    }

    fn quantile(&mut self, table: &[i64; 17]) -> i64 {
        let at = self.below(16);
        table[at] + self.between(0, table[at + 1] - table[at])
    }
}
