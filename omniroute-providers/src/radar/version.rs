//! Versions of a feed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::free_tiers::Day;

/// A day and a number within it, written `YYYY.MM.DD.n` with `n` from 1 and no leading zero. Ordered as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedVersion {
    day: Day,
    number: u32,
}

impl FeedVersion {
    /// The day part.
    pub fn day(self) -> Day {
        self.day
    }
}

impl fmt::Display for FeedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.day.date();
        write!(f, "{year:04}.{month:02}.{day:02}.{}", self.number)
    }
}

impl FromStr for FeedVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<FeedVersion, String> {
        let parse = || {
            let (day, number) = text.rsplit_once('.')?;
            if day.contains('-') {
                return None;
            }
            let canonical =
                number.len() <= 9 && !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
            let number: u32 = number.parse().ok().filter(|_| canonical)?;
            Some(FeedVersion { day: day.replace('.', "-").parse().ok()?, number })
        };
        parse().ok_or_else(|| {
            let told: String = text.chars().take(24).collect();
            format!("{told:?} is not a version of the form YYYY.MM.DD.n")
        })
    }
}

impl Serialize for FeedVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FeedVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FeedVersion, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_numbers() {
        let in_order =
            ["2026.09.30.2", "2026.10.08.1", "2026.10.08.9", "2026.10.08.10", "2026.10.09.1", "2027.01.01.1"];
        let versions: Vec<FeedVersion> = in_order.iter().map(|text| text.parse().unwrap()).collect();
        assert!(versions.is_sorted());
        assert!(versions.iter().zip(in_order).all(|(version, text)| version.to_string() == text));
        // As texts they are not in order: that is the mistake a floor must not make.
        assert!(!in_order.is_sorted());
        for text in [
            "",
            "2026.10.08",
            "2026.10.08.0",
            "2026.10.08.01",
            "2026.10.8.1",
            "2026.02.30.1",
            "2026-10-08.1",
            "2026.10.08.-1",
            "2026.10.08.+1",
            "2026.10.08.1.1",
            "2026.10.08.9999999999",
            "2026.10.08.",
            "v2026.10.08.1",
        ] {
            assert!(text.parse::<FeedVersion>().is_err(), "{text}");
        }
    }
}
