//! Times as vendors write them: durations, dates, bare numbers. Integers only, linear in the text.

use omniroute_core::UnixMs;

/// Longest wait that is believed: 31 days.
pub(crate) const LONGEST_MS: i64 = 31 * 86_400_000;

/// A time that is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Milliseconds from the answer on.
    After(i64),
    /// A date on the vendor's clock.
    At(UnixMs),
}

/// Any of the forms: bare number, duration, RFC 3339, HTTP date.
pub(crate) fn when(text: &str) -> Option<When> {
    let text = text.trim();
    if text.len() > 256 || !text.is_ascii() {
        return None;
    }
    number(text).or_else(|| duration(text).map(When::After)).or_else(|| date(text).map(When::At))
}

/// A bare number: from 10^12 on milliseconds since 1970, from 10^9 on seconds since 1970, else seconds from now.
pub(crate) fn number(text: &str) -> Option<When> {
    let (value, rest) = Decimal::lead(text.trim())?;
    if !rest.is_empty() || value.whole > 100_000_000_000_000 {
        return None;
    }
    let ms = value.times(1_000);
    Some(match value.whole {
        1_000_000_000_000.. => When::At(UnixMs(i64::try_from(value.whole).ok()?)),
        1_000_000_000.. => When::At(UnixMs(ms)),
        _ => When::After(ms.min(LONGEST_MS)),
    })
}

/// A number of milliseconds.
pub(crate) fn milliseconds(text: &str) -> Option<i64> {
    let (value, rest) = Decimal::lead(text.trim())?;
    (rest.is_empty() && value.whole <= 100_000_000_000_000).then(|| value.times(1).min(LONGEST_MS))
}

/// A decimal number in thousandths.
pub(crate) fn thousandths(text: &str) -> Option<i64> {
    let (value, rest) = Decimal::lead(text.trim())?;
    (rest.is_empty() && value.whole <= 1_000_000).then(|| value.times(1_000))
}

/// A whole text that is a duration, in milliseconds, rounded up.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (ms, rest) = leading_duration(text.trim())?;
    rest.trim().is_empty().then_some(ms)
}

/// The duration that a text starts with, and what follows it.
pub(crate) fn leading_duration(text: &str) -> Option<(i64, &str)> {
    let mut rest = text;
    let mut total: Option<i64> = None;
    loop {
        let joined = rest.trim_start();
        let joined = joined.strip_prefix(',').or_else(|| joined.strip_prefix("and ")).unwrap_or(joined);
        let candidate = if total.is_some() { joined.trim_start() } else { rest.trim_start() };
        let Some((ms, after)) = one_step(candidate) else { break };
        total = Some(total.unwrap_or(0).saturating_add(ms));
        rest = after;
    }
    total.map(|ms| (ms.min(LONGEST_MS), rest))
}

fn one_step(text: &str) -> Option<(i64, &str)> {
    let (value, after) = Decimal::lead(text)?;
    let after = after.trim_start();
    let end = after.bytes().position(|b| !b.is_ascii_alphabetic()).unwrap_or(after.len());
    let (unit, after) = after.split_at_checked(end)?;
    let ms = match unit.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        _ => return None,
    };
    Some((value.times(ms), after))
}

/// A decimal number that is not negative.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    whole: u64,
    /// Billionths.
    part: u64,
}

impl Decimal {
    fn lead(text: &str) -> Option<(Decimal, &str)> {
        let digits = |t: &str| t.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(t.len());
        let (whole, mut rest) = text.split_at_checked(digits(text))?;
        if whole.is_empty() || whole.len() > 18 {
            return None;
        }
        let mut part = 0;
        if let Some(after) = rest.strip_prefix('.')
            && digits(after) > 0
        {
            let (fraction, behind) = after.split_at_checked(digits(after))?;
            let scaled = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
            part = scaled.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            rest = behind;
        }
        Some((Decimal { whole: whole.parse().ok()?, part }, rest))
    }

    /// Times `unit`, rounded up.
    fn times(self, unit: u64) -> i64 {
        let whole = u128::from(self.whole) * u128::from(unit);
        let part = (u128::from(self.part) * u128::from(unit)).div_ceil(1_000_000_000);
        i64::try_from(whole + part).unwrap_or(i64::MAX)
    }
}

/// RFC 3339, or one of the three forms of an HTTP date.
pub(crate) fn date(text: &str) -> Option<UnixMs> {
    let text = text.trim();
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit) { rfc3339(text) } else { http_date(text) }
}

/// The date a text starts with, RFC 3339 only.
pub(crate) fn leading_date(text: &str) -> Option<UnixMs> {
    let part = |b: u8| b.is_ascii_digit() || b"-:.+TtZz".contains(&b);
    let end = text.bytes().position(|b| !part(b)).unwrap_or(text.len());
    let (word, _) = text.split_at_checked(end)?;
    rfc3339(word.trim_end_matches('.'))
}

