//! Processes that were apart come back in any order, more than once, with lost and late messages: always the same
//! state, and every amount counted once.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::local::Local;
use super::*;

/// Amounts: what came to the base is added. Without a common start the greater one stays.
#[derive(Debug)]
struct Sum;
impl Join for Sum {
    fn join(&self, _: &Key, a: &Joined, b: &Joined) -> Joined {
        a.max(b).clone()
    }

    fn rebase(
        &self,
        _: &Key,
        base: Option<&Joined>,
        ours: Option<&Joined>,
        theirs: Option<&Joined>,
    ) -> Option<Joined> {
        Some(joined(number(theirs) + number(ours) - number(base)))
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

fn number(joined: Option<&Joined>) -> u32 {
    joined.map_or(0, |joined| u32::from_le_bytes(*joined.value.first_chunk().unwrap()))
}

fn joined(number: u32) -> Joined {
    Joined { expires: None, value: Bytes::copy_from_slice(&number.to_le_bytes()) }
}

/// What happens to the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Post {
    Arrives,
    /// It is taken in, the answer is lost.
    AnswerLost,
    /// It is on its way while the process gives up waiting, and taken in later, if it still fits.
    Late,
    Lost,
}

#[derive(Debug, Default, Clone)]
struct Fake {
    records: BTreeMap<Key, Record>,
    version: u64,
    post: Vec<Post>,
    late: Vec<Vec<Change>>,
}

impl Fake {
    fn take_in(&mut self, changes: &[Change]) -> Commit {
        let found = |change: &Change| self.records.get(change.key()).cloned();
        let conflicts: Vec<_> = changes
            .iter()
            .filter(|change| found(change).map(|record| record.version) != change.expected())
            .map(|change| (change.key().clone(), found(change)))
            .collect();
        if !conflicts.is_empty() {
            return Commit::Conflict(conflicts);
        }
        self.version += 2;
        for change in changes {
            match after(change, self.version) {
                Some(record) => self.records.insert(change.key().clone(), record),
                None => self.records.remove(change.key()),
            };
        }
        Commit::Done(self.version)
    }

    fn deliver_late(&mut self) {
        for changes in std::mem::take(&mut self.late) {
            self.take_in(&changes);
        }
    }
}

impl Server for Fake {
    fn get(&mut self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        Ok((keys.iter().map(|key| self.records.get(key).cloned()).collect(), UnixMs(0)))
    }

    fn commit(&mut self, changes: &[Change]) -> Result<Commit, StoreError> {
        match self.post.pop().unwrap_or(Post::Arrives) {
            Post::Arrives => return Ok(self.take_in(changes)),
            Post::AnswerLost => drop(self.take_in(changes)),
            Post::Late => self.late.push(changes.to_vec()),
            Post::Lost => {}
        }
        Err(StoreError::Timeout(50))
    }
}

fn key(n: u8) -> Key {
    Key::Meta(n.to_string().into())
}

struct Process {
    local: Local,
    mark: Mark,
}

impl Process {
    fn new(server: &Fake, number: u64) -> Process {
        let mut local = Local::new(100);
        for (key, record) in &server.records {
            local.learn(key, Some(record), server.version);
        }
        Process { local, mark: Mark::new(number) }
    }

    /// Adds to a record while apart.
    fn add(&mut self, n: u8, amount: u32) {
        let old = self.local.get(&key(n), UnixMs(0));
        let value = joined(number(old.as_ref().map(Joined::from).as_ref()) + amount).value;
        let expected = old.map(|record| record.version);
        let put = Change::Put { key: key(n), expected, value, expires: None };
        self.local.commit(&[put], None, UnixMs(0)).unwrap();
    }

