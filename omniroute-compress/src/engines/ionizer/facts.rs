//! What is true of all rows of a list: which tell of errors, what each column holds.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use omniroute_core::{Doc, Kind, NodeId};

use super::find::Table;
use crate::hash::{ByHash, hash};

/// Columns that facts are kept of.
const MAX_COLUMNS: usize = 64;
/// Different values that are listed.
const MAX_VALUES: usize = 20;
/// Longest value that is listed, in bytes.
const MAX_VALUE: usize = 40;
/// Longest line of facts, in bytes.
const MAX_LINE: usize = 2_000;
/// Longest text in which a word of trouble makes the row one that tells of an error.
const SHORT: usize = 256;
/// Names of columns that may identify a row.
const IDS: [&str; 6] = ["id", "_id", "uuid", "ID", "Id", "key"];

static TROUBLE: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = ["error", "fail", "exception", "stderr", "denied"];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("five short words")
});

/// Facts over all rows.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) rows: usize,
    /// Rows that tell of an error.
    pub(super) errors: Vec<usize>,
    /// Rows that bring a key which no row before had, or that are no objects where others are.
    pub(super) novel: Vec<usize>,
    /// Rows that hold a word of the user.
    pub(super) asked: Vec<usize>,
    columns: Vec<Column>,
    ids: HashSet<u64, ByHash>,
    with_id: usize,
    own_number: bool,
}

#[derive(Debug)]
struct Column {
    key: String,
    present: usize,
    numbers: usize,
    least: Option<(f64, NodeId, usize)>,
    greatest: Option<(f64, NodeId, usize)>,
    /// Different values with their counts, until there are too many.
    values: Option<Vec<(NodeId, usize)>>,
}

impl Facts {
    /// One pass over all members of all rows.
    pub(super) fn of(table: &Table, words: &HashSet<u64, ByHash>) -> Facts {
        let doc = &table.doc;
        let mut facts = Facts { rows: table.rows.len(), ..Facts::default() };
        let mut known: HashMap<&str, Option<usize>> = HashMap::new();
        for (n, row) in table.rows.iter().enumerate() {
            if doc.kind(*row) != Kind::Object {
                facts.novel.push(n);
                continue;
            }
            let (mut error, mut novel, mut asked, mut id) = (false, false, false, None);
            for (key, value) in doc.members(*row) {
                let name = doc.raw(key);
                let name = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
                let column = *known.entry(name).or_insert_with(|| {
                    novel = true;
                    facts.column(name)
                });
                if let Some(column) = column.and_then(|at| facts.columns.get_mut(at)) {
                    column.add(doc, value, n);
                }
                error |= tells_of_error(doc, name, value);
                asked |= !words.is_empty() && words.contains(&hash(bare(doc, value)));
                facts.own_number |= name == "#";
                if id.is_none() && IDS.contains(&name) {
                    id = Some(hash(doc.raw(value).as_bytes()));
                }
            }
            if let Some(id) = id {
                facts.with_id += 1;
                facts.ids.insert(id);
            }
            facts.errors.extend(error.then_some(n));
            facts.novel.extend(novel.then_some(n));
            facts.asked.extend(asked.then_some(n));
        }
        facts
    }

    /// Whether every row can be told by an id of its own.
    pub(super) fn has_ids(&self) -> bool {
        self.own_number || (self.with_id == self.rows && self.ids.len() == self.rows)
    }

