//! What a failed call means: status, headers and body become a [`Failure`]. Tables say how, one file a dialect.

mod body;
mod dialect;
mod limits;
mod moment;
mod reset;
mod size;
mod table;
mod zone;

use std::borrow::Cow;
use std::sync::Arc;

use http::HeaderMap;
use omniroute_core::hub::ErrorBody;
use omniroute_core::{
    Doc, Evidence, Exceeded, Failure, FailureKind, Phase, QuotaWindow, Scope, TransportError, UnixMs, Wider,
};

use crate::redact::Redactor;
use body::Told;
#[cfg(feature = "sigv4")]
pub(crate) use moment::date_of;
use table::{Also, Pause, Row};

pub use dialect::Dialect;
pub use limits::limits_seen;

/// Longest message of a failure, in bytes.
const MESSAGE: usize = 500;

/// How much of the request's own text is searched for an echo, in bytes.
const ECHO: usize = 256 << 10;

/// What is known around an answer. Everything but `now` has a harmless default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scene<'a> {
    /// Whose answer it is.
    pub dialect: Dialect,
    /// How far the call had come.
    pub phase: Phase,
    /// The head of the answer, if there was one.
    pub headers: Option<&'a HeaderMap>,
    /// Our date.
    pub now: UnixMs,
    /// The request as it was sent. Phrases that it contains are no proof against an account.
    pub sent: &'a [u8],
    /// What must not show.
    pub redactor: Option<&'a Redactor>,
}

/// Reads a failed call: an answer with an error status, or one with an error inside.
///
/// # Behavior
/// - Total: every status and every bytes give a failure with the rule that made it.
/// - The first row of the dialect's tables that fits decides; a documented name is stronger than a phrase only where
///   its row stands first.
/// - A 4xx that nothing explains is a refusal of this target, never a mistake of the caller.
/// - The message is the vendor's, at most 500 bytes, without anything the redactor knows.
///
/// ```
/// use omniroute_core::{FailureKind, UnixMs};
/// use omniroute_providers::{Dialect, Scene, classify};
///
/// let scene = Scene { dialect: Dialect::OpenAi, now: UnixMs(0), ..Scene::default() };
/// let body = br#"{"error":{"message":"Rate limit reached. Please try again in 6m0s.","code":"rate_limit_exceeded"}}"#;
/// let failure = classify(429, body, &scene);
/// assert_eq!((failure.kind, failure.retry_at), (FailureKind::RateLimited, Some(UnixMs(360_000))));
/// ```
pub fn classify(status: u16, body: &[u8], scene: &Scene<'_>) -> Failure {
    let mut error = body::error_of(Some(status), scene.headers, body);
    error.html |= status < 300 && is_page(scene.headers);
    judge(&error, Doc::parse(bytes::Bytes::copy_from_slice(body)).ok().as_ref(), scene)
}

/// Reads an error that a wire found inside an answer or a stream.
pub fn classify_error(error: &ErrorBody, scene: &Scene<'_>) -> Failure {
    judge(error, None, scene)
}

/// Reads an exchange that never got, or lost, its answer.
pub fn classify_transport(error: &TransportError, scene: &Scene<'_>) -> Failure {
    let head = scene.phase == Phase::PreDispatch || scene.phase == Phase::Transport;
    let message = clean(&format!("{}: {}", error.phase, error.message), scene);
    let (kind, scope, rule) = match (error.phase, head) {
        (_, false) => (FailureKind::BadReply, Scope::Request, "net.cut"),
        ("connect", _) => (FailureKind::Unavailable, Scope::Provider, "net.connect"),
        ("tls", _) => (FailureKind::Unavailable, Scope::Provider, "net.tls"),
        ("proxy", _) => (FailureKind::Unavailable, Scope::Connection, "net.proxy"),
        _ => (FailureKind::Unavailable, Scope::Provider, "net.reset"),
    };
    let mut failure = Failure::new(kind, scope, message);
    failure.rule = Cow::Borrowed(rule);
    failure.phase = if head { Phase::Transport } else { scene.phase };
    if matches!(rule, "net.tls" | "net.proxy") {
        failure.wider = Wider::ProviderEgress;
    }
    failure
}

