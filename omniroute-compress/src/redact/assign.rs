//! `NAME=VALUE`, `name: value`, `"name": "value"`, `--name value`: where the name says that the value is secret.

use super::allow::{is_hash, is_number, is_path, is_placeholder, is_word_value};
use super::bytes::{
    Mix, Set, after_marker, before, byte, holds, is_slug, is_uuid, part, run, run_back, skip_blanks, varied,
};
use super::kind::Kind;
use super::names::{Strength, judge};
use super::web::{in_query, parameter_value};

/// Names longer than this to either side of the anchor are none.
const NAME_REACH: usize = 64;
/// Values longer than this are left to the rules that know their shape.
const MAX_VALUE: usize = 4096;

/// A value longer than this has no equals sign among as many first bytes.
const LONG: usize = 96;

/// How a value is tied to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// `NAME=value`, nothing between.
    Equals,
    /// ` = `, `:=`, `=>`.
    Spaced,
    /// `: `
    Colon,
    /// `--name value`
    Flag,
    /// `<name>value</name>`
    Tag,
    /// `password value` in `.netrc`.
    Netrc,
}

/// Where the name around an anchor ends, so that its other anchors can be passed over.
pub(super) fn name_end(text: &[u8], anchor: usize) -> usize {
    run(text, anchor, Set::NAME, NAME_REACH)
}

/// The secret value of the name around the anchor at `anchor`.
pub(super) fn assignment(text: &[u8], anchor: usize, name_end: usize) -> Option<(usize, usize, Kind)> {
    let mut start = run_back(text, anchor, Set::NAME, NAME_REACH);
    if name_end - anchor >= NAME_REACH || anchor - start >= NAME_REACH || after_marker(text, start) {
        return None;
    }
    if part(text, start.saturating_sub(10), start) == b"[REDACTED:" {
        return None;
    }
    let dashes = part(text, start, name_end).iter().take_while(|b| **b == b'-').count();
    start += dashes;
    if before(text, start) == b'\\' && matches!(byte(text, start), b'n' | b't' | b'r') {
        start += 1; // an escaped line end
    }
    if before(text, start) == b'%' && start + 2 < anchor {
        start += 2;
    }
    if byte(text, name_end) == b'=' && in_query(text, start) {
        return parameter_value(text, part(text, start, name_end), name_end);
    }
    let name = part(text, start, name_end);
    let (kind, strength) = judge(name)?;
    let (tie, value_at) = tie(text, start, name_end, dashes)?;
    let value = Value::read(text, value_at, tie)?;
    let context = Context { text, start, name, strength, tie };
    let kind = match tie {
        Tie::Flag => Kind::CliPassword,
        Tie::Netrc => Kind::Netrc,
        _ => kind,
    };
    context.convinces(&value).then_some((value.start, value.end, kind))
}

/// What ties a value to the name, and where it starts.
fn tie(text: &[u8], start: usize, end: usize, dashes: usize) -> Option<(Tie, usize)> {
    let slashes = part(text, end, end + 3).iter().take_while(|b| **b == b'\\').count();
    let quoted = matches!(byte(text, end + slashes), b'"' | b'\'' | b'`');
    let after = if quoted { end + slashes + 1 } else { end };
    let closed = if byte(text, after) == b']' { after + 1 } else { after };
    let at = skip_blanks(text, closed);
    let tight = at == end;
    match (byte(text, at), byte(text, at + 1)) {
        (b'=', b'=' | b'~') | (b':', b':') => None,
        (b'=', b'>') => Some((Tie::Spaced, skip_blanks(text, at + 2))),
        (b':', b'=') => Some((Tie::Spaced, skip_blanks(text, at + 2))),
        (b'=', b' ' | b'\t') => Some((Tie::Spaced, skip_blanks(text, at + 1))),
        (b'=', _) if tight => Some((Tie::Equals, at + 1)),
        (b'=', _) => Some((Tie::Spaced, at + 1)),
        (b':', b' ' | b'\t' | b'"' | b'\'' | b'\\') => Some((Tie::Colon, skip_blanks(text, at + 1))),
        (b'>', _) if tight && before(text, start) == b'<' => Some((Tie::Tag, at + 1)),
        _ if quoted || at == end || !tight && byte(text, end) == b'\t' => None,
        _ if dashes >= 2 => Some((Tie::Flag, at)),
        _ if dashes == 0 && is_netrc(text, start, part(text, start, end)) => Some((Tie::Netrc, at)),
        _ => None,
    }
}

