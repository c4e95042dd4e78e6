//! Pinned keys and the signed envelope.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

/// What precedes the payload under the signature, so that no signature made for another purpose fits.
pub const TAG: &[u8] = b"omniroute-radar 1\n";

/// A public key that a feed must be signed with, written `ed25519:` and 64 hex digits.
#[derive(Clone, PartialEq, Eq)]
pub struct FeedKey {
    key: VerifyingKey,
    id: String,
}

impl FeedKey {
    /// The id that a feed names: 16 hex digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key of 32 bytes.
    ///
    /// # Errors
    /// [`KeyError::Point`] if the bytes are no point of the curve, or one of the few that sign anything.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<FeedKey, KeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::Point)?;
        if key.is_weak() {
            return Err(KeyError::Point);
        }
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        Ok(FeedKey { key, id: hex(&hash[..8]) })
    }
}

impl FromStr for FeedKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<FeedKey, KeyError> {
        let digits = text.strip_prefix("ed25519:").ok_or(KeyError::Form)?;
        FeedKey::from_bytes(&unhex(digits.as_bytes()).ok_or(KeyError::Form)?)
    }
}

impl fmt::Debug for FeedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FeedKey({})", self.id)
    }
}

/// A text that is no key of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// Not `ed25519:` and 64 lower-case hex digits.
    Form,
    /// No usable public key.
    Point,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::Form => "a feed key is ed25519: and 64 lower-case hex digits",
            KeyError::Point => "the feed key is no usable ed25519 public key",
        })
    }
}

impl std::error::Error for KeyError {}

/// The payload of a feed whose signature fits one of the keys, or why it does not.
pub(crate) fn open<'a>(bytes: &'a [u8], pins: &[FeedKey]) -> Result<&'a [u8], String> {
    let (head, payload) = envelope(bytes).ok_or("the first line is not that of a signed feed")?;
    let key = pins.iter().find(|pin| pin.id.as_bytes() == head.key);
    let key = key.ok_or("it is signed with a key that is not pinned")?;
    let mut message = Vec::with_capacity(TAG.len() + payload.len());
    message.extend_from_slice(TAG);
    message.extend_from_slice(payload);
    let signature = Signature::from_bytes(&head.signature);
    key.key.verify_strict(&message, &signature).map_err(|_| "the signature does not fit")?;
    Ok(payload)
}

struct Head<'a> {
    key: &'a [u8],
    signature: [u8; 64],
}

/// Splits after the first line. The line has one form: fixed lengths, lower case, no blanks but three.
fn envelope(bytes: &[u8]) -> Option<(Head<'_>, &[u8])> {
    let rest = bytes.strip_prefix(b"omniroute-radar 1 ed25519:")?;
    let (key, rest) = rest.split_at_checked(16)?;
    let rest = rest.strip_prefix(b" ")?;
    let (signature, rest) = rest.split_at_checked(128)?;
    let payload = rest.strip_prefix(b"\n")?;
    Some((Head { key, signature: unhex(signature)? }, payload))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        write!(out, "{byte:02x}").expect("a string takes everything");
        out
    })
}

/// Exactly `N` bytes of lower-case hex digits.
pub(crate) fn unhex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    if digits.len() != N * 2 {
        return None;
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{other_key, seal, signer_key};
    use super::*;

    /// The first test vector of RFC 8032, 7.1: an empty message.
    #[test]
    fn verifies_the_published_vector() {
        let key: FeedKey =
            "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a".parse().unwrap();
        let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        let mut signature: [u8; 64] = unhex(signature.as_bytes()).unwrap();
        assert!(key.key.verify_strict(b"", &Signature::from_bytes(&signature)).is_ok());
        signature[63] ^= 1;
        assert!(key.key.verify_strict(b"", &Signature::from_bytes(&signature)).is_err());
        // The first 8 bytes of the SHA-256 of the key.
        assert_eq!(key.id(), "21fe31dfa154a261");
    }

    #[test]
    fn keys_have_one_spelling() {
        let good = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        for (text, error) in [
            (good.to_uppercase(), KeyError::Form),
            (good.replace("ed25519:", ""), KeyError::Form),
            (good.replace("1a", "1A"), KeyError::Form),
            (format!("{good}0"), KeyError::Form),
            (format!(" {good}"), KeyError::Form),
            (good.replace('d', "g"), KeyError::Form),
            // The neutral element: every message is signed by it.
            (format!("ed25519:01{}", "00".repeat(31)), KeyError::Point),
            (format!("ed25519:{}", "00".repeat(32)), KeyError::Point),
        ] {
            assert_eq!(text.parse::<FeedKey>(), Err(error), "{text}");
        }
        assert_eq!(format!("{:?}", good.parse::<FeedKey>().unwrap()), "FeedKey(21fe31dfa154a261)");
    }

    /// Changing any byte of a signed feed closes it. `open` is the function under test.
    fn every_byte_counts(open: impl Fn(&[u8], &[FeedKey]) -> bool) -> Result<(), String> {
        let sealed = seal(b"{\"schema\":1}");
        let pins = [other_key(), signer_key()];
        if !open(&sealed, &pins) {
            return Err("a good feed stays closed".into());
        }
        for at in 0..sealed.len() {
            for flip in [1, 0x20, 0x80] {
                let mut changed = sealed.clone();
                changed[at] ^= flip;
                if open(&changed, &pins) {
                    return Err(format!("opens with byte {at} changed by {flip:#x}"));
                }
            }
        }
        for at in 0..sealed.len() {
            if open(&sealed[..at], &pins) {
                return Err(format!("opens when cut at {at}"));
            }
        }
        if open(&[&sealed[..], b"\n"].concat(), &pins) {
            return Err("opens with a byte more".into());
        }
        if open(&sealed, &[other_key()]) || open(&sealed, &[]) {
            return Err("opens for a key that is not pinned".into());
        }
        Ok(())
    }

    #[test]
    fn opens_what_was_signed_and_nothing_else() {
        every_byte_counts(|bytes, pins| open(bytes, pins).is_ok()).unwrap();

        // Reads the payload and believes it.
        let trusting = |bytes: &[u8], _: &[FeedKey]| envelope(bytes).is_some();
        assert!(every_byte_counts(trusting).unwrap_err().contains("opens with byte"));
        // Signs the parsed value, not the bytes.
        let by_value = |bytes: &[u8], pins: &[FeedKey]| {
            let Some((_, payload)) = envelope(bytes) else { return false };
            let Ok(value) = serde_json::from_slice::<serde_json::Value>(payload) else { return false };
            let again = value.to_string().into_bytes();
            open(&[&bytes[..bytes.len() - payload.len()], &again].concat(), pins).is_ok()
        };
        assert!(every_byte_counts(by_value).unwrap_err().contains("opens with a byte more"));
        // Takes hex digits in both cases: two spellings of one feed.
        let lenient = |bytes: &[u8], pins: &[FeedKey]| {
            let line = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
            let (head, payload) = bytes.split_at(line);
            open(&[&head.to_ascii_lowercase(), payload].concat(), pins).is_ok()
        };
        assert!(every_byte_counts(lenient).unwrap_err().contains("by 0x20"));
    }
}