fn judge(error: &ErrorBody, doc: Option<&Doc>, scene: &Scene<'_>) -> Failure {
    let sent = scene.sent.get(..ECHO.min(scene.sent.len())).unwrap_or_default();
    let echo_text = std::cell::OnceCell::new();
    let echo = |words: &str| {
        let text = echo_text.get_or_init(|| String::from_utf8_lossy(sent).to_lowercase());
        text.contains(words.trim())
    };
    if scene.dialect == Dialect::Aggregator
        && let Some(inner) = body::raw_error(error)
    {
        let told = evidence(&inner, None, scene);
        let inner_row = Dialect::Generic.tables().find_map(|t| t.find(&told, &echo));
        if let Some(row) = inner_row.filter(|row| row.by != table::By::Status) {
            // The key behind is the aggregator's: nothing it says is about our account.
            let mut failure = failure_of(row, &told, &inner, scene);
            failure.rule = Cow::Owned(format!("raw.{}", row.rule));
            if matches!(failure.scope, Scope::Connection | Scope::Provider) {
                failure.scope = Scope::Model;
                failure.wider = Wider::None;
                if matches!(
                    failure.kind,
                    FailureKind::Unauthorized | FailureKind::Banned | FailureKind::CreditsExhausted
                ) {
                    failure.kind = FailureKind::Unavailable;
                }
            }
            return failure;
        }
    }
    let told = evidence(error, doc, scene);
    let row = scene.dialect.tables().find_map(|t| t.find(&told, &echo));
    match row {
        Some(row) => failure_of(row, &told, error, scene),
        // The last row of the last table fits everything; without tables there is still an answer.
        None => Failure::new(FailureKind::Unavailable, Scope::Provider, clean(&error.message, scene)),
    }
}

/// Inside a success the vendor's own number stands for the status.
fn evidence<'a>(error: &ErrorBody, doc: Option<&Doc>, scene: &Scene<'a>) -> Told<'a> {
    let mut told = Told::of(error, doc, scene.headers);
    if told.status.is_some_and(|s| s < 300) && !told.html {
        told.status = told.code.parse().ok().filter(|s| (400..600).contains(s));
    }
    told
}

fn failure_of(row: &Row, told: &Told<'_>, error: &ErrorBody, scene: &Scene<'_>) -> Failure {
    let mut failure = Failure::new(row.kind, row.scope, clean(&error.message, scene));
    failure.rule = Cow::Borrowed(row.rule);
    failure.status = error.status.filter(|s| *s != 0);
    failure.phase = scene.phase;
    failure.window = row.window;
    failure.evidence = match row.by {
        table::By::Message => Evidence::Text,
        table::By::Title | table::By::Status => Evidence::Status,
        _ => Evidence::Structured,
    };
    failure.wider = match row.also {
        Also::Nobody => Wider::None,
        Also::Group => Wider::Group,
        Also::Egress => Wider::ProviderEgress,
        Also::Everywhere => Wider::AllConnections,
        Also::Quota(name) => Wider::QuotaScope(Arc::from(name)),
    };
    failure.code = name_of(error).map(|code| clean(code, scene));
    failure.request_id = error.request_id.as_deref().filter(|id| id.len() <= 128).map(|id| clean(id, scene));
    if failure.status == Some(429) && failure.scope == Scope::Provider {
        // Whatever its names say: who is told to slow down talks to a provider that works.
        (failure.kind, failure.scope) = (FailureKind::RateLimited, Scope::Connection);
    }
    if matches!(row.kind, FailureKind::ContextTooLong | FailureKind::TooLarge) {
        let found = size::sizes(&told.message);
        failure.limits =
            Exceeded { asked: error.limits.asked.or(found.asked), max: error.limits.max.or(found.max) };
    }
    wait(&mut failure, row, told, scene);
    failure
}

/// When to try again: what the vendor says, unless a longer allowance is used up; else the row's fixed wait.
fn wait(failure: &mut Failure, row: &Row, told: &Told<'_>, scene: &Scene<'_>) {
    let timely = matches!(
        row.kind,
        FailureKind::RateLimited
            | FailureKind::QuotaExhausted
            | FailureKind::Overloaded
            | FailureKind::Unavailable
            | FailureKind::Timeout
            | FailureKind::CreditsExhausted
    );
    let named = if timely { reset::declared(told, scene.dialect, scene.now) } else { None };
    let midnight = scene.dialect.zone().midnight(scene.now);
    let fixed = match row.pause {
        Pause::None if row.window == Some(QuotaWindow::Day) => Some(midnight),
        Pause::None => None,
        Pause::Midnight => Some(midnight),
        Pause::Ms(ms) => Some(UnixMs(scene.now.0.saturating_add(ms))),
    };
    // A short wait beside a long allowance is the wait of another limit.
    let short = |at: UnixMs| {
        let long = matches!(row.window, Some(QuotaWindow::Day | QuotaWindow::Week | QuotaWindow::Month));
        long && at.0 - scene.now.0 < 3_600_000
    };
    (failure.retry_at, failure.declared) = match (named, fixed) {
        (Some(at), Some(end)) if short(at) => (Some(at.max(end)), false),
        (Some(at), None) if short(at) => (None, false),
        (Some(at), _) => (Some(at), true),
        (None, fixed) => (fixed, false),
    };
}