/// Whether a `password` with a blank behind it belongs to a `.netrc` entry.
fn is_netrc(text: &[u8], start: usize, name: &[u8]) -> bool {
    if name != b"password" {
        return false;
    }
    let word = |end: usize| {
        let head = part(text, 0, end).trim_ascii_end();
        head.len() - head.iter().rev().position(u8::is_ascii_whitespace).unwrap_or(head.len())..head.len()
    };
    let user = word(start);
    let before = word(user.start);
    let key = part(text, before.start, before.end);
    !user.is_empty() && before.end < user.start && matches!(key, b"login" | b"machine" | b"account")
}

/// A value as it stands in the text.
struct Value<'t> {
    start: usize,
    end: usize,
    bytes: &'t [u8],
    quoted: bool,
    /// What stands behind it, closing quotation mark left out.
    next: u8,
}

impl<'t> Value<'t> {
    fn read(text: &'t [u8], at: usize, tie: Tie) -> Option<Value<'t>> {
        let prefix =
            matches!(byte(text, at), b'b' | b'r' | b'f' | b'u') && matches!(byte(text, at + 1), b'"' | b'\'');
        let at = at + usize::from(prefix);
        let slashes = part(text, at, at + 3).iter().take_while(|b| **b == b'\\').count();
        let open = byte(text, at + slashes);
        let quoted = matches!(open, b'"' | b'\'' | b'`') && tie != Tie::Tag;
        let start = if quoted { at + slashes + 1 } else { at };
        let long = !quoted && part(text, start, start + LONG).contains(&b'=');
        let limit = part(text, start, start + if long { 2 * LONG } else { MAX_VALUE });
        let stop = |b: u8| match (quoted, tie) {
            (true, _) => b == open || b == b'\n' || (b == b'\\' && slashes > 0),
            (_, Tie::Tag) => matches!(b, b'<' | b'>' | b'"' | b'\n'),
            (_, Tie::Equals) => {
                b <= b' '
                    || matches!(b, b'"' | b'\'' | b'`' | b'\\' | b';' | b',' | b'&' | b'|' | b'<' | b'>')
            }
            _ => b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b'\\' | b';' | b',' | b'|' | b'<' | b'>'),
        };
        let length = match limit.iter().position(|b| stop(*b)) {
            Some(length) => length,
            None if start + limit.len() == text.len() => limit.len(),
            None => return None,
        };
        let closed = part(text, start + length, start + length + 2);
        if (quoted && byte(text, start + length) == b'\n') || (tie == Tie::Tag && closed != b"</") {
            return None;
        }
        let mut bytes = part(text, start, start + length);
        if !quoted {
            let tail =
                bytes.iter().rev().take_while(|b| matches!(b, b')' | b']' | b'}' | b'.' | b':')).count();
            // Dots at the end say that something was left out.
            let dots = bytes.iter().rev().take_while(|b| **b == b'.').count();
            // Another assignment in what would be one long value: then it is none.
            let nested = bytes.len() > LONG && part(bytes, 0, LONG).contains(&b'=');
            bytes = if dots >= 2 || nested { &[] } else { part(bytes, 0, bytes.len() - tail) };
        }
        let end = start + bytes.len();
        let after = if quoted { end + slashes + 1 } else { end };
        let clean = !bytes.is_empty() && !holds(part(bytes, 0, 512), b"[redacted:") && !bytes.contains(&0);
        clean.then(|| Value { start, end, bytes, quoted, next: byte(text, skip_blanks(text, after)) })
    }
}

struct Context<'t> {
    text: &'t [u8],
    start: usize,
    name: &'t [u8],
    strength: Strength,
    tie: Tie,
}

