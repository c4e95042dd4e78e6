//! A receipt in one line: why this one answered.

use std::time::Duration;

use omniroute_core::route::DropReason;
use omniroute_route::{RouteReceipt, ToldDrop};
use serde::Serialize;

/// Why somebody answered, or nobody did: the rule that decided, and who stood before and could not.
///
/// Times and scores are left out, so that equal reasons read the same.
pub fn why(receipt: &RouteReceipt) -> String {
    let mut parts = Vec::new();
    let mut picks = receipt.plan.iter().flat_map(|plan| &plan.picks);
    let answered = receipt.answered.as_deref();
    if let Some(pick) = picks.find(|pick| Some(&*pick.key) == answered) {
        let factors: Vec<&str> = pick.factors.iter().map(|(name, _)| *name).collect();
        let by = match factors.as_slice() {
            [] => String::new(),
            factors => format!(" ({})", factors.join(", ")),
        };
        parts.push(format!("{}: {}{by}", word(&pick.layer), word(&pick.reason)));
    }
    for attempt in &receipt.attempts {
        if let Some(kind) = attempt.kind {
            let status = attempt.status.map_or(String::new(), |status| format!(" {status}"));
            parts.push(format!("{} failed: {}{status}", connection(&attempt.key), kind.code()));
        }
    }
    let failed: Vec<&str> = receipt.attempts.iter().map(|attempt| connection(&attempt.key)).collect();
    let planned = receipt.plan.iter().flat_map(|plan| &plan.dropped);
    let mut dropped: Vec<(&str, DropReason, u32)> = Vec::new();
    for ToldDrop { key, reason, .. } in planned.chain(&receipt.skipped) {
        let key = connection(key);
        // What follows from a failure of this request is told already, and what always holds is no news.
        if reason.permanent() || failed.contains(&key) {
            continue;
        }
        match dropped.iter_mut().find(|(known, why, _)| *known == key && why == reason) {
            Some((.., count)) => *count += 1,
            None => dropped.push((key, *reason, 1)),
        }
    }
    for (key, reason, count) in dropped {
        let models = if count > 1 { format!(" ({count} models)") } else { String::new() };
        parts.push(format!("{key} out: {}{models}", reason.code()));
    }
    parts.join("; ")
}

/// A time as minutes and seconds.
pub fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

/// Provider and connection of a candidate.
fn connection(key: &str) -> &str {
    let end = key.match_indices('/').nth(1).map_or(key.len(), |(at, _)| at);
    key.get(..end).unwrap_or(key)
}

/// The stable name of something that has one when it is serialised.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_times() {
        for (key, short) in [("a/b/c/d", "a/b"), ("a/b/c", "a/b"), ("a/b", "a/b"), ("a", "a")] {
            assert_eq!(connection(key), short);
        }
        assert_eq!(minutes(Duration::from_millis(125_900)), "2:05");
    }
}
