//! The laws of joining, for every kind of record, and joins that break them, each of which must be caught.

use std::collections::BTreeSet;

use omniroute_core::PermitId;

use super::draw::{Draw, keys};
use super::*;
use crate::layers::breaker::{Forced, State};
use crate::layers::connection::Terminal;
use crate::limits::quota::Used;
use crate::rng::Rng;

/// Rounds for each kind.
const ROUNDS: u32 = 400;

/// Which laws a join breaks, and for which kinds of record.
fn broken(join: &dyn Join) -> BTreeSet<&'static str> {
    let draw = Draw(Rng::new(7));
    let mut broken = BTreeSet::new();
    for key in keys() {
        for _ in 0..ROUNDS {
            let [a, b, c] = std::array::from_fn(|_| draw.joined(&key));
            let of = |a: &Joined, b: &Joined| join.join(&key, a, b);
            let mut law = |name, holds: bool| {
                if !holds {
                    broken.insert(name);
                }
            };
            law("commutative", of(&a, &b) == of(&b, &a));
            law("associative", of(&of(&a, &b), &c) == of(&a, &of(&b, &c)));
            law("idempotent", of(&of(&a, &b), &b) == of(&a, &b) && of(&of(&a, &b), &a) == of(&a, &b));
            blocks_no_shorter(&key, [&a, &b], &of(&a, &b), &mut law);
            let on = |ours: &Joined, theirs: Option<&Joined>| join.rebase(&key, None, Some(ours), theirs);
            if matches!(key, Key::LeaseOwner(_) | Key::LeaseConnection(..)) {
                law("no lease comes back", on(&a, None).is_none());
                law("the server is right about leases", on(&a, Some(&b)).as_ref() == Some(&b));
            }
            orders(join, &key, &draw, &mut law);
        }
    }
    broken
}

