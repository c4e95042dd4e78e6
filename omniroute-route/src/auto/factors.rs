//! The fifteen factors: what each reads, and what it is worth when nothing is known.

use omniroute_core::route::{
    AccountTier, Billing, Candidates, Health, OfferTier, RouteContext, Scratch, Window,
};

use super::weights::{COUNT, Weights};
use crate::strategies::cache_optimized::owner;
use crate::strategies::headroom::left;
use crate::strategies::order::{clamp01, known, usual_cap};
use crate::strategies::reset_window::affinity;

/// A factor as configurations and explanations name it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FactorInfo {
    /// Its name.
    pub name: &'static str,
    /// What it prefers.
    pub prefers: &'static str,
}

const fn factor(name: &'static str, prefers: &'static str) -> FactorInfo {
    FactorInfo { name, prefers }
}

/// All factors, in the order of their weights.
pub const FACTORS: [FactorInfo; 15] = [
    factor("quota", "much left of the allowance"),
    factor("health", "a provider whose breaker is closed"),
    factor("costInv", "a low price"),
    factor("latencyInv", "a short time in 95 of 100 cases"),
    factor("taskFit", "a model that is good at this kind of task"),
    factor("stability", "times that vary little"),
    factor("tierPriority", "a large plan whose allowance starts anew soon"),
    factor("tierAffinity", "an offer as dear as the task deserves"),
    factor("specificityMatch", "dear offers for special tasks, free ones for simple tasks"),
    factor("contextAffinity", "the connection the session was on"),
    factor("sessionAvailability", "accounts without other sessions"),
    factor("connectionDensity", "a provider with few attempts for its connections"),
    factor("cacheAffinity", "the connection the prefix belongs to"),
    factor("resetWindowAffinity", "an allowance that starts anew soon"),
    factor("quality", "answers that were well formed so far"),
];

/// Time in 95 of 100 cases when nobody knows, ms.
const USUAL_P95: f32 = 1_500.0;

/// What has to be known of all candidates before one of them can be scored.
#[derive(Debug)]
pub(crate) struct Norms {
    cost: f32,
    usual_cost: f32,
    p95: f32,
    sd: f32,
    winner: Option<u32>,
    /// Whether times of resets are worth a look: without a weight they move nothing.
    resets: bool,
}

impl Norms {
    /// One pass over the candidates.
    pub(crate) fn new(cx: &RouteContext<'_>, candidates: &Candidates<'_>, weights: &Weights) -> Norms {
        let columns = candidates.columns();
        let mut norms = Norms {
            cost: 0.001,
            usual_cost: 1.0,
            p95: 1.0,
            sd: 0.001,
            winner: None,
            resets: weights.values()[13] > 0.0,
        };
        let mut floats = cx.scratch.floats.borrow_mut();
        let costs = &mut floats[0];
        costs.clear();
        let mut unknown = false;
        for index in candidates.indices() {
            let index = *index as usize;
            let cost = price(candidates, index);
            if cost.is_finite() {
                norms.cost = norms.cost.max(cost);
                costs.push(cost);
            } else {
                unknown = true;
            }
            let p95 = p95(columns.p95_ms[index]);
            norms.p95 = norms.p95.max(p95);
            norms.sd = norms.sd.max(sd(columns.sd_ms[index], p95));
        }
        if unknown && !costs.is_empty() {
            let middle = costs.len() / 2;
            norms.usual_cost = *costs.select_nth_unstable_by(middle, f32::total_cmp).1;
        }
        norms.cost = norms.cost.max(if unknown { norms.usual_cost } else { 0.0 });
        drop(floats);
        density(cx.scratch, candidates);
        if weights.values()[12] > 0.0 {
            let key = cx.request.prefix_key.as_deref();
            norms.winner = key.and_then(|key| owner(key, candidates, candidates.indices().iter().copied()));
        }
        norms
    }

