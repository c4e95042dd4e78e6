//! One text for each refusal.

use super::super::*;
use super::{bytes, encode_open, open_gates};

#[test]
fn refusals() {
    let list =
        |row: &dyn Fn(usize) -> String| format!("[{}]", (0..40).map(row).collect::<Vec<_>>().join(","));
    let good = list(&|i| format!("{{\"id\":{i},\"name\":\"row {i}\",\"kind\":\"something\"}}"));
    assert!(encode(&good, &bytes, &Options::default()).is_ok());
    let deep = format!("{}1{}", "[".repeat(31), "]".repeat(31));
    let few = format!("[{}]", (0..7).map(|i| format!("{{\"id\":{i}}}")).collect::<Vec<_>>().join(","));
    let cases: Vec<(Refusal, String, Options)> = vec![
        (Refusal::NotJson, good.replace("]", ""), open_gates()),
        (Refusal::TooSmall, "[{\"a\":1}]".to_owned(), Options::default()),
        (Refusal::TooFewRows, few, open_gates()),
        (Refusal::TooFewRows, "{\"a\":1}".to_owned(), open_gates()),
        (Refusal::NotObjects, list(&|i| i.to_string()), open_gates()),
        (
            Refusal::NotObjects,
            list(&|i| {
                if i == 30 { "null".to_owned() } else { "{\"a\":1}".to_owned() }
            }),
            open_gates(),
        ),
        (Refusal::DuplicateKey, list(&|i| format!("{{\"a\":{i},\"b\":1,\"\\u0061\":2}}")), open_gates()),
        (Refusal::DuplicateKey, list(&|i| format!("{{\"a\":{i},\"b\":{{\"x\":1,\"x\":1}}}}")), open_gates()),
        (
            Refusal::DuplicateKey,
            list(&|i| format!("{{\"a\":{i},\"b\":[{{\"x\":1,\"x\":1}}]}}")),
            open_gates(),
        ),
        (Refusal::DuplicateKey, format!("{{\"a\":{good},\"a\":1}}"), open_gates()),
        (Refusal::Surrogate, good.replace("row 3", "\\udc00"), open_gates()),
        (Refusal::TooDeep, good.replace("\"row 7\"", &deep), open_gates()),
        (Refusal::TooLarge, good.clone(), Options { max_bytes: 100, ..open_gates() }),
        (Refusal::TooManyColumns, good.clone(), Options { max_columns: 2, ..open_gates() }),
        (Refusal::TooManyCells, good.clone(), Options { max_cells: 119, ..open_gates() }),
        (Refusal::SparseColumns, list(&|i| format!("{{\"k{}\":1}}", i % 3)), open_gates()),
        (Refusal::SparseColumns, list(&|_| "{}".to_owned()), open_gates()),
        (
            Refusal::KeyOrder,
            good.replace("{\"id\":9,\"name\":\"row 9\"", "{\"name\":\"row 9\",\"id\":9"),
            open_gates(),
        ),
        (Refusal::NoGain, list(&|i| format!("{{\"a\":\"{}{i}\"}}", "x".repeat(300))), Options::default()),
        (Refusal::AlreadyCompressed, format!("[8 rows] a:n\n{good}"), open_gates()),
        (Refusal::AlreadyCompressed, format!("{good}\n[CCR retrieve hash=0 chars=9]"), open_gates()),
    ];
    for (expected, source, options) in cases {
        let got = encode(&source, &bytes, &options).map(|e| e.text);
        assert_eq!(got, Err(expected), "{expected}: {source}");
    }
    // Depth 32 in all is fine.
    let deep = format!("{}1{}", "[".repeat(30), "]".repeat(30));
    assert!(encode_open(&good.replace("\"row 7\"", &deep)).is_ok());
}
