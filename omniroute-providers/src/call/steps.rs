//! Small steps of a call: bodies with an end, headers that go along, and failures of our own making.

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue};
use omniroute_core::wire::WireError;
use omniroute_core::{Body, Doc, Failure, FailureKind, Phase, Scope, TransportError};

use crate::classify::{Scene, classify};
use crate::credentials::CredentialError;
use crate::prepare::PrepareError;

/// Headers of a caller that go along.
const PASSED: [&str; 6] =
    ["anthropic-beta", "openai-organization", "openai-project", "x-request-id", "http-referer", "x-title"];

/// Reads a body up to a length; false: there was more.
pub(super) async fn gather(mut body: Body, longest: usize) -> Result<(Bytes, bool), TransportError> {
    let mut all: Vec<u8> = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece?;
        let room = longest - all.len();
        if piece.len() > room {
            all.extend_from_slice(piece.get(..room).unwrap_or_default());
            return Ok((all.into(), false));
        }
        all.extend_from_slice(&piece);
    }
    Ok((all.into(), true))
}

pub(super) fn classify_or_shape(status: u16, bytes: &Bytes, doc: &Doc, scene: &Scene<'_>) -> Failure {
    let names = ["error", "errors", "base_resp", "detail"];
    if names.iter().any(|name| doc.get(doc.root(), name).is_some()) {
        return classify(status, bytes, scene);
    }
    unreadable("bad_reply", "the answer is not one of its wire")
}

pub(super) fn unreadable(code: &str, message: &str) -> Failure {
    let mut failure = Failure::new(FailureKind::BadReply, Scope::Provider, message);
    if code == "empty_reply" {
        failure.scope = Scope::Model;
    }
    failure.code = Some(code.to_owned());
    failure.rule = if code == "empty_reply" { "ok.empty" } else { "ok.bad_json" }.into();
    failure.phase = Phase::BodyComplete;
    failure
}

/// A request that this target, or nobody, can take.
pub(super) fn refused(error: WireError) -> Failure {
    let kind = match &error {
        WireError::Incapable { .. } | WireError::Unsupported { .. } => FailureKind::Unsupported,
        _ => FailureKind::InvalidRequest,
    };
    Failure::local(kind, error.code().to_owned(), error.to_string())
}

pub(super) fn not_made(error: &PrepareError) -> Failure {
    let (kind, code) = match error {
        PrepareError::ByPolicy { .. } => (FailureKind::Unsupported, "not_built"),
        PrepareError::NotYet { .. } | PrepareError::Wire { .. } => {
            (FailureKind::Unsupported, "not_built_yet")
        }
        PrepareError::MissingCredential { .. } => (FailureKind::Unauthorized, "missing_credential"),
        PrepareError::WrongCredential { .. } | PrepareError::UnsendableCredential { .. } => {
            (FailureKind::Unauthorized, "wrong_credential")
        }
        PrepareError::KeyForAnotherHost { .. } | PrepareError::PlainHttp { .. } => {
            (FailureKind::Forbidden, "key_not_for_host")
        }
        _ => (FailureKind::Unavailable, "bad_settings"),
    };
    Failure::local(kind, code, error.to_string())
}

pub(super) fn no_credential(error: &CredentialError) -> Failure {
    let mut failure = Failure::local(FailureKind::Unauthorized, "no_credential", error.to_string());
    match error {
        CredentialError::AllResting { until, .. } => {
            failure.kind = FailureKind::RateLimited;
            failure.retry_at = Some(*until);
        }
        CredentialError::Expired { code, .. } => failure.code = Some(code.clone()),
        _ => {}
    }
    failure
}

/// The few headers of the caller that go along; what the request has already stays.
pub(super) fn pass_headers(from: &HeaderMap, to: &mut HeaderMap<HeaderValue>) {
    for name in PASSED {
        let name = HeaderName::from_static(name);
        for value in from.get_all(&name) {
            if !to.contains_key(&name) || name.as_str() == "anthropic-beta" {
                to.append(name.clone(), value.clone());
            }
        }
    }
}
