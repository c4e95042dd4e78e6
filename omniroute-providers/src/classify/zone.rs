//! When a vendor's day ends: midnight in the zone in which it counts allowances.

use omniroute_core::UnixMs;

use super::moment::{date_of, days_of};

const DAY: i64 = 86_400_000;
const HOUR: i64 = 3_600_000;

/// The zone of a vendor's day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    /// America/Los_Angeles, with its summer time.
    Pacific,
}

impl Zone {
    /// The next midnight after `now`. A day may have 23 or 25 hours.
    pub(crate) fn midnight(self, now: UnixMs) -> UnixMs {
        let day = (now.0 + self.offset(now)).div_euclid(DAY) + 1;
        let local = day * DAY;
        // Offsets change at 2 in the morning, so midnight has the offset of the hours before it.
        UnixMs(local - self.offset(UnixMs(local - self.offset(now))))
    }

    /// Local time minus UTC.
    fn offset(self, at: UnixMs) -> i64 {
        match self {
            Zone::Utc => 0,
            Zone::Pacific => {
                let (year, _, _) = date_of((at.0 - 8 * HOUR).div_euclid(DAY));
                // From the second Sunday of March to the first of November, each at 2:00 local.
                let from = nth_sunday(year, 3, 2) * DAY + 10 * HOUR;
                let to = nth_sunday(year, 11, 1) * DAY + 9 * HOUR;
                if (from..to).contains(&at.0) { -7 * HOUR } else { -8 * HOUR }
            }
        }
    }
}

/// The day of the `nth` Sunday of a month.
fn nth_sunday(year: i64, month: i64, nth: i64) -> i64 {
    let first = days_of(year, month, 1);
    // 1970-01-01 was a Thursday: day 3 was a Sunday.
    let to_sunday = (3 - first).rem_euclid(7);
    first + to_sunday + (nth - 1) * 7
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::moment::date;

    #[test]
    fn days_end_in_their_zone() {
        let rows = [
            (Zone::Utc, "2026-01-15T12:00:00Z", "2026-01-16T00:00:00Z"),
            (Zone::Utc, "2026-01-16T00:00:00Z", "2026-01-17T00:00:00Z"),
            (Zone::Pacific, "2026-01-15T12:00:00Z", "2026-01-16T08:00:00Z"),
            (Zone::Pacific, "2026-01-15T07:00:00Z", "2026-01-15T08:00:00Z"),
            (Zone::Pacific, "2026-07-15T12:00:00Z", "2026-07-16T07:00:00Z"),
            // The day on which summer time starts has 23 hours, the one on which it ends 25.
            (Zone::Pacific, "2026-03-08T09:00:00Z", "2026-03-09T07:00:00Z"),
            (Zone::Pacific, "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"),
            (Zone::Pacific, "2026-11-01T08:00:00Z", "2026-11-02T08:00:00Z"),
            (Zone::Pacific, "2026-12-31T12:00:00Z", "2027-01-01T08:00:00Z"),
        ];
        for (zone, now, end) in rows {
            assert_eq!(Some(zone.midnight(date(now).unwrap())), date(end), "{zone:?} {now}");
        }
    }
}
