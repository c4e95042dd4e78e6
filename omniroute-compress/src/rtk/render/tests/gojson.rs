//! `go test -json`: the stream of events becomes the text that `go test` would have written.

use std::collections::HashMap;

use super::gotest::{MAX_LOGS, has_no_tests, reason};
use super::lines::{is_blank, is_short};
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// One event.
#[derive(Debug, Default, Clone, Copy)]
struct Event<'t> {
    action: &'t str,
    package: &'t str,
    test: &'t str,
    /// As it stands in the JSON text, with escapes.
    output: &'t str,
}

/// Whether the first line that is not blank is such an event.
pub(crate) fn is_stream(out: &Output<'_>) -> bool {
    out.lines.iter().copied().filter(|l| !is_blank(l)).take(20).any(|l| event(l).is_some())
}

/// Renders the stream. Lines that are no events stay as they are.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if is_short(out) {
        return Verdict::Done;
    }
    let events: Vec<Option<Event<'_>>> = out.lines.iter().map(|l| event(l)).collect();
    let mut outcomes: HashMap<(&str, &str), &str> = HashMap::new();
    for event in events.iter().flatten().filter(|e| !e.test.is_empty()) {
        if matches!(event.action, "pass" | "fail" | "skip") {
            outcomes.insert((event.package, event.test), event.action);
        }
    }
    let mut logs = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let Some(event) = event else { continue };
        let passed = outcomes.get(&(event.package, event.test)) == Some(&"pass");
        if out.level == Level::Minimal {
            match event.action {
                "pass" if passed => draft.drop_known(i, What::PassingTests),
                _ if passed => draft.drop(i, What::Lines),
                _ => {}
            }
        } else if event.action == "pass" && passed {
            draft.drop_known(i, What::PassingTests);
        } else if matches!(event.action, "output" | "build-output") {
            text(draft, i, event, passed, &mut logs);
        } else if is_known(event.action) && !is_last_word(event, &outcomes) {
            draft.cover(i);
        }
    }
    if logs.len() > MAX_LOGS {
        logs.iter().for_each(|(i, _)| draft.drop(*i, What::Lines));
    } else {
        logs.iter().for_each(|(i, line)| draft.replace(*i, line));
    }
    Verdict::Done
}

fn is_known(action: &str) -> bool {
    matches!(action, "run" | "pause" | "cont" | "start" | "pass" | "fail" | "skip" | "bench")
}

/// An event that says more than the text does: a failing case that never had an output line.
fn is_last_word(event: &Event<'_>, outcomes: &HashMap<(&str, &str), &str>) -> bool {
    event.action == "fail" && !event.test.is_empty() && !outcomes.contains_key(&(event.package, event.test))
}

/// Puts the text of an output event in its place.
fn text(draft: &mut Draft, i: usize, event: &Event<'_>, passed: bool, logs: &mut Vec<(usize, String)>) {
    let mut line = String::new();
    unescape(event.output, &mut line);
    let line = line.trim_end_matches('\n');
    let chatter = ["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "].iter().any(|p| line.starts_with(p));
    if chatter || is_blank(line) || line.trim_start().starts_with("--- PASS: ") {
        draft.cover(i);
    } else if passed && reason(line).is_some() {
        logs.push((i, line.to_owned()));
    } else if passed || has_no_tests(line) {
        draft.drop(i, What::Lines);
    } else {
        draft.replace(i, line);
    }
}

/// Reads the members that matter. None if the line is no event.
fn event(line: &str) -> Option<Event<'_>> {
    let mut rest = line.trim().strip_prefix('{')?;
    let mut event = Event::default();
    loop {
        let (key, after) = string(rest.trim_start())?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let (text, after) = match string(value) {
            Some(found) => found,
            None => {
                let end = value.bytes().position(|b| matches!(b, b',' | b'}'))?;
                (value.get(..end)?, value.get(end..)?)
            }
        };
        match key {
            "Action" => event.action = text,
            "Package" | "ImportPath" => event.package = text,
            "Test" => event.test = text,
            "Output" => event.output = text,
            _ => {}
        }
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after == "}" => break,
            None => return None,
        }
    }
    let known =
        is_known(event.action) || matches!(event.action, "output" | "build-output" | "build-fail" | "attr");
    if known { Some(event) } else { None }
}

/// A JSON string at the start: its content with escapes, and what follows.
fn string(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    let bytes = inner.as_bytes();
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some((inner.get(..at)?, inner.get(at + 1..)?));
        }
        at += 2;
    }
}

/// Writes the text of a JSON string.
fn unescape(text: &str, to: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        to.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            Some('n') => to.push('\n'),
            Some('t') => to.push('\t'),
            Some('r') => {}
            Some('u') => {
                let code = after.get(1..5).and_then(|h| u32::from_str_radix(h, 16).ok());
                to.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                rest = after.get(5..).unwrap_or("");
                continue;
            }
            Some(other) => to.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    to.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_events() {
        let line = r#"{"Time":"x","Action":"output","Package":"p","Test":"TestA/b","Output":"a \"q\" \u003c\tb\n","Elapsed":0.1}"#;
        let found = event(line).expect("an event");
        assert_eq!((found.action, found.package, found.test), ("output", "p", "TestA/b"));
        let mut text = String::new();
        unescape(found.output, &mut text);
        assert_eq!(text, "a \"q\" <\tb\n");
        for line in [
            "",
            "{}",
            "{\"a\":1}",
            "{\"Action\":\"x\"}",
            "{\"Action\":\"run\"",
            "{\"Action\":\"run\\",
            "{\"Action\":[1]}",
        ] {
            assert!(event(line).is_none(), "{line}");
        }
    }
}
