//! Layer 2: one connection rests while its siblings serve; terminal states end it until somebody acts.

mod quota;
mod record;

use crate::config::{ClassConfig, CooldownConfig};
use crate::layers::bump;
use crate::rng::Rng;

pub use quota::Seen;

/// Why a connection rests.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Too many calls.
    #[default]
    RateLimited,
    /// An allowance is used up.
    QuotaExhausted,
    /// No capacity.
    Overloaded,
    /// The credential was refused once.
    AuthRetry,
    /// It may not do this.
    Forbidden,
    /// The network path fails.
    Transport,
    /// A page for people came instead of an answer.
    HtmlPage,
    /// Not served in this region.
    GeoBlocked,
    /// The provider fails as a service.
    ServerError,
    /// An operator said so.
    Manual,
}

const REASONS: [Reason; 10] = [
    Reason::RateLimited,
    Reason::QuotaExhausted,
    Reason::Overloaded,
    Reason::AuthRetry,
    Reason::Forbidden,
    Reason::Transport,
    Reason::HtmlPage,
    Reason::GeoBlocked,
    Reason::ServerError,
    Reason::Manual,
];

/// States that time does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// The provider closed the account. An operator clears it.
    Banned,
    /// The credential is dead. A new one or an operator clears it.
    Expired,
    /// The money is gone. An operator or a positive balance clears it.
    CreditsExhausted,
}

const TERMINALS: [Terminal; 3] = [Terminal::Banned, Terminal::Expired, Terminal::CreditsExhausted];

/// How long to stay away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// By level, from the class's base.
    Computed,
    /// By level, from this base in ms.
    Grow(i64),
    /// This many ms; the level stays.
    Fixed(i64),
    /// The provider said: this many ms from now. It only ever extends.
    Declared(i64),
}

/// Something bad that happened on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// Rest.
    Rest(Wait, Reason),
    /// Strong evidence: it is over.
    End(Terminal),
    /// Rest, and if this is said again later, it is over.
    Suspect(Terminal, Wait, Reason),
}

/// State of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connection {
    /// Grows on every change that matters to eligibility.
    pub epoch: u64,
    /// Resting until then; 0: not.
    pub until: i64,
    /// Whether the provider named that date.
    pub declared: bool,
    /// How often the computed rest has doubled.
    pub level: u32,
    /// When the level was last right.
    pub touched: i64,
    /// The last computed rest, ms.
    pub last_rest: i64,
    /// Why it rests.
    pub reason: Reason,
    /// Whether it is over, and since when.
    pub terminal: Option<(Terminal, i64)>,
    /// Grows whenever the credential changes.
    pub credential: u64,
    /// Attempts at once while it comes back; none: no limit.
    pub reentry: Option<u32>,
    /// When a long declared rest may be tried out next; 0: not.
    pub verify_at: i64,
    /// A suspicion: what, how often, first and last time.
    pub suspect: Option<(Terminal, u32, i64, i64)>,
    /// Provider failures in a row.
    pub row: u32,
    /// Status and date of the last failure.
    pub error: Option<(u16, i64)>,
    /// Allowances as last seen, at most one for each span.
    pub seen: Vec<Seen>,
    /// Refreshes of the credential that failed in a row.
    pub refresh_failures: u32,
    /// No refresh before this date; 0: any time.
    pub refresh_after: i64,
}

/// The numbers a connection works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// First computed rest, ms.
    pub base: i64,
    /// How often it doubles.
    pub max_level: u32,
    /// Longest computed rest before jitter, ms.
    pub ceiling: i64,
    /// Longest declared rest, ms.
    pub declared_max: i64,
    /// From this declared rest on it is verified, ms.
    pub verify_after: i64,
    /// How often, ms.
    pub verify_every: i64,
    /// Slow start after rests longer than this, ms.
    pub reentry_over: i64,
    /// Where slow start ends.
    pub reentry_full: u32,
    /// How far apart a suspicion is confirmed, ms.
    pub confirm_after: i64,
    /// Computed rests do not happen.
    pub no_cooldown: bool,
}

