//! What is held, and the trait through which a provider asks for it.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use omniroute_core::{Env, Failure, UnixMs};

use crate::data::ProviderRow;
use crate::prepare::{Credential, KeyOrigin, Secret};
use crate::redact::Redactor;

/// A pair of AWS keys.
#[derive(Clone, Debug)]
pub struct AwsKeys {
    /// The id: no secret by itself, but shown nowhere either.
    pub access_key: Secret,
    /// What requests are signed with.
    pub secret_key: Secret,
    /// Token of temporary keys.
    pub session_token: Option<Secret>,
    /// Where they come from.
    pub origin: KeyOrigin,
}

/// The right to call, as it is right now. No `Debug` output shows any of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Held {
    /// None is needed.
    #[default]
    Nothing,
    /// A key.
    Key {
        /// The key.
        secret: Secret,
        /// Where it comes from.
        origin: KeyOrigin,
    },
    /// An access token.
    Token {
        /// The token.
        secret: Secret,
        /// Where what bought it comes from.
        origin: KeyOrigin,
        /// When it ends, if known.
        expires_at: Option<UnixMs>,
    },
    /// Keys to sign with.
    Aws(AwsKeys),
}

impl Held {
    /// A key that the user gave for this connection.
    pub fn key(text: impl AsRef<str>) -> Held {
        Held::Key { secret: Secret::new(text), origin: KeyOrigin::Connection }
    }

    /// A token that the user's program obtained for this connection.
    pub fn token(text: impl AsRef<str>, expires_at: Option<UnixMs>) -> Held {
        Held::Token { secret: Secret::new(text), origin: KeyOrigin::Connection, expires_at }
    }

    /// What [`crate::prepare()`] is given.
    pub fn as_credential(&self) -> Credential<'_> {
        match self {
            Held::Nothing => Credential::Absent,
            Held::Key { secret, origin } => Credential::Key { secret, origin: *origin },
            Held::Token { secret, origin, .. } => Credential::Token { secret, origin: *origin },
            Held::Aws(_) => Credential::SignedLater,
        }
    }

    /// Whether it is the same secret.
    pub fn is_same(&self, other: &Held) -> bool {
        match (self, other) {
            (Held::Nothing, Held::Nothing) => true,
            (Held::Key { secret: a, .. }, Held::Key { secret: b, .. })
            | (Held::Token { secret: a, .. }, Held::Token { secret: b, .. }) => a.expose() == b.expose(),
            (Held::Aws(a), Held::Aws(b)) => {
                let token = |keys: &AwsKeys| keys.session_token.as_ref().map(|t| t.expose().to_owned());
                a.secret_key.expose() == b.secret_key.expose() && token(a) == token(b)
            }
            _ => false,
        }
    }

    /// Tells a redactor everything that must not show.
    pub fn teach(&self, redactor: &mut Redactor) {
        match self {
            Held::Nothing => {}
            Held::Key { secret, .. } | Held::Token { secret, .. } => redactor.learn(secret),
            Held::Aws(keys) => {
                redactor.learn(&keys.access_key);
                redactor.learn(&keys.secret_key);
                keys.session_token.iter().for_each(|token| redactor.learn(token));
            }
        }
    }
}

/// Why there is no right to call. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// Nothing was found.
    #[error("provider {provider}: no credential, looked for {}", tried.join(", "))]
    Missing {
        /// Id of the row.
        provider: String,
        /// Names that were looked for, never values.
        tried: Vec<String>,
    },
    /// The sign-in is over: only the user can renew it.
    #[error("{place}: sign in again, the vendor says {code}")]
    Expired {
        /// Whose token.
        place: String,
        /// The vendor's code.
        code: String,
    },
    /// It did not work this time.
    #[error("{place}: {message}")]
    Failed {
        /// Whose credential.
        place: String,
        /// What happened; never a secret, never a whole body.
        message: String,
    },
    /// Every key was refused.
    #[error("{place}: all {count} keys were refused")]
    AllRefused {
        /// Whose keys.
        place: String,
        /// How many.
        count: usize,
    },
    /// Every key rests.
    #[error("{place}: all keys rest until {}", until.0)]
    AllResting {
        /// Whose keys.
        place: String,
        /// When the first is free again.
        until: UnixMs,
    },
}

