//! What error answers mean: recorded ones where the recordings are there, and samples written by hand.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::{HeaderMap, HeaderName, HeaderValue};
use omniroute_core::{Exceeded, Failure, QuotaWindow, Unit, UnixMs};
use omniroute_providers::{Dialect, Redactor, Scene, Secret, classify, limits_seen};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// 2026-01-15T12:00:00Z.
const NOW: UnixMs = UnixMs(1_768_478_400_000);

fn dialect(name: &str) -> Dialect {
    let found = Dialect::ALL.into_iter().find(|d| format!("{d:?}").eq_ignore_ascii_case(name));
    found.unwrap_or_else(|| panic!("no dialect {name:?}"))
}

fn headers(text: &str) -> HeaderMap {
    let pairs = text.split("; ").filter_map(|pair| pair.split_once(": "));
    pairs
        .map(|(name, value)| {
            (
                name.parse::<HeaderName>().expect("as scripted"),
                value.parse::<HeaderValue>().expect("as scripted"),
            )
        })
        .collect()
}

fn rows(table: &'static str, columns: usize) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(move |line| {
        let row: Vec<&str> = line.split('\t').collect();
        assert_eq!(row.len(), columns, "{line}");
        row
    })
}

fn scope(failure: &Failure) -> String {
    serde_json::to_string(&failure.scope).expect("as scripted").trim_matches('"').to_owned()
}

