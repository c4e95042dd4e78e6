//! What this process knows of the shared records: seeds the time without a server, and takes commits then.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use omniroute_core::{Change, Commit, Key, Record, StoreError, UnixMs};

/// Versions given without the server are odd, the server's are even: they never meet.
const APART: u64 = 1;

/// Records as last heard of, and those changed since without the server.
#[derive(Debug)]
pub(super) struct Local {
    entries: HashMap<Key, Entry>,
    /// Order of arrival, for dropping when it is full. Names of entries that have gone stay for a while.
    order: VecDeque<(u64, Key)>,
    arrivals: u64,
    most: usize,
    unsettled: BTreeSet<Key>,
    /// Highest version known of the whole store.
    pub(super) newest: u64,
    pub(super) dropped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    arrival: u64,
    version: u64,
    /// None: removed without the server.
    value: Option<Bytes>,
    expires: Option<UnixMs>,
    /// Changed without the server, from this.
    apart: Option<Base>,
}

/// What a change that was made without the server started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    /// From what all processes knew; none: no record.
    Known(Option<Record>),
    /// From something that the server has forgotten.
    Unknown,
}

/// A record that the server must hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) key: Key,
    /// Ours; none: removed.
    pub(super) record: Option<Record>,
    pub(super) base: Base,
    version: u64,
}

impl Unsettled {
    /// The version it has here.
    pub(super) fn version(&self) -> u64 {
        self.version
    }
}

impl Entry {
    fn live(&self, now: UnixMs) -> Option<Record> {
        let value = self.value.clone().filter(|_| self.expires.is_none_or(|at| at > now))?;
        Some(Record { version: self.version, value, expires: self.expires })
    }
}

impl Local {
    pub(super) fn new(most: usize) -> Local {
        Local {
            entries: HashMap::new(),
            order: VecDeque::new(),
            arrivals: 0,
            most,
            unsettled: BTreeSet::new(),
            newest: 0,
            dropped: 0,
        }
    }

    /// Takes note of what the server holds; `version` is that of the whole store when it said so. What was
    /// changed apart stays as it is, and late news never replace newer ones.
    pub(super) fn learn(&mut self, key: &Key, record: Option<&Record>, version: u64) {
        self.newest = self.newest.max(version);
        match (self.entries.get(key), record) {
            (Some(entry), _) if entry.apart.is_some() => {}
            (Some(entry), None) if entry.version <= version => {
                self.entries.remove(key);
            }
            (Some(entry), Some(record)) if entry.version >= record.version => {}
            (None, None) | (Some(_), None) => {}
            (_, Some(record)) => {
                let entry = Entry {
                    arrival: 0,
                    version: record.version,
                    value: Some(record.value.clone()),
                    expires: record.expires,
                    apart: None,
                };
                self.insert(key.clone(), entry);
            }
        }
    }

