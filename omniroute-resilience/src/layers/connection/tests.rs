//! Lengths, freshness, terminal states, slow start and decay of one connection; a plain model beside it.

use omniroute_core::QuotaWindow;
use proptest::prelude::*;

use super::*;
use crate::codec::Value;
use crate::config::{Class, Config};
use crate::rng::Rng;

fn rules(class: Class) -> Rules {
    let config = Config::default();
    Rules::new(config.classes.of(class), &config.cooldown, false, false)
}

const RATE: Hit = Hit::Rest(Wait::Computed, Reason::RateLimited);
const START: i64 = 1_000_000_000;

fn fail(connection: &mut Connection, hit: Hit, now: i64) -> bool {
    connection.fail(hit, true, 0, now, &rules(Class::ApiKey), &Rng::new(now.cast_unsigned()))
}

#[test]
fn lengths_of_every_level() {
    for (class, seconds) in [
        (Class::OAuth, &[5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_280][..]),
        (Class::ApiKey, &[3, 6, 12, 24, 48, 96, 96]),
        (Class::Local, &[2, 4, 8, 16, 16]),
    ] {
        let rules = rules(class);
        let rng = Rng::new(5);
        let mut connection = Connection::default();
        let mut now = START;
        for expected in seconds {
            connection.fail(RATE, true, 0, now, &rules, &rng);
            let ms = connection.until - now;
            assert!((expected * 1_000..=expected * 1_250).contains(&ms), "{class:?} {expected}: {ms}");
            now = connection.until;
        }
    }
}

#[test]
fn jitter_only_lengthens() {
    let (rules, rng) = (rules(Class::ApiKey), Rng::new(9));
    for _ in 0..100_000 {
        let mut connection = Connection::default();
        connection.fail(RATE, true, 0, START, &rules, &rng);
        assert!((3_000..=3_750).contains(&(connection.until - START)));
    }
}

#[test]
fn the_ceiling_holds_on_every_path() {
    let mut rules = rules(Class::OAuth);
    rules.max_level = 32;
    let rng = Rng::new(1);
    let mut connection = Connection { level: 32, ..Connection::default() };
    for hit in [RATE, Hit::Rest(Wait::Grow(60_000), Reason::Forbidden)] {
        connection.until = 0;
        connection.fail(hit, true, 0, START, &rules, &rng);
        assert!(connection.until - START <= rules.longest_computed());
    }
}

#[test]
fn a_herd_counts_once_and_a_longer_date_is_kept() {
    let (rules, rng) = (rules(Class::ApiKey), Rng::new(1));
    let mut connection = Connection::default();
    for n in 0..1_000 {
        let fresh = connection.epoch == 0;
        let hit = if n == 700 { Hit::Rest(Wait::Declared(600_000), Reason::RateLimited) } else { RATE };
        connection.fail(hit, fresh, 0, START + n, &rules, &rng);
        if n == 699 {
            assert_eq!(connection.level, 1);
            assert!((3_000..=3_750).contains(&(connection.until - START)));
        }
    }
    assert_eq!(connection.level, 1);
    assert!(connection.until >= START + 600_000);
    let before = connection.clone();
    assert!(!connection.succeed(false, START + 2_000, &rules), "an old success proves nothing");
    assert_eq!(connection, before);
}

#[test]
fn overload_does_not_raise_the_level() {
    let mut connection = Connection::default();
    for n in 0..10 {
        fail(&mut connection, Hit::Rest(Wait::Fixed(10_000), Reason::Overloaded), START + n * 10_000);
    }
    assert_eq!(connection.level, 0);
}

#[test]
fn the_level_decays_with_time_and_not_by_being_chosen() {
    let rules = rules(Class::ApiKey);
    let mut connection = Connection::default();
    let mut now = START;
    for _ in 0..4 {
        fail(&mut connection, RATE, now);
        now = connection.until;
    }
    connection.settle(now + 1, &rules);
    assert_eq!(connection.level, 4, "expiry alone changes nothing");
    let period = connection.last_rest * 4;
    connection.settle(now + period * 2, &rules);
    assert_eq!(connection.level, 2);
    connection.settle(now + period * 2 + 1, &rules);
    assert_eq!(connection.level, 2, "not twice for the same time");
    connection.settle(now + period * 50, &rules);
    assert_eq!(connection.level, 0);
}

