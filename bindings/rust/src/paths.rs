//! Which wire a request to a path speaks, and where a wire keeps its messages: what adapters look at before they touch a
//! body.

use bytes::Bytes;
use omniroute_core::hub::ErrorBody;
use omniroute_core::wire;

/// The wire of the API behind the path of a URL; `None` for everything that is no chat request.
///
/// ```
/// use omniroute::wire_of_path;
/// assert_eq!(wire_of_path("/v1/chat/completions"), Some("openai-chat"));
/// assert_eq!(wire_of_path("/v1/embeddings"), None);
/// ```
pub fn wire_of_path(path: &str) -> Option<&'static str> {
    const ENDINGS: &[(&str, &str)] = &[
        ("/chat/completions", "openai-chat"),
        ("/responses", "openai-responses"),
        ("/messages", "anthropic-messages"),
        (":generateContent", "gemini"),
        (":streamGenerateContent", "gemini"),
    ];
    let path = path.trim_end_matches('/');
    ENDINGS.iter().find(|(ending, _)| path.ends_with(ending)).map(|(_, wire)| *wire)
}

/// The member of a request in which a wire keeps its messages; that of most wires if none is named or it is not known.
///
/// ```
/// use omniroute::list_member;
/// assert_eq!(list_member(Some("responses")), "input");
/// assert_eq!(list_member(None), "messages");
/// ```
pub fn list_member(wire: Option<&str>) -> &'static str {
    match wire.and_then(wire::by_id).map(|wire| wire.id()) {
        Some("openai-responses") => "input",
        Some("gemini") => "contents",
        _ => "messages",
    }
}

/// An error as a client of a wire reads it; that of OpenAI chat if there is no wire of this name.
///
/// ```
/// let body = omniroute::error_body("openai-chat", 429, "rate_limited", "slow down");
/// assert!(body.starts_with(b"{\"error\":{"));
/// ```
pub fn error_body(wire: &str, status: u16, code: &str, message: &str) -> Bytes {
    let mut error = ErrorBody::own(code, message);
    error.status = Some(status);
    wire::by_id(wire).unwrap_or(wire::OPENAI_CHAT).write_error(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wire_reads_its_list_where_it_is_said_to_be() {
        for known in wire::WIRES {
            let member = list_member(Some(known.id()));
            for name in known.aliases() {
                assert_eq!(list_member(Some(name)), member, "{name}");
            }
            let read = |member: &str| {
                let doc = omniroute_core::Doc::parse(format!("{{\"{member}\":[]}}")).unwrap();
                known.read(&doc).is_ok()
            };
            assert!(read(member), "{}", known.id());
            assert!(!read("somewhere"), "{}", known.id());
        }
    }

    #[test]
    fn known_paths_only() {
        for (path, wire) in [
            ("/v1/chat/completions/", Some("openai-chat")),
            ("/openai/deployments/x/chat/completions", Some("openai-chat")),
            ("/v1/responses", Some("openai-responses")),
            ("/v1/messages", Some("anthropic-messages")),
            ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", Some("gemini")),
            ("/v1/messages/count_tokens", None),
            ("/v1/responses/resp_1/cancel", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(wire_of_path(path), wire, "{path}");
            assert!(wire.is_none_or(|id| omniroute_core::wire::by_id(id).is_some()));
        }
    }
}
