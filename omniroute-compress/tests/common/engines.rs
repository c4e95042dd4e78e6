//! Engines of tests: one that does what a closure says and counts how often it was asked.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use omniroute_compress::{Compress, Compressed, MemoLimits};
use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, Moment, Replacement, SegmentView,
    Tokenizer, wire::Wire,
};

type Act = dyn Fn(&SegmentView<'_, '_>, &EngineContext<'_>) -> Result<Edit, EngineError> + Send + Sync;

/// An engine made of a closure.
pub struct Own {
    info: EngineInfo,
    act: Box<Act>,
    calls: AtomicUsize,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Own({})", self.info.id)
    }
}

impl Own {
    pub fn new(
        info: EngineInfo,
        act: impl Fn(&SegmentView<'_, '_>, &EngineContext<'_>) -> Result<Edit, EngineError>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Own> {
        Arc::new(Own { info, act: Box::new(act), calls: AtomicUsize::new(0) })
    }

    /// An engine that says `change` of every text.
    pub fn says(
        id: &'static str,
        loss: Loss,
        change: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Arc<Own> {
        Own::new(EngineInfo::new(id, loss), move |view, _| {
            Ok(Edit::Replace(Replacement::new(change(view.text()))))
        })
    }

    pub fn info_id(&self) -> &'static str {
        self.info.id
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl CompressionEngine for Own {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn segment(&self, view: &SegmentView<'_, '_>, cx: &EngineContext<'_>) -> Result<Edit, EngineError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.act)(view, cx)
    }
}

/// Counts words, so that a text of escapes is short for it and long in the body.
#[derive(Debug)]
pub struct Words;

impl Tokenizer for Words {
    fn id(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        text.split_whitespace().count() as u32
    }
}

/// A compressor for a plan, with these limits of the memo.
pub fn compressor(plan: &str, memo: MemoLimits) -> Compress {
    Compress::builder().plan(plan).memo(memo).build().unwrap()
}

/// A compressor whose only step is `engine`.
pub fn only(engine: Arc<Own>, memo: MemoLimits) -> Compress {
    let id = engine.info().id;
    Compress::builder().plan(id).engine(engine).memo(memo).build().unwrap()
}

pub fn run(compressor: &Compress, wire: Wire, body: impl Into<Bytes>) -> Compressed {
    compressor.compress_body(Some(wire), body, Moment::default()).unwrap()
}
