//! Time stamps at the front of a line: how long they are and which part tells the time of day.

/// A stamp at the front of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Its bytes.
    pub(super) len: usize,
    /// Where the time of day begins in it.
    pub(super) clock: usize,
}

/// The stamp that `bytes` begins with, in any of the common forms.
pub(super) fn stamp(bytes: &[u8]) -> Option<Stamp> {
    match bytes.first()? {
        b'0'..=b'9' => iso(bytes)
            .or_else(|| clock(bytes).map(|len| Stamp { len, clock: 0 }))
            .or_else(|| day_first(bytes))
            .or_else(|| month_day(bytes)),
        b'A'..=b'Z' => named_month(bytes),
        b' ' => uptime(bytes),
        _ => None,
    }
}

/// `[   12.345678` of the kernel, behind the bracket.
pub(super) fn uptime(bytes: &[u8]) -> Option<Stamp> {
    let blanks = run(bytes, 0, |b| b == b' ');
    let seconds = run(bytes, blanks, |b| b.is_ascii_digit());
    let point = blanks + seconds;
    let fraction = run(bytes, point + 1, |b| b.is_ascii_digit());
    (seconds > 0 && bytes.get(point) == Some(&b'.') && fraction == 6)
        .then_some(Stamp { len: point + 7, clock: blanks })
}

fn run(bytes: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| is(**b)).count()
}

fn digits(bytes: &[u8], at: usize, count: usize) -> bool {
    bytes.get(at..at + count).is_some_and(|d| d.iter().all(u8::is_ascii_digit))
}

fn one_of(bytes: &[u8], at: usize, any: &[u8]) -> bool {
    bytes.get(at).is_some_and(|b| any.contains(b))
}

/// `2026-01-31T10:00:00.123Z`, `2026/01/31 10:00:00`, `2026-01-31 10:00`.
fn iso(bytes: &[u8]) -> Option<Stamp> {
    let date = digits(bytes, 0, 4)
        && one_of(bytes, 4, b"-/.")
        && digits(bytes, 5, 2)
        && one_of(bytes, 7, b"-/.")
        && digits(bytes, 8, 2);
    if !date || !one_of(bytes, 10, b"T _:-") {
        return None;
    }
    let blanks = run(bytes, 10, |b| b == b' ').max(1);
    timed(bytes, 10 + blanks)
}

/// The time of day at `at`, and the zone behind it.
fn timed(bytes: &[u8], at: usize) -> Option<Stamp> {
    let rest = bytes.get(at..)?;
    let len = clock(rest).or_else(|| minutes(rest))?;
    Some(Stamp { len: at + len, clock: at })
}

/// `10:00:00`, a fraction and a zone.
fn clock(bytes: &[u8]) -> Option<usize> {
    let shape = digits(bytes, 0, 2)
        && bytes.get(2) == Some(&b':')
        && digits(bytes, 3, 2)
        && bytes.get(5) == Some(&b':')
        && digits(bytes, 6, 2);
    if !shape {
        return half_day(bytes);
    }
    let mut len = 8;
    if one_of(bytes, 8, b".,") {
        let fraction = run(bytes, 9, |b| b.is_ascii_digit()).min(9);
        len += if fraction > 0 { fraction + 1 } else { 0 };
    }
    Some(len + zone(bytes.get(len..).unwrap_or(&[])))
}

/// `10:00AM`.
fn half_day(bytes: &[u8]) -> Option<usize> {
    let hour = run(bytes, 0, |b| b.is_ascii_digit());
    let half = matches!(bytes.get(hour + 3..hour + 5), Some(b"AM" | b"PM"));
    ((1..=2).contains(&hour) && bytes.get(hour) == Some(&b':') && digits(bytes, hour + 1, 2) && half)
        .then_some(hour + 5)
}

/// `10:00` behind a date.
fn minutes(bytes: &[u8]) -> Option<usize> {
    let shape = digits(bytes, 0, 2)
        && bytes.get(2) == Some(&b':')
        && digits(bytes, 3, 2)
        && bytes.get(5) != Some(&b':');
    shape.then(|| 5 + zone(bytes.get(5..).unwrap_or(&[])))
}

