//! Who comes next among consumers that wait for the same thing: deficit round robin by weight.

use std::collections::VecDeque;

/// One consumer's queue.
#[derive(Debug, Clone)]
struct Queue<T> {
    consumer: u64,
    weight: u32,
    deficit: u64,
    waiting: VecDeque<(u64, T)>,
    visited: bool,
}

/// Waiters of several consumers. Within one consumer the order is first in, first out.
#[derive(Debug, Clone)]
pub struct Drr<T> {
    quantum: u64,
    queues: VecDeque<Queue<T>>,
}

impl<T: PartialEq> Drr<T> {
    /// Nobody waits. A visit of a consumer of weight 1 adds `quantum` to what it may spend.
    pub fn new(quantum: u32) -> Self {
        Drr { quantum: u64::from(quantum).max(1), queues: VecDeque::new() }
    }

    /// Somebody starts to wait for something that will cost `cost`. Weight 0 counts as 1.
    pub fn push(&mut self, consumer: u64, weight: u32, cost: u64, waiter: T) {
        match self.queues.iter_mut().find(|queue| queue.consumer == consumer) {
            Some(queue) => {
                queue.weight = weight.max(1);
                queue.waiting.push_back((cost, waiter));
            }
            None => self.queues.push_back(Queue {
                consumer,
                weight: weight.max(1),
                deficit: 0,
                waiting: VecDeque::from([(cost, waiter)]),
                visited: false,
            }),
        }
    }

    /// Who would be served next. Looking twice gives the same.
    pub fn head(&mut self) -> Option<&T> {
        loop {
            let queue = self.queues.front_mut()?;
            let cost = match queue.waiting.front() {
                Some((cost, _)) => *cost,
                None => {
                    self.queues.pop_front();
                    continue;
                }
            };
            if !queue.visited {
                let quantum = self.quantum.saturating_mul(u64::from(queue.weight));
                // What is left over is below the cost of the head, so this never grows beyond head and quantum.
                queue.deficit = queue.deficit.saturating_add(quantum);
                queue.visited = true;
            }
            if queue.deficit >= cost {
                break;
            }
            queue.visited = false;
            self.queues.rotate_left(1);
        }
        self.queues.front().and_then(|queue| queue.waiting.front()).map(|(_, waiter)| waiter)
    }

    /// Serves the next one.
    pub fn pop(&mut self) -> Option<T> {
        self.head()?;
        let queue = self.queues.front_mut()?;
        let (cost, waiter) = queue.waiting.pop_front()?;
        queue.deficit = queue.deficit.saturating_sub(cost);
        if queue.waiting.is_empty() {
            self.queues.pop_front();
        }
        Some(waiter)
    }

    /// Somebody gave up. True if it waited.
    pub fn remove(&mut self, waiter: &T) -> bool {
        let mut found = false;
        for queue in &mut self.queues {
            let before = queue.waiting.len();
            queue.waiting.retain(|(_, other)| other != waiter);
            found |= before != queue.waiting.len();
        }
        self.queues.retain(|queue| !queue.waiting.is_empty());
        found
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.waiting.len()).sum()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_consumer_is_served_in_order_and_may_leave() {
        let mut drr = Drr::new(100);
        for n in 0..5 {
            drr.push(1, 1, 1_000, n);
        }
        assert!(drr.remove(&2));
        assert!(!drr.remove(&2));
        assert_eq!(drr.head(), Some(&0));
        let order: Vec<i32> = std::iter::from_fn(|| drr.pop()).collect();
        assert_eq!(order, [0, 1, 3, 4]);
        assert!(drr.is_empty());
    }

    /// The bound of the scheduler. `fair` false: serves whoever comes first, as a broken one would.
    fn bounded(weights: &[u32], costs: &[u64], fair: bool) -> Result<(), String> {
        let mut drr = Drr::new(8_192);
        let most = costs.iter().copied().max().unwrap_or(1);
        let mut next = 0;
        let mut cost = || {
            next += 1;
            costs[next % costs.len()]
        };
        let mut fifo = VecDeque::new();
        for (consumer, weight) in weights.iter().enumerate() {
            for _ in 0..400 {
                let cost = cost();
                drr.push(consumer as u64, *weight, cost, (consumer, cost));
                fifo.push_back((consumer, cost));
            }
        }
        let mut served = vec![0_u64; weights.len()];
        let mut left = vec![400; weights.len()];
        loop {
            let next = if fair { drr.pop() } else { fifo.pop_front() };
            let Some((consumer, cost)) = next else { return Ok(()) };
            served[consumer] += cost;
            left[consumer] -= 1;
            if left.contains(&0) {
                return Ok(());
            }
            for a in 0..weights.len() {
                for b in 0..a {
                    let share = |i: usize| served[i] as f64 / f64::from(weights[i].max(1));
                    let per = |i: usize| 1.0 / f64::from(weights[i].max(1));
                    let bound = (most as f64) * (per(a) + per(b)) + 2.0 * 8_192.0;
                    if (share(a) - share(b)).abs() > bound {
                        return Err(format!("{a} and {b}: {served:?} of {weights:?}"));
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn shares_follow_weights(weights in proptest::collection::vec(1_u32..10, 2..10), costs in proptest::collection::vec(1_u64..200_000, 5..40)) {
            prop_assert_eq!(bounded(&weights, &costs, true), Ok(()));
        }
    }

    #[test]
    fn a_queue_without_turns_is_caught() {
        assert!(bounded(&[1, 1], &[5_000, 9_000], false).is_err());
    }
}
