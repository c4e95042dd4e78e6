//! What headers say about allowances, in the names of all vendors.

use http::HeaderMap;
use omniroute_core::{LimitSeen, QuotaWindow, Unit, UnixMs};

use super::body::Told;
use super::dialect::Dialect;
use super::moment::{self, When};
use super::reset::vendor_clock;

/// One allowance that headers tell of; the reset is on the vendor's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) unit: Unit,
    pub(crate) window: QuotaWindow,
    pub(crate) limit: Option<u64>,
    pub(crate) remaining: Option<u64>,
    pub(crate) used_ppm: Option<u32>,
    pub(crate) resets_at: Option<UnixMs>,
}

/// Names of the headers of one allowance; an empty name is one that the vendor does not send.
struct Names {
    dialect: Option<Dialect>,
    unit: Unit,
    window: QuotaWindow,
    limit: &'static str,
    remaining: &'static str,
    /// A share: 0 to 1, or percent if larger than 1.5 or if the name says so.
    used: &'static str,
    reset: &'static str,
}

const fn names(
    dialect: Option<Dialect>,
    unit: Unit,
    window: QuotaWindow,
    [limit, remaining, used, reset]: [&'static str; 4],
) -> Names {
    Names { dialect, unit, window, limit, remaining, used, reset }
}

use QuotaWindow::{Day, FiveHours, Minute, Month, Week};
use Unit::{Percent, Requests, Tokens};

/// A row with a dialect stands before the row of all for the same header.
const HEADERS: &[Names] = &[
    names(Some(Dialect::Groq), Requests, Day, REQUESTS),
    names(None, Requests, Minute, REQUESTS),
    names(None, Tokens, Minute, TOKENS),
    names(
        None,
        Tokens,
        Minute,
        [
            "x-ratelimit-limit-input-tokens",
            "x-ratelimit-remaining-input-tokens",
            "",
            "x-ratelimit-reset-input-tokens",
        ],
    ),
    names(
        None,
        Tokens,
        Minute,
        [
            "x-ratelimit-limit-output-tokens",
            "x-ratelimit-remaining-output-tokens",
            "",
            "x-ratelimit-reset-output-tokens",
        ],
    ),
    names(
        None,
        Requests,
        Minute,
        [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "",
            "anthropic-ratelimit-requests-reset",
        ],
    ),
    names(
        None,
        Tokens,
        Minute,
        [
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "",
            "anthropic-ratelimit-tokens-reset",
        ],
    ),
    names(
        None,
        Tokens,
        Minute,
        [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "",
            "anthropic-ratelimit-input-tokens-reset",
        ],
    ),
    names(
        None,
        Tokens,
        Minute,
        [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "",
            "anthropic-ratelimit-output-tokens-reset",
        ],
    ),
    names(
        None,
        Percent,
        FiveHours,
        ["", "", "anthropic-ratelimit-unified-5h-utilization", "anthropic-ratelimit-unified-5h-reset"],
    ),
    names(
        None,
        Percent,
        Week,
        ["", "", "anthropic-ratelimit-unified-7d-utilization", "anthropic-ratelimit-unified-7d-reset"],
    ),
    names(None, Percent, FiveHours, ["", "", "x-codex-primary-used-percent", "x-codex-primary-reset-at"]),
    names(
        None,
        Percent,
        FiveHours,
        ["", "", "x-codex-primary-used-percent", "x-codex-primary-reset-after-seconds"],
    ),
    names(None, Percent, Week, ["", "", "x-codex-secondary-used-percent", "x-codex-secondary-reset-at"]),
    names(
        None,
        Percent,
        Week,
        ["", "", "x-codex-secondary-used-percent", "x-codex-secondary-reset-after-seconds"],
    ),
    names(None, Requests, FiveHours, ["x-codex-5h-limit", "", "", "x-codex-5h-reset-at"]),
    names(None, Requests, Week, ["x-codex-7d-limit", "", "", "x-codex-7d-reset-at"]),
    names(
        None,
        Requests,
        Minute,
        ["x-ratelimit-limit-req-minute", "x-ratelimit-remaining-req-minute", "", ""],
    ),
    names(
        None,
        Tokens,
        Minute,
        [
            "x-ratelimit-limit-tokens-minute",
            "x-ratelimit-remaining-tokens-minute",
            "",
            "x-ratelimit-reset-tokens-minute",
        ],
    ),
    names(
        None,
        Tokens,
        Month,
        ["x-ratelimit-limit-tokens-month", "x-ratelimit-remaining-tokens-month", "", ""],
    ),
    names(
        None,
        Requests,
        Day,
        [
            "x-ratelimit-limit-requests-day",
            "x-ratelimit-remaining-requests-day",
            "",
            "x-ratelimit-reset-requests-day",
        ],
    ),
    names(None, Requests, Month, ["x-trial-endpoint-call-limit", "x-trial-endpoint-call-remaining", "", ""]),
    names(None, Requests, Minute, ["x-ratelimit-limit", "x-ratelimit-remaining", "", "x-ratelimit-reset"]),
    names(None, Requests, Minute, ["ratelimit-limit", "ratelimit-remaining", "", "ratelimit-reset"]),
];

const REQUESTS: [&str; 4] =
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "", "x-ratelimit-reset-requests"];
const TOKENS: [&str; 4] =
    ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "", "x-ratelimit-reset-tokens"];