/// Length of `Z`, `+02:00`, ` +0000`, ` UTC`.
fn zone(bytes: &[u8]) -> usize {
    let blank = usize::from(bytes.first() == Some(&b' '));
    match bytes.get(blank) {
        Some(b'Z') if blank == 0 => 1,
        Some(b'+' | b'-') if digits(bytes, blank + 1, 2) => {
            let colon = usize::from(bytes.get(blank + 3) == Some(&b':'));
            if digits(bytes, blank + 3 + colon, 2) { blank + 5 + colon } else { 0 }
        }
        Some(b'U' | b'G' | b'C') => match bytes.get(blank..blank + 3) {
            Some(b"UTC" | b"GMT" | b"CET") => blank + 3,
            _ => 0,
        },
        _ => 0,
    }
}

/// `31/Jan/2026:10:00:00 +0000`, `31.01.2026 10:00:00`, `30 Nov 2026 09:08:24.123`.
fn day_first(bytes: &[u8]) -> Option<Stamp> {
    if !digits(bytes, 0, 2) || !one_of(bytes, 2, b"-/. ") {
        return None;
    }
    let month = if month(bytes, 3) { 3 } else { 2 };
    let year = 3 + month + 1;
    let shape =
        (month == 3 || digits(bytes, 3, 2)) && one_of(bytes, 3 + month, b"-/. ") && digits(bytes, year, 4);
    (shape && one_of(bytes, year + 4, b" :T")).then(|| timed(bytes, year + 5)).flatten()
}

/// `01-15 10:00:00.123` of logcat.
fn month_day(bytes: &[u8]) -> Option<Stamp> {
    let shape =
        digits(bytes, 0, 2) && one_of(bytes, 2, b"-/") && digits(bytes, 3, 2) && bytes.get(5) == Some(&b' ');
    let len = shape.then(|| clock(bytes.get(6..)?)).flatten()?;
    Some(Stamp { len: 6 + len, clock: 6 })
}

fn month(bytes: &[u8], at: usize) -> bool {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    bytes.get(at..at + 3).is_some_and(|m| MONTHS.contains(&m))
}

/// `Jan  5 10:00:00`, `Wed Oct 11 14:32:52.123 2023`.
fn named_month(bytes: &[u8]) -> Option<Stamp> {
    let weekday =
        matches!(bytes.get(..4), Some(b"Mon " | b"Tue " | b"Wed " | b"Thu " | b"Fri " | b"Sat " | b"Sun "));
    let start = if weekday { 4 } else { 0 };
    if !month(bytes, start) || bytes.get(start + 3) != Some(&b' ') {
        return None;
    }
    let blanks = run(bytes, start + 3, |b| b == b' ');
    let day = run(bytes, start + 3 + blanks, |b| b.is_ascii_digit());
    let at = start + 3 + blanks + day + 1;
    if !(1..=2).contains(&day) || bytes.get(at - 1) != Some(&b' ') {
        return None;
    }
    let mut found = timed(bytes, at)?;
    if weekday && bytes.get(found.len) == Some(&b' ') && digits(bytes, found.len + 1, 4) {
        found.len += 5;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_common_forms() {
        for text in [
            "2026-01-15 10:00:00,195",
            "2026-01-15T10:00:00Z",
            "2026-01-15T10:00:00.1234567Z",
            "2026-01-15T10:00:00.123456+02:00",
            "2026/01/15 10:00:00",
            "2026-11-30 09:08:24.062 UTC",
            "2026-01-15 10:00",
            "31/Jan/2026:10:00:00 +0000",
            "31.01.2026 10:00:00",
            "30 Nov 2026 09:08:24.123",
            "01-15 10:00:00.123",
            "Jan  5 10:00:00",
            "Jan 15 10:00:00",
            "Wed Oct 11 14:32:52.123456 2023",
            "10:00:00.123",
            "10:00AM",
            "15-Jan-2026 10:00:00 UTC",
        ] {
            assert_eq!(stamp(format!("{text} rest").as_bytes()).map(|s| s.len), Some(text.len()), "{text}");
        }
        assert_eq!(uptime(b"   12.345678] x"), Some(Stamp { len: 12, clock: 3 }));
        assert_eq!(stamp(b"2026-01-15 10:00:00,195 x").map(|s| s.clock), Some(11));
        for text in [
            "",
            "2026-01-15",
            "2026-01-15 x",
            "12:3",
            "Jan x",
            "Wed x",
            "10:00",
            "1234",
            "99/99",
            "January 5",
        ] {
            assert_eq!(stamp(text.as_bytes()), None, "{text}");
        }
    }
}
