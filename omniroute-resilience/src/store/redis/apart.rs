//! Calls while there is no server: what this process remembers, and commits of its own.

use omniroute_core::{Change, Commit, Key, Record, StoreError, Unit, UnixMs};

use super::Shared;

impl Shared {
    pub(super) fn get_apart(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        self.may_be_apart()?;
        // Who holds a connection may be answered from memory: the answer ends with the lease. Whether a lease
        // still holds may not.
        if keys.iter().any(|key| is_lease(key) && !matches!(key, Key::LeaseConnection(..))) {
            return Err(unconfirmed());
        }
        let time = self.time_apart();
        let state = self.lock();
        Ok((keys.iter().map(|key| state.local.get(key, time)).collect(), time))
    }

    pub(super) fn commit_apart(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
    ) -> Result<(Commit, UnixMs), StoreError> {
        self.may_be_apart()?;
        let free = |change: &Change| {
            matches!(change, Change::Check { key: Key::LeaseConnection(..), expected: None })
        };
        if changes.iter().any(|change| is_lease(change.key()) && !free(change)) {
            return Err(unconfirmed());
        }
        let money = |key: &Key| matches!(key, Key::Quota { unit: Unit::Usd, .. });
        if self.config.money_fails_closed && changes.iter().any(|change| money(change.key())) {
            return Err(StoreError::Unavailable("money cannot be counted without the server".to_owned()));
        }
        let time = self.time_apart();
        let mut state = self.lock();
        if state.health.connected() {
            // It came back this very moment; what was read apart is no longer what counts.
            return Err(StoreError::Unavailable("the server has just come back".to_owned()));
        }
        Ok((state.local.commit(changes, not_after, time)?, time))
    }

    pub(super) fn scan_apart(&self, prefix: &str) -> Result<(Vec<(Key, Record)>, UnixMs), StoreError> {
        self.may_be_apart()?;
        let time = self.time_apart();
        Ok((self.lock().local.scan(prefix, time), time))
    }

    /// A record without what was changed here while apart.
    pub(super) fn common(&self, key: &Key) -> Option<Record> {
        let time = self.time_apart();
        let state = self.lock();
        if state.health.connected() { None } else { state.local.common(key, time) }
    }

    fn may_be_apart(&self) -> Result<(), StoreError> {
        if self.config.fallback {
            return Ok(());
        }
        let reason = self.lock().health.reason.clone().unwrap_or_default();
        Err(StoreError::Unavailable(format!("the server was given up: {reason}")))
    }

    /// The store's time, carried on by this process.
    fn time_apart(&self) -> UnixMs {
        let moment = self.clock.now();
        let told = self.seen.told();
        let time = self.seen.carried(moment.mono).unwrap_or(moment.wall);
        self.seen.tell(told.turns, time.0, moment.mono)
    }
}

fn is_lease(key: &Key) -> bool {
    matches!(
        key,
        Key::LeaseOwner(_)
            | Key::LeaseConnection(..)
            | Key::LeaseGeneration(_)
            | Key::LeaseFence
            | Key::LeaseEnded(..)
    )
}

fn unconfirmed() -> StoreError {
    StoreError::Unavailable("leases cannot be confirmed without the server".to_owned())
}