/// What the headers of an answer say about allowances, whether the call failed or not.
///
/// # Behavior
/// - Times are brought to our clock where the answer has a `date` that differs from it.
/// - Of two allowances with one unit and window the scarcer is told.
/// - What cannot be read is left out.
pub fn limits_seen(headers: &HeaderMap, dialect: Dialect, now: UnixMs) -> Vec<LimitSeen> {
    let told = Told::of(&omniroute_core::hub::ErrorBody::default(), None, Some(headers));
    let vendor = vendor_clock(&told, now);
    let mut out: Vec<LimitSeen> = Vec::new();
    for found in allowances(&told, dialect, vendor) {
        let mut seen = LimitSeen::new(found.unit, found.window);
        (seen.limit, seen.remaining, seen.used_ppm) = (found.limit, found.remaining, found.used_ppm);
        seen.resets_at =
            found.resets_at.map(|at| UnixMs(at.0.saturating_sub(vendor.0).saturating_add(now.0)));
        match out.iter_mut().find(|s| s.unit == seen.unit && s.window == seen.window) {
            None => out.push(seen),
            Some(known) if is_scarcer(&seen, known) => *known = seen,
            Some(_) => {}
        }
    }
    out
}

/// Every allowance the headers name.
pub(crate) fn allowances(told: &Told<'_>, dialect: Dialect, vendor: UnixMs) -> Vec<Allowance> {
    let mut out = Vec::new();
    let mut used: Vec<&str> = Vec::new();
    for row in HEADERS.iter().filter(|row| row.dialect.is_none_or(|d| d == dialect)) {
        let text = |name: &str| if name.is_empty() { None } else { told.header(name) };
        let count = |name: &str| text(name).and_then(whole);
        let reset = text(row.reset).and_then(moment::when);
        let found = Allowance {
            unit: row.unit,
            window: row.window,
            limit: count(row.limit),
            remaining: count(row.remaining),
            used_ppm: text(row.used).and_then(|value| share(value, row.used.ends_with("percent"))),
            resets_at: reset.map(|at| match at {
                When::After(ms) => UnixMs(vendor.0.saturating_add(ms)),
                When::At(at) => at,
            }),
        };
        let says = found.remaining.is_some() || found.used_ppm.is_some() || found.limit.is_some();
        let key = if row.remaining.is_empty() { row.used } else { row.remaining };
        if says && (key.is_empty() || !used.contains(&key) || found.resets_at.is_some()) {
            if !used.contains(&key) || key.is_empty() {
                used.push(key);
                out.push(found);
            } else if let Some(last) = out.last_mut().filter(|last: &&mut Allowance| last.resets_at.is_none())
            {
                last.resets_at = found.resets_at; // the same share, its reset in another form
            }
        }
    }
    out
}

fn is_scarcer(one: &LimitSeen, other: &LimitSeen) -> bool {
    match (one.used(), other.used()) {
        (Some(one), Some(other)) => one > other,
        (Some(_), None) => other.remaining != Some(0),
        _ => one.remaining == Some(0) && other.remaining != Some(0),
    }
}

/// A count; the first of a list such as `10, 10;w=60`.
fn whole(text: &str) -> Option<u64> {
    let first = text.split([',', ';']).next().unwrap_or(text).trim();
    first.split('.').next().unwrap_or(first).parse().ok()
}

/// A share in millionths.
fn share(text: &str, percent: bool) -> Option<u32> {
    let millis = moment::thousandths(text)?; // thousandths of what is written
    let ppm =
        if percent || millis > 1_500 { millis.saturating_mul(10) } else { millis.saturating_mul(1_000) };
    u32::try_from(ppm.min(1_000_000)).ok()
}
