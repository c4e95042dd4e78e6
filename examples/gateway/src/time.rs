//! The program's own clock, and how long ago something was.

use std::time::{SystemTime, UNIX_EPOCH};

use omniroute_core::{Moment, Mono, UnixMs};

/// The time of day; what is kept ages by it.
#[expect(clippy::disallowed_methods, reason = "a program has its own clock")]
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment { mono: Mono(0), wall: UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)) }
}

/// A span of milliseconds in one unit, rounded down.
pub(crate) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_unit() {
        for (ms, text) in [
            (-5, "0 s"),
            (999, "0 s"),
            (119_999, "119 s"),
            (120_000, "2 min"),
            (7_199_999, "119 min"),
            (90_000_000, "25 h"),
        ] {
            assert_eq!(span(ms), text);
        }
        assert!(now().wall.0 > 1_700_000_000_000);
    }
}
