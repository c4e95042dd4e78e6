//! A quick estimate of the tokens of a text, to choose between two forms of it.

/// Tokens of `text`, roughly: words by length, numbers by three digits, punctuation by runs.
pub(crate) fn cost(text: &str) -> i64 {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut tokens = 0;
    while let Some(&first) = bytes.get(at) {
        let kind = kind(first);
        let len = bytes.get(at..).unwrap_or(&[]).iter().take_while(|b| self::kind(**b) == kind).count();
        tokens += match kind {
            Kind::Blank => i64::from(len > 1 || first == b'\n'),
            Kind::Letter => 1 + (len as i64 - 1) / 6,
            Kind::Digit => (len as i64 + 2) / 3,
            Kind::Other => 1 + (len as i64 - 1) / 3,
        };
        at += len;
    }
    tokens
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Blank,
    Letter,
    Digit,
    Other,
}

fn kind(byte: u8) -> Kind {
    match byte {
        b' ' | b'\t' | b'\n' => Kind::Blank,
        b'0'..=b'9' => Kind::Digit,
        b if b.is_ascii_alphabetic() => Kind::Letter,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_texts_cost_more() {
        assert_eq!(cost(""), 0);
        assert!(cost("6:5") < cost("src/a.py:6:5"));
        assert!(cost("a b c") < cost("a b c\na b c"));
    }
}
