//! Calendar days, and whether the facts of a day are too old.

use std::fmt;
use std::str::FromStr;

use omniroute_core::UnixMs;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Facts older than this many days are stale.
pub const STALE_AFTER_DAYS: u32 = 14;

/// A day of the Gregorian calendar in UTC, from 1970-01-01 to 9999-12-31. Written `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u32);

impl Day {
    /// The day of a date; none if there is no such day.
    pub fn new(year: u32, month: u32, day: u32) -> Option<Day> {
        let found = Day::count(year, month, day)?;
        // A 31st of April comes back as the first of May.
        (found.date() == (year, month, day)).then_some(found)
    }

    /// The day of a moment; moments outside the range give its first or last day.
    pub fn of(moment: UnixMs) -> Day {
        let days = moment.0.div_euclid(86_400_000).clamp(0, i64::from(LAST));
        Day(u32::try_from(days).unwrap_or(LAST))
    }

    /// Days from `earlier` to this one; none if it is later than this one.
    pub fn days_since(self, earlier: Day) -> Option<u32> {
        self.0.checked_sub(earlier.0)
    }

    /// This day and `days` more, at most the last day there is.
    #[must_use]
    pub fn plus(self, days: u32) -> Day {
        Day(self.0.saturating_add(days).min(LAST))
    }

    /// Year, month and day of the month.
    pub fn date(self) -> (u32, u32, u32) {
        // Years begin in March, so that the day that is sometimes missing is the last one.
        let shifted = self.0 + MARCH_OF_YEAR_ZERO;
        let (era, day) = (shifted / DAYS_OF_ERA, shifted % DAYS_OF_ERA);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let of_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * month + 2) / 5 + 1;
        let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        (era * 400 + year + carry, month, of_month)
    }

    fn count(year: u32, month: u32, day: u32) -> Option<Day> {
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let of_era = year % 400;
        let of_year = (153 * month + 2) / 5 + day - 1;
        let days = year / 400 * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        days.checked_sub(MARCH_OF_YEAR_ZERO).map(Day)
    }
}

const DAYS_OF_ERA: u32 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const MARCH_OF_YEAR_ZERO: u32 = 719_468;
/// 9999-12-31.
const LAST: u32 = 2_932_896;

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Day, String> {
        let parse = || {
            let [a, b, c, d, b'-', e, f, b'-', g, h] = text.as_bytes() else { return None };
            let number = |digits: &[&u8]| {
                digits.iter().try_fold(0, |sum, digit| {
                    digit.is_ascii_digit().then(|| sum * 10 + u32::from(**digit - b'0'))
                })
            };
            Day::new(number(&[a, b, c, d])?, number(&[e, f])?, number(&[g, h])?)
        };
        // What is told back is short, whatever was given.
        parse().ok_or_else(|| {
            let told: String = text.chars().take(20).collect();
            format!("{told:?} is not a day of the form YYYY-MM-DD")
        })
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Day, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// How old facts are. It stands beside every figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FreeStatus {
    /// Day of the facts.
    pub as_of: Day,
    /// Days since then; none if the facts are from a day to come, which no clock that is right shows.
    pub age_days: Option<u32>,
    /// Older than [`STALE_AFTER_DAYS`] days, or of a day to come.
    pub stale: bool,
}

impl FreeStatus {
    /// The state on a day.
    pub fn new(as_of: Day, today: Day) -> FreeStatus {
        let age_days = today.days_since(as_of);
        FreeStatus { as_of, age_days, stale: age_days.is_none_or(|age| age > STALE_AFTER_DAYS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        for (text, number) in [
            ("1970-01-01", 0),
            ("1970-12-31", 364),
            ("1972-02-29", 789),
            ("2000-02-29", 11_016),
            ("2000-03-01", 11_017),
            ("2026-08-20", 20_685),
            ("2026-09-12", 20_708),
            ("9999-12-31", LAST),
        ] {
            assert_eq!(text.parse(), Ok(Day(number)), "{text}");
            assert_eq!(Day(number).to_string(), text);
        }
        let days: Vec<Day> = (0..=LAST).step_by(97).map(Day).collect();
        assert!(days.iter().all(|day| day.to_string().parse() == Ok(*day)));
        for text in [
            "",
            "2026-8-20",
            "2026-02-29",
            "1900-01-01",
            "2026-04-31",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "+026-01-01",
            "2026-01-01T",
            "20260101",
            "2026/01/01",
            "\u{662}026-01-01",
        ] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
        assert!("x".repeat(1000).parse::<Day>().unwrap_err().len() < 80);
        assert_eq!(Day::of(UnixMs(1_789_171_200_000)).to_string(), "2026-09-12");
        assert_eq!(Day::of(UnixMs(-1)), Day(0));
        assert_eq!(Day::of(UnixMs(i64::MAX)), Day(LAST));
        assert_eq!(Day(5).plus(3), Day(8));
        assert_eq!(Day(5).plus(u32::MAX), Day(LAST));
    }

    #[test]
    fn stale_after_a_fortnight() {
        let as_of: Day = "2026-09-12".parse().unwrap();
        for (today, age, stale) in [
            ("2026-09-12", Some(0), false),
            ("2026-09-26", Some(14), false),
            ("2026-09-27", Some(15), true),
            ("2026-09-11", None, true),
        ] {
            let status = FreeStatus::new(as_of, today.parse().unwrap());
            assert_eq!((status.age_days, status.stale), (age, stale), "{today}");
        }
    }
}
