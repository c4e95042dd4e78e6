//! Ten outputs of the kind that other tools lose facts of: every fact is still there, and most of the tokens are not.
//! Three are made by script with planted facts, seven are recorded.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use std::fmt::Write as _;
use std::path::Path;

use omniroute_compress::{Compress, MemoLimits, ToolOutput};
use omniroute_core::{Estimator, Moment, Tokenizer};

/// An output and strings that an agent acts on.
struct Case {
    name: &'static str,
    command: &'static str,
    exit_code: i32,
    text: String,
    facts: Vec<String>,
}

fn case(name: &'static str, command: &'static str, exit_code: i32, text: String, facts: &[&str]) -> Case {
    Case { name, command, exit_code, text, facts: facts.iter().map(|f| (*f).to_owned()).collect() }
}

fn recorded(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtk-corpus").join(file);
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

fn cargo_test() -> String {
    let mut text =
        String::from("     Running tests/many.rs (target/debug/deps/many-1f)\n\nrunning 901 tests\n");
    for n in 0..901 {
        let outcome = if n == 457 { "FAILED" } else { "ok" };
        let _ = writeln!(text, "test store::expiry::case_{n:03}_keeps_the_newest_value ... {outcome}");
    }
    text.push_str(
        "\nfailures:\n\n---- store::expiry::case_457_keeps_the_newest_value stdout ----\n\n\
         thread 'store::expiry::case_457_keeps_the_newest_value' panicked at tests/many.rs:812:9:\n\
         assertion `left == right` failed: the newest value is gone\n  left: 41873\n right: 41874\n\
         note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    \
         store::expiry::case_457_keeps_the_newest_value\n\n\
         test result: FAILED. 900 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.87s\n\n\
         error: test failed, to rerun pass `--test many`\n",
    );
    text
}

fn services() -> String {
    let mut rows = Vec::new();
    for n in 0..400 {
        let (state, restarts) = if n == 288 { ("crashloop", 917) } else { ("running", 0) };
        rows.push(format!(
            "    {{\n      \"id\": \"svc-{n:04}\",\n      \"name\": \"service-{n}\",\n      \"region\": \"eu-west-1\",\n      \
             \"state\": \"{state}\",\n      \"replicas\": 3,\n      \"restarts\": {restarts},\n      \"image\": \"registry.example.com/acme/api:1.42.0\"\n    }}"
        ));
    }
    format!("{{\n  \"services\": [\n{}\n  ]\n}}\n", rows.join(",\n"))
}

fn log() -> String {
    let mut text = String::new();
    for n in 0..1500 {
        let (minute, second) = (n / 60 % 60, n % 60);
        let _ = match n {
            903 => writeln!(
                text,
                "2026-01-15 10:{minute:02}:{second:02},118 WARN  pool: 2 of 20 connections left (pool=orders-ro)"
            ),
            1104 => writeln!(
                text,
                "2026-01-15 10:{minute:02}:{second:02},512 ERROR api: request id=req-7f3a91c failed: upstream answered 503 after 30000 ms"
            ),
            _ => writeln!(
                text,
                "2026-01-15 10:{minute:02}:{second:02},{:03} INFO  api: GET /api/items/{} 200 {} ms",
                n * 7 % 1000,
                n * 31 % 9973,
                n % 47
            ),
        };
    }
    text
}

fn hits() -> String {
    let hit = |n: usize| {
        format!(
            "src/module_{}/handlers.rs:{}:        let total_{n} = compute_total(order_{n}, rates)?;\n",
            n / 10,
            20 + n * 3
        )
    };
    (0..130).map(hit).collect()
}

fn pytest() -> String {
    let mut text = String::from(
        "============================= test session starts ==============================\nplatform linux -- Python 3.12.4, pytest-8.3.2\ncollected 421 items\n\n",
    );
    for n in 0..421 {
        let outcome = if n == 300 { "FAILED" } else { "PASSED" };
        let _ = writeln!(
            text,
            "tests/test_totals.py::test_rounding_of_totals[case-{n}] {outcome} [{:3}%]",
            n * 100 / 421
        );
    }
    text.push_str(
        "\n=================================== FAILURES ===================================\n\
         ______________________ test_rounding_of_totals[case-300] ______________________\n\n    \
         def test_rounding_of_totals(case):\n>       assert round_total(case) == case.expected\n\
         E       AssertionError: assert Decimal('12.34') == Decimal('12.35')\n\ntests/test_totals.py:88: AssertionError\n\
         =========================== short test summary info ============================\n\
         FAILED tests/test_totals.py::test_rounding_of_totals[case-300] - AssertionError: assert Decimal('12.34') == Decimal('12.35')\n\
         ======================== 1 failed, 420 passed in 3.21s =========================\n",
    );
    text
}

fn source() -> String {
    let one = |n: usize| {
        format!(
            "/// Part {n} of the table.\nfn part_{n}(input: &str) -> Option<usize> {{\n    let key = input.strip_prefix(\"p{n}:\")?;\n    key.parse().ok()\n}}\n\n"
        )
    };
    (0..60).map(one).collect()
}

fn cases() -> Vec<Case> {
    vec![
        case(
            "cargo test",
            "cargo test",
            101,
            cargo_test(),
            &[
                "case_457_keeps_the_newest_value",
                "tests/many.rs:812:9",
                "the newest value is gone",
                "41873",
                "41874",
                "900 passed; 1 failed",
            ],
        ),
        case("node --test", "node --test nt.js", 1, recorded("test/node-test-fail.txt"), &["nt.js"]),
        case(
            "services",
            "kubectl get services.acme.io -o json",
            0,
            services(),
            &["crashloop", "917", "svc-0288", "svc-0399"],
        ),
        case(
            "log",
            "cat /var/log/api.log",
            0,
            log(),
            &[
                "req-7f3a91c",
                "upstream answered 503 after 30000 ms",
                "2 of 20 connections left (pool=orders-ro)",
            ],
        ),
        case(
            "grep",
            "grep -rn compute_total src",
            0,
            hits(),
            &["total_0 =", "total_64 =", "total_129 =", "src/module_12/handlers.rs", "407:"],
        ),
        case(
            "source",
            "cat src/table.rs",
            0,
            source(),
            &["fn part_0(", "fn part_31(", "fn part_59(", "p31:"],
        ),
        case(
            "pip",
            "pip install 'flask==99.0'",
            1,
            recorded("package/pip-install-nomatch.txt"),
            &["No matching distribution found for flask==99.0"],
        ),
        case(
            "diff",
            "git log -p -n 3 -- crates/core",
            0,
            recorded("git/git-log-patch.txt"),
            &["diff --git", "@@ "],
        ),
        case(
            "pytest",
            "pytest -v",
            1,
            pytest(),
            &[
                "test_rounding_of_totals[case-300]",
                "tests/test_totals.py:88",
                "Decimal('12.34')",
                "1 failed, 420 passed",
            ],
        ),
        case("terraform", "terraform plan", 0, recorded("infra/terraform-plan-colour.txt"), &["Plan: "]),
    ]
}

#[test]
fn every_fact_stays_and_most_tokens_go() {
    let compressor = Compress::builder().plan("safe").memo(MemoLimits::none()).build().unwrap();
    let counter = Estimator::for_model("");
    let (mut before, mut after) = (0, 0);
    let mut lost = Vec::new();
    for case in cases() {
        let output = ToolOutput::new(&case.text).command(case.command).exit_code(case.exit_code);
        let sent = compressor.compress_output(output, Moment::default()).unwrap().text.into_owned();
        lost.extend(
            case.facts.iter().filter(|f| !sent.contains(f.as_str())).map(|f| format!("{}: {f:?}", case.name)),
        );
        before += counter.count(&case.text);
        after += counter.count(&sent);
        if case.name == "source" {
            assert_eq!(sent, case.text, "files stay as they are");
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    let saved = 100.0 * (1.0 - f64::from(after) / f64::from(before));
    assert!(saved >= 85.0, "{saved:.1} % saved of {before} tokens");
}

/// Cutting to a size, as others do, loses facts that the same check sees.
#[test]
fn a_broken_twin_is_caught() {
    let cut = |text: &str| text.chars().take(2_000).collect::<String>();
    let lost: usize =
        cases().iter().map(|c| c.facts.iter().filter(|f| !cut(&c.text).contains(f.as_str())).count()).sum();
    assert!(lost > 15, "{lost}");
}
