//! The invariants, each judged after every fact. Names as in the specification; those without a number there
//! (`cooling`, `open`, `halving`, `fresh`, `declared`, `path`) say what the numbered ones rest on.

mod late;
mod records;

use std::collections::{BTreeSet, HashMap};

use omniroute_core::PermitId;

use crate::sim::facts::{AccountSeen, Attempt, BreakerSeen, Change, Fact, LockSeen, What, Who};
use crate::sim::invariants::late::Late;

/// How old what a process remembers may be, ms.
const MIRROR: i64 = 250;
/// A process that has just got its store back may still act on what it knew, ms.
const SETTLE: i64 = 2_000;
/// Longest declared wait with its jitter, ms.
const DECLARED_MAX: i64 = 31 * 86_400_000 + 2_000;
/// Longest wait of our own (a day in a zone of 25 hours), ms.
const FIXED_MAX: i64 = 25 * 3_600_000;

/// The numbers of one vendor that the checks need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// Longest open time with jitter, ms.
    pub(crate) longest_open: i64,
    /// How long a probe may be out, ms.
    pub(crate) probe_lease: i64,
    /// Highest cooldown level.
    pub(crate) max_level: u64,
    /// Longest computed cooldown with jitter, ms.
    pub(crate) longest_rest: i64,
}

/// One broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Which.
    pub(crate) rule: &'static str,
    /// When, ms since the start.
    pub(crate) at: i64,
    /// What was seen.
    pub(crate) text: String,
}

/// What was counted on the way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) granted: u64,
    pub(crate) refused: u64,
    pub(crate) sent: u64,
    pub(crate) failed: u64,
    pub(crate) changes: u64,
    /// Sends on state that was younger than a mirror may be.
    pub(crate) tolerated: u64,
    pub(crate) opened: u64,
    pub(crate) probes: u64,
    pub(crate) terminal: u64,
    pub(crate) last_resorts: u64,
    pub(crate) verifications: u64,
}

struct Live {
    attempt: Attempt,
    host: usize,
    request: u64,
    probe: bool,
    /// What the vendor answered.
    answer: Option<Late>,
}

#[derive(Default, Clone, Copy)]
struct Tracked<T> {
    seen: T,
    /// When a report or an operator last changed it, ms since the start.
    at: i64,
}

/// The judge.
#[derive(Default)]
pub(crate) struct Watch {
    numbers: Vec<Numbers>,
    vendor_of: Vec<usize>,
    live: HashMap<PermitId, Live>,
    breakers: HashMap<usize, Tracked<BreakerSeen>>,
    accounts: HashMap<usize, Tracked<AccountSeen>>,
    locks: HashMap<Who, Tracked<LockSeen>>,
    /// The youngest attempt that was answered with content, by when it was granted: of each account and of each
    /// lock that it met.
    content: (HashMap<usize, i64>, HashMap<Who, i64>),
    probes: HashMap<usize, Vec<(PermitId, i64)>>,
    /// Probes whose report was cut off, or came while the store was away: it is written down in somebody else's step.
    late: HashMap<PermitId, Late>,
    declared: HashMap<PermitId, i64>,
    /// Failures whose report was cut off, or came while the store was away, by what they are about: each is written
    /// down later, in somebody else's step.
    owed: HashMap<Who, u32>,
    /// Whose change is explained by one of them, while that change is judged.
    explained: Option<Who>,
    per_request: HashMap<u64, Vec<usize>>,
    leases: HashMap<usize, (usize, u64, i64)>,
    fences: HashMap<usize, u64>,
    down: bool,
    unsteady_until: i64,
    jumped_until: i64,
    shut_since: Option<i64>,
    /// How long breakers let nobody through because of calls that failed, summed, ms.
    pub(crate) open_ms: i64,
    /// The same because of probes that failed.
    pub(crate) reopened_ms: i64,
    /// The longest time in which every admission was refused, ms.
    pub(crate) longest_shut: i64,
    /// Accounts whose rest or level ever grew.
    pub(crate) punished: BTreeSet<usize>,
    /// What was counted.
    pub(crate) counts: Counts,
    /// What was broken, at most a hundred of them.
    pub(crate) violations: Vec<Violation>,
    /// How many there were in all.
    pub(crate) broken: u64,
}

impl Watch {
    /// A judge of a world.
    pub(crate) fn new(numbers: Vec<Numbers>, vendor_of: Vec<usize>) -> Watch {
        Watch { numbers, vendor_of, ..Watch::default() }
    }

    /// Notes a violation.
    pub(crate) fn broke(&mut self, rule: &'static str, at: i64, text: String) {
        self.broken += 1;
        if self.violations.len() < 100 {
            self.violations.push(Violation { rule, at, text });
        }
    }

    /// A failure that names a date is about to be reported; the account must rest until then.
    pub(crate) fn expect_rest(&mut self, permit: PermitId, until: i64) {
        self.declared.insert(permit, until);
    }

