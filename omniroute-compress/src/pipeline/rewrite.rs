//! Rewrite points: is this one, what would change, does it pay, and what is remembered of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use omniroute_core::{
    ChatRequest, CompressReceipt, Diagnostic, DocError, EngineContext, History, Rewritten, Segment,
    SegmentKind, Transcript,
};

use super::epoch::{Epoch, Pin};
use super::form::{Form, sum};
use super::session::SessionRecord;
use super::worked::Worked;
use super::{Pipeline, is_chained, keys};
use crate::cost::CacheKind;
use crate::memo::Key;
use crate::result::SegmentResult;
use crate::rewrite::{Market, Rewrite, TURNS, answers, asks_for_an_hour, live_tail};

/// More thresholds than these are not looked at: work stays linear.
const MAX_THRESHOLDS: u32 = 32;
/// Calls and results that a record can tell apart when the client changes the history.
const MAX_TRAIL: usize = 4_096;

/// What one call knows of itself.
pub(super) struct Here<'a, 'd> {
    pub(super) request: &'d ChatRequest,
    /// Keys of the texts without any rewrite.
    pub(super) keys: &'a [Key],
    pub(super) fingerprint: &'a Key,
    pub(super) cx: &'a EngineContext<'a>,
    /// Whether another request that starts like this one is to be expected.
    pub(super) goes_on: bool,
    pub(super) worked: Worked,
}

impl Here<'_, '_> {
    /// Keys of the texts under an epoch; without one those of the request as it is.
    pub(super) fn keys_under(&self, epoch: &Epoch) -> Cow<'_, [Key]> {
        match epoch.digest() {
            None => Cow::Borrowed(self.keys),
            Some(digest) => {
                let key = |(index, key): (usize, &Key)| {
                    let key = keys::join(key, &digest);
                    // The key of prose does not tell its place, and the same words may stand in a new form at one
                    // place and as they are at another.
                    if epoch.pins.contains_key(&index) { keys::at(&key, index) } else { key }
                };
                Cow::Owned(self.keys.iter().enumerate().map(key).collect())
            }
        }
    }
}

/// Why the history may be rewritten, and how many of its texts the cache still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    reason: &'static str,
    cached: usize,
}