    /// Rows with the least and the greatest number of each column.
    pub(super) fn extremes(&self) -> impl Iterator<Item = usize> + '_ {
        let ends = |column: &Column| [column.least, column.greatest].map(|end| end.map(|(.., row)| row));
        self.columns.iter().filter(|column| column.numbers > 1).flat_map(ends).flatten()
    }

    /// One line with what is true of all rows.
    pub(super) fn line(&self, table: &Table, kept: &[usize]) -> String {
        let shown = self.errors.iter().filter(|row| kept.binary_search(row).is_ok()).count();
        let mut out = format!("all {} rows: ", self.rows);
        let _ = match self.errors.len() {
            0 => write!(out, "none tells of an error"),
            all if all == shown => write!(out, "{all} tell of errors, all shown"),
            all => write!(out, "{all} tell of errors, {shown} shown"),
        };
        for (at, column) in self.columns.iter().enumerate() {
            let text = column.text(&table.doc, self.rows);
            if out.len() + text.len() > MAX_LINE {
                let _ = write!(out, "; and {} more columns", self.columns.len() - at);
                break;
            }
            out.push_str(&text);
        }
        out
    }

    fn column(&mut self, name: &str) -> Option<usize> {
        if self.columns.len() >= MAX_COLUMNS {
            return None;
        }
        self.columns.push(Column {
            key: name.to_owned(),
            present: 0,
            numbers: 0,
            least: None,
            greatest: None,
            values: Some(Vec::new()),
        });
        Some(self.columns.len() - 1)
    }
}

impl Column {
    fn add(&mut self, doc: &Doc, value: NodeId, row: usize) {
        self.present += 1;
        let raw = doc.raw(value);
        if doc.kind(value) == Kind::Number
            && let Ok(number) = raw.parse::<f64>()
        {
            self.numbers += 1;
            if self.least.is_none_or(|(least, ..)| number < least) {
                self.least = Some((number, value, row));
            }
            if self.greatest.is_none_or(|(greatest, ..)| number > greatest) {
                self.greatest = Some((number, value, row));
            }
        }
        let Some(values) = &mut self.values else { return };
        let room = values.len() < MAX_VALUES && raw.len() <= MAX_VALUE;
        match values.iter_mut().find(|(known, _)| doc.raw(*known) == raw) {
            Some((_, count)) => *count += 1,
            None if room => values.push((value, 1)),
            None => self.values = None,
        }
    }

    fn text(&self, doc: &Doc, rows: usize) -> String {
        let mut out = format!("; {}: ", self.key.chars().take(60).collect::<String>());
        let mut comma = "";
        if self.present < rows {
            let _ = write!(out, "in {} rows", self.present);
            comma = ", ";
        }
        if let (Some((_, least, _)), Some((_, greatest, _))) = (self.least, self.greatest) {
            let _ = write!(out, "{comma}numbers {}..{}", doc.raw(least), doc.raw(greatest));
            comma = ", ";
        }
        match &self.values {
            Some(values) => {
                let mut values = values.clone();
                values.sort_by_key(|(_, count)| std::cmp::Reverse(*count)); // stable: then in order of appearance
                for (value, count) in values {
                    let _ = write!(out, "{comma}{} x{count}", doc.raw(value));
                    comma = ", ";
                }
            }
            None if self.numbers < self.present => {
                let _ = write!(out, "{comma}more than {MAX_VALUES} values");
            }
            None => {}
        }
        out
    }
}

/// A key or a short text that speaks of trouble, or an HTTP status of 400 to 599.
fn tells_of_error(doc: &Doc, name: &str, value: NodeId) -> bool {
    let raw = doc.raw(value);
    let lower = || name.to_ascii_lowercase();
    let says = match doc.kind(value) {
        Kind::Null => return false,
        Kind::Bool if raw == "false" => return false,
        Kind::String | Kind::Array | Kind::Object if raw.len() <= 2 => return false,
        Kind::String | Kind::Array | Kind::Object => raw.len() <= SHORT && TROUBLE.is_match(raw),
        Kind::Number if raw == "0" => return false,
        _ => false,
    };
    let status = || {
        let bare = raw.trim_matches('"');
        let is_status = bare.len() == 3 && bare.parse::<u16>().is_ok_and(|code| (400..600).contains(&code));
        is_status && (lower().contains("status") || lower().contains("code"))
    };
    says || TROUBLE.is_match(name) || status()
}

/// The text of a string without its quotes, or the value as written.
fn bare(doc: &Doc, value: NodeId) -> &[u8] {
    match doc.json_str(value) {
        Some(text) => text.raw(),
        None if doc.kind(value) == Kind::Number => doc.raw(value).as_bytes(),
        None => &[],
    }
}
