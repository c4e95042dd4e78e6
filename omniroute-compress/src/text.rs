//! Compression of one text that is no request: what a tool printed, on its way to a model.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use omniroute_core::{CompressReceipt, Doc, Moment, SegmentKind, Transcript, escape, escape_into, wire};

use crate::compress::{Compress, CompressError};

/// What receipts say in place of a wire.
const WIRE: &str = "text";

/// A text that is ready to be put into a request, and the record of what was done.
#[derive(Clone)]
#[non_exhaustive]
pub struct CompressedText<'t> {
    /// The text. The very same, borrowed, if nothing was changed.
    pub text: Cow<'t, str>,
    /// What was done and what was not, and why. Tokens and bytes are those of the text alone, the `wire` is `"text"`.
    pub receipt: CompressReceipt,
}

impl fmt::Debug for CompressedText<'_> {
    /// The size of the text only: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("CompressedText");
        out.field("bytes", &self.text.len()).field("receipt", &self.receipt).finish()
    }
}

/// What a tool printed, with what is known about the command behind it.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct ToolOutput<'t> {
    /// Standard output and standard error as the agent would see them.
    pub text: &'t str,
    /// The command line that printed it.
    pub command: Option<&'t str>,
    /// How the command ended.
    pub exit_code: Option<i32>,
}

impl fmt::Debug for ToolOutput<'_> {
    /// The size of the text only, and no command: both may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ToolOutput");
        out.field("bytes", &self.text.len()).field("exit_code", &self.exit_code).finish_non_exhaustive()
    }
}

impl<'t> ToolOutput<'t> {
    /// A text of which nothing is known.
    pub fn new(text: &'t str) -> Self {
        ToolOutput { text, ..ToolOutput::default() }
    }

    /// Sets the command line.
    #[must_use]
    pub fn command(mut self, command: &'t str) -> Self {
        self.command = Some(command);
        self
    }

    /// Sets the exit code.
    #[must_use]
    pub fn exit_code(mut self, code: i32) -> Self {
        self.exit_code = Some(code);
        self
    }
}

impl Compress {
    /// Compresses what a tool printed, outside a request. `command` is the command line that printed it; without
    /// one only what is certain from the text alone is done.
    ///
    /// # Behavior
    /// The text is taken as the only tool result of a request, the answer to a shell call of `command`. The size
    /// limit of the builder counts it as it stands in that request, with the escapes of JSON.
    ///
    /// ```
    /// use omniroute_compress::Compress;
    /// use omniroute_core::Moment;
    /// let compressor = Compress::builder().build()?;
    /// let printed = "\u{1b}[32mok\u{1b}[0m\n".repeat(40);
    /// let out = compressor.compress_text(&printed, Some("make lint"), Moment::default())?;
    /// assert!(out.receipt.applied && out.text.len() < printed.len());
    /// assert_eq!(compressor.compress_text("hi", None, Moment::default())?.text, "hi");
    /// # Ok::<(), omniroute_compress::CompressError>(())
    /// ```
    ///
    /// # Errors
    /// In strict mode [`CompressError::BadBody`] if the text is over the limit. Otherwise it comes back unchanged
    /// and the receipt's `skipped` says why.
    pub fn compress_text<'t>(
        &self,
        text: &'t str,
        command: Option<&str>,
        now: Moment,
    ) -> Result<CompressedText<'t>, CompressError> {
        self.compress_printed(text, command, None, now)
    }

    /// Like [`Compress::compress_text`], with everything that is known about the command.
    ///
    /// ```
    /// use omniroute_compress::{Compress, ToolOutput};
    /// use omniroute_core::Moment;
    /// let compressor = Compress::builder().plan("rtk").build()?;
    /// let printed: String = (0..60).map(|n| format!("test store::case_{n} ... ok\n")).collect();
    /// let printed = format!("running 60 tests\n{printed}\ntest result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n");
    /// let output = ToolOutput::new(&printed).command("cargo test").exit_code(0);
    /// let out = compressor.compress_output(output, Moment::default())?;
    /// assert!(out.text.contains("60 passed") && out.text.len() * 4 < printed.len());
    /// # Ok::<(), omniroute_compress::CompressError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Compress::compress_text`].
    pub fn compress_output<'t>(
        &self,
        output: ToolOutput<'t>,
        now: Moment,
    ) -> Result<CompressedText<'t>, CompressError> {
        self.compress_printed(output.text, output.command, output.exit_code, now)
    }

    fn compress_printed<'t>(
        &self,
        text: &'t str,
        command: Option<&str>,
        exit_code: Option<i32>,
        now: Moment,
    ) -> Result<CompressedText<'t>, CompressError> {
        let (wire, body) = match exit_code {
            None => (wire::OPENAI_CHAT, request_with(text, command)),
            Some(code) => (wire::OPENAI_RESPONSES, request_with_code(text, command, code)),
        };
        let out = self.compress_body(Some(wire), body, now)?;
        let sent = match out.receipt.applied {
            true => Cow::Owned(result_in(wire, out.body)),
            false => Cow::Borrowed(text),
        };
        let receipt = of_the_text(out.receipt, text, &sent);
        Ok(CompressedText { text: sent, receipt })
    }
}

