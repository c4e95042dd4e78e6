//! Signed feeds for tests. The seeds of the keys are no secrets.

use ed25519_dalek::{Signer, SigningKey};

use super::key::{FeedKey, TAG, hex};

fn signer() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// The key that [`seal`] signs with.
pub(crate) fn signer_key() -> FeedKey {
    FeedKey::from_bytes(signer().verifying_key().as_bytes()).unwrap()
}

/// Another key.
pub(crate) fn other_key() -> FeedKey {
    FeedKey::from_bytes(SigningKey::from_bytes(&[8; 32]).verifying_key().as_bytes()).unwrap()
}

/// A payload with a signature over exactly these bytes.
pub(crate) fn seal(payload: &[u8]) -> Vec<u8> {
    let signature = signer().sign(&[TAG, payload].concat());
    let head = format!("omniroute-radar 1 ed25519:{} {}\n", signer_key().id(), hex(&signature.to_bytes()));
    [head.as_bytes(), payload].concat()
}

/// A payload of a version, created on its day, for thirty days.
pub(crate) fn payload(version: &str, entries: &str) -> String {
    let created = version.split('.').take(3).collect::<Vec<_>>().join("-");
    let expires = created.parse::<crate::free_tiers::Day>().unwrap().plus(30);
    format!(
        "{{\"schema\":1,\"feed\":\"free\",\"version\":\"{version}\",\"created\":\"{created}\",\"expires\":\"{expires}\",\"entries\":[{entries}]}}"
    )
}
