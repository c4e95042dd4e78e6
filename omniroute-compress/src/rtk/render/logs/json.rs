//! Records that are one JSON object each: where level and time stand in them.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::level::{Rank, named, numbered};
use super::stamp::stamp;

/// Bytes of a line in which the keys are looked for.
const MAX_BYTES: usize = 4096;
const LEVELS: [&str; 7] = [
    "\"level\":",
    "\"severity\":",
    "\"levelname\":",
    "\"lvl\":",
    "\"log.level\":",
    "\"PRIORITY\":",
    "\"s\":",
];
const TIMES: [&str; 7] = [
    "\"time\":",
    "\"ts\":",
    "\"timestamp\":",
    "\"@timestamp\":",
    "\"asctime\":",
    "\"t\":",
    "\"__REALTIME_TIMESTAMP\":",
];
const TEXTS: [&str; 4] = ["\"msg\":", "\"message\":", "\"event\":", "\"MESSAGE\":"];

/// The level and the place of the time of day of a record; `None` if the line is no record.
pub(super) fn head(line: &[u8]) -> Option<(Rank, Option<(usize, usize)>)> {
    if !line.trim_ascii_end().ends_with(b"}") {
        return None;
    }
    let head = line.get(..MAX_BYTES.min(line.len())).unwrap_or(line);
    let keys = keys();
    let level = keys.levels.iter().find_map(|key| level(head, key));
    let time = keys.times.iter().find_map(|key| value(head, key));
    let text = keys.texts.iter().any(|key| key.find(head).is_some());
    let enough = usize::from(level.is_some()) + usize::from(time.is_some()) + usize::from(text) >= 2;
    if !enough {
        return None;
    }
    let clock = time.and_then(|at| {
        let quoted = usize::from(head.get(at) == Some(&b'"'));
        let s = stamp(head.get(at + quoted..)?)?;
        Some((at + quoted + s.clock, at + quoted + s.len))
    });
    Some((level.unwrap_or(Rank::None), clock))
}

/// Searchers for the keys, built once.
struct Keys {
    levels: [Finder<'static>; 7],
    times: [Finder<'static>; 7],
    texts: [Finder<'static>; 4],
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| Keys {
        levels: LEVELS.map(Finder::new),
        times: TIMES.map(Finder::new),
        texts: TEXTS.map(Finder::new),
    })
}

/// Where the value of a key begins.
fn value(head: &[u8], key: &Finder<'_>) -> Option<usize> {
    let at = key.find(head)? + key.needle().len();
    Some(at + usize::from(head.get(at) == Some(&b' ')))
}

fn level(head: &[u8], key: &Finder<'_>) -> Option<Rank> {
    let at = value(head, key)?;
    let rest = head.get(at..)?;
    let text = rest.strip_prefix(b"\"").unwrap_or(rest);
    let len = text.iter().take(12).take_while(|b| b.is_ascii_alphanumeric()).count();
    let word = text.get(..len)?;
    if word.first()?.is_ascii_digit() {
        return Some(numbered(word, key.needle() == b"\"PRIORITY\":"));
    }
    if key.needle() == b"\"s\":" {
        return match word {
            b"E" | b"F" => Some(Rank::Error),
            b"W" => Some(Rank::Warn),
            b"I" | b"D1" | b"D2" => Some(Rank::Low),
            _ => None,
        };
    }
    Some(named(word).filter(|r| *r != Rank::Same).unwrap_or(Rank::Low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_levels_and_times() {
        for (line, rank) in [
            ("{\"level\":30,\"time\":1796029028774,\"msg\":\"error 50\"}", Rank::Low),
            ("{\"level\":50,\"time\":1796029028774,\"msg\":\"x\"}", Rank::Error),
            ("{\"severity\":\"ERROR\",\"message\":\"x\"}", Rank::Error),
            ("{\"level\": \"warning\", \"ts\": 1.5, \"msg\": \"x\"}", Rank::Warn),
            (
                "{\"t\":{\"$date\":\"2026-01-15T10:00:00Z\"},\"s\":\"E\",\"c\":\"NETWORK\",\"msg\":\"x\"}",
                Rank::Error,
            ),
            ("{\"PRIORITY\":\"3\",\"MESSAGE\":\"x\",\"__REALTIME_TIMESTAMP\":\"1\"}", Rank::Error),
            ("{\"time\":\"2026-01-15T10:00:00Z\",\"msg\":\"x\"}", Rank::None),
        ] {
            assert_eq!(head(line.as_bytes()).map(|h| h.0), Some(rank), "{line}");
        }
        let line = b"{\"time\":\"2026-01-15T10:00:00Z\",\"level\":\"info\",\"msg\":\"x\"}";
        assert_eq!(
            head(line).and_then(|h| h.1).and_then(|(a, b)| line.get(a..b)),
            Some(b"10:00:00Z".as_slice())
        );
        for line in ["{\"level\":3,\"name\":\"x\"}", "{\"a\":1}", "{", "{\"level\":30,\"msg\":"] {
            assert_eq!(head(line.as_bytes()), None, "{line}");
        }
    }
}
