//! The head of a record: its stamp, its level, and where its text begins.

use super::json;
use super::level::{Rank, in_head, named, numbered};
use super::stamp::{Stamp, stamp, uptime};

/// How the rest of a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Text.
    Text,
    /// One JSON object.
    Json,
    /// An access log: a quoted request, a status.
    Access,
    /// A line of a CI job.
    Ci,
}

/// What the first line of a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// How the rest is written.
    pub(super) form: Form,
    /// The level.
    pub(super) rank: Rank,
    /// The stamp: first byte, first byte of the time of day, byte behind it. All zero if there is none.
    pub(super) stamp: (usize, usize, usize),
    /// Bytes in front that name a service, a pod or a job.
    pub(super) prefix: usize,
    /// Where the text behind the stamp begins.
    pub(super) body: usize,
    /// Where the text behind the level begins.
    pub(super) message: usize,
}

/// The head of the record that begins with this line, if one does.
pub(super) fn head(line: &[u8]) -> Option<Head> {
    if let Some(found) = plain(line, 0) {
        return Some(found);
    }
    let start = prefix(line)?;
    plain(line, start).map(|h| Head { prefix: start, ..h })
}

/// Length of `service-1  | `, `[pod/name/container] `, `job<tab>step<tab>`, `pod container `.
fn prefix(line: &[u8]) -> Option<usize> {
    if line.starts_with(b"[pod/") {
        let end = memchr::memchr(b']', line.get(..256.min(line.len()))?)?;
        return Some(end + 2);
    }
    let head = line.get(..100.min(line.len())).unwrap_or(line);
    let name = head
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
        .count();
    let blanks = head.get(name..)?.iter().take_while(|b| **b == b' ').count();
    if name > 0 && head.get(name + blanks..).is_some_and(|r| r.starts_with(b"| ")) {
        return Some(name + blanks + 2);
    }
    if let Some(tab) = memchr::memchr(b'\t', head).filter(|at| *at > 0) {
        let second = memchr::memchr(b'\t', line.get(tab + 1..200.min(line.len()))?)?;
        let start = tab + 1 + second + 1;
        return Some(start + usize::from(line.get(start..)?.starts_with(b"\xef\xbb\xbf")) * 3);
    }
    let second = head
        .get(name + 1..)?
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        .count();
    (name > 3 && blanks == 1 && second > 0 && head.get(name + 1 + second) == Some(&b' '))
        .then_some(name + second + 2)
}

/// A head that begins at byte `from` of the line.
fn plain(line: &[u8], from: usize) -> Option<Head> {
    let rest = line.get(from..)?;
    match rest.first()? {
        b'{' => json::head(rest).map(|(rank, time)| Head {
            form: Form::Json,
            rank,
            stamp: time.map_or((0, 0, 0), |(a, b)| (from + a, from + a, from + b)),
            prefix: 0,
            body: from,
            message: from,
        }),
        b'0'..=b'9' => match stamp(rest) {
            Some(s) => stamped(line, from, s),
            None => access(line, from).or_else(|| redis(line, from)),
        },
        b'[' => bracketed(line, from),
        b'<' => {
            let number = rest.get(1..)?.iter().take_while(|b| b.is_ascii_digit()).count();
            let digits = rest
                .get(1..1 + number)
                .filter(|_| (1..=3).contains(&number) && rest.get(1 + number) == Some(&b'>'))?;
            let value = digits.iter().fold(0_u32, |n, b| n * 10 + u32::from(b - b'0')) % 8;
            let version = if rest.get(number + 2..)?.starts_with(b"1 ") { 2 } else { 0 };
            let found = plain(line, from + number + 2 + version)?;
            let rank = numbered(&[b'0' + value as u8], true).max(found.rank);
            Some(Head { rank, ..found })
        }
        b'A'..=b'Z' | b'a'..=b'z' => worded(line, from),
        b':' => access(line, from),
        _ => None,
    }
}

