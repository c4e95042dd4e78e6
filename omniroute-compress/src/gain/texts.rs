//! Receipts of single texts as results: class and filter are known there, since nothing else is in the receipt.

use std::collections::BTreeMap;

use super::event::{HARNESS_CAP, SavingsEvent};
use super::receipts::EngineTotals;

/// The wire that receipts of single texts name.
pub(super) const WIRE: &str = "text";

/// What receipts say of engines that know classes of output.
const RTK: &str = "rtk";
/// Techniques that tell how it was done, the most telling first; all others tell the class.
const HOW: [&str; 4] = ["rtk-render", "rtk-filter", "rtk-layout", "rtk-terminal"];

/// The result that a receipt of one text is about.
pub(super) fn event(
    tokens: [u64; 2],
    bytes: [u64; 2],
    exact: bool,
    steps: &[(String, EngineTotals)],
) -> SavingsEvent {
    let none = BTreeMap::new();
    let rtk = steps.iter().find(|(engine, _)| engine == RTK).map_or(&none, |(_, step)| &step.techniques);
    let mut classes = rtk.keys().filter(|name| !HOW.contains(&name.as_str()));
    let class = match (classes.next(), classes.next()) {
        (None, _) => "unknown",
        (Some(class), None) => class,
        (Some(_), Some(_)) => "several",
    };
    let skip = steps.iter().find_map(|(_, step)| step.skips.keys().next());
    let changed = tokens[0] != tokens[1] || bytes[0] != bytes[1];
    let [(tokens_in_capped, whole_in), (tokens_out_capped, whole_out)] =
        [capped(tokens[0], bytes[0]), capped(tokens[1], bytes[1])];
    SavingsEvent {
        class: class.to_owned(),
        filter: HOW.iter().find(|how| rtk.contains_key(**how)).map(|how| (*how).to_owned()),
        bytes_in: bytes[0],
        bytes_out: bytes[1],
        tokens_in: tokens[0],
        tokens_out: tokens[1],
        tokens_in_capped,
        tokens_out_capped,
        exact: exact && whole_in && whole_out,
        changed,
        reason: if changed { "compressed".to_owned() } else { skip.cloned().unwrap_or_default() },
        ..SavingsEvent::default()
    }
}

/// Tokens that a harness would show, and whether that is all of them; a part is estimated by its share of the bytes.
fn capped(tokens: u64, bytes: u64) -> (u64, bool) {
    let cap = HARNESS_CAP as u64;
    if bytes <= cap {
        return (tokens, true);
    }
    let part = u128::from(tokens) * u128::from(cap) / u128::from(bytes);
    (u64::try_from(part).unwrap_or(tokens), false)
}

#[cfg(test)]
mod tests {
    use omniroute_core::Moment;

    use super::super::{By, Gain};
    use crate::{Compress, MemoLimits};

    #[test]
    fn receipts_of_texts_have_classes() {
        let compressor = Compress::builder().plan("rtk").memo(MemoLimits::none()).build().unwrap();
        let tests: String = (0..60).map(|n| format!("test store::case_{n} ... ok\n")).collect();
        let tests = format!(
            "running 60 tests\n{tests}\ntest result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
        );
        let long = "a line of a log of some service\n".repeat(5000);
        let mut gain = Gain::new();
        let mut lines = String::new();
        for (text, command) in [(tests.as_str(), "cargo test"), (&long, "kubectl logs web"), ("hi", "ls")] {
            let receipt = compressor.compress_text(text, Some(command), Moment::default()).unwrap().receipt;
            gain.add_receipt(&receipt);
            lines.push_str(&format!("{}\n", serde_json::to_string(&receipt).unwrap()));
        }
        let mut read = Gain::new();
        assert_eq!(read.add_jsonl(lines.as_bytes()).read, 3);
        assert_eq!(read.to_json(By::Filter), gain.to_json(By::Filter));
        let rows = gain.rows(By::Class);
        let row = |name: &str| &rows.iter().find(|(n, _)| n == name).expect("a row of this class").1;
        assert!(row("test-cargo").saved() > 0, "{rows:?}");
        assert_eq!((row("unknown").count, row("unknown").saved()), (2, 0));
        let total = gain.total();
        assert!(total.tokens_in_capped < total.tokens_in, "what a harness would cut is not counted");
        assert_eq!((total.count, total.tokens_in), (3, gain.requests().tokens_before));
    }

    #[test]
    fn requests_have_none() {
        let mut gain = Gain::new();
        gain.add_jsonl(b"{\"tokens_before\": 9, \"tokens_after\": 5, \"wire\": \"openai-chat\"}");
        assert_eq!((gain.requests().count, gain.total().count), (1, 0));
    }
}