    pub(super) fn get(&self, key: &Key, now: UnixMs) -> Option<Record> {
        self.entries.get(key)?.live(now)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many records the server must hear of.
    pub(super) fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// Commits without the server.
    pub(super) fn commit(
        &mut self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        now: UnixMs,
    ) -> Result<Commit, StoreError> {
        if not_after.is_some_and(|limit| now > limit) {
            return Ok(Commit::TooLate);
        }
        let found = changes.iter().map(|change| (change, self.get(change.key(), now)));
        let conflicts: Vec<_> = found
            .filter(|(change, record)| record.as_ref().map(|r| r.version) != change.expected())
            .map(|(change, record)| (change.key().clone(), record))
            .collect();
        if !conflicts.is_empty() {
            return Ok(Commit::Conflict(conflicts));
        }
        if self.unsettled.len() + changes.len() > self.most {
            return Err(StoreError::Full(self.most, "any"));
        }
        self.newest = (self.newest + 2) | APART;
        for change in changes {
            let (value, expires) = match change {
                Change::Put { value, expires, .. } => (Some(value.clone()), *expires),
                Change::Delete { .. } => (None, None),
                Change::Check { .. } => continue,
            };
            let base = match self.entries.get(change.key()) {
                None => Base::Known(None),
                Some(Entry { apart: Some(base), .. }) => base.clone(),
                // An expired record may still be there, as absent as here.
                Some(entry) => Base::Known(entry.live(now)),
            };
            let entry = Entry { arrival: 0, version: self.newest, value, expires, apart: Some(base) };
            self.insert(change.key().clone(), entry);
        }
        Ok(Commit::Done(self.newest))
    }

    /// A record as all processes knew it, without what was changed here since.
    pub(super) fn common(&self, key: &Key, now: UnixMs) -> Option<Record> {
        let entry = self.entries.get(key)?;
        let record = match &entry.apart {
            None => entry.live(now),
            Some(Base::Known(record)) => record.clone(),
            Some(Base::Unknown) => None,
        };
        record.filter(|record| record.expires.is_none_or(|at| at > now))
    }

    pub(super) fn scan(&self, prefix: &str, now: UnixMs) -> Vec<(Key, Record)> {
        let live = self.entries.iter().filter(|(key, _)| key.encode().starts_with(prefix));
        let mut found: Vec<_> =
            live.filter_map(|(key, entry)| Some((key.clone(), entry.live(now)?))).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// Some records that the server must hear of.
    pub(super) fn pending(&self, most: usize) -> Vec<Unsettled> {
        let told = |key: &Key| {
            let entry = self.entries.get(key)?;
            let record = entry.value.clone().map(|value| Record {
                version: entry.version,
                value,
                expires: entry.expires,
            });
            Some(Unsettled { key: key.clone(), record, base: entry.apart.clone()?, version: entry.version })
        };
        self.unsettled.iter().filter_map(told).take(most).collect()
    }

    /// The server has heard of a record and now holds `theirs`.
    pub(super) fn settle(&mut self, told: &Unsettled, theirs: Option<&Record>) {
        if let Some(record) = theirs {
            self.newest = self.newest.max(record.version);
        }
        let Some(entry) = self.entries.get_mut(&told.key) else { return };
        if entry.apart.is_none() {
            return;
        }
        if entry.version != told.version {
            // Changed again meanwhile, from what was told, not from what that became on the server.
            entry.apart = Some(Base::Known(match (&told.record, theirs) {
                (Some(ours), Some(theirs)) if same(ours, theirs) => Some(theirs.clone()),
                (ours, _) => ours.clone(),
            }));
            return;
        }
        self.unsettled.remove(&told.key);
        match theirs {
            None => {
                self.entries.remove(&told.key);
            }
            Some(record) => {
                entry.version = record.version;
                entry.value = Some(record.value.clone());
                entry.expires = record.expires;
                entry.apart = None;
            }
        }
    }

    /// The server has lost its memory: it must hear of everything, but for who holds a lease. Owners have to
    /// acquire again; fences and generations go on from where they were. How many leases that ends.
    pub(super) fn server_forgot(&mut self, now: UnixMs) -> u64 {
        let live = |(_, entry): &(&Key, &Entry)| entry.live(now).is_some();
        let leases = self.entries.iter().filter(|(key, _)| matches!(key, Key::LeaseOwner(_))).filter(live);
        let leases = leases.count() as u64;
        self.entries.retain(|key, entry| {
            !matches!(key, Key::LeaseOwner(_) | Key::LeaseConnection(..)) && entry.live(now).is_some()
        });
        for entry in self.entries.values_mut() {
            entry.apart = Some(Base::Unknown);
        }
        self.unsettled = self.entries.keys().cloned().collect();
        leases
    }

    fn insert(&mut self, key: Key, mut entry: Entry) {
        if entry.apart.is_some() {
            self.unsettled.insert(key.clone());
        }
        match self.entries.get_mut(&key) {
            Some(old) => {
                entry.arrival = old.arrival;
                *old = entry;
            }
            None => {
                self.arrivals += 1;
                entry.arrival = self.arrivals;
                self.order.push_back((self.arrivals, key.clone()));
                self.entries.insert(key, entry);
            }
        }
        if self.order.len() > 2 * self.most + 16 {
            let entries = &self.entries;
            self.order
                .retain(|(arrival, key)| entries.get(key).is_some_and(|entry| entry.arrival == *arrival));
        }
        while self.entries.len() > self.most {
            let Some((arrival, oldest)) = self.order.pop_front() else { return };
            match self.entries.get(&oldest) {
                Some(entry) if entry.arrival == arrival && entry.apart.is_some() => {
                    self.order.push_back((arrival, oldest));
                }
                Some(entry) if entry.arrival == arrival => {
                    self.entries.remove(&oldest);
                    self.dropped += 1;
                }
                _ => {}
            }
        }
    }
}

fn same(a: &Record, b: &Record) -> bool {
    (&a.value, a.expires) == (&b.value, b.expires)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::Meta(n.to_string().into())
    }

    fn put(n: u32, expected: Option<u64>, value: &str) -> Change {
        Change::Put { key: key(n), expected, value: Bytes::from(value.to_owned()), expires: None }
    }

    fn server(version: u64, value: &str) -> Record {
        Record { version, value: Bytes::from(value.to_owned()), expires: None }
    }

    #[test]
    fn late_news_never_replace_newer_ones() {
        let mut local = Local::new(10);
        local.learn(&key(1), Some(&server(8, "new")), 8);
        local.learn(&key(1), Some(&server(6, "old")), 6);
        local.learn(&key(1), None, 6);
        assert_eq!(local.get(&key(1), UnixMs(0)), Some(server(8, "new")));
        local.learn(&key(1), None, 10);
        assert_eq!(local.get(&key(1), UnixMs(0)), None);
    }

    #[test]
    fn commits_apart_get_odd_growing_versions_and_stay_until_settled() {
        let mut local = Local::new(10);
        local.learn(&key(1), Some(&server(8, "a")), 20);
        let Ok(Commit::Done(first)) = local.commit(&[put(1, Some(8), "b")], None, UnixMs(0)) else {
            panic!()
        };
        assert_eq!(first, 23);
        let conflict = local.commit(&[put(1, Some(8), "c")], None, UnixMs(0));
        assert!(matches!(conflict, Ok(Commit::Conflict(_))));
        local.learn(&key(1), Some(&server(30, "other")), 30);
        let told = local.pending(9).remove(0);
        assert_eq!(told.base, Base::Known(Some(server(8, "a"))));
        assert_eq!(told.record.clone().unwrap().value, Bytes::from("b"));
        assert_eq!(local.common(&key(1), UnixMs(0)), Some(server(8, "a")));

        let Ok(Commit::Done(second)) = local.commit(&[put(1, Some(23), "c")], None, UnixMs(0)) else {
            panic!()
        };
        local.settle(&told, Some(&server(32, "b")));
        let again = local.pending(9).remove(0);
        assert_eq!((again.base.clone(), again.version()), (Base::Known(Some(server(32, "b"))), second));
        // Had it become something else there, it would still be what was told that this started from.
        let mut other = Local::new(10);
        other.commit(&[put(1, None, "b")], None, UnixMs(0)).unwrap();
        let told = other.pending(9).remove(0);
        other.commit(&[put(1, Some(told.version()), "c")], None, UnixMs(0)).unwrap();
        other.settle(&told, Some(&server(32, "b and theirs")));
        assert_eq!(other.pending(9).remove(0).base, Base::Known(told.record));
        local.settle(&again, Some(&server(34, "c")));
        assert_eq!((local.unsettled(), local.get(&key(1), UnixMs(0))), (0, Some(server(34, "c"))));
    }

    #[test]
    fn full_means_dropping_what_the_server_knows_and_refusing_what_it_does_not() {
        let mut local = Local::new(3);
        for n in 0..100 {
            local.learn(&key(n), Some(&server(2 * u64::from(n) + 2, "v")), 2 * u64::from(n) + 2);
        }
        assert_eq!((local.len(), local.dropped), (3, 97));
        assert!(local.order.len() <= 22);
        for n in 200..203 {
            assert!(matches!(local.commit(&[put(n, None, "v")], None, UnixMs(0)), Ok(Commit::Done(_))));
        }
        assert_eq!(local.commit(&[put(203, None, "v")], None, UnixMs(0)), Err(StoreError::Full(3, "any")));
        assert_eq!((local.len(), local.unsettled()), (3, 3));
    }

    #[test]
    fn records_that_come_and_go_leave_nothing_behind() {
        let mut local = Local::new(3);
        for n in 0..1_000 {
            local.learn(&key(n % 2), Some(&server(4 * u64::from(n) + 2, "v")), 4 * u64::from(n) + 2);
            local.learn(&key(n % 2), None, 4 * u64::from(n) + 4);
        }
        local.learn(&key(1), Some(&server(9_000, "v")), 9_000);
        assert!(local.order.len() <= 22, "{}", local.order.len());
        assert_eq!(local.get(&key(1), UnixMs(0)), Some(server(9_000, "v")));
    }

    #[test]
    fn a_server_without_memory_hears_everything_but_who_holds_a_lease() {
        let mut local = Local::new(10);
        local.learn(&Key::LeaseOwner([1; 32]), Some(&server(2, "owner")), 2);
        local.learn(&Key::LeaseFence, Some(&server(4, "fence")), 4);
        local.learn(&key(1), Some(&server(6, "a")), 6);
        assert_eq!(local.server_forgot(UnixMs(0)), 1);
        let keys: Vec<Key> = local.pending(9).into_iter().map(|told| told.key).collect();
        assert_eq!(keys, [Key::LeaseFence, key(1)]);
        assert_eq!(local.unsettled(), 2);
    }
}
