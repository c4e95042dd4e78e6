//! What attempts teach about targets: how long, how often in vain, how used, how well formed. Older ones count less.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::route::{Columns, Pool};
use omniroute_core::{FailureKind, Outcome, Purpose, UnixMs};

use crate::bounded::Bounded;

const HOUR: f64 = 3_600_000.0;
/// Hours after which an attempt counts half for times and failures.
const TIMES: f64 = 24.0;
/// The same for usage.
const USAGE: f64 = 1.0;
/// Attempts from which times are believed.
const ENOUGH: f64 = 10.0;
/// Targets that are remembered.
const MOST: usize = 10_000;
/// Answers whose form is remembered.
const MOST_FORMS: usize = 2_000;
/// Steps of the list of times: each is a sixth longer than the one before, from 10 ms on.
const STEPS: usize = 80;
const FIRST: f64 = 10.0;
const RATIO: f64 = 1.166;

/// Memory of attempts.
#[derive(Debug)]
pub struct Stats {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    targets: Bounded<Arc<str>, Times>,
    offerings: Bounded<Arc<str>, Times>,
    forms: Bounded<Arc<str>, Form>,
}

#[derive(Debug)]
struct Times {
    at: i64,
    attempts: f64,
    failures: f64,
    answers: f64,
    sum: f64,
    squares: f64,
    first: f64,
    firsts: f64,
    steps: [f32; STEPS],
    used_at: i64,
    used: f64,
}

/// How well formed answers were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Form {
    count: u32,
    success: f64,
    latency: f64,
    odd: f64,
}

impl Default for Stats {
    fn default() -> Self {
        let inner = Inner {
            targets: Bounded::new(MOST),
            offerings: Bounded::new(MOST),
            forms: Bounded::new(MOST_FORMS),
        };
        Stats { inner: Mutex::new(inner) }
    }
}

impl Stats {
    /// Learns from an attempt of a client's request.
    pub fn observe(&self, outcome: &Outcome) {
        if outcome.purpose != Purpose::Production {
            return;
        }
        let kind = outcome.failure.as_ref().map(|failure| failure.kind);
        if kind == Some(FailureKind::Cancelled) {
            return;
        }
        let key: Arc<str> = outcome.target.to_string().into();
        let offering: Arc<str> = format!("{}/{}", outcome.target.provider, outcome.target.model).into();
        let mut inner = self.inner();
        let Inner { targets, offerings, forms } = &mut *inner;
        for (map, key) in [(targets, &key), (offerings, &offering)] {
            map.fresh(key, || Times::new(outcome.at)).add(outcome, kind.is_some());
        }
        // Too many calls say nothing about the form of answers.
        if !matches!(kind, Some(FailureKind::RateLimited | FailureKind::QuotaExhausted)) {
            forms.fresh(&key, || Form::NEW).add(
                kind.is_none(),
                outcome.latency.as_secs_f64() * 1_000.0,
                kind == Some(FailureKind::BadReply),
            );
        }
    }

