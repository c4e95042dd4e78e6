//! A part of a whole in tenths of a percent, without floating point.

use std::fmt;

/// Part of a whole; prints as `62.0 %`, or `-` if there is no whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The part; may be negative.
    pub part: i64,
    /// The whole.
    pub whole: u64,
}

impl Share {
    /// Part and whole.
    pub const fn new(part: i64, whole: u64) -> Self {
        Share { part, whole }
    }

    /// Tenths of a percent, rounded half away from zero; nothing if there is no whole.
    pub fn tenths(self) -> Option<i64> {
        if self.whole == 0 {
            return None;
        }
        let (part, whole) = (i128::from(self.part) * 2000, i128::from(self.whole));
        let half = if part < 0 { -whole } else { whole };
        i64::try_from((part + half) / (whole * 2)).ok()
    }

    /// The number alone, for instance `-3.5`, as it stands in JSON and CSV; nothing if there is no whole.
    pub fn number(self) -> Option<String> {
        let tenths = self.tenths()?;
        let sign = if tenths < 0 { "-" } else { "" };
        Some(format!("{sign}{}.{}", tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number() {
            Some(number) => f.pad(&format!("{number} %")),
            None => f.pad("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds() {
        for (part, whole, expected) in [
            (620, 1000, "62.0 %"),
            (1, 3, "33.3 %"),
            (2, 3, "66.7 %"),
            (-1, 3, "-33.3 %"),
            (-1, 4000, "0.0 %"),
            (1, 2000, "0.1 %"),
            (-1, 2000, "-0.1 %"),
            (5, 0, "-"),
            (i64::MAX, u64::MAX, "50.0 %"),
        ] {
            assert_eq!(Share::new(part, whole).to_string(), expected, "{part}/{whole}");
        }
        assert_eq!(format!("{:>8}|", Share::new(1, 2)), "  50.0 %|");
    }
}
