//! The log grammar: does a text consist of log records?
//!
//! A record starts with a time stamp, a level, or both, in one of the shapes of the common loggers. Dates without a
//! time, columns of numbers and single level words in prose are no records, so that ledgers, tables and documents
//! that mention dates stay what they are.

use super::stamps::{clock, date_time, digits, one_of, syslog_stamp, trim, uptime, weekday};

/// Fewest records of a log.
const MIN_RECORDS: usize = 8;
/// Bytes at the start and at the end of a large text that decide.
const HEAD: usize = 64 << 10;
const TAIL: usize = 16 << 10;

/// True when at least eight lines and four fifths of the non-blank lines start a log record.
///
/// Lines of a stack trace below a record count for neither side, as long as they are not the majority. Of a large text
/// the head and the tail are looked at, and both must be a log.
pub(crate) fn is_log(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(head), Some(tail)) = (bytes.get(..HEAD), bytes.get(bytes.len().saturating_sub(TAIL)..)) else {
        return is_log_part(bytes);
    };
    if bytes.len() <= HEAD + TAIL {
        return is_log_part(bytes);
    }
    let head = head.get(..memchr::memrchr(b'\n', head).unwrap_or(HEAD)).unwrap_or(head);
    let tail = tail.get(memchr::memchr(b'\n', tail).map_or(0, |at| at + 1)..).unwrap_or(tail);
    is_log_part(head) && is_log_part(tail)
}

fn is_log_part(bytes: &[u8]) -> bool {
    let (mut lines, mut records, mut attached) = (0_usize, 0_usize, 0_usize);
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        lines += 1;
        if is_record(line) {
            records += 1;
        } else if records > 0 && is_trace(line) {
            attached += 1;
        }
    }
    let attached = attached.min(records);
    records >= MIN_RECORDS && records * 5 >= (lines - attached) * 4
}

