//! Processes that were apart come back in any order, more than once, with lost answers: always the same state.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::local::Local;
use super::*;

/// A set of small numbers as bits: joining is union, so the expected state is easy to say.
#[derive(Debug)]
struct Union;
impl Join for Union {
    fn join(&self, _: &Key, a: &Joined, b: &Joined) -> Joined {
        let bits = |joined: &Joined| joined.value.first().copied().unwrap_or(0);
        Joined { expires: a.expires.max(b.expires), value: Bytes::from(vec![bits(a) | bits(b)]) }
    }
}

/// Not a join: whoever comes last wins.
#[derive(Debug)]
struct LastWins;
impl Join for LastWins {
    fn join(&self, _: &Key, ours: &Joined, _: &Joined) -> Joined {
        ours.clone()
    }
}

#[derive(Debug, Default, Clone)]
struct Fake {
    records: BTreeMap<Key, Record>,
    version: u64,
}

impl Server for Fake {
    fn get(&mut self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        Ok(keys.iter().map(|key| self.records.get(key).cloned()).collect())
    }

    fn commit(&mut self, changes: &[Change]) -> Result<Commit, StoreError> {
        let found = |change: &Change| self.records.get(change.key()).cloned();
        let conflicts: Vec<_> = changes
            .iter()
            .filter(|change| found(change).map(|record| record.version) != change.expected())
            .map(|change| (change.key().clone(), found(change)))
            .collect();
        if !conflicts.is_empty() {
            return Ok(Commit::Conflict(conflicts));
        }
        self.version += 2;
        for change in changes {
            match after(change, self.version) {
                Some(record) => self.records.insert(change.key().clone(), record),
                None => self.records.remove(change.key()),
            };
        }
        Ok(Commit::Done(self.version))
    }
}

fn key(n: u8) -> Key {
    Key::Meta(n.to_string().into())
}

/// Each process adds bits to some keys while it is apart.
fn apart(server: &Fake, bits: &[(u8, u8)]) -> Local {
    let mut local = Local::new(100);
    for (key, record) in &server.records {
        local.learn(key, Some(record), server.version);
    }
    for (n, bit) in bits {
        let old = local.get(&key(*n), UnixMs(0));
        let value = old.as_ref().and_then(|record| record.value.first().copied()).unwrap_or(0) | (1 << bit);
        let put = Change::Put {
            key: key(*n),
            expected: old.map(|record| record.version),
            value: Bytes::from(vec![value]),
            expires: None,
        };
        local.commit(&[put], None, UnixMs(0)).unwrap();
    }
    local
}

fn rejoin(server: &mut Fake, local: &mut Local, join: &dyn Join, lose_answer: bool) {
    for (told, theirs) in tell(server, &local.pending(100), join).unwrap() {
        if !lose_answer {
            local.settle(&told, theirs.as_ref());
        }
    }
}

/// Runs the processes in an order, some of them twice, and gives what the server holds in the end.
fn play(
    start: &Fake,
    work: &[Vec<(u8, u8)>],
    order: &[(usize, bool)],
    join: &dyn Join,
) -> BTreeMap<Key, Bytes> {
    let mut server = start.clone();
    let mut locals: Vec<Local> = work.iter().map(|bits| apart(start, bits)).collect();
    for (who, lose_answer) in order {
        let who = who % locals.len();
        rejoin(&mut server, &mut locals[who], join, *lose_answer);
    }
    for local in &mut locals {
        rejoin(&mut server, local, join, false);
        assert_eq!(local.unsettled(), 0);
    }
    server.records.into_iter().map(|(key, record)| (key, record.value)).collect()
}

fn start() -> Fake {
    let mut server = Fake::default();
    let put = |n| Change::Put { key: key(n), expected: None, value: Bytes::from(vec![1]), expires: None };
    server.commit(&[put(0), put(1)]).unwrap();
    server
}

type Work = Vec<Vec<(u8, u8)>>;

fn work() -> impl Strategy<Value = Work> {
    proptest::collection::vec(proptest::collection::vec((0..4_u8, 0..8_u8), 0..6), 1..5)
}

fn order() -> impl Strategy<Value = Vec<(usize, bool)>> {
    proptest::collection::vec((0..5_usize, any::<bool>()), 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_order_and_repetition_gives_the_union(work in work(), order in order()) {
        let start = start();
        let mut expected: BTreeMap<Key, Bytes> =
            start.records.iter().map(|(key, record)| (key.clone(), record.value.clone())).collect();
        for (n, bit) in work.iter().flatten() {
            let old = expected.get(&key(*n)).map_or(0, |value| value[0]);
            expected.insert(key(*n), Bytes::from(vec![old | (1 << bit)]));
        }
        prop_assert_eq!(play(&start, &work, &order, &Union), expected);
    }

    #[test]
    fn the_default_is_a_join(a in any::<(Option<i64>, u8)>(), b in any::<(Option<i64>, u8)>(), c in any::<(Option<i64>, u8)>()) {
        let of = |(expires, value): (Option<i64>, u8)| Joined { expires: expires.map(UnixMs), value: Bytes::from(vec![value]) };
        let (a, b, c) = (of(a), of(b), of(c));
        let join = |a: &Joined, b: &Joined| LaterEnd.join(&key(0), a, b);
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
        prop_assert_eq!(join(&a, &a), a);
    }
}

#[test]
fn last_write_wins_is_caught() {
    let work = vec![vec![(0, 2)], vec![(0, 3)]];
    let forward = play(&start(), &work, &[(0, false), (1, false)], &LastWins);
    let backward = play(&start(), &work, &[(1, false), (0, false)], &LastWins);
    assert_ne!(forward, backward);
}

#[test]
fn a_removal_is_told_only_if_nobody_else_wrote() {
    for (others_write, left) in [(false, None), (true, Some(Bytes::from(vec![9])))] {
        let mut server = start();
        let mut local = apart(&server, &[]);
        let version = server.records[&key(0)].version;
        local.commit(&[Change::Delete { key: key(0), expected: version }], None, UnixMs(0)).unwrap();
        if others_write {
            let value = Bytes::from(vec![9]);
            let put = Change::Put { key: key(0), expected: Some(version), value, expires: None };
            server.commit(&[put]).unwrap();
        }
        rejoin(&mut server, &mut local, &Union, false);
        assert_eq!(server.records.get(&key(0)).map(|record| record.value.clone()), left);
        assert_eq!(local.unsettled(), 0);
    }
}
