//! Passwords on the command lines of programs that take them with one letter: `mysql -p…`, `curl -u user:…`.

use super::allow::{is_number, is_path, is_placeholder, is_word_value};
use super::bytes::{Mix, byte, is_slug, left_edge, part, skip_blanks};
use super::kind::Kind;

/// Programs, the flag, whether the value is stuck to it, and whether it is `user:password`.
pub(super) const PROGRAMS: [(&str, &[u8], bool); 7] = [
    ("mysql", b"-p", false),
    ("mariadb", b"-p", false),
    ("sshpass", b"-p", false),
    ("mongo", b"-p", false),
    ("redis-cli", b"-a", false),
    ("docker login", b"-p", false),
    ("curl ", b"-u", true),
];

/// Passwords behind the program at `at`; returns the end of what was looked at.
pub(super) fn flags(
    text: &[u8],
    at: usize,
    program: usize,
    mut found: impl FnMut(usize, usize, Kind),
) -> usize {
    let Some((name, flag, pair)) = PROGRAMS.get(program) else { return at };
    if !left_edge(text, at) && byte(text, at.wrapping_sub(1)) != b'/' {
        return at;
    }
    let line = part(text, at, text.len());
    let end = at + line.iter().position(|b| matches!(b, b'\n' | b';' | b'|')).unwrap_or(line.len());
    let mut here = at + name.trim_end().len();
    while here < end {
        let Some(space) = part(text, here, end).iter().position(|b| *b == b' ') else { break };
        here = skip_blanks(text, here + space);
        let long = *pair && part(text, here, here + 7) == b"--user ";
        if part(text, here, here + 2) != *flag && !long {
            continue;
        }
        let flag_end = here + if long { 6 } else { 2 };
        let value_at = skip_blanks(text, flag_end);
        if let Some((start, stop)) = value(text, value_at, end, value_at > flag_end, *pair) {
            found(start, stop, Kind::CliPassword);
            here = stop;
        }
    }
    end
}

/// The value at `at`: `apart` if blanks stand before it, `pair` if a user's name and a colon do.
fn value(text: &[u8], at: usize, limit: usize, apart: bool, pair: bool) -> Option<(usize, usize)> {
    let quote = byte(text, at);
    let quoted = matches!(quote, b'"' | b'\'');
    let open = at + usize::from(quoted);
    let rest = part(text, open, limit);
    let stop =
        |b: &u8| if quoted { *b == quote } else { *b <= b' ' || matches!(b, b'"' | b'\'' | b'\\' | b'`') };
    let end = open + rest.iter().position(stop).unwrap_or(rest.len());
    let whole = part(text, open, end);
    let skip = if pair { whole.iter().position(|b| *b == b':')? + 1 } else { 0 };
    let value = part(whole, skip, whole.len());
    let mix = Mix::of(value);
    let plain = matches!(value.first(), None | Some(b'-' | b'$' | b'[' | b'<')) || is_placeholder(value);
    let named = is_word_value(value) || is_path(value) || is_number(value);
    let said = (mix.digit > 0 && mix.letters() > 0) || mix.other > 0 || mix.classes() >= 2 || quoted;
    let loose = apart && !pair && !quoted;
    let fits =
        value.len() >= if apart && !pair { 6 } else { 4 } && (said || !apart) && !(loose && is_slug(value));
    (fits && !plain && !named).then_some((open + skip, end))
}
