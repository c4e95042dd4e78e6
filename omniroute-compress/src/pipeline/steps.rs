//! Runs the steps of a plan on one text after the other.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Diagnostic, Edit, EngineContext, EngineMemory, Loss, Replacement, Segment,
    SegmentKind, SegmentLog, SegmentView, Tokenizer, Transcript,
};

use super::epoch::Pin;
use super::fit::BUDGET;
use super::floor::{self, Floor};
use super::is_chained;
use super::keys::sha256_hex;
use super::worked::Worked;
use crate::memo::{Memories, Slot};
use crate::plan::Steps;
use crate::result::{SegmentResult, Sent, StepOutcome};
use crate::{ccr, guard, marker};

/// The engines of a plan with what they remember of the texts so far.
pub(super) struct Runner<'a> {
    steps: &'a Steps,
    cx: &'a EngineContext<'a>,
    pins: &'a BTreeMap<usize, Pin>,
    worked: &'a Worked,
    memories: Memories,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        steps: &'a Steps,
        cx: &'a EngineContext<'a>,
        pins: &'a BTreeMap<usize, Pin>,
        worked: &'a Worked,
    ) -> Self {
        let slot = |e: &Arc<dyn CompressionEngine>| e.memory().map_or(Slot::Unused, Slot::Live);
        Runner { steps, cx, pins, worked, memories: steps.engines.iter().map(slot).collect() }
    }

    /// Takes over the memories of an earlier call; returns how many chained texts they cover.
    pub(super) fn restore(&mut self, tip: Option<(usize, Memories)>) -> usize {
        match tip {
            Some((index, memories)) if memories.len() == self.steps.engines.len() => {
                self.memories = memories;
                index + 1
            }
            _ => 0,
        }
    }

    pub(super) fn into_memories(self) -> Memories {
        self.memories
    }

    /// Runs all steps on segment `index` and records in the transcript what is sent.
    pub(super) fn work(
        &mut self,
        transcript: &mut Transcript<'_>,
        index: usize,
        floor: &Floor,
    ) -> SegmentResult {
        let segments = transcript.segments();
        // Prose is worked on without a look at its neighbours.
        let first = segments.get(index).map_or(0, |s| if is_chained(s.kind) { 0 } else { index });
        let Some(upto) = segments.get(first..=index) else { return SegmentResult::default() };
        let Some(segment) = upto.last() else { return SegmentResult::default() };
        let mut out = counted(segment, self.cx.tokenizer, (self.worked, index));
        if segment.kind != SegmentKind::ToolResult && !wants_prose(self.steps, segment.kind) {
            return out;
        }
        if let Some(result) = self
            .pins
            .get(&index)
            .and_then(|pin| pinned(self.steps, self.cx.tokenizer, segment, pin, (self.worked, index)))
        {
            if let Some((sent, segment)) = result.sent.as_ref().zip(transcript.segments_mut().get_mut(index))
            {
                segment.set_sent(sent.text.clone(), &sent.edited_by);
            }
            return result;
        }
        let blocked = if segment.frozen.is_some() {
            Some("frozen")
        } else if is_retrieved(segments, segment) {
            Some("retrieved")
        } else if marker::contains(segment.original()) {
            Some("already_compressed")
        } else if self.cx.lossless_only && !segment.rewrites_exactly() {
            Some("own_escapes")
        } else {
            None
        };
        let mut text = Cow::Borrowed(segment.original());
        let mut tokens = out.tokens_before;
        let mut edited_by = Vec::new();
        let mut recoverable = Vec::new();
        let mut log = SegmentLog::new(segment.id, String::new(), false);
        let steps = self.steps;
        for (position, engine) in steps.engines.iter().enumerate() {
            let mut outcome = StepOutcome { tokens_in: tokens, tokens_out: tokens, ..StepOutcome::default() };
            if !engine.info().targets.contains(&segment.kind) {
                out.steps.push(outcome);
                continue;
            }
            outcome.seen = true;
            let again = engine.info().alone && edited_by.is_empty() && blocked.is_none();
            let answer = match (blocked, again.then(|| self.worked.find(index, position)).flatten()) {
                (Some(reason), _) => Err(reason),
                (None, Some(answer)) => answer,
                (None, None) => {
                    let told = out.notes.len();
                    let answer = self.step(engine.as_ref(), position, upto, &text, tokens, &mut out.notes);
                    // What went wrong has to be told in every form.
                    if again && out.notes.len() == told {
                        self.worked.keep(index, position, &answer);
                    }
                    answer
                }
            };
            match answer {
                Err(reason) => outcome.reason = Some(reason),
                Ok((replacement, tokens_out)) => {
                    outcome.changed = true;
                    outcome.tokens_out = tokens_out;
                    outcome.techniques = replacement.techniques;
                    outcome.dropped = replacement.dropped;
                    tokens = tokens_out;
                    edited_by.push(engine.info().id);
                    recoverable.extend(replacement.recoverable);
                    log.push(engine.info().id, replacement.undo);
                    text = Cow::Owned(replacement.text);
                }
            }
            out.steps.push(outcome);
        }
        out.tokens_after = tokens;
        if let Cow::Owned(text) = text {
            log.original_sha256 = sha256_hex(segment.original());
            let literal: Arc<str> = segment.literal_for(&text).into();
            // Judged for each text: what the whole body weighs changes from turn to turn.
            if literal.len() >= segment.raw().len() + 2 {
                take_back(&mut out, "would_inflate");
                return out;
            }
            if floor.refuses(out.tokens_before, tokens) {
                take_back(&mut out, floor::REASON);
                return out;
            }
            log.exact_literal = segment.rewrites_exactly();
            let text: Arc<str> = text.into();
            let sent = Sent { text: text.clone(), literal, edited_by: edited_by.clone(), log, recoverable };
            out.sent = Some(sent);
            if let Some(segment) = transcript.segments_mut().get_mut(index) {
                segment.set_sent(text, &edited_by);
            }
        }
        out
    }

    /// One step on one text: the new text and its tokens, or the reason to keep the old one.
    fn step(
        &mut self,
        engine: &dyn CompressionEngine,
        position: usize,
        upto: &[Segment<'_>],
        text: &str,
        tokens: u32,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<(Replacement, u32), &'static str> {
        let info = engine.info();
        let segment = upto.last().ok_or("not_applicable")?;
        if self.cx.lossless_only && info.loss != Loss::Lossless {
            return Err("lossless_only");
        }
        if info.retrieval && !self.cx.reachable {
            return Err("ccr_unreachable");
        }
        if text.len() < info.min_bytes {
            return Err("below_min_bytes");
        }
        if let Some(reason) = self.steps.gates.refuse_text(text) {
            return Err(reason);
        }
        if segment.is_error && !info.own_gates && matches!(info.loss, Loss::Lossy | Loss::Recoverable) {
            return Err("is_error");
        }
        let memory: Option<&dyn EngineMemory> = match self.memories.get(position) {
            Some(Slot::Broken) => return Err("engine_panic"),
            Some(Slot::Live(memory)) => Some(memory.as_ref()),
            _ => None,
        };
        let view = SegmentView::new(upto, text, memory).ok_or("not_applicable")?;
        let cx = self.cx;
        let replacement = match catch_unwind(AssertUnwindSafe(|| engine.segment(&view, cx))) {
            Ok(Ok(Edit::Replace(replacement))) => replacement,
            Ok(Ok(Edit::Keep(reason))) => return Err(reason),
            Ok(Ok(_)) => return Err("not_applicable"),
            Ok(Err(error)) => {
                let action = format!("engine {} failed ({}), the text is kept", info.id, error.code);
                notes.push(Diagnostic::new("engine_error", segment.id.to_string(), action));
                return Err("engine_error");
            }
            Err(_) => {
                let action = format!("engine {} panicked, the text is kept", info.id);
                notes.push(Diagnostic::new("engine_panic", segment.id.to_string(), action));
                return Err("engine_panic");
            }
        };
        let tokens_out = cx.tokenizer.count(&replacement.text);
        let refused = guard::refuse(text, &replacement.text, (tokens, tokens_out), info);
        let lossless = info.loss == Loss::Lossless;
        let refuse = || self.steps.refuse(text, &replacement.text, (tokens, tokens_out), lossless);
        match refused.or_else(refuse) {
            Some(reason) => Err(reason),
            None => Ok((replacement, tokens_out)),
        }
    }

    /// Lets the engines take notice of a chained text whose sent form is settled. Returns the bytes looked at.
    pub(super) fn settle(&mut self, segments: &[Segment<'_>], index: usize) -> u64 {
        let Some(upto) = segments.get(..=index) else { return 0 };
        let Some(segment) = upto.last() else { return 0 };
        let Some(view) = SegmentView::new(upto, segment.sent(), None) else { return 0 };
        for (engine, slot) in self.steps.engines.iter().zip(&mut self.memories) {
            if let Slot::Live(memory) = slot
                && catch_unwind(AssertUnwindSafe(|| engine.settle(&view, memory.as_mut()))).is_err()
            {
                *slot = Slot::Broken;
            }
        }
        segment.raw().len() as u64
    }
}

/// Whether a step works on texts of this kind, which are no calls and results.
pub(super) fn wants_prose(steps: &Steps, kind: SegmentKind) -> bool {
    matches!(kind, SegmentKind::User | SegmentKind::Assistant)
        && steps.engines.iter().any(|engine| engine.info().targets.contains(&kind))
}

/// The result for a text that a rewrite has put into another form; none if its engine has gone.
pub(super) fn pinned(
    steps: &Steps,
    tokenizer: &dyn Tokenizer,
    segment: &Segment<'_>,
    pin: &Pin,
    place: (&Worked, usize),
) -> Option<SegmentResult> {
    let count = steps.engines.len();
    // Cuts stand behind the engines.
    let (position, engine) = match pin.engine.as_str() {
        BUDGET => (count, BUDGET),
        id => {
            let position = steps.engines.iter().position(|engine| engine.info().id == id)?;
            (position, steps.engines.get(position)?.info().id)
        }
    };
    let literal: Arc<str> = segment.literal_for(&pin.text).into();
    if segment.frozen.is_some() || literal.len() >= segment.raw().len() + 2 {
        return None;
    }
    let mut out = counted(segment, tokenizer, place);
    let before = out.tokens_before;
    out.tokens_after = tokenizer.count(&pin.text);
    let mut tokens = before;
    for at in 0..count.max(position + 1) {
        let mut outcome = StepOutcome { tokens_in: tokens, tokens_out: tokens, ..StepOutcome::default() };
        if at == position {
            tokens = out.tokens_after;
            (outcome.seen, outcome.changed, outcome.tokens_out) = (true, true, tokens);
            outcome.dropped = pin.dropped;
            outcome.techniques = pin.techniques.iter().map(|name| technique(engine, name)).collect();
        }
        out.steps.push(outcome);
    }
    let mut log = SegmentLog::new(segment.id, sha256_hex(segment.original()), segment.rewrites_exactly());
    log.push(engine, pin.undo.clone());
    let text: Arc<str> = pin.text.as_str().into();
    out.sent = Some(Sent { text, literal, edited_by: vec![engine], log, recoverable: pin.recoverable() });
    Some(out)
}

/// The technique of an engine by its name in a record. Those of engines of the caller have no fixed name.
fn technique(engine: &str, name: &str) -> (&'static str, u32) {
    let known = match engine {
        BUDGET => Some("cut"),
        id => crate::registry::engine(id).and_then(|entry| (entry.technique)(name)),
    };
    (known.unwrap_or("rewritten"), 1)
}

/// Whether a text was fetched with the retrieval tool: the model asked for it as it is.
fn is_retrieved(segments: &[Segment<'_>], segment: &Segment<'_>) -> bool {
    let call = segment.call.and_then(|index| segments.get(index));
    call.and_then(|call| call.tool_name()).is_some_and(|name| ccr::is_tool(&name))
}

/// Makes a result one that changes nothing.
fn take_back(result: &mut SegmentResult, reason: &'static str) {
    let tokens = result.tokens_before;
    result.tokens_after = tokens;
    for step in result.steps.iter_mut().filter(|step| step.seen) {
        let kept = if step.changed { Some(reason) } else { step.reason };
        let before = StepOutcome { tokens_in: tokens, tokens_out: tokens, ..StepOutcome::default() };
        *step = StepOutcome { seen: true, reason: kept, ..before };
    }
}

/// A result that changes nothing.
pub(super) fn counted(
    segment: &Segment<'_>,
    tokenizer: &dyn Tokenizer,
    (worked, index): (&Worked, usize),
) -> SegmentResult {
    let tokens = worked.count(index, || tokenizer.count(segment.original()));
    SegmentResult { tokens_before: tokens, tokens_after: tokens, ..SegmentResult::default() }
}
