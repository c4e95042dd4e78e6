//! `.rtk/trust.json`: the hashes a project vouches for.

use omniroute_core::{Doc, Kind, escape};

use super::digest::Digest;
use super::sources::Format;

/// Larger trust files are refused.
pub(crate) const MAX_BYTES: u64 = 64 << 10;

/// What a hash that somebody wrote down says about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claim {
    /// There is none.
    Absent,
    /// It names this hash.
    Names(Digest),
    /// It cannot be used: why.
    Bad(String),
}

/// What the trust file says about the file of one format.
pub(crate) fn claim(bytes: &[u8], format: Format) -> Claim {
    let doc = match Doc::parse_with_limit(bytes.to_vec(), MAX_BYTES as usize) {
        Ok(doc) => doc,
        Err(error) => {
            return Claim::Bad(format!("not JSON, line {} column {}", error.line(), error.column()));
        }
    };
    if doc.kind(doc.root()) != Kind::Object {
        return Claim::Bad("not an object".to_owned());
    }
    let keys: &[&str] = match format {
        Format::Json => &["filtersSha256", "trustedFiltersSha256"],
        Format::Toml => &["filtersTomlSha256"],
    };
    let Some((key, node)) = keys.iter().find_map(|key| Some((*key, doc.get(doc.root(), key)?))) else {
        return Claim::Absent;
    };
    match doc.str(node).and_then(|hex| Digest::parse(&hex)) {
        Some(digest) => Claim::Names(digest),
        None => Claim::Bad(format!("{key} is not 64 hex digits")),
    }
}

/// The trust file with the hash of one format set; everything else is kept. `None` if it cannot be read.
pub(crate) fn with_claim(bytes: Option<&[u8]>, format: Format, digest: &Digest) -> Option<String> {
    let entry = format!("{}: \"{digest}\"", escape(format.trust_key()));
    let Some(bytes) = bytes else { return Some(format!("{{\n  {entry}\n}}\n")) };
    let doc = Doc::parse_with_limit(bytes.to_vec(), MAX_BYTES as usize).ok()?;
    if doc.kind(doc.root()) != Kind::Object {
        return None;
    }
    let mut lines = Vec::new();
    for (key, value) in doc.members(doc.root()) {
        if doc.str(key).as_deref() != Some(format.trust_key()) {
            lines.push(format!("  {}: {}", doc.raw(key), doc.raw(value)));
        }
    }
    lines.push(format!("  {entry}"));
    Some(format!("{{\n{}\n}}\n", lines.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hashes() {
        let digest = Digest::of(b"x");
        let named = |key: &str, hex: &str| format!("{{\"{key}\": \"{hex}\", \"other\": 1}}");
        let upper = digest.to_string().to_uppercase();
        for (text, format, good) in [
            (named("filtersSha256", &digest.to_string()), Format::Json, true),
            (named("trustedFiltersSha256", &upper), Format::Json, true),
            (named("filtersTomlSha256", &upper), Format::Toml, true),
            (named("filtersSha256", &upper), Format::Toml, false),
            (named("filtersTomlSha256", &upper), Format::Json, false),
        ] {
            let expected = if good { Claim::Names(digest) } else { Claim::Absent };
            assert_eq!(claim(text.as_bytes(), format), expected, "{text}");
        }
        for (text, why) in [
            ("{", "not JSON, line 1 column 2"),
            ("[]", "not an object"),
            ("{\"filtersSha256\": 5}", "filtersSha256 is not 64 hex digits"),
            ("{\"filtersSha256\": \"abc\"}", "filtersSha256 is not 64 hex digits"),
        ] {
            assert_eq!(claim(text.as_bytes(), Format::Json), Claim::Bad(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn sets_one_hash_and_keeps_the_rest() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let first = with_claim(None, Format::Json, &a).unwrap();
        let second = with_claim(Some(first.as_bytes()), Format::Toml, &b).unwrap();
        let third = with_claim(Some(second.as_bytes()), Format::Json, &b).unwrap();
        assert_eq!(claim(second.as_bytes(), Format::Json), Claim::Names(a));
        assert_eq!(claim(second.as_bytes(), Format::Toml), Claim::Names(b));
        assert_eq!(claim(third.as_bytes(), Format::Json), Claim::Names(b));
        assert_eq!(with_claim(Some(b"[]"), Format::Json, &a), None);
    }
}
