//! Whole logs: what stays, what is counted, and that the counts are right.

use proptest::prelude::*;

use super::render;
use crate::rtk::kit::{Draft, Level, Output, Verdict, assemble};

fn run(text: &str, words: &[&str], level: Level) -> (Verdict, String) {
    let out = Output { words, ..Output::new(text, level) };
    let mut draft = Draft::new(out.len());
    let verdict = render(&out, &mut draft);
    if verdict == Verdict::NotMine {
        draft.reset();
    }
    (verdict, assemble(&out, &mut draft, &mut || Some("ab".into())).text)
}

fn shown(text: &str) -> String {
    run(text, &[], Level::Standard).1
}

/// A log of `count` uniform records of one format: `@` is the number, `&` the time.
fn uniform(line: &str, count: usize) -> String {
    (0..count)
        .map(|n| {
            line.replace('@', &n.to_string()).replace("&", &format!("10:{:02}:{:02}", n / 60 % 60, n % 60))
                + "\n"
        })
        .collect()
}

/// Sum of the counts of markers `[rtk: n log records omitted...]`.
fn omitted(text: &str) -> usize {
    text.lines()
        .filter_map(|l| l.strip_prefix("[rtk: "))
        .filter(|l| l.contains(" log record"))
        .filter_map(|l| l.split(' ').next()?.parse::<usize>().ok())
        .sum()
}

#[test]
fn every_format_folds_its_uniform_records_and_keeps_the_error() {
    for (line, error) in [
        (
            "2026-01-15 &,195 INFO  [pool-1-thread-@] a.B - GET /items/@ 200 @ms",
            "2026-01-15 11:00:00,001 ERROR [pool-1] a.B - broken 77",
        ),
        ("2026-01-15T&Z INFO served @", "2026-01-15T11:00:00Z FATAL broken 77"),
        (
            "time=2026-01-15T&Z level=INFO msg=\"served @\"",
            "time=2026-01-15T11:00:00Z level=ERROR msg=\"broken 77\"",
        ),
        (
            "{\"level\":30,\"time\":17960290@,\"msg\":\"served\"}",
            "{\"level\":50,\"time\":1796029099,\"msg\":\"broken 77\"}",
        ),
        (
            "{\"level\":\"info\",\"ts\":\"2026-01-15T&Z\",\"msg\":\"served @\"}",
            "{\"level\":\"error\",\"ts\":\"2026-01-15T11:00:00Z\",\"msg\":\"broken 77\"}",
        ),
        ("I0115 &.000000       1 main.go:3] served @", "E0115 11:00:00.000000       1 main.go:9] broken 77"),
        ("Jan 15 & host app[12]: served @", "Jan 15 11:00:00 host app[12]: error: broken 77"),
        (
            "10.0.0.@ - - [15/Jan/2026:& +0000] \"GET /items/@ H&P/1.1\" 200 @",
            "10.0.0.1 - - [15/Jan/2026:11:00:00 +0000] \"GET /items/77 H&P/1.1\" 503 1",
        ),
        ("2026/01/15 & [notice] 12#12: *@ served", "2026/01/15 11:00:00 [crit] 12#12: *1 broken 77"),
        (
            "2026-01-15 &.062 UTC [@] LOG:  duration: @.5 ms",
            "2026-01-15 11:00:00.062 UTC [1] ERROR:  broken 77",
        ),
        ("1:M 15 Jan 2026 &.123 * DB saved @", "2026-01-15 11:00:00 ERROR broken 77"),
        ("INFO:app.worker:served @", "ERROR:app.worker:broken 77"),
        ("web-1  | 2026-01-15 & INFO served @", "web-1  | 2026-01-15 11:00:00 ERROR broken 77"),
        ("2026-01-15T&.1234567Z served @", "2026-01-15T11:00:00.1234567Z ##[error]broken 77"),
        ("[& INF] served @", "[11:00:00 ERR] broken 77"),
        ("01-15 &.123  123  456 D Tag: served @", "01-15 11:00:00.123  123  456 E Tag: broken 77"),
    ] {
        let text = format!("{}{error}\n{}", uniform(line, 120), uniform(line, 120));
        let (verdict, result) = run(&text, &[], Level::Standard);
        assert_eq!(verdict, Verdict::Done, "{line}");
        assert!(result.contains(error), "{error}\n{result}");
        assert!(result.len() * 3 < text.len(), "{result}");
        let kept = result.lines().filter(|l| !l.starts_with("[rtk: ")).count();
        assert_eq!(omitted(&result) + kept, 241, "{result}");
        assert!(result.contains("[rtk: 2") && result.contains(" x \""), "{result}");
        assert!(result.is_ascii());
    }
}

