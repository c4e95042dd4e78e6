//! The templates of a log, at most a fixed number of them.

/// Templates that are told apart; records of further ones count for [`OTHER`].
pub(super) const MAX_TEMPLATES: usize = 4096;
/// The template of records beyond the limit.
pub(super) const OTHER: u32 = 0;

const SLOTS: usize = MAX_TEMPLATES * 4;

/// A hash table that never grows.
#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<(u64, u32)>,
    len: u32,
}

impl Table {
    /// An empty table.
    pub(super) fn new() -> Self {
        Table { slots: vec![(0, 0); SLOTS], len: 0 }
    }

    /// The number of the template with this hash, and whether it is new. Numbers begin at 1.
    pub(super) fn number(&mut self, hash: u64) -> (u32, bool) {
        let mut at = hash as usize % SLOTS;
        loop {
            let Some(slot) = self.slots.get_mut(at) else { return (OTHER, false) };
            if slot.1 == 0 {
                if self.len as usize >= MAX_TEMPLATES {
                    return (OTHER, false);
                }
                self.len += 1;
                *slot = (hash, self.len);
                return (self.len, true);
            }
            if slot.0 == hash {
                return (slot.1, false);
            }
            at = (at + 1) % SLOTS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_bounded() {
        let mut table = Table::new();
        assert_eq!(table.number(7), (1, true));
        assert_eq!(table.number(7 + SLOTS as u64), (2, true));
        assert_eq!(table.number(7), (1, false));
        for hash in 0..10_000_u64 {
            let (number, _) = table.number(hash.wrapping_mul(0x9e37_79b9));
            assert!(number as usize <= MAX_TEMPLATES);
        }
        assert_eq!(table.number(u64::MAX), (OTHER, false));
    }
}