#[test]
fn terminal_states_stay_until_somebody_acts() {
    let mut connection = Connection { credential: 4, ..Connection::default() };
    assert!(connection.fail(
        Hit::End(Terminal::Expired),
        true,
        4,
        START,
        &rules(Class::ApiKey),
        &Rng::new(1)
    ));
    fail(&mut connection, RATE, START + 1);
    assert!(!connection.succeed(true, START + 2, &rules(Class::ApiKey)));
    assert!(!fail(&mut connection, Hit::End(Terminal::Banned), START + 3));
    assert_eq!(connection.terminal, Some((Terminal::Expired, START)));
    connection.clear(false, START + 3);
    assert!(connection.terminal.is_some(), "clearing rests does not clear it");
    connection.credential_changed(5, START + 4);
    assert_eq!(connection.terminal, None);
    let old = connection.fail(
        Hit::End(Terminal::Expired),
        false,
        4,
        START + 5,
        &rules(Class::ApiKey),
        &Rng::new(1),
    );
    assert!(!old, "a late answer to the old credential does not end the new one");
}

#[test]
fn one_refusal_is_a_suspicion_two_apart_are_proof() {
    let suspect = Hit::Suspect(Terminal::Expired, Wait::Computed, Reason::AuthRetry);
    let mut connection = Connection::default();
    fail(&mut connection, suspect, START);
    fail(&mut connection, suspect, START + 29_999);
    assert_eq!(connection.terminal, None, "too close together");
    connection.succeed(true, START + 29_999, &rules(Class::ApiKey));
    fail(&mut connection, suspect, START + 60_000);
    assert_eq!(connection.terminal, None, "a success lies between");
    fail(&mut connection, suspect, START + 90_000);
    assert_eq!(connection.terminal, Some((Terminal::Expired, START + 90_000)));
}

#[test]
fn long_declared_rests_are_verified() {
    let rules = rules(Class::ApiKey);
    let quota = Config::default().quota;
    let mut connection = Connection::default();
    let week = 7 * 86_400_000;
    fail(&mut connection, Hit::Rest(Wait::Declared(week), Reason::QuotaExhausted), START);
    assert_eq!(connection.verify_at, START + 900_000);
    let until = connection.until;
    let now = connection.verify_at;
    connection.verification_failed(None, now, &rules, &Rng::new(1));
    assert_eq!((connection.until, connection.verify_at), (until, now + 3_600_000));
    // A sight with room clears it, but only one that is fresh, whole, and of this very rest.
    let seen = Seen {
        window: QuotaWindow::Week,
        used_ppm: 10_000,
        resets_at: Some(now + week),
        at: now,
        polled: true,
    };
    let mut other = connection.clone();
    other.note(Seen { resets_at: None, ..seen });
    assert!(!other.headroom_clears(other.epoch, now, &quota));
    let mut other = connection.clone();
    other.note(seen);
    assert!(!other.headroom_clears(other.epoch - 1, now, &quota));
    assert!(!other.headroom_clears(other.epoch, now + 30_001, &quota));
    assert!(other.headroom_clears(other.epoch, now, &quota));
    assert_eq!(other.until, 0);
    // So does a verification that works.
    assert!(connection.succeed(true, now, &rules));
    assert_eq!((connection.until, connection.verify_at), (0, 0));
}

