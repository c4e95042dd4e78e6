//! The numbers in a message about size: what was asked, and what would have been allowed.

use omniroute_core::Exceeded;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Asked,
    Max,
}

/// What stands before a number. The first row that is found decides a role.
const BEFORE: &[(&str, Role)] = &[
    ("maximum context length is", Role::Max),
    ("maximum prompt length is", Role::Max),
    ("maximum number of tokens allowed", Role::Max),
    ("available context size", Role::Max),
    ("context window of", Role::Max),
    ("context window limit", Role::Max),
    ("too large for model with", Role::Max),
    ("exceeds the limit of", Role::Max),
    ("must be <=", Role::Max),
    ("maximum allowed", Role::Max),
    ("maximum of", Role::Max),
    ("maximum length", Role::Max),
    ("limit is", Role::Max),
    ("limit of", Role::Max),
    ("limit ", Role::Max),
    ("> ", Role::Max),
    ("resulted in", Role::Asked),
    ("you requested about", Role::Asked),
    ("you requested", Role::Asked),
    ("request contains", Role::Asked),
    ("prompt contains", Role::Asked),
    ("input token count", Role::Asked),
    ("exceed context limit:", Role::Asked),
    ("prompt is too long:", Role::Asked),
    ("requested", Role::Asked),
    ("request (", Role::Asked),
    ("given:", Role::Asked),
    ("got a string with length", Role::Asked),
    ("your input has", Role::Asked),
];

/// Furthest a number may stand behind its words, in bytes.
const NEAR: usize = 28;

/// Reads both numbers out of a message in lower case.
pub(crate) fn sizes(message: &str) -> Exceeded {
    let find = |role: Role| {
        let rows = BEFORE.iter().filter(|(_, r)| *r == role);
        rows.filter_map(|(words, _)| message.split_once(words)).find_map(|(_, after)| near(after))
    };
    Exceeded { asked: find(Role::Asked), max: find(Role::Max) }
}

/// The first number near the start of a text; a sum is added up.
fn near(text: &str) -> Option<u64> {
    let at = text.bytes().take(NEAR).position(|b| b.is_ascii_digit())?;
    let (_, mut rest) = text.split_at_checked(at)?;
    let mut total: u64 = 0;
    loop {
        let (value, after) = digits(rest)?;
        total = total.checked_add(value)?;
        match after.strip_prefix(" + ") {
            Some(next) if next.starts_with(|c: char| c.is_ascii_digit()) => rest = next,
            _ => return Some(total),
        }
    }
}

/// Digits, perhaps in groups of thousands.
fn digits(text: &str) -> Option<(u64, &str)> {
    let mut value: u64 = 0;
    let mut bytes = text.bytes().enumerate().peekable();
    let mut end = 0;
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                end = at + 1;
            }
            b',' | b'_' if bytes.peek().is_some_and(|(_, next)| next.is_ascii_digit()) => {}
            _ => break,
        }
    }
    (end > 0).then(|| text.split_at_checked(end)).flatten().map(|(_, rest)| (value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found() {
        let rows = [
            (
                "this model's maximum context length is 8192 tokens. however, your messages resulted in 9001 tokens.",
                9001,
                8192,
            ),
            (
                "this model's maximum context length is 4096 tokens. however, you requested 5000 tokens (4488 in the messages, 512 in the completion)",
                5000,
                4096,
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
                210_000,
                200_000,
            ),
            (
                "the input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
                1_200_000,
                1_048_575,
            ),
            (
                "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it",
                2009,
                512,
            ),
            (
                "prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                40_000,
                32_768,
            ),
            (
                "this model's maximum prompt length is 131072 but the request contains 200000 tokens.",
                200_000,
                131_072,
            ),
            ("inputs tokens + max_new_tokens must be <= 4097. given: 5000 inputs tokens", 5000, 4097),
            ("your input has 1,200,300 tokens, the limit is 1_000_000", 1_200_300, 1_000_000),
        ];
        for (message, asked, max) in rows {
            assert_eq!(sizes(message), Exceeded { asked: Some(asked), max: Some(max) }, "{message}");
        }
        assert_eq!(sizes("input is too long for requested model."), Exceeded::default());
        assert_eq!(sizes("limit 99999999999999999999999"), Exceeded::default(), "no number of ours");
    }
}
