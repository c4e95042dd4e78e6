//! Keys and tokens that never show.

use std::fmt;

use crate::data::ProviderRow;

/// A key or token. It has no `Display`, and `Debug` hides it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text`, without white space around it.
    pub fn new(text: impl AsRef<str>) -> Self {
        Secret(text.as_ref().trim().to_owned())
    }

    /// Whether there is nothing in it; such a secret counts as absent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// First three and last four characters of a long ASCII secret, else stars; to tell keys apart in a list.
    pub fn masked(&self) -> String {
        let ends = (self.0.is_ascii() && self.0.len() >= 16).then(|| {
            let (first, rest) = self.0.split_at_checked(3)?;
            Some((first, rest.split_at_checked(rest.len() - 4)?.1))
        });
        ends.flatten().map_or_else(|| "****".to_owned(), |(first, last)| format!("{first}****{last}"))
    }

    /// The secret itself, for a header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

/// The key of a provider from variables that usually hold it; white space is no key.
///
/// `variable` looks one up by name: the environment, a file of secrets, a test. The key is of
/// [`KeyOrigin::RowVariable`].
///
/// ```
/// use omniroute_providers::{Catalog, key_from};
///
/// let catalog = Catalog::embedded();
/// let row = catalog.provider("groq").ok_or("no row")?;
/// assert!(key_from(&row, |name| (name == "GROQ_API_KEY").then(|| "gsk_example".to_owned())).is_some());
/// assert!(key_from(&row, |_| Some(" ".to_owned())).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn key_from(row: &ProviderRow<'_>, variable: impl Fn(&str) -> Option<String>) -> Option<Secret> {
    row.key_variables().filter_map(|name| variable(&name).map(Secret::new)).find(|secret| !secret.is_empty())
}

/// Where a key comes from. It decides where the key may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// An environment variable that the catalogue row names: for the host of the row alone.
    RowVariable,
    /// Given by the user for this connection: for whatever address the connection has.
    Connection,
}

/// The right to call.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Credential<'a> {
    /// None.
    #[default]
    Absent,
    /// A key of the provider.
    Key {
        /// The key.
        secret: &'a Secret,
        /// Where it comes from.
        origin: KeyOrigin,
    },
    /// An access token that somebody else obtains and renews: OAuth, service account, Entra.
    Token {
        /// The token.
        secret: &'a Secret,
        /// Where what bought it comes from.
        origin: KeyOrigin,
    },
    /// The caller signs the finished request, as AWS asks for.
    SignedLater,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_show() {
        let secret = Secret::new(" sk-0123456789abcdef\n");
        assert_eq!(secret.expose(), "sk-0123456789abcdef");
        assert_eq!(format!("{secret:?}"), "Secret(****)");
        assert_eq!(secret.masked(), "sk-****cdef");
        assert_eq!(Secret::new("sk-0123").masked(), "****");
        assert!(Secret::new(" \t").is_empty());
        let credential = Credential::Key { secret: &secret, origin: KeyOrigin::Connection };
        assert!(!format!("{credential:?}").contains("0123"));
    }
}
