//! What looks like a secret and is none: placeholders, templates, references, words.

use super::bytes::{holds, part, varied};

/// Words that mark a placeholder wherever they stand in a value; lower case.
const PLACEHOLDERS: [&[u8]; 16] = [
    b"example",
    b"changeme",
    b"change_me",
    b"change-me",
    b"xxxx",
    b"****",
    b"....",
    b"placeholder",
    b"your_",
    b"your-",
    b"redacted",
    b"{{",
    b"${",
    b"<%",
    b"$(",
    b"dummy",
];

/// Values that say nothing; lower case.
const WORDS: &str = "\
    string boolean number integer object float double bytes optional required undefined unknown hidden \
    masked enabled disabled default secret secrets password passwords passwd passphrase token tokens \
    apikey api_key api-key private public credentials credential bearer basic digest sample nothing \
    missing invalid expired present absent prompt keyring keychain plaintext encrypted deprecated \
    inherit always never public_key private_key access_token refresh_token id_token notset not_set";

/// Whether a value is a placeholder, a template or one byte over and over.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let looked = part(value, 0, 256);
    PLACEHOLDERS.iter().any(|word| holds(looked, word))
        || matches!(value.first(), Some(b'<' | b'{' | b'['))
        || (value.len() >= 6 && !varied(value, 3))
}

/// Whether a value is one of the words that stand for a type, a state or the thing itself.
pub(super) fn is_word_value(value: &[u8]) -> bool {
    let value = value.strip_suffix(b"?").unwrap_or(value);
    WORDS.split_ascii_whitespace().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a value is a number, perhaps with a sign, a fraction, an exponent or a short unit.
pub(super) fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").or_else(|| value.strip_prefix(b"+")).unwrap_or(value);
    let digits = value.iter().take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_')).count();
    let (number, unit) = value.split_at(digits);
    let hex = number == b"0" && unit.first() == Some(&b'x') && unit.iter().skip(1).all(u8::is_ascii_hexdigit);
    // `12ms`, `99%`, `1u32`.
    let suffix =
        matches!(unit, [b'i' | b'u' | b'f', rest @ ..] if rest.len() <= 4 && rest.iter().all(is_suffix));
    let short = unit.len() <= 2 && unit.iter().all(|b| b.is_ascii_alphabetic() || *b == b'%');
    hex || (digits > 0 && (suffix || short))
}

fn is_suffix(byte: &u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b's' | b'i' | b'z' | b'e')
}

/// Whether a value is a path or an address.
pub(super) fn is_path(value: &[u8]) -> bool {
    let starts = [&b"/"[..], b"./", b"../", b"~", b"\\\\", b".\\"].iter().any(|head| value.starts_with(head));
    let drive = matches!(value, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let dot = value.iter().rposition(|b| *b == b'.');
    let suffix = dot.map_or(&[][..], |dot| part(value, dot + 1, value.len()));
    let filed = (1..=6).contains(&suffix.len()) && suffix.iter().all(u8::is_ascii_lowercase);
    starts || drive || holds(value, b"://") || (filed && value.iter().any(|b| matches!(b, b'/' | b'\\'))) || {
        const FILES: [&[u8]; 12] =
            [b"pem", b"key", b"crt", b"txt", b"json", b"yml", b"yaml", b"env", b"rs", b"py", b"js", b"ts"];
        filed && FILES.contains(&suffix)
    }
}

/// Whether a value is a content hash: named as one, or hex of a usual length.
pub(super) fn is_hash(value: &[u8]) -> bool {
    let named = [&b"sha1"[..], b"sha2", b"sha3", b"sha5", b"md5", b"blake"]
        .iter()
        .any(|head| value.starts_with(head));
    named
        || (value.iter().all(u8::is_ascii_hexdigit)
            && matches!(value.len(), 7..=12 | 32 | 40 | 56 | 64 | 96 | 128))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_them_apart() {
        for value in
            ["AKIAIOSFODNN7EXAMPLE", "<password>", "{{ pw }}", "xxxxxxxxxx", "00000000", "ChangeMe1", "${PW}"]
        {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in ["hunter2", "s3cr3t-value", "abc123"] {
            let value = value.as_bytes();
            assert!(!is_placeholder(value) && !is_number(value) && !is_path(value) && !is_hash(value));
        }
        for value in ["123456", "-1.5e", "12ms", "1u32", "9usize", "0xdeadbeef", "99%", "1,234"] {
            assert!(is_number(value.as_bytes()), "{value}");
        }
        for value in ["/etc/x", "C:\\x", "~/.ssh/id", "certs/a.pem", "http://a", "server.key"] {
            assert!(is_path(value.as_bytes()), "{value}");
        }
        assert!(is_hash(b"sha512-abc") && is_hash(&[b'a'; 40]) && !is_hash(b"abc123"));
        assert!(is_word_value(b"String") && is_word_value(b"string?") && !is_word_value(b"hunter"));
    }
}
