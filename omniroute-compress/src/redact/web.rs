//! Headers, cookies and addresses.

use super::allow::{is_number, is_path, is_placeholder, is_word_value};
use super::bytes::{Mix, Set, before, byte, holds, is_slug, left_edge, part, run, skip_blanks};
use super::kind::Kind;

/// After a header's name: where its value starts, if a colon or an equals sign follows.
fn value_start(text: &[u8], name_end: usize) -> Option<usize> {
    let at = skip_blanks(text, quote(text, name_end));
    if !matches!(byte(text, at), b':' | b'=') || matches!(byte(text, at + 1), b':' | b'=') {
        return None;
    }
    Some(quote(text, skip_blanks(text, at + 1)))
}

/// Steps over a quotation mark, also one behind backslashes.
fn quote(text: &[u8], at: usize) -> usize {
    let slashes = part(text, at, at + 3).iter().take_while(|b| **b == b'\\').count();
    if matches!(byte(text, at + slashes), b'"' | b'\'') { at + slashes + 1 } else { at }
}

const SCHEMES: [&[u8]; 10] = [
    b"bearer",
    b"basic",
    b"token",
    b"bot",
    b"apikey",
    b"ssws",
    b"negotiate",
    b"geniekey",
    b"key",
    b"sso-key",
];

/// Credentials behind the `Authorization` whose name ends at `name_end`.
pub(super) fn authorization(text: &[u8], name_end: usize) -> Option<(usize, usize, Kind)> {
    let at = value_start(text, name_end)?;
    let scheme_end = run(text, at, Set::NAME, 24);
    let scheme = part(text, at, scheme_end);
    let spaced = byte(text, scheme_end) == b' ';
    if spaced && scheme.eq_ignore_ascii_case(b"digest") {
        return parameter(text, scheme_end, b"response=");
    }
    if spaced && scheme.starts_with(b"AWS4-") {
        return parameter(text, scheme_end, b"Signature=");
    }
    let known = spaced && SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let mut start = if known { skip_blanks(text, scheme_end) } else { at };
    if part(text, start, start + 6) == b"token=" {
        start = quote(text, start + 6);
    }
    let end = credential_end(text, start);
    let value = part(text, start, end);
    let fits = match known {
        true => value.len() >= 6 && telling(value),
        false => value.len() >= 16 && Mix::of(value).mixed() && !is_slug(value) && byte(text, end) != b'(',
    };
    let fits = fits && !is_path(value);
    let kind = if scheme.eq_ignore_ascii_case(b"ssws") { Kind::Okta } else { Kind::Authorization };
    (fits && !is_placeholder(value) && !is_word_value(value)).then_some((start, end, kind))
}

/// A bearer token without its header: the word ends at `at`.
pub(super) fn bearer(text: &[u8], at: usize) -> Option<(usize, usize, Kind)> {
    let start = skip_blanks(text, at);
    let end = credential_end(text, start);
    let value = part(text, start, end);
    let fits = value.len() >= 16 && Mix::of(value).mixed() && !is_slug(value) && !is_path(value);
    (fits && !is_placeholder(value)).then_some((start, end, Kind::Authorization))
}

/// Letters and digits, or long: `Bearer TOKEN` in a manual is neither.
fn telling(value: &[u8]) -> bool {
    let mix = Mix::of(value);
    mix.digit > 0 || (mix.classes() >= 2 && !is_slug(value)) || value.ends_with(b"=") || value.len() >= 24
}

fn credential_end(text: &[u8], start: usize) -> usize {
    let end = run(text, start, Set::BEARER, 16 << 10);
    let tail = part(text, start, end).iter().rev().take_while(|b| matches!(b, b'.' | b':')).count();
    end - tail
}

/// The quoted or bare value of one parameter in the same line.
fn parameter(text: &[u8], from: usize, name: &[u8]) -> Option<(usize, usize, Kind)> {
    let line = part(text, from, from + 4096);
    let line = line.split(|b| *b == b'\n').next().unwrap_or(line);
    let at = memchr::memmem::find(line, name)?;
    let start = quote(text, from + at + name.len());
    let end = run(text, start, Set::HEX_ANY, 256);
    (end - start >= 16).then_some((start, end, Kind::Authorization))
}

