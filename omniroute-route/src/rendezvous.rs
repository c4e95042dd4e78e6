//! The connection to which a prefix belongs: every connection bids with a hash, the highest bid wins. When a connection
//! goes, only its own prefixes move.

use omniroute_core::route::Pool;
use sha2::{Digest, Sha256};

/// The bid of an identity for a key.
///
/// ```
/// # use omniroute_route::rendezvous::bid;
/// assert!(bid("omni-demo-key", "connection:acct-2") > bid("omni-demo-key", "connection:acct-3"));
/// ```
pub fn bid(key: &str, identity: &str) -> u128 {
    let mut hash = keyed(key);
    hash.update(identity);
    first_half(&hash.finalize())
}

/// The bids of a pool's connections for a key, hashed from the key only once.
#[derive(Debug, Clone)]
pub(crate) struct Bids {
    key: Sha256,
}

impl Bids {
    pub(crate) fn new(key: &str) -> Self {
        let mut hash = keyed(key);
        hash.update("connection:");
        Bids { key: hash }
    }

    pub(crate) fn of(&self, pool: &Pool, index: usize) -> u128 {
        let mut hash = self.key.clone();
        hash.update(pool.entries()[index].target.connection.as_str());
        first_half(&hash.finalize())
    }
}

fn keyed(key: &str) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update([0]);
    hash
}

fn first_half(digest: &[u8]) -> u128 {
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_bids() {
        let bids = [
            ("connection:acct-1", 0x11eb_1e16_ba30_32c7_5d7f_0465_0cba_a392_u128),
            ("connection:acct-2", 0x9e24_a455_79c4_da78_b71b_1711_8017_4939),
            ("connection:acct-3", 0x2c7a_2f20_32c9_6106_dc6f_9aa7_b5a2_7a74),
        ];
        for (identity, expected) in bids {
            assert_eq!(bid("omni-demo-key", identity), expected, "{identity}");
        }
    }

    #[test]
    fn a_newcomer_takes_its_share_and_a_loser_takes_nothing() {
        let winner = |key: &str, accounts: usize| {
            (0..accounts).max_by_key(|at| bid(key, &format!("connection:acct-{at}"))).unwrap()
        };
        let mut moved = 0;
        for key in 0..2_000 {
            let key = format!("k{key}");
            let (before, after) = (winner(&key, 4), winner(&key, 5));
            assert!(after == before || after == 4, "only the newcomer takes");
            moved += usize::from(after != before);
        }
        assert!((320..480).contains(&moved), "{moved} of 2000 moved to the fifth");
    }
}