fn blocks_no_shorter(
    key: &Key,
    parts: [&Joined; 2],
    whole: &Joined,
    law: &mut impl FnMut(&'static str, bool),
) {
    fn read<V: Value>(joined: &Joined) -> Option<V> {
        V::decode(&joined.value).map(|(value, _)| value)
    }
    for part in parts {
        match key {
            Key::Breaker { .. } => {
                let (Some(part), Some(whole)) = (read::<Breaker>(part), read::<Breaker>(whole)) else {
                    continue;
                };
                let recovered = parts.iter().filter_map(|part| read::<Breaker>(part)).map(|b| b.recovered_at);
                if part.state == State::Open && recovered.max().is_none_or(|at| at < part.open_until) {
                    let open = matches!(whole.state, State::Open | State::HalfOpen);
                    law("nothing gets shorter", open && whole.open_until >= part.open_until);
                }
                law("generations grow", whole.generation >= part.generation);
                law("no failure is lost", part.failures.iter().all(|mark| whole.failures.contains(mark)));
                law("nothing gets shorter", part.forced != Forced::Open || whole.forced == Forced::Open);
            }
            Key::Connection(..) => {
                let (Some(part), Some(whole)) = (read::<Connection>(part), read::<Connection>(whole)) else {
                    continue;
                };
                law("nothing gets shorter", whole.until >= part.until && whole.level >= part.level);
                let lifted = part.credential < whole.credential
                    && part.terminal.is_some_and(|(state, _)| state != Terminal::Banned);
                let stays = part.terminal.is_none() || whole.terminal.is_some() || lifted;
                law("a terminal state stays", stays);
            }
            Key::Lockout { .. } => {
                let (Some(part), Some(whole)) = (read::<Lock>(part), read::<Lock>(whole)) else { continue };
                law("nothing gets shorter", whole.until >= part.until && whole.count >= part.count);
            }
            Key::LeaseFence | Key::LeaseGeneration(_) => {
                let (Some(part), Some(whole)) = (read::<Counter>(part), read::<Counter>(whole)) else {
                    continue;
                };
                law("fences grow", whole.0 >= part.0);
            }
            Key::LeaseOwner(_) => {
                let (Some(part), Some(whole)) = (read::<Lease>(part), read::<Lease>(whole)) else { continue };
                let back = part.ended.is_some() && whole.ended.is_none() && whole.fence <= part.fence;
                law("no lease comes back", !back && whole.fence >= part.fence);
            }
            _ => {}
        }
    }
}

/// Three processes that started from one base come back in every order, and amounts add up.
fn orders(join: &dyn Join, key: &Key, draw: &Draw, law: &mut impl FnMut(&'static str, bool)) {
    if !matches!(key, Key::Slots { .. } | Key::Rate { .. } | Key::Quota { .. }) {
        return;
    }
    let record = |value: Vec<u8>| Joined { expires: None, value: value.into() };
    let (base, work): (Joined, [Joined; 3]) = match key {
        Key::Slots { .. } => {
            let base = draw.slots();
            let work = std::array::from_fn(|process| {
                let mut slots = base.clone();
                // A process gives back and takes only what is its own.
                let own = |permit: PermitId| permit.process == process as u64;
                slots.held.retain(|(permit, _)| !own(*permit) || draw.small(1) > 0);
                let new = PermitId { process: process as u64, number: 10 + u64::from(draw.small(2)) };
                slots.held.extend(draw.some((new, 50)));
                record(slots.encode(&[]))
            });
            (record(base.encode(&[])), work)
        }
        Key::Quota { .. } => {
            let base = draw.usage();
            let work = std::array::from_fn(|process| {
                let extra = Used { consumer: draw.small(2).into(), buckets: vec![(1, draw.small(9).into())] };
                let mut usage = base.clone();
                usage.used.push(extra);
                usage.held.retain(|held| held.permit.process != process as u64 || draw.small(1) > 0);
                record(usage.encode(&[]))
            });
            (record(base.encode(&[])), work)
        }
        _ => {
            let base = draw.rate();
            let work = std::array::from_fn(|_| {
                let mut rate = base.clone();
                rate.day_calls += u64::from(draw.small(9));
                rate.calls_at += draw.date();
                record(rate.encode(&[]))
            });
            (record(base.encode(&[])), work)
        }
    };
    let all = |order: [usize; 3]| {
        let mut theirs = Some(base.clone());
        for who in order {
            theirs = join.rebase(key, Some(&base), Some(&work[who]), theirs.as_ref());
        }
        theirs
    };
    let first = all([0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        law("any order", all(order) == first);
    }
    law(
        "amounts add up",
        total(key, first.as_ref()) == {
            let base = total(key, Some(&base));
            work.iter().map(|one| total(key, Some(one)) - base).sum::<i64>() + base
        },
    );
}

/// How much is counted; of slots, how many are held.
fn total(key: &Key, joined: Option<&Joined>) -> i64 {
    let Some(joined) = joined else { return 0 };
    let sum = match key {
        Key::Slots { .. } => Slots::decode(&joined.value).unwrap().0.held.len() as u64,
        Key::Rate { .. } => Rate::decode(&joined.value).unwrap().0.day_calls,
        _ => {
            let usage = Usage::decode(&joined.value).unwrap().0;
            usage.used.iter().flat_map(|used| &used.buckets).map(|(_, amount)| amount).sum()
        }
    };
    sum.cast_signed()
}

#[test]
fn every_kind_of_record_keeps_the_laws() {
    assert_eq!(broken(&ByKind), BTreeSet::new());
}

/// Joins that are wrong in one way each.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    LastWins,
    Adds,
    ShorterRest,
    ForgetsBans,
    LeaseComesBack,
    GreaterCount,
    EndedLeaseWakes,
}

impl Join for Wrong {
    fn join(&self, key: &Key, a: &Joined, b: &Joined) -> Joined {
        let right = ByKind.join(key, a, b);
        let put = |value: Vec<u8>| Joined { value: value.into(), ..right.clone() };
        match (self, key) {
            (Wrong::LastWins, _) => a.clone(),
            (Wrong::Adds, Key::LeaseFence) => match (Counter::decode(&a.value), Counter::decode(&b.value)) {
                (Some((a, _)), Some((b, _))) => put(Counter(a.0 + b.0).encode(&[])),
                _ => right,
            },
            (Wrong::ShorterRest | Wrong::ForgetsBans, Key::Connection(..)) => {
                match (Connection::decode(&a.value), Connection::decode(&b.value)) {
                    (Some((a, _)), Some((b, _))) => {
                        let mut new = a.clone().join(b.clone());
                        if matches!(self, Wrong::ShorterRest) {
                            new.until = a.until.min(b.until);
                        } else if a.terminal.is_none() || b.terminal.is_none() {
                            new.terminal = None;
                        }
                        put(new.encode(&[]))
                    }
                    _ => right,
                }
            }
            (Wrong::EndedLeaseWakes, Key::LeaseOwner(_)) => LaterEnd.join(key, a, b),
            _ => right,
        }
    }

    fn rebase(
        &self,
        key: &Key,
        base: Option<&Joined>,
        ours: Option<&Joined>,
        theirs: Option<&Joined>,
    ) -> Option<Joined> {
        match (self, ours, theirs) {
            (Wrong::LastWins | Wrong::LeaseComesBack, Some(ours), _) => Some(ours.clone()),
            (Wrong::GreaterCount, Some(ours), Some(theirs)) => Some(ByKind.join(key, ours, theirs)),
            _ => ByKind.rebase(key, base, ours, theirs),
        }
    }
}

#[test]
fn every_broken_law_is_seen() {
    for (wrong, law) in [
        (Wrong::LastWins, "commutative"),
        (Wrong::LastWins, "any order"),
        (Wrong::Adds, "idempotent"),
        (Wrong::ShorterRest, "nothing gets shorter"),
        (Wrong::ForgetsBans, "a terminal state stays"),
        (Wrong::LeaseComesBack, "the server is right about leases"),
        (Wrong::LeaseComesBack, "no lease comes back"),
        (Wrong::GreaterCount, "amounts add up"),
        (Wrong::EndedLeaseWakes, "no lease comes back"),
    ] {
        let found = broken(&wrong);
        assert!(found.contains(law), "{wrong:?}: {found:?}");
    }
    let knows_nothing = broken(&LaterEnd);
    for law in ["nothing gets shorter", "fences grow", "amounts add up", "no failure is lost"] {
        assert!(knows_nothing.contains(law), "{law}: {knows_nothing:?}");
    }
}