/// True when a line starts a record.
fn is_record(line: &[u8]) -> bool {
    let line = without_escape(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
    let line = without_service(line);
    match line.first() {
        Some(b'{') => json_record(line),
        Some(b'<') => priority(line),
        Some(b'[') => bracketed(line),
        Some(b'0'..=b'9') => stamped(line) || access(line),
        Some(b'a'..=b'z') => logfmt(line) || access(line),
        Some(b'A'..=b'Z') => {
            syslog(line) || letter(line) || level(line).is_some_and(|rest| message(rest, true))
        }
        _ => false,
    }
}

/// A line of a stack trace under a record.
fn is_trace(line: &[u8]) -> bool {
    let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let rest = line.get(indent..).unwrap_or_default();
    rest.starts_with(b"Caused by: ")
        || indent > 0
            && (rest.starts_with(b"at ") || rest.starts_with(b"... ") || rest.starts_with(b"File \""))
}

/// Drops one colour sequence at the start.
fn without_escape(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_prefix(b"\x1b[") else {
        return line;
    };
    let length = rest.iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    if rest.get(length) == Some(&b'm') { rest.get(length + 1..).unwrap_or_default() } else { line }
}

/// Drops `service-1  | ` and `[pod/name/container] `.
fn without_service(line: &[u8]) -> &[u8] {
    if line.starts_with(b"[pod/") {
        let end = line.iter().take(256).position(|byte| *byte == b']');
        return end.and_then(|end| line.get(end + 1..)).map_or(line, trim);
    }
    let name = line
        .iter()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        .count();
    let rest = trim(line.get(name..).unwrap_or_default());
    match rest.strip_prefix(b"| ") {
        Some(rest) if name > 0 => rest,
        _ => line,
    }
}

/// A time stamp at the very start, then words.
fn stamped(line: &[u8]) -> bool {
    date_time(line).or_else(|| clock(line)).is_some_and(|rest| message(rest, false))
}

/// `[stamp]`, `[LEVEL]`, `[  12.345678]`.
fn bracketed(line: &[u8]) -> bool {
    let inner = trim(line.get(1..).unwrap_or_default());
    let rest = date_time(inner)
        .or_else(|| clock(inner))
        .or_else(|| syslog_stamp(weekday(inner)))
        .or_else(|| uptime(inner));
    if let Some(rest) = rest {
        let end = rest.iter().take(40).position(|byte| *byte == b']');
        return end.and_then(|end| rest.get(end + 1..)).is_some_and(has_letter);
    }
    any_level(inner)
        .map(trim)
        .and_then(|rest| rest.strip_prefix(b"]"))
        .is_some_and(|rest| rest.first() == Some(&b' ') && has_letter(rest))
}

/// What may follow a stamp or level: a separator, then text with a letter in it.
fn message(rest: &[u8], after_level: bool) -> bool {
    match rest.first() {
        Some(b' ' | b']' | b'|') => has_letter(rest),
        Some(b':') => {
            rest.get(1).is_none_or(|byte| *byte == b' ' || after_level && byte.is_ascii_alphabetic())
                && has_letter(rest)
        }
        // A column of a table looks the same, but for the level.
        Some(b'\t') => {
            after_level && has_letter(rest) || any_level(rest.get(1..).unwrap_or_default()).is_some()
        }
        _ => false,
    }
}

fn has_letter(rest: &[u8]) -> bool {
    rest.iter().take(256).any(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80)
}

fn syslog(line: &[u8]) -> bool {
    syslog_stamp(weekday(line)).is_some_and(|rest| message(rest, false))
}

/// `<34>Oct 11 …`, `<34>1 2003-10-11T…`.
fn priority(line: &[u8]) -> bool {
    let rest = line.get(1..).unwrap_or_default();
    let count = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    let Some(rest) = rest.get(count..).and_then(|rest| rest.strip_prefix(b">")).filter(|_| count > 0) else {
        return false;
    };
    syslog(rest) || rest.strip_prefix(b"1 ").is_some_and(stamped)
}

/// `I0131 10:00:00.000`, `I 2026-01-31 …`, `I, [2026-01-31T…`.
fn letter(line: &[u8]) -> bool {
    let Some(rest) = one_of(line, b"TVDIWEFCN") else {
        return false;
    };
    let day = digits(rest, 4).and_then(|rest| one_of(rest, b" "));
    let spaced = one_of(rest, b" /").or_else(|| rest.strip_prefix(b", ["));
    day.and_then(clock).is_some_and(|rest| message(rest, false))
        || spaced.is_some_and(|rest| {
            stamped(rest) || date_time(rest).and_then(|rest| one_of(rest, b" ")).is_some_and(has_letter)
        })
}

/// A level in capitals and the rest behind it; padded, coloured and lower-case forms stand in brackets.
fn level(line: &[u8]) -> Option<&[u8]> {
    const LEVELS: &[&[u8]] = &[
        b"TRACE",
        b"DEBUG",
        b"INFO",
        b"NOTICE",
        b"WARNING",
        b"WARN",
        b"ERROR",
        b"FATAL",
        b"CRITICAL",
        b"SEVERE",
        b"PANIC",
        b"EMERG",
        b"ALERT",
        b"VERBOSE",
        b"CRIT",
        b"ERR",
    ];
    let length = line.iter().take(9).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (head, rest) = line.split_at_checked(length)?;
    LEVELS.contains(&head).then_some(rest)
}

fn any_level(line: &[u8]) -> Option<&[u8]> {
    let length = line.iter().take(9).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (head, rest) = line.split_at_checked(length)?;
    level(&head.to_ascii_uppercase()).filter(|left| left.is_empty()).map(|_| rest)
}

/// `host - - [31/Jan/2026:10:00:00 +0000] "GET …`.
fn access(line: &[u8]) -> bool {
    let bracket = line.iter().take(200).position(|byte| *byte == b'[');
    bracket
        .and_then(|at| line.get(at + 1..))
        .and_then(date_time)
        .is_some_and(|rest| rest.starts_with(b"] \"") && bracket.is_some_and(|at| at > 4))
}

/// `time=… level=… msg=…` in any order.
fn logfmt(line: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"time=", b"ts=", b"level=", b"lvl=", b"t=", b"timestamp="];
    starts.iter().any(|start| line.starts_with(start))
        && (contains(line, b"level=") || contains(line, b"lvl="))
        && contains(line, b"msg=")
}

