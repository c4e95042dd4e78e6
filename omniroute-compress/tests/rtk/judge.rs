//! Runs the engine over recorded outputs and adds up what was saved and what was lost.

use std::sync::OnceLock;

use omniroute_compress::{Compress, MemoLimits, Step, ToolOutput};
use omniroute_core::Moment;
use tiktoken_rs::{CoreBPE, o200k_base_singleton};

use super::corpus::Output;
use super::oracle::{self, Recall};

/// Tokens of o200k.
pub(crate) fn tokens(text: &str) -> usize {
    static COUNTER: OnceLock<&'static CoreBPE> = OnceLock::new();
    COUNTER.get_or_init(o200k_base_singleton).encode_ordinary(text).len()
}

/// A compressor with the engine alone.
pub(crate) fn engine(level: &'static str) -> Compress {
    let step = Step::new("rtk").with("intensity", level);
    Compress::builder().steps([step]).memo(MemoLimits::none()).build().expect("the step is right")
}

/// What is sent for one output; `known` says whether the command and its exit code are told.
pub(crate) fn sent(engine: &Compress, output: &Output, known: bool) -> String {
    run(engine, output, known).0
}

/// What is sent, and what was done or why nothing was.
pub(crate) fn run(engine: &Compress, output: &Output, known: bool) -> (String, String) {
    let mut tool = ToolOutput::new(&output.text);
    if known {
        tool = tool.command(&output.command);
        tool.exit_code = output.exit_code;
    }
    let out = engine.compress_output(tool, Moment::default()).expect("not strict");
    let step = out.receipt.steps.first();
    let done = step.map(|s| s.techniques.keys().chain(s.skips.keys()).copied().collect::<Vec<_>>().join(" "));
    (out.text.into_owned(), done.unwrap_or_default())
}

/// Sums over some outputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    pub(crate) files: usize,
    pub(crate) complete: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) recall: Recall,
}

impl Sum {
    pub(crate) fn add(&mut self, before: usize, after: usize, recall: &Recall) {
        self.files += 1;
        self.complete += usize::from(recall.missing_to(1) == 0);
        self.before += before;
        self.after += after;
        self.recall.add(recall);
    }

    /// Percent of the tokens that are saved.
    pub(crate) fn saved(&self) -> f64 {
        100.0 * (1.0 - self.after as f64 / self.before.max(1) as f64)
    }
}

/// Judges what is sent for one output.
pub(crate) fn judge(output: &Output, sent: &str) -> Recall {
    oracle::recall(&output.facts, &output.text, sent)
}
