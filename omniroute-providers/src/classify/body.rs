//! What an error answer tells, from wherever in body and headers the vendor put it.

use http::HeaderMap;
use omniroute_core::hub::ErrorBody;
use omniroute_core::wire::read;
use omniroute_core::{Doc, Kind, NodeId};

/// Largest body that is read as JSON; of a larger one only the start is looked at, as text.
const MAX_JSON: usize = 64 << 10;

/// Deepest look for an error inside an error.
const MAX_NESTING: usize = 2;

/// Evidence, in lower case where it is compared.
#[derive(Debug, Default)]
pub(crate) struct Told<'h> {
    pub(crate) status: Option<u16>,
    pub(crate) kind: String,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) html: bool,
    /// Reasons of structured details.
    pub(crate) reasons: Vec<String>,
    /// Ids and metrics of exhausted allowances.
    pub(crate) quotas: Vec<String>,
    /// Times of the body: member and value as text.
    pub(crate) times: Vec<(Member, String)>,
    headers: Option<&'h HeaderMap>,
}

/// Members that name a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Member {
    /// Seconds, duration or date.
    Any,
    /// Milliseconds from now.
    Ms,
}

const TIMES: [(&str, Member); 11] = [
    ("retryDelay", Member::Any),
    ("retryAfter", Member::Any),
    ("retry_after", Member::Any),
    ("retry_after_seconds", Member::Any),
    ("retryAfterMs", Member::Ms),
    ("retry_after_ms", Member::Ms),
    ("resets_in_seconds", Member::Any),
    ("resetAt", Member::Any),
    ("reset_at", Member::Any),
    ("resets_at", Member::Any),
    ("resetTime", Member::Any),
];

/// Reads a body: the usual shapes, then those that only some vendors have.
pub(crate) fn error_of(status: Option<u16>, headers: Option<&HeaderMap>, body: &[u8]) -> ErrorBody {
    let short = if body.len() > MAX_JSON { body.get(..ErrorBody::MAX).unwrap_or(body) } else { body };
    let doc = Doc::parse(bytes::Bytes::copy_from_slice(short)).ok();
    let quoted = doc.as_ref().and_then(|doc| read::chars(doc, Some(doc.root())));
    // JSON inside a JSON string is opened once.
    let inner = quoted.as_deref().filter(|text| text.trim_start().starts_with(['{', '[']));
    let mut error = read::error_body(status.unwrap_or(0), inner.map_or(short, str::as_bytes));
    let odd = doc.as_ref().is_some_and(|doc| odd_shapes(doc, &mut error));
    if !odd && let Some(inner) = nested(&error.message, MAX_NESTING) {
        let keep = error.clone();
        error = inner;
        error.kind = error.kind.or(keep.kind);
        error.request_id = error.request_id.or(keep.request_id);
    }
    error.status = error.status.filter(|s| *s != 0).or(status);
    if let Some(status) = status
        && status >= 300
    {
        error.status = Some(status);
    }
    if let Some(kind) = header(headers, "x-amzn-errortype") {
        error.kind = Some(kind.to_owned());
    }
    if error.request_id.is_none() {
        let names = ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "cf-ray"];
        error.request_id = names.iter().find_map(|name| header(headers, name)).map(str::to_owned);
    }
    error
}

/// Shapes of single vendors. True if the message is theirs and final.
fn odd_shapes(doc: &Doc, error: &mut ErrorBody) -> bool {
    let root = doc.root();
    if doc.kind(root) != Kind::Object {
        return false;
    }
    let text = |node: Option<NodeId>| read::chars(doc, node);
    let plain = |node: Option<NodeId>| {
        node.and_then(|n| match doc.kind(n) {
            Kind::Number => Some(doc.raw(n).to_owned()),
            _ => read::chars(doc, Some(n)),
        })
    };
    let names = ["base_resp", "errors", "msg", "error_msg", "error_code", "success", "error"];
    let [base, errors, msg, error_msg, error_code, _, inner] = read::pick(doc, root, names);
    if let Some(base) = base {
        let [code, message] = read::pick(doc, base, ["status_code", "status_msg"]);
        if read::count(doc, code).is_some_and(|c| c != 0) {
            error.code = plain(code);
            error.message = text(message).unwrap_or_default();
            return true;
        }
    }
    if inner.is_none()
        && let Some(first) = errors.and_then(|list| doc.elements(list).next())
    {
        let [code, message] = read::pick(doc, first, ["code", "message"]);
        if let Some(message) = text(message) {
            error.message = message;
            error.code = plain(code).or(error.code.take());
            return true;
        }
    }
    if let Some(words) = text(error_msg).or_else(|| text(msg)) {
        error.message = words;
        error.code = plain(error_code).or(error.code.take());
    }
    false
}

