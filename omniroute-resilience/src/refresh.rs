//! A credential is refreshed by one at a time, in all processes. The call itself is the provider's business.

use std::sync::Arc;

use omniroute_core::{ConnectionId, Key, PermitId, ProviderId, StoreError, UnixMs};

use crate::Resilience;
use crate::codec::{Reader, Value, Writer};
use crate::layers::connection::{Connection, Hit, Terminal};
use crate::shell::apply::conn_expires;
use crate::shell::txn::transact;

/// Who may refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refresh {
    /// You: read the stored credential again, then call, then [`Resilience::refresh_finish`].
    Lead(RefreshLock),
    /// Somebody else does; look again when the version has changed, at the latest then.
    Follow(UnixMs),
    /// The stored credential is newer than yours already.
    AlreadyNewer(u64),
    /// Too many refreshes failed in a row; not before then.
    Paused(UnixMs),
}

/// The right to refresh one credential, until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshLock {
    provider: ProviderId,
    connection: ConnectionId,
    name: Arc<str>,
    id: PermitId,
    from_version: u64,
    /// Until when it holds, on the store's clock.
    pub expires_at: UnixMs,
}

/// How a refresh ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshEnd {
    /// There is a new credential; its version follows the old one.
    Renewed,
    /// It did not work this time.
    Failed,
    /// The provider says that it never will, and the stored credential is still the refused one.
    Dead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Lock {
    process: u64,
    number: u64,
    until: i64,
}

impl Value for Lock {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(self.process).u(self.number).i(self.until);
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let lock = Lock { process: input.u()?, number: input.u()?, until: input.i()? };
        Some((lock, input.rest()))
    }
}

impl Resilience {
    /// Asks to refresh a credential of `version`. Connections of one `group` (accounts whose vendor revokes all
    /// of a family at once) refresh one after the other.
    ///
    /// # Errors
    /// [`StoreError`]: nobody may refresh through this call.
    pub async fn refresh_begin(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
        version: u64,
        group: Option<&str>,
    ) -> Result<Refresh, StoreError> {
        let name: Arc<str> = match group {
            Some(group) => Arc::from(format!("g:{group}")),
            None => Arc::from(format!("c:{provider}:{connection}")),
        };
        let keys =
            vec![Key::Connection(provider.clone(), connection.clone()), Key::Refresh(Arc::clone(&name))];
        let id = self.core.next_permit();
        self.core.unused();
        let lease = self.core.config.refresh.lock.signed();
        let result = transact(&*self.core.store, keys, |draft| {
            let now = draft.now;
            let (conn, _) = draft.load::<Connection>(0);
            if conn.credential > version {
                return Refresh::AlreadyNewer(conn.credential);
            }
            if conn.refresh_after > now {
                return Refresh::Paused(UnixMs(conn.refresh_after));
            }
            let (lock, held) = draft.load::<Lock>(1);
            let until = now.saturating_add(lease);
            if held && lock.until > now {
                if lock.until > until {
                    // It was taken before the clock went back, and must not hold for longer than one taken now.
                    draft.put(1, &Lock { until, ..lock }, Some(until));
                }
                return Refresh::Follow(UnixMs(until.min(lock.until)));
            }
            draft.check(0);
            draft.put(1, &Lock { process: id.process, number: id.number, until }, Some(until));
            Refresh::Lead(RefreshLock {
                provider: provider.clone(),
                connection: connection.clone(),
                name: Arc::clone(&name),
                id,
                from_version: version,
                expires_at: UnixMs(until),
            })
        })
        .await;
        self.core.heard(&result);
        result
    }

    /// Ends a refresh. Returns the version that is stored now. A lock that ran out meanwhile renews nothing that
    /// another one has renewed already.
    ///
    /// # Errors
    /// [`StoreError`]: it is not written down; the lock runs out by itself.
    pub async fn refresh_finish(&self, held: &RefreshLock, end: RefreshEnd) -> Result<u64, StoreError> {
        let keys = vec![
            Key::Connection(held.provider.clone(), held.connection.clone()),
            Key::Refresh(Arc::clone(&held.name)),
        ];
        let config = &self.core.config;
        let class = {
            let table = self.core.table();
            let conn = table.connection(&held.provider, &held.connection);
            conn.and_then(|index| table.conns.get(index as usize))
                .map(|conn| conn.profile.class)
                .unwrap_or_default()
        };
        let rules =
            crate::layers::connection::Rules::new(config.classes.of(class), &config.cooldown, false, false);
        let result = transact(&*self.core.store, keys, |draft| {
            let now = draft.now;
            let (lock, exists) = draft.load::<Lock>(1);
            if exists && (lock.process, lock.number) == (held.id.process, held.id.number) {
                draft.delete(1);
            }
            let (mut conn, _) = draft.load::<Connection>(0);
            if conn.credential > held.from_version {
                return (now, conn);
            }
            match end {
                RefreshEnd::Renewed => conn.credential_changed(held.from_version + 1, now),
                RefreshEnd::Failed => {
                    conn.refresh_failures += 1;
                    if conn.refresh_failures >= config.refresh.failures {
                        conn.refresh_failures = 0;
                        conn.refresh_after = now.saturating_add(config.refresh.pause.signed());
                    }
                }
                RefreshEnd::Dead => {
                    let credential = conn.credential;
                    conn.fail(Hit::End(Terminal::Expired), true, credential, now, &rules, &self.core.rng);
                }
            }
            draft.durable = true;
            let expires =
                conn_expires(&conn, now).filter(|_| conn.refresh_after <= now && conn.refresh_failures == 0);
            draft.put(0, &conn, expires);
            (now, conn)
        })
        .await;
        self.core.heard(&result);
        let (store_now, conn) = result?;
        self.show_connection(&held.provider, &held.connection, &conn, store_now);
        self.core.waiting.changed();
        Ok(conn.credential)
    }
}
