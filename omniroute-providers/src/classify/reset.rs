//! When trying again makes sense, as far as the answer says.

use omniroute_core::UnixMs;

use super::body::{Member, Told};
use super::dialect::Dialect;
use super::limits::{Allowance, allowances};
use super::moment::{self, LONGEST_MS, When};

/// Words before a duration or a date, in lower case.
const WAITS: [&str; 14] = [
    "please retry in ",
    "please try again in ",
    "try again in ",
    "try again after ",
    "retry after ",
    "retry in ",
    "resets in ",
    "reset in ",
    "will reset after ",
    "reset after ",
    "try again at ",
    "resets at ",
    "reset at ",
    "wait until ",
];

/// Furthest that our clock may be from the vendor's before the vendor's is used, in milliseconds.
const SKEW: i64 = 2_000;

/// The time the vendor names, on our clock.
pub(crate) fn declared(told: &Told<'_>, dialect: Dialect, now: UnixMs) -> Option<UnixMs> {
    let vendor = vendor_clock(told, now);
    let fits = |found: When| on_our_clock(found, vendor, now);
    let ms = ["retry-after-ms", "x-ms-retry-after-ms"];
    let header_ms = ms.iter().find_map(|name| moment::milliseconds(told.header(name)?)).map(When::After);
    header_ms
        .and_then(fits)
        .or_else(|| told.header("retry-after").and_then(moment::when).and_then(fits))
        .or_else(|| body(told, &fits))
        .or_else(|| exhausted(&allowances(told, dialect, vendor), vendor, now))
        .or_else(|| generic(told, &fits))
        .or_else(|| phrase(&told.message).and_then(fits))
}

/// The latest time of the structured members: several windows may be used up.
fn body(told: &Told<'_>, fits: &dyn Fn(When) -> Option<UnixMs>) -> Option<UnixMs> {
    let times = told.times.iter().filter_map(|(member, text)| match member {
        Member::Ms => moment::milliseconds(text).map(When::After),
        Member::Any => moment::when(text),
    });
    times.filter_map(fits).max()
}

/// The latest reset of what has nothing left.
fn exhausted(found: &[Allowance], vendor: UnixMs, now: UnixMs) -> Option<UnixMs> {
    let empty = found.iter().filter(|a| a.remaining == Some(0) || a.used_ppm.is_some_and(|p| p >= 1_000_000));
    empty.filter_map(|a| a.resets_at).filter_map(|at| on_our_clock(When::At(at), vendor, now)).max()
}

fn generic(told: &Told<'_>, fits: &dyn Fn(When) -> Option<UnixMs>) -> Option<UnixMs> {
    let left = told.header("x-ratelimit-remaining").or_else(|| told.header("ratelimit-remaining"));
    if left.is_some_and(|n| n != "0") {
        return None; // another limit was hit
    }
    let names = [
        "x-ratelimit-reset-after",
        "x-ratelimit-reset",
        "ratelimit-reset",
        "anthropic-ratelimit-unified-reset",
    ];
    names.iter().find_map(|name| moment::when(told.header(name)?)).and_then(fits)
}

/// A time in a message in lower case.
fn phrase(message: &str) -> Option<When> {
    if let Some((_, after)) = message.split_once("usage limit reached|") {
        let end = after.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(after.len());
        return moment::number(after.split_at_checked(end)?.0);
    }
    WAITS.iter().filter_map(|words| message.split_once(words)).find_map(|(_, after)| {
        let after = after.trim_start();
        let span = moment::leading_duration(after).map(|(ms, _)| When::After(ms));
        span.or_else(|| moment::leading_date(after).map(When::At))
    })
}

/// The vendor's clock where it says one that differs from ours, else ours.
pub(crate) fn vendor_clock(told: &Told<'_>, now: UnixMs) -> UnixMs {
    let said = told.header("date").and_then(moment::date);
    said.filter(|at| at.0.abs_diff(now.0) > SKEW.unsigned_abs()).unwrap_or(now)
}

fn on_our_clock(found: When, vendor: UnixMs, now: UnixMs) -> Option<UnixMs> {
    let wait = match found {
        When::After(ms) => ms,
        When::At(at) => at.0.saturating_sub(vendor.0),
    };
    (wait > 0).then(|| UnixMs(now.0.saturating_add(wait.min(LONGEST_MS))))
}
