//! A map that forgets what was written longest ago.

use std::collections::HashMap;
use std::hash::Hash;

/// At most so many entries; when full, the oldest tenth goes at once.
#[derive(Debug)]
pub(crate) struct Bounded<K, V> {
    most: usize,
    next: u64,
    map: HashMap<K, (u64, V)>,
}

impl<K: Hash + Eq + Clone, V> Bounded<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Bounded { most: most.max(1), next: 0, map: HashMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key).map(|(_, value)| value)
    }

    /// A value that counts as written anew; it is made if it is missing.
    pub(crate) fn fresh(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        if self.map.contains_key(key) {
            self.next += 1;
        } else {
            self.insert(key.clone(), make());
        }
        let (age, value) = self.map.get_mut(key).expect("put there if it was missing");
        *age = self.next;
        value
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.next += 1;
        if self.map.len() >= self.most && !self.map.contains_key(&key) {
            let mut ages: Vec<u64> = self.map.values().map(|(age, _)| *age).collect();
            let going = (self.most / 10).max(1).min(ages.len());
            let (_, last, _) = ages.select_nth_unstable(going - 1);
            let last = *last;
            self.map.retain(|_, (age, _)| *age > last);
        }
        self.map.insert(key, (self.next, value));
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.map.remove(key).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go() {
        let mut map = Bounded::new(10);
        for key in 0..10 {
            map.insert(key, key);
        }
        map.insert(0, 100);
        map.insert(10, 10);
        assert_eq!(map.map.len(), 10);
        assert_eq!((map.get(&0), map.get(&1), map.get(&10)), (Some(&100), None, Some(&10)));
        assert_eq!(map.remove(&2), Some(2));
        *map.get_mut(&3).unwrap() = 4;
        assert_eq!(map.get(&3), Some(&4));
    }
}
