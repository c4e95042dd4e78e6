//! What headers say to us: session, routing, compression, leases. None of them goes on to a vendor.

use http::HeaderMap;
use omniroute_core::route::RouteOptions;
use omniroute_core::{ConnectionId, Doc, SessionId};
use omniroute_resilience::{LeaseClaim, OwnerToken};
use omniroute_route::{ChatOptions, mode};
use sha2::{Digest, Sha256};

use super::fault::Fault;
use super::keys::{Caller, Scope};

/// Headers that name a session, in the order in which they count.
const SESSIONS: [&str; 3] = ["x-codex-session-id", "x-session-id", "x-omniroute-session"];
/// Members of a body that do, after the headers.
const MEMBERS: [&str; 3] = ["conversation_id", "session_id", "prompt_cache_key"];
/// Headers of a caller that vendors may see.
const PASSED: [&str; 6] =
    ["anthropic-beta", "openai-organization", "openai-project", "x-request-id", "http-referer", "x-title"];
/// Longest name of a session.
const LONGEST: usize = 4_096;
/// Names of sessions up to this length are kept as they are.
const PLAIN: usize = 180;

/// What a request says beside its body.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) options: ChatOptions,
    pub(super) session: Option<SessionId>,
    /// What was not understood, as codes.
    pub(super) notes: Vec<&'static str>,
    pub(super) explain: bool,
}

/// Reads headers and the few members of a body that name its session.
///
/// # Errors
/// A header that changes who may answer and cannot be followed.
pub(super) fn read(
    headers: &HeaderMap,
    doc: &Doc,
    caller: &Caller,
    defaults: &RouteOptions,
    section: &omniroute::Config,
) -> Result<Control, Fault> {
    let mut control = Control::default();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    control.session = session(headers, doc, &mut control.notes);
    let mut route = defaults.clone();
    if let Some(name) = text("x-omniroute-mode") {
        match mode(name) {
            Some(mode) => route.mode = Some(mode),
            None => control.notes.push("mode_ignored"),
        }
    }
    if let Some(budget) = text("x-omniroute-budget-usd") {
        let usd = budget.parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd >= 0.0);
        let rule = || {
            Fault::bad("invalid_header", format!("{budget:?} is no amount in USD of 0 or more"))
                .at("x-omniroute-budget-usd")
        };
        (route.budget, route.budget_strict) = (Some(usd.ok_or_else(rule)?), true);
    }
    control.options.route = Some(route);
    if let Some(tags) = text("x-omniroute-tag") {
        control.options.tags = tags
            .split(',')
            .map(|tag| tag.trim().into())
            .filter(|tag: &std::sync::Arc<str>| !tag.is_empty())
            .collect();
    }
    if let Some(connection) = text("x-omniroute-connection").filter(|name| !name.is_empty()) {
        let name = connection.split_once('/').map_or(connection, |(_, name)| name);
        control.options.connection = Some(ConnectionId::new(name));
    }
    if let Some(asked) = text("x-omniroute-compression") {
        match profile(asked, section) {
            Ok(profile) => control.options.profile = profile,
            Err(()) => control.notes.push("compression_ignored"),
        }
    }
    control.explain = text("x-omniroute-explain").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    control.options.lease = lease(headers, caller)?;
    for name in PASSED {
        for value in headers.get_all(name) {
            control.options.headers.append(name, value.clone());
        }
    }
    Ok(control)
}

