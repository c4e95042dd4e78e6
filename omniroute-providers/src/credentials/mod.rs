//! Where the right to call comes from: the environment, a callback, several keys in turn, OAuth tokens.

mod oauth;
mod ring;
mod source;
mod tokens;

pub use oauth::{Grant, OAuthClient, OAuthSource};
pub use ring::{KeyRing, RingOrder};
pub use source::{AwsKeys, Callback, CredentialError, CredentialSource, EnvKey, Fixed, Held};
pub use tokens::{MemoryTokens, TokenSet, TokenStore};
