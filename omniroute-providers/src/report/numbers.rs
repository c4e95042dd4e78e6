//! Numbers for people, without floating point.

/// Digits in groups of three: `1 473 225 000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Three digits and a letter: `1.47B`, `15.0M`, `640`. Rounded to the nearest, halves up.
pub fn short(number: u64) -> String {
    let mut unit = 1_u128;
    for letter in ["", "K", "M", "B", "T", "P"] {
        for (decimals, scale) in [(2_usize, 100_u128), (1, 10), (0, 1)] {
            // The value in the last decimal that is shown; at most three digits.
            let shown = (u128::from(number) * scale + unit / 2) / unit;
            if shown < 1000 && (unit > 1 || decimals == 0) {
                let (whole, rest) = (shown / scale, shown % scale);
                return match decimals {
                    0 => format!("{whole}{letter}"),
                    _ => format!("{whole}.{rest:0decimals$}{letter}"),
                };
            }
        }
        unit *= 1000;
    }
    grouped(number)
}

/// `part` of `whole` with one decimal: `67.9 %`. Of nothing it is `0.0 %`.
pub fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let tenths = (part * 2000 + whole) / (whole * 2);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (1_473_225_000, "1 473 225 000")] {
            assert_eq!(grouped(number), text);
        }
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.00K"),
            (25_000, "25.0K"),
            (999_499, "999K"),
            (999_500, "1.00M"),
            (9_995, "10.0K"),
            (9_994, "9.99K"),
            (600_500_000, "601M"),
            (1_473_225_000, "1.47B"),
            (1_508_225_000, "1.51B"),
            (2_134_725_000, "2.13B"),
            (7_403_075_000, "7.40B"),
            (u64::MAX, "18 446 744 073 709 551 615"),
        ] {
            assert_eq!(short(number), text, "{number}");
        }
        for (part, whole, text) in [
            (1, 3, "33.3 %"),
            (2, 3, "66.7 %"),
            (1_000_000_000, 1_473_225_000, "67.9 %"),
            (0, 0, "0.0 %"),
            (u64::MAX, u64::MAX, "100.0 %"),
        ] {
            assert_eq!(percent(part, whole), text);
        }
    }
}