impl Context<'_> {
    fn convinces(&self, value: &Value<'_>) -> bool {
        let bytes = value.bytes;
        if bytes.len() < 6
            || is_number(bytes)
            || is_placeholder(bytes)
            || is_word_value(bytes)
            || is_path(bytes)
        {
            return false;
        }
        if self.refers(value) || bytes.contains(&b' ') || bytes.contains(&b'\t') {
            return false;
        }
        let mix = Mix::of(bytes);
        let short = self.upper_name() && self.tie == Tie::Equals;
        let enough = match self.strength {
            Strength::Strong => self.strong(value, mix, short),
            Strength::Medium if short => mix.mixed(),
            Strength::Medium if self.tie == Tie::Spaced && !value.quoted => {
                mix.mixed() && bytes.iter().all(|b| Set::BEARER.has(*b)) && !is_uuid(bytes) && !is_hash(bytes)
            }
            Strength::Medium => mix.mixed() && !is_uuid(bytes) && !is_slug(bytes) && !is_hash(bytes),
            Strength::Weak => weak(bytes, mix, short),
        };
        enough && !is_placeholder(bytes) && (self.tie != Tie::Colon || value.quoted || self.own_line(value))
    }

    fn strong(&self, value: &Value<'_>, mix: Mix, short: bool) -> bool {
        let bytes = value.bytes;
        let plain = mix.digit == 0 && mix.other == 0;
        if self.tie == Tie::Flag && (bytes.starts_with(b"-") || is_slug(bytes) && mix.digit == 0) {
            return false;
        }
        // Letters only: in an environment or quoted it may be a bad password, but not `Password` or `passwordField`.
        let capitalised = mix.upper == 1 && bytes.first().is_some_and(u8::is_ascii_uppercase);
        let worded = is_slug(bytes) && (mix.digit == 0 || bytes.len() > 24);
        match self.tie {
            Tie::Netrc | Tie::Tag => !is_hash(bytes) || mix.mixed(),
            _ if short => true,
            _ if value.quoted && plain => !capitalised && mix.upper < mix.lower.max(1) && self.pass_name(),
            _ if plain => mix.classes() >= 2 && !worded && bytes.len() >= 12,
            _ => !worded && bytes.is_ascii(),
        }
    }

    fn pass_name(&self) -> bool {
        holds(self.name, b"passw") || holds(self.name, b"pwd") || holds(self.name, b"passphrase")
    }

    /// Whether the value is code, a variable or a name, not a literal.
    fn refers(&self, value: &Value<'_>) -> bool {
        let bytes = value.bytes;
        let first = byte(bytes, 0);
        if matches!(first, b'$' | b'%' | b'&' | b'*' | b'(' | b'\\' | b'#') && self.tie != Tie::Netrc {
            // A colour or a directive behind `#` is no secret, quoted or not.
            let plain = first == b'#' && bytes.iter().skip(1).all(u8::is_ascii_alphanumeric);
            return plain || !(value.quoted && matches!(first, b'#' | b'%' | b'&' | b'*'));
        }
        // A sensitive word in the value: `password=user_password`, `"type": "access_token"`.
        let named = [
            &b"password"[..],
            b"passwd",
            b"token",
            b"secret",
            b"apikey",
            b"api_key",
            b"_key",
            b"credential",
            b"privatekey",
        ]
        .iter()
        .any(|word| holds(part(bytes, 0, 256), word));
        if value.quoted {
            let identifier = bytes.iter().all(|b| Set::NAME.has(*b) || matches!(b, b':' | b'/'));
            return named && identifier && (is_slug(bytes) || !bytes.iter().any(u8::is_ascii_digit));
        }
        let call = bytes.iter().any(|b| matches!(b, b'(' | b'[' | b'{')) || matches!(value.next, b'(' | b'[');
        let identifier = bytes.iter().all(|b| Set::WORD.has(*b) || matches!(b, b'.' | b'?' | b'!' | b'-'));
        let dotted = identifier && bytes.contains(&b'.') && is_slug(bytes);
        let constant =
            self.tie != Tie::Equals && bytes.contains(&b'_') && !bytes.iter().any(u8::is_ascii_lowercase);
        let scoped = bytes.windows(2).any(|w| w == b"::") || (identifier && constant);
        call || scoped
            || dotted
            || (named && identifier)
            || (self.tie == Tie::Spaced && identifier && is_slug(bytes))
    }

    /// Whether nothing else follows an unquoted value in its line, as it would in prose.
    fn own_line(&self, value: &Value<'_>) -> bool {
        let ends = matches!(
            value.next,
            b'\n' | b'\r' | b',' | b'}' | b']' | b')' | b'"' | b'\'' | b'\\' | b'#' | b';' | b'|'
        );
        let line = run_back(self.text, self.start, Set::INDENT, NAME_REACH);
        let first = matches!(before(self.text, line), b'\n' | b'"' | b'\'' | b'{' | b',' | b'`');
        let mix = Mix::of(value.bytes);
        let telling = mix.digit > 0 && mix.letters() > 0;
        match self.strength {
            Strength::Strong => ends && (first || telling),
            Strength::Medium => ends && (first || (telling && value.bytes.len() >= 16)),
            Strength::Weak => ends && first,
        }
    }

    /// A name as environment variables have them.
    fn upper_name(&self) -> bool {
        self.name.iter().all(|b| !b.is_ascii_lowercase()) && self.name.len() >= 3
    }
}

/// For names that say little: one word, all three classes, not a hash.
fn weak(bytes: &[u8], mix: Mix, short: bool) -> bool {
    let least = if short { 12 } else { 20 };
    let whole = bytes.iter().all(|b| Set::ALNUM.has(*b) || matches!(b, b'+' | b'='));
    let classes = if short { 2 } else { 3 };
    bytes.len() >= least
        && whole
        && mix.classes() >= classes
        && mix.digit >= 2
        && varied(bytes, 8)
        && !is_hash(bytes)
}
