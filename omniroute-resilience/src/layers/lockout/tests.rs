//! Lengths, halving, freshness of locks, and a second, plain lock that must always agree.

use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::rng::Rng;

const BASE: i64 = 120_000;
const MAX: i64 = 1_800_000;
const STANDARD: Wait = Wait::Computed { base: BASE, max: MAX };

fn rules() -> Rules {
    Rules::new(&Config::default().lockout, 30_000, 31 * 86_400_000, (900_000, 3_600_000))
}

#[test]
fn lengths_double_up_to_the_longest() {
    let (rules, rng) = (rules(), Rng::new(1));
    let mut lock = Lock::default();
    let mut now = 1_000_000;
    for seconds in [120, 240, 480, 960, 1_800, 1_800] {
        assert!(lock.fail(STANDARD, Reason::NotFound, true, now, &rules, &rng));
        let ms = lock.until - now;
        assert!((seconds * 1_000..=seconds * 1_100).contains(&ms), "{seconds}: {ms}");
        now = lock.until + 1;
    }
    now += rules.window + lock.last_ms + 1;
    lock.fail(STANDARD, Reason::NotFound, true, now, &rules, &rng);
    assert_eq!(lock.count, 1, "long ago does not count");
}

#[test]
fn success_halves_and_at_last_nothing_is_left() {
    let mut lock = Lock { count: 5, until: 9, ..Lock::default() };
    for count in [2, 1, 0] {
        assert!(lock.succeed(true, 100));
        assert_eq!((lock.count, lock.until), (count, 0));
    }
    assert!(lock.clean());
    assert!(!lock.succeed(true, 100));
}

#[test]
fn no_capacity_never_grows() {
    let (rules, rng) = (rules(), Rng::new(1));
    let mut lock = Lock::default();
    for n in 0..20 {
        let now = 1_000_000 + n * 10_001;
        lock.fail(Wait::Fixed(10_000), Reason::Capacity, true, now, &rules, &rng);
        assert_eq!((lock.until - now, lock.count), (10_000, 0));
    }
}

#[test]
fn three_empty_answers_in_a_row_lock_and_a_success_between_saves() {
    let (rules, rng) = (rules(), Rng::new(1));
    let wait = Wait::InRow { of: 3, base: BASE, max: MAX };
    let mut lock = Lock::default();
    let fail = |lock: &mut Lock, now| lock.fail(wait, Reason::EmptyContent, true, now, &rules, &rng);
    fail(&mut lock, 1_000);
    fail(&mut lock, 2_000);
    lock.succeed(true, 3_000);
    fail(&mut lock, 4_000);
    fail(&mut lock, 5_000);
    assert_eq!(lock.until, 0);
    fail(&mut lock, 6_000);
    assert!(lock.until > 100_000);
}

/// A plain lock: dates as the longest of everything that was said.
fn agree(events: &[(u8, i64, bool)], halving: bool, shortened: bool) -> Result<(), String> {
    let (rules, rng) = (rules(), Rng::new(2));
    let mut lock = Lock::default();
    let (mut count, mut until, mut last): (u32, i64, Option<(i64, i64)>) = (0, 0, None);
    let mut now = 1_000_000;
    for (i, (kind, ms, fresh)) in events.iter().enumerate() {
        now += ms / 7;
        match kind {
            0 => {
                lock.fail(STANDARD, Reason::NotFound, *fresh, now, &rules, &rng);
                if *fresh {
                    let on = last.is_some_and(|(at, length)| now - at <= rules.window + length);
                    count = if count > 0 && on { count + 1 } else { 1 };
                    let length = (BASE << (count.min(11) - 1)).min(MAX);
                    let real = lock.last_ms;
                    if !(length..=length + length / 10).contains(&real) {
                        return Err(format!("{i}: {real} is not {length}"));
                    }
                    last = Some((now, real));
                    until = until.max(now + real);
                }
            }
            1 => {
                lock.fail(Wait::Declared(*ms), Reason::QuotaExhausted, *fresh, now, &rules, &rng);
                let wait = (*ms).max(1_000);
                until = if shortened { now + wait } else { until.max(now + wait) };
                if lock.until >= until && lock.until <= until + 2_000 {
                    until = lock.until;
                }
            }
            _ => {
                lock.succeed(*fresh, now);
                if *fresh && (count > 0 || until > 0) {
                    count = if halving { count / 2 } else { count };
                    until = 0;
                }
            }
        }
        if lock.until != until || lock.count != count {
            return Err(format!("{i}: {}/{} is not {until}/{count}", lock.until, lock.count));
        }
    }
    Ok(())
}

fn events() -> impl Strategy<Value = Vec<(u8, i64, bool)>> {
    proptest::collection::vec((0_u8..3, 0_i64..2_000_000, any::<bool>()), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn it_agrees_with_the_model(events in events()) {
        prop_assert_eq!(agree(&events, true, false), Ok(()));
    }

    #[test]
    fn records_come_back(until in any::<i64>(), count in any::<u32>(), reason in 0_usize..7) {
        let lock = Lock { until, count, reason: REASONS[reason], epoch: 3, declared: true, ..Lock::default() };
        let bytes = lock.encode(&[7]);
        prop_assert_eq!(Lock::decode(&bytes), Some((lock, &[7][..])));
    }
}

#[test]
fn broken_twins_are_caught_by_the_model() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for (name, halving, shortened) in [("missing halving", false, false), ("shortened until", true, true)] {
        let caught = (0..200)
            .any(|_| agree(&events().new_tree(&mut runner).unwrap().current(), halving, shortened).is_err());
        assert!(caught, "{name}");
    }
}
