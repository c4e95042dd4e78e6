//! What answers tell about a limit: how large it is, how much is left, and until when that must last.

use omniroute_core::{LimitSeen, QuotaWindow, Unit};

use crate::codec::{Reader, Writer};

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Calls per minute.
    CallsMinute,
    /// Tokens per minute.
    TokensMinute,
    /// Calls per day.
    CallsDay,
    /// Tokens per day.
    TokensDay,
}

const KINDS: [Kind; 4] = [Kind::CallsMinute, Kind::TokensMinute, Kind::CallsDay, Kind::TokensDay];

impl Kind {
    /// Whether tokens are counted, and not calls.
    pub fn tokens(self) -> bool {
        matches!(self, Kind::TokensMinute | Kind::TokensDay)
    }
}

/// One answer's word about one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Which.
    pub kind: Kind,
    /// The whole of it.
    pub limit: u64,
    /// What is left.
    pub left: u64,
    /// How long that must last, ms.
    pub lasts: i64,
}

impl Sight {
    /// What a header says, if it makes sense: a limit, not more left than that, and an end in the future.
    pub fn read(seen: &LimitSeen, now: i64) -> Option<Sight> {
        let kind = match (seen.unit, seen.window) {
            (Unit::Requests, QuotaWindow::Minute) => Kind::CallsMinute,
            (Unit::Tokens, QuotaWindow::Minute) => Kind::TokensMinute,
            (Unit::Requests, QuotaWindow::Day) => Kind::CallsDay,
            (Unit::Tokens, QuotaWindow::Day) => Kind::TokensDay,
            _ => return None,
        };
        let (limit, left) = (seen.limit?, seen.remaining?);
        let length = i64::try_from(seen.window.length().as_millis()).unwrap_or(i64::MAX);
        let lasts = seen.resets_at.map_or(length, |at| at.0.saturating_sub(now)).min(length);
        (limit > 0 && left <= limit && lasts >= 0).then_some(Sight { kind, limit, left, lasts })
    }

    /// Less than a tenth is left: it has to be spread.
    pub fn scarce(&self) -> bool {
        self.lasts > 0 && self.left.saturating_mul(10) < self.limit
    }

    /// More than half is left: nothing has to be held back.
    pub fn plenty(&self) -> bool {
        self.left.saturating_mul(2) > self.limit
    }
}

/// What is remembered of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Learned {
    /// Which.
    pub kind: Kind,
    /// When it was told, ms.
    pub at: i64,
    /// The whole of it.
    pub limit: u64,
    /// What is left is spread until then, ms; 0: it is not.
    pub spread_until: i64,
    /// One call or token takes this long while it is spread, microseconds; 0: nothing is left.
    pub each: i64,
    /// When the next one is on time, microseconds.
    pub next_at: i64,
}

impl Learned {
    /// Takes in a sight. Between a tenth and a half nothing changes but the limit.
    pub fn note(known: &mut Vec<Learned>, sight: &Sight, now: i64) {
        let place = match known.iter().position(|learned| learned.kind == sight.kind) {
            Some(place) => place,
            None => {
                let kind = sight.kind;
                let place = known.partition_point(|other| other.kind < kind);
                known.insert(place, Learned { kind, limit: 0, at: 0, spread_until: 0, each: 0, next_at: 0 });
                place
            }
        };
        let Some(learned) = known.get_mut(place) else { return };
        (learned.limit, learned.at) = (sight.limit, now);
        if sight.scarce() {
            let was = learned.spread_until > now;
            let left = i64::try_from(sight.left).unwrap_or(i64::MAX);
            learned.each = if left == 0 { 0 } else { (sight.lasts.saturating_mul(1_000) / left).max(1) };
            learned.spread_until = now.saturating_add(sight.lasts);
            let next = now.saturating_mul(1_000).saturating_add(learned.each);
            learned.next_at = if was { learned.next_at.min(next) } else { next };
        } else if sight.plenty() {
            (learned.spread_until, learned.each, learned.next_at) = (0, 0, 0);
        }
    }

    /// What both know: of each kind what was told last.
    pub fn join(mut one: Vec<Learned>, other: Vec<Learned>) -> Vec<Learned> {
        one.extend(other);
        one.sort_unstable();
        one.reverse();
        one.dedup_by_key(|learned| learned.kind);
        one.reverse();
        one
    }

    /// When the next may start, ms.
    pub fn not_before(&self, now: i64) -> i64 {
        if self.spread_until <= now {
            return now;
        }
        if self.each == 0 {
            return self.spread_until;
        }
        let next = self.next_at.div_euclid(1_000) + i64::from(self.next_at.rem_euclid(1_000) > 0);
        next.clamp(now, self.spread_until)
    }

