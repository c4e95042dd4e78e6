//! SHA-256 of a file's bytes.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// SHA-256 of some bytes; printed as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// Reads exactly 64 hex digits, upper or lower case.
    pub fn parse(hex: &str) -> Option<Self> {
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        let mut bytes = [0u8; 32];
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let digit = |d: &u8| char::from(*d).to_digit(16).map(|d| d as u8);
            *byte = digit(high)? << 4 | digit(low)?;
        }
        Some(Digest(bytes))
    }

    /// The first 12 hex digits: enough to tell files apart in a log.
    pub fn short(&self) -> String {
        self.0.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({}…)", self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints() {
        let digest = Digest::of(b"abc");
        let hex = digest.to_string();
        assert!(hex.starts_with("ba7816bf8f01") && hex.len() == 64);
        assert_eq!(digest.short(), "ba7816bf8f01");
        assert_eq!((Digest::parse(&hex), Digest::parse(&hex.to_uppercase())), (Some(digest), Some(digest)));
        let short = hex.trim_start_matches('b');
        for bad in ["", "abc", short, &format!("{hex}0"), &hex.replace('b', "g"), &format!(" {short}")] {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }
}