    /// A report of a failure has ended. What it may not have written yet is owed.
    pub(crate) fn failed(&mut self, at: i64, attempt: &Attempt, whole: bool) {
        if attempt.production && !(whole && self.steady(at)) {
            let Attempt { vendor, account, model, .. } = *attempt;
            for who in [
                Who::Breaker(vendor),
                Who::Account(account),
                Who::Lock(vendor, Some(account), model),
                Who::Lock(vendor, None, model),
            ] {
                *self.owed.entry(who).or_default() += 1;
            }
        }
    }

    /// Whether somebody else's failure may just have been written; each explains one change, to all who ask.
    fn paid(&mut self, who: Who) -> bool {
        if self.explained == Some(who) {
            return true;
        }
        let Some(left) = self.owed.get_mut(&who).filter(|left| **left > 0) else { return false };
        *left -= 1;
        self.counts.tolerated += 1;
        self.explained = Some(who);
        true
    }

    /// Judges one fact.
    pub(crate) fn see(&mut self, fact: &Fact) {
        self.explained = None;
        match fact.what {
            What::Granted { attempt, host, request, special } => {
                self.counts.granted += 1;
                self.shut_since = None;
                let live = Live { attempt, host, request, probe: special.probe, answer: None };
                if self.live.insert(attempt.permit, live).is_some() {
                    self.broke("I-5", fact.at, format!("permit {} was given out twice", attempt.permit));
                }
                if special.probe {
                    self.probe(fact, &attempt);
                }
            }
            What::Refused { wait, reason, request, .. } => {
                self.counts.refused += 1;
                if reason == "slots" && wait.is_none() {
                    let text = format!("request {request} was refused for lack of room, without a date");
                    self.broke("P-39", fact.at, text);
                }
                let since = *self.shut_since.get_or_insert(fact.at);
                self.longest_shut = self.longest_shut.max(fact.at - since);
            }
            What::Sent { attempt, special } => self.sent(fact, &attempt, special),
            What::Answered { attempt, failure } => {
                self.answered(fact, &attempt, failure);
                match failure {
                    Some(_) => self.counts.failed += 1,
                    None => self.content(&attempt),
                }
            }
            What::Settled { attempt, reported } => self.settled(fact, &attempt, reported),
            What::Changed { change, cause } => {
                self.counts.changes += 1;
                match change {
                    Change::Breaker { who, old, new } => self.breaker(fact, who, old, new, cause),
                    Change::Account { who, old, new } => self.account(fact, who, old, new, cause),
                    Change::Lock { who, old, new } => self.lock(fact, who, old, new, cause),
                }
            }
            What::Done { request, .. } => {
                self.per_request.remove(&request);
            }
            What::Store { up } => {
                self.down = !up;
                self.unsteady_until = if up { fact.at + SETTLE } else { i64::MAX };
            }
            What::Wiped => {
                self.breakers.clear();
                self.accounts.clear();
                self.locks.clear();
                self.leases.clear();
                self.unsteady_until = self.unsteady_until.max(fact.at + SETTLE);
            }
            What::Jumped { .. } => self.jumped_until = fact.at + 600_000,
            What::Killed { host } => {
                // The process after it may have granted something in the millisecond since.
                self.live.retain(|_, live| live.host != host || live.attempt.at >= fact.at - 1);
                let live = &self.live;
                self.probes
                    .values_mut()
                    .for_each(|held| held.retain(|(permit, _)| live.contains_key(permit)));
            }
            What::Leased { owner, account, generation, until } => {
                self.leased(fact, owner, account, generation, until)
            }
            What::Unleased { owner } => {
                self.leases.remove(&owner);
            }
        }
    }

    /// A success of a report that was cut off, or that came while the store was away, is written down later, in
    /// somebody else's step. What it may do depends on when its attempt was granted, and on nothing else.
    fn content(&mut self, attempt: &Attempt) {
        if !attempt.production {
            return;
        }
        let (accounts, locks) = &mut self.content;
        let youngest = accounts.entry(attempt.account).or_insert(attempt.at);
        *youngest = attempt.at.max(*youngest);
        for account in [Some(attempt.account), None] {
            let who = Who::Lock(attempt.vendor, account, attempt.model);
            let youngest = locks.entry(who).or_insert(attempt.at);
            *youngest = attempt.at.max(*youngest);
        }
    }

    /// Judges the end, long after the load has stopped.
    pub(crate) fn end(&mut self, at: i64) {
        let mut left: Vec<PermitId> = self.live.keys().copied().collect();
        left.sort_unstable();
        for permit in left {
            self.broke("I-5", at, format!("permit {permit} was never settled"));
        }
    }

    /// Accounts that are terminal now.
    pub(crate) fn ended(&self) -> Vec<usize> {
        let mut ended: Vec<usize> =
            self.accounts.iter().filter(|(_, a)| a.seen.terminal != 0).map(|(who, _)| *who).collect();
        ended.sort_unstable();
        ended
    }

