//! What may happen to a breaker, a connection, a lock and a lease, and through whom.

use std::collections::HashMap;
use std::hash::Hash;

use omniroute_core::FailureKind;

use crate::sim::facts::{AccountSeen, BreakerSeen, Cause, Fact, LockSeen, Who};
use crate::sim::invariants::{DECLARED_MAX, FIXED_MAX, Tracked, Watch};

impl Watch {
    pub(crate) fn breaker(
        &mut self,
        fact: &Fact,
        who: usize,
        old: BreakerSeen,
        new: BreakerSeen,
        cause: Cause,
    ) {
        let opened = self.breakers.insert(who, Tracked { seen: new, at: fact.at }).unwrap_or_default();
        if old.state == 2 {
            // From its date on it lets the next one through, whenever that comes.
            let date = old.open_until - fact.wall + fact.at;
            let open = (fact.at.min(date) - opened.at).max(0);
            *(if old.cycle == 0 { &mut self.open_ms } else { &mut self.reopened_ms }) += open;
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
                if old.state == 3 && new.state != 3 && !own && !self.late_probe(&old, &new) {
                    self.broke("path", fact.at, say("left half open by another attempt than its probe"));
                }
                if let Cause::Failure(_, _, blame) = cause {
                    let alive = (400..500).contains(&blame.status) && blame.status != 408;
                    let refusal = alive || blame.status == 529;
                    // Its step may bring what waited for the store: failures that do count.
                    if refusal && up && old.state < 2 && !self.paid(Who::Breaker(who)) {
                        self.broke("I-11", fact.at, say("a refusal counted"));
                    }
                    if blame.local && up && !self.paid(Who::Breaker(who)) {
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

    pub(crate) fn account(
        &mut self,
        fact: &Fact,
        who: usize,
        old: AccountSeen,
        new: AccountSeen,
        cause: Cause,
    ) {
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
            // Another account's failure may carry a report that waited for the store.
            if let Cause::Failure(attempt, kind, _) = cause
                && !matches!(
                    kind,
                    FailureKind::Banned | FailureKind::CreditsExhausted | FailureKind::Unauthorized
                )
                && (attempt.account == who || !self.paid(Who::Account(who)))
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
            Cause::Success(_) => {
                // Its step may bring what waited for the store: a success that is younger.
                if shrank && !served(&self.content.0, who, before.at) {
                    self.broke("fresh", fact.at, say("an older success ended a younger rest"));
                }
                if new.until == 0 && old.until != 0 && new.level > old.level / 2 {
                    self.broke("halving", fact.at, say("the level did not halve"));
                }
            }
            Cause::Failure(..) | Cause::Drop(_) | Cause::Admit if shrank && fact.at > self.jumped_until => {
                let served = served(&self.content.0, who, before.at);
                if new.until != 0 || new.level > old.level / 2 || !served {
                    self.broke("I-6", fact.at, say("the rest became shorter"));
                }
            }
            _ => {}
        }
        let worse = new.until > old.until || new.level > old.level || new.terminal != old.terminal;
        if worse {
            self.punished.insert(who);
        }
        self.guilt(fact, Who::Account(who), (worse, shrank), cause, &say);
    }

    pub(crate) fn lock(&mut self, fact: &Fact, who: Who, old: LockSeen, new: LockSeen, cause: Cause) {
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
            Cause::Success(_) => {
                if shrank && !served(&self.content.1, who, before.at) {
                    self.broke("fresh", fact.at, say("an older success ended a younger lock"));
                }
                if new.until == 0 && old.until != 0 && new.count > old.count / 2 {
                    self.broke("halving", fact.at, say("the count did not halve"));
                }
            }
            Cause::Failure(..) | Cause::Drop(_) | Cause::Admit if shrank && fact.at > self.jumped_until => {
                let served = served(&self.content.1, who, before.at);
                if new.until != 0 || new.count > old.count / 2 || !served {
                    self.broke("I-6", fact.at, say("the lock became shorter"));
                }
            }
            _ => {}
        }
        let worse = new.until > old.until || new.count > old.count;
        self.guilt(fact, who, (worse, shrank), cause, &say);
    }

    /// A level or count rises by one, and only by an attempt that began after the last change.
    #[expect(clippy::too_many_arguments, reason = "one check for two kinds of records")]
    pub(crate) fn rises(
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
    pub(crate) fn guilt(
        &mut self,
        fact: &Fact,
        who: Who,
        (worse, better): (bool, bool),
        cause: Cause,
        say: &dyn Fn(&str) -> String,
    ) {
        match cause {
            Cause::Failure(_, _, blame) if blame.local && worse && !self.paid(who) => {
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

    pub(crate) fn leased(&mut self, fact: &Fact, owner: usize, account: usize, generation: u64, until: i64) {
        let wall = fact.wall;
        let other = self
            .leases
            .iter()
            .filter(|(other, (held, _, end))| **other != owner && *held == account && *end > wall)
            .map(|(other, _)| *other)
            .min();
        // While clocks settle the store's time is not that of its host.
        if let Some(other) = other.filter(|_| fact.at >= self.jumped_until) {
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

/// Whether an attempt that was granted after this was answered with content: its success may end what began then.
fn served<K: Eq + Hash>(youngest: &HashMap<K, i64>, who: K, since: i64) -> bool {
    youngest.get(&who).is_some_and(|granted| *granted >= since)
}
