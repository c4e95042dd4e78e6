//! Figures as people read them. Whole numbers only, so that they are the same everywhere.

use omniroute_compress::cost::Usd;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// How much smaller `after` is than `before`, in percent of `before`, rounded to two decimals; negative if it grew.
pub(crate) fn percent_saved(before: u128, after: u128) -> String {
    if before == 0 {
        return "0.00 %".to_owned();
    }
    let hundredths = (before.abs_diff(after).saturating_mul(10_000).saturating_add(before / 2)) / before;
    let sign = if after > before && hundredths > 0 { "-" } else { "" };
    format!("{sign}{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// How much of `before` was saved; negative if it cost more.
pub(crate) fn money_saved(before: Usd, after: Usd) -> String {
    let sign = if after > before { "-" } else { "" };
    format!("{sign}{:.4}", Usd::from_pico(before.pico().abs_diff(after.pico())))
}

/// `["a", "b", "c"]` as `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [many @ .., last] => format!("{} and {last}", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (number, want) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), want);
        }
        let rows = [
            (0, 0, "0.00 %"),
            (1_000, 1_000, "0.00 %"),
            (1_000, 969, "3.10 %"),
            (100_000, 100_123, "-0.12 %"),
            (100_000, 100_001, "0.00 %"),
            (3, 0, "100.00 %"),
            (3, 1, "66.67 %"),
        ];
        for (before, after, want) in rows {
            assert_eq!(percent_saved(before, after), want, "{before} to {after}");
        }
        let usd = |micro: u128| Usd::from_pico(micro * 1_000_000);
        assert_eq!(money_saved(usd(1_500_000), usd(1_000_000)), "0.5000");
        assert_eq!(money_saved(usd(1_000_000), usd(1_000_100)), "-0.0001");
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([listed(&items), listed(&items[..1]), listed(&[])], ["a, b and c", "a", ""]);
    }
}