    /// Writes what is known into the columns of a pool: times, failures, usage, form. A target that was tried too seldom
    /// has the times of its offering.
    pub fn fill(&self, pool: &Pool, now: UnixMs, columns: &mut Columns) {
        let inner = self.inner();
        for index in 0..pool.len().min(columns.len()) {
            let own = inner.targets.get(pool.key(index));
            if let Some(own) = own {
                columns.usage[index] = float(own.used_now(now));
            }
            let offering = &pool.offering_keys()[pool.offering_of()[index] as usize];
            let known = own.filter(|own| own.attempts * own.faded(now) >= ENOUGH);
            if let Some(times) = known.or_else(|| inner.offerings.get(offering)) {
                times.write(now, columns, index);
            }
            if let Some(form) = inner.forms.get(pool.key(index)) {
                columns.quality[index] = float(form.score());
            }
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prices of the catalogue, for those candidates whose price nobody else told.
pub fn fill_prices(pool: &Pool, columns: &mut Columns) {
    let usd = |price: Option<u64>| price.map_or(f32::NAN, |pico| float(pico as f64 / 1e6));
    for (index, entry) in pool.entries().iter().enumerate().take(columns.len()) {
        if !columns.price_in[index].is_finite() {
            columns.price_in[index] = usd(entry.model.input_price);
        }
        if !columns.price_out[index].is_finite() {
            columns.price_out[index] = usd(entry.model.output_price);
        }
        if !columns.price_cache[index].is_finite() {
            columns.price_cache[index] = usd(entry.model.cache_read_price);
        }
    }
}

impl Times {
    fn new(at: UnixMs) -> Times {
        Times {
            at: at.0,
            attempts: 0.0,
            failures: 0.0,
            answers: 0.0,
            sum: 0.0,
            squares: 0.0,
            first: 0.0,
            firsts: 0.0,
            steps: [0.0; STEPS],
            used_at: at.0,
            used: 0.0,
        }
    }

    fn add(&mut self, outcome: &Outcome, failed: bool) {
        self.age(outcome.at);
        self.used = self.used_now(outcome.at) + 1.0;
        self.used_at = self.used_at.max(outcome.at.0);
        self.attempts += 1.0;
        if failed {
            self.failures += 1.0;
            return;
        }
        let ms = outcome.latency.as_secs_f64() * 1_000.0;
        self.answers += 1.0;
        self.sum += ms;
        self.squares += ms * ms;
        self.steps[step(ms)] += 1.0;
        if let Some(first) = outcome.first_content {
            self.firsts += 1.0;
            self.first += first.as_secs_f64() * 1_000.0;
        }
    }

    fn age(&mut self, now: UnixMs) {
        let by = self.faded(now);
        self.at = self.at.max(now.0);
        for sum in [
            &mut self.attempts,
            &mut self.failures,
            &mut self.answers,
            &mut self.sum,
            &mut self.squares,
            &mut self.first,
            &mut self.firsts,
        ] {
            *sum *= by;
        }
        if by >= 1.0 {
            return;
        }
        self.steps.iter_mut().for_each(|count| *count *= float(by));
    }

    /// What an attempt that counted whole counts now.
    fn faded(&self, now: UnixMs) -> f64 {
        decay(now.0.saturating_sub(self.at), TIMES)
    }

    fn used_now(&self, now: UnixMs) -> f64 {
        self.used * decay(now.0.saturating_sub(self.used_at), USAGE)
    }

    /// Of sums that all fade alike the quotients stay.
    fn write(&self, now: UnixMs, columns: &mut Columns, index: usize) {
        let by = self.faded(now);
        if self.attempts * by < 1.0 {
            return;
        }
        columns.error_rate[index] = float(self.failures / self.attempts);
        columns.samples[index] = float(self.attempts * by);
        if self.answers > 0.0 {
            let mean = self.sum / self.answers;
            columns.mean_ms[index] = float(mean);
            if self.answers * by >= ENOUGH {
                columns.p95_ms[index] = float(self.quantile(0.95));
                let variance = (self.squares / self.answers - mean * mean).max(0.0);
                columns.sd_ms[index] = float(libm::sqrt(variance));
            }
        }
        if self.firsts > 0.0 {
            columns.ttft_ms[index] = float(self.first / self.firsts);
        }
    }

    /// The end of the step in which the share of answers is reached.
    fn quantile(&self, share: f32) -> f64 {
        let all: f32 = self.steps.iter().sum();
        let mut passed = 0.0;
        for (number, count) in self.steps.iter().enumerate() {
            passed += count;
            if passed >= share * all && passed > 0.0 {
                return FIRST * libm::pow(RATIO, number as f64);
            }
        }
        FIRST
    }
}

impl Form {
    const NEW: Form = Form { count: 0, success: 1.0, latency: 0.0, odd: 0.0 };

    fn add(&mut self, success: bool, ms: f64, odd: bool) {
        let (success, odd) = (f64::from(u8::from(success)), f64::from(u8::from(odd)));
        if self.count == 0 {
            (self.success, self.latency, self.odd) = (success, ms, odd);
        } else {
            self.success += 0.2 * (success - self.success);
            self.latency += 0.1 * (ms - self.latency);
            self.odd += 0.2 * (odd - self.odd);
        }
        self.count += 1;
    }

    /// From 0 to 1; one half while little is known.
    fn score(&self) -> f64 {
        let raw = self.success - (self.latency / 60_000.0).min(0.2) - (0.5 * self.odd).min(0.25);
        (0.5 + (f64::from(self.count) / 50.0).min(1.0) * (raw - 0.5)).clamp(0.0, 1.0)
    }
}

fn step(ms: f64) -> usize {
    if ms <= FIRST {
        return 0;
    }
    let number = libm::ceil(libm::log(ms / FIRST) / libm::log(RATIO));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
    let number = number as usize;
    number.min(STEPS - 1)
}

#[expect(clippy::cast_precision_loss, reason = "a share of a day")]
fn decay(ms: i64, half_life: f64) -> f64 {
    libm::exp2(-(ms.max(0) as f64) / (half_life * HOUR))
}

#[expect(clippy::cast_possible_truncation, reason = "columns are short floats")]
fn float(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use omniroute_core::route::Entry;
    use omniroute_core::{Failure, Scope, Target};

    use super::*;

    fn attempt(name: &str, at: i64, ms: u64, kind: Option<FailureKind>) -> Outcome {
        let mut parts = name.split('/');
        let mut next = || parts.next().unwrap().to_owned();
        let mut outcome = Outcome::replayed(Target::new(next(), next(), next()), UnixMs(at));
        outcome.latency = Duration::from_millis(ms);
        outcome.failure = kind.map(|kind| Failure::new(kind, Scope::Model, "test"));
        outcome
    }

    fn columns(stats: &Stats, names: &[&str], now: i64) -> Columns {
        let entries = names.iter().map(|name| Entry::new(attempt(name, 0, 0, None).target)).collect();
        let pool = Pool::new(1, entries);
        let mut columns = Columns::unknown(pool.len());
        stats.fill(&pool, UnixMs(now), &mut columns);
        columns
    }

    #[test]
    fn the_reference_form() {
        let mut form = Form::NEW;
        for _ in 0..10 {
            form.add(true, 6_000.0, false);
        }
        form.add(false, 6_000.0, false);
        assert!((form.score() - 0.544).abs() < 1e-9, "{}", form.score());
    }

    #[test]
    fn times_and_failures_are_those_of_the_attempts() {
        let stats = Stats::default();
        for ms in 1..=100_u64 {
            stats.observe(&attempt("a/1/m", 0, ms * 100, None));
        }
        for _ in 0..25 {
            stats.observe(&attempt("a/1/m", 0, 5, Some(FailureKind::Unavailable)));
        }
        let columns = columns(&stats, &["a/1/m", "a/2/m", "b/1/m"], 0);
        assert!((columns.error_rate[0] - 0.2).abs() < 1e-5);
        assert!((columns.mean_ms[0] - 5_050.0).abs() < 1.0);
        assert!((9_000.0..11_500.0).contains(&columns.p95_ms[0]), "{}", columns.p95_ms[0]);
        assert!((columns.sd_ms[0] - 2_886.6).abs() < 2.0, "{}", columns.sd_ms[0]);
        assert!((columns.mean_ms[1] - 5_050.0).abs() < 1.0, "a new account has the times of its model");
        assert!(columns.usage[1].is_nan(), "but not its usage");
        assert!(columns.mean_ms[2].is_nan());
    }

    #[test]
    fn usage_halves_in_an_hour_and_times_in_a_day() {
        let stats = Stats::default();
        for _ in 0..16 {
            stats.observe(&attempt("a/1/m", 0, 100, None));
        }
        assert!((columns(&stats, &["a/1/m"], 0).usage[0] - 16.0).abs() < 1e-4);
        assert!((columns(&stats, &["a/1/m"], 3_600_000).usage[0] - 8.0).abs() < 1e-4);
        assert!((columns(&stats, &["a/1/m"], 24 * 3_600_000).samples[0] - 8.0).abs() < 1e-4);
    }

    #[test]
    fn too_many_calls_are_no_fault_of_the_answers() {
        let stats = Stats::default();
        for _ in 0..50 {
            stats.observe(&attempt("a/1/m", 0, 0, None));
        }
        let before = columns(&stats, &["a/1/m"], 0).quality[0];
        stats.observe(&attempt("a/1/m", 0, 0, Some(FailureKind::RateLimited)));
        assert_eq!(columns(&stats, &["a/1/m"], 0).quality[0], before);
        stats.observe(&attempt("a/1/m", 0, 0, Some(FailureKind::BadReply)));
        assert!(columns(&stats, &["a/1/m"], 0).quality[0] < before);
    }
}