/// A stamp at the front: the level stands behind it.
fn stamped(line: &[u8], from: usize, s: Stamp) -> Option<Head> {
    let body = from + s.len;
    let rest = line.get(body..)?;
    let separated = match rest.first() {
        None | Some(b' ' | b']' | b'|' | b'\t' | b';') => true,
        Some(b':' | b',') => rest.get(1).is_none_or(|b| *b == b' '),
        _ => false,
    };
    if !separated {
        return None;
    }
    let stamp = (from, from + s.clock, body);
    let text = rest.trim_ascii_start();
    if let Some(command) = text.strip_prefix(b"##[") {
        let rank = if command.starts_with(b"error]") {
            Rank::Error
        } else if command.starts_with(b"warning]") {
            Rank::Warn
        } else {
            Rank::None
        };
        return Some(Head { form: Form::Ci, rank, stamp, prefix: 0, body, message: body });
    }
    let logcat = s.clock == 6 && line.get(from + 2).is_some_and(|b| matches!(b, b'-' | b'/'));
    let (rank, behind) = in_head(rest, logcat);
    Some(Head { form: Form::Text, rank, stamp, prefix: 0, body, message: body + behind })
}

/// `[stamp] x`, `[LEVEL] x`, `[   12.345678] x`, `[stamp LEVEL] x`.
fn bracketed(line: &[u8], from: usize) -> Option<Head> {
    let inner = line.get(from + 1..)?;
    let found = stamp(inner)
        .or_else(|| uptime(inner))
        .filter(|s| matches!(inner.get(s.len), Some(b']' | b' ' | b',')));
    if let Some(s) = found {
        let body = from + 1 + s.len;
        let close = memchr::memchr(b']', line.get(body..(body + 60).min(line.len()))?)?;
        let (rank, behind) = in_head(line.get(body..)?, false);
        let body = if close == 0 { body + 1 } else { body };
        let message = if behind > 0 { from + 1 + s.len + behind } else { body };
        return Some(Head {
            form: Form::Text,
            rank,
            stamp: (from + 1, from + 1 + s.clock, from + 1 + s.len),
            prefix: 0,
            body,
            message,
        });
    }
    let word = inner.get(..12.min(inner.len()))?;
    let end = memchr::memchr(b']', word)?;
    let rank = named(word.get(..end)?.trim_ascii())?;
    (inner.get(end + 1) == Some(&b' ') && inner.len() > end + 2).then_some(Head {
        form: Form::Text,
        rank,
        stamp: (0, 0, 0),
        prefix: 0,
        body: from,
        message: from + end + 2,
    })
}

/// A record that begins with a month, a level, a letter of klog, a key of logfmt or a host.
fn worded(line: &[u8], from: usize) -> Option<Head> {
    let rest = line.get(from..)?;
    if let Some(s) = stamp(rest) {
        return stamped(line, from, s);
    }
    if let Some(found) = klog(line, from) {
        return Some(found);
    }
    let word = rest.iter().take(10).take_while(|b| b.is_ascii_alphanumeric()).count();
    let text = rest.get(..word)?;
    let behind = rest.get(word);
    if (3..=9).contains(&word) && matches!(behind, Some(b':' | b' ' | b'\t' | b'|')) && rest.len() > word + 1
    {
        let capitals = text.iter().all(u8::is_ascii_uppercase);
        // Lower case with a colon and the logger behind it is the console form of .NET.
        let dotnet = word == 4 && behind == Some(&b':') && rest.ends_with(b"]") && rest.contains(&b'[');
        if let Some(rank) = named(text).filter(|r| (capitals || dotnet) && *r != Rank::Same) {
            let body = from + word + usize::from(behind == Some(&b':'));
            return Some(Head {
                form: Form::Text,
                rank,
                stamp: (0, 0, 0),
                prefix: 0,
                body: from,
                message: body,
            });
        }
    }
    if matches!(text, b"time" | b"ts" | b"level" | b"lvl" | b"t" | b"timestamp" | b"at")
        && behind == Some(&b'=')
    {
        return logfmt(line, from);
    }
    access(line, from)
}

