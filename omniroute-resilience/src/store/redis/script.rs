//! The one script: how calls become arguments, and a reply becomes answers.

use std::sync::LazyLock;

use bytes::Bytes;
use omniroute_core::{Change, Record, StoreError, UnixMs};
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::store::time::Told;

const TEXT: &str = include_str!("script.lua");
/// Newest layout that we know.
const SCHEMA: u32 = 1;

static HASH: LazyLock<String> = LazyLock::new(|| redis::Script::new(TEXT).get_hash().to_owned());

/// What every run carries.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Time instead of the server's; for tests.
    pub(super) test_time: Option<i64>,
    /// The store as it was last seen; empty: never.
    pub(super) id: String,
    pub(super) told: Told,
    pub(super) newest: u64,
    /// Our name, when the server is to note that we are there.
    pub(super) process: Option<u64>,
}

/// One call.
#[derive(Debug, Clone)]
pub(super) enum Request {
    /// Encoded keys.
    Get(Vec<String>),
    Commit(Vec<Change>, Option<UnixMs>),
}

impl Request {
    /// How many records it is about.
    pub(super) fn records(&self) -> usize {
        match self {
            Request::Get(keys) => keys.len(),
            Request::Commit(changes, _) => changes.len(),
        }
    }
}

/// What the script answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) time: i64,
    pub(super) turns: i64,
    pub(super) id: String,
    /// The version of the last commit to the whole store.
    pub(super) version: u64,
    /// Processes that were there lately, if they were counted.
    pub(super) processes: Option<u32>,
    /// One for each request.
    pub(super) answers: Vec<Result<Answer, StoreError>>,
}

/// What became of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    /// That of the whole store after it.
    pub(super) version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Got(Vec<Option<Record>>),
    Done,
    Conflict(Vec<(usize, Option<Record>)>),
    TooLate,
}

/// Names of records in the server. All share one hash tag, so that one script may touch them together.
#[derive(Debug, Clone)]
pub(super) struct Names {
    facts: String,
    alive: String,
    prefix: String,
}

