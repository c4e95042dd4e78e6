//! A length of time in configuration: `"5s"`, `"30min"`, or plain milliseconds.

use std::fmt;
use std::time::Duration;

/// Whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// This many milliseconds.
    pub const fn ms(ms: u64) -> Span {
        Span(ms)
    }

    /// This many seconds.
    pub const fn seconds(seconds: u64) -> Span {
        Span(seconds * 1_000)
    }

    /// This many minutes.
    pub const fn minutes(minutes: u64) -> Span {
        Span(minutes * 60_000)
    }

    /// This many hours.
    pub const fn hours(hours: u64) -> Span {
        Span(hours * 3_600_000)
    }

    /// This many days.
    pub const fn days(days: u64) -> Span {
        Span(days * 86_400_000)
    }

    /// Its milliseconds.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Its milliseconds, for sums with dates.
    pub(crate) fn signed(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// Reads `250`, `"250ms"`, `"5s"`, `"30min"` (or `m`), `"24h"`, `"7d"`. None for anything else.
    pub fn parse(text: &str) -> Option<Span> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let factor = match unit.trim() {
            "" | "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.checked_mul(factor).map(Span)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_millis(span.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (factor, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")] {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return write!(f, "{}{unit}", self.0 / factor);
            }
        }
        write!(f, "{}ms", self.0)
    }
}

impl serde::Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl serde::de::Visitor<'_> for Visit {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"5s\", \"30min\", or milliseconds")
            }
            fn visit_u64<E: serde::de::Error>(self, ms: u64) -> Result<Span, E> {
                Ok(Span(ms))
            }
            fn visit_i64<E: serde::de::Error>(self, ms: i64) -> Result<Span, E> {
                u64::try_from(ms)
                    .map(Span)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(ms), &self))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
                Span::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_back() {
        for (text, ms, shown) in [
            ("250", 250, "250ms"),
            ("5s", 5_000, "5s"),
            (" 30 min ", 1_800_000, "30min"),
            ("90m", 5_400_000, "90min"),
            ("24h", 86_400_000, "1d"),
            ("0", 0, "0ms"),
        ] {
            let span = Span::parse(text).unwrap();
            assert_eq!((span.as_ms(), span.to_string().as_str()), (ms, shown), "{text}");
            assert_eq!(Span::parse(shown), Some(span));
        }
        for text in ["", "s", "-3s", "1e3s", "5 weeks", "99999999999999999999", "18446744073709551615d"] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }
}
