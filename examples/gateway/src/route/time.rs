//! Times as people write them: `90s`, `2m`, `800ms`.

use std::time::Duration;

/// Reads a time: a whole number with `ms`, `s`, `m` or `h` behind it.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let rule = || format!("{text:?} is no time; write a whole number with ms, s, m or h, such as 90s");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(rule)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(rule()),
    };
    let number: u64 = number.parse().map_err(|_| rule())?;
    let millis = number.checked_mul(millis).filter(|millis| *millis <= MOST);
    millis.map(Duration::from_millis).ok_or_else(|| format!("{text:?} is too long, allowed are up to 24h"))
}

/// The longest time, in milliseconds.
const MOST: u64 = 24 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, millis) in [("90s", 90_000), ("2m", 120_000), ("800ms", 800), ("0s", 0), ("24h", MOST)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "1.5s", "-1s", "25h", "1d", "99999999999999999999s", "\u{663}s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
