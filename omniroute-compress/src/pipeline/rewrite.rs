//! Rewrite points: is this one, what would change, does it pay, and what is remembered of it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use omniroute_core::{
    ChatRequest, CompressReceipt, Diagnostic, DocError, EngineContext, History, Rewritten, Segment,
    Transcript,
};

use super::epoch::{Epoch, Pin};
use super::session::SessionRecord;
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
pub(super) struct Here<'a> {
    pub(super) request: &'a ChatRequest,
    /// Keys of the texts without any rewrite.
    pub(super) keys: &'a [Key],
    pub(super) seed: &'a Key,
    pub(super) fingerprint: &'a Key,
    pub(super) cx: &'a EngineContext<'a>,
}

/// Why the history may be rewritten, and how many of its texts the cache still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    reason: &'static str,
    cached: usize,
}

type Results = Vec<Arc<SegmentResult>>;

impl Pipeline<'_> {
    /// The rewrite in force for this request: the one of before, a new one, or none.
    ///
    /// # Errors
    /// [`DocError`] as for the request itself.
    pub(super) fn epoch(
        &self,
        here: &Here<'_>,
        segments: &[Segment<'_>],
        record: &mut SessionRecord,
        receipt: &mut CompressReceipt,
    ) -> Result<Epoch, DocError> {
        let before =
            record.epoch.clone().filter(|epoch| epoch.fits(here.keys, here.fingerprint)).unwrap_or_default();
        let market = self.market(here.request);
        let now = match self.rewrite {
            Rewrite::Never => before,
            Rewrite::Threshold { every_tokens } => {
                self.thresholds(here, segments, before, every_tokens, &market, receipt)?
            }
            Rewrite::ColdOnly | Rewrite::Always => match self.point(here, segments, record, &market) {
                Some(point) => self.rewritten(here, segments, before, point, &market, receipt)?,
                None => before,
            },
        };
        self.remember(here, segments, record, &market);
        Ok(now)
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
        here: &Here<'_>,
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
        here: &Here<'_>,
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

    /// The results under an epoch, apart from the request that is being worked on.
    fn results_under(
        &self,
        here: &Here<'_>,
        epoch: &Epoch,
        receipt: &mut CompressReceipt,
    ) -> Result<Results, DocError> {
        let mut transcript = Transcript::of(here.request)?;
        let keys = epoch_keys(here, &transcript, epoch);
        let mut apart = CompressReceipt::default();
        let results = self.results(&mut transcript, &keys, here.cx, &mut apart, &epoch.pins);
        receipt.engine_bytes += apart.engine_bytes;
        Ok(results)
    }

    /// What the engines would replace in the first `view` texts, of which `end` are old.
    fn pins(
        &self,
        here: &Here<'_>,
        base: &Transcript<'_>,
        results: &[Arc<SegmentResult>],
        (view, end): (usize, usize),
        receipt: &mut CompressReceipt,
    ) -> BTreeMap<usize, Pin> {
        let segments = base.segments().get(..view).unwrap_or(base.segments());
        let mut past = History::new(segments, end);
        for engine in self.steps.engines.iter().filter(|engine| engine.info().history) {
            let info = *engine.info();
            if info.retrieval && (!here.cx.reachable || here.cx.lossless_only) {
                continue;
            }
            let done = catch_unwind(AssertUnwindSafe(|| engine.history(&mut past, here.cx)));
            let code = match done {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.code,
                Err(_) => "panic",
            };
            past.take_back(info.id);
            let action =
                format!("engine {} failed at a rewrite point ({code}), nothing of it was done", info.id);
            receipt.notes.push(Diagnostic::new("engine_error", "", action));
        }
        let mut pins = BTreeMap::new();
        for (index, (engine, new)) in past.into_edits() {
            let exact = || segments.get(index).is_some_and(|s| s.rewrites_exactly());
            let lossless = new.undo.is_some() && new.recoverable.is_empty() && exact();
            let sent = segments.get(index).map_or("", |s| s.sent());
            let tokens = results.get(index).map_or(0, |result| result.tokens_after);
            let smaller = new.text.len() < sent.len() && self.tokenizer.count(&new.text) < tokens;
            if smaller && !new.text.trim().is_empty() && (lossless || !here.cx.lossless_only) {
                pins.insert(index, Pin::of(engine, &new));
            }
        }
        pins
    }

    /// A rewrite at a point, if anything would change and it pays.
    fn rewritten(
        &self,
        here: &Here<'_>,
        segments: &[Segment<'_>],
        before: Epoch,
        point: Point,
        market: &Market,
        receipt: &mut CompressReceipt,
    ) -> Result<Epoch, DocError> {
        let end = live_tail(&answers(segments));
        if end == 0 {
            return Ok(before);
        }
        let mut base = Transcript::of(here.request)?;
        let mut apart = CompressReceipt::default();
        let results = self.results(&mut base, here.keys, here.cx, &mut apart, &BTreeMap::new());
        receipt.engine_bytes += apart.engine_bytes;
        let pins = self.pins(here, &base, &results, (segments.len(), end), receipt);
        if pins == before.pins || pins.is_empty() {
            return Ok(before);
        }
        let mut next = Epoch { pins, ..self.blank(here, segments, segments.len()) };
        next.passed = before.passed;
        let current = match before.pins.is_empty() {
            true => results,
            false => self.results_under(here, &before, receipt)?,
        };
        let new = self.results_under(here, &next, receipt)?;
        let report = forecast(&current, &new, point, market);
        let done = report.done;
        receipt.rewrite = Some(report);
        Ok(if done { next } else { before })
    }

    /// Rewrites where the history passes multiples of `every` tokens: the same for the same history, whoever asks.
    fn thresholds(
        &self,
        here: &Here<'_>,
        segments: &[Segment<'_>],
        before: Epoch,
        every: u64,
        market: &Market,
        receipt: &mut CompressReceipt,
    ) -> Result<Epoch, DocError> {
        let every = every.max(1_000);
        let mut base = Transcript::of(here.request)?;
        let mut apart = CompressReceipt::default();
        let results = self.results(&mut base, here.keys, here.cx, &mut apart, &BTreeMap::new());
        receipt.engine_bytes += apart.engine_bytes;
        let answers = answers(segments);
        let mut epoch = before;
        let mut current = match epoch.pins.is_empty() {
            true => results.clone(),
            false => self.results_under(here, &epoch, receipt)?,
        };
        let mut sum = 0;
        let mut next = u64::from(epoch.passed + 1) * every;
        for (index, result) in results.iter().enumerate() {
            sum += u64::from(result.tokens_before);
            if sum < next || epoch.passed >= MAX_THRESHOLDS {
                continue;
            }
            // The request in which this text was new ended before the next answer.
            let at = answers.partition_point(|start| *start <= index);
            let view = answers.get(at).copied().unwrap_or(segments.len());
            epoch.passed = u32::try_from(sum / every).unwrap_or(u32::MAX);
            next = u64::from(epoch.passed).saturating_add(1).saturating_mul(every);
            let end = live_tail(answers.get(..at).unwrap_or(&answers));
            if end == 0 {
                continue;
            }
            let found = self.pins(here, &base, &results, (view, end), receipt);
            let fresh: BTreeMap<usize, Pin> =
                found.into_iter().filter(|(index, _)| !epoch.pins.contains_key(index)).collect();
            let Some((&first, _)) = fresh.first_key_value() else { continue };
            let mut next_epoch = self.blank(here, segments, view);
            next_epoch.passed = epoch.passed;
            next_epoch.pins = epoch.pins.clone();
            let texts = fresh.len();
            next_epoch.pins.extend(fresh);
            // Only texts of that request count; what they become depends on nothing after them.
            let new = self.results_under(here, &next_epoch, receipt)?;
            let tokens = |results: &[Arc<SegmentResult>], from: usize| {
                let counted = results.get(from..view).unwrap_or_default();
                counted.iter().map(|r| u64::from(r.tokens_after)).sum::<u64>()
            };
            let saved = tokens(&current, 0).saturating_sub(tokens(&new, 0));
            let resent = tokens(&new, first);
            let done = market.pays(saved, resent, TURNS);
            if view == segments.len() {
                receipt.rewrite = Some(report("threshold", done, texts, (saved, resent), market, false));
            }
            if done {
                (epoch, current) = (next_epoch, new);
            }
        }
        Ok(epoch)
    }

    /// An epoch of the first `view` texts without any change.
    pub(super) fn blank(&self, here: &Here<'_>, segments: &[Segment<'_>], view: usize) -> Epoch {
        let last = segments.iter().take(view).rposition(|s| is_chained(s.kind));
        let chain = last.and_then(|last| here.keys.get(last)).map(|key| keys::hex(key)).unwrap_or_default();
        Epoch {
            len: last.map_or(0, |last| last + 1),
            chain,
            fingerprint: keys::hex(here.fingerprint),
            ..Epoch::default()
        }
    }
}

/// Keys of the texts under an epoch; without one those of the request as it is.
pub(super) fn epoch_keys(here: &Here<'_>, transcript: &Transcript<'_>, epoch: &Epoch) -> Vec<Key> {
    match epoch.digest() {
        None => here.keys.to_vec(),
        Some(digest) => keys::of(transcript, &keys::join(here.seed, &digest)),
    }
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
    let sum = |results: &[Arc<SegmentResult>]| results.iter().map(|r| u64::from(r.tokens_after)).sum::<u64>();
    let saved = sum(current).saturating_sub(sum(new));
    let cached = new.get(first..point.cached.clamp(first, new.len().max(first))).unwrap_or_default();
    let resent = cached.iter().map(|r| u64::from(r.tokens_after)).sum();
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