#[test]
fn warnings_are_shown_once_with_their_values() {
    let mut text = uniform("2026-01-15 & INFO served @", 60);
    for n in 0..30 {
        text += &format!("2026-01-15 11:00:{n:02} WARN slow read: key=user:{} took {n}ms\n", n % 7);
    }
    text += "2026-01-15 11:01:00 WARN disk nearly full\n";
    text += &uniform("2026-01-15 & INFO served @", 60);
    let result = shown(&text);
    assert_eq!(result.matches("WARN slow read").count(), 1, "{result}");
    assert!(result.contains("WARN disk nearly full"));
    assert!(result.contains("[rtk: 29 x \"slow read: key=user:<1 2 3 4 5 +2> took <1ms 2ms 3ms 4ms 5ms +24>\" 11:00:01-11:00:29]"), "{result}");
}

#[test]
fn an_error_loop_is_bounded_and_counted() {
    let text = uniform("2026-01-15 & ERROR attempt @ failed: connection refused", 5_000);
    let result = shown(&text);
    let kept = result.lines().filter(|l| l.contains(" ERROR ")).count();
    assert!((200..=222).contains(&kept), "{kept}");
    assert!(result.contains(&format!("[rtk: {} x \"attempt <", 5_000 - kept)), "{result}");
    assert!(result.contains("attempt 4999 failed"), "{result}");
    // Below the limit every different one stays, equal ones once.
    let few = uniform("2026-01-15 & ERROR attempt @ failed", 150);
    assert_eq!(shown(&few), few);
    let equal = "2026-01-15 10:00:00 ERROR the very same message each time\n".repeat(500);
    let result = shown(&equal);
    assert!(result.lines().count() <= 4 && result.contains("[rtk: 475 x"), "{result}");
}

#[test]
fn causes_and_own_frames_of_an_error_stay() {
    let mut text = uniform("2026-01-15 & INFO served @", 50);
    text += "2026-01-15 11:00:00 ERROR commit failed\njava.lang.IllegalStateException: no\n\tat com.acme.A.b(A.java:3)\n";
    for n in 0..9 {
        text += &format!("\tat java.base/java.util.concurrent.FutureTask.run(FutureTask.java:{n})\n");
    }
    text += "Caused by: java.io.IOException: disk\n\t... 9 more\n";
    text += "2026-01-15 11:00:01 INFO retrying\nTraceback (most recent call last):\n  File \"/srv/a.py\", line 3, in f\n    g()\nKeyError: 'x'\n";
    text += &uniform("2026-01-15 & INFO served @", 50);
    let result = shown(&text);
    for kept in [
        "commit failed",
        "IllegalStateException",
        "A.java:3",
        "Caused by: ",
        "9 library frames",
        "retrying",
        "a.py\", line 3",
        "KeyError: 'x'",
    ] {
        assert!(result.contains(kept), "{kept}\n{result}");
    }
}

#[test]
fn levels_come_from_the_field() {
    let text = uniform(
        "{\"level\":30,\"time\":17960290@,\"msg\":\"errors=0, 0 Error(s), no errors, warnings: 0\"}",
        100,
    );
    let result = shown(&text);
    assert!(result.len() * 5 < text.len(), "{result}");
    let result = shown(&uniform("2026-01-15 & INFO build done: 0 errors, 0 warnings in @ ms", 100));
    assert!(omitted(&result) > 80, "{result}");
}

#[test]
fn ends_milestones_and_rare_records_stay() {
    let mut text = String::from("2026-01-15 09:00:00 INFO listening on port 8080\n");
    text += &uniform("2026-01-15 & INFO served @", 100);
    text += "2026-01-15 10:05:00 INFO configuration reloaded from /etc/app.toml\n2026-01-15 10:06:00 INFO leader is now node-b\n";
    text += &uniform("2026-01-15 & DEBUG tick @", 100);
    text += "2026-01-15 12:00:00 INFO shutting down\n";
    let result = shown(&text);
    for kept in
        ["port 8080", "served 0\n", "served 1\n", "reloaded", "leader is now", "shutting down", "tick 99\n"]
    {
        assert!(result.contains(kept), "{kept}\n{result}");
    }
}

