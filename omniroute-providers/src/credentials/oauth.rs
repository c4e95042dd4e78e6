//! Access tokens that are renewed in time, by one at a time. The user brings the client id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use futures::lock::Mutex;
use futures::{StreamExt, pin_mut};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use omniroute_core::wire::read;
use omniroute_core::{Doc, Env, UnixMs};

use super::source::{CredentialError, CredentialSource, Held};
use super::tokens::{TokenSet, TokenStore};
use crate::prepare::{KeyOrigin, Secret, is_secure_address};
use crate::redact::{Redactor, percent};

/// Longest answer of a token endpoint, in bytes.
const LONGEST: usize = 64 << 10;

/// Most tries of one renewal; the waits between them are 1 and 2 seconds.
const TRIES: u32 = 3;

/// Failures in a row after which nothing is tried for [`PAUSE`].
const FAILURES: u32 = 5;

/// How long nothing is tried then, in milliseconds.
const PAUSE: i64 = 30 * 60_000;

/// Codes after which only the user can help.
const FINAL: [&str; 6] = [
    "invalid_grant",
    "invalid_client",
    "unauthorized_client",
    "refresh_token_reused",
    "refresh_token_expired",
    "access_denied",
];

/// What is shown to get an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// The refresh token of an earlier sign-in.
    Refresh,
    /// Id and secret of the client.
    ClientCredentials,
}

/// A client that the user registered.
#[derive(Clone, Debug)]
pub struct OAuthClient {
    /// Address of the token endpoint: https, or http on this machine.
    pub token_url: String,
    /// The user's client id.
    pub client_id: String,
    /// Its secret, if it has one.
    pub client_secret: Option<Secret>,
    /// What is asked for; empty leaves it to the vendor.
    pub scope: String,
    /// How.
    pub grant: Grant,
    /// How long before its end a token is renewed. Default of the published behaviour: 5 minutes.
    pub lead: Duration,
    /// Longest wait for one answer; usually 30 seconds.
    pub patience: Duration,
}

/// Renews the tokens of one connection. Share one among all calls: renewal is single-flight per source.
///
/// A call that is dropped drops the renewal it was doing, and the next one starts again. Where a vendor takes each
/// refresh token once only, a host that drops calls often renews in a task of its own: [`CredentialSource::get`] before
/// the call.
#[derive(Debug)]
pub struct OAuthSource {
    client: OAuthClient,
    store: Arc<dyn TokenStore>,
    /// Grows with every attempt, so that who waited knows that it was tried meanwhile.
    attempts: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    paused_until: i64,
    last: Option<CredentialError>,
}

impl OAuthSource {
    /// Tokens of `client`, kept in `store`.
    ///
    /// # Errors
    /// [`CredentialError::Failed`] if the address is neither https nor on this machine.
    pub fn new(client: OAuthClient, store: Arc<dyn TokenStore>) -> Result<Self, CredentialError> {
        if !is_secure_address(&client.token_url) {
            let message = "the token address must be https, or http on this machine".to_owned();
            return Err(CredentialError::Failed { place: client.token_url, message });
        }
        Ok(OAuthSource { client, store, attempts: AtomicU64::new(0), state: Mutex::new(State::default()) })
    }

    fn is_fresh(&self, tokens: &TokenSet, now: UnixMs, refused: Option<&Held>) -> bool {
        let lead = i64::try_from(self.client.lead.as_millis()).unwrap_or(i64::MAX);
        let in_time = tokens.expires_at.is_none_or(|end| end.0.saturating_sub(lead) > now.0);
        in_time && refused.is_none_or(|held| !held.is_same(&held_of(tokens)))
    }

    /// Asks the endpoint, again if the network or the server failed.
    async fn ask(&self, env: &Env, refresh: Option<&Secret>) -> Result<TokenSet, CredentialError> {
        let mut wait = Duration::from_secs(1);
        for again in (0..TRIES).rev() {
            match self.ask_once(env, refresh).await {
                Ok(tokens) => return Ok(tokens),
                Err((_, true)) if again > 0 => {
                    env.clock.sleep_until(env.clock.now().mono.after(wait)).await;
                    wait *= 2;
                }
                Err((error, _)) => return Err(error),
            }
        }
        Err(self.failed("no answer".to_owned()))
    }

