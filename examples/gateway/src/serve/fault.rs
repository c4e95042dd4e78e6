//! Errors as clients read them: one value, rendered in the words of the API that was called.

use axum::body::Body;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use omniroute_core::UnixMs;
use omniroute_core::hub::ErrorBody;
use omniroute_core::wire::{self, Wire};
use omniroute_route::ChatError;
use serde_json::{Value, json};

use super::moment::rfc3339;

/// Whose words an answer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI's paths, and everything that is ours.
    OpenAi,
    /// `/v1/messages` and below.
    Anthropic,
    /// `/v1beta`.
    Gemini,
}

impl Dialect {
    /// By the path.
    pub(super) fn of(path: &str) -> Dialect {
        let path = path.strip_prefix("/api").filter(|rest| rest.starts_with("/v1")).unwrap_or(path);
        let below =
            |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let verb = path.rsplit_once(':').map(|(_, verb)| verb);
        let calls = matches!(verb, Some("generateContent" | "streamGenerateContent" | "countTokens"));
        if below("/v1/messages") {
            Dialect::Anthropic
        } else if below("/v1beta") || (calls && below("/v1/models")) {
            Dialect::Gemini
        } else {
            Dialect::OpenAi
        }
    }

    /// By the wire of a request.
    pub(super) fn wire(self) -> Wire {
        match self {
            Dialect::OpenAi => wire::OPENAI_CHAT,
            Dialect::Anthropic => wire::ANTHROPIC,
            Dialect::Gemini => wire::GEMINI,
        }
    }
}

/// Why there is no answer. Holds no key, no path of a file and no text of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) param: Option<String>,
    /// When trying again makes sense, and the same as seconds from now.
    pub(super) retry: Option<(UnixMs, u32)>,
    pub(super) details: Option<Value>,
    /// Methods that would have been right.
    pub(super) allow: Option<&'static str>,
    /// Of another type than the status says.
    pub(super) kind: Option<&'static str>,
    /// The whole body, where a path has a shape of its own.
    pub(super) body: Option<Value>,
}

impl Fault {
    pub(super) fn new(status: u16, code: &str, message: impl Into<String>) -> Fault {
        Fault { status, code: code.to_owned(), message: message.into(), ..Fault::default() }
    }

    /// A request that nobody can serve as it is.
    pub(super) fn bad(code: &str, message: impl Into<String>) -> Fault {
        Fault::new(400, code, message)
    }

    /// Which part of the request is meant.
    pub(super) fn at(mut self, param: impl Into<String>) -> Fault {
        self.param = Some(param.into());
        self
    }

    /// What a router says, with everybody who was asked.
    pub(super) fn of_chat(error: &ChatError, now: UnixMs) -> Fault {
        let mut fault = Fault::new(error.status, &error.code, error.message.clone());
        fault.retry = error.retry_at.zip(error.retry_after(now));
        if matches!(error.status, 400 | 404) && error.code.contains("model") {
            fault.param = Some("model".to_owned());
        }
        if let Some(receipt) = error.receipt() {
            let attempts: Vec<Value> = receipt
                .attempts
                .iter()
                .map(|attempt| {
                    let (provider, model) = parts(&attempt.key);
                    json!({
                        "provider": provider, "model": model,
                        "error": attempt.kind.map(omniroute_core::FailureKind::code),
                        "status": attempt.status,
                    })
                })
                .collect();
            if !attempts.is_empty() {
                fault.details = Some(json!({ "attempts": attempts }));
            }
        }
        fault
    }

    fn kind(&self) -> &'static str {
        self.kind.unwrap_or(match self.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            409 => "conflict_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        })
    }

    /// The type as Anthropic calls it.
    fn anthropic(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 | 529 => "overloaded_error",
            504 => "timeout_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    /// The body in the words of `dialect`.
    pub(super) fn render(&self, dialect: Dialect, request_id: &str) -> Vec<u8> {
        if let Some(body) = &self.body {
            return body.to_string().into_bytes();
        }
        if dialect != Dialect::OpenAi {
            let mut error = ErrorBody::own(&self.code, self.message.clone());
            error.status = Some(self.status);
            error.param.clone_from(&self.param);
            error.kind = (dialect == Dialect::Anthropic).then(|| self.anthropic().to_owned());
            error.request_id = Some(request_id.to_owned());
            return dialect.wire().write_error(&error).to_vec();
        }
        let mut error = json!({
            "message": self.message, "type": self.kind(), "code": self.code, "param": self.param,
            "request_id": request_id,
            "retry_at": self.retry.map(|(at, _)| rfc3339(at)),
        });
        if let (Some(details), Value::Object(error)) = (&self.details, &mut error) {
            error.insert("details".to_owned(), details.clone());
        }
        json!({ "error": error }).to_string().into_bytes()
    }

    /// The whole answer.
    pub(super) fn response(&self, dialect: Dialect, request_id: &str) -> Response {
        let mut response = Response::new(Body::from(self.render(dialect, request_id)));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((_, seconds)) = self.retry {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"omniroute\""));
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

/// Provider and model of a target's key; its connection is nobody's business.
pub(super) fn parts(key: &str) -> (&str, &str) {
    let (provider, rest) = key.split_once('/').unwrap_or((key, ""));
    (provider, rest.split_once('/').map_or(rest, |(_, model)| model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_answered_in_its_own_words() {
        for (path, dialect) in [
            ("/v1/chat/completions", Dialect::OpenAi),
            ("/v1/messages", Dialect::Anthropic),
            ("/api/v1/messages/count_tokens", Dialect::Anthropic),
            ("/v1/messagesx", Dialect::OpenAi),
            ("/v1beta/models/m:generateContent", Dialect::Gemini),
            ("/v1/models/p/m:streamGenerateContent", Dialect::Gemini),
            ("/v1/models/p/m:latest", Dialect::OpenAi),
            ("/api/combos", Dialect::OpenAi),
        ] {
            assert_eq!(Dialect::of(path), dialect, "{path}");
        }
        let fault = Fault::new(429, "rate_limit_exceeded", "slow down").at("model");
        let read = |dialect| -> Value { serde_json::from_slice(&fault.render(dialect, "req_1")).unwrap() };
        let open = read(Dialect::OpenAi);
        assert_eq!(open["error"]["type"], "rate_limit_error");
        assert_eq!(open["error"]["param"], "model");
        assert_eq!(open["error"]["request_id"], "req_1");
        let anthropic = read(Dialect::Anthropic);
        assert_eq!(
            (&anthropic["type"], &anthropic["error"]["type"]),
            (&json!("error"), &json!("rate_limit_error"))
        );
        let gemini = read(Dialect::Gemini);
        assert_eq!(
            (&gemini["error"]["code"], &gemini["error"]["status"]),
            (&json!(429), &json!("RESOURCE_EXHAUSTED"))
        );
    }

    #[test]
    fn no_account_is_named() {
        assert_eq!(parts("openai/work/gpt-5"), ("openai", "gpt-5"));
        assert_eq!(parts("openrouter/me/meta/llama-3"), ("openrouter", "meta/llama-3"));
    }
}
