//! What a model asks of the retrieval tool, read from the tool's arguments.

use omniroute_core::BlobId;
use serde_json::{Map, Value};

use super::retrieve::RetrieveError;

/// Most lines of one answer.
pub(super) const MAX_LINES: u64 = 10_000;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 512;
/// Lines of head and tail if nothing is said.
const DEFAULT_LINES: u64 = 50;

/// A request for a text, or for a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ask {
    /// Which text.
    pub id: BlobId,
    /// Which part.
    pub mode: Mode,
}

/// Which part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// All from a byte on, up to 256 KiB an answer.
    Full {
        /// Where to start; 0 is the beginning.
        offset: u64,
    },
    /// The first lines.
    Head {
        /// How many, 1 to 10,000.
        n: u64,
    },
    /// The last lines.
    Tail {
        /// How many, 1 to 10,000.
        n: u64,
    },
    /// Lines by number, both ends included.
    Lines {
        /// First line, from 1.
        start: u64,
        /// Last line; none: as many as an answer holds.
        end: Option<u64>,
    },
    /// Lines that match a regular expression, with their numbers.
    Grep {
        /// The expression, at most 512 bytes.
        pattern: String,
        /// Whether capitals do not matter.
        ignore_case: bool,
        /// Lines around each match, 0 to 20.
        context: u64,
    },
    /// Length, lines, hash and age.
    Stats,
}

impl Mode {
    /// The words a model may write.
    pub const NAMES: [&'static str; 6] = ["full", "head", "tail", "lines", "grep", "stats"];
}

impl Ask {
    /// All of a text.
    pub fn full(id: BlobId) -> Self {
        Ask { id, mode: Mode::Full { offset: 0 } }
    }

    /// Another part.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Reads the arguments of a call. `id` and `ref` mean the same as `hash`; a whole handle is taken, too.
    ///
    /// # Errors
    /// [`RetrieveError`] that names the argument, its value and what is allowed.
    pub fn from_json(arguments: &str) -> Result<Ask, RetrieveError> {
        let value: Value = serde_json::from_str(arguments).map_err(|e| {
            RetrieveError::argument(
                "arguments",
                format!("not a JSON object: line {}, column {}", e.line(), e.column()),
            )
        })?;
        let Value::Object(map) = value else {
            return Err(RetrieveError::argument("arguments", "not a JSON object".to_owned()));
        };
        let id = hash(&map)?;
        let mode = match word(&map, "mode")?.unwrap_or("full") {
            "full" => Mode::Full { offset: number(&map, "offset", 0, u64::MAX)?.unwrap_or(0) },
            "head" => Mode::Head { n: number(&map, "n", 1, MAX_LINES)?.unwrap_or(DEFAULT_LINES) },
            "tail" => Mode::Tail { n: number(&map, "n", 1, MAX_LINES)?.unwrap_or(DEFAULT_LINES) },
            "lines" => lines(&map)?,
            "grep" => grep(&map)?,
            "stats" => Mode::Stats,
            other => {
                let rule = format!("{:?} is not one of {}", short(other), Mode::NAMES.join(", "));
                return Err(RetrieveError::argument("mode", rule));
            }
        };
        Ok(Ask { id, mode })
    }
}

fn lines(map: &Map<String, Value>) -> Result<Mode, RetrieveError> {
    let start = number(map, "start", 1, u64::MAX)?.unwrap_or(1);
    let mut end = number(map, "end", 1, u64::MAX)?;
    if let (None, Some(n)) = (end, number(map, "n", 1, MAX_LINES)?) {
        end = Some(start.saturating_add(n - 1));
    }
    match end {
        Some(end) if end < start => {
            Err(RetrieveError::argument("end", format!("{end} is before start, which is {start}")))
        }
        _ => Ok(Mode::Lines { start, end }),
    }
}

fn grep(map: &Map<String, Value>) -> Result<Mode, RetrieveError> {
    let Some(pattern) = word(map, "pattern")? else {
        return Err(RetrieveError::argument("pattern", "grep needs one".to_owned()));
    };
    if pattern.is_empty() || pattern.len() > MAX_PATTERN {
        let rule = format!("{} bytes, 1 to {MAX_PATTERN} are allowed", pattern.len());
        return Err(RetrieveError::argument("pattern", rule));
    }
    let ignore_case = match map.get("ignore_case") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(on)) => *on,
        Some(_) => return Err(RetrieveError::argument("ignore_case", "neither true nor false".to_owned())),
    };
    let context = number(map, "context", 0, 20)?.unwrap_or(0);
    Ok(Mode::Grep { pattern: pattern.to_owned(), ignore_case, context })
}