/// A request on the wire whose shells report exit codes.
fn request_with_code(text: &str, command: Option<&str>, code: i32) -> String {
    let arguments = command.map_or("{}".to_owned(), |command| format!("{{\"command\":{}}}", escape(command)));
    let output = format!("{{\"output\":{},\"metadata\":{{\"exit_code\":{code}}}}}", escape(text));
    let mut body = String::with_capacity(output.len() + output.len() / 8 + arguments.len() + 256);
    body.push_str(
        "{\"input\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"shell\",\"arguments\":",
    );
    escape_into(&arguments, &mut body);
    body.push_str("},{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":");
    escape_into(&output, &mut body);
    body.push_str("}]}");
    body
}

/// A request with one shell call and the text as its result.
fn request_with(text: &str, command: Option<&str>) -> String {
    let arguments = match command {
        Some(command) => format!("{{\"command\":{}}}", escape(command)),
        None => "{}".to_owned(),
    };
    let mut body = String::with_capacity(text.len() + text.len() / 8 + arguments.len() + 256);
    body.push_str(
        "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",",
    );
    body.push_str("\"function\":{\"name\":\"bash\",\"arguments\":");
    escape_into(&arguments, &mut body);
    body.push_str("}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":");
    escape_into(text, &mut body);
    body.push_str("}]}");
    body
}

/// The text of the tool result in a request made here.
fn result_in(wire: wire::Wire, body: Bytes) -> String {
    let doc = Doc::parse_with_limit(body, usize::MAX)
        .expect("a body with applied edits was parsed by the pipeline");
    let conversation = wire.read(&doc).expect("edits of texts leave the shape of the request");
    let transcript = Transcript::from_conversation(&doc, &conversation);
    let result = transcript.segments().iter().find(|s| s.kind == SegmentKind::ToolResult);
    result.map(|s| s.original().to_owned()).expect("the request was made with a tool result")
}

/// The receipt without what belongs to the request around the text.
fn of_the_text(mut receipt: CompressReceipt, before: &str, after: &str) -> CompressReceipt {
    let call = receipt.by_kind.remove(&SegmentKind::ToolCall).map_or(0, |kind| kind.tokens_before);
    receipt.tokens_before = receipt.tokens_before.saturating_sub(call);
    receipt.tokens_after = receipt.tokens_after.saturating_sub(call);
    for step in &mut receipt.steps {
        step.request_tokens_in = step.request_tokens_in.saturating_sub(call);
        step.request_tokens_out = step.request_tokens_out.saturating_sub(call);
    }
    receipt.bytes_before = before.len() as u64;
    receipt.bytes_after = after.len() as u64;
    receipt.wire = WIRE.to_owned();
    receipt
}

#[cfg(test)]
mod tests {
    use omniroute_core::{Estimator, Tokenizer};

    use super::*;
    use crate::memo::MemoLimits;

    fn compressor(plan: &str) -> Compress {
        Compress::builder().plan(plan).memo(MemoLimits::none()).build().unwrap()
    }

    fn rows_of_json() -> String {
        let rows: Vec<String> = (0..40)
            .map(|n| format!("{{\"id\": {n}, \"name\": \"volume-{n}\", \"state\": \"attached\"}}"))
            .collect();
        format!("[{}]", rows.join(", "))
    }

    #[test]
    fn texts_come_back_shorter_or_as_they_were() {
        let colours = "\u{1b}[31mred\u{1b}[0m  \n".repeat(30);
        let many = rows_of_json();
        for (text, command, plan, changed) in [
            ("", None, "safe", false),
            ("plain \"quoted\" \\ \u{0} text\r\n", None, "safe", false),
            (many.as_str(), None, "safe", true),
            (many.as_str(), None, "off", false),
            (colours.as_str(), None, "safe", false), // what printed it is not known
            (colours.as_str(), Some("make all"), "safe", true),
            (colours.as_str(), Some("cat notes.txt"), "safe", false), // a file stays as it is
        ] {
            let out = compressor(plan).compress_text(text, command, Moment::default()).unwrap();
            assert_eq!(out.receipt.applied, changed, "{command:?} {plan} {text:.40}");
            assert_eq!(matches!(out.text, Cow::Owned(_)), changed);
            assert_eq!(
                (out.receipt.bytes_before, out.receipt.bytes_after),
                (text.len() as u64, out.text.len() as u64)
            );
            assert!(if changed { out.text.len() < text.len() } else { out.text == text });
            assert_eq!(out.receipt.wire, "text");
        }
    }

    #[test]
    fn figures_are_those_of_the_text_alone() {
        let text = rows_of_json();
        let command = "kubectl get volumes --all-namespaces -o json";
        let out = compressor("safe").compress_text(&text, Some(command), Moment::default()).unwrap();
        let count = |text: &str| u64::from(Estimator::for_model("").count(text));
        assert_eq!((out.receipt.tokens_before, out.receipt.tokens_after), (count(&text), count(&out.text)));
        assert_eq!(out.receipt.by_kind.len(), 1);
        assert_eq!(out.receipt.steps.last().map(|s| s.request_tokens_out), Some(out.receipt.tokens_after));
    }

    /// The command is not part of what is sent, so nothing may refer to it.
    #[test]
    fn nothing_refers_to_the_command() {
        let script: String =
            (0..30).map(|n| format!("echo this is line number {n} of the script\n")).collect();
        let command = format!("cat > run.sh <<'EOF'\n{script}EOF\ncat run.sh");
        let out = compressor("safe").compress_text(&script, Some(&command), Moment::default()).unwrap();
        assert_eq!(out.text, script);
    }

    #[test]
    fn the_limit_counts_and_strict_refuses() {
        let text = "x".repeat(500);
        let small = Compress::builder().max_body_bytes(400);
        let out = small.clone().build().unwrap();
        let out = out.compress_text(&text, None, Moment::default()).unwrap();
        assert_eq!((out.text.as_ref(), out.receipt.skipped.unwrap().code), (text.as_str(), "body_too_large"));
        let strict = small.strict(true).build().unwrap();
        assert_eq!(strict.compress_text(&text, None, Moment::default()).unwrap_err().code(), "bad_body");
    }
}