/// The vendor's own word: a code that is no number, else the type, else the number.
fn name_of(error: &ErrorBody) -> Option<&str> {
    let is_name = |text: &&str| {
        !text.is_empty() && text.len() <= 96 && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
    };
    let code = error.code.as_deref().filter(is_name);
    let number = |text: &&str| text.bytes().all(|b| b.is_ascii_digit());
    code.filter(|c| !number(c)).or_else(|| error.kind.as_deref().filter(is_name)).or(code)
}

fn clean(text: &str, scene: &Scene<'_>) -> String {
    let words = match scene.redactor {
        Some(redactor) => redactor.clean(text),
        None => Redactor::default().clean(text),
    };
    let end = (0..=MESSAGE.min(words.len())).rev().find(|at| words.is_char_boundary(*at)).unwrap_or(0);
    words.split_at_checked(end).map_or_else(String::new, |(kept, _)| {
        kept.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    })
}

fn is_page(headers: Option<&HeaderMap>) -> bool {
    let kind = headers.and_then(|h| h.get(http::header::CONTENT_TYPE)).and_then(|v| v.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        let mut rules: Vec<&str> = Vec::new();
        for text in dialect::TEXTS {
            let table = table::Table::read(text).unwrap();
            assert!(!table.rows.is_empty());
            rules.extend(table.rows.iter().map(|row| row.rule));
            for row in &table.rows {
                assert!(
                    row.kind != FailureKind::Banned || row.is_structured(),
                    "{}: only a documented name closes an account",
                    row.rule
                );
            }
        }
        let count = rules.len();
        rules.sort_unstable();
        rules.dedup();
        assert_eq!(rules.len(), count, "every rule has a name of its own");
        assert!(table::Table::read("a\tb").is_err(), "the check can fail");
    }

    #[test]
    fn every_status_has_a_rule_and_no_4xx_is_the_callers_fault() {
        for dialect in Dialect::ALL {
            for status in 100..600u16 {
                let scene = Scene { dialect, ..Scene::default() };
                for body in [&b""[..], b"{}", b"\xff\xfe", b"<html>", br#"{"error":{"message":"no"}}"#] {
                    let failure = classify(status, body, &scene);
                    assert!(!failure.rule.is_empty(), "{dialect:?} {status}");
                    assert_ne!(failure.kind, FailureKind::InvalidRequest, "{dialect:?} {status}");
                    assert_ne!(failure.kind, FailureKind::Banned, "{dialect:?} {status}");
                    if status == 429 {
                        assert_ne!(failure.scope, Scope::Provider, "{dialect:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_echoed_phrase_proves_nothing() {
        let body = br#"{"error":{"message":"cannot parse: my credit balance is too low","type":"x"}}"#;
        let sent = br#"{"messages":[{"content":"My credit balance is too low"}]}"#;
        let honest = classify(400, body, &Scene::default());
        assert_eq!(honest.kind, FailureKind::CreditsExhausted);
        let echoed = classify(400, body, &Scene { sent, ..Scene::default() });
        assert_eq!(echoed.kind, FailureKind::Unsupported);
    }

    #[test]
    fn the_vendors_clock_counts_not_ours() {
        let mut headers = HeaderMap::new();
        headers.insert("date", "Thu, 15 Jan 2026 12:00:00 GMT".parse().unwrap());
        headers.insert("retry-after", "Thu, 15 Jan 2026 12:00:30 GMT".parse().unwrap());
        let true_now = moment::date("2026-01-15T12:00:00Z").unwrap();
        for off in [-3_600_000, 0, 3_600_000] {
            let now = UnixMs(true_now.0 + off);
            let scene = Scene { headers: Some(&headers), now, ..Scene::default() };
            assert_eq!(classify(429, b"", &scene).retry_at, Some(UnixMs(now.0 + 30_000)), "{off}");
        }
    }
}