fn hash(map: &Map<String, Value>) -> Result<BlobId, RetrieveError> {
    for name in ["hash", "id", "ref"] {
        if let Some(text) = word(map, name)? {
            let wrong = || RetrieveError::argument(name, format!("{:?} is not 24 hex digits", short(text)));
            return BlobId::parse(&bare(text)).ok_or_else(wrong);
        }
    }
    Err(RetrieveError::argument("hash", "it is missing".to_owned()))
}

/// The digits of a handle: what follows `hash=` or `id=`, or the text without brackets and blanks.
fn bare(text: &str) -> String {
    let named = ["hash=", "id="].into_iter().find_map(|name| text.split_once(name));
    let rest = named.map_or(text, |(_, rest)| rest);
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"' | '\'' | '`'));
    rest.split([' ', ']']).next().unwrap_or(rest).to_ascii_lowercase()
}

fn word<'m>(map: &'m Map<String, Value>, name: &'static str) -> Result<Option<&'m str>, RetrieveError> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(RetrieveError::argument(name, "not a text".to_owned())),
    }
}

/// Models write numbers as texts now and then.
fn number(
    map: &Map<String, Value>,
    name: &'static str,
    min: u64,
    max: u64,
) -> Result<Option<u64>, RetrieveError> {
    let found = match map.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(n)) => n.as_u64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    let limit = if max == u64::MAX { String::new() } else { format!(" to {max}") };
    match found {
        Some(n) if (min..=max).contains(&n) => Ok(Some(n)),
        Some(n) => Err(RetrieveError::argument(name, format!("{n} is not in the range {min}{limit}"))),
        None => Err(RetrieveError::argument(name, format!("not a whole number from {min}{limit}"))),
    }
}

/// The start of what a model wrote, for a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef01234567";

    #[test]
    fn every_spelling_of_a_handle_is_understood() {
        let id = BlobId::parse(HASH).unwrap();
        for hash in [
            HASH.to_owned(),
            HASH.to_ascii_uppercase(),
            format!("hash={HASH}"),
            format!("[rtk: 12 lines omitted, id={HASH}]"),
            format!("[CCR retrieve hash={HASH} chars=77]"),
            format!(" [{HASH}] "),
        ] {
            for name in ["hash", "id", "ref"] {
                let ask = Ask::from_json(&serde_json::json!({name: hash}).to_string());
                assert_eq!(ask, Ok(Ask::full(id)), "{name} {hash}");
            }
        }
    }

    #[test]
    fn modes_and_mistakes() {
        let ask = |rest: &str| Ask::from_json(&format!(r#"{{"hash":"{HASH}"{rest}}}"#));
        let mode = |rest: &str| ask(rest).unwrap().mode;
        assert_eq!(mode(r#","mode":"head""#), Mode::Head { n: 50 });
        assert_eq!(mode(r#","mode":"tail","n":"7""#), Mode::Tail { n: 7 });
        assert_eq!(mode(r#","mode":"lines","start":3"#), Mode::Lines { start: 3, end: None });
        assert_eq!(mode(r#","mode":"lines","start":3,"n":2"#), Mode::Lines { start: 3, end: Some(4) });
        for (rest, message) in [
            (r#","mode":"head","n":0"#, "n: 0 is not in the range 1 to 10000"),
            (r#","mode":"tail","n":10001"#, "n: 10001 is not in the range 1 to 10000"),
            (r#","mode":"lines","start":5,"end":4"#, "end: 4 is before start, which is 5"),
            (r#","mode":"lines","start":0"#, "start: 0 is not in the range 1"),
            (r#","mode":"lines","start":-1"#, "start: not a whole number from 1"),
            (r#","mode":"all""#, "mode: \"all\" is not one of full, head, tail, lines, grep, stats"),
            (r#","mode":"grep""#, "pattern: grep needs one"),
            (r#","mode":"grep","pattern":"""#, "pattern: 0 bytes, 1 to 512 are allowed"),
            (r#","mode":"grep","pattern":"x","context":21"#, "context: 21 is not in the range 0 to 20"),
            (r#","mode":"grep","pattern":"x","ignore_case":1"#, "ignore_case: neither true nor false"),
            (r#","mode":7"#, "mode: not a text"),
        ] {
            let error = ask(rest).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.code()), (message, "bad_argument"), "{rest}");
        }
        for (arguments, message) in [
            ("{", "arguments: not a JSON object: line 1, column 1"),
            ("[]", "arguments: not a JSON object"),
            ("{}", "hash: it is missing"),
            (r#"{"hash":"zz"}"#, "hash: \"zz\" is not 24 hex digits"),
        ] {
            assert_eq!(Ask::from_json(arguments).unwrap_err().to_string(), message, "{arguments}");
        }
    }
}