/// One JSON object with a level, a time and a message.
fn json_record(line: &[u8]) -> bool {
    let any = |keys: &[&[u8]]| keys.iter().any(|key| contains(line, key));
    line.trim_ascii_end().ends_with(b"}")
        && any(&[b"\"level\":", b"\"lvl\":", b"\"severity\":", b"\"levelname\":"])
        && any(&[b"\"time\":", b"\"ts\":", b"\"timestamp\":", b"\"@timestamp\":", b"\"asctime\":", b"\"t\":"])
        && any(&[b"\"msg\":", b"\"message\":", b"\"event\":"])
}

/// Looks for a short key in the first kilobyte of a line.
fn contains(line: &[u8], key: &[u8]) -> bool {
    line.get(..line.len().min(1024)).unwrap_or_default().windows(key.len()).any(|window| window == key)
}

#[cfg(test)]
mod tests {
    use super::is_log;

    #[test]
    fn lines_of_loggers() {
        for line in [
            "2026-01-15 10:00:00,195 INFO  [pool-1-thread-3] a - GET /",
            "2026-01-15T10:00:00Z INFO waiting",
            "2026-01-15T10:00:00.123456+02:00 host app[1]: x",
            "2026/01/15 10:00:00 listening",
            "[2026-01-15 10:00:00] production.ERROR: x",
            "2026-11-30 09:08:24.062 UTC [29554] LOG:  starting",
            "Jan  5 10:00:00 host sshd[12]: x",
            "[Wed Oct 11 14:32:52 2023] [error] x",
            "I 2026-01-15 10:00:00.000 x",
            "I, [2026-01-15T10:00:00.000 #1]  INFO -- : x",
            "E0412 10:00:00.000000   1 main.go:3] x",
            "[   12.345678] usb 1-1: x",
            "[INFO] Scanning for projects",
            "[warn] something",
            "INFO:root:x",
            "ERROR 12 --- x",
            "10:00:00.123 [main] DEBUG x",
            "[10:00:00] x starting",
            "10.0.0.1 - - [15/Jan/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5",
            "<34>1 2026-10-11T22:14:15.003Z host su - x",
            "time=\"2026-01-15T10:00:00Z\" level=info msg=\"x\"",
            "{\"level\":30,\"time\":1796029028774,\"msg\":\"x\"}",
            "web-1  | 2026-01-15 10:00:00 INFO x",
            "\u{1b}[32m2026-01-15 10:00:00 INFO x",
            "2026-01-15T10:00:00.000Z\tINFO\tx",
            "2026-01-15T10:00:00.000Z [INFO] x",
        ] {
            assert!(is_log(&format!("{line}\n").repeat(8)), "{line}");
            assert!(!is_log(&format!("{line}\n").repeat(7)), "{line}");
        }
    }

    #[test]
    fn lines_that_only_look_like_it() {
        for line in [
            "2024-06-25 * City Power  ; tag:ops",
            "2024-06-25T10:00:00Z,12.5,3",
            "2024-06-25 10:00:00 12.5 3.25",
            "2024-06-25T10:00:00Z\tabc\t5",
            "INFO=1",
            "[info]",
            "INFORMATION is what we want",
            "Information: x",
            "error: could not compile",
            "    2026-01-15 10:00:00 INFO indented",
            "     1\t2026-01-15 10:00:00 INFO numbered",
            "10:00 standup with the team",
            "00:00:01,000 --> 00:00:02,000",
            "{\"level\":3,\"name\":\"x\"}",
            "- 2026-01-15 10:00:00 changed",
            "## 2026-01-15 10:00:00 release",
            "a.log:3:2026-01-15 10:00:00 INFO x",
            "2024.06.25 notes about the day",
            "time = 5",
        ] {
            assert!(!is_log(&format!("{line}\n").repeat(20)), "{line}");
        }
    }

    #[test]
    fn a_fifth_of_other_lines_and_stack_traces_are_allowed() {
        let record = "2026-01-15 10:00:00 ERROR x\n";
        assert!(is_log(&format!("{}{}", record.repeat(8), "other\n".repeat(2))));
        assert!(!is_log(&format!("{}{}", record.repeat(8), "other\n".repeat(3))));
        assert!(is_log(&format!("{record}\tat a.b(C.java:1)\n\n").repeat(8)));
        assert!(!is_log(&format!("{record}\tat a\n\tat b\n\tat c\n").repeat(8)));
    }
}