/// `E0115 10:00:00.000000   1 main.go:3] x`, `I, [2026-01-15T10:00:00.000 #1]  INFO -- : x`.
fn klog(line: &[u8], from: usize) -> Option<Head> {
    let rest = line.get(from..)?;
    let rank = match rest.first()? {
        b'E' | b'F' | b'C' => Rank::Error,
        b'W' => Rank::Warn,
        b'I' | b'D' | b'V' | b'T' | b'N' => Rank::Low,
        _ => return None,
    };
    let day = rest.get(1..6)?;
    let offset = if day.iter().take(4).all(u8::is_ascii_digit) && day.get(4) == Some(&b' ') {
        6
    } else if day.starts_with(b", [") {
        4
    } else if day.starts_with(b" ") {
        2
    } else {
        return None;
    };
    let s = stamp(rest.get(offset..)?)?;
    let at = from + offset;
    Some(Head {
        form: Form::Text,
        rank,
        stamp: (at, at + s.clock, at + s.len),
        prefix: 0,
        body: at + s.len,
        message: at + s.len,
    })
}

/// `time=… level=… msg=…` in any order.
fn logfmt(line: &[u8], from: usize) -> Option<Head> {
    let rest = line.get(from..)?;
    let rank = ["level=", "lvl=", "severity="].iter().find_map(|key| {
        let at = memchr::memmem::find(rest, key.as_bytes())? + key.len();
        let value = rest.get(at..)?;
        let value = value.strip_prefix(b"\"").unwrap_or(value);
        let len = value.iter().take(12).take_while(|b| b.is_ascii_alphabetic()).count();
        named(value.get(..len)?)
    })?;
    let equals = memchr::memchr(b'=', rest)? + 1;
    let quoted = usize::from(rest.get(equals) == Some(&b'"'));
    let at = from + equals + quoted;
    let (stamp, body) = match stamp(line.get(at..)?) {
        Some(s) => ((at, at + s.clock, at + s.len), at + s.len + quoted),
        None => ((0, 0, 0), from),
    };
    Some(Head { form: Form::Text, rank, stamp, prefix: 0, body, message: body })
}

/// `host - - [31/Jan/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5`.
fn access(line: &[u8], from: usize) -> Option<Head> {
    let rest = line.get(from..)?;
    let open = memchr::memchr(b'[', rest.get(..200.min(rest.len()))?).filter(|at| *at > 4)?;
    let at = from + open + 1;
    let s = stamp(line.get(at..)?)?;
    let body = at + s.len + 2;
    (line.get(body..)?.first() == Some(&b'"') && line.get(body - 2) == Some(&b']')).then_some(())?;
    let status = status(line, body)?;
    let rank = if line.get(status) == Some(&b'5') { Rank::Error } else { Rank::Low };
    Some(Head {
        form: Form::Access,
        rank,
        stamp: (at, at + s.clock, at + s.len),
        prefix: 0,
        body,
        message: body,
    })
}

/// Where the status stands behind the quoted request at `body`.
pub(super) fn status(line: &[u8], body: usize) -> Option<usize> {
    let request = line.get(body + 1..)?;
    let close = memchr::memmem::find(request, b"\" ")?;
    Some(body + 1 + close + 2)
}