    fn steady(&self, at: i64) -> bool {
        !self.down && at >= self.unsteady_until
    }

    fn probe(&mut self, fact: &Fact, attempt: &Attempt) {
        self.counts.probes += 1;
        let lease = self.numbers[attempt.vendor].probe_lease;
        let held = self.probes.entry(attempt.vendor).or_default();
        held.retain(|(_, since)| fact.at - since < lease);
        held.push((attempt.permit, fact.at));
        let many = held.len();
        if many > 1 && self.steady(fact.at) && fact.at > self.jumped_until {
            let text = format!(
                "{many} probes of vendor {} are out, the last one is {}",
                attempt.vendor, attempt.permit
            );
            self.broke("I-2", fact.at, text);
        }
    }

    fn probe_over(&mut self, attempt: &Attempt) {
        if let Some(held) = self.probes.get_mut(&attempt.vendor) {
            held.retain(|(permit, _)| *permit != attempt.permit);
        }
    }

    fn sent(&mut self, fact: &Fact, attempt: &Attempt, special: crate::sim::facts::Special) {
        self.counts.sent += 1;
        self.counts.last_resorts += u64::from(special.last_resort);
        self.counts.verifications += u64::from(special.verification);
        let Some(live) = self.live.get(&attempt.permit) else {
            self.broke("I-8", fact.at, format!("{} was sent without a permit that is alive", attempt.permit));
            return;
        };
        let request = live.request;
        let tried = self.per_request.entry(request).or_default();
        tried.push(attempt.vendor);
        let (all, here) = (tried.len(), tried.iter().filter(|vendor| **vendor == attempt.vendor).count());
        if attempt.production && (all > 8 || here > 8) {
            self.broke("I-10", fact.at, format!("attempt {all} of request {request}"));
        }
        if let Some(fence) = special.fence {
            let highest = self.fences.entry(attempt.account).or_default();
            if fence < *highest {
                let text = format!("fence {fence} after {highest} on account {}", attempt.account);
                self.broke("I-4", fact.at, text);
            } else {
                *highest = fence;
            }
        }
        if !attempt.production || !self.steady(fact.at) {
            return;
        }
        let account = self.accounts.get(&attempt.account).copied().unwrap_or_default();
        let breaker = self.breakers.get(&attempt.vendor).copied().unwrap_or_default();
        let here = Who::Lock(attempt.vendor, Some(attempt.account), attempt.model);
        let everywhere = Who::Lock(attempt.vendor, None, attempt.model);
        let young = |since: i64| fact.at - since <= MIRROR;
        let wall = fact.wall;
        let exempt = special.verification || special.last_resort || fact.at < self.jumped_until;
        let mut found: Vec<(&'static str, i64, String)> = Vec::new();
        if account.seen.terminal != 0 {
            found.push(("I-1", account.at, format!("account {} is terminal", attempt.account)));
        } else if account.seen.until > wall && !exempt {
            let text =
                format!("account {} rests for another {} ms", attempt.account, account.seen.until - wall);
            found.push(("cooling", account.at, text));
        }
        for who in [here, everywhere] {
            let lock = self.locks.get(&who).copied().unwrap_or_default();
            if lock.seen.until > wall && !exempt {
                found.push((
                    "locked",
                    lock.at,
                    format!("{who:?} is locked for {} ms", lock.seen.until - wall),
                ));
            }
        }
        if breaker.seen.state == 2 && breaker.seen.open_until > wall && breaker.seen.forced == 0 && !exempt {
            found.push(("open", breaker.at, format!("the breaker of vendor {} is open", attempt.vendor)));
        } else if breaker.seen.state == 3 && !special.probe && !exempt {
            found.push((
                "open",
                breaker.at,
                format!("vendor {} is half open, this is no probe", attempt.vendor),
            ));
        }
        for (rule, since, text) in found {
            if young(since) {
                self.counts.tolerated += 1;
            } else {
                self.broke(rule, fact.at, text);
            }
        }
    }

    fn settled(&mut self, fact: &Fact, attempt: &Attempt, reported: bool) {
        let Some(live) = self.live.remove(&attempt.permit) else {
            self.broke("I-5", fact.at, format!("permit {} was settled twice", attempt.permit));
            return;
        };
        if live.probe {
            self.probe_over(attempt);
            if !reported || !self.steady(fact.at) {
                self.late.insert(attempt.permit, live.answer.unwrap_or(Late::Nothing));
            }
        }
        let declared = self.declared.remove(&attempt.permit);
        if let Some(until) = declared
            && reported
            && self.steady(fact.at)
            && fact.at > self.jumped_until
        {
            let account = self.accounts.get(&live.attempt.account).copied().unwrap_or_default();
            if account.seen.until < until && account.seen.terminal == 0 {
                let text = format!(
                    "account {} rests until {}, its vendor said {until}",
                    attempt.account, account.seen.until
                );
                self.broke("declared", fact.at, text);
            }
        }
    }
}
