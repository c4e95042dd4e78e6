//! A recorded session: its last request body, and where in it the model was called.

use std::path::Path;

use bytes::Bytes;
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Doc, NodeId, Part, Role};

use crate::Failure;

/// Members of a session file that are the recorder's own and were never sent.
const RECORDER: [&str; 5] = ["session", "wire", "provider_usage", "queries", "reward"];

/// A session as the body of its last request, plus the points at which the model was called.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) request: ChatRequest,
    pub(crate) calls: Vec<ModelCall>,
    /// User turns that led to a call.
    pub(crate) turns: usize,
    list: NodeId,
}

/// A call of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelCall {
    /// Messages sent.
    pub(crate) sent: usize,
    /// Messages up to the end of the reply, which may be several items.
    pub(crate) replied: usize,
    /// The user turn it belongs to, from 0.
    pub(crate) turn: usize,
}

impl Session {
    /// Reads all sessions of a file.
    ///
    /// # Errors
    /// [`Failure::Input`] if the file cannot be read or holds no session of a known wire.
    pub(crate) fn read_file(path: &Path) -> Result<Vec<Session>, Failure> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let bytes = std::fs::read(path).map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
        Session::read(&name, bytes)
    }

    /// Reads all sessions of a document.
    ///
    /// # Errors
    /// As [`Session::read_file`].
    pub(crate) fn read(name: &str, bytes: impl Into<Bytes>) -> Result<Vec<Session>, Failure> {
        let doc =
            Doc::parse_with_limit(bytes, usize::MAX).map_err(|e| Failure::Input(format!("{name}: {e}")))?;
        let Some(many) = doc.get(doc.root(), "sessions") else {
            return Ok(vec![Session::of(name, &doc, doc.root())?]);
        };
        let numbered = doc.elements(many).zip(1_u32..);
        numbered.map(|(node, number)| Session::of(&format!("{name} #{number}"), &doc, node)).collect()
    }

    /// The body of a request with the first `messages` messages: a cut out of the bytes of the recording.
    pub(crate) fn body(&self, messages: usize) -> Bytes {
        let doc = self.request.doc();
        let (bytes, list) = (doc.bytes(), doc.span(self.list));
        let last = messages.checked_sub(1).and_then(|n| doc.elements(self.list).nth(n));
        let end = last.map_or(list.start + 1, |node| doc.span(node).end);
        let mut body = bytes.get(..end).unwrap_or_default().to_vec();
        body.extend_from_slice(bytes.get(list.end - 1..).unwrap_or_default());
        body.into()
    }

    /// Messages in the recording.
    pub(crate) fn messages(&self) -> usize {
        self.request.doc().elements(self.list).count()
    }

    /// The model that the recording names.
    pub(crate) fn model(&self) -> Option<String> {
        self.request.head().model.map(|model| model.decode().into_owned())
    }

    fn of(name: &str, file: &Doc, node: NodeId) -> Result<Session, Failure> {
        let fail = |what: &str| Failure::Input(format!("{name}: {what}"));
        let named = file.get(node, "wire").and_then(|n| file.str(n)).and_then(|id| wire::by_id(&id));
        let doc = Doc::parse_with_limit(body_of(file, node), usize::MAX).map_err(|e| fail(&e.to_string()))?;
        let wire =
            named.or_else(|| wire::detect(&doc)).ok_or_else(|| fail("no chat request of a known wire"))?;
        let list = message_list(wire, &doc).ok_or_else(|| fail("there is no list of messages"))?;
        let request = ChatRequest::from_doc(wire, doc);
        let authors = authors(&request, list).map_err(|e| fail(&e.to_string()))?;
        let calls = calls(&authors);
        let turns =
            calls.last().ok_or_else(|| fail("no message of the model follows another message"))?.turn + 1;
        Ok(Session { name: name.to_owned(), request, calls, turns, list })
    }
}

/// The array that holds the messages of a body.
pub(crate) fn message_list(wire: Wire, doc: &Doc) -> Option<NodeId> {
    let key = match wire.id() {
        "gemini" => "contents",
        "openai-responses" => "input",
        _ => "messages",
    };
    let list = doc.get(doc.root(), key)?;
    doc.elements(list).next().map(|_| list)
}

