//! The secret that proves ownership of a lease. Only its hash is ever kept.

use std::fmt;

use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const PREFIX: &str = "vlo_";

/// `vlo_` and 43 characters of base64url: 256 bits that only the owner knows. Shows nothing, wipes itself.
pub struct OwnerToken([u8; 32]);

/// What is kept of a token: its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerHash(pub(crate) [u8; 32]);

/// A text that is not a token. Says nothing about the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lease owner must be vlo_ and 43 characters of base64url")]
pub struct LeaseContextInvalid;

impl OwnerToken {
    /// A token from 32 bytes of the host's best randomness.
    pub fn from_entropy(bytes: [u8; 32]) -> Self {
        OwnerToken(bytes)
    }

    /// Reads a token.
    ///
    /// # Errors
    /// [`LeaseContextInvalid`] for anything that [`OwnerToken::reveal`] could not have written.
    pub fn parse(text: &str) -> Result<Self, LeaseContextInvalid> {
        let body = text.strip_prefix(PREFIX).ok_or(LeaseContextInvalid)?;
        if body.len() != 43 {
            return Err(LeaseContextInvalid);
        }
        let mut token = OwnerToken([0; 32]);
        let (mut bits, mut count, mut at) = (0_u32, 0_u32, 0_usize);
        for byte in body.bytes() {
            let value = ALPHABET.iter().position(|c| *c == byte).ok_or(LeaseContextInvalid)?;
            bits = (bits << 6) | u32::try_from(value).unwrap_or(0);
            count += 6;
            if count >= 8 {
                count -= 8;
                if let Some(slot) = token.0.get_mut(at) {
                    *slot = u8::try_from((bits >> count) & 0xff).unwrap_or(0);
                }
                at += 1;
            }
            bits &= (1 << count) - 1;
        }
        if bits != 0 { Err(LeaseContextInvalid) } else { Ok(token) }
    }

    /// The token as text, for its owner and nobody else.
    pub fn reveal(&self) -> String {
        let mut out = String::with_capacity(47);
        out.push_str(PREFIX);
        let (mut bits, mut count) = (0_u32, 0_u32);
        let mut push = |bits: u32| out.push(char::from(ALPHABET[(bits & 63) as usize]));
        for byte in self.0 {
            bits = (bits << 8) | u32::from(byte);
            count += 8;
            while count >= 6 {
                count -= 6;
                push(bits >> count);
            }
            bits &= (1 << count) - 1;
        }
        push(bits << (6 - count));
        out
    }

    /// What is kept of it.
    pub fn hash(&self) -> OwnerHash {
        OwnerHash(Sha256::digest(self.reveal().as_bytes()).into())
    }
}

impl Drop for OwnerToken {
    fn drop(&mut self) {
        self.0.fill(0);
        std::hint::black_box(&self.0);
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vlo_\u{2026}")
    }
}

impl OwnerHash {
    /// As 64 hex digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for OwnerHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerHash(\u{2026})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_and_show_nothing() {
        let token = OwnerToken::from_entropy(std::array::from_fn(|n| u8::try_from(n * 7 % 256).unwrap()));
        let text = token.reveal();
        assert_eq!((text.len(), text.starts_with("vlo_")), (47, true));
        let again = OwnerToken::parse(&text).unwrap();
        assert_eq!(again.hash(), token.hash());
        assert_eq!(token.hash().hex().len(), 64);
        assert_eq!(format!("{token:?} {:?}", token.hash()), "vlo_… OwnerHash(…)");
        let last = text.chars().last().unwrap();
        let body: String = text.chars().take(46).collect();
        for bad in
            ["", "vlo_", "vlo_abc", &text.replace("vlo_", "vlx_"), &format!("{body}!"), &format!("{text}A")]
        {
            assert!(OwnerToken::parse(bad).is_err(), "{bad}");
        }
        let twisted = if last == 'B' { 'C' } else { 'B' };
        assert!(OwnerToken::parse(&format!("{body}{twisted}")).is_err(), "unused bits must be zero");
    }
}