#[test]
fn after_a_long_rest_it_comes_back_slowly() {
    let rules = rules(Class::ApiKey);
    let mut connection = Connection::default();
    fail(&mut connection, Hit::Rest(Wait::Declared(30_000), Reason::RateLimited), START);
    let mut allowed = vec![connection.reentry];
    let mut now = connection.until;
    while connection.reentry.is_some() {
        now += 1_000;
        assert!(connection.succeed(true, now, &rules));
        allowed.push(connection.reentry);
    }
    assert_eq!(allowed, [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
    fail(&mut connection, RATE, now);
    assert_eq!(connection.reentry, None, "short rests need no slow start");
}

#[test]
fn full_windows_block_and_recover() {
    let quota = Config::default().quota;
    let mut connection = Connection::default();
    let full = Seen {
        window: QuotaWindow::FiveHours,
        used_ppm: 1_000_000,
        resets_at: None,
        at: START,
        polled: false,
    };
    connection.note(full);
    assert_eq!(connection.exhausted_until(START, &quota), Some(START + 1_800_000));
    assert_eq!(connection.exhausted_until(START + 1_800_000, &quota), None, "not for ever");
    connection.note(Seen { resets_at: Some(START + 9_000_000), ..full });
    assert_eq!(connection.exhausted_until(START + 8_999_999, &quota), Some(START + 9_000_000));
    assert_eq!(connection.exhausted_until(START + 9_000_000, &quota), None);
    assert!(!connection.note(Seen { at: START - 1, used_ppm: 0, ..full }), "older sights lose");
    connection.note(Seen { at: START + 1, used_ppm: 999_999, ..full });
    assert_eq!(connection.exhausted_until(START + 1, &quota), None);
}

#[test]
fn no_cooldown_keeps_terminal_states_and_long_declared_dates() {
    let mut rules = rules(Class::ApiKey);
    rules.no_cooldown = true;
    let rng = Rng::new(1);
    let mut connection = Connection::default();
    assert!(!connection.fail(RATE, true, 0, START, &rules, &rng));
    let declared = |ms| Hit::Rest(Wait::Declared(ms), Reason::RateLimited);
    assert!(!connection.fail(declared(60_000), true, 0, START, &rules, &rng));
    assert!(connection.fail(declared(60_001), true, 0, START, &rules, &rng));
    assert!(connection.fail(Hit::End(Terminal::Banned), true, 0, START, &rules, &rng));
}

/// Runs a connection beside the plainest possible account of what was said.
fn agree(events: &[(u8, i64, bool)], shortened: bool, ignored_epoch: bool) -> Result<(), String> {
    let rules = rules(Class::ApiKey);
    let rng = Rng::new(4);
    let mut connection = Connection::default();
    let (mut until, mut level) = (0_i64, 0_u32);
    let mut now = START;
    for (i, (kind, ms, fresh)) in events.iter().enumerate() {
        now += ms / 400;
        connection.settle(now, &rules);
        level = level.min(connection.level);
        let model_fresh = *fresh || ignored_epoch;
        match kind {
            0 => {
                connection.fail(RATE, *fresh, 0, now, &rules, &rng);
                if model_fresh {
                    let rest = (3_000_i64 << level).min(96_000);
                    level = (level + 1).min(5);
                    let real = connection.last_rest;
                    if !(rest..=rest + rest / 4).contains(&real) {
                        return Err(format!("{i}: rests {real}, not {rest}"));
                    }
                    until = until.max(now + real);
                }
            }
            1 => {
                connection.fail(
                    Hit::Rest(Wait::Declared(*ms), Reason::RateLimited),
                    *fresh,
                    0,
                    now,
                    &rules,
                    &rng,
                );
                let wait = (*ms).max(1_000);
                until = if shortened { now + wait } else { until.max(now + wait) };
                if connection.until >= until && connection.until <= until + 2_000 {
                    until = connection.until;
                }
            }
            _ => {
                connection.succeed(*fresh, now, &rules);
                if model_fresh {
                    until = 0;
                    level /= 2;
                }
            }
        }
        if connection.until != until || connection.level != level {
            return Err(format!("{i}: {}/{} is not {until}/{level}", connection.until, connection.level));
        }
        if connection.until > now + rules.longest_computed() && !connection.declared {
            return Err(format!("{i}: a computed rest beyond the ceiling"));
        }
        if Connection::decode(&connection.encode(&[])) != Some((connection.clone(), &[][..])) {
            return Err(format!("{i}: does not survive storing"));
        }
    }
    Ok(())
}

fn events() -> impl Strategy<Value = Vec<(u8, i64, bool)>> {
    proptest::collection::vec((0_u8..3, 0_i64..4_000_000, any::<bool>()), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn it_agrees_with_the_model(events in events()) {
        prop_assert_eq!(agree(&events, false, false), Ok(()));
    }
}

#[test]
fn broken_twins_are_caught_by_the_model() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for (name, shortened, ignored) in [("shortened until", true, false), ("ignored epoch", false, true)] {
        let caught = (0..200)
            .any(|_| agree(&events().new_tree(&mut runner).unwrap().current(), shortened, ignored).is_err());
        assert!(caught, "{name}");
    }
}

#[test]
fn dates_are_whole_numbers_in_the_record() {
    let connection = Connection {
        until: START,
        terminal: Some((Terminal::CreditsExhausted, START)),
        suspect: Some((Terminal::Expired, 2, 5, 6)),
        reentry: Some(0),
        error: Some((429, 9)),
        seen: vec![Seen { window: QuotaWindow::Day, used_ppm: 5, resets_at: Some(-1), at: 2, polled: true }],
        ..Connection::default()
    };
    assert_eq!(Connection::decode(&connection.encode(b"x")), Some((connection, b"x".as_slice())));
    assert_eq!(Connection::decode(b"2026-01-01T00:00:00Z"), None);
}