impl Rules {
    /// The rules of one class.
    pub fn new(class: &ClassConfig, config: &CooldownConfig, proxy: bool, no_cooldown: bool) -> Rules {
        Rules {
            base: class.cooldown_base.signed(),
            max_level: class.max_level,
            ceiling: class.cooldown_ceiling.signed(),
            declared_max: if proxy { config.declared_max_proxy } else { config.declared_max }.signed(),
            verify_after: config.verify_after.signed(),
            verify_every: config.verify_every.signed(),
            reentry_over: config.reentry_over.signed(),
            reentry_full: config.reentry_full,
            confirm_after: config.confirm_after.signed(),
            no_cooldown,
        }
    }

    /// Computed rest at a level, without jitter, ms.
    pub fn computed(&self, base: i64, level: u32) -> i64 {
        base.saturating_mul(1_i64 << level.min(self.max_level).min(40)).min(self.ceiling)
    }

    /// No computed rest is longer, jitter included, ms.
    pub fn longest_computed(&self) -> i64 {
        self.ceiling.saturating_add(self.ceiling / 4)
    }
}

impl Connection {
    /// Lets time work: the level decays, dates that no clock of ours could have written are cut.
    pub fn settle(&mut self, now: i64, rules: &Rules) {
        let longest = if self.declared {
            rules.declared_max.saturating_add(2_000).max(rules.longest_computed())
        } else {
            // Fixed waits (a day for a region, the end of a quota's day) are ours as well.
            rules.longest_computed().max(86_400_000 + 3_600_000)
        };
        self.until = self.until.min(now.saturating_add(longest));
        self.touched = self.touched.min(now);
        if self.level > 0 && self.until <= now {
            let period = self.last_rest.saturating_mul(4).max(60_000);
            let from = self.touched.max(self.until);
            let steps = now.saturating_sub(from) / period;
            if steps > 0 {
                self.level = self.level.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
                self.touched = from.saturating_add(steps.saturating_mul(period));
            }
        }
    }

    /// Whether anything about it could make a success worth writing down.
    pub fn clean(&self) -> bool {
        self.until == 0
            && self.level == 0
            && self.reentry.is_none()
            && self.suspect.is_none()
            && self.row == 0
            && self.error.is_none()
    }

    /// Takes in a failure. `fresh`: its attempt began after the last change. True if something changed.
    pub fn fail(
        &mut self,
        hit: Hit,
        fresh: bool,
        credential: u64,
        now: i64,
        rules: &Rules,
        rng: &Rng,
    ) -> bool {
        self.settle(now, rules);
        match hit {
            Hit::Rest(wait, reason) => self.rest(wait, reason, fresh, now, rules, rng),
            Hit::End(state) => self.end(state, fresh, credential, now),
            Hit::Suspect(state, wait, reason) => {
                if !fresh {
                    return self.rest(wait, reason, false, now, rules, rng);
                }
                let (count, first) = match self.suspect {
                    Some((before, count, first, _)) if before == state => (count + 1, first),
                    _ => (1, now),
                };
                if count >= 2 && now.saturating_sub(first) >= rules.confirm_after {
                    return self.end(state, true, credential, now);
                }
                self.suspect = Some((state, count, first, now));
                self.rest(wait, reason, true, now, rules, rng);
                true
            }
        }
    }

    /// Takes in a success. True if something changed.
    pub fn succeed(&mut self, fresh: bool, now: i64, rules: &Rules) -> bool {
        self.settle(now, rules);
        if !fresh || self.terminal.is_some() || self.clean() {
            return false;
        }
        let eligible_again = self.until != 0 || self.level > 0;
        self.until = 0;
        self.declared = false;
        self.verify_at = 0;
        self.level /= 2;
        self.touched = now;
        self.suspect = None;
        self.row = 0;
        self.error = None;
        self.reentry = self
            .reentry
            .map(|allowed| allowed.saturating_mul(2))
            .filter(|allowed| *allowed < rules.reentry_full);
        if eligible_again {
            self.epoch = bump(self.epoch, now);
        }
        true
    }

