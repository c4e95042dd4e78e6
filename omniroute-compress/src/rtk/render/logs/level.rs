//! The level of a record: read from the field that holds it, never from words of the message.

/// How bad a record says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// It has no level field.
    None,
    /// Trace, debug, info, notice.
    Low,
    /// A warning.
    Warn,
    /// Error and above.
    Error,
    /// As the record before it (`DETAIL:`, `HINT:` of PostgreSQL).
    Same,
}

/// Words behind a stamp among which the level is looked for.
const MAX_WORDS: usize = 6;
/// Bytes behind a stamp in which it is looked for.
const MAX_BYTES: usize = 120;

/// The level a word stands for, in any case.
pub(super) fn named(word: &[u8]) -> Option<Rank> {
    let mut lower = [0_u8; 11];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"info" | b"debug" | b"trace" | b"notice" | b"verbose" | b"inf" | b"dbg" | b"trc" | b"vrb"
        | b"fine" | b"finer" | b"finest" | b"config" | b"information" | b"log" | b"dbug" | b"trce"
        | b"debug1" | b"dpanic" => Rank::Low,
        b"warn" | b"warning" | b"wrn" => Rank::Warn,
        b"error" | b"err" | b"fatal" | b"critical" | b"crit" | b"severe" | b"panic" | b"emerg"
        | b"emergency" | b"alert" | b"eror" | b"fail" | b"ftl" | b"crt" => Rank::Error,
        b"detail" | b"hint" | b"statement" | b"context" | b"query" => Rank::Same,
        _ => return None,
    })
}

/// The level of a number of bunyan and pino (10 to 60), or of syslog (0 to 7) where `syslog`.
pub(super) fn numbered(digits: &[u8], syslog: bool) -> Rank {
    let value = digits.iter().take(4).fold(0_u32, |n, b| n * 10 + u32::from(b.saturating_sub(b'0')));
    match value {
        0..=3 if syslog => Rank::Error,
        4 if syslog => Rank::Warn,
        50..=99 => Rank::Error,
        40..=49 => Rank::Warn,
        _ => Rank::Low,
    }
}

/// The level in the head of a record, and where the text behind it begins. `single`: one letter is a level too.
pub(super) fn in_head(bytes: &[u8], single: bool) -> (Rank, usize) {
    let bytes = bytes.get(..MAX_BYTES.min(bytes.len())).unwrap_or(bytes);
    let mut at = 0;
    for _ in 0..MAX_WORDS {
        at += bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| is_separator(**b)).count();
        let word = bytes.get(at..).unwrap_or(&[]);
        let len = word.iter().take_while(|b| !is_separator(**b)).count();
        let Some(word) = word.get(..len).filter(|w| !w.is_empty()) else { break };
        let before = at.checked_sub(1).and_then(|i| bytes.get(i));
        let behind = bytes.get(at + len);
        let marked = matches!(before, Some(b'[' | b'<' | b'('))
            || matches!(behind, Some(b']' | b':' | b'>')) && !matches!(before, Some(b'.'));
        let tail = word.iter().rposition(|b| matches!(b, b'.' | b'=' | b'/')).and_then(|n| word.get(n + 1..));
        for (part, marked) in [(word, marked), (tail.unwrap_or(&[]), marked || tail.is_some())] {
            if let Some(rank) = level_word(part, marked, behind) {
                return (rank, at + len);
            }
        }
        if single && word.len() == 1 {
            match word.first() {
                Some(b'E' | b'F' | b'A') => return (Rank::Error, at + 1),
                Some(b'W') => return (Rank::Warn, at + 1),
                Some(b'V' | b'D' | b'I') => return (Rank::Low, at + 1),
                _ => {}
            }
        }
        at += len;
    }
    (Rank::None, 0)
}

/// A word in capitals, or in a form that only a level has.
fn level_word(word: &[u8], marked: bool, behind: Option<&u8>) -> Option<Rank> {
    if !(3..=11).contains(&word.len()) || !word.first().is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let capitals = word.iter().all(u8::is_ascii_uppercase);
    let rank = if capitals || marked { named(word)? } else { return None };
    let needs_colon = rank == Rank::Same || word == b"LOG" || word == b"CONFIG" || word == b"ALERT";
    (!needs_colon || behind == Some(&b':')).then_some(rank)
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'[' | b']' | b'(' | b')' | b'|' | b':' | b'<' | b'>' | b',' | b'*' | b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_level_field() {
        for (head, expected) in [
            (" INFO  [pool-1] a - failed", Rank::Low),
            (" ERROR x", Rank::Error),
            (" [main] WARN c.e.X - y", Rank::Warn),
            (" - app.module - CRITICAL - x", Rank::Error),
            (" [error] 12#12: *1 open() failed", Rank::Error),
            ("] [core:error] [pid 1] x", Rank::Error),
            ("][INFO ][o.e.n.Node] x", Rank::Low),
            ("] production.ERROR: x", Rank::Error),
            (" 0 [Warning] [MY-1] x", Rank::Warn),
            (" [29554] LOG:  starting", Rank::Low),
            (" [29554] DETAIL:  key", Rank::Same),
            (" level=warn msg=x", Rank::Warn),
            (" host app[1]: an error occurred", Rank::None),
            (" 0 Error(s), 3 Warnings", Rank::None),
            (" no errors found in ERRORS.md", Rank::None),
            (" the query took long", Rank::None),
        ] {
            assert_eq!(in_head(head.as_bytes(), false).0, expected, "{head}");
        }
        assert_eq!(in_head(b"  123  456 E Tag: x", true).0, Rank::Error);
        assert_eq!(numbered(b"50", false), Rank::Error);
        assert_eq!(numbered(b"3", true), Rank::Error);
        assert_eq!(numbered(b"30", false), Rank::Low);
    }
}