/// An error inside the text of an error.
fn nested(message: &str, depth: usize) -> Option<ErrorBody> {
    let start = message.find('{')?;
    let (_, text) = message.split_at_checked(start)?;
    if depth == 0 || !text.trim_end().ends_with('}') {
        return None;
    }
    let doc = Doc::parse(text.trim_end().to_owned()).ok()?;
    let error = read::structured(&doc, doc.root());
    if error.message.is_empty() {
        return None;
    }
    nested(&error.message, depth - 1).or(Some(error))
}

impl<'h> Told<'h> {
    /// Gathers the evidence of an error.
    pub(crate) fn of(error: &ErrorBody, body: Option<&Doc>, headers: Option<&'h HeaderMap>) -> Self {
        let lower = |text: &Option<String>| text.as_deref().unwrap_or_default().to_lowercase();
        let mut told = Told {
            status: error.status.filter(|s| *s != 0),
            kind: short_type(&lower(&error.kind)).to_owned(),
            code: lower(&error.code),
            message: error.message.to_lowercase(),
            html: error.html,
            headers,
            ..Told::default()
        };
        if let Some(doc) = body {
            told.members(doc, doc.root());
            let [error, response] = read::pick(doc, doc.root(), ["error", "response"]);
            let inner = response.and_then(|r| read::pick(doc, r, ["error"])[0]);
            for node in [error, inner].into_iter().flatten() {
                told.members(doc, node);
            }
        }
        let details = error.details.as_ref().and_then(|json| Doc::parse(json.raw().to_owned()).ok());
        if let Some(doc) = &details {
            told.details(doc);
        }
        told
    }

    /// A header that is plain text of a sane length; of a repeated one the last.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(self.headers, name)
    }

    fn members(&mut self, doc: &Doc, node: NodeId) {
        let found = read::pick(doc, node, TIMES.map(|(name, _)| name));
        for (value, (_, member)) in found.into_iter().zip(TIMES) {
            let text = value.and_then(|n| match doc.kind(n) {
                Kind::Number => Some(doc.raw(n).to_owned()),
                _ => read::chars(doc, Some(n)),
            });
            self.times.extend(text.map(|text| (member, text)));
        }
    }

    /// A list of details, each with a type; or one object of them.
    fn details(&mut self, doc: &Doc) {
        let root = doc.root();
        let list: Vec<NodeId> = match doc.kind(root) {
            Kind::Array => doc.elements(root).take(32).collect(),
            _ => vec![root],
        };
        for detail in list {
            self.members(doc, detail);
            let [reason, violations] = read::pick(doc, detail, ["reason", "violations"]);
            self.reasons.extend(read::chars(doc, reason).map(|r| r.to_lowercase()));
            for violation in violations.into_iter().flat_map(|v| doc.elements(v)).take(32) {
                let [id, metric] = read::pick(doc, violation, ["quotaId", "quotaMetric"]);
                let ids = [id, metric].into_iter().filter_map(|n| read::chars(doc, n));
                self.quotas.extend(ids.map(|id| id.to_lowercase()));
            }
        }
    }
}

/// The error of the vendor behind an aggregator, from the details.
pub(crate) fn raw_error(error: &ErrorBody) -> Option<ErrorBody> {
    let doc = Doc::parse(error.details.as_ref()?.raw().to_owned()).ok()?;
    if doc.kind(doc.root()) != Kind::Object {
        return None;
    }
    let [raw] = read::pick(&doc, doc.root(), ["raw"]);
    let text = match doc.kind(raw?) {
        Kind::Object => doc.raw(raw?).to_owned(),
        _ => read::chars(&doc, raw)?,
    };
    let mut inner = error_of(error.status, None, text.as_bytes());
    inner.status = error.status;
    (!inner.html).then_some(inner)
}

/// `com.amazon.coral.service#ThrottlingException:http://..` is `ThrottlingException`.
fn short_type(kind: &str) -> &str {
    let behind = kind.rsplit('#').next().unwrap_or(kind);
    behind.split_once(":http").map_or(behind, |(name, _)| name).trim()
}

fn header<'h>(headers: Option<&'h HeaderMap>, name: &str) -> Option<&'h str> {
    let value = headers?.get_all(name).iter().next_back()?;
    let text = value.to_str().ok()?.trim();
    (!text.is_empty() && text.len() <= 256).then_some(text)
}
