//! The one text of our own in a request: what a handle means and which tool fetches the rest.
//!
//! It goes to the end of the system text, in the session's first request or never, so that the head of the prompt
//! is the same on every turn. It is placed by insertions alone: taking these bytes out gives the body as it was.

use bytes::Bytes;
use omniroute_core::{AddedBytes, Doc, Kind, NodeId, escape};

/// How the note starts. A system text that starts so is the note.
pub(crate) const SENTINEL: &str = "[CCR protocol]";

/// Where in a document something is inserted, by the value it belongs to.
#[derive(Debug, Clone, Copy)]
enum At {
    /// In front of it.
    Start(NodeId),
    /// In front of its last byte: a quote or bracket.
    Inside(NodeId),
    /// Behind it.
    End(NodeId),
}

/// The note and where it goes. Node numbers stay the same when texts are replaced, so this can be worked out
/// before and carried out after.
#[derive(Debug)]
pub(crate) struct Placement {
    inserts: Vec<(At, String)>,
    /// The note, for counting.
    pub(crate) text: String,
}

impl Placement {
    /// Where the note goes in a body of this wire; none if there is no place for it.
    pub(crate) fn find(wire: &str, doc: &Doc, tool: &str) -> Option<Placement> {
        let text = format!(
            "{SENTINEL} Long texts may be shortened here. A line [CCR retrieve hash=<24 hex> chars=<n>] means that the \
             text around it is only a part of <n> characters. Before you answer from such a text, fetch what you need: \
             call {tool} with that hash and a mode (full, head, tail, lines, grep, stats). Never guess what is left out."
        );
        Placement::of(wire, doc, text)
    }

    /// Where a text of our own goes in a body of this wire; none if there is no place for it.
    pub(crate) fn of(wire: &str, doc: &Doc, text: String) -> Option<Placement> {
        let inserts = match wire {
            "openai-chat" => chat(doc, &text),
            "anthropic-messages" => anthropic(doc, &text),
            "openai-responses" => responses(doc, &text),
            "gemini" => gemini(doc, &text),
            _ => None,
        }?;
        Some(Placement { inserts, text })
    }

    /// The document's bytes with the note, and which bytes are new. `doc` has the values of the document that was
    /// looked at.
    pub(crate) fn apply(&self, doc: &Doc) -> (Bytes, Vec<AddedBytes>) {
        let place = |at: At| match at {
            At::Start(node) => doc.span(node).start,
            At::Inside(node) => doc.span(node).end.saturating_sub(1),
            At::End(node) => doc.span(node).end,
        };
        let mut inserts: Vec<(usize, &str)> =
            self.inserts.iter().map(|(at, s)| (place(*at), s.as_str())).collect();
        inserts.sort_by_key(|(at, _)| *at);
        let source = doc.bytes();
        let mut out = Vec::with_capacity(source.len() + inserts.iter().map(|(_, s)| s.len()).sum::<usize>());
        let (mut done, mut added) = (0, Vec::new());
        for (at, new) in inserts {
            out.extend_from_slice(source.get(done..at).unwrap_or_default());
            added.push(AddedBytes::new(out.len() as u64, new.len() as u64));
            out.extend_from_slice(new.as_bytes());
            done = at;
        }
        out.extend_from_slice(source.get(done..).unwrap_or_default());
        (out.into(), added)
    }
}

/// The bytes without those that were added.
pub(crate) fn without(body: &[u8], added: &[AddedBytes]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len());
    let mut done = 0_usize;
    for range in added {
        let start = usize::try_from(range.at).ok()?;
        let end = start.checked_add(usize::try_from(range.bytes).ok()?)?;
        out.extend_from_slice(body.get(done..start)?);
        body.get(start..end)?;
        done = end;
    }
    out.extend_from_slice(body.get(done..)?);
    Some(out)
}