    /// The values of one candidate, each from 0 to 1.
    #[inline]
    pub(crate) fn values(
        &self,
        cx: &RouteContext<'_>,
        candidates: &Candidates<'_>,
        index: usize,
    ) -> [f32; COUNT] {
        let (pool, columns) = (candidates.pool(), candidates.columns());
        let entry = &pool.entries()[index];
        let p95 = p95(columns.p95_ms[index]);
        let mut values = [
            left(columns, index).unwrap_or(if entry.billing == Billing::Metered { 1.0 } else { 0.5 }),
            match columns.health[index] {
                Health::Closed => 1.0,
                Health::Degraded => 0.75,
                Health::HalfOpen => 0.5,
                Health::Open => 0.0,
            },
            1.0 - known(price(candidates, index), self.usual_cost) / self.cost,
            1.0 - p95 / self.p95,
            entry.fitness.map_or(0.5, |fitness| known(fitness[cx.request.class as usize], 0.5)),
            1.0 - sd(columns.sd_ms[index], p95) / self.sd,
            account(cx, candidates, index),
            tier_affinity(cx.request.tier_hint, offer_tier(candidates, index)),
            specificity(cx.request.specificity, offer_tier(candidates, index)),
            context(cx, candidates, index),
            sessions(entry.sign_in, columns.sessions[index]),
            room_at(cx.scratch, pool.provider_of()[index]),
            f32::from(u8::from(self.winner == u32::try_from(index).ok())),
            match self.resets {
                true => [Window::Weekly, Window::Session, Window::Monthly]
                    .into_iter()
                    .find(|window| columns.until_reset(*window, index, cx.now.wall).is_some())
                    .map_or(0.5, |window| affinity(columns, index, window, cx.now.wall)),
                false => 0.5,
            },
            known(columns.quality[index], 0.5),
        ];
        for value in &mut values {
            *value = clamp01(*value);
        }
        values
    }
}

/// The weighted sum, in the order of the factors.
pub(crate) fn sum(weights: &Weights, values: &[f32; COUNT]) -> f32 {
    weights.values().iter().zip(values).fold(0.0, |sum, (weight, value)| sum + weight * value)
}

/// What an offer costs, by its price for input.
pub(crate) fn offer_tier(candidates: &Candidates<'_>, index: usize) -> Option<OfferTier> {
    let entry = &candidates.pool().entries()[index];
    if entry.tier.is_some() {
        return entry.tier;
    }
    if entry.billing == Billing::Free {
        return Some(OfferTier::Free);
    }
    let price = candidates.columns().price_in[index];
    match price {
        price if !price.is_finite() => None,
        price if price <= 0.0 => Some(OfferTier::Free),
        price if price <= 1.0 => Some(OfferTier::Cheap),
        _ => Some(OfferTier::Premium),
    }
}

/// USD for a million tokens, mixed as they usually are; NaN if unknown.
fn price(candidates: &Candidates<'_>, index: usize) -> f32 {
    let columns = candidates.columns();
    match candidates.pool().entries()[index].billing {
        Billing::Metered => 0.6 * columns.price_in[index] + 0.4 * columns.price_out[index],
        Billing::Subscription | Billing::Free => 0.0,
    }
}

fn p95(value: f32) -> f32 {
    known(value, USUAL_P95).max(0.0)
}

fn sd(value: f32, p95: f32) -> f32 {
    known(value, (0.1 * p95).max(10.0)).max(0.0)
}

fn account(cx: &RouteContext<'_>, candidates: &Candidates<'_>, index: usize) -> f32 {
    let tier = match candidates.pool().entries()[index].account {
        AccountTier::Ultra => 1.0,
        AccountTier::Pro => 0.67,
        AccountTier::Standard => 0.33,
        AccountTier::Free => 0.0,
    };
    let columns = candidates.columns();
    let nearest =
        Window::ALL.into_iter().filter_map(|window| columns.until_reset(window, index, cx.now.wall)).min();
    #[expect(clippy::cast_precision_loss, reason = "a share of a month")]
    let bonus = nearest.map_or(0.0, |until| (1.0 - until as f32 / 2_592_000_000.0).max(0.0));
    (0.8 * tier + 0.2 * bonus).min(1.0)
}

fn tier_affinity(hint: Option<OfferTier>, tier: Option<OfferTier>) -> f32 {
    match (hint, tier) {
        (Some(hint), Some(tier)) => match (hint as u8).abs_diff(tier as u8) {
            0 => 1.0,
            1 => 0.7,
            _ => 0.3,
        },
        _ => 0.5,
    }
}

fn specificity(score: Option<f32>, tier: Option<OfferTier>) -> f32 {
    let (Some(score), Some(tier)) = (score.filter(|score| score.is_finite()), tier) else { return 0.5 };
    let (fits, otherwise) = match tier {
        OfferTier::Free => (score <= 15.0, 0.2),
        OfferTier::Cheap => (score > 15.0 && score <= 50.0, 0.4),
        OfferTier::Premium => (score > 50.0, 0.3),
    };
    if fits { 0.9 } else { otherwise }
}

