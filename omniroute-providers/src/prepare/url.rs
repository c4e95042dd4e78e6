//! The address of a call: placeholders filled, path added, host compared with the row's.

use http::Uri;

use super::error::PrepareError;
use super::{Endpoint, Settings};
use crate::data::{ProviderRow, WireId};

/// A finished address.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) uri: Uri,
    /// Host of the address.
    pub(crate) host: String,
    /// Whether that is the host which the row names.
    pub(crate) is_row_host: bool,
    /// Host of the row, with its placeholders.
    pub(crate) row_host: String,
}

/// The address for one call.
pub(crate) fn build(
    row: &ProviderRow<'_>,
    point: &Endpoint<'_>,
    settings: &Settings<'_>,
) -> Result<Target, PrepareError> {
    let missing = || PrepareError::MissingBaseUrl { provider: row.id.to_string() };
    let template = settings.base_url.or(point.base_url).ok_or_else(missing)?;
    let mut base = fill(row, template, settings)?;
    if is_vertex(row) && value(settings, "region") == Some("global") {
        base = base.replace("//global-aiplatform.", "//aiplatform.");
    }
    let base = base.trim_end_matches('/');
    let name = if settings.base_url.is_some() { "base_url" } else { template_setting(template) };
    let bad = |rule| PrepareError::BadSetting { provider: row.id.to_string(), name: name.to_owned(), rule };
    let parts = Origin::of(base).ok_or_else(|| bad("an address with https, a host and a plain path"))?;
    if parts.scheme == "http" && !is_loopback(parts.host) {
        return Err(PrepareError::PlainHttp { provider: row.id.to_string(), host: parts.host.to_owned() });
    }
    let row_host = point.base_url.map_or("no known host", |url| host_of(url).unwrap_or(url));
    let is_row_host = point.base_url.is_some_and(|url| same_origin(url, &parts, is_vertex(row)));
    let path = match settings.base_url {
        // An own base address may already be the whole one.
        Some(_) if base.ends_with(plain_path(point.wire)) && !plain_path(point.wire).is_empty() => {
            String::new()
        }
        _ => path(row, point, settings, base)?,
    };
    let whole = format!("{base}{path}");
    let uri = Uri::try_from(whole).map_err(|_| bad("an address with https, a host and a plain path"))?;
    Ok(Target { uri, host: parts.host.to_owned(), is_row_host, row_host: row_host.to_owned() })
}

/// Whether the row is one of Google's Vertex rows, whose addresses are their own.
pub(crate) fn is_vertex(row: &ProviderRow<'_>) -> bool {
    matches!(row.id.as_ref(), "vertex" | "vertex-partner")
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let v4 = || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
    host.eq_ignore_ascii_case("localhost") || host == "[::1]" || v4()
}

/// Scheme, host and port of an address; `None` if it is not one we call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

impl<'a> Origin<'a> {
    /// Takes an address apart. No user, no query, no fragment, nothing that a server could read as another path.
    pub(crate) fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let default = match scheme {
            "https" => 443,
            "http" => 80,
            _ => return None,
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/:@%[]{}".contains(&b);
        if !rest.bytes().all(plain) || rest.split('/').any(|step| step == "." || step == "..") {
            return None;
        }
        let authority = rest.split('/').next()?;
        if authority.contains(['@', '%']) {
            return None;
        }
        let bracket = authority.find(']').map_or(0, |at| at + 1);
        let (_, behind) = authority.split_at_checked(bracket)?;
        let (host, port) = match behind.rfind(':') {
            Some(at) => {
                let (host, port) = authority.split_at_checked(bracket + at)?;
                (host, port.strip_prefix(':')?.parse().ok()?)
            }
            None => (authority, default),
        };
        let labels = host.strip_prefix('[').is_some() || host.split('.').all(|label| !label.is_empty());
        (!host.is_empty() && labels).then_some(Origin { scheme, host, port })
    }
}

/// Host of an address that may have placeholders.
fn host_of(url: &str) -> Option<&str> {
    Origin::of(url).map(|origin| origin.host)
}

