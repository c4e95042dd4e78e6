//! A name for the beginning of a request, as far as vendors' caches could keep it.

use sha2::{Digest, Sha256};

/// Estimated tokens below which a beginning is not worth a place in a cache.
pub const WORTH: u64 = 1_024;

/// The name of tools and system text together. `tools` is their canonical JSON: keys sorted, no blanks.
///
/// Blocks are written with their length, so that moving text from one to the other gives another name.
pub fn base(tools: &str, system: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    block(&mut hash, b'T', tools.as_bytes());
    block(&mut hash, b'S', system.as_bytes());
    hash.finalize().into()
}

/// The name after one more complete turn.
pub fn extend(before: [u8; 32], turn: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(before);
    block(&mut hash, b'M', turn.as_bytes());
    hash.finalize().into()
}

/// A name as text.
pub fn hex(name: [u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    name.iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

/// What keeps requests with the same beginning together: the session, else the client's own key, else tools and system
/// text if they are long enough.
pub fn key(session: Option<&str>, explicit: Option<&str>, base: Option<([u8; 32], u64)>) -> Option<String> {
    const LONGEST: usize = 4_096;
    if let Some(session) = session {
        return Some(format!("session:{session}"));
    }
    if let Some(explicit) = explicit.filter(|key| !key.is_empty() && key.chars().count() <= LONGEST) {
        return Some(explicit.to_owned());
    }
    base.filter(|(_, tokens)| *tokens >= WORTH).map(|(name, _)| hex(name))
}

fn block(hash: &mut Sha256, tag: u8, bytes: &[u8]) {
    hash.update([tag]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &str = r#"[{"function":{"name":"read","parameters":{"type":"object"}},"type":"function"}]"#;

    #[test]
    fn the_reference_name() {
        let name = base(TOOLS, "You are a coding agent.");
        assert_eq!(hex(name), "3521b22219fcde4a351c2844215dea0ffb4fd2a76c8af4cc72e4950bb2969d72");
        assert_ne!(extend(name, "a"), extend(name, "b"));
        assert_ne!(base("ab", "c"), base("a", "bc"), "lengths are part of it");
    }

    #[test]
    fn sessions_go_before_keys_and_short_beginnings_have_none() {
        let name = base(TOOLS, "x");
        assert_eq!(key(Some("s"), Some("k"), None).as_deref(), Some("session:s"));
        assert_eq!(key(None, Some("k"), Some((name, 9_999))).as_deref(), Some("k"));
        assert_eq!(key(None, None, Some((name, WORTH - 1))), None);
        assert_eq!(key(None, None, Some((name, WORTH))), Some(hex(name)));
        assert_eq!(key(None, Some(&"k".repeat(5_000)), None), None);
    }
}