/// `1:M 30 Nov 2026 09:08:24.123 * Ready`.
fn redis(line: &[u8], from: usize) -> Option<Head> {
    let rest = line.get(from..)?;
    let pid = rest.iter().take(9).take_while(|b| b.is_ascii_digit()).count();
    let role = rest.get(pid..pid + 3)?;
    (role.first() == Some(&b':') && role.get(1)?.is_ascii_uppercase() && role.get(2) == Some(&b' '))
        .then_some(())?;
    let at = from + pid + 3;
    let s = stamp(line.get(at..)?)?;
    let body = at + s.len;
    let rank = match line.get(body + 1)? {
        b'#' => Rank::Warn,
        b'*' | b'-' | b'.' => Rank::Low,
        _ => return None,
    };
    Some(Head { form: Form::Text, rank, stamp: (at, at + s.clock, body), prefix: 0, body, message: body + 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_heads() {
        for (line, rank, body) in [
            ("2026-01-15 10:00:00,195 INFO  [pool-1] a - GET /", Rank::Low, " INFO"),
            ("2026-11-30 09:08:24.062 UTC [29554] ERROR:  duplicate key", Rank::Error, " [29554]"),
            ("Jan  5 10:00:00 host sshd[12]: failed", Rank::None, " host"),
            ("[Wed Oct 11 14:32:52 2023] [error] x", Rank::Error, " [error]"),
            ("[2026-01-15 10:00:00] production.ERROR: x", Rank::Error, " production"),
            ("[2026-01-15T10:00:00Z INFO  app] x", Rank::Low, " INFO"),
            ("[10:00:00 ERR] x y", Rank::Error, " ERR"),
            ("E0412 10:00:00.000000   1 main.go:3] x", Rank::Error, "   1"),
            ("I, [2026-01-15T10:00:00.000 #1]  INFO -- : x", Rank::Low, " #1"),
            ("[   12.345678] usb 1-1: x", Rank::None, " usb"),
            ("[INFO] Scanning for projects", Rank::Low, "[INFO]"),
            ("[warn] something", Rank::Warn, "[warn]"),
            ("WARNING:root:x y", Rank::Warn, "WARNING"),
            ("INFO:     127.0.0.1:5000 - \"GET / HTTP/1.1\" 200 OK", Rank::Low, "INFO"),
            ("fail: Microsoft.Hosting.Lifetime[14]", Rank::Error, "fail"),
            ("10.0.0.1 - - [15/Jan/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 503 5", Rank::Error, "\"GET"),
            ("<27>1 2026-10-11T22:14:15.003Z host su - x", Rank::Error, " host"),
            ("time=\"2026-01-15T10:00:00Z\" level=error msg=\"x\"", Rank::Error, " level"),
            ("level=info ts=2026 msg=x", Rank::Low, "level"),
            ("{\"level\":50,\"time\":1796029028774,\"msg\":\"x\"}", Rank::Error, "{"),
            ("web-1  | 2026-01-15 10:00:00 WARN x", Rank::Warn, " WARN"),
            ("[pod/a-1/web] 2026-01-15 10:00:00 WARN x", Rank::Warn, " WARN"),
            ("build\tRun tests\t2026-01-15T10:00:00.1234567Z ##[error]x", Rank::Error, " ##"),
            ("1:M 30 Nov 2026 09:08:24.123 # Warning: overcommit", Rank::Warn, " #"),
            ("01-15 10:00:00.123  123  456 E Tag: x", Rank::Error, "  123"),
            ("2026-01-15T10:00:00.000Z\tINFO\tx", Rank::Low, "\tINFO"),
        ] {
            let found = head(line.as_bytes());
            assert_eq!(found.map(|h| h.rank), Some(rank), "{line}");
            assert!(
                found.is_some_and(|h| line
                    .as_bytes()
                    .get(h.body..)
                    .is_some_and(|r| r.starts_with(body.as_bytes()))),
                "{line} {found:?}"
            );
        }
        for line in [
            "2024-06-25 * City Power  ; tag:ops",
            "2024-06-25T10:00:00Z,12.5,3",
            "INFO=1",
            "[info]",
            "INFORMATION is what we want",
            "Information: x",
            "error: could not compile",
            "    2026-01-15 10:00:00 INFO indented",
            "{\"a\":1}",
            "- 2026-01-15 10:00:00 changed",
            "time = 5",
            "plain words here",
            "",
        ] {
            assert_eq!(head(line.as_bytes()), None, "{line}");
        }
    }
}