#[test]
fn samples_mean_what_was_written_beside_them() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows(include_str!("classify/synthetic.tsv"), 8) {
        let [vendor, status, head, body, kind, whose, rule, wait] = row.as_slice() else { unreachable!() };
        let headers = headers(head);
        let scene = Scene { dialect: dialect(vendor), headers: Some(&headers), now: NOW, ..Scene::default() };
        let body = if *body == "-" { "" } else { body };
        let found = classify(status.parse().unwrap(), body.as_bytes(), &scene);
        let seconds = found.retry_at.map(|at| (at.0 - NOW.0) as f64 / 1_000.0);
        let wanted = wait.parse::<f64>().ok();
        let same = found.kind.code() == *kind
            && scope(&found) == **whose
            && found.rule == **rule
            && seconds == wanted;
        if !same {
            let got = (found.kind.code(), scope(&found), found.rule, seconds);
            wrong.push(format!("{vendor} {status} {body}: wanted {kind} {whose} {rule} {wait}, got {got:?}"));
        }
        count += 1;
    }
    assert!(count >= 150, "{count} samples");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recorded_answers_mean_what_was_judged() {
    let given = std::env::var_os("OMNIROUTE_DATA").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = given.unwrap_or_else(beside).join("exchanges");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: needs recorded exchanges");
        return;
    };
    let mut judged: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for row in rows(include_str!("classify/recorded.tsv"), 7) {
        judged.insert((row[0], row[1]), row);
    }
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files.map(|file| file.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
    {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let exchange: serde_json::Value = serde_json::from_str(line).unwrap();
            let response = &exchange["response"];
            let status = u16::try_from(response["status"].as_u64().unwrap()).unwrap();
            if status < 400 {
                continue;
            }
            let (provider, name) =
                (exchange["provider"].as_str().unwrap(), exchange["name"].as_str().unwrap());
            let Some(row) = judged.get(&(provider, name)) else {
                wrong.push(format!("{provider} {name}: not judged"));
                continue;
            };
            let body = match &response["body"] {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let mut headers = HeaderMap::new();
            for (key, value) in response["headers"].as_object().into_iter().flatten() {
                let pair = (key.parse::<HeaderName>(), value.as_str().unwrap_or_default().parse());
                if let (Ok(key), Ok(value)) = pair {
                    headers.insert(key, value);
                }
            }
            let scene =
                Scene { dialect: dialect(row[2]), headers: Some(&headers), now: NOW, ..Scene::default() };
            let found = classify(status, body.as_bytes(), &scene);
            let got = [found.kind.code().to_owned(), scope(&found), found.rule.to_string()];
            if got.iter().ne(row[4..].iter()) {
                wrong.push(format!("{provider} {name}: wanted {:?}, got {got:?}", &row[4..]));
            }
            assert!(!found.message.is_empty() && found.message.len() <= 500, "{provider} {name}");
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {seen} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn sizes_come_from_members_and_from_words() {
    let cases = [
        (
            Dialect::Local,
            r#"{"error":{"code":400,"message":"too long","n_ctx":512,"n_prompt_tokens":2009,"type":"exceed_context_size_error"}}"#,
            2009,
            512,
        ),
        (
            Dialect::Anthropic,
            r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            210_000,
            200_000,
        ),
    ];
    for (dialect, body, asked, max) in cases {
        let found = classify(400, body.as_bytes(), &Scene { dialect, now: NOW, ..Scene::default() });
        assert_eq!(found.limits, Exceeded { asked: Some(asked), max: Some(max) }, "{body}");
    }
}

#[test]
fn the_error_behind_an_aggregator_is_read_by_its_own_rules() {
    let body = br#"{"error":{"code":400,"message":"Provider returned error","metadata":{"provider_name":"P","raw":"{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}"}}}"#;
    let scene = Scene { dialect: Dialect::Aggregator, now: NOW, ..Scene::default() };
    let found = classify(400, body, &scene);
    assert_eq!((found.kind.code(), found.rule.as_ref()), ("context_too_long", "raw.text.context"));
    // What the vendor says about the aggregator's own key is not about ours.
    let body = br#"{"error":{"code":401,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"code\":\"invalid_api_key\",\"message\":\"x\"}}"}}}"#;
    let found = classify(401, body, &scene);
    assert_eq!((found.kind.code(), scope(&found).as_str()), ("unavailable", "model"));
}

#[test]
fn allowances_are_read_in_the_names_of_all_vendors() {
    let minute = QuotaWindow::Minute;
    let cases = [
        (
            Dialect::OpenAi,
            "x-ratelimit-limit-requests: 60; x-ratelimit-remaining-requests: 59; x-ratelimit-reset-requests: 1s",
            Unit::Requests,
            minute,
            Some(60),
            Some(59),
            None,
            Some(1_000),
        ),
        (
            Dialect::Groq,
            "x-ratelimit-limit-requests: 1000; x-ratelimit-remaining-requests: 7; x-ratelimit-reset-requests: 2m59.56s",
            Unit::Requests,
            QuotaWindow::Day,
            Some(1_000),
            Some(7),
            None,
            Some(179_560),
        ),
        (
            Dialect::Anthropic,
            "anthropic-ratelimit-tokens-limit: 80000; anthropic-ratelimit-tokens-remaining: 1; anthropic-ratelimit-tokens-reset: 2026-01-15T12:00:09Z",
            Unit::Tokens,
            minute,
            Some(80_000),
            Some(1),
            None,
            Some(9_000),
        ),
        (
            Dialect::Anthropic,
            "anthropic-ratelimit-unified-5h-utilization: 0.25; anthropic-ratelimit-unified-5h-reset: 1768482000",
            Unit::Percent,
            QuotaWindow::FiveHours,
            None,
            None,
            Some(250_000),
            Some(3_600_000),
        ),
        (
            Dialect::Anthropic,
            "anthropic-ratelimit-unified-7d-utilization: 25",
            Unit::Percent,
            QuotaWindow::Week,
            None,
            None,
            Some(250_000),
            None,
        ),
        (
            Dialect::Codex,
            "x-codex-primary-used-percent: 1; x-codex-primary-reset-after-seconds: 60",
            Unit::Percent,
            QuotaWindow::FiveHours,
            None,
            None,
            Some(10_000),
            Some(60_000),
        ),
        (
            Dialect::Aggregator,
            "x-ratelimit-limit: 20; x-ratelimit-remaining: 0; x-ratelimit-reset: 1768478460000",
            Unit::Requests,
            minute,
            Some(20),
            Some(0),
            None,
            Some(60_000),
        ),
        (
            Dialect::Mistral,
            "x-ratelimit-limit-req-minute: 60; x-ratelimit-remaining-req-minute: 58",
            Unit::Requests,
            minute,
            Some(60),
            Some(58),
            None,
            None,
        ),
        (
            Dialect::OpenAi,
            "x-ratelimit-limit-requests-day: 14400; x-ratelimit-remaining-requests-day: 1; x-ratelimit-reset-requests-day: 33011.4",
            Unit::Requests,
            QuotaWindow::Day,
            Some(14_400),
            Some(1),
            None,
            Some(33_011_400),
        ),
        (
            Dialect::Generic,
            "ratelimit-limit: 100, 100;w=60; ratelimit-remaining: 9; ratelimit-reset: 5",
            Unit::Requests,
            minute,
            Some(100),
            Some(9),
            None,
            Some(5_000),
        ),
    ];
    for (dialect, head, unit, window, limit, remaining, used, reset) in cases {
        let found = limits_seen(&headers(head), dialect, NOW);
        assert_eq!(found.len(), 1, "{head}: {found:?}");
        let one = &found[0];
        assert_eq!(
            (one.unit, one.window, one.limit, one.remaining, one.used_ppm),
            (unit, window, limit, remaining, used),
            "{head}"
        );
        assert_eq!(one.resets_at.map(|at| at.0 - NOW.0), reset, "{head}");
    }
    assert!(limits_seen(&headers("x-ratelimit-limit-requests: many"), Dialect::OpenAi, NOW).is_empty());
}

#[test]
fn one_code_means_different_things_at_two_vendors() {
    let body =
        br#"{"error":{"code":"1002","message":"x"},"base_resp":{"status_code":1002,"status_msg":"x"}}"#;
    let kind = |dialect| classify(429, body, &Scene { dialect, now: NOW, ..Scene::default() }).kind.code();
    assert_eq!((kind(Dialect::MiniMax), kind(Dialect::Zhipu)), ("rate_limited", "unauthorized"));
    // Type against code: at one vendor the type is right, the code is the same for every mistake.
    let body = br#"{"error":{"code":"invalid_request_error","type":"authentication_error","message":"x"}}"#;
    let found = classify(400, body, &Scene { dialect: Dialect::DeepSeek, now: NOW, ..Scene::default() });
    assert_eq!((found.kind.code(), found.rule.as_ref()), ("unauthorized", "deepseek.key"));
}

#[test]
fn any_bytes_give_a_failure_and_a_429_never_blames_the_provider() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let words = "[ -~]{0,40}|overloaded|quota|billing|<html>|\\{\"error\":\\{\"message\":\"[a-z ]{0,30}\",\"code\":\"[a-z_]{0,20}\"\\}\\}";
    let input = (100..600u16, 0..Dialect::ALL.len(), words, proptest::collection::vec(any::<u8>(), 0..40));
    let checked = runner.run(&input, |(status, dialect, text, noise)| {
        let mut body = text.into_bytes();
        body.extend(noise);
        let scene = Scene { dialect: Dialect::ALL[dialect], now: NOW, ..Scene::default() };
        let failure = classify(status, &body, &scene);
        prop_assert!(!failure.rule.is_empty());
        let late = classify(429, &body, &scene);
        prop_assert!(late.scope != omniroute_core::Scope::Provider, "{:?}", late);
        prop_assert!(late.kind != omniroute_core::FailureKind::Banned, "{:?}", late);
        Ok(())
    });
    checked.unwrap();
}

/// Pieces of answers that vendors and people between us and them may send.
const PIECES: [&str; 28] = [
    "{",
    "}",
    "[",
    "]",
    "\"error\":",
    "\"message\":",
    "\"code\":",
    "\"type\":",
    "\"details\":[",
    "\"retryDelay\":\"",
    "null",
    "1e999",
    "-1",
    "99999999999999999999",
    "\"retry_after\":",
    "\"resets_at\":",
    "\"\\ud800\"",
    "\"try again in 9999999h\"",
    "\"reset at 25:99 UTC\"",
    "\"maximum context length is 18446744073709551616 tokens\"",
    "KEY-planted-0123",
    "<html><title>",
    "\u{2028}",
    "\u{0}",
    "\u{1f980}",
    ",",
    "\"resets in 13 days\"",
    "\"metadata\":{\"raw\":\"",
];

const NAMES: [&str; 14] = [
    "retry-after",
    "retry-after-ms",
    "x-ratelimit-reset-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-unified-5h-utilization",
    "ratelimit",
    "ratelimit-policy",
    "date",
    "content-type",
    "x-amzn-errortype",
    "x-request-id",
    "x-codex-primary-reset-at",
];

const VALUES: [&str; 20] = [
    "",
    "0",
    "-5",
    "1e400",
    "NaN",
    "99999999999999",
    "1768478400",
    "1768478400000",
    "2026-99-99T99:99:99Z",
    "9999-12-31T23:59:59Z",
    "Thu, 32 Jan 2026 12:00:00 GMT",
    "Thu, 15 Jan 2026 12:00:30 GMT",
    "1h2m3s4ms5",
    "164h27m24s",
    "999999999d",
    "text/html",
    "KEY-planted-0123",
    "a=0,b=",
    ";;==,,",
    "100;w=60, 5",
];

/// What must hold of every failure, whoever sent what.
fn is_sound(failure: &Failure, planted: &str) -> Result<(), TestCaseError> {
    let month = 36 * 86_400_000;
    prop_assert!(failure.message.len() <= 500, "a message of {} bytes", failure.message.len());
    prop_assert!(failure.code.as_ref().is_none_or(|code| code.len() <= 96), "{:?}", failure.code);
    prop_assert!(failure.request_id.as_ref().is_none_or(|id| id.len() <= 128), "{:?}", failure.request_id);
    prop_assert!(!failure.rule.is_empty());
    prop_assert!(
        failure.retry_at.is_none_or(|at| at.0 >= NOW.0 && at.0 <= NOW.0 + month),
        "{:?}",
        failure.retry_at
    );
    prop_assert!(!format!("{failure:?}").contains(planted), "{failure:?}");
    prop_assert!(!failure.message.contains(|c: char| c.is_control()), "{:?}", failure.message);
    Ok(())
}

#[test]
fn whatever_is_sent_gives_a_bounded_failure() {
    let planted = "KEY-planted-0123";
    let mut redactor = Redactor::default();
    redactor.learn(&Secret::new(planted));
    let samples: Vec<Vec<&str>> = rows(include_str!("classify/synthetic.tsv"), 8).collect();
    let body = prop_oneof![
        proptest::collection::vec(0..PIECES.len(), 0..60).prop_map(|picks| picks
            .into_iter()
            .map(|at| PIECES[at])
            .collect::<String>()
            .into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..200),
        (0..samples.len(), proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4)).prop_map(
            |(at, flips)| {
                let mut body = samples[at][3].as_bytes().to_vec();
                flips.iter().for_each(|(place, byte)| {
                    let place = place % body.len();
                    body[place] = *byte;
                });
                body
            }
        ),
        (0..PIECES.len(), 1..4_000usize).prop_map(|(at, times)| PIECES[at].repeat(times).into_bytes()),
    ];
    let head = proptest::collection::vec((0..NAMES.len(), 0..VALUES.len()), 0..6);
    let input = (0..1_000u16, 0..Dialect::ALL.len(), head, body);
    let run = |judge: &dyn Fn(u16, &[u8], &Scene<'_>) -> Failure| {
        let config = Config { cases: 600, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        runner.run(&input, |(status, dialect, head, body)| {
            let pairs = head.into_iter().map(|(name, value)| {
                (HeaderName::from_static(NAMES[name]), HeaderValue::from_static(VALUES[value]))
            });
            let headers: HeaderMap = pairs.collect();
            let scene = Scene {
                dialect: Dialect::ALL[dialect],
                headers: Some(&headers),
                now: NOW,
                redactor: Some(&redactor),
                ..Scene::default()
            };
            let _ = limits_seen(&headers, scene.dialect, NOW);
            is_sound(&judge(status, &body, &scene), planted)
        })
    };
    run(&|status, body, scene| classify(status, body, scene)).unwrap();
    // Broken twins: the whole body as the message; no redactor.
    let long = run(&|status, body, scene| {
        let mut failure = classify(status, body, scene);
        failure.message = String::from_utf8_lossy(body).replace(|c: char| c.is_control(), " ");
        failure
    });
    assert!(long.is_err(), "the twin must be caught");
    let open = run(&|status, body, scene| classify(status, body, &Scene { redactor: None, ..*scene }));
    assert!(open.is_err(), "the twin must be caught");
}
