//! Puts the key where the provider looks for it, and nowhere else.

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::error::PrepareError;
use super::secret::{Credential, KeyOrigin, Secret};
use super::url::Target;
use super::{Endpoint, Settings};
use crate::data::{Auth, AuthKind, ProviderRow};

/// Adds the headers that show the right to call.
pub(crate) fn apply(
    row: &ProviderRow<'_>,
    point: &Endpoint<'_>,
    target: &Target,
    settings: &Settings<'_>,
    headers: &mut HeaderMap,
) -> Result<(), PrepareError> {
    let auth = point.auth;
    for (name, value) in &auth.extra {
        let pair = (HeaderName::try_from(name.as_ref()), HeaderValue::try_from(value.as_ref()));
        if let (Ok(name), Ok(value)) = pair {
            headers.insert(name, value);
        }
    }
    let kind = match settings.credential {
        Credential::Key { secret, origin } if !secret.is_empty() => Given { what: "key", secret, origin },
        Credential::Token { secret, origin } if !secret.is_empty() => Given { what: "token", secret, origin },
        Credential::SignedLater => {
            let signs = auth.kind == AuthKind::Sigv4 || auth.alt.as_deref() == Some("sigv4");
            return if signs { Ok(()) } else { Err(wrong(row, auth, "a signature")) };
        }
        _ => return absent(row, auth),
    };
    if auth.kind == AuthKind::None {
        return Ok(()); // a server that asks for no key gets none
    }
    let place = place(auth, kind.what).ok_or_else(|| wrong(row, auth, kind.what))?;
    if kind.origin == KeyOrigin::RowVariable && !target.is_row_host {
        let (provider, host) = (row.id.to_string(), target.host.clone());
        return Err(PrepareError::KeyForAnotherHost { provider, host, row_host: target.row_host.clone() });
    }
    let unsendable = || PrepareError::UnsendableCredential { provider: row.id.to_string(), given: kind.what };
    let sensitive = |text: &str| {
        let mut value = HeaderValue::try_from(text).map_err(|_| unsendable())?;
        value.set_sensitive(true);
        Ok::<_, PrepareError>(value)
    };
    let secret = kind.secret.expose();
    match place {
        Place::Authorization(word) => {
            headers.insert(AUTHORIZATION, sensitive(&format!("{word} {secret}"))?);
        }
        Place::Header(name) => {
            headers.insert(HeaderName::try_from(name).map_err(|_| unsendable())?, sensitive(secret)?);
        }
    }
    if let Some(also) = auth.also.as_deref().filter(|_| auth.kind == AuthKind::Bearer) {
        headers.insert(HeaderName::try_from(also).map_err(|_| unsendable())?, sensitive(secret)?);
    }
    Ok(())
}

struct Given<'a> {
    what: &'static str,
    secret: &'a Secret,
    origin: KeyOrigin,
}

enum Place<'a> {
    Authorization(&'a str),
    Header(&'a str),
}

/// Where a key or token goes; `None` if this scheme does not take it.
fn place<'a>(auth: &'a Auth<'_>, what: &str) -> Option<Place<'a>> {
    let bearer = Place::Authorization(auth.prefix.as_deref().unwrap_or("Bearer"));
    match (auth.kind, what, auth.alt.as_deref()) {
        (AuthKind::Bearer, _, _)
        | (AuthKind::Oauth | AuthKind::OauthClientCredentials | AuthKind::GoogleServiceAccount, "token", _)
        | (AuthKind::Header, "token", Some("entra-bearer")) => Some(bearer),
        (AuthKind::Header, "key", _) => auth.header.as_deref().map(Place::Header),
        (AuthKind::GoogleServiceAccount, "key", Some("api-key")) => Some(Place::Header("x-goog-api-key")),
        _ => None,
    }
}

/// No key: fine where none is needed.
fn absent(row: &ProviderRow<'_>, auth: &Auth<'_>) -> Result<(), PrepareError> {
    if auth.optional || auth.kind == AuthKind::None || row.anonymous {
        return Ok(());
    }
    let settings = row.env_settings.iter().map(|(_, variable)| variable.to_string());
    let pairs = row.env.iter().filter(|name| name.contains('+')).map(ToString::to_string);
    let tried = row.key_variables().map(|name| name.into_owned()).chain(pairs).chain(settings).collect();
    Err(PrepareError::MissingCredential { provider: row.id.to_string(), wanted: wanted(auth), tried })
}

fn wrong(row: &ProviderRow<'_>, auth: &Auth<'_>, given: &'static str) -> PrepareError {
    PrepareError::WrongCredential { provider: row.id.to_string(), wanted: wanted(auth), given }
}

fn wanted(auth: &Auth<'_>) -> &'static str {
    match (auth.kind, auth.alt.as_deref()) {
        (AuthKind::Bearer, Some("sigv4")) => "key or signature",
        (AuthKind::Bearer, _) | (AuthKind::Header, Some("entra-bearer")) => "key or token",
        (AuthKind::GoogleServiceAccount, Some(_)) => "token or key",
        (AuthKind::Header | AuthKind::Query, _) => "key",
        (AuthKind::Sigv4, _) => "signature",
        _ => "token",
    }
}
