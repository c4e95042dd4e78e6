//! What one side of the comparison sends: checks that requests only grow, and cuts them into blocks for the bill.

use bytes::Bytes;
use omniroute_compress::cost::Block;
use omniroute_core::{ChatRequest, Doc, Segment, Tokenizer, Transcript};
use sha2::{Digest, Sha256};

use crate::Failure;
use crate::session::message_list;

/// The requests of a session so far. One block for tools and system text, one a message.
pub(crate) struct Transmission<'a> {
    tokenizer: &'a dyn Tokenizer,
    last: Option<Sent>,
    blocks: Vec<Block>,
}

/// A request and where in it the messages are.
struct Sent {
    body: Bytes,
    /// From the start of the body to the end of its last message.
    front: usize,
    /// From the end of the list of messages to the end of the body.
    back: usize,
}

impl<'a> Transmission<'a> {
    /// Nothing has been sent.
    pub(crate) fn new(tokenizer: &'a dyn Tokenizer) -> Self {
        Transmission { tokenizer, last: None, blocks: Vec::new() }
    }

    /// Takes the next request and returns it as blocks. `original` is what it was made from: its texts are looked up
    /// in `body`, since a text may have become too short for a wire to be seen as one.
    ///
    /// # Errors
    /// [`Failure::Broken`] if it does not begin with the bytes of the request before it, up to the end of its last
    /// message, or differs behind the messages; or if it is not of the shape of `original`.
    pub(crate) fn send(&mut self, original: &ChatRequest, body: &Bytes) -> Result<&[Block], Failure> {
        let broken = |what: &str| Failure::Broken(what.to_owned());
        let unreadable = |e| Failure::Broken(format!("the body to be sent cannot be read: {e}"));
        let request = ChatRequest::parse(original.wire(), body.clone()).map_err(unreadable)?;
        if !request.doc().same_shape(original.doc()) {
            return Err(broken("the body to be sent has another structure than the original"));
        }
        let doc = request.doc();
        let list = message_list(original.wire(), doc)
            .ok_or_else(|| broken("the body to be sent has no messages"))?;
        let spans: Vec<_> = doc.elements(list).map(|node| doc.span(node)).collect();
        let (first, last) = match spans.as_slice() {
            [] => return Err(broken("the body to be sent has no messages")),
            [first, ..] => (first.start, spans.last().map_or(0, |span| span.end)),
        };
        let sent = Sent { body: body.clone(), front: last, back: doc.span(list).end - 1 };
        if let Some(before) = &self.last {
            if sent.body.get(..before.front) != before.body.get(..before.front) {
                let same = sent.body.iter().zip(before.body.iter()).take_while(|(a, b)| a == b).count();
                let place = spans.iter().take_while(|span| span.end <= same).count();
                return Err(Failure::Broken(format!(
                    "the cached prefix changed at byte {same} of {}, in message {place} (from 0)",
                    before.front
                )));
            }
            if sent.body.get(sent.back..) != before.body.get(before.back..) {
                return Err(broken("the members behind the messages changed"));
            }
        }

        let known = self.blocks.len().saturating_sub(1);
        let mut tokens = vec![0_u64; spans.len()];
        let mut outside = 0_u64;
        for segment in Transcript::of(original).map_err(unreadable)?.segments() {
            let index = usize::try_from(segment.id.message).unwrap_or(usize::MAX);
            match tokens.get_mut(index) {
                Some(_) if index < known => {}
                Some(sum) => *sum += self.count(segment, original.doc(), doc),
                None if self.blocks.is_empty() => outside += self.count(segment, original.doc(), doc),
                None => {}
            }
        }
        if self.blocks.is_empty() {
            let parts = [body.get(..first), body.get(sent.back..)];
            self.blocks.push(block(outside, parts.into_iter().flatten()));
        }
        for (span, tokens) in spans.into_iter().zip(tokens).skip(known) {
            self.blocks.push(block(tokens, body.get(span)));
        }
        self.last = Some(sent);
        Ok(&self.blocks)
    }

    /// Tokens of a text of `original` in `sent`. Documents of one shape number their values alike.
    fn count(&self, segment: &Segment<'_>, original: &Doc, sent: &Doc) -> u64 {
        let text = segment.node().filter(|node| original.raw(*node) != sent.raw(*node)).and_then(|node| {
            let (was, is) = (original.str(node)?, sent.str(node)?);
            if was == segment.original() {
                return Some(is.into_owned());
            }
            // The text stands in a JSON document of its own, in the place of the literal.
            let inner = Doc::parse(is.into_owned()).ok()?;
            inner.str(inner.get(inner.root(), "output")?).map(|text| text.into_owned())
        });
        u64::from(self.tokenizer.count(text.as_deref().unwrap_or(segment.original())))
    }

    /// The request sent last.
    pub(crate) fn last_body(&self) -> Option<&Bytes> {
        self.last.as_ref().map(|sent| &sent.body)
    }
}

fn block<'a>(tokens: u64, parts: impl IntoIterator<Item = &'a [u8]>) -> Block {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| hash.update(part));
    Block::of_digest(tokens, &hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use omniroute_core::{Estimator, wire};

    use super::*;

    fn body(messages: &[&str], behind: &str) -> Bytes {
        let all: Vec<_> =
            messages.iter().map(|m| format!(r#"{{"role": "user", "content": "{m}"}}"#)).collect();
        format!(r#"{{"messages": [{}], "model": "{behind}"}}"#, all.join(", ")).into()
    }

    fn request(messages: &[&str], behind: &str) -> ChatRequest {
        ChatRequest::parse(wire::OPENAI_CHAT, body(messages, behind)).unwrap()
    }

    #[test]
    fn texts_are_counted_where_they_were() {
        let long = "Downloading crates, line by line, for a long while. ".repeat(20);
        let gemini = |text: &str| -> Bytes {
            let response = format!(r#"{{"name": "f", "response": {{"output": "{text}"}}}}"#);
            format!(r#"{{"contents": [{{"role": "user", "parts": [{{"functionResponse": {response}}}]}}]}}"#)
                .into()
        };
        let tokenizer = Estimator::for_model("gpt-5");
        let original = ChatRequest::parse(wire::GEMINI, gemini(&long)).unwrap();
        let mut sent = Transmission::new(&tokenizer);
        let blocks = sent.send(&original, &gemini("short")).unwrap();
        assert_eq!(blocks[1].tokens, u64::from(tokenizer.count("short")));
    }

    #[test]
    fn requests_that_grow_pass_and_others_are_caught() {
        let rows: [(&[&str], &str, Option<&str>); 5] = [
            (&["one", "two", "three"], "m", None),
            (&["one", "two"], "m", None),
            (&["one", "twice", "three"], "m", Some("in message 1 ")),
            (&["one"], "m", Some("in message 1 ")),
            (&["one", "two", "three"], "n", Some("behind the messages")),
        ];
        let tokenizer = Estimator::for_model("gpt-5");
        for (next, behind, want) in rows {
            let mut sent = Transmission::new(&tokenizer);
            let before =
                sent.send(&request(&["one", "two"], "m"), &body(&["one", "two"], "m")).unwrap().to_vec();
            match (sent.send(&request(next, behind), &body(next, behind)), want) {
                (Ok(blocks), None) => assert_eq!((&blocks[..3], blocks.len()), (&before[..], next.len() + 1)),
                (Err(failure), Some(want)) => assert!(failure.to_string().contains(want), "{failure}"),
                (got, _) => panic!("{next:?}: {got:?}"),
            }
        }
    }
}