fn rfc3339(text: &str) -> Option<UnixMs> {
    let (day, clock) = text.split_once(['T', 't', ' '])?;
    let mut parts = day.split('-');
    let (year, month, date) = (int(parts.next()?, 4)?, int(parts.next()?, 2)?, int(parts.next()?, 2)?);
    if parts.next().is_some() {
        return None;
    }
    let zone_at = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let (time, zone) = clock.split_at_checked(zone_at)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let (hour, minute, second) = hms(time)?;
    let offset = match zone.as_bytes().first() {
        None | Some(b'Z' | b'z') => 0,
        Some(sign) => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let minutes = int(hours, 2)? * 60 + int(minutes, 2)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
    };
    let scaled = fraction.bytes().chain(std::iter::repeat(b'0')).take(3);
    let ms = scaled.fold(0, |sum, b| sum * 10 + i64::from(b.wrapping_sub(b'0').min(9)));
    Some(UnixMs(utc(year, month, date, hour, minute, second)?.0 + ms - offset * 60_000))
}

fn http_date(text: &str) -> Option<UnixMs> {
    let words: Vec<&str> = text.split([' ', ',', '-']).filter(|w| !w.is_empty()).take(8).collect();
    let (date, month, year, time) = match words.as_slice() {
        [_, date, month, year, time, "GMT" | "UTC"] => (*date, *month, *year, *time),
        [_, month, date, time, year] => (*date, *month, *year, *time),
        _ => return None,
    };
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))?;
    let year = match year.len() {
        2 => int(year, 2)? + if int(year, 2)? < 70 { 2_000 } else { 1_900 },
        _ => int(year, 4)?,
    };
    let (hour, minute, second) = hms(time)?;
    utc(year, i64::try_from(month).ok()? + 1, int(date, 2)?, hour, minute, second)
}

fn hms(time: &str) -> Option<(i64, i64, i64)> {
    let mut parts = time.split(':');
    let (hour, minute) = (int(parts.next()?, 2)?, int(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |s| int(s, 2))?;
    parts.next().is_none().then_some((hour, minute, second))
}

fn int(text: &str, longest: usize) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= longest && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn utc(year: i64, month: i64, day: i64, hour: i64, minute: i64, second: i64) -> Option<UnixMs> {
    let sound = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let seconds = days_of(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    sound.then_some(UnixMs(seconds * 1_000))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a count of days from 1970-01-01.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let rows: &[(&str, Option<i64>)] = &[
            ("1s", Some(1_000)),
            ("1.5s", Some(1_500)),
            ("0s", Some(0)),
            ("350ms", Some(350)),
            ("17ms", Some(17)),
            ("1h2m3.4s", Some(3_723_400)),
            ("6m0s", Some(360_000)),
            ("2m59.56s", Some(179_560)),
            ("1h30m15s", Some(5_415_000)),
            ("2h30m14s", Some(9_014_000)),
            ("164h27m24s", Some(592_044_000)),
            ("16h26m14s", Some(59_174_000)),
            ("13 days", Some(13 * 86_400_000)),
            ("1 day", Some(86_400_000)),
            ("54.472178091s", Some(54_473)),
            (" 20 s ", Some(20_000)),
            ("2 minutes and 3 seconds", Some(123_000)),
            ("1 hour, 2 minutes", Some(3_720_000)),
            ("1H", Some(3_600_000)),
            ("400 days", Some(LONGEST_MS)),
            ("0.0001ms", Some(1)),
            ("-3s", None),
            ("1e3s", None),
            ("", None),
            ("s", None),
            ("5", None),
            ("5 bananas", None),
            ("5s later", None),
            (".5s", None),
            ("NaN", None),
        ];
        for (text, ms) in rows {
            assert_eq!(duration(text), *ms, "{text:?}");
        }
        assert_eq!(leading_duration("20s. Visit us").map(|(ms, _)| ms), Some(20_000));
        assert_eq!(leading_duration("soon"), None);
    }

    #[test]
    fn bare_numbers_by_size() {
        assert_eq!(number("20"), Some(When::After(20_000)));
        assert_eq!(number("0.5"), Some(When::After(500)));
        assert_eq!(number("999999999"), Some(When::After(LONGEST_MS)));
        assert_eq!(number("1767225600"), Some(When::At(UnixMs(1_767_225_600_000))));
        assert_eq!(number("1767225600000"), Some(When::At(UnixMs(1_767_225_600_000))));
        for bad in ["-1", "NaN", "1000000000000000", "", "1e9", "12x"] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
        assert_eq!(milliseconds("1500.2"), Some(1_501));
    }

    #[test]
    fn dates_in_every_form() {
        let moment = Some(UnixMs(784_111_777_000));
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "1994-11-06T08:49:37Z",
            "1994-11-06T09:49:37+01:00",
            "1994-11-06t03:19:37-05:30",
            "1994-11-06 08:49:37",
        ] {
            assert_eq!(date(text), moment, "{text}");
        }
        assert_eq!(date("2026-01-01T00:00:00.250Z"), Some(UnixMs(1_767_225_600_250)));
        for bad in ["1994-13-06T08:49:37Z", "1994-11-06", "Sun, 06 Foo 1994 08:49:37 GMT", "tomorrow", ""] {
            assert_eq!(date(bad), None, "{bad}");
        }
        assert_eq!(leading_date("2026-01-01T00:00:00Z. Bye"), Some(UnixMs(1_767_225_600_000)));
    }

    #[test]
    fn calendar_there_and_back() {
        for days in (-200_000..200_000).step_by(97) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(20_454), (2026, 1, 1));
    }
}
