//! Times and sizes with their units.

const SPANS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZES: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A time in milliseconds.
pub(crate) fn span(text: &str) -> Option<u64> {
    read(text, &SPANS)
}

/// A size in bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    read(text, &SIZES)
}

fn read(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A time in the largest unit that shows it whole.
pub(crate) fn told_span(ms: u64) -> String {
    told(ms, &SPANS)
}

/// A size in the largest unit that shows it whole.
pub(crate) fn told_size(bytes: u64) -> String {
    told(bytes, &SIZES)
}

fn told(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().rev().find(|(_, factor)| value >= *factor && value.is_multiple_of(*factor));
    let (unit, factor) = whole.unwrap_or(&units[0]);
    format!("{}{unit}", value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_and_told() {
        for (text, ms) in
            [("0s", Some(0)), ("250ms", Some(250)), ("30s", Some(30_000)), ("2h", Some(7_200_000))]
        {
            assert_eq!(span(text), ms, "{text}");
        }
        for text in
            ["", "30", "1.5s", "-1s", "3 s", "5 minutes", "99999999999999999999d", "999999999999d", "é"]
        {
            assert_eq!(span(text), None, "{text}");
        }
        assert_eq!(
            (size("16MiB"), size("1KiB"), size("16MB"), size("7B")),
            (Some(16 << 20), Some(1_024), None, Some(7))
        );
        assert_eq!(
            (told_span(90_000), told_span(0), told_span(3_600_000)),
            ("90s".into(), "0ms".into(), "1h".into())
        );
        assert_eq!((told_size(16 << 20), told_size(1_500)), ("16MiB".into(), "1500B".into()));
    }
}