#[test]
fn other_texts_are_not_of_this_grammar() {
    for text in [
        "a sentence about errors and warnings\n".repeat(40),
        "2024-06-25 * City Power  ; tag:ops and more of it\n".repeat(40),
        "    let x = error(5); // INFO\n".repeat(40),
        uniform("2026-01-15 & INFO served @", 5),
        format!("{}{}", uniform("2026-01-15 & INFO served @", 20), "free text of another tool\n".repeat(40)),
    ] {
        let (verdict, _) = run(&text, &[], Level::Standard);
        assert_eq!(verdict, Verdict::NotMine, "{text}");
    }
    let mixed = format!(
        "{}{}",
        uniform("2026-01-15 & INFO served @", 40),
        "free text of the application\n".repeat(30)
    );
    assert_eq!(run(&mixed, &["docker", "logs", "x"], Level::Standard).0, Verdict::Done);
}

#[test]
fn the_date_is_written_where_it_changes() {
    let result = shown(&uniform("2026-01-15 & INFO served @", 100));
    assert!(result.starts_with("2026-01-15 10:00:00 INFO served 0\n10:00:01 INFO served 1\n"), "{result}");
    assert!(result.ends_with("\n10:01:39 INFO served 99\n"), "{result}");
    let two =
        format!("{}{}", uniform("2026-01-15 & INFO served @", 60), uniform("2026-01-16 & INFO served @", 60));
    assert!(shown(&two).ends_with("2026-01-16 10:00:59 INFO served 59\n"));
    let job = shown(&uniform("2026-01-15T&.1234567Z served @", 100));
    assert!(job.contains("\n10:01:39 served 99\n"), "{job}");
}

#[test]
fn minimal_folds_no_record() {
    let text = uniform("2026-01-15 & INFO served @", 100);
    assert_eq!(run(&text, &[], Level::Minimal).1, text);
}

/// Errors of a log that a way to fold does not show.
fn lost(text: &str, fold: impl Fn(&Output<'_>, &mut Draft) -> Verdict) -> usize {
    let out = Output::new(text, Level::Standard);
    let mut draft = Draft::new(out.len());
    fold(&out, &mut draft);
    let shown = assemble(&out, &mut draft, &mut || None).text;
    text.lines().filter(|l| l.contains(" ERROR ") && !shown.contains(l)).count()
}

#[test]
fn a_twin_that_folds_errors_by_template_is_caught() {
    let text = format!(
        "{}{}",
        uniform("2026-01-15 & INFO served @", 50),
        uniform("2026-01-15 & ERROR order @ lost", 50)
    );
    assert_eq!(lost(&text, render), 0);
    let twin = |_: &Output<'_>, d: &mut Draft| {
        (51..99).for_each(|i| d.cover(i));
        Verdict::Done
    };
    assert!(lost(&text, twin) > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn errors_stay_and_counts_are_exact_in_any_mixture(parts in proptest::collection::vec(prop_oneof![
        4 => "2026-01-15 10:0[0-9]:[0-5][0-9] INFO [a-c] [0-9]{1,3}",
        1 => "2026-01-15 10:0[0-9]:[0-5][0-9] (WARN|ERROR) [a-z]{3} [0-9]",
        1 => "\\{\"level\":[345]0,\"time\":1[0-9]{5},\"msg\":\"[a-c]\"\\}",
        1 => "\tat a\\.b\\.C\\.d\\(E\\.java:[0-9]\\)",
        1 => "\\PC{0,20}",
        1 => "[ -~]{0,40}"], 0..120)) {
        let text = parts.join("\n");
        for level in Level::ALL {
            let (verdict, result) = run(&text, &[], level);
            for line in text.lines().filter(|l| l.contains(" ERROR ") || l.starts_with("{\"level\":50")) {
                prop_assert!(result.contains(line.trim_end()), "{}\n{}", line, result);
            }
            if verdict == Verdict::NotMine || level == Level::Minimal {
                continue;
            }
            for line in result.lines().filter(|l| l.starts_with("[rtk: ")) {
                prop_assert!(line.is_ascii() && line.ends_with(']'), "{}", line);
            }
        }
    }
}
