//! Reading the input, once, and finding out what it is.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::path::Path;

use bytes::Bytes;
use memchr::memmem;
use omniroute_core::{ChatRequest, Doc, DocError, Rule, wire};

use crate::cli::Form;
use crate::exit::{Failure, note};
use crate::progress::Progress;

/// Read in pieces of this size, so that progress can be shown.
const PIECE: u64 = 1 << 20;
/// How far into an input that is no JSON the members of a request are looked for.
const SNIFFED: usize = 4096;
/// Members that hold the messages of a request.
const LISTS: [&str; 3] = ["\"messages\"", "\"contents\"", "\"input\""];

/// What to do about an input that was taken for a request and cannot be read.
pub(crate) const HINT: &str = "; use --as text if a tool printed it";

/// Reads the file, or standard input for none and for `-`.
pub(crate) fn read(file: Option<&Path>, quiet: bool, progress: &mut Progress) -> Result<Bytes, Failure> {
    let path = file.filter(|path| path.as_os_str() != "-");
    let Some(path) = path else {
        let stdin = io::stdin();
        if stdin.is_terminal() && !quiet {
            note("reading from the terminal, Ctrl-D ends the input");
        }
        return drain(stdin.lock(), None, progress).map_err(|e| Failure::io("read", "standard input", &e));
    };
    let opened = File::open(path).and_then(|file| file.metadata().map(|meta| (file, meta)));
    let (file, meta) = opened.map_err(|e| Failure::path("read", path, &e))?;
    let whole = meta.is_file().then_some(meta.len());
    drain(file, whole, progress).map_err(|e| Failure::path("read", path, &e))
}

fn drain(mut from: impl Read, whole: Option<u64>, progress: &mut Progress) -> io::Result<Bytes> {
    let mut all = Vec::new();
    // One byte more than expected, so that the end is found without growing the buffer.
    let expected = whole.and_then(|n| usize::try_from(n).ok()).map_or(1 << 16, |n| n.saturating_add(1));
    all.try_reserve_exact(expected).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    loop {
        progress.read(all.len() as u64, whole);
        if from.by_ref().take(PIECE).read_to_end(&mut all)? == 0 {
            return Ok(all.into());
        }
    }
}

/// What an input is.
#[derive(Debug)]
pub(crate) enum Content {
    /// A body that was parsed. Whether it is a request of its wire shows when it is read.
    Request(ChatRequest),
    /// A request that cannot be parsed.
    Broken(DocError),
    /// What a tool printed.
    Text(Bytes),
}

impl Content {
    /// Takes the input for what the user says, or finds out.
    pub(crate) fn of(input: Bytes, form: Form) -> Content {
        match form {
            Form::Text => Content::Text(input),
            Form::Wire(wire) => match Doc::parse(input) {
                Ok(doc) => Content::Request(ChatRequest::from_doc(wire, doc)),
                Err(error) => Content::Broken(error),
            },
            // Most texts end here: no request begins with anything else.
            Form::Auto if !begins_object(&input) => Content::Text(input),
            Form::Auto => match Doc::parse(input.clone()) {
                Ok(doc) => match wire::detect(&doc) {
                    Some(wire) => Content::Request(ChatRequest::from_doc(wire, doc)),
                    None => Content::Text(input),
                },
                Err(error) if names_a_list(&input) => Content::Broken(error),
                Err(_) => Content::Text(input),
            },
        }
    }
}

/// The input as text.
///
/// # Errors
/// [`Rule::Utf8`] with the place of the first byte that is none.
pub(crate) fn as_text(input: &Bytes) -> Result<&str, DocError> {
    std::str::from_utf8(input)
        .map_err(|error| DocError::at(Rule::Utf8, input, error.valid_up_to(), "the bytes are not UTF-8"))
}

/// Whether the input starts like a JSON object, after white space and the mark some editors put in front.
fn begins_object(input: &[u8]) -> bool {
    let input = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    input.trim_ascii_start().first() == Some(&b'{')
}

/// Whether a member that holds messages is near the start.
fn names_a_list(input: &[u8]) -> bool {
    let head = input.get(..SNIFFED).unwrap_or(input);
    LISTS.iter().any(|list| {
        memmem::find_iter(head, list).any(|at| {
            let after = head.get(at + list.len()..).unwrap_or(&[]);
            after.trim_ascii_start().first() == Some(&b':')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(input: &str) -> String {
        match Content::of(Bytes::copy_from_slice(input.as_bytes()), Form::Auto) {
            Content::Request(request) => request.wire().id().to_owned(),
            Content::Broken(error) => error.rule().code().to_owned(),
            Content::Text(_) => "text".to_owned(),
        }
    }

    #[test]
    fn finds_out_what_an_input_is() {
        for (input, expected) in [
            ("", "text"),
            ("running 3 tests", "text"),
            ("[{\"messages\": []}]", "text"),
            ("{\"items\": []}", "text"),
            ("{\"items\": [}", "text"),
            ("{ not json: \"messages\" }", "text"),
            (" \n{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}", "openai-chat"),
            ("{\"contents\": [{\"parts\": [{\"text\": \"hi\"}]}]}", "gemini"),
            (
                "{\"session\": \"a\", \"wire\": \"openai-responses\", \"input\": [], \"model\": \"x\"}",
                "openai-responses",
            ),
            ("{\"messages\" : [}", "json"),
            ("{\"model\": \"x\", \"input\": [", "json"),
            ("\u{feff}{\"messages\": []}", "json"),
            ("{\"contents\": []} x", "trailing"),
        ] {
            assert_eq!(kind(input), expected, "{input}");
        }
        let late = format!("{{\"a\": \"{}\", \"messages\": [", "x".repeat(SNIFFED));
        assert_eq!(kind(&late), "text");
    }
}
