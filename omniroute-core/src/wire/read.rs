//! Reading pieces that several wires write alike.

use std::borrow::Cow;

use bytes::Bytes;

use super::fields;
use super::json::JsonWriter;
use crate::doc::{Doc, Kind, NodeId};
use crate::failure::Exceeded;
use crate::hub::{CacheMark, ErrorBody, Extra, Json, Source, Str};

/// The values of `names` in `object`; everything else goes to `extra`. `null` is the same as absent; of several
/// members with one name the last counts.
pub fn take<'d, const N: usize>(
    doc: &'d Doc,
    object: NodeId,
    names: [&'static str; N],
    extra: &mut Extra<'d>,
) -> [Option<NodeId>; N] {
    let mut other = |key, value: NodeId| {
        if doc.kind(value) != Kind::Null {
            extra.push((Str::Literal(key), Json::at(doc, value)));
        }
    };
    let found = fields::fields(doc, object, [], names, &mut other);
    let mut found = found.map_or([None; N], |([], found)| found); // nothing is required to be unique: cannot fail
    for slot in &mut found {
        *slot = slot.filter(|n| doc.kind(*n) != Kind::Null);
    }
    found
}

/// As [`take`], ignoring what is not named.
pub fn pick<const N: usize>(doc: &Doc, object: NodeId, names: [&'static str; N]) -> [Option<NodeId>; N] {
    let mut found = fields::last(doc, object, names);
    for slot in &mut found {
        *slot = slot.filter(|n| doc.kind(*n) != Kind::Null);
    }
    found
}

/// A string.
pub fn string<'d>(doc: &'d Doc, node: Option<NodeId>) -> Option<Str<'d>> {
    node.and_then(|n| Str::at(doc, n))
}

/// A string's characters.
pub fn chars(doc: &Doc, node: Option<NodeId>) -> Option<String> {
    node.and_then(|n| doc.str(n)).map(Cow::into_owned)
}

/// Any value.
pub fn json<'d>(doc: &'d Doc, node: Option<NodeId>) -> Option<Json<'d>> {
    node.map(|n| Json::at(doc, n))
}

/// Whether a string equals `text`.
pub fn is(doc: &Doc, node: Option<NodeId>, text: &str) -> bool {
    node.and_then(|n| doc.json_str(n)).is_some_and(|s| s.is(text))
}

/// `true` or `false`.
pub fn boolean(doc: &Doc, node: Option<NodeId>) -> Option<bool> {
    node.and_then(|n| doc.bool(n))
}

/// A count; a negative one is none.
pub fn count(doc: &Doc, node: Option<NodeId>) -> Option<u64> {
    node.and_then(|n| doc.integer(n)).and_then(|n| u64::try_from(n).ok())
}

/// The mark `{"type": "ephemeral", "ttl": ..}`; nothing for a sort that is not known.
pub fn cache_mark(doc: &Doc, node: Option<NodeId>) -> Option<CacheMark> {
    let [kind, ttl] = pick(doc, node?, ["type", "ttl"]);
    if !is(doc, kind, "ephemeral") && !is(doc, kind, "default") {
        return None;
    }
    CacheMark::of(chars(doc, ttl).as_deref())
}