    fn rejoin(&mut self, server: &mut Fake, join: &dyn Join) {
        let pending = self.local.pending(100);
        if let Ok(told) = tell(server, &mut self.mark, &pending, join) {
            for (told, theirs) in told.settled {
                self.local.settle(&told, theirs.as_ref());
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add(usize, u8, u32),
    Rejoin(usize, Vec<Post>),
    Late,
}

/// Plays the steps, brings all back in the end, and gives the amounts the server then holds.
fn play(steps: &[Step], join: &dyn Join, forgetful: bool) -> BTreeMap<Key, u32> {
    let mut server = start();
    let mut processes: Vec<Process> = (0..3).map(|n| Process::new(&server, n)).collect();
    for step in steps {
        match step {
            Step::Add(who, n, amount) => processes[*who].add(*n, *amount),
            Step::Rejoin(who, post) => {
                server.post.clone_from(post);
                processes[*who].rejoin(&mut server, join);
                server.post.clear();
                if forgetful {
                    processes[*who].mark.open = None;
                }
            }
            Step::Late => server.deliver_late(),
        }
    }
    for process in &mut processes {
        for _ in 0..4 {
            process.rejoin(&mut server, join);
        }
        assert_eq!(process.local.unsettled(), 0);
    }
    server.deliver_late();
    let own = |key: &Key| (0..8).any(|n| *key == self::key(n));
    let amounts = server.records.iter().filter(|(key, _)| own(key));
    amounts.map(|(key, record)| (key.clone(), number(Some(&Joined::from(record))))).collect()
}

fn start() -> Fake {
    let mut server = Fake::default();
    let put = |n| Change::Put { key: key(n), expected: None, value: joined(1).value, expires: None };
    server.take_in(&[put(0), put(1)]);
    server
}

fn expected(steps: &[Step]) -> BTreeMap<Key, u32> {
    let mut all = BTreeMap::from([(key(0), 1), (key(1), 1)]);
    for step in steps {
        if let Step::Add(_, n, amount) = step {
            *all.entry(key(*n)).or_default() += amount;
        }
    }
    all
}

fn post() -> impl Strategy<Value = Post> {
    prop_oneof![Just(Post::Arrives), Just(Post::AnswerLost), Just(Post::Late), Just(Post::Lost)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..3_usize, 0..4_u8, 1..9_u32).prop_map(|(who, n, amount)| Step::Add(who, n, amount)),
        3 => (0..3_usize, proptest::collection::vec(post(), 0..3))
            .prop_map(|(who, post)| Step::Rejoin(who, post)),
        1 => Just(Step::Late),
    ];
    proptest::collection::vec(step, 0..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn in_any_order_every_amount_counts_once(steps in steps()) {
        prop_assert_eq!(play(&steps, &Sum, false), expected(&steps));
    }
}

#[test]
fn last_write_wins_and_forgotten_messages_are_caught() {
    let two = [Step::Add(0, 0, 2), Step::Add(1, 0, 3)];
    assert_eq!(play(&two, &Sum, false), expected(&two));
    assert_ne!(play(&two, &LastWins, false), expected(&two));
    // Others write between the message whose answer is lost and the next try.
    let rejoin = |who, post: &[Post]| Step::Rejoin(who, post.to_vec());
    for post in [Post::AnswerLost, Post::Late] {
        let steps = [
            Step::Add(0, 0, 2),
            rejoin(0, &[post]),
            Step::Late,
            Step::Add(1, 0, 3),
            rejoin(1, &[]),
            rejoin(0, &[]),
        ];
        assert_eq!(play(&steps, &Sum, false), expected(&steps), "{post:?}");
        assert_ne!(play(&steps, &Sum, true), expected(&steps), "{post:?}");
    }
}

#[test]
fn a_removal_is_told_only_if_nobody_else_wrote() {
    for (others_write, left) in [(false, None), (true, Some(9))] {
        let mut server = start();
        let mut process = Process::new(&server, 1);
        let version = server.records[&key(0)].version;
        let removal = Change::Delete { key: key(0), expected: version };
        process.local.commit(&[removal], None, UnixMs(0)).unwrap();
        if others_write {
            let value = joined(9).value;
            let put = Change::Put { key: key(0), expected: Some(version), value, expires: None };
            server.take_in(&[put]);
        }
        process.rejoin(&mut server, &crate::LaterEnd);
        let kept = server.records.get(&key(0)).map(|record| number(Some(&Joined::from(record))));
        assert_eq!((kept, process.local.unsettled()), (left, 0));
    }
}