/// Values of the cookies behind `Cookie` or `Set-Cookie`, whose name ends at `name_end`; names are kept. Returns the
/// end of what was looked at.
pub(super) fn cookies(
    text: &[u8],
    name_start: usize,
    name_end: usize,
    mut found: impl FnMut(usize, usize, Kind),
) -> usize {
    let Some(mut at) = value_start(text, name_end) else { return name_end };
    let set = part(text, name_start.saturating_sub(4), name_start).eq_ignore_ascii_case(b"set-");
    loop {
        let name = run(text, at, COOKIE_NAME, 128);
        if name == at || byte(text, name) != b'=' {
            return name;
        }
        let open = quote(text, name + 1);
        let end = match part(text, open, open + 10) == b"[REDACTED:" {
            true => run(text, open + 10, Set::URL64, 40) + 1,
            false => run(text, open, COOKIE_VALUE, 8192),
        };
        let value = part(text, open, end);
        if value.len() >= 4 && !is_placeholder(value) && !is_word_value(value) {
            found(open, end, Kind::Cookie);
        }
        let next = if open > name + 1 { quote(text, end) } else { end };
        let blank = skip_blanks(text, next + 1);
        if set || byte(text, next) != b';' || blank == next + 1 {
            return next;
        }
        at = blank;
    }
}

const COOKIE_NAME: Set = Set::NAME;
const COOKIE_VALUE: Set = Set::COOKIE;

/// The password in `scheme://user:password@host`, with the colon of the scheme at `at`.
pub(super) fn url_password(text: &[u8], at: usize) -> Option<(usize, usize, Kind)> {
    let from = at + 3;
    let stop =
        |b: &u8| matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') || *b <= b' ';
    let tail = part(text, from, from + 512);
    let authority = tail.iter().position(stop).map_or(tail, |end| part(tail, 0, end));
    let host = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority.iter().take(host).position(|b| *b == b':')?;
    let value = part(authority, colon + 1, host);
    let named = before(text, at).is_ascii_alphanumeric() && !value.is_empty();
    let hidden = matches!(value, b"***" | b"password" | b"pass" | b"passwd" | b"pwd" | b"PASSWORD")
        || value.starts_with(b"$");
    let kind =
        if holds_sentry(part(authority, host, authority.len())) { Kind::Sentry } else { Kind::UrlPassword };
    let plain = is_placeholder(value)
        || holds(value, b"[redacted:")
        || value.iter().all(|b| *b == b'*' || *b == b'x');
    (named && !hidden && !plain).then_some((from + colon + 1, from + host, kind))
}

fn holds_sentry(host: &[u8]) -> bool {
    holds(host, b"sentry")
}

const PARAMETERS: [&[u8]; 28] = [
    b"token",
    b"key",
    b"sig",
    b"signature",
    b"password",
    b"passwd",
    b"pwd",
    b"secret",
    b"access_token",
    b"id_token",
    b"refresh_token",
    b"auth_token",
    b"api_key",
    b"apikey",
    b"api-key",
    b"client_secret",
    b"private_token",
    b"job_token",
    b"x-amz-signature",
    b"x-amz-security-token",
    b"x-goog-signature",
    b"access_key",
    b"secret_key",
    b"session_token",
    b"csrf_token",
    b"subscription-key",
    b"auth",
    b"code_verifier",
];

/// The value of a secret parameter of a URL; `name` ends before the equals sign at `equals`.
pub(super) fn parameter_value(text: &[u8], name: &[u8], equals: usize) -> Option<(usize, usize, Kind)> {
    if !PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return None;
    }
    let start = equals + 1;
    let end = run(text, start, Set::QUERY, 4096);
    let value = part(text, start, end);
    let mix = Mix::of(value);
    let fits =
        value.len() >= 6 && (mix.mixed() || value.len() >= 16 || (mix.classes() >= 2 && !is_slug(value)));
    let azure = name == b"sig" && (value.contains(&b'%') || value.ends_with(b"="));
    let kind = if azure { Kind::Azure } else { Kind::UrlSecret };
    (fits && !is_number(value) && !is_placeholder(value) && !is_word_value(value))
        .then_some((start, end, kind))
}

/// Whether what stands before a name makes it a parameter of a URL.
pub(super) fn in_query(text: &[u8], name_start: usize) -> bool {
    match before(text, name_start) {
        b'?' | b'&' => true,
        b';' => part(text, name_start.saturating_sub(5), name_start) == b"&amp;",
        _ => part(text, name_start.saturating_sub(6), name_start).eq_ignore_ascii_case(b"\\u0026"),
    }
}

/// Whether a word may start here as the name of a header.
pub(super) fn header_edge(text: &[u8], at: usize) -> bool {
    left_edge(text, at) || matches!(before(text, at), b'-')
}