/// An address, or the bytes themselves in a data address.
pub fn source_of(url: Str<'_>) -> Source<'_> {
    let text = url.clone().into_chars();
    let split = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match (split, &text) {
        (Some(_), Cow::Borrowed(text)) => {
            let (mime, data) =
                text.strip_prefix("data:").and_then(|r| r.split_once(";base64,")).unwrap_or(("", ""));
            Source::Base64 { mime: (!mime.is_empty()).then(|| mime.into()), data: data.into() }
        }
        (Some((mime, data)), _) => Source::Base64 {
            mime: (!mime.is_empty()).then(|| mime.to_owned().into()),
            data: data.to_owned().into(),
        },
        (None, _) => Source::Url { url, mime: None },
    }
}

/// Writes the mark that [`cache_mark`] reads.
pub(crate) fn write_cache_mark(out: &mut JsonWriter, mark: Option<CacheMark>) {
    let Some(mark) = mark else { return };
    out.key("cache_control").object().key("type").text("ephemeral");
    if let Some(ttl) = mark.ttl() {
        out.key("ttl").text(ttl);
    }
    out.end_object();
}

/// Reads the body of a failed call, whoever wrote it: all vendors use a few shapes, and hosts of one wire use the
/// shapes of others.
pub fn error_body(status: u16, body: &[u8]) -> ErrorBody {
    let text = String::from_utf8_lossy(body);
    let mut error = match Doc::parse(Bytes::copy_from_slice(body)) {
        Ok(doc) => structured(&doc, doc.root()),
        Err(_) => plain(&text),
    };
    error.status = Some(status);
    let unknown = error.message.is_empty() && error.kind.is_none() && error.code.is_none() && !error.html;
    if unknown && !matches!(text.trim(), "" | "null" | "{}" | "[]") {
        error.message = plain_json(&text); // a shape that nobody knows
    }
    if error.message.is_empty() {
        error.message = format!("the vendor answered with status {status} and no message");
    }
    error
}

/// Reads an error object out of a document: a body, or an event of a stream.
pub fn structured(doc: &Doc, root: NodeId) -> ErrorBody {
    let root = doc.elements(root).next().unwrap_or(root); // one vendor wraps it in a list
    let names =
        ["error", "message", "type", "code", "param", "request_id", "detail", "__type", "id", "status"];
    let [inner, message, kind, code, param, request, detail, aws, id, status] = pick(doc, root, names);
    let mut error = ErrorBody::default();
    let object = inner.filter(|n| doc.kind(*n) == Kind::Object);
    if let Some(object) = object {
        let names =
            ["message", "type", "code", "param", "status", "details", "n_ctx", "n_prompt_tokens", "metadata"];
        let [message, kind, code, param, status, details, max, asked, metadata] = pick(doc, object, names);
        error.message = words(doc, message);
        error.kind = scalar(doc, kind).or_else(|| scalar(doc, status));
        error.code = scalar(doc, code);
        error.param = scalar(doc, param);
        error.details = details.or(metadata).map(|n| Json::at(doc, n)).and_then(short);
        error.limits = Exceeded { asked: count(doc, asked), max: count(doc, max) };
    } else {
        error.message = words(doc, inner);
        // Where the error is a text, its type and code stand beside it.
        error.kind = scalar(doc, kind).or_else(|| scalar(doc, aws));
        error.code = scalar(doc, code);
        error.param = scalar(doc, param);
        error.request_id = scalar(doc, id);
        error.status = count(doc, status).and_then(|n| u16::try_from(n).ok());
    }
    if error.message.is_empty() {
        error.message = words(doc, message);
    }
    if error.message.is_empty() {
        error.message = words(doc, detail);
    }
    error.request_id = scalar(doc, request).or(error.request_id);
    error
}

/// An error in the shape of OpenAI, which most clients read.
pub(crate) fn write_plain_error(error: &ErrorBody) -> Bytes {
    let mut out = JsonWriter::default();
    out.object();
    write_error_member(error, &mut out);
    out.end_object();
    out.finish().into()
}

/// The member `error` in the shape of OpenAI.
pub(crate) fn write_error_member(error: &ErrorBody, out: &mut JsonWriter) {
    out.key("error").object();
    out.key("message").text(&error.message);
    out.key("type").text(error.kind.as_deref().unwrap_or("server_error"));
    out.key("param");
    match &error.param {
        Some(param) => out.text(param),
        None => out.null(),
    };
    out.key("code");
    match &error.code {
        Some(code) => out.text(code),
        None => out.null(),
    };
    out.end_object();
}

fn words(doc: &Doc, node: Option<NodeId>) -> String {
    let Some(node) = node else { return String::new() };
    let text = doc.str(node).unwrap_or_else(|| Cow::Borrowed(doc.raw(node)));
    crate::hub::cut(&text, ErrorBody::MAX).to_owned()
}

fn scalar(doc: &Doc, node: Option<NodeId>) -> Option<String> {
    let node = node?;
    match doc.kind(node) {
        Kind::String => doc.str(node).map(|s| crate::hub::cut(&s, 256).to_owned()),
        Kind::Number => Some(doc.raw(node).to_owned()),
        _ => None,
    }
}

fn short(json: Json<'_>) -> Option<Json<'static>> {
    (json.raw().len() <= ErrorBody::MAX).then(|| json.into_owned())
}

/// A JSON text: its characters if it is a string, else as it is.
fn plain_json(text: &str) -> String {
    let chars = Json::of(text.trim()).text().unwrap_or_else(|| text.trim().to_owned());
    crate::hub::cut(&chars, ErrorBody::MAX).to_owned()
}

fn plain(text: &str) -> ErrorBody {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    let html = trimmed.starts_with('<');
    let message = if html { title(trimmed) } else { trimmed };
    ErrorBody { message: crate::hub::cut(message, ErrorBody::MAX).to_owned(), html, ..ErrorBody::default() }
}

/// The title of an HTML page; nothing if it has none.
fn title(page: &str) -> &str {
    let find = |word: &str| page.find(word).or_else(|| page.find(&word.to_ascii_uppercase()));
    let (Some(start), Some(end)) = (find("<title"), find("</title")) else { return "" };
    let Some(inner) = page.get(start..end) else { return "" };
    inner.split_once('>').map_or("", |(_, title)| title.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_vendors() {
        let rows = [
            (
                r#"{"error":{"message":"m","type":"t","code":"c","param":"p"}}"#,
                ("m", Some("t"), Some("c"), Some("p")),
            ),
            (
                r#"{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}"#,
                ("m", Some("t"), None, None),
            ),
            (
                r#"{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}"#,
                ("m", Some("NOT_FOUND"), Some("404"), None),
            ),
            (r#"[{"error":{"code":400,"message":"m"}}]"#, ("m", None, Some("400"), None)),
            (r#"{"object":"error","message":"m","type":"t","code":7}"#, ("m", Some("t"), Some("7"), None)),
            (r#"{"error":"m","type":"t"}"#, ("m", Some("t"), None, None)),
            (r#"{"detail":"m"}"#, ("m", None, None, None)),
            (r#"{"__type":"t","message":"m"}"#, ("m", Some("t"), None, None)),
            ("<html><head><title>502 Bad Gateway</title>", ("502 Bad Gateway", None, None, None)),
            ("upstream down\n", ("upstream down", None, None, None)),
        ];
        for (body, (message, kind, code, param)) in rows {
            let error = error_body(500, body.as_bytes());
            let found = (
                error.message.as_str(),
                error.kind.as_deref(),
                error.code.as_deref(),
                error.param.as_deref(),
            );
            assert_eq!(found, (message, kind, code, param), "{body}");
        }
        for (body, message) in
            [("\"quota exceeded\"", "quota exceeded"), ("{\"msg\":\"over\"}", "{\"msg\":\"over\"}")]
        {
            assert_eq!(error_body(500, body.as_bytes()).message, message, "what cannot be read is text");
        }
        for body in ["", " {} ", "[]", "null", "\"\""] {
            assert!(error_body(503, body.as_bytes()).message.contains("no message"), "{body}");
        }
        let empty = error_body(503, b"");
        assert_eq!(empty.message, "the vendor answered with status 503 and no message");
        let sized = error_body(400, br#"{"error":{"message":"m","n_ctx":8,"n_prompt_tokens":9}}"#);
        assert_eq!(sized.limits, Exceeded { asked: Some(9), max: Some(8) });
    }
}