/// The request in a session file: the bytes as they are, or the members that were sent, each as it is.
fn body_of(file: &Doc, node: NodeId) -> Bytes {
    let is_responses = file.get(node, "input").is_some();
    let mut members = Vec::new();
    let mut changed = node != file.root();
    for (key, value) in file.members(node) {
        let name = file.str(key).unwrap_or_default();
        if RECORDER.contains(&name.as_ref()) {
            changed = true;
        } else if is_responses && name == "system" {
            changed = true;
            members.push(format!("\"instructions\": {}", file.raw(value)));
        } else {
            members.push(format!("{}: {}", file.raw(key), file.raw(value)));
        }
    }
    if changed { format!("{{{}}}", members.join(", ")).into() } else { file.bytes().clone() }
}

/// Who a message is from, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    Model,
    /// A user who says something, not only hands over what a tool returned.
    User,
    Other,
}

fn authors(request: &ChatRequest, list: NodeId) -> Result<Vec<Author>, omniroute_core::DocError> {
    let mut authors = vec![Author::Other; request.doc().elements(list).count()];
    for turn in &request.conversation()?.turns {
        let speaks = turn.parts.iter().any(|part| !matches!(part, Part::ToolResult(_)));
        let author = match turn.role {
            Role::Assistant => Author::Model,
            Role::User if speaks => Author::User,
            _ => continue,
        };
        let slot = turn.index.and_then(|index| authors.get_mut(usize::try_from(index).ok()?));
        if let Some(slot) = slot {
            *slot = author;
        }
    }
    Ok(authors)
}

/// The model was called wherever its message follows somebody else's; a user's message starts a turn.
fn calls(authors: &[Author]) -> Vec<ModelCall> {
    let mut calls: Vec<ModelCall> = Vec::new();
    let (mut turn, mut asked) = (0, false);
    let mut before = Author::Model;
    for (index, author) in authors.iter().enumerate() {
        match (before, author) {
            (Author::Model, Author::Model) => {}
            (_, Author::Model) => {
                turn += usize::from(asked && !calls.is_empty());
                asked = false;
                calls.push(ModelCall { sent: index, replied: index, turn });
            }
            (_, Author::User) => asked = true,
            (_, Author::Other) => {}
        }
        if let (Author::Model, Some(call)) = (author, calls.last_mut()) {
            call.replied = index + 1;
        }
        before = *author;
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Session {
        Session::read("s", text.to_owned()).unwrap().remove(0)
    }

    #[test]
    fn calls_and_turns_are_found() {
        let session = one(r#"{"model": "demo", "messages": [
              {"role": "user", "content": "a"},
              {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{}"}}]},
              {"role": "tool", "tool_call_id": "1", "content": "r"},
              {"role": "user", "content": "stop"}, {"role": "user", "content": "b"},
              {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "y"},
              {"role": "user", "content": "never sent"}], "top_p": 1.0}"#);
        let call = |sent, replied, turn| ModelCall { sent, replied, turn };
        assert_eq!((session.calls.as_slice(), session.turns), (&[call(1, 2, 0), call(5, 7, 1)][..], 2));
        assert_eq!(session.messages(), 8);
        let body = session.body(1);
        assert!(body.ends_with(br#"{"role": "user", "content": "a"}], "top_p": 1.0}"#));
        let front = body.strip_suffix(br#"], "top_p": 1.0}"#).unwrap();
        assert!(session.body(5).starts_with(front));
    }

    #[test]
    fn wrappers_are_unwrapped() {
        let file = r#"{"sessions": [{"session": "x", "wire": "openai-responses", "system": "s\u0041",
          "input": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}]}"#;
        let session = one(file);
        assert_eq!(session.request.wire().id(), "openai-responses");
        let want = r#"{"instructions": "s\u0041", "input": [{"role": "user", "content": "a"}]}"#;
        assert_eq!(session.body(1), want);
    }

    #[test]
    fn what_is_no_session_is_refused() {
        for (text, want) in [
            ("{", "s: "),
            ("{\"a\": 1}", "s: no chat request of a known wire"),
            ("{\"messages\": []}", "s: there is no list of messages"),
            (
                r#"{"messages": [{"role": "user", "content": "a"}]}"#,
                "s: no message of the model follows another message",
            ),
        ] {
            let failure = Session::read("s", text.to_owned()).unwrap_err().to_string();
            assert!(failure.starts_with(want), "{text}: {failure}");
        }
    }
}
