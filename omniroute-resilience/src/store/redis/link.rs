//! A few connections to the server, each used by one exchange at a time, every wait bounded.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniroute_core::StoreError;
use redis::{Connection, ErrorKind, RedisError, ServerErrorKind};

use super::health::Fault;

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) connect: Duration,
    pub(super) command: Duration,
    pub(super) queue: Duration,
}

impl Limits {
    /// All parts after another.
    pub(super) fn whole(self) -> Duration {
        self.connect + self.command + self.queue
    }
}

/// The way to one server.
#[derive(Debug)]
pub(super) struct Link {
    client: redis::Client,
    limits: Limits,
    most: usize,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    used: usize,
    /// Grows when connections that were opened before are not to be trusted.
    generation: u64,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool {{ idle: {}, used: {} }}", self.idle.len(), self.used)
    }
}

/// A call that failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// What the store's breaker counts; nothing if the server is fine.
    pub(super) fault: Option<Fault>,
    /// What the caller is told.
    pub(super) error: StoreError,
    /// Nobody should wait for this to mend itself.
    pub(super) setup: bool,
}

impl Link {
    pub(super) fn new(client: redis::Client, limits: Limits, most: usize) -> Link {
        Link { client, limits, most, pool: Mutex::default(), freed: Condvar::new() }
    }

    /// Runs one exchange. If an idle connection turns out to be dead, a call that may be `repeated` tries again
    /// on a new one. `hasty`: a new connection gets no more time than a command.
    pub(super) fn call<T>(
        &self,
        repeated: bool,
        hasty: bool,
        run: impl Fn(&mut Connection) -> Result<T, RedisError>,
    ) -> Result<T, Failed> {
        let (mut idle, generation) = self.enter()?;
        let was_idle = idle.is_some();
        let mut result = self.exchange(&mut idle, hasty, &run);
        if let Err(error) = &result
            && broken(error)
        {
            idle = None;
            self.distrust(generation);
            if was_idle && repeated && !error.is_timeout() {
                result = self.exchange(&mut idle, hasty, &run);
                if result.is_err() {
                    idle = None;
                }
            }
        }
        self.leave(idle, generation);
        result.map_err(|error| told(&error, self.limits))
    }

    /// Drops all idle connections.
    pub(super) fn close(&self) {
        self.lock().idle.clear();
    }

    fn exchange<T>(
        &self,
        connection: &mut Option<Connection>,
        hasty: bool,
        run: &impl Fn(&mut Connection) -> Result<T, RedisError>,
    ) -> Result<T, RedisError> {
        if connection.is_none() {
            let Limits { connect, command, .. } = self.limits;
            let limit = if hasty { connect.min(command) } else { connect };
            let new = self.client.get_connection_with_timeout(limit)?;
            new.set_read_timeout(Some(command))?;
            new.set_write_timeout(Some(command))?;
            *connection = Some(new);
        }
        match connection {
            Some(connection) => run(connection),
            None => Err(RedisError::from((ErrorKind::Client, "no connection"))),
        }
    }

    /// Waits for a place. Gives an idle connection if there is one.
    fn enter(&self) -> Result<(Option<Connection>, u64), Failed> {
        let full = |pool: &mut Pool| pool.used >= self.most;
        let waited = self.freed.wait_timeout_while(self.lock(), self.limits.queue, full);
        let (mut pool, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && pool.used >= self.most {
            return Err(Failed { fault: Some(Fault::Slow), error: timeout(self.limits.queue), setup: false });
        }
        pool.used += 1;
        Ok((pool.idle.pop(), pool.generation))
    }

    fn leave(&self, connection: Option<Connection>, generation: u64) {
        let mut pool = self.lock();
        pool.used -= 1;
        if let Some(connection) = connection
            && pool.generation == generation
        {
            pool.idle.push(connection);
        }
        drop(pool);
        self.freed.notify_one();
    }

    fn distrust(&self, generation: u64) {
        let mut pool = self.lock();
        if pool.generation == generation {
            pool.generation += 1;
            pool.idle.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the connection cannot be used again, or leads to a server that is no longer the right one.
fn broken(error: &RedisError) -> bool {
    use ServerErrorKind::{MasterDown, ReadOnly};
    error.is_timeout()
        || error.is_io_error()
        || matches!(error.kind(), ErrorKind::Parse | ErrorKind::Client | ErrorKind::Io)
        || matches!(error.kind(), ErrorKind::Server(ReadOnly | MasterDown))
}

/// Words for the caller: kinds and codes, never what was sent.
fn told(error: &RedisError, limits: Limits) -> Failed {
    let unavailable = |text: &str| StoreError::Unavailable(format!("redis: {text}"));
    if error.is_timeout() {
        return Failed { fault: Some(Fault::Slow), error: timeout(limits.command), setup: false };
    }
    let refused = |text: &str| Failed { fault: Some(Fault::Refused), error: unavailable(text), setup: false };
    let wrong = |text: &str| Failed { setup: true, ..refused(text) };
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::CrossSlot) => {
            let error = StoreError::Unsupported("records spread over a redis cluster");
            Failed { fault: None, error, setup: true }
        }
        ErrorKind::Server(ServerErrorKind::NoPerm) => {
            wrong("this user may not run eval, evalsha, scan or the commands inside")
        }
        ErrorKind::AuthenticationFailed => wrong("the server refuses this user or password"),
        // What it answers to a long command before it knows who asks.
        _ if error.detail().is_some_and(|text| text.contains("unauthenticated")) => {
            wrong("the server refuses this user or password")
        }
        ErrorKind::Io => refused(&error.to_string()),
        _ => match code(error).as_deref() {
            Some("NOAUTH" | "WRONGPASS") => wrong("the server refuses this user or password"),
            Some("ERR") => refused(&reason(error)),
            Some(code) => refused(code),
            None => refused(error.category()),
        },
    }
}

/// The server's code, also of a failure among several commands.
fn code(error: &RedisError) -> Option<String> {
    let errors = error.clone().into_server_errors()?;
    errors.first().map(|(_, error)| error.code().to_owned())
}

/// The server's words up to the part that repeats what it was sent.
fn reason(error: &RedisError) -> String {
    let text = error.detail().unwrap_or("an error without a reason");
    text.split(',').next().unwrap_or_default().chars().take(100).collect()
}

fn timeout(limit: Duration) -> StoreError {
    crate::store::blocking::timed_out(limit)
}