/// Whether an address is of the origin that the row's template names. A placeholder stands for letters, digits and
/// dashes, never for a whole host.
fn same_origin(template: &str, given: &Origin<'_>, vertex: bool) -> bool {
    let Some(row) = Origin::of(template).filter(|_| !template.starts_with('{')) else { return false };
    let global = vertex && given.host == "aiplatform.googleapis.com";
    row.scheme == given.scheme && row.port == given.port && (global || fits(row.host, given.host))
}

fn fits(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_ascii_lowercase(), host.to_ascii_lowercase());
    let mut rest = host.as_str();
    let mut pieces = pattern.split(['{', '}']).enumerate().peekable();
    while let Some((at, piece)) = pieces.next() {
        if at % 2 == 0 {
            let Some(after) = rest.strip_prefix(piece) else { return false };
            rest = after;
        } else {
            // The placeholder ends where the literal behind it begins.
            let stop = pieces.peek().map_or("", |(_, literal)| *literal);
            let end = if stop.is_empty() { Some(rest.len()) } else { rest.find(stop) };
            let Some((value, after)) = end.and_then(|end| rest.split_at_checked(end)) else { return false };
            if !is_label(value) {
                return false;
            }
            rest = after;
        }
    }
    rest.is_empty()
}

/// Puts values into placeholders. In a host a value is part of a label, in a path one step.
fn fill(row: &ProviderRow<'_>, template: &str, settings: &Settings<'_>) -> Result<String, PrepareError> {
    let mut out = String::with_capacity(template.len());
    for (at, piece) in template.split(['{', '}']).enumerate() {
        if at % 2 == 0 {
            out.push_str(piece);
            continue;
        }
        let missing =
            || PrepareError::MissingSetting { provider: row.id.to_string(), name: piece.to_owned() };
        let given = value(settings, piece).map(str::trim).filter(|v| !v.is_empty()).ok_or_else(missing)?;
        let bad =
            |rule| PrepareError::BadSetting { provider: row.id.to_string(), name: piece.to_owned(), rule };
        let in_host = out.split_once("://").is_none_or(|(_, rest)| !rest.contains('/'));
        match (out.is_empty(), in_host) {
            (true, _) if Origin::of(given).is_none() => {
                return Err(bad("an address with https, a host and a plain path"));
            }
            (false, true) if !is_label(given) => return Err(bad("letters, digits and dashes")),
            (false, false) if !given.bytes().all(is_step) || given.starts_with('.') => {
                return Err(bad("letters, digits, dashes, dots and underscores"));
            }
            _ => out.push_str(given),
        }
    }
    Ok(out)
}

/// The path behind the base address.
fn path(
    row: &ProviderRow<'_>,
    point: &Endpoint<'_>,
    settings: &Settings<'_>,
    base: &str,
) -> Result<String, PrepareError> {
    if let Some(path) = point.path {
        return Ok(path.to_owned());
    }
    let stream = settings.stream;
    let model = || {
        let missing =
            || PrepareError::MissingSetting { provider: row.id.to_string(), name: "model".to_owned() };
        let model = Some(settings.model).filter(|model| !model.is_empty()).ok_or_else(missing)?;
        one_step(row, "model", model)
    };
    match point.wire {
        WireId::Gemini => {
            let folder = if base.ends_with("/models") { "" } else { "/models" };
            let name = model()?;
            let name = escape(name.strip_prefix("models/").unwrap_or(name));
            let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            Ok(format!("{folder}/{name}:{verb}"))
        }
        WireId::BedrockConverse => {
            let verb = if stream { "converse-stream" } else { "converse" };
            Ok(format!("/model/{}/{verb}", escape_all(model()?)))
        }
        WireId::AnthropicMessages if is_vertex(row) => {
            let verb = if stream { "streamRawPredict" } else { "rawPredict" };
            Ok(format!("/publishers/anthropic/models/{}:{verb}", escape(model()?)))
        }
        wire if row.id == "azure-openai" => azure(row, wire, settings),
        WireId::OpenaiChat if is_vertex(row) => Ok("/endpoints/openapi/chat/completions".to_owned()),
        wire => Ok(plain_path(wire).to_owned()),
    }
}

/// A name that stands in a path: a dot or two would be read as another path.
fn one_step<'a>(row: &ProviderRow<'_>, name: &str, text: &'a str) -> Result<&'a str, PrepareError> {
    let rule = "a name that is not a step of a path";
    let bad = || PrepareError::BadSetting { provider: row.id.to_string(), name: name.to_owned(), rule };
    if matches!(text, "." | "..") { Err(bad()) } else { Ok(text) }
}

