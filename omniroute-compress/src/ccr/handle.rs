//! The line that stands for a text that was left out.

use std::fmt;

use omniroute_core::BlobId;

/// A handle: which text, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Handle {
    /// Its address.
    pub id: BlobId,
    /// Its length in characters.
    pub chars: u64,
}

const START: &str = "CCR retrieve hash=";

impl Handle {
    /// The handle of `text`, which is kept under `id`.
    pub fn new(id: BlobId, text: &str) -> Self {
        Handle { id, chars: text.chars().count() as u64 }
    }

    /// All handles in a text, in order, wherever in a line they stand.
    pub fn all_in(text: &str) -> impl Iterator<Item = Handle> + '_ {
        memchr::memmem::find_iter(text.as_bytes(), START.as_bytes())
            .filter_map(move |at| Handle::after(text.get(at + START.len()..)?))
    }

    /// `<24 hex digits> chars=<n>]`
    fn after(rest: &str) -> Option<Handle> {
        let id = BlobId::parse(rest.get(..24)?)?;
        let rest = rest.get(24..)?.strip_prefix(" chars=")?;
        let digits = rest.bytes().take(20).take_while(u8::is_ascii_digit).count();
        let chars = rest.get(..digits)?.parse().ok()?;
        rest.get(digits..)?.starts_with(']').then_some(Handle { id, chars })
    }

    /// What stands between the brackets.
    pub(crate) fn inner(&self) -> String {
        format!("{START}{} chars={}", self.id, self.chars)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_found_and_forged_ones_are_no_handles() {
        let handle = Handle::new(BlobId::of(b"\xc3\xa9x"), "\u{e9}x");
        assert_eq!(handle.chars, 2);
        let text = format!("a {handle}\n[ionizer: kept 1/2 rows; full -> {}]", handle.inner());
        assert_eq!(Handle::all_in(&text).collect::<Vec<_>>(), [handle, handle]);
        for wrong in [
            "[CCR retrieve hash=12 chars=3]",
            "[CCR retrieve hash=0123456789abcdef01234567 chars=]",
            "[CCR retrieve hash=0123456789abcdef01234567 chars=99999999999999999999999]",
            "[CCR retrieve hash=0123456789abcdef0123456\u{e9} chars=1]",
            "[CCR retrieve hash=",
        ] {
            assert_eq!(Handle::all_in(wrong).count(), 0, "{wrong}");
        }
    }
}
