//! Where OAuth tokens are kept between calls.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use omniroute_core::UnixMs;

use super::source::CredentialError;
use crate::prepare::Secret;

/// What a sign-in gave.
#[derive(Clone, Debug)]
pub struct TokenSet {
    /// For calls.
    pub access: Secret,
    /// For new access tokens.
    pub refresh: Option<Secret>,
    /// When the access token ends, if known.
    pub expires_at: Option<UnixMs>,
}

/// Keeps the tokens of one connection. The host supplies it; one over files must lock, write a new file and rename.
#[async_trait::async_trait]
pub trait TokenStore: Send + Sync + fmt::Debug + 'static {
    /// What is kept.
    ///
    /// # Errors
    /// [`CredentialError`] if it cannot be read.
    async fn load(&self) -> Result<Option<TokenSet>, CredentialError>;

    /// Keeps `new` if the refresh token is still `expected`; false: somebody else was faster and theirs is kept.
    ///
    /// # Errors
    /// [`CredentialError`] if it cannot be written.
    async fn replace(&self, expected: Option<&Secret>, new: &TokenSet) -> Result<bool, CredentialError>;

    /// The vendor says that the kept sign-in is over.
    async fn ended(&self) {}
}

/// Tokens in memory.
#[derive(Debug, Default)]
pub struct MemoryTokens(Mutex<Option<TokenSet>>);

impl MemoryTokens {
    /// Starts with what a sign-in gave.
    pub fn new(tokens: Option<TokenSet>) -> Self {
        MemoryTokens(Mutex::new(tokens))
    }
}

#[async_trait::async_trait]
impl TokenStore for MemoryTokens {
    async fn load(&self) -> Result<Option<TokenSet>, CredentialError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn replace(&self, expected: Option<&Secret>, new: &TokenSet) -> Result<bool, CredentialError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = kept.as_ref().and_then(|tokens| tokens.refresh.as_ref()).map(Secret::expose);
        let same = current == expected.map(Secret::expose);
        if same {
            *kept = Some(new.clone());
        }
        Ok(same)
    }
}