/// Azure's two forms: one path for all models, or one for each deployment with a dated version.
fn azure(row: &ProviderRow<'_>, wire: WireId, settings: &Settings<'_>) -> Result<String, PrepareError> {
    let bad = |name: &str, rule| PrepareError::BadSetting {
        provider: row.id.to_string(),
        name: name.to_owned(),
        rule,
    };
    match (value(settings, "deployment"), value(settings, "api_version")) {
        (Some(deployment), Some(version)) if wire == WireId::OpenaiChat => {
            if version.is_empty() || !version.bytes().all(is_step) {
                return Err(bad("api_version", "a dated version"));
            }
            let deployment = escape_all(one_step(row, "deployment", deployment)?);
            Ok(format!("/openai/deployments/{deployment}/chat/completions?api-version={version}"))
        }
        (Some(_), None) => {
            Err(PrepareError::MissingSetting { provider: row.id.to_string(), name: "api_version".to_owned() })
        }
        _ => Ok(format!("/openai/v1{}", plain_path(wire))),
    }
}

/// The usual path of a wire; empty where it depends on the call.
fn plain_path(wire: WireId) -> &'static str {
    match wire {
        WireId::OpenaiChat => "/chat/completions",
        WireId::OpenaiResponses => "/responses",
        WireId::AnthropicMessages => "/messages",
        WireId::Ollama => "/api/chat",
        WireId::Cohere => "/v2/chat",
        _ => "",
    }
}

/// A name as one step of a path. `@` and `:` may stand there.
fn escape(text: &str) -> String {
    percent(text, b"-._~@")
}

/// A name as one step of a path with nothing but letters, digits and `-._~` left.
fn escape_all(text: &str) -> String {
    percent(text, b"-._~")
}

fn percent(text: &str, kept: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)]));
            out.extend(['%', high, low]);
        }
    }
    out
}

fn value<'a>(settings: &Settings<'a>, name: &str) -> Option<&'a str> {
    settings.values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}

/// The first placeholder of a template, to name in an error.
fn template_setting(template: &str) -> &str {
    template.split(['{', '}']).nth(1).unwrap_or("base_url")
}

fn is_label(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(plain)
}

fn is_step(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_told_apart() {
        let cases = [
            ("https://api.x.ai/v1", Some(("https", "api.x.ai", 443))),
            ("http://localhost:11434", Some(("http", "localhost", 11434))),
            ("http://[::1]:8080/v1", Some(("http", "[::1]", 8080))),
            ("https://user@evil.example/v1", None),
            ("https://api.x.ai/v1/../v2", None),
            ("https://api.x.ai/v1?key=1", None),
            ("https://api.x.ai\\@evil.example", None),
            ("https://", None),
            ("https://.example", None),
            ("ftp://api.x.ai", None),
            ("api.x.ai/v1", None),
            ("https://api.x.ai:99999/v1", None),
        ];
        for (url, parts) in cases {
            let found = Origin::of(url).map(|o| (o.scheme, o.host, o.port));
            assert_eq!(found, parts, "{url}");
        }
    }

    #[test]
    fn placeholders_stand_for_part_of_a_label() {
        let cases = [
            ("{r}.openai.azure.com", "acme.openai.azure.com", true),
            ("{r}.openai.azure.com", "a.b.openai.azure.com", false),
            ("{r}.openai.azure.com", "acme.openai.azure.com.evil.example", false),
            ("{r}.openai.azure.com", ".openai.azure.com", false),
            ("{w}--{a}.modal.run", "team--app.modal.run", true),
            ("{r}-aiplatform.googleapis.com", "europe-west1-aiplatform.googleapis.com", true),
            ("api.x.ai", "API.x.ai", true),
            ("api.x.ai", "api.x.ai.evil.example", false),
        ];
        for (pattern, host, same) in cases {
            assert_eq!(fits(pattern, host), same, "{pattern} {host}");
        }
    }

    #[test]
    fn loopback_is_this_machine_only() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "127.0.0.1.example", "10.0.0.1", "0.0.0.0", "[::2]", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
