//! Telling the server what was written apart: each change exactly once, whatever answers are lost on the way.

use bytes::Bytes;
use omniroute_core::{Change, Commit, Key, Record, StoreError, UnixMs};

use super::local::{Base, Unsettled};
use crate::join::{Join, Joined};

/// How long the server remembers which of our messages it has taken in, ms.
const REMEMBERED: i64 = 86_400_000;

/// The server as far as joining needs it.
pub(super) trait Server {
    fn get(&mut self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError>;
    fn commit(&mut self, changes: &[Change]) -> Result<Commit, StoreError>;
}

/// Numbers what the server is told. The number of the last message it took in is a record of its own, written
/// together with what the message says.
#[derive(Debug)]
pub(super) struct Mark {
    key: Key,
    last: u64,
    /// A message that may or may not have been taken in.
    open: Option<(u64, Vec<Unsettled>)>,
}

/// What came of telling.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Records that the server has heard of, with what it holds now. The rest must be told again.
    pub(super) settled: Vec<(Unsettled, Option<Record>)>,
    /// Of those, how many gave way to what others had written.
    pub(super) overruled: u64,
}

impl Mark {
    pub(super) fn new(process: u64) -> Mark {
        Mark { key: Key::Meta(format!("told-{process:016x}").into()), last: 0, open: None }
    }

    /// The next message's number, as a change.
    fn next(&mut self, before: Option<&Record>, time: UnixMs) -> Change {
        self.last += 1;
        Change::Put {
            key: self.key.clone(),
            expected: before.map(|record| record.version),
            value: Bytes::from(self.last.to_string()),
            expires: Some(UnixMs(time.0.saturating_add(REMEMBERED))),
        }
    }
}

/// Tells the server some records.
pub(super) fn tell(
    server: &mut impl Server,
    mark: &mut Mark,
    pending: &[Unsettled],
    join: &dyn Join,
) -> Result<Told, StoreError> {
    let mut keys: Vec<Key> = pending.iter().map(|told| told.key.clone()).collect();
    keys.push(mark.key.clone());
    let (mut theirs, time) = server.get(&keys)?;
    let mut marked = theirs.pop().flatten();
    if let Some((number, told)) = &mark.open {
        let number = *number;
        let taken = marked.as_ref().and_then(|record| std::str::from_utf8(&record.value).ok()?.parse().ok());
        if taken == Some(number) {
            let keys: Vec<Key> = told.iter().map(|told| told.key.clone()).collect();
            let (theirs, _) = server.get(&keys)?;
            let told = mark.open.take().map(|(_, told)| told).unwrap_or_default();
            return Ok(Told { settled: told.into_iter().zip(theirs).collect(), overruled: 0 });
        }
        if taken.is_none_or(|taken: u64| taken < number) {
            // It may still be on its way. A newer mark keeps it out for good.
            let claim = mark.next(marked.as_ref(), time);
            match server.commit(std::slice::from_ref(&claim))? {
                Commit::Done(version) => marked = after(&claim, version),
                Commit::Conflict(_) | Commit::TooLate => return Ok(Told::default()),
            }
        }
        mark.open = None;
    }
    let mut out = Told::default();
    let mut changes = Vec::new();
    for (told, theirs) in pending.iter().zip(theirs) {
        let step = step(told, theirs.as_ref(), join);
        out.overruled += u64::from(step.gave_way);
        match step.change {
            Some(change) => changes.push((told, change)),
            None => out.settled.push((told.clone(), theirs)),
        }
    }
    while !changes.is_empty() {
        let mut message: Vec<Change> = changes.iter().map(|(_, change)| change.clone()).collect();
        message.push(mark.next(marked.as_ref(), time));
        mark.open = Some((mark.last, changes.iter().map(|(told, _)| (*told).clone()).collect()));
        let commit = server.commit(&message)?;
        mark.open = None;
        match commit {
            Commit::Done(version) => {
                let done = changes.drain(..);
                out.settled.extend(done.map(|(told, change)| (told.clone(), after(&change, version))));
            }
            Commit::Conflict(conflicts) if conflicts.iter().all(|(key, _)| *key != mark.key) => {
                let before = changes.len();
                changes.retain(|(told, _)| !conflicts.iter().any(|(key, _)| *key == told.key));
                if changes.len() == before {
                    break;
                }
            }
            Commit::Conflict(_) | Commit::TooLate => break,
        }
    }
    Ok(out)
}

/// What the server holds after a change.
pub(super) fn after(change: &Change, version: u64) -> Option<Record> {
    match change {
        Change::Put { value, expires, .. } => {
            Some(Record { version, value: value.clone(), expires: *expires })
        }
        _ => None,
    }
}

struct Step {
    /// What must be written so that the server holds what both know; none: it does already.
    change: Option<Change>,
    /// Others' value stands although ours was another one.
    gave_way: bool,
}

fn step(told: &Unsettled, theirs: Option<&Record>, join: &dyn Join) -> Step {
    let expected = theirs.map(|record| record.version);
    let (ours, held) = (told.record.as_ref().map(Joined::from), theirs.map(Joined::from));
    let wanted = match &told.base {
        // Nobody else has touched it: ours simply comes next.
        Base::Known(base) if base.as_ref().map(|base| base.version) == expected => ours.clone(),
        Base::Known(base) => {
            let base = base.as_ref().map(Joined::from);
            join.rebase(&told.key, base.as_ref(), ours.as_ref(), held.as_ref())
        }
        Base::Unknown => match (&ours, &held) {
            (Some(ours), Some(held)) => Some(join.join(&told.key, ours, held)),
            (ours, held) => ours.clone().or_else(|| held.clone()),
        },
    };
    let gave_way = wanted == held && ours != held;
    let key = told.key.clone();
    let change = match (wanted, theirs) {
        // Versions of one key grow for us, too.
        (Some(new), Some(theirs)) if Some(&new) == held.as_ref() && theirs.version >= told.version() => None,
        (Some(new), _) => Some(Change::Put { key, expected, value: new.value, expires: new.expires }),
        (None, Some(theirs)) => Some(Change::Delete { key, expected: theirs.version }),
        (None, None) => None,
    };
    Step { change, gave_way }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