fn context(cx: &RouteContext<'_>, candidates: &Candidates<'_>, index: usize) -> f32 {
    let Some(session) = cx.session else { return 0.5 };
    let target = &candidates.pool().entries()[index].target;
    let here = |provider: &omniroute_core::ProviderId, connection: &omniroute_core::ConnectionId| {
        if target.connection == *connection && target.provider == *provider { 1.0 } else { 0.1 }
    };
    match (&session.last, &session.pin) {
        (Some(last), _) => here(&last.provider, &last.connection),
        (None, Some((provider, connection))) => here(provider, connection),
        (None, None) => 0.5,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of sessions are small")]
fn sessions(sign_in: bool, others: u32) -> f32 {
    if sign_in { 1.0 / (1.0 + others as f32) } else { 1.0 }
}

/// Counts each provider's running attempts and what may run, each connection once.
fn density(scratch: &Scratch, candidates: &Candidates<'_>) {
    let (pool, columns) = (candidates.pool(), candidates.columns());
    let mut counts = scratch.counts.borrow_mut();
    let [seen, running, most] = &mut *counts;
    for (column, len) in
        [(&mut *seen, pool.connections()), (running, pool.providers().len()), (most, pool.providers().len())]
    {
        column.clear();
        column.resize(len, 0);
    }
    let [seen, running, most] = &mut *counts;
    for index in candidates.indices() {
        let index = *index as usize;
        let connection = pool.connection_of()[index] as usize;
        if seen[connection] == 0 {
            seen[connection] = 1;
            let provider = pool.provider_of()[index] as usize;
            let cap = usual_cap(columns, index);
            running[provider] = running[provider].saturating_add(columns.in_flight[index]);
            most[provider] = most[provider].saturating_add(cap);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of running attempts are small")]
fn room_at(scratch: &Scratch, provider: u32) -> f32 {
    let counts = scratch.counts.borrow();
    let (running, most) = (counts[1][provider as usize], counts[2][provider as usize]);
    clamp01(1.0 - running as f32 / most.max(1) as f32)
}

#[cfg(test)]
mod tests {
    use omniroute_core::UnixMs;
    use omniroute_core::route::{AccountTier, Billing, Health, Mode};

    use super::super::weights::AS_PUBLISHED;
    use super::*;
    use crate::strategies::bench::Bench;

    /// Three candidates with everything set; concentration and session values as the reference has them.
    fn reference(weights: &[f32; COUNT]) -> Vec<f32> {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m");
        let rows = [
            ("A/1/m", 0.8, Health::Closed, 9.0, 4_000.0, 0.95, 400.0, AccountTier::Ultra, 18_000, Some(0.8)),
            ("B/1/m", 0.4, Health::Closed, 1.5, 1_500.0, 0.80, 600.0, AccountTier::Standard, 86_400, None),
            ("C/1/m", 1.0, Health::HalfOpen, 0.0, 2_500.0, 0.60, 900.0, AccountTier::Free, 86_400, Some(0.6)),
        ];
        for (name, quota, health, cost, p95, fit, sd, tier, reset, quality) in rows {
            bench.entry(name, |entry| {
                entry.fitness = Some([fit; 7]);
                entry.account = tier;
                entry.billing = if cost > 0.0 { Billing::Metered } else { Billing::Free };
            });
            bench.facts(name, |facts| {
                facts.quota_left = Some(quota);
                facts.health = health;
                (facts.price_in, facts.price_out) = (Some(cost), Some(cost));
                (facts.p95_ms, facts.sd_ms) = (Some(p95), Some(sd));
                facts.resets_at[1] = Some(UnixMs(reset * 1_000));
                facts.quality = quality;
            });
        }
        bench.with(|cx, candidates| {
            let norms = Norms::new(cx, candidates, &Weights::of(Mode::Default));
            let given = [(0.5, 1.0, 0.2), (1.0, 0.5, 0.0), (0.1, 1.0, 0.5)];
            (0..3)
                .map(|index| {
                    let mut values = norms.values(cx, candidates, index);
                    (values[9], values[10], values[11]) = given[index];
                    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
                })
                .collect()
        })
    }

    #[test]
    fn the_reference_scores() {
        let expected = [[0.573_708, 0.640_777, 0.605_595], [0.573_184, 0.681_416, 0.567_223]];
        for ((weights, name), expected) in AS_PUBLISHED.into_iter().zip(expected) {
            for (got, expected) in reference(weights).into_iter().zip(expected) {
                assert!((got - expected).abs() < 1e-5, "{name}: {got} instead of {expected}");
            }
        }
    }

    #[test]
    fn nothing_known_is_neutral_and_nothing_odd_gets_out() {
        let mut bench = Bench::named("a/1/m b/1/m");
        bench.facts("b/1/m", |facts| {
            (facts.p95_ms, facts.sd_ms, facts.quality) = (Some(f32::NAN), Some(f32::INFINITY), Some(-7.0));
            (facts.price_in, facts.quota_left) = (Some(f32::NEG_INFINITY), Some(99.0));
        });
        bench.with(|cx, candidates| {
            let norms = Norms::new(cx, candidates, &Weights::of(Mode::Default));
            for index in 0..2 {
                let values = norms.values(cx, candidates, index);
                assert!(values.iter().all(|value| (0.0..=1.0).contains(value)), "{values:?}");
            }
        });
    }
}