impl Pipeline<'_> {
    /// The form in force for this request: that of the rewrite before, of a new one, or of none. `transcript` is that of
    /// the request as it came.
    ///
    /// # Errors
    /// [`DocError`] as for the request itself.
    pub(super) fn in_force<'d>(
        &self,
        here: &Here<'_, 'd>,
        transcript: Transcript<'d>,
        record: &mut SessionRecord,
        receipt: &mut CompressReceipt,
    ) -> Result<Form<'d>, DocError> {
        let before =
            record.epoch.clone().filter(|epoch| epoch.fits(here.keys, here.fingerprint)).unwrap_or_default();
        if !self.wants_history() {
            return Ok(self.form(here, transcript, before, receipt));
        }
        let market = self.market(here.request);
        let point = self.point(here, transcript.segments(), record, &market);
        self.remember(here, transcript.segments(), record, &market);
        match (self.rewrite, point) {
            (Rewrite::Threshold { every_tokens }, _) => {
                self.thresholds(here, transcript, before, every_tokens, &market, receipt)
            }
            (_, Some(point)) => self.rewritten(here, transcript, before, point, &market, receipt),
            (_, None) => Ok(self.form(here, transcript, before, receipt)),
        }
    }

    /// The request under an epoch, apart from any other form of it.
    pub(super) fn form_anew<'d>(
        &self,
        here: &Here<'_, 'd>,
        epoch: Epoch,
        receipt: &mut CompressReceipt,
    ) -> Result<Form<'d>, DocError> {
        Ok(self.form(here, Transcript::of(here.request)?, epoch, receipt))
    }

    pub(super) fn market(&self, request: &ChatRequest) -> Market {
        let model = request.head().model.map(|m| m.decode()).unwrap_or_default();
        let mut market = Market::of(request.wire().id(), &model);
        if let Some(prices) = self.prices {
            market.prices = prices;
        }
        if let Some(cache) = self.cache {
            market.cache = cache;
        }
        market
    }

    /// Whether the cache has gone, or part of it.
    fn point(
        &self,
        here: &Here<'_, '_>,
        segments: &[Segment<'_>],
        record: &SessionRecord,
        market: &Market,
    ) -> Option<Point> {
        let cold = |reason| Some(Point { reason, cached: 0 });
        if self.rewrite == Rewrite::Always {
            return cold("always");
        }
        if market.cache.kind == CacheKind::None {
            return cold("no_cache");
        }
        match self.cold {
            Some(true) => return cold("cold"),
            Some(false) => return None,
            None => {}
        }
        let (now, last) = (self.now.wall.0, record.last_ms);
        if last > 0 && now > 0 && now.saturating_sub(last) > record.ttl_ms.saturating_mul(11) / 10 {
            return cold("cold");
        }
        // Only a named session is surely one line of conversation.
        here.request.session()?;
        let chained = segments.iter().enumerate().filter(|(_, s)| is_chained(s.kind)).map(|(at, _)| at);
        let changed =
            chained.zip(&record.trail).find(|(at, known)| here.keys.get(*at).map(mark) != Some(**known));
        changed.map(|(cached, _)| Point { reason: "history_changed", cached })
    }

    fn remember(
        &self,
        here: &Here<'_, '_>,
        segments: &[Segment<'_>],
        record: &mut SessionRecord,
        market: &Market,
    ) {
        if self.rewrite != Rewrite::ColdOnly || self.now.wall.0 == 0 {
            return;
        }
        record.last_ms = self.now.wall.0.max(record.last_ms);
        let hour = asks_for_an_hour(here.request.doc().bytes());
        record.ttl_ms = if hour { 3_600_000 } else { i64::try_from(market.cache.ttl_ms).unwrap_or(i64::MAX) };
        if here.request.session().is_some() {
            let chained = segments.iter().zip(here.keys).filter(|(s, _)| is_chained(s.kind));
            record.trail = chained.map(|(_, key)| mark(key)).take(MAX_TRAIL).collect();
        }
    }

    /// Lets the engines of the plan work on older texts, as far as what they leave out could be fetched. What fails is
    /// taken back and said.
    pub(super) fn work_on(
        &self,
        past: &mut History<'_, '_>,
        cx: &EngineContext<'_>,
        receipt: &mut CompressReceipt,
    ) {
        for engine in self.steps.engines.iter().filter(|engine| engine.info().history) {
            let info = *engine.info();
            if info.retrieval && (!cx.reachable || cx.lossless_only) {
                continue;
            }
            let done = catch_unwind(AssertUnwindSafe(|| engine.history(past, cx)));
            let code = match done {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.code,
                Err(_) => "panic",
            };
            past.take_back(info.id);
            let action =
                format!("engine {} failed with older texts ({code}), nothing of it was done", info.id);
            receipt.notes.push(Diagnostic::new("engine_error", "", action));
        }
    }

    /// What the engines would replace in the first `view` texts, of which `end` are old.
    fn pins(
        &self,
        here: &Here<'_, '_>,
        base: &Form<'_>,
        (view, end): (usize, usize),
        receipt: &mut CompressReceipt,
    ) -> BTreeMap<usize, Pin> {
        let segments = base.transcript.segments().get(..view).unwrap_or(base.transcript.segments());
        let mut past = History::new(segments, end).open_user(self.old_users(segments, end));
        self.work_on(&mut past, here.cx, receipt);
        let mut pins = BTreeMap::new();
        for (index, (engine, new)) in past.into_edits() {
            let exact = || segments.get(index).is_some_and(|s| s.rewrites_exactly());
            let lossless = new.undo.is_some() && new.recoverable.is_empty() && exact();
            let sent = segments.get(index).map_or("", |s| s.sent());
            let tokens = base.results.get(index).map_or(0, |result| result.tokens_after);
            let after = self.tokenizer.count(&new.text);
            let smaller = new.text.len() < sent.len() && after < tokens;
            let original = segments.get(index).map_or("", |s| s.original());
            let refused = || self.steps.refuse(original, &new.text, (tokens, after), lossless).is_some();
            if smaller && !refused() && !new.text.trim().is_empty() && (lossless || !here.cx.lossless_only) {
                pins.insert(index, Pin::of(engine, &new));
            }
        }
        pins
    }

    /// Older texts of the user, where the plan may change them.
    fn old_users(&self, segments: &[Segment<'_>], end: usize) -> BTreeSet<usize> {
        let old = |(_, s): &(usize, &Segment<'_>)| s.kind == SegmentKind::User;
        match self.steps.user_at_rewrite {
            true => segments.iter().take(end).enumerate().filter(old).map(|(at, _)| at).collect(),
            false => BTreeSet::new(),
        }
    }

    /// A rewrite at a point, if anything would change and it pays.
    fn rewritten<'d>(
        &self,
        here: &Here<'_, 'd>,
        transcript: Transcript<'d>,
        before: Epoch,
        point: Point,
        market: &Market,
        receipt: &mut CompressReceipt,
    ) -> Result<Form<'d>, DocError> {
        let count = transcript.segments().len();
        let end = live_tail(&answers(transcript.segments()));
        if end == 0 {
            return Ok(self.form(here, transcript, before, receipt));
        }
        let base = self.form(here, transcript, Epoch::default(), receipt);
        let pins = self.pins(here, &base, (count, end), receipt);
        let passed = before.passed;
        let changes = pins != before.pins && !pins.is_empty();
        let segments = base.transcript.segments();
        let next = Epoch { pins, passed, ..self.blank(here) }.anchored(here.keys, chained(segments, count));
        let current = match before.pins.is_empty() {
            true => Form { epoch: before, ..base },
            false => self.form_anew(here, before, receipt)?,
        };
        if !changes {
            return Ok(current);
        }
        let new = self.form_anew(here, next, receipt)?;
        let report = forecast(&current.results, &new.results, point, market);
        let done = report.done;
        receipt.rewrite = Some(report);
        Ok(if done { new } else { current })
    }

    /// Rewrites where the history passes multiples of `every` tokens: the same for the same history, whoever asks.
    fn thresholds<'d>(
        &self,
        here: &Here<'_, 'd>,
        transcript: Transcript<'d>,
        before: Epoch,
        every: u64,
        market: &Market,
        receipt: &mut CompressReceipt,
    ) -> Result<Form<'d>, DocError> {
        let every = every.max(1_000);
        let count = transcript.segments().len();
        let answers = answers(transcript.segments());
        let mut current = self.form(here, transcript, before, receipt);
        // The request without any rewrite; only worked out where a threshold is passed.
        let mut base: Option<Form<'d>> = None;
        let lengths: Vec<u64> = current.results.iter().map(|r| u64::from(r.tokens_before)).collect();
        let mut total = 0;
        let mut next = u64::from(current.epoch.passed + 1) * every;
        for (index, length) in lengths.into_iter().enumerate() {
            total += length;
            if total < next || current.epoch.passed >= MAX_THRESHOLDS {
                continue;
            }
            // The request in which this text was new ended before the next answer.
            let at = answers.partition_point(|start| *start <= index);
            let view = answers.get(at).copied().unwrap_or(count);
            current.epoch.passed = u32::try_from(total / every).unwrap_or(u32::MAX);
            next = u64::from(current.epoch.passed).saturating_add(1).saturating_mul(every);
            let end = live_tail(answers.get(..at).unwrap_or(&answers));
            if end == 0 {
                continue;
            }
            if base.is_none() && !current.epoch.pins.is_empty() {
                base = Some(self.form_anew(here, Epoch::default(), receipt)?);
            }
            let found = self.pins(here, base.as_ref().unwrap_or(&current), (view, end), receipt);
            let fresh: BTreeMap<usize, Pin> =
                found.into_iter().filter(|(index, _)| !current.epoch.pins.contains_key(index)).collect();
            let Some((&first, _)) = fresh.first_key_value() else { continue };
            let texts = fresh.len();
            // Far from paying by what the new forms alone save: what becomes of the other texts need not be known.
            let gone = |(index, pin): (&usize, &Pin)| {
                let before = current.results.get(*index).map_or(0, |result| result.tokens_after);
                u64::from(before.saturating_sub(self.tokenizer.count(&pin.text)))
            };
            let gone: u64 = fresh.iter().map(gone).sum();
            let behind = sum(current.results.get(first..view).unwrap_or_default()).saturating_sub(gone);
            if view != count && !market.pays(gone * 2, behind / 2, TURNS) {
                continue;
            }
            let mut epoch = Epoch { passed: current.epoch.passed, ..self.blank(here) };
            epoch.pins = current.epoch.pins.clone();
            epoch.pins.extend(fresh);
            let epoch = epoch.anchored(here.keys, chained(current.transcript.segments(), view));
            // Only texts of that request count; what they become depends on nothing after them.
            let new = self.form_anew(here, epoch, receipt)?;
            let tokens = |form: &Form<'_>, from: usize| sum(form.results.get(from..view).unwrap_or_default());
            let saved = tokens(&current, 0).saturating_sub(tokens(&new, 0));
            let resent = tokens(&new, first);
            let done = market.pays(saved, resent, TURNS);
            if view == count {
                receipt.rewrite = Some(report("threshold", done, texts, (saved, resent), market, false));
            }
            if done {
                let old = std::mem::replace(&mut current, new);
                if old.epoch.pins.is_empty() {
                    base = Some(old);
                }
            }
        }
        Ok(current)
    }

    /// An epoch of this plan without any change.
    pub(super) fn blank(&self, here: &Here<'_, '_>) -> Epoch {
        Epoch { fingerprint: keys::hex(here.fingerprint), ..Epoch::default() }
    }
}