impl Names {
    pub(super) fn new(namespace: &str) -> Names {
        let name = |what: &str| format!("omr:{{{namespace}}}:{what}");
        Names { facts: name("facts"), alive: name("alive"), prefix: name("v1:") }
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

/// A run of the script that is ready to be sent.
#[derive(Debug)]
pub(super) struct Run {
    names: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

impl Run {
    pub(super) fn new<'r>(
        names: &Names,
        caller: &Caller,
        requests: impl ExactSizeIterator<Item = &'r Request>,
    ) -> Run {
        let mut keys = vec![names.facts.clone().into_bytes(), names.alive.clone().into_bytes()];
        let number = |number: Option<i64>| number.map_or_else(Vec::new, |n| n.to_string().into_bytes());
        let mut arguments = vec![
            number(Some(SCHEMA.into())),
            number(caller.test_time),
            caller.id.clone().into_bytes(),
            number(Some(caller.told.turns)),
            number(Some(caller.told.time)),
            caller.newest.to_string().into_bytes(),
            caller.process.map_or_else(Vec::new, |name| format!("{name:016x}").into_bytes()),
            requests.len().to_string().into_bytes(),
        ];
        for request in requests {
            match request {
                Request::Get(asked) => {
                    keys.extend(asked.iter().map(|key| names.record(key).into_bytes()));
                    arguments.extend([b"get".to_vec(), asked.len().to_string().into_bytes()]);
                }
                Request::Commit(changes, not_after) => {
                    let count = changes.len().to_string().into_bytes();
                    arguments.extend([b"commit".to_vec(), count, number(not_after.map(|at| at.0))]);
                    for change in changes {
                        keys.push(names.record(&change.key().encode()).into_bytes());
                        arguments.extend(four(change));
                    }
                }
            }
        }
        Run { names: keys, arguments }
    }

    /// Runs by hash; if the server does not know the script, by its text. It is never loaded beforehand:
    /// proxies forbid that.
    pub(super) fn on(&self, connection: &mut redis::Connection) -> Result<Value, RedisError> {
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

/// One change as the script reads it.
fn four(change: &Change) -> [Vec<u8>; 4] {
    let (kind, expires, value) = match change {
        Change::Put { value, expires, .. } => ("put", *expires, value.to_vec()),
        Change::Delete { .. } => ("delete", None, Vec::new()),
        Change::Check { .. } => ("check", None, Vec::new()),
    };
    let expected = change.expected().map_or_else(String::new, |version| version.to_string());
    let expires = expires.map_or_else(|| "-".to_owned(), |at| at.0.to_string());
    [kind.into(), expected.into_bytes(), expires.into_bytes(), value]
}

/// Reads the reply to these requests. None: not the store that we knew, it came back without its memory.
pub(super) fn reply<'r>(
    value: Value,
    requests: impl ExactSizeIterator<Item = &'r Request>,
) -> Result<Option<Reply>, StoreError> {
    let [outcome, time, turns, id, version, extra, list] = parts(value).ok_or_else(strange)?;
    let (outcome, extra) = (word(outcome).ok_or_else(strange)?, word(extra).ok_or_else(strange)?);
    match outcome.as_str() {
        "newer" => {
            let found = extra.parse().unwrap_or(u32::MAX);
            return Err(StoreError::SchemaTooNew { found, supported: SCHEMA });
        }
        "another" => return Ok(None),
        "ok" => {}
        _ => return Err(strange()),
    }
    let Value::Array(list) = list else { return Err(strange()) };
    if list.len() != requests.len() {
        return Err(strange());
    }
    Ok(Some(Reply {
        time: number(time).ok_or_else(strange)?,
        turns: number(turns).ok_or_else(strange)?,
        id: word(id).ok_or_else(strange)?,
        version: number(version).ok_or_else(strange)?.cast_unsigned(),
        processes: extra.parse().ok(),
        answers: list.into_iter().zip(requests).map(|(value, request)| answer(value, request)).collect(),
    }))
}

fn answer(value: Value, request: &Request) -> Result<Answer, StoreError> {
    let [outcome, version, list] = parts(value).ok_or_else(strange)?;
    let (outcome, version) = (word(outcome).ok_or_else(strange)?, number(version).ok_or_else(strange)?);
    let Value::Array(list) = list else { return Err(strange()) };
    let outcome = match (outcome.as_str(), request) {
        ("late", Request::Commit(..)) => Outcome::TooLate,
        ("done", Request::Commit(..)) => Outcome::Done,
        ("got", Request::Get(keys)) if list.len() == keys.len() => {
            let records = list.into_iter().zip(keys).map(|(kept, key)| record(kept, || key.clone()));
            Outcome::Got(records.collect::<Result<_, _>>()?)
        }
        ("conflict", Request::Commit(changes, _)) => {
            let mut conflicts = Vec::with_capacity(list.len() / 2);
            let mut list = list.into_iter();
            while let (Some(at), Some(kept)) = (list.next(), list.next()) {
                let at = word(at).and_then(|text| text.parse::<usize>().ok()).ok_or_else(strange)?;
                let change = changes.get(at).ok_or_else(strange)?;
                conflicts.push((at, record(kept, || change.key().encode())?));
            }
            Outcome::Conflict(conflicts)
        }
        _ => return Err(strange()),
    };
    Ok(Answer { outcome, version: version.cast_unsigned() })
}

fn strange() -> StoreError {
    StoreError::Unavailable("the server's answer has an unknown form".to_owned())
}

fn parts<const N: usize>(value: Value) -> Option<[Value; N]> {
    let Value::Array(parts) = value else { return None };
    parts.try_into().ok()
}

fn number(value: Value) -> Option<i64> {
    word(value)?.parse().ok()
}

fn word(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// A record as the server keeps it.
fn record(value: Value, key: impl Fn() -> String) -> Result<Option<Record>, StoreError> {
    let kept = match value {
        Value::Nil => return Ok(None),
        Value::BulkString(kept) => Bytes::from(kept),
        _ => return Err(StoreError::Corrupt(key())),
    };
    split(&kept).map(Some).ok_or_else(|| StoreError::Corrupt(key()))
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
        let whole = |outcome: &str, extra: &str, list: Vec<Value>| {
            let facts = ["1", "0", "id", "4"].map(bulk);
            let ends = [bulk(extra), Value::Array(list)];
            Value::Array([vec![bulk(outcome)], facts.to_vec(), ends.to_vec()].concat())
        };
        let one = |outcome: &str, list: Vec<Value>| {
            whole("ok", "", vec![Value::Array(vec![bulk(outcome), bulk("4"), Value::Array(list)])])
        };
        let get = [Request::Get(vec!["me/a".to_owned()])];
        for value in [Value::Nil, Value::Array(vec![]), whole("what", "", vec![]), whole("ok", "", vec![])] {
            assert!(reply(value.clone(), get.iter()).is_err(), "{value:?}");
        }
        for value in [
            one("got", vec![]),
            one("got", vec![bulk("no version")]),
            one("done", vec![]),
            one("conflict", vec![bulk("9"), Value::Nil]),
        ] {
            let answers = reply(value.clone(), get.iter()).unwrap().unwrap().answers;
            assert!(answers[0].is_err(), "{value:?}");
        }
        let newer = Err(StoreError::SchemaTooNew { found: 2, supported: 1 });
        assert_eq!(reply(whole("newer", "2", vec![]), get.iter()), newer);
        assert_eq!(reply(whole("another", "", vec![]), get.iter()), Ok(None));
        let got = reply(one("got", vec![bulk("4 - v")]), get.iter()).unwrap().unwrap();
        let record = Record { version: 4, value: Bytes::from("v"), expires: None };
        assert_eq!(got.answers[0].as_ref().unwrap().outcome, Outcome::Got(vec![Some(record)]));
    }
}
