//! The one script: how a call becomes arguments, and a reply becomes an answer.

use std::sync::LazyLock;

use bytes::Bytes;
use omniroute_core::{Change, Record, StoreError, UnixMs};
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::store::time::Told;

const TEXT: &str = include_str!("script.lua");
/// Newest layout that we know.
const SCHEMA: u32 = 1;

static HASH: LazyLock<String> = LazyLock::new(|| redis::Script::new(TEXT).get_hash().to_owned());

/// What every call carries.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Time instead of the server's; for tests.
    pub(super) test_time: Option<i64>,
    /// The store as it was last seen; empty: never.
    pub(super) id: String,
    pub(super) told: Told,
    pub(super) newest: u64,
}

/// What the script answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    pub(super) time: i64,
    pub(super) turns: i64,
    pub(super) id: String,
    /// The version of the last commit to the whole store.
    pub(super) version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Got(Vec<Option<Record>>),
    Done,
    Conflict(Vec<(usize, Option<Record>)>),
    TooLate,
    /// Not the store that we knew: it came back without its memory.
    Another,
}

/// Names of records in the server. All share one hash tag, so that one script may touch them together.
#[derive(Debug, Clone)]
pub(super) struct Names {
    facts: String,
    prefix: String,
}

impl Names {
    pub(super) fn new(namespace: &str) -> Names {
        Names { facts: format!("omr:{{{namespace}}}:facts"), prefix: format!("omr:{{{namespace}}}:v1:") }
    }

    pub(super) fn record(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Back from the server's name to the encoded key.
    pub(super) fn key<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(self.prefix.as_str())
    }

    /// A pattern for all records whose key starts with `prefix`.
    pub(super) fn pattern(&self, prefix: &str) -> String {
        let mut out = String::with_capacity(self.prefix.len() + prefix.len() + 1);
        for c in self.prefix.chars().chain(prefix.chars()) {
            if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^') {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('*');
        out
    }
}

/// A reading call.
pub(super) fn get(names: &Names, caller: &Caller, keys: &[String]) -> Call {
    let mut call = Call::new(names, caller, "get", None, keys.len());
    call.names.extend(keys.iter().map(|key| names.record(key).into_bytes()));
    call
}

/// A changing call.
pub(super) fn commit(names: &Names, caller: &Caller, changes: &[Change], not_after: Option<UnixMs>) -> Call {
    let mut call = Call::new(names, caller, "commit", not_after, changes.len());
    for change in changes {
        call.names.push(names.record(&change.key().encode()).into_bytes());
        let expected = change.expected().map_or_else(String::new, |version| version.to_string());
        let (kind, expires, value) = match change {
            Change::Put { value, expires, .. } => ("put", *expires, value.clone()),
            Change::Delete { .. } => ("delete", None, Bytes::new()),
            Change::Check { .. } => ("check", None, Bytes::new()),
        };
        call.arguments.push(kind.into());
        call.arguments.push(expected.into_bytes());
        call.arguments.push(expires.map_or_else(|| "-".to_owned(), |at| at.0.to_string()).into_bytes());
        call.arguments.push(value.to_vec());
    }
    call
}

/// A call that is ready to be sent.
#[derive(Debug)]
pub(super) struct Call {
    names: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

impl Call {
    fn new(names: &Names, caller: &Caller, kind: &str, not_after: Option<UnixMs>, size: usize) -> Call {
        let mut keys = Vec::with_capacity(size + 1);
        keys.push(names.facts.clone().into_bytes());
        let number = |number: Option<i64>| number.map_or_else(Vec::new, |n| n.to_string().into_bytes());
        let arguments = vec![
            kind.into(),
            number(Some(SCHEMA.into())),
            number(caller.test_time),
            caller.id.clone().into_bytes(),
            number(Some(caller.told.turns)),
            number(Some(caller.told.time)),
            caller.newest.to_string().into_bytes(),
            number(not_after.map(|at| at.0)),
        ];
        Call { names: keys, arguments }
    }

    /// Runs by hash; if the server does not know the script, by its text. It is never loaded beforehand:
    /// proxies forbid that.
    pub(super) fn run(&self, connection: &mut redis::Connection) -> Result<Value, RedisError> {
        match self.command("EVALSHA", &HASH).query(connection) {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.command("EVAL", TEXT).query(connection)
            }
            other => other,
        }
    }

    fn command(&self, name: &str, script: &str) -> redis::Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.names.len());
        for part in self.names.iter().chain(&self.arguments) {
            command.arg(part.as_slice());
        }
        command
    }
}