    /// `amount` starts.
    pub fn started(&mut self, amount: u64, now: i64) {
        if self.spread_until > now {
            let cost = i64::try_from(amount).unwrap_or(i64::MAX).saturating_mul(self.each);
            self.next_at = self.next_at.max(now.saturating_mul(1_000)).saturating_add(cost);
        }
    }

    /// The clock went back by so many ms.
    pub(crate) fn set_back(&mut self, ms: i64) {
        self.at = self.at.saturating_sub(ms);
        self.spread_until = self.spread_until.saturating_sub(ms);
        self.next_at = self.next_at.saturating_sub(ms.saturating_mul(1_000));
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        out.u(KINDS.iter().position(|kind| *kind == self.kind).unwrap_or(0) as u64);
        out.u(self.limit).i(self.at).i(self.spread_until).i(self.each).i(self.next_at);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Option<Learned> {
        Some(Learned {
            kind: *KINDS.get(input.small::<usize>()?)?,
            limit: input.u()?,
            at: input.i()?,
            spread_until: input.i()?,
            each: input.i()?,
            next_at: input.i()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::UnixMs;

    use super::*;

    fn sight(limit: u64, left: u64, lasts: i64) -> Sight {
        Sight { kind: Kind::CallsMinute, limit, left, lasts }
    }

    #[test]
    fn headers_are_believed_only_if_they_make_sense() {
        let mut seen = LimitSeen::new(Unit::Requests, QuotaWindow::Minute);
        for (limit, remaining, resets_at, good) in [
            (Some(60), Some(3), Some(30_000), true),
            (Some(60), Some(60), None, true),
            (Some(0), Some(0), None, false),
            (Some(60), Some(61), None, false),
            (None, Some(3), None, false),
            (Some(60), None, None, false),
            (Some(60), Some(3), Some(-1), false),
        ] {
            (seen.limit, seen.remaining, seen.resets_at) = (limit, remaining, resets_at.map(UnixMs));
            assert_eq!(Sight::read(&seen, 0).is_some(), good, "{limit:?} {remaining:?} {resets_at:?}");
        }
        seen.window = QuotaWindow::Week;
        assert_eq!(Sight::read(&seen, 0), None, "allowances are another matter");
    }

    /// When calls start that come as soon as they may, while five are left for half a minute. A wrong one does not
    /// say that it started.
    fn starts(wrong: bool) -> Vec<i64> {
        let mut known = Vec::new();
        Learned::note(&mut known, &sight(60, 5, 30_000), 0);
        let (mut starts, mut now) = (Vec::new(), 0);
        while known[0].spread_until > now && starts.len() < 100 {
            let at = known[0].not_before(now);
            if at == now {
                if !wrong {
                    known[0].started(1, now);
                }
                starts.push(now);
            }
            now = at.max(now + 1);
        }
        starts
    }

    #[test]
    fn what_is_left_of_a_scarce_limit_is_spread_until_there_is_plenty() {
        assert_eq!(starts(false), [6_000, 12_000, 18_000, 24_000], "evenly");
        assert!(starts(true).len() > 5, "calls that nobody counts are caught");
        let mut known = Vec::new();
        Learned::note(&mut known, &sight(60, 6, 30_000), 0);
        assert_eq!(known[0].not_before(0), 0, "a tenth is not scarce");
        Learned::note(&mut known, &sight(60, 0, 10_000), 40_000);
        assert_eq!(known[0].not_before(40_000), 50_000, "nothing left: not before it starts anew");
        Learned::note(&mut known, &sight(60, 20, 10_000), 41_000);
        assert_eq!(known[0].not_before(41_000), 50_000, "neither scarce nor plenty: it stays");
        Learned::note(&mut known, &sight(60, 31, 10_000), 42_000);
        assert_eq!(known[0].not_before(42_000), 42_000);
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn what_two_processes_were_told_joins_in_any_order() {
        let told = |kind, at, limit| Learned { kind, at, limit, spread_until: 0, each: 0, next_at: 0 };
        let one = vec![told(Kind::CallsMinute, 5, 60), told(Kind::TokensDay, 9, 1)];
        let other = vec![told(Kind::CallsMinute, 7, 30), told(Kind::CallsDay, 1, 2)];
        let both = Learned::join(one.clone(), other.clone());
        let limits: Vec<_> = both.iter().map(|learned| (learned.kind, learned.limit)).collect();
        assert_eq!(limits, [(Kind::CallsMinute, 30), (Kind::CallsDay, 2), (Kind::TokensDay, 1)]);
        assert_eq!(Learned::join(other, one.clone()), both);
        assert_eq!(Learned::join(both.clone(), one), both);
    }
}
