//! Counters: what each process added is added up, what it took back is taken back.

use std::collections::{BTreeMap, BTreeSet};

use omniroute_core::PermitId;

use crate::join::{Counts, Lattice};
use crate::limits::learned::Learned;
use crate::limits::quota::{Held, Usage, Used};
use crate::limits::rate::Rate;
use crate::limits::slots::Slots;

impl Lattice for Slots {
    fn join(self, other: Slots) -> Slots {
        let mut all = by_name(&self);
        for (permit, until) in by_name(&other) {
            let end = all.entry(permit).or_insert(until);
            *end = until.max(*end);
        }
        slots(all)
    }
}

impl Counts for Slots {
    fn rebase(base: Slots, ours: Slots, theirs: Slots) -> Slots {
        let (base, ours, mut all) = (by_name(&base), by_name(&ours), by_name(&theirs));
        for permit in base.keys().filter(|permit| !ours.contains_key(*permit)) {
            all.remove(permit);
        }
        for (permit, until) in ours {
            match (all.get_mut(&permit), base.get(&permit)) {
                (Some(end), _) => *end = until.max(*end),
                // Others have seen it end, and it was not prolonged here.
                (None, Some(before)) if *before >= until => {}
                (None, _) => drop(all.insert(permit, until)),
            }
        }
        slots(all)
    }

    fn nothing(&self) -> bool {
        self.held.is_empty()
    }
}

fn by_name(slots: &Slots) -> BTreeMap<PermitId, i64> {
    let mut all = BTreeMap::new();
    for (permit, until) in &slots.held {
        let end = all.entry(*permit).or_insert(*until);
        *end = (*end).max(*until);
    }
    all
}

/// Oldest first, as far as ends tell.
fn slots(all: BTreeMap<PermitId, i64>) -> Slots {
    let mut held: Vec<_> = all.into_iter().collect();
    held.sort_by_key(|(permit, until)| (*until, *permit));
    Slots { held }
}

impl Lattice for Rate {
    fn join(self, other: Rate) -> Rate {
        let day = self.day.max(other.day);
        let of = |rate: &Rate| if rate.day == day { (rate.day_calls, rate.day_tokens) } else { (0, 0) };
        let ((calls, tokens), (other_calls, other_tokens)) = (of(&self), of(&other));
        Rate {
            calls_at: self.calls_at.max(other.calls_at),
            tokens_at: self.tokens_at.max(other.tokens_at),
            last_start: self.last_start.max(other.last_start),
            day,
            day_calls: calls.max(other_calls),
            day_tokens: tokens.max(other_tokens),
            learned: Learned::join(self.learned, other.learned),
        }
    }
}

impl Counts for Rate {
    /// Dates are joined: after a minute they say nothing of before. The day's amounts are added up.
    fn rebase(base: Rate, ours: Rate, theirs: Rate) -> Rate {
        let day = ours.day.max(theirs.day);
        let of = |rate: &Rate| if rate.day == day { (rate.day_calls, rate.day_tokens) } else { (0, 0) };
        let (before, mine, other) = (of(&base), of(&ours), of(&theirs));
        Rate {
            day_calls: added(before.0, mine.0, other.0),
            day_tokens: added(before.1, mine.1, other.1),
            ..ours.join(theirs)
        }
    }

    fn nothing(&self) -> bool {
        *self == Rate::default()
    }
}

impl Lattice for Usage {
    fn join(self, other: Usage) -> Usage {
        let mut used = by_bucket(&self);
        for (place, amount) in by_bucket(&other) {
            let sum = used.entry(place).or_insert(amount);
            *sum = amount.max(*sum);
        }
        let mut held = reserved(&self);
        for (permit, other) in reserved(&other) {
            let known = held.entry(permit).or_insert(other);
            if rank(&other) > rank(known) {
                *known = other;
            }
        }
        usage(used, held)
    }
}

impl Counts for Usage {
    /// A reservation that ran out while all were apart is charged by each that saw it end: rather too much than
    /// too little.
    fn rebase(base: Usage, ours: Usage, theirs: Usage) -> Usage {
        let (before, mine, mut used) = (by_bucket(&base), by_bucket(&ours), by_bucket(&theirs));
        for (place, amount) in mine {
            let sum = used.entry(place).or_insert(0);
            *sum = added(before.get(&place).copied().unwrap_or(0).min(amount), amount, *sum);
        }
        let (before, mine, mut held) = (reserved(&base), reserved(&ours), reserved(&theirs));
        let gone: BTreeSet<_> = before.keys().filter(|permit| !mine.contains_key(*permit)).copied().collect();
        held.retain(|permit, _| !gone.contains(permit));
        for (permit, held_here) in mine {
            if !before.contains_key(&permit) {
                held.entry(permit).or_insert(held_here);
            }
        }
        usage(used, held)
    }

    fn nothing(&self) -> bool {
        self.used.is_empty() && self.held.is_empty()
    }
}

fn by_bucket(usage: &Usage) -> BTreeMap<(u64, i64), u64> {
    let mut all = BTreeMap::new();
    for used in &usage.used {
        for (bucket, amount) in &used.buckets {
            let sum = all.entry((used.consumer, *bucket)).or_insert(0_u64);
            *sum = sum.saturating_add(*amount);
        }
    }
    all
}

fn reserved(usage: &Usage) -> BTreeMap<PermitId, Held> {
    usage.held.iter().map(|held| (held.permit, *held)).collect()
}

fn rank(held: &Held) -> impl Ord + use<> {
    (held.until, held.amount, held.consumer)
}

fn usage(used: BTreeMap<(u64, i64), u64>, held: BTreeMap<PermitId, Held>) -> Usage {
    let mut out = Usage::default();
    for ((consumer, bucket), amount) in used {
        match out.used.last_mut() {
            Some(last) if last.consumer == consumer => last.buckets.push((bucket, amount)),
            _ => out.used.push(Used { consumer, buckets: vec![(bucket, amount)] }),
        }
    }
    out.held = held.into_values().collect();
    out
}

/// `theirs` and what came to `base` here.
fn added(base: u64, ours: u64, theirs: u64) -> u64 {
    theirs.saturating_add(ours).saturating_sub(base.min(theirs.saturating_add(ours)))
}
