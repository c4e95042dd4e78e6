//! Which target of a shared pool comes first: tiers, then deficits by weight, then the emptier of the best two.

use std::collections::BTreeMap;

/// One target as the scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Any stable number.
    pub id: u64,
    /// Lower tiers come first.
    pub tier: u32,
    /// Its share; 0 for all: equal shares.
    pub weight: u32,
    /// Its allowance is used up or it is at its limit: it goes to the end of the list.
    pub full: bool,
    /// Attempts running there.
    pub in_flight: u32,
}

/// What every target of one pool is owed, in millionths of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deficits(BTreeMap<u64, i64>);

/// How far a deficit goes.
const MOST: i64 = 2_000_000;

impl Deficits {
    /// What a target is owed.
    pub fn of(&self, id: u64) -> i64 {
        self.0.get(&id).copied().unwrap_or(0)
    }

    /// The order in which to try the members; changes nothing. Full ones are last, never gone.
    pub fn order(&self, members: &[Member]) -> Vec<u64> {
        let mut sorted: Vec<&Member> = members.iter().collect();
        let gain = |member: &Member| self.of(member.id).saturating_add(gain(member, members)).min(MOST);
        sorted.sort_by(|a, b| (a.full, a.tier, gain(b), a.id).cmp(&(b.full, b.tier, gain(a), b.id)));
        if let [first, second, ..] = sorted.as_slice()
            && (first.full, first.tier) == (second.full, second.tier)
            && second.in_flight < first.in_flight
        {
            sorted.swap(0, 1);
        }
        sorted.into_iter().map(|member| member.id).collect()
    }

    /// An attempt goes to `winner`: everybody of its tier gains a share, it pays one. Absent members are forgotten.
    pub fn pay(&mut self, winner: u64, members: &[Member]) {
        let tier = members.iter().find(|member| member.id == winner).map(|member| member.tier);
        let mut next = BTreeMap::new();
        for member in members {
            let share = if Some(member.tier) == tier && !member.full { gain(member, members) } else { 0 };
            let paid = if member.id == winner { 1_000_000 } else { 0 };
            next.insert(member.id, (self.of(member.id) + share - paid).clamp(-MOST, MOST));
        }
        self.0 = next;
    }
}

/// A member's share among those of its tier that can serve, in millionths.
fn gain(member: &Member, members: &[Member]) -> i64 {
    let peers = || members.iter().filter(|other| other.tier == member.tier && other.full == member.full);
    let total: u64 = peers().map(|other| u64::from(other.weight)).sum();
    let even = || 1_000_000 / (peers().count().max(1) as u64);
    (u64::from(member.weight) * 1_000_000).checked_div(total).unwrap_or_else(even).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: u64, tier: u32, weight: u32) -> Member {
        Member { id, tier, weight, full: false, in_flight: 0 }
    }

    #[test]
    fn shares_follow_weights_inside_a_tier() {
        let members = [member(1, 0, 3), member(2, 0, 1), member(3, 1, 9)];
        let mut deficits = Deficits::default();
        let mut counts = [0; 4];
        for _ in 0..400 {
            let winner = deficits.order(&members)[0];
            counts[usize::try_from(winner).unwrap()] += 1;
            deficits.pay(winner, &members);
        }
        assert!((298..=302).contains(&counts[1]) && counts[3] == 0, "{counts:?}");
    }

    #[test]
    fn full_members_go_last_and_the_next_tier_serves() {
        let mut members = [member(1, 0, 1), member(2, 1, 1), member(3, 1, 1)];
        members[0].full = true;
        members[1].in_flight = 5;
        assert_eq!(Deficits::default().order(&members), [3, 2, 1]);
        for member in &mut members {
            member.full = true;
        }
        assert_eq!(Deficits::default().order(&members).len(), 3, "never nobody");
    }

    #[test]
    fn absent_members_are_forgotten_and_deficits_are_bounded() {
        let mut deficits = Deficits::default();
        let both = [member(1, 0, 1), member(2, 0, 1)];
        for _ in 0..100 {
            deficits.pay(1, &both);
        }
        assert_eq!((deficits.of(1), deficits.of(2)), (-MOST, MOST));
        deficits.pay(1, &both[..1]);
        assert_eq!(deficits.of(2), 0);
    }
}