    /// A verification of a long rest failed: the date stays, the next try is an hour away.
    pub fn verification_failed(&mut self, declared: Option<i64>, now: i64, rules: &Rules, rng: &Rng) -> bool {
        if let Some(wait) = declared {
            self.rest(Wait::Declared(wait), self.reason, false, now, rules, rng);
        }
        self.verify_at = now.saturating_add(rules.verify_every);
        true
    }

    /// The credential is another one: whatever was said about the old one is void.
    pub fn credential_changed(&mut self, version: u64, now: i64) {
        self.credential = version;
        self.terminal = self.terminal.filter(|(state, _)| *state == Terminal::Banned);
        self.suspect = None;
        self.refresh_failures = 0;
        self.refresh_after = 0;
        if self.reason == Reason::AuthRetry {
            self.until = 0;
        }
        self.epoch = bump(self.epoch, now);
    }

    /// An operator clears the rest, and the terminal state if `terminal`. True if something changed.
    pub fn clear(&mut self, terminal: bool, now: i64) -> bool {
        let end = if terminal { None } else { self.terminal };
        if self.clean() && self.terminal == end {
            return false;
        }
        *self = Connection {
            epoch: bump(self.epoch, now),
            credential: self.credential,
            terminal: end,
            seen: std::mem::take(&mut self.seen),
            refresh_failures: self.refresh_failures,
            refresh_after: self.refresh_after,
            ..Connection::default()
        };
        true
    }

    fn end(&mut self, state: Terminal, fresh: bool, credential: u64, now: i64) -> bool {
        if self.terminal.is_some() || (!fresh && credential != self.credential) {
            return false;
        }
        self.terminal = Some((state, now));
        self.suspect = None;
        self.epoch = bump(self.epoch, now);
        true
    }

    fn rest(&mut self, wait: Wait, reason: Reason, fresh: bool, now: i64, rules: &Rules, rng: &Rng) -> bool {
        let (ms, grows) = match wait {
            Wait::Declared(ms) => {
                let ms = ms.clamp(1_000, rules.declared_max);
                if rules.no_cooldown && ms <= 60_000 {
                    return false;
                }
                let slack = u64::try_from((ms / 20).min(2_000)).unwrap_or(0);
                let until = now.saturating_add(ms).saturating_add(rng.between(0, slack).cast_signed());
                return self.extend(until, reason, fresh, ms, now, rules);
            }
            _ if !fresh || rules.no_cooldown => return false,
            Wait::Fixed(ms) => (ms, false),
            Wait::Computed => (rules.computed(rules.base, self.level), true),
            Wait::Grow(base) => (rules.computed(base, self.level), true),
        };
        let ms = if grows { rng.stretch(ms, 1_000_000, 1_250_000) } else { ms };
        if grows {
            self.level = (self.level + 1).min(rules.max_level);
            self.last_rest = ms;
        }
        self.touched = now;
        let until = now.saturating_add(ms);
        if until > self.until {
            self.until = until;
            self.declared = false;
            self.reason = reason;
            self.verify_at = 0;
        }
        self.come_back_slowly(ms, rules);
        self.epoch = bump(self.epoch, now);
        true
    }

    /// A declared date only ever extends; a stale one leaves the epoch.
    fn extend(&mut self, until: i64, reason: Reason, fresh: bool, ms: i64, now: i64, rules: &Rules) -> bool {
        let longer = until > self.until;
        if longer {
            self.until = until;
            self.declared = true;
            self.reason = reason;
            self.verify_at = if ms > rules.verify_after { now.saturating_add(rules.verify_after) } else { 0 };
            self.come_back_slowly(ms, rules);
        }
        if fresh {
            self.touched = now;
            self.epoch = bump(self.epoch, now);
        }
        longer || fresh
    }

    fn come_back_slowly(&mut self, ms: i64, rules: &Rules) {
        if ms > rules.reentry_over {
            self.reentry = Some(1);
        }
    }
}

#[cfg(test)]
mod tests;