/// The session that a request belongs to. Its name says where it comes from, so that different clients do not meet.
fn session(headers: &HeaderMap, doc: &Doc, notes: &mut Vec<&'static str>) -> Option<SessionId> {
    let mut of = |source: &str, value: &str| {
        let value = value.trim();
        if value.is_empty() || value.len() > LONGEST {
            if !notes.contains(&"session_key_rejected") {
                notes.push("session_key_rejected");
            }
            return None;
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        if value.len() <= PLAIN && value.bytes().all(plain) {
            return Some(SessionId::new(format!("{source}:{value}")));
        }
        let digest = Sha256::digest(value.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(SessionId::new(format!("{source}:sha256:{hex}")))
    };
    for name in SESSIONS {
        if let Some(value) = headers.get(name)
            && let Some(session) = of(name, value.to_str().unwrap_or_default())
        {
            return Some(session);
        }
    }
    let root = doc.root();
    let metadata = doc.get(root, "metadata");
    let inner =
        ["session_id", "sessionId"].into_iter().filter_map(|key| Some((key, doc.get(metadata?, key)?)));
    let outer = MEMBERS.into_iter().filter_map(|key| Some((key, doc.get(root, key)?)));
    for (key, node) in inner.chain(outer) {
        if let Some(value) = doc.str(node)
            && let Some(session) = of(key, &value)
        {
            return Some(session);
        }
    }
    None
}

/// The plan that a header means; none: the usual one.
fn profile(asked: &str, section: &omniroute::Config) -> Result<Option<String>, ()> {
    let asked = asked.trim();
    if asked.eq_ignore_ascii_case("default") {
        return Ok(None);
    }
    let name = asked.strip_prefix("engine:").unwrap_or(asked);
    let name = if name.eq_ignore_ascii_case("off") { "off" } else { name };
    if section.knows_plan(name) { Ok(Some(name.to_owned())) } else { Err(()) }
}

/// The lease that a request is sent under.
fn lease(headers: &HeaderMap, caller: &Caller) -> Result<Option<LeaseClaim>, Fault> {
    let owner = headers.get("x-omniroute-lease-owner");
    let generation = headers.get("x-omniroute-lease-generation");
    let (owner, generation) = match (owner, generation) {
        (None, None) => return Ok(None),
        (Some(owner), Some(generation)) => (owner, generation),
        _ => {
            let message = "the headers x-omniroute-lease-owner and x-omniroute-lease-generation go together";
            return Err(lease_fault(400, "LEASE_CONTEXT_INVALID", message));
        }
    };
    if !caller.scopes.has(Scope::Lease) {
        return Err(lease_fault(403, "LEASE_SCOPE_REQUIRED", "this key lacks scope lease:exclusive"));
    }
    let wrong = || lease_fault(400, "LEASE_CONTEXT_INVALID", "a header of the lease is malformed");
    let owner = owner.to_str().ok().and_then(|text| OwnerToken::parse(text.trim()).ok()).ok_or_else(wrong)?;
    let generation = generation.to_str().ok().and_then(|text| text.trim().parse().ok()).filter(|n| *n > 0);
    Ok(Some(LeaseClaim { owner: owner.hash(), generation: generation.ok_or_else(wrong)? }))
}

/// An error about leases.
pub(super) fn lease_fault(status: u16, code: &str, message: &str) -> Fault {
    Fault { kind: Some("lease_error"), ..Fault::new(status, code, message) }
}

/// A request's name: the client's, if it is a plain one, else ours.
pub(super) fn request_id(headers: &HeaderMap, made: impl FnOnce() -> String) -> String {
    let told = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    match told.filter(|text| (1..=128).contains(&text.len()) && text.bytes().all(plain)) {
        Some(text) => text.to_owned(),
        None => made(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Keys;
    use super::*;

    fn of(pairs: &[(&'static str, &str)], body: &'static str) -> Result<Control, Fault> {
        let headers: HeaderMap =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let caller = Keys::default().caller(&headers, false)?;
        read(
            &headers,
            &Doc::parse(body).unwrap(),
            &caller,
            &RouteOptions::default(),
            &omniroute::Config::default(),
        )
    }

    #[test]
    fn the_first_name_of_a_session_counts() {
        let all = [("x-omniroute-session", "c"), ("x-session-id", " b "), ("x-codex-session-id", "a")];
        let body = r#"{"metadata":{"session_id":"d"},"prompt_cache_key":"e"}"#;
        let session = |pairs: &[(&'static str, &str)], body| {
            of(pairs, body).unwrap().session.map(|id| id.as_str().to_owned())
        };
        assert_eq!(session(&all, body).as_deref(), Some("x-codex-session-id:a"));
        assert_eq!(session(&all[..2], body).as_deref(), Some("x-session-id:b"));
        assert_eq!(session(&[], body).as_deref(), Some("session_id:d"));
        assert_eq!(session(&[], r#"{"prompt_cache_key":"e"}"#).as_deref(), Some("prompt_cache_key:e"));
        assert_eq!(session(&[], r#"{"metadata":{"session_id":5}}"#), None);
        let odd = session(&[("x-session-id", "with space")], "{}").unwrap();
        assert!(odd.starts_with("x-session-id:sha256:") && odd.len() == 20 + 64, "{odd}");
        let long = "x".repeat(LONGEST + 1);
        let control = of(&[("x-session-id", &long)], "{}").unwrap();
        assert_eq!((control.session, control.notes), (None, vec!["session_key_rejected"]));
    }

    #[test]
    fn what_cannot_be_followed_is_told() {
        let control =
            of(&[("x-omniroute-compression", "engine:rtk"), ("x-omniroute-mode", "fast")], "{}").unwrap();
        assert_eq!(control.options.profile.as_deref(), Some("rtk"));
        assert!(control.options.route.unwrap().mode.is_some() && control.notes.is_empty());
        let odd = of(&[("x-omniroute-compression", "saef"), ("x-omniroute-mode", "x")], "{}").unwrap();
        assert_eq!(odd.notes, ["mode_ignored", "compression_ignored"]);
        for wrong in ["-1", "NaN", "abc", "1e999"] {
            assert_eq!(of(&[("x-omniroute-budget-usd", wrong)], "{}").unwrap_err().status, 400, "{wrong}");
        }
        let token = format!("vlo_{}", "A".repeat(43));
        let half = of(&[("x-omniroute-lease-owner", &token)], "{}").unwrap_err();
        assert_eq!((half.status, half.code.as_str()), (400, "LEASE_CONTEXT_INVALID"));
        let both = [("x-omniroute-lease-owner", token.as_str()), ("x-omniroute-lease-generation", "1")];
        assert_eq!(of(&both, "{}").unwrap_err().code, "LEASE_SCOPE_REQUIRED");
    }

    #[test]
    fn only_a_few_headers_go_on() {
        let pairs = [
            ("anthropic-beta", "a,b"),
            ("authorization", "Bearer x"),
            ("cookie", "c"),
            ("x-session-id", "s"),
            ("x-omniroute-tag", "t"),
            ("x-api-key", "x"),
        ];
        let control = of(&pairs, "{}").unwrap();
        let names: Vec<&str> = control.options.headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["anthropic-beta"]);
    }

    #[test]
    fn names_of_requests() {
        let id = |text: &str| {
            let headers = HeaderMap::from_iter([("x-request-id".parse().unwrap(), text.parse().unwrap())]);
            request_id(&headers, || "made".to_owned())
        };
        assert_eq!(
            (id("abc-1.2:3"), id("a b"), id(&"x".repeat(129))),
            ("abc-1.2:3".to_owned(), "made".to_owned(), "made".to_owned())
        );
    }
}
