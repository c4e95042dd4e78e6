//! The summary line: what was saved of what, or why nothing was done.

use std::time::Duration;

use omniroute_core::{CompressReceipt, Skip};

use crate::terminal::{Colour, Paint};

/// What the figures are about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    /// A request body.
    Request,
    /// One text.
    Text,
}

impl Unit {
    fn word(self) -> &'static str {
        match self {
            Unit::Request => "request",
            Unit::Text => "text",
        }
    }
}

/// One line about a compression. `hint` follows the reason if the input could not be read.
pub(crate) fn summary(receipt: &CompressReceipt, unit: Unit, took: Duration, hint: &str) -> String {
    let paint = Paint::stderr();
    let unchanged = |why: String| format!("{} {why}", paint.bold(Colour::Yellow, "unchanged:"));
    if let Some(skip) = &receipt.skipped {
        return unchanged(format!("{} ({}){hint}", skip.code, reason(skip)));
    }
    let about = if receipt.counter.exact { "" } else { "~" };
    let before = grouped(receipt.tokens_before);
    if let Some(why) = receipt.reverted {
        return unchanged(format!("reverted ({why}), {about}{before} tokens"));
    }
    if !receipt.applied {
        return unchanged(format!("nothing to shorten in {about}{before} tokens"));
    }
    let share = paint.bold(Colour::Green, &share(receipt.tokens_saved(), receipt.tokens_before));
    let engines: String = receipt.engines().map(|(engine, texts)| format!(" {engine} x{texts}")).collect();
    let (after, unit, took) = (grouped(receipt.tokens_after), unit.word(), milliseconds(took));
    format!("{about}{before} -> {about}{after} tokens ({share} of the {unit}){engines} in {took} ms")
}

/// Why an input was left alone, with the place.
pub(crate) fn reason(skip: &Skip) -> String {
    match (skip.at, skip.detail.split_once(": ")) {
        (_, Some(("size", words))) => words.to_owned(),
        (Some(at), Some((rule, words))) => {
            format!("{rule} at line {} column {} (byte {}): {words}", at.line, at.column, at.offset)
        }
        _ => skip.detail.clone(),
    }
}

/// Digits in groups of three with blanks between.
pub(crate) fn grouped(number: u64) -> String {
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

/// `saved` of `whole` as `-62.0 %`, rounded to the nearest tenth.
fn share(saved: u64, whole: u64) -> String {
    let tenths = (saved * 2000 + whole) / (whole * 2).max(1);
    format!("-{}.{} %", tenths / 10, tenths % 10)
}

fn milliseconds(time: Duration) -> String {
    let tenths = (time.as_micros() + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1 000"), (18_204, "18 204"), (1_234_567, "1 234 567")]
        {
            assert_eq!(grouped(number), text);
        }
        for (saved, whole, text) in [
            (11_293, 18_204, "-62.0 %"),
            (1, 3, "-33.3 %"),
            (2, 3, "-66.7 %"),
            (0, 0, "-0.0 %"),
            (5, 5, "-100.0 %"),
        ] {
            assert_eq!(share(saved, whole), text);
        }
        assert_eq!(milliseconds(Duration::from_micros(4149)), "4.1");
    }

    #[test]
    fn says_what_was_saved_or_why_not() {
        let line =
            |receipt: &CompressReceipt| summary(receipt, Unit::Request, Duration::from_micros(4100), "");
        let mut receipt = CompressReceipt::default();
        receipt.tokens_before = 18_204;
        receipt.tokens_after = 6911;
        assert_eq!(line(&receipt), "unchanged: nothing to shorten in ~18 204 tokens");
        receipt.applied = true;
        let plain = "~18 204 -> ~6 911 tokens (-62.0 % of the request) in 4.1 ms";
        assert_eq!(line(&receipt), plain);
        receipt.counter.exact = true;
        assert_eq!(line(&receipt), plain.replace('~', ""));
        receipt.reverted = Some("structure");
        assert_eq!(line(&receipt), "unchanged: reverted (structure), 18 204 tokens");
        receipt.skipped = Some(Skip::new("off", "the plan has no steps"));
        assert_eq!(line(&receipt), "unchanged: off (the plan has no steps)");
    }
}
