//! The invariants, each judged after every fact. Names as in the specification; those without a number there
//! (`cooling`, `open`, `halving`, `fresh`, `declared`, `path`) say what the numbered ones rest on.

use std::collections::{BTreeSet, HashMap};

use omniroute_core::{FailureKind, PermitId};

use crate::sim::facts::{AccountSeen, Attempt, BreakerSeen, Cause, Change, Fact, LockSeen, What, Who};

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
    probes: HashMap<usize, Vec<(PermitId, i64)>>,
    declared: HashMap<PermitId, i64>,
    per_request: HashMap<u64, Vec<usize>>,
    leases: HashMap<usize, (usize, u64, i64)>,
    fences: HashMap<usize, u64>,
    down: bool,
    unsteady_until: i64,
    jumped_until: i64,
    shut_since: Option<i64>,
    /// How long breakers were open, summed, ms.
    pub(crate) open_ms: i64,
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

    /// Judges one fact.
    pub(crate) fn see(&mut self, fact: &Fact) {
        match fact.what {
            What::Granted { attempt, host, request, special } => {
                self.counts.granted += 1;
                self.shut_since = None;
                if self
                    .live
                    .insert(attempt.permit, Live { attempt, host, request, probe: special.probe })
                    .is_some()
                {
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
            What::Answered { failure, .. } => self.counts.failed += u64::from(failure.is_some()),
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
                self.live.retain(|_, live| live.host != host);
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

    fn breaker(&mut self, fact: &Fact, who: usize, old: BreakerSeen, new: BreakerSeen, cause: Cause) {
        let opened = self.breakers.insert(who, Tracked { seen: new, at: fact.at }).unwrap_or_default();
        if old.state == 2 {
            self.open_ms += fact.at - opened.at;
        }
        let numbers = self.numbers[who];
        let say = |what: &str| format!("breaker of vendor {who}: {what}; {old:?} -> {new:?} by {cause:?}");
        let calm = fact.at > self.jumped_until;
        if new.state == 2 && new.open_until - fact.wall > numbers.longest_open && calm {
            self.broke("I-3", fact.at, say("open for too long"));
        }
        if new.state == 2 && old.state != 2 {
            self.counts.opened += 1;
        }
        if old.state == 2
            && new.state == 2
            && old.generation == new.generation
            && old.open_until != new.open_until
            && calm
        {
            self.broke("I-3", fact.at, say("the date moved while it was open"));
        }
        if let Some((_, _, until)) = new.probe
            && until - fact.wall > numbers.probe_lease
            && calm
        {
            self.broke("I-3", fact.at, say("a probe is out for too long"));
        }
        if let (Some(before), Some(after)) = (old.probe, new.probe)
            && (before.0, before.1) != (after.0, after.1)
            && before.2 > fact.wall
            && calm
        {
            self.broke("I-2", fact.at, say("a live probe lost its place"));
        }
        let up = new.state > old.state;
        match cause {
            Cause::Success(attempt) | Cause::Failure(attempt, ..) | Cause::Drop(attempt) => {
                self.probe_over(&attempt);
                if !attempt.production && (old.state != new.state) && !(old.state == 1 && new.state == 0) {
                    self.broke("I-9", fact.at, say("changed by an attempt that must not"));
                }
                let own = old.probe.is_some_and(|(process, number, _)| {
                    (process, number) == (attempt.permit.process, attempt.permit.number)
                });
                if old.state == 3 && new.state != 3 && !own {
                    self.broke("path", fact.at, say("left half open by another attempt than its probe"));
                }
                if let Cause::Failure(_, _, blame) = cause {
                    let alive = (400..500).contains(&blame.status) && blame.status != 408;
                    if (alive || blame.status == 529) && up && old.state < 2 {
                        self.broke("I-11", fact.at, say("a refusal counted"));
                    }
                    if blame.local && up {
                        self.broke("I-12", fact.at, say("our own failure counted"));
                    }
                }
            }
            Cause::None | Cause::Admit => {}
        }
        let operator = matches!(cause, Cause::None);
        if old.state == 2 && new.state < 2 && !operator && old.forced == new.forced {
            self.broke("path", fact.at, say("closed without a probe"));
        }
    }

    fn account(&mut self, fact: &Fact, who: usize, old: AccountSeen, new: AccountSeen, cause: Cause) {
        let before = self.accounts.get(&who).copied().unwrap_or_default();
        let moved = old.epoch != new.epoch || old.until != new.until || old.terminal != new.terminal;
        let at = if moved { fact.at } else { before.at };
        self.accounts.insert(who, Tracked { seen: new, at });
        let numbers = self.numbers[self.vendor_of[who]];
        let say = |what: &str| format!("account {who}: {what}; {old:?} -> {new:?} by {cause:?}");
        if new.level > numbers.max_level {
            self.broke("I-7", fact.at, say("the level is above its maximum"));
        }
        let longest = if new.declared { DECLARED_MAX } else { FIXED_MAX.max(numbers.longest_rest) };
        if new.until - fact.wall > longest && fact.at > self.jumped_until {
            self.broke("I-3", fact.at, say("rests for too long"));
        }
        if new.terminal != 0 && old.terminal == 0 {
            self.counts.terminal += 1;
            if let Cause::Failure(_, kind, _) = cause
                && !matches!(
                    kind,
                    FailureKind::Banned | FailureKind::CreditsExhausted | FailureKind::Unauthorized
                )
            {
                self.broke("terminal", fact.at, say("ended without strong evidence"));
            }
        }
        let own = matches!(cause, Cause::Success(a) | Cause::Failure(a, ..) if a.account == who);
        if old.terminal != 0 && new.terminal != old.terminal && cause != Cause::None {
            self.broke("terminal", fact.at, say("a terminal state was overwritten"));
        }
        let shrank = new.until < old.until && old.until > fact.wall;
        self.rises(fact, old.level, new.level, before.at, own, cause, &say);
        match cause {
            Cause::Success(attempt) => {
                if shrank && attempt.at < before.at {
                    self.broke("fresh", fact.at, say("an older success ended a younger rest"));
                }
                if new.until == 0 && old.until != 0 && new.level > old.level / 2 {
                    self.broke("halving", fact.at, say("the level did not halve"));
                }
            }
            Cause::Failure(..) | Cause::Drop(_) | Cause::Admit if shrank && fact.at > self.jumped_until => {
                self.broke("I-6", fact.at, say("the rest became shorter"));
            }
            _ => {}
        }
        let worse = new.until > old.until || new.level > old.level || new.terminal != old.terminal;
        if worse {
            self.punished.insert(who);
        }
        self.guilt(fact, worse, shrank, cause, &say);
    }

    fn lock(&mut self, fact: &Fact, who: Who, old: LockSeen, new: LockSeen, cause: Cause) {
        let before = self.locks.get(&who).copied().unwrap_or_default();
        let moved = old.epoch != new.epoch || old.until != new.until;
        let at = if moved { fact.at } else { before.at };
        self.locks.insert(who, Tracked { seen: new, at });
        let say = |what: &str| format!("{who:?}: {what}; {old:?} -> {new:?} by {cause:?}");
        let longest = if new.declared { DECLARED_MAX } else { FIXED_MAX };
        if new.until - fact.wall > longest && fact.at > self.jumped_until {
            self.broke("I-3", fact.at, say("locked for too long"));
        }
        let shrank = new.until < old.until && old.until > fact.wall;
        self.rises(fact, old.count, new.count, before.at, true, cause, &say);
        match cause {
            Cause::Success(attempt) => {
                if shrank && attempt.at < before.at {
                    self.broke("fresh", fact.at, say("an older success ended a younger lock"));
                }
                if new.until == 0 && old.until != 0 && new.count > old.count / 2 {
                    self.broke("halving", fact.at, say("the count did not halve"));
                }
            }
            Cause::Failure(..) | Cause::Drop(_) | Cause::Admit if shrank && fact.at > self.jumped_until => {
                self.broke("I-6", fact.at, say("the lock became shorter"));
            }
            _ => {}
        }
        self.guilt(fact, new.until > old.until || new.count > old.count, shrank, cause, &say);
    }

    /// A level or count rises by one, and only by an attempt that began after the last change.
    #[expect(clippy::too_many_arguments, reason = "one check for two kinds of records")]
    fn rises(
        &mut self,
        fact: &Fact,
        old: u64,
        new: u64,
        changed_at: i64,
        own: bool,
        cause: Cause,
        say: &dyn Fn(&str) -> String,
    ) {
        if new <= old {
            return;
        }
        if new > old + 1 {
            self.broke("I-7", fact.at, say("rose by more than one"));
        }
        if let Cause::Failure(attempt, ..) = cause
            && own
            && attempt.at < changed_at
        {
            self.broke("I-7", fact.at, say("an attempt that began before the last change raised it again"));
        }
    }

    /// Nobody is punished, or freed, by what must not teach anything.
    fn guilt(&mut self, fact: &Fact, worse: bool, better: bool, cause: Cause, say: &dyn Fn(&str) -> String) {
        match cause {
            Cause::Failure(_, _, blame) if blame.local && worse => {
                self.broke("I-12", fact.at, say("our own failure counted"));
            }
            Cause::Failure(attempt, ..) | Cause::Success(attempt) | Cause::Drop(attempt)
                if !attempt.production && (worse || better) =>
            {
                self.broke("I-9", fact.at, say("changed by an attempt that must not"));
            }
            Cause::Drop(_) if worse => self.broke("I-12", fact.at, say("a dropped permit counted")),
            _ => {}
        }
    }

    fn leased(&mut self, fact: &Fact, owner: usize, account: usize, generation: u64, until: i64) {
        let wall = fact.wall;
        let other = self
            .leases
            .iter()
            .filter(|(other, (held, _, end))| **other != owner && *held == account && *end > wall)
            .map(|(other, _)| *other)
            .min();
        if let Some(other) = other {
            let text = format!("account {account} is leased to {other} and to {owner}");
            self.broke("I-4", fact.at, text);
        }
        if let Some((_, before, _)) = self.leases.get(&owner)
            && generation < *before
        {
            self.broke("I-4", fact.at, format!("generation {generation} of owner {owner} after {before}"));
        }
        self.leases.insert(owner, (account, generation, until));
    }
}
