//! Takes keys and tokens out of texts that others wrote.

use std::fmt;

use crate::prepare::Secret;

/// What stands where a secret stood.
const STARS: &str = "****";

/// Shortest secret that is searched for, in bytes: a shorter one would be found in ordinary words.
const SHORTEST: usize = 8;

/// Beginnings of keys of known vendors, with the least length of the whole.
const SHAPES: [(&str, usize); 14] = [
    ("sk-", 16),
    ("sk_", 16),
    ("gsk_", 16),
    ("xai-", 16),
    ("AIza", 20),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ya29.", 16),
    ("eyJ", 24),
    ("hf_", 16),
    ("nvapi-", 16),
    ("pplx-", 16),
    ("r8_", 16),
    ("ghp_", 16),
];

/// Knows the secrets of a call and removes them from any text.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.known.len())
    }
}

impl Redactor {
    /// Learns a secret, as it is and as it looks in an address and in JSON.
    pub fn learn(&mut self, secret: &Secret) {
        let text = secret.expose();
        if text.len() < SHORTEST {
            return;
        }
        let quoted = omniroute_core::escape(text);
        let json = quoted.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(&quoted).to_owned();
        let slashes = json.replace('/', "\\/");
        for form in [text.to_owned(), percent(text), json, slashes] {
            if !self.known.contains(&form) {
                self.known.push(form);
            }
        }
        // The longest first: a secret may be part of another.
        self.known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    }

    /// The text without known secrets, without words that look like keys, and without mail addresses.
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for known in &self.known {
            if text.contains(known.as_str()) {
                text = text.replace(known.as_str(), STARS);
            }
        }
        shapes(&text)
    }

    /// Whether a text holds a secret that this redactor knows.
    pub fn finds(&self, text: &str) -> bool {
        self.known.iter().any(|known| text.contains(known.as_str()))
    }
}

/// Replaces words that look like keys.
fn shapes(text: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=*@%".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_bearer = false;
    while !rest.is_empty() {
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let Some((word, tail)) = rest.split_at_checked(end) else { break };
        if !word.is_empty() {
            let bare = word.trim_end_matches('.');
            out.push_str(if is_key(bare) || (after_bearer && is_token(bare)) || is_mail(bare) {
                STARS
            } else {
                word
            });
            after_bearer = word.eq_ignore_ascii_case("bearer");
        }
        let gap = tail.find(part).unwrap_or(tail.len());
        let Some((between, next)) = tail.split_at_checked(gap) else { break };
        after_bearer &= between.trim().is_empty() || between.trim() == ":";
        out.push_str(between);
        rest = next;
    }
    out
}

fn is_key(word: &str) -> bool {
    let word = word.rsplit('=').find(|part| !part.is_empty()).unwrap_or(word);
    SHAPES.iter().any(|(start, least)| word.starts_with(start) && word.len() >= *least)
}

/// A word after "bearer" that is no ordinary word.
fn is_token(word: &str) -> bool {
    word.len() >= 24 || (word.len() >= SHORTEST && word.bytes().any(|b| b.is_ascii_digit()))
}

fn is_mail(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('@'))
}

/// A text as a value of a form or of a query.
pub(crate) fn percent(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_leave_in_every_form() {
        let mut redactor = Redactor::default();
        redactor.learn(&Secret::new("pa/ss+word\"9"));
        for text in [
            "key pa/ss+word\"9 bad",
            "?key=pa%2Fss%2Bword%229",
            r#"{"k":"pa/ss+word\"9"}"#,
            r#"{"k":"pa\/ss+word\"9"}"#,
        ] {
            let clean = redactor.clean(text);
            assert!(!clean.contains("word") && clean.contains(STARS), "{clean}");
        }
        assert_eq!(format!("{redactor:?}"), "Redactor(4 secrets)");
    }

    #[test]
    fn words_that_look_like_keys_leave() {
        let rows = [
            ("Incorrect API key provided: sk-abcdefghijklmnop.", "Incorrect API key provided: ****"),
            ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer ****"),
            ("?key=AIzaSyA0123456789abcdef", "?****"),
            ("user ann@example.com is blocked", "user **** is blocked"),
            ("the task-based limit of sk-1 is 5", "the task-based limit of sk-1 is 5"),
            ("bearer tokens are fine", "bearer tokens are fine"),
        ];
        for (text, clean) in rows {
            assert_eq!(Redactor::default().clean(text), clean);
        }
    }
}
