//! The shapes of time stamps: each function takes one off the front of a line and returns the rest.

/// Drops blanks.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| **byte == b' ').count();
    bytes.get(blanks..).unwrap_or_default()
}

/// Exactly `count` digits.
pub(super) fn digits(bytes: &[u8], count: usize) -> Option<&[u8]> {
    let (head, rest) = bytes.split_at_checked(count)?;
    head.iter().all(u8::is_ascii_digit).then_some(rest)
}

/// One byte of a set.
pub(super) fn one_of<'l>(bytes: &'l [u8], any: &[u8]) -> Option<&'l [u8]> {
    let (first, rest) = bytes.split_first()?;
    any.contains(first).then_some(rest)
}

/// `2026-01-31T10:00:00.123Z`, `2026/01/31 10:00:00`, `31/Jan/2026:10:00:00`, `31.01.2026 10:00:00`.
pub(super) fn date_time(bytes: &[u8]) -> Option<&[u8]> {
    let iso = digits(bytes, 4)
        .and_then(|rest| one_of(rest, b"-/."))
        .and_then(|rest| digits(rest, 2))
        .and_then(|rest| one_of(rest, b"-/."));
    let date = iso.and_then(|rest| digits(rest, 2)).or_else(|| {
        let rest = one_of(digits(bytes, 2)?, b"-/.")?;
        let rest = digits(rest, 2).or_else(|| month(rest))?;
        digits(one_of(rest, b"-/.")?, 4)
    })?;
    clock(one_of(date, b"T :_-")?).or_else(|| clock_minutes(one_of(date, b"T ")?))
}

/// `10:00:00`, a fraction and a zone.
pub(super) fn clock(bytes: &[u8]) -> Option<&[u8]> {
    let rest = one_of(digits(bytes, 2)?, b":")?;
    let rest = one_of(digits(rest, 2)?, b":")?;
    let rest = digits(rest, 2)?;
    Some(zone(fraction(rest)))
}

/// `10:00` behind a date.
fn clock_minutes(bytes: &[u8]) -> Option<&[u8]> {
    digits(one_of(digits(bytes, 2)?, b":")?, 2).map(zone)
}

fn fraction(bytes: &[u8]) -> &[u8] {
    let Some(rest) = one_of(bytes, b".,") else {
        return bytes;
    };
    let count = rest.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    if count > 0 { rest.get(count..).unwrap_or_default() } else { bytes }
}

fn zone(bytes: &[u8]) -> &[u8] {
    if let Some(rest) = bytes.strip_prefix(b"Z") {
        return rest;
    }
    let offset = |bytes: &[u8]| -> Option<usize> {
        let rest = digits(one_of(bytes, b"+-")?, 2)?;
        let rest = digits(one_of(rest, b":").unwrap_or(rest), 2)?;
        Some(bytes.len() - rest.len())
    };
    let spaced = bytes.strip_prefix(b" ").and_then(offset).map(|length| length + 1);
    let length = offset(bytes).or(spaced).unwrap_or(0);
    bytes.get(length..).unwrap_or_default()
}

fn month(bytes: &[u8]) -> Option<&[u8]> {
    const MONTHS: &[&[u8]] =
        &[b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let (head, rest) = bytes.split_at_checked(3)?;
    MONTHS.contains(&head).then_some(rest)
}

/// Drops `Wed ` in front of a month.
pub(super) fn weekday(bytes: &[u8]) -> &[u8] {
    const DAYS: &[&[u8]] = &[b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    bytes.split_at_checked(4).filter(|(head, _)| DAYS.contains(head)).map_or(bytes, |(_, rest)| rest)
}

/// `Jan 31 10:00:00`, also with one digit of the day.
pub(super) fn syslog_stamp(bytes: &[u8]) -> Option<&[u8]> {
    let rest = trim(one_of(month(bytes)?, b" ")?);
    let rest = digits(rest, 2).or_else(|| digits(rest, 1))?;
    clock(one_of(rest, b" ")?)
}

/// `   12.345678` of the kernel.
pub(super) fn uptime(bytes: &[u8]) -> Option<&[u8]> {
    let count = bytes.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    let rest = one_of(bytes.get(count..)?, b".").filter(|_| count > 0)?;
    digits(rest, 6)
}
