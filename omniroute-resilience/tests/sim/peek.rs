//! Reads records by itself, so that invariants judge what is in the store and not what the library says about it.

use omniroute_core::{Key, LockScope};

use crate::sim::facts::{AccountSeen, BreakerSeen, LockSeen, Who};

/// Reads the variable-length integers of a record.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn u(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn i(&mut self) -> Option<i64> {
        let raw = self.u()?;
        Some((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }
}

fn fields(bytes: &[u8]) -> Option<Input<'_>> {
    let (&format, rest) = bytes.split_first()?;
    (format == 1).then_some(Input(rest))
}

/// Reads a breaker.
pub(crate) fn breaker(bytes: &[u8]) -> Option<BreakerSeen> {
    let mut input = fields(bytes)?;
    let (state, forced, generation) = (input.u()?, input.u()?, input.u()?);
    let (_opened_at, open_until) = (input.i()?, input.i()?);
    let (cycle, _cycle_at, inconclusive) = (input.u()?, input.i()?, input.u()?);
    let (_uncorroborated, _recovered_at) = (input.u()?, input.i()?);
    let probe = match input.u()? {
        0 => None,
        _ => Some((input.u()?, input.u()?, input.i()?)),
    };
    Some(BreakerSeen { state, forced, generation, open_until, cycle, inconclusive, probe })
}

/// Reads a connection.
pub(crate) fn account(bytes: &[u8]) -> Option<AccountSeen> {
    let mut input = fields(bytes)?;
    let (epoch, until, declared, level) = (input.u()?, input.i()?, input.u()? != 0, input.u()?);
    let (_touched, _last_rest, _reason) = (input.i()?, input.i()?, input.u()?);
    let terminal = input.u()?;
    if terminal != 0 {
        input.i()?;
    }
    let credential = input.u()?;
    Some(AccountSeen { epoch, until, declared, level, terminal, credential })
}

/// Reads a model lock.
pub(crate) fn lock(bytes: &[u8]) -> Option<LockSeen> {
    let mut input = fields(bytes)?;
    let (epoch, until, declared) = (input.u()?, input.i()?, input.u()? != 0);
    let (_reason, count) = (input.u()?, input.u()?);
    Some(LockSeen { epoch, until, declared, count })
}

/// Reads when the slots of a key end.
pub(crate) fn slots(bytes: &[u8]) -> Option<Vec<i64>> {
    let mut input = fields(bytes)?;
    let count = input.u()?;
    (0..count)
        .map(|_| {
            let (_process, _number) = (input.u()?, input.u()?);
            input.i()
        })
        .collect()
}

/// The number in a name such as `v7`.
pub(crate) fn number(name: &str) -> usize {
    name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(usize::MAX)
}

/// Whom a key of one of the three layers is about.
pub(crate) fn who(key: &Key) -> Option<Who> {
    Some(match key {
        Key::Breaker { provider, .. } => Who::Breaker(number(provider.as_str())),
        Key::Connection(_, connection) => Who::Account(number(connection.as_str())),
        Key::Lockout { provider, connection, scope } => {
            let model = match scope {
                LockScope::Model(model) => number(model.as_str()),
                LockScope::Quota(name) => 1_000 + number(name),
                _ => return None,
            };
            let connection = connection.as_ref().map(|connection| number(connection.as_str()));
            Who::Lock(number(provider.as_str()), connection, model)
        }
        _ => return None,
    })
}