/// How many of the first `view` texts there are to the last call or result.
pub(super) fn chained(segments: &[Segment<'_>], view: usize) -> usize {
    segments.iter().take(view).rposition(|s| is_chained(s.kind)).map_or(0, |last| last + 1)
}

/// The start of a key: enough to see that a text has changed.
fn mark(key: &Key) -> u32 {
    let [a, b, c, d, ..] = *key;
    u32::from_le_bytes([a, b, c, d])
}

fn forecast(
    current: &[Arc<SegmentResult>],
    new: &[Arc<SegmentResult>],
    point: Point,
    market: &Market,
) -> Rewritten {
    let form = |result: &Arc<SegmentResult>| result.sent.as_ref().map(|sent| sent.text.clone());
    let differs = |(a, b): (&Arc<SegmentResult>, &Arc<SegmentResult>)| form(a) != form(b);
    let texts = current.iter().zip(new).filter(|pair| differs(*pair)).count();
    let first = current.iter().zip(new).position(differs).unwrap_or(new.len());
    let saved = sum(current).saturating_sub(sum(new));
    let resent = sum(new.get(first..point.cached.clamp(first, new.len().max(first))).unwrap_or_default());
    let cold = resent == 0;
    let done = if cold { saved > 0 } else { market.pays(saved, resent, TURNS) };
    report(point.reason, done, texts, (saved, resent), market, cold)
}

fn report(
    reason: &'static str,
    done: bool,
    texts: usize,
    (saved, resent): (u64, u64),
    market: &Market,
    cold: bool,
) -> Rewritten {
    let money =
        |tokens: u64, price: u64| i64::try_from(u128::from(tokens) * u128::from(price)).unwrap_or(i64::MAX);
    let (read, write) = (market.read(), market.write());
    let now = match cold {
        true => money(saved, write).saturating_neg(),
        false => money(resent, write.saturating_sub(read)).saturating_sub(money(saved, read)),
    };
    let pays_after = match cold {
        true => Some(0),
        false => crate::cost::break_even_turns(resent, saved, &market.prices, &market.cache),
    };
    Rewritten::new(reason, done)
        .texts(u32::try_from(texts).unwrap_or(u32::MAX))
        .tokens(saved, resent)
        .money(now, money(saved, read))
        .pays_after(pays_after)
}
