//! Answers the retrieval tool.

use std::sync::Arc;

use omniroute_core::{BlobError, BlobId, BlobStore, Held, Moment, Principal, UnixMs};

use super::ask::{Ask, Mode};
use super::views;

/// What the tool returns.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The text. If something is missing, its last line says what and how to get it.
    pub text: String,
    /// Whether everything that was asked for is in it.
    pub complete: bool,
}

impl std::fmt::Debug for Answer {
    /// The size of the text only: it may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("bytes", &self.text.len()).field("complete", &self.complete).finish()
    }
}

/// Why there is no text. The message is meant for the model; the result of the tool is an error then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// Never kept for this principal, whoever else may have it.
    #[error(
        "nothing is kept under {0} in this conversation: take the hash from a line [CCR retrieve hash=... chars=...]"
    )]
    NotFound(BlobId),
    /// Kept once and gone.
    #[error("the text behind {0} is not kept any more: run the command again or read the file again")]
    Expired(BlobId),
    /// An argument is wrong.
    #[error("{name}: {rule}")]
    Argument {
        /// Which one.
        name: &'static str,
        /// Its value and what is allowed.
        rule: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] BlobError),
}

impl RetrieveError {
    pub(super) fn argument(name: &'static str, rule: String) -> Self {
        RetrieveError::Argument { name, rule }
    }

    /// Stable code for programs and other languages.
    pub fn code(&self) -> &'static str {
        match self {
            RetrieveError::NotFound(_) => "not_found",
            RetrieveError::Expired(_) => "expired",
            RetrieveError::Argument { .. } => "bad_argument",
            RetrieveError::Store(_) => "store_failed",
        }
    }
}

/// Fetches a text, or a part of it, that was kept for `principal`. `now` ages the store.
///
/// # Errors
/// [`RetrieveError`]; its text tells the model what to do.
pub fn retrieve(
    blobs: &dyn BlobStore,
    principal: &Principal,
    ask: &Ask,
    now: Moment,
) -> Result<Answer, RetrieveError> {
    blobs.tick(now.wall);
    let (content, kept) = fetch(blobs, principal, ask.id)?;
    let text = String::from_utf8_lossy(&content);
    Ok(match &ask.mode {
        Mode::Full { offset } => views::full(&text, *offset)?,
        Mode::Head { n } => views::lines(&text, 1, *n, *n),
        Mode::Tail { n } => views::tail(&text, *n),
        Mode::Lines { start, end } => {
            let wanted = end.map_or(u64::MAX, |end| end.saturating_sub(*start).saturating_add(1));
            views::lines(&text, *start, wanted.min(super::ask::MAX_LINES), wanted)
        }
        Mode::Grep { pattern, ignore_case, context } => views::grep(&text, pattern, *ignore_case, *context)?,
        Mode::Stats => views::stats(&text, ask.id, kept, blobs.ttl_ms()),
    })
}

