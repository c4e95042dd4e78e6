//! Random draws that come out the same on every machine.
//!
//! The logarithm and exponential of a platform's library may differ in the last bit from those of another. These use
//! addition, multiplication, division and square root only, which are exact everywhere.

const LN_2: f64 = std::f64::consts::LN_2;

/// `e` to the power of `-x`, for `x >= 0`.
pub(crate) fn exp_minus(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 700.0 {
        return 0.0;
    }
    let x = -x.max(0.0);
    let halvings = (x / LN_2).round();
    let rest = x - halvings * LN_2;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..=16_u8 {
        term *= rest / f64::from(n);
        sum += term;
    }
    // At most 1010 halvings: still a normal number.
    let bits = (1023.0 + halvings) as u64;
    sum * f64::from_bits(bits << 52)
}

/// Natural logarithm of a normal positive number.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut term = ratio;
    let mut sum = 0.0;
    for n in 0..14_u8 {
        sum += term / f64::from(2 * n + 1);
        term *= square;
    }
    2.0 * sum + f64::from(exponent) * LN_2
}

/// A stream of numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0 and below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.bits() >> 11) as f64 + 0.5) * STEP
    }

    /// Normal with mean 0 and deviation 1, by the polar method.
    fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }

    /// Gamma with this shape and rate 1, by the method of Marsaglia and Tsang. Shapes below 1e-3 are taken as that.
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let shape = shape.max(1e-3);
            let lift = exp_minus(-ln(self.uniform()) / shape);
            return self.gamma(shape + 1.0) * lift;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let normal = self.normal();
            let root = 1.0 + c * normal;
            if root <= 0.0 {
                continue;
            }
            let cube = root * root * root;
            if ln(self.uniform()) < 0.5 * normal * normal + d - d * cube + d * ln(cube) {
                return d * cube;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_library_to_the_last_digits() {
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-13 * theirs.abs().max(1e-300);
        for n in 0..7000_i32 {
            let x = f64::from(n) / 10.0;
            assert!(near(exp_minus(x), (-x).exp()), "{x}: {} {}", exp_minus(x), (-x).exp());
        }
        for n in 1..20_000_i32 {
            let x = f64::from(n) / 731.0;
            assert!((ln(x) - x.ln()).abs() < 1e-14 * (1.0 + x.ln().abs()), "{x}: {} {}", ln(x), x.ln());
        }
        assert_eq!(exp_minus(0.0), 1.0);
        assert_eq!(exp_minus(1e9), 0.0);
        assert!(exp_minus(f64::NAN).is_nan());
        // Powers that a textbook prints.
        assert_eq!((exp_minus(1.0) * 1e12).round(), 367_879_441_171.0);
        assert_eq!((ln(10.0) * 1e12).round(), 2_302_585_092_994.0);
    }

    #[test]
    fn the_first_numbers_of_a_seed_never_change() {
        let mut draws = Draws::new(0);
        // The published first outputs of SplitMix64 from seed 0.
        assert_eq!(draws.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(draws.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn gamma_has_its_mean_and_variance() {
        for (shape, seed) in [(0.5, 1), (1.0, 2), (3.5, 3), (40.0, 4)] {
            let mut draws = Draws::new(seed);
            let n = 20_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = draws.gamma(shape);
                assert!(x >= 0.0 && x.is_finite());
                sum += x;
                squares += x * x;
            }
            let mean = sum / f64::from(n);
            let variance = squares / f64::from(n) - mean * mean;
            assert!((mean / shape - 1.0).abs() < 0.03, "{shape}: mean {mean}");
            assert!((variance / shape - 1.0).abs() < 0.08, "{shape}: variance {variance}");
        }
    }
}