/// Gives the right to call when it is needed.
#[async_trait::async_trait]
pub trait CredentialSource: Send + Sync + fmt::Debug + 'static {
    /// The right to call now. `refused` is what the vendor has just not accepted: the source renews it if it can, and
    /// otherwise gives the same again.
    ///
    /// # Errors
    /// [`CredentialError`] if there is none.
    async fn get(&self, env: &Env, refused: Option<&Held>) -> Result<Held, CredentialError>;

    /// Learns how a call with `held` ended.
    fn heard(&self, held: &Held, failure: Option<&Failure>, now: UnixMs) {
        let _ = (held, failure, now);
    }
}

/// Always the same.
#[derive(Clone, Debug, Default)]
pub struct Fixed(pub Held);

#[async_trait::async_trait]
impl CredentialSource for Fixed {
    async fn get(&self, _: &Env, _: Option<&Held>) -> Result<Held, CredentialError> {
        Ok(self.0.clone())
    }
}

/// The key from the environment variables of a catalogue row, read at each call. It goes to the row's host only.
#[derive(Clone, Debug)]
pub struct EnvKey {
    provider: String,
    names: Vec<String>,
    pairs: Vec<String>,
    look: fn(&str) -> Option<String>,
}

impl EnvKey {
    /// The variables of a row.
    pub fn of(row: &ProviderRow<'_>) -> Self {
        EnvKey::with(row, |name| std::env::var(name).ok())
    }

    /// The same with another place to look names up in.
    pub fn with(row: &ProviderRow<'_>, look: fn(&str) -> Option<String>) -> Self {
        let pairs = row.env.iter().filter(|name| name.contains('+')).map(ToString::to_string).collect();
        let names = row.key_variables().map(std::borrow::Cow::into_owned).collect();
        EnvKey { provider: row.id.to_string(), names, pairs, look }
    }

    fn value(&self, name: &str) -> Option<Secret> {
        (self.look)(name).map(Secret::new).filter(|secret| !secret.is_empty())
    }
}

#[async_trait::async_trait]
impl CredentialSource for EnvKey {
    async fn get(&self, _: &Env, _: Option<&Held>) -> Result<Held, CredentialError> {
        let origin = KeyOrigin::RowVariable;
        if let Some(secret) = self.names.iter().find_map(|name| self.value(name)) {
            return Ok(Held::Key { secret, origin });
        }
        for pair in &self.pairs {
            let (first, second) = pair.split_once('+').unwrap_or((pair, ""));
            if let (Some(access_key), Some(secret_key)) = (self.value(first), self.value(second)) {
                let session_token = self.value("AWS_SESSION_TOKEN");
                return Ok(Held::Aws(AwsKeys { access_key, secret_key, session_token, origin }));
            }
        }
        let tried = self.names.iter().chain(&self.pairs).cloned().collect();
        Err(CredentialError::Missing { provider: self.provider.clone(), tried })
    }
}

type Giver = dyn Fn(Option<Held>) -> BoxFuture<'static, Result<Held, CredentialError>> + Send + Sync;

/// Asks the host program each time: a vault, a cloud's own tokens, Entra.
#[derive(Clone)]
pub struct Callback(Arc<Giver>);

impl Callback {
    /// `give` is told what the vendor has just refused, if anything.
    pub fn new<F, R>(give: F) -> Self
    where
        F: Fn(Option<Held>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Held, CredentialError>> + Send + 'static,
    {
        let boxed = move |refused: Option<Held>| -> BoxFuture<'static, Result<Held, CredentialError>> {
            Box::pin(give(refused))
        };
        Callback(Arc::new(boxed))
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback(..)")
    }
}

#[async_trait::async_trait]
impl CredentialSource for Callback {
    async fn get(&self, _: &Env, refused: Option<&Held>) -> Result<Held, CredentialError> {
        (self.0)(refused.cloned()).await
    }
}