/// Reads the reply to a call about these keys.
pub(super) fn reply(value: Value, keys: &[String]) -> Result<Reply, StoreError> {
    let strange = || StoreError::Unavailable("the server's answer has an unknown form".to_owned());
    let Value::Array(parts) = value else { return Err(strange()) };
    let Ok([outcome, time, turns, id, version, list]) = <[Value; 6]>::try_from(parts) else {
        return Err(strange());
    };
    let (outcome, id) = (word(outcome).ok_or_else(strange)?, word(id).ok_or_else(strange)?);
    let Value::Array(list) = list else { return Err(strange()) };
    let number = |value| word(value).and_then(|text| text.parse::<i64>().ok()).ok_or_else(strange);
    let (time, turns, version) = (number(time)?, number(turns)?, number(version)?.cast_unsigned());
    let outcome = match outcome.as_str() {
        "newer" => {
            let found = list.into_iter().next().and_then(word).and_then(|text| text.parse().ok());
            return Err(StoreError::SchemaTooNew { found: found.unwrap_or(u32::MAX), supported: SCHEMA });
        }
        "another" => Outcome::Another,
        "late" => Outcome::TooLate,
        "done" => Outcome::Done,
        "got" if list.len() == keys.len() => {
            let records = list.into_iter().zip(keys).map(|(kept, key)| record(kept, key));
            Outcome::Got(records.collect::<Result<_, _>>()?)
        }
        "conflict" => {
            let mut conflicts = Vec::with_capacity(list.len() / 2);
            let mut list = list.into_iter();
            while let (Some(at), Some(kept)) = (list.next(), list.next()) {
                let at = word(at).and_then(|text| text.parse::<usize>().ok()).ok_or_else(strange)?;
                conflicts.push((at, record(kept, keys.get(at).ok_or_else(strange)?)?));
            }
            Outcome::Conflict(conflicts)
        }
        _ => return Err(strange()),
    };
    Ok(Reply { outcome, time, turns, id, version })
}

fn word(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// A record as the server keeps it.
fn record(value: Value, key: &str) -> Result<Option<Record>, StoreError> {
    let kept = match value {
        Value::Nil => return Ok(None),
        Value::BulkString(kept) => Bytes::from(kept),
        _ => return Err(StoreError::Corrupt(key.to_owned())),
    };
    split(&kept).map(Some).ok_or_else(|| StoreError::Corrupt(key.to_owned()))
}

fn split(kept: &Bytes) -> Option<Record> {
    let mut parts = kept.splitn(3, |byte| *byte == b' ');
    let (version, expires, value) = (parts.next()?, parts.next()?, parts.next()?);
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let expires = match expires {
        b"-" => None,
        at => Some(UnixMs(text(at)?.parse().ok()?)),
    };
    Some(Record { version: text(version)?.parse().ok()?, value: kept.slice_ref(value), expires })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_at_the_first_two_blanks() {
        for (kept, version, expires, value) in [
            ("7 - ", 7, None, ""),
            ("18446744073709551615 -5 a b", u64::MAX, Some(-5), "a b"),
            ("2 1700000000000  x", 2, Some(1_700_000_000_000), " x"),
        ] {
            let record = split(&Bytes::from(kept)).unwrap();
            assert_eq!((record.version, record.expires), (version, expires.map(UnixMs)), "{kept}");
            assert_eq!(&record.value[..], value.as_bytes());
        }
        for kept in ["", "x - v", "1 -", "1 z v", "-1 - v"] {
            assert_eq!(split(&Bytes::from(kept)), None, "{kept}");
        }
    }

    #[test]
    fn names_share_a_hash_tag_and_patterns_are_literal() {
        let names = Names::new("a.b");
        assert_eq!(names.record("br/x/-"), "omr:{a.b}:v1:br/x/-");
        assert_eq!(names.key("omr:{a.b}:v1:br/x/-"), Some("br/x/-"));
        assert_eq!(names.key("omr:{other}:v1:br"), None);
        assert_eq!(names.pattern("me/[*]"), "omr:{a.b}:v1:me/\\[\\*\\]*");
    }

    #[test]
    fn strange_answers_are_errors_not_panics() {
        let bulk = |text: &str| Value::BulkString(text.into());
        let whole = |outcome: &str, list: Vec<Value>| {
            Value::Array(vec![bulk(outcome), bulk("1"), bulk("0"), bulk("id"), bulk("4"), Value::Array(list)])
        };
        let keys = ["me/a".to_owned()];
        for value in [
            Value::Nil,
            Value::Array(vec![]),
            whole("what", vec![]),
            whole("got", vec![]),
            whole("got", vec![bulk("no version")]),
            whole("conflict", vec![bulk("9"), Value::Nil]),
        ] {
            assert!(reply(value.clone(), &keys).is_err(), "{value:?}");
        }
        assert_eq!(
            reply(whole("newer", vec![bulk("2")]), &keys),
            Err(StoreError::SchemaTooNew { found: 2, supported: 1 })
        );
        let got = reply(whole("got", vec![bulk("4 - v")]), &keys).unwrap();
        let record = Record { version: 4, value: Bytes::from("v"), expires: None };
        assert_eq!(got.outcome, Outcome::Got(vec![Some(record)]));
    }
}