fn fetch(
    blobs: &dyn BlobStore,
    principal: &Principal,
    id: BlobId,
) -> Result<(Arc<[u8]>, UnixMs), RetrieveError> {
    match blobs.look(principal, id)? {
        Held::Here { content, kept, .. } => Ok((content, kept)),
        Held::Gone => Err(RetrieveError::Expired(id)),
        _ => Err(RetrieveError::NotFound(id)),
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::MemoryBlobs;
    use proptest::prelude::*;

    use super::*;

    fn ask(text: &str, mode: Mode) -> Result<Answer, RetrieveError> {
        let (blobs, me) = (MemoryBlobs::default(), Principal::default());
        let id = blobs.put(&me, text.as_bytes()).unwrap();
        retrieve(&blobs, &me, &Ask::full(id).mode(mode), Moment::default())
    }

    fn shown(text: &str, mode: Mode) -> String {
        ask(text, mode).unwrap().text
    }

    #[test]
    fn each_mode_shows_its_part() {
        let text = "one\ntwo err\n\u{e9}t\u{e9}\nfour Err\nfive";
        let grep = |pattern: &str, ignore_case, context| {
            shown(text, Mode::Grep { pattern: pattern.into(), ignore_case, context })
        };
        assert_eq!(shown(text, Mode::Full { offset: 0 }), text);
        assert_eq!(
            shown(text, Mode::Full { offset: 13 }),
            "\u{e9}t\u{e9}\nfour Err\nfive",
            "inside a character"
        );
        assert_eq!(shown(text, Mode::Head { n: 2 }), "one\ntwo err\n");
        assert_eq!(shown(text, Mode::Tail { n: 2 }), "four Err\nfive");
        assert_eq!(shown(text, Mode::Tail { n: 99 }), text);
        assert_eq!(shown(text, Mode::Lines { start: 3, end: Some(3) }), "\u{e9}t\u{e9}\n");
        assert_eq!(shown(text, Mode::Lines { start: 4, end: None }), "four Err\nfive");
        assert_eq!(shown(text, Mode::Lines { start: 9, end: None }), "[the text has 5 lines]");
        assert_eq!(grep("err", false, 0), "2:two err");
        assert_eq!(grep("err", true, 0), "2:two err\n--\n4:four Err");
        assert_eq!(grep("err", true, 1), "1-one\n2:two err\n3-\u{e9}t\u{e9}\n4:four Err\n5-five");
        assert_eq!(grep("six", false, 2), "[no line matches]");
        let stats = shown(text, Mode::Stats);
        assert!(stats.starts_with("chars=29\nlines=5\nbytes=31\nhash="), "{stats}");
    }

    #[test]
    fn long_answers_say_how_to_go_on() {
        let text = "0123456789abcde\n".repeat(40_000);
        let mut got = String::new();
        let mut offset = 0;
        for _ in 0..4 {
            let answer = ask(&text, Mode::Full { offset }).unwrap();
            if answer.complete {
                got.push_str(&answer.text);
                break;
            }
            let (part, hint) = answer.text.rsplit_once("[cut: ").unwrap();
            let part = part.strip_suffix('\n').unwrap_or(part);
            got.push_str(part);
            offset = hint.rsplit_once("offset=").unwrap().1.trim_end_matches(']').parse().unwrap();
        }
        assert!(got == text, "the parts are the whole");
        let lines = ask(&text, Mode::Lines { start: 1, end: None }).unwrap();
        assert!(
            !lines.complete && lines.text.ends_with("[cut: lines 1-10000 of 40000; go on with start=10001]")
        );
        let grep = ask(&text, Mode::Grep { pattern: "9".into(), ignore_case: false, context: 0 }).unwrap();
        assert!(
            !grep.complete
                && grep.text.ends_with("[cut: the first 1000 matches; a narrower pattern shows others]")
        );
        let error = ask(&text, Mode::Full { offset: 999_999 }).unwrap_err();
        assert_eq!(error.to_string(), "offset: 999999 is behind the end, the text has 640000 bytes");
        let bad = Mode::Grep { pattern: "a(b".into(), ignore_case: false, context: 0 };
        assert!(ask("x", bad).unwrap_err().to_string().starts_with("pattern: not a regular expression"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_was_kept_comes_back_and_only_to_its_owner(texts in prop::collection::vec(".{0,60}", 1..8)) {
            let blobs = MemoryBlobs::default();
            let (a, b) = (Principal::new("a"), Principal::new("b"));
            for text in &texts {
                let id = blobs.put(&a, text.as_bytes()).unwrap();
                let ask = Ask::full(id);
                prop_assert_eq!(&retrieve(&blobs, &a, &ask, Moment::default()).unwrap().text, text);
                prop_assert_eq!(retrieve(&blobs, &b, &ask, Moment::default()), Err(RetrieveError::NotFound(id)));
            }
        }
    }

    /// A store that forgets whose text it is: the same question must show it.
    #[derive(Debug)]
    struct Shared(MemoryBlobs);

    impl BlobStore for Shared {
        fn put(&self, _: &Principal, content: &[u8]) -> Result<BlobId, BlobError> {
            self.0.put(&Principal::default(), content)
        }

        fn get(&self, _: &Principal, id: BlobId) -> Result<Option<Arc<[u8]>>, BlobError> {
            self.0.get(&Principal::default(), id)
        }
    }

    #[test]
    fn a_store_without_owners_is_caught() {
        let blobs = Shared(MemoryBlobs::default());
        let id = blobs.put(&Principal::new("a"), b"of a").unwrap();
        assert!(retrieve(&blobs, &Principal::new("b"), &Ask::full(id), Moment::default()).is_ok());
    }
}