    /// The flag says whether another try may help.
    async fn ask_once(
        &self,
        env: &Env,
        refresh: Option<&Secret>,
    ) -> Result<TokenSet, (CredentialError, bool)> {
        let end = env.clock.now().mono.after(self.client.patience);
        let exchange = async {
            let answer = env.http.send(self.request(refresh)?).await;
            let answer =
                answer.map_err(|error| (self.failed(self.hide(&error.to_string(), refresh)), true))?;
            let status = answer.status().as_u16();
            let mut body = answer.into_body();
            let mut bytes = Vec::new();
            while let Some(piece) = body.next().await {
                let piece =
                    piece.map_err(|error| (self.failed(self.hide(&error.to_string(), refresh)), true))?;
                if bytes.len() + piece.len() > LONGEST {
                    return Err((self.failed("the answer is longer than 64 KiB".to_owned()), false));
                }
                bytes.extend_from_slice(&piece);
            }
            self.read(status, bytes, env.clock.now().wall, refresh)
        };
        let late = env.clock.sleep_until(end);
        pin_mut!(exchange);
        match select(exchange, late).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err((self.failed("no answer in time".to_owned()), true)),
        }
    }

    fn request(&self, refresh: Option<&Secret>) -> Result<http::Request<Bytes>, (CredentialError, bool)> {
        let mut form = match (self.client.grant, refresh) {
            (Grant::Refresh, Some(token)) => {
                format!("grant_type=refresh_token&refresh_token={}", percent(token.expose()))
            }
            (Grant::Refresh, None) => {
                let (place, code) = (self.client.token_url.clone(), "no refresh token".to_owned());
                return Err((CredentialError::Expired { place, code }, false));
            }
            (Grant::ClientCredentials, _) => "grant_type=client_credentials".to_owned(),
        };
        form.push_str(&format!("&client_id={}", percent(&self.client.client_id)));
        if let Some(secret) = &self.client.client_secret {
            form.push_str(&format!("&client_secret={}", percent(secret.expose())));
        }
        if !self.client.scope.is_empty() {
            form.push_str(&format!("&scope={}", percent(&self.client.scope)));
        }
        let request = http::Request::post(&self.client.token_url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .body(Bytes::from(form));
        request.map_err(|_| (self.failed("the token address cannot be used".to_owned()), false))
    }

    fn read(
        &self,
        status: u16,
        bytes: Vec<u8>,
        now: UnixMs,
        refresh: Option<&Secret>,
    ) -> Result<TokenSet, (CredentialError, bool)> {
        let doc = Doc::parse(bytes).ok();
        if (200..300).contains(&status)
            && let Some(doc) = &doc
        {
            let names = ["access_token", "refresh_token", "expires_in"];
            let [access, renewed, life] = read::pick(doc, doc.root(), names);
            if let Some(access) = read::chars(doc, access).map(Secret::new).filter(|s| !s.is_empty()) {
                let life = read::count(doc, life).and_then(|s| i64::try_from(s).ok());
                let expires_at = life.map(|s| UnixMs(now.0.saturating_add(s.saturating_mul(1_000))));
                // A vendor that does not rotate leaves the old one valid.
                let refresh = read::chars(doc, renewed).map(Secret::new).or_else(|| refresh.cloned());
                return Ok(TokenSet { access, refresh, expires_at });
            }
        }
        let code = doc.as_ref().and_then(|doc| {
            let [error, code] = read::pick(doc, doc.root(), ["error", "code"]);
            let inner = error.and_then(|node| read::chars(doc, read::pick(doc, node, ["code"])[0]));
            read::chars(doc, error).or(inner).or_else(|| read::chars(doc, code))
        });
        if let Some(code) = code.as_deref().and_then(|code| FINAL.iter().find(|known| **known == code)) {
            let (place, code) = (self.client.token_url.clone(), (*code).to_owned());
            return Err((CredentialError::Expired { place, code }, false));
        }
        let again = matches!(status, 408 | 429 | 500..=599);
        let code = code
            .filter(|c| c.len() <= 64)
            .map_or_else(String::new, |c| format!(", code {}", self.hide(&c, refresh)));
        Err((self.failed(format!("no token, status {status}{code}")), again))
    }

    fn failed(&self, message: String) -> CredentialError {
        CredentialError::Failed { place: self.client.token_url.clone(), message }
    }

    fn hide(&self, text: &str, refresh: Option<&Secret>) -> String {
        let mut redactor = Redactor::default();
        refresh.into_iter().chain(&self.client.client_secret).for_each(|secret| redactor.learn(secret));
        redactor.clean(text)
    }
}

#[async_trait::async_trait]
impl CredentialSource for OAuthSource {
    async fn get(&self, env: &Env, refused: Option<&Held>) -> Result<Held, CredentialError> {
        let now = env.clock.now().wall;
        if let Some(tokens) = self.store.load().await?.filter(|t| self.is_fresh(t, now, refused)) {
            return Ok(held_of(&tokens));
        }
        let before = self.attempts.load(Ordering::SeqCst);
        let mut state = self.state.lock().await;
        let now = env.clock.now().wall;
        // Somebody may have renewed it while this call waited for the lock, here or in another process.
        let kept = self.store.load().await?;
        if let Some(tokens) = kept.as_ref().filter(|t| self.is_fresh(t, now, refused)) {
            return Ok(held_of(tokens));
        }
        let waited = before != self.attempts.load(Ordering::SeqCst);
        if let Some(error) = state.last.clone().filter(|_| waited || state.paused_until > now.0) {
            return Err(error);
        }
        let old = kept.as_ref().and_then(|tokens| tokens.refresh.clone());
        let asked = self.ask(env, old.as_ref()).await;
        self.attempts.fetch_add(1, Ordering::SeqCst);
        match asked {
            Ok(tokens) => {
                (state.failures, state.paused_until, state.last) = (0, 0, None);
                // If another process was faster, its tokens stay; ours still serve this call.
                self.store.replace(old.as_ref(), &tokens).await?;
                Ok(held_of(&tokens))
            }
            Err(error) => {
                state.failures += 1;
                let ended = matches!(error, CredentialError::Expired { .. });
                if ended {
                    self.store.ended().await;
                }
                if state.failures >= FAILURES || ended {
                    state.paused_until = now.0.saturating_add(PAUSE);
                }
                state.last = Some(error.clone());
                Err(error)
            }
        }
    }
}

fn held_of(tokens: &TokenSet) -> Held {
    Held::Token {
        secret: tokens.access.clone(),
        origin: KeyOrigin::Connection,
        expires_at: tokens.expires_at,
    }
}