/// A message of its own behind the leading system messages.
fn chat(doc: &Doc, text: &str) -> Option<Vec<(At, String)>> {
    let messages = doc.get(doc.root(), "messages").filter(|m| doc.kind(*m) == Kind::Array)?;
    let mut role = "system";
    for message in doc.elements(messages) {
        match doc.get(message, "role").and_then(|r| doc.str(r)).as_deref() {
            Some("system") => role = "system",
            Some("developer") => role = "developer",
            _ => return Some(vec![(At::Start(message), format!("{},", message_of(role, text)))]),
        }
    }
    let last = doc.elements(messages).last()?;
    Some(vec![(At::End(last), format!(",{}", message_of(role, text)))])
}

fn message_of(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":{}}}"#, escape(text))
}

/// The last block of `system`; a plain text becomes a list of two.
fn anthropic(doc: &Doc, text: &str) -> Option<Vec<(At, String)>> {
    let block = format!(r#"{{"type":"text","text":{}}}"#, escape(text));
    let Some(system) = doc.get(doc.root(), "system") else {
        return member(doc, doc.root(), "system", &escape(text));
    };
    match doc.kind(system) {
        Kind::String if doc.json_str(system).is_some_and(|s| s.is_empty()) => inside(system, "", text),
        Kind::String => Some(vec![
            (At::Start(system), r#"[{"type":"text","text":"#.to_owned()),
            (At::End(system), format!("}},{block}]")),
        ]),
        Kind::Array => Some(vec![last_element(doc, system, &block)]),
        _ => None,
    }
}

/// The end of `instructions`, behind an empty line.
fn responses(doc: &Doc, text: &str) -> Option<Vec<(At, String)>> {
    let Some(instructions) = doc.get(doc.root(), "instructions") else {
        return member(doc, doc.root(), "instructions", &escape(text));
    };
    let is_empty = doc.json_str(instructions)?.is_empty();
    inside(instructions, if is_empty { "" } else { r"\n\n" }, text)
}

/// The last part of the system instruction.
fn gemini(doc: &Doc, text: &str) -> Option<Vec<(At, String)>> {
    let root = doc.root();
    let part = format!(r#"{{"text":{}}}"#, escape(text));
    let Some(system) = doc.get(root, "systemInstruction").or_else(|| doc.get(root, "system_instruction"))
    else {
        return member(doc, root, "systemInstruction", &format!(r#"{{"parts":[{part}]}}"#));
    };
    match (doc.kind(system), doc.get(system, "parts")) {
        (Kind::String, _) => Some(vec![
            (At::Start(system), r#"{"parts":[{"text":"#.to_owned()),
            (At::End(system), format!("}},{part}]}}")),
        ]),
        (Kind::Object, Some(parts)) if doc.kind(parts) == Kind::Array => {
            Some(vec![last_element(doc, parts, &part)])
        }
        (Kind::Object, None) => member(doc, system, "parts", &format!("[{part}]")),
        _ => None,
    }
}

/// A new last member of an object.
fn member(doc: &Doc, object: NodeId, key: &str, json: &str) -> Option<Vec<(At, String)>> {
    let comma = if doc.members(object).next().is_some() { "," } else { "" };
    (doc.kind(object) == Kind::Object)
        .then(|| vec![(At::Inside(object), format!(r#"{comma}"{key}":{json}"#))])
}

fn last_element(doc: &Doc, array: NodeId, json: &str) -> (At, String) {
    match doc.elements(array).last() {
        Some(last) => (At::End(last), format!(",{json}")),
        None => (At::Inside(array), json.to_owned()),
    }
}

/// At the end of a string literal.
fn inside(string: NodeId, before: &str, text: &str) -> Option<Vec<(At, String)>> {
    let literal = escape(text);
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    Some(vec![(At::Inside(string), format!("{before}{inner}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "\u{1}";

    /// The body with the note, which reads `N`, and back.
    fn placed(wire: &str, body: &str) -> Option<String> {
        let doc = Doc::parse(body.to_owned()).unwrap();
        let place = Placement::find(wire, &doc, "T")?;
        let (bytes, added) = place.apply(&doc);
        Doc::parse(bytes.clone()).unwrap_or_else(|e| panic!("{e}: {bytes:?}"));
        assert_eq!(without(&bytes, &added).as_deref(), Some(body.as_bytes()), "taken out again");
        let literal = escape(&place.text);
        let inner = literal.trim_matches('"').to_owned();
        Some(String::from_utf8(bytes.to_vec()).unwrap().replace(&inner, NOTE))
    }

    #[test]
    fn each_wire_has_its_place() {
        for (wire, body, want) in [
            (
                "openai-chat",
                r#"{"messages": [{"role":"system","content":"s"}, {"role":"user","content":"u"}]}"#,
                Some(
                    r#"{"messages": [{"role":"system","content":"s"}, {"role":"system","content":"N"},{"role":"user","content":"u"}]}"#,
                ),
            ),
            (
                "openai-chat",
                r#"{"messages":[{"role":"developer","content":"s"} ]}"#,
                Some(
                    r#"{"messages":[{"role":"developer","content":"s"},{"role":"developer","content":"N"} ]}"#,
                ),
            ),
            ("openai-chat", r#"{"messages":[]}"#, None),
            (
                "anthropic-messages",
                r#"{"system": "s\n", "messages":[]}"#,
                Some(
                    r#"{"system": [{"type":"text","text":"s\n"},{"type":"text","text":"N"}], "messages":[]}"#,
                ),
            ),
            ("anthropic-messages", r#"{"system":""}"#, Some(r#"{"system":"N"}"#)),
            (
                "anthropic-messages",
                r#"{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}} ]}"#,
                Some(
                    r#"{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}},{"type":"text","text":"N"} ]}"#,
                ),
            ),
            ("anthropic-messages", r#"{"system":[]}"#, Some(r#"{"system":[{"type":"text","text":"N"}]}"#)),
            ("anthropic-messages", r#"{"messages":[]}"#, Some(r#"{"messages":[],"system":"N"}"#)),
            (
                "openai-responses",
                r#"{"instructions":"i","input":[]}"#,
                Some(r#"{"instructions":"i\n\nN","input":[]}"#),
            ),
            ("openai-responses", r#"{"input":[]}"#, Some(r#"{"input":[],"instructions":"N"}"#)),
            ("openai-responses", r#"{"input":[],"instructions":null}"#, None),
            (
                "gemini",
                r#"{"systemInstruction":{"parts":[{"text":"s"}]}}"#,
                Some(r#"{"systemInstruction":{"parts":[{"text":"s"},{"text":"N"}]}}"#),
            ),
            (
                "gemini",
                r#"{"system_instruction":"s"}"#,
                Some(r#"{"system_instruction":{"parts":[{"text":"s"},{"text":"N"}]}}"#),
            ),
            (
                "gemini",
                r#"{"systemInstruction":{}}"#,
                Some(r#"{"systemInstruction":{"parts":[{"text":"N"}]}}"#),
            ),
            (
                "gemini",
                r#"{"contents":[]}"#,
                Some(r#"{"contents":[],"systemInstruction":{"parts":[{"text":"N"}]}}"#),
            ),
            ("text", r#"{}"#, None),
        ] {
            let want = want.map(|w| w.replace('N', NOTE));
            assert_eq!(placed(wire, body), want, "{wire} {body}");
        }
    }

    #[test]
    fn ranges_of_another_body_are_refused() {
        assert_eq!(without(b"abc", &[AddedBytes::new(2, 9)]), None);
        assert_eq!(without(b"abc", &[AddedBytes::new(2, 1), AddedBytes::new(1, 1)]), None);
        assert_eq!(without(b"abc", &[AddedBytes::new(u64::MAX, 1)]), None);
        assert_eq!(without(b"abc", &[AddedBytes::new(1, 1)]).as_deref(), Some(&b"ac"[..]));
    }
}
