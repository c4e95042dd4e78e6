//! Attempts at once: every slot has a name and an end of its own, so that none leaks for ever.

use omniroute_core::PermitId;

use crate::codec::{Reader, Value, Writer};

/// Who holds the slots of one key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slots {
    /// Holder and end, oldest first.
    pub held: Vec<(PermitId, i64)>,
}

impl Slots {
    /// Drops what has ended; how many that were. `latest`: when a slot taken now would end. What ends later than
    /// that was written before the clock went back, and is cut.
    pub fn settle(&mut self, latest: i64, now: i64) -> usize {
        let before = self.held.len();
        self.held.retain(|(_, until)| *until > now);
        for (_, until) in &mut self.held {
            *until = latest.min(*until);
        }
        before - self.held.len()
    }

    /// Takes a slot until `until`, or says when the first one ends by itself.
    ///
    /// # Errors
    /// The date at which a slot is free at the latest.
    pub fn take(&mut self, permit: PermitId, limit: u32, until: i64, now: i64) -> Result<(), i64> {
        self.settle(until, now);
        if self.held.iter().any(|(holder, _)| *holder == permit) {
            return Ok(());
        }
        if self.held.len() >= limit as usize {
            return Err(self.held.iter().map(|(_, until)| *until).min().unwrap_or(now));
        }
        self.held.push((permit, until));
        Ok(())
    }

    /// Gives a slot back. True if it was held.
    pub fn give(&mut self, permit: PermitId) -> bool {
        let before = self.held.len();
        self.held.retain(|(holder, _)| *holder != permit);
        before != self.held.len()
    }

    /// Prolongs a slot; one that ended meanwhile is taken again, whatever the limit says: its attempt runs.
    pub fn renew(&mut self, permit: PermitId, until: i64) {
        match self.held.iter_mut().find(|(holder, _)| *holder == permit) {
            Some((_, end)) => *end = until.max(*end),
            None => self.held.push((permit, until)),
        }
    }

    /// When the last slot ends.
    pub fn last(&self) -> Option<i64> {
        self.held.iter().map(|(_, until)| *until).max()
    }
}

impl Value for Slots {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(self.held.len() as u64);
        for (permit, until) in &self.held {
            out.u(permit.process).u(permit.number).i(*until);
        }
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let mut slots = Slots::default();
        for _ in 0..input.count()? {
            let permit = PermitId { process: input.u()?, number: input.u()? };
            slots.held.push((permit, input.i()?));
        }
        Some((slots, input.rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit(number: u64) -> PermitId {
        PermitId { process: 9, number }
    }

    #[test]
    fn each_slot_ends_by_itself() {
        let mut slots = Slots::default();
        assert_eq!(slots.take(permit(1), 2, 100, 0), Ok(()));
        assert_eq!(slots.take(permit(1), 2, 100, 0), Ok(()), "the same permit holds one slot");
        assert_eq!(slots.take(permit(2), 2, 150, 50), Ok(()));
        assert_eq!(slots.take(permit(3), 2, 160, 60), Err(100));
        assert_eq!(slots.take(permit(3), 2, 200, 100), Ok(()), "only the first one ended");
        assert_eq!(slots.held.len(), 2);
        assert!(slots.give(permit(2)));
        assert!(!slots.give(permit(2)), "once");
        slots.renew(permit(3), 300);
        assert_eq!(slots.last(), Some(300));
        let bytes = slots.encode(&[]);
        assert_eq!(Slots::decode(&bytes), Some((slots, &[][..])));
    }

    #[test]
    fn an_end_from_before_the_clock_went_back_is_cut() {
        let hour = 3_600_000;
        let mut slots = Slots::default();
        assert_eq!(slots.take(permit(1), 1, hour + 100, hour), Ok(()));
        assert_eq!(slots.take(permit(2), 1, 100, 0), Err(100), "it holds as long as one that is taken now");
        assert_eq!(slots.take(permit(2), 1, 200, 100), Ok(()));
    }
}
