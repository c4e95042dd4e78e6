//! `ionizer`: of a long list of records some rows stay, the exact facts over all of them, and a handle to the rest.
//!
//! ```text
//! [ionizer: kept 53/1200 rows; full -> CCR retrieve hash=<24 hex digits> chars=<n>]
//! all 1200 rows: 2 tell of errors, all shown; id: numbers 1..1200; state: "open" x700, "closed" x500
//! [{"id":1,"state":"open"},...]
//! ```
//!
//! What stays: the first and the last rows, rows that tell of errors, rows with a key that was not there before, rows
//! with the least and the greatest number of a column, rows that hold a word of the user's last text, and an even
//! sample of the others. The sample is drawn from the text alone, so the same text gives the same rows everywhere.

mod choose;
mod facts;
mod find;

use std::collections::HashSet;
use std::sync::Arc;

use omniroute_core::{
    CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, EngineMemory, Loss, SegmentKind,
    SegmentView,
};

use crate::ccr::{in_place_of, keep};
use crate::config::{ConfigField, Settings};
use crate::entry::{EngineEntry, Parts};
use crate::hash::{ByHash, hash};
use crate::shell::class::{self, ResultClass};
use facts::Facts;
use find::Table;

const INFO: EngineInfo = EngineInfo::new("ionizer", Loss::Recoverable)
    .summary("long lists of records: telling rows and exact facts stay, the rest can be fetched")
    .priority(3)
    .min_bytes(4096)
    .needs_retrieval()
    .alone();

const FIELDS: &[ConfigField] = &[
    ConfigField::int("threshold", 200, (20, 100_000), "shorter lists are left alone, in rows"),
    ConfigField::int("target", 50, (10, 10_000), "rows that stay, roughly"),
];

/// Rows beyond this are no business of ours.
const MAX_ROWS: usize = 100_000;
/// As much of the user's last text is searched for words.
const MAX_USER_BYTES: usize = 64 << 10;

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build).fields(FIELDS);

fn build(settings: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {
    Arc::new(Ionizer { threshold: settings.size("threshold"), target: settings.size("target") })
}

#[derive(Debug)]
struct Ionizer {
    threshold: usize,
    target: usize,
}

impl CompressionEngine for Ionizer {
    fn info(&self) -> &EngineInfo {
        &INFO
    }

    fn memory(&self) -> Option<Box<dyn EngineMemory>> {
        Some(Box::<LastUser>::default())
    }

    fn settle(&self, view: &SegmentView<'_, '_>, memory: &mut dyn EngineMemory) {
        let memory: &mut dyn std::any::Any = memory;
        if let Some(last) = memory.downcast_mut::<LastUser>() {
            *last = LastUser { seen: view.index() + 1, at: last.before(view) };
        }
    }

    fn segment(&self, view: &SegmentView<'_, '_>, cx: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let text = view.text();
        if !text.trim_start().starts_with(['{', '[']) {
            return Ok(Edit::Keep("not_json"));
        }
        match class::of(view) {
            ResultClass::View => return Ok(Edit::Keep("file_view")),
            ResultClass::Diff => return Ok(Edit::Keep("diff")),
            _ => {}
        }
        if view.this().is_edited() || text != view.this().original() {
            return Ok(Edit::Keep("not_original"));
        }
        let table = match Table::find(text, self.threshold, MAX_ROWS) {
            Ok(table) => table,
            Err(reason) => return Ok(Edit::Keep(reason)),
        };
        let facts = Facts::of(&table, &user_words(view));
        let kept = choose::rows(&facts, self.target, hash(text.as_bytes()));
        if kept.len() * 5 > table.rows.len() * 4 {
            return Ok(Edit::Keep("no_gain"));
        }
        let handle = match keep(cx, text)? {
            Ok(handle) => handle,
            Err(reason) => return Ok(Edit::Keep(reason)),
        };
        let (shown, rows) = (kept.len(), table.rows.len());
        let head = format!(
            "[ionizer: kept {shown}/{rows} rows; full -> {}]\n{}\n",
            handle.inner(),
            facts.line(&table, &kept)
        );
        let shorter = table.write(head, &kept, facts.has_ids());
        let mut out = in_place_of(text, &handle, shorter).technique("sampled", 1);
        out.dropped.rows = (rows - shown) as u64;
        Ok(Edit::Replace(out))
    }
}

/// Where the last text of the user stands, so that a long run of results is not walked back for each of them.
#[derive(Debug, Default)]
struct LastUser {
    /// How many texts were looked at.
    seen: usize,
    at: Option<usize>,
}

impl EngineMemory for LastUser {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl LastUser {
    /// The last text of the user before this one.
    fn before(&self, view: &SegmentView<'_, '_>) -> Option<usize> {
        let new = view.earlier().get(self.seen..).unwrap_or_default();
        let found = new.iter().rposition(|segment| segment.kind == SegmentKind::User);
        found.map(|at| self.seen + at).or(self.at)
    }
}

/// Hashes of the words with four characters and more in the last text of the user before this result.
fn user_words(view: &SegmentView<'_, '_>) -> HashSet<u64, ByHash> {
    let nothing = LastUser::default();
    let last = view.memory::<LastUser>().unwrap_or(&nothing).before(view);
    let last = last.and_then(|at| view.earlier().get(at));
    let text = last.map(|segment| segment.original().as_bytes()).unwrap_or_default();
    let text = text.get(..MAX_USER_BYTES).unwrap_or(text);
    let part = |b: &u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@' | b'/' | b':') || *b >= 0x80
    };
    let words = text.split(|b| !part(b)).map(|word| word.strip_suffix(b".").unwrap_or(word));
    words.filter(|word| word.len() >= 4).map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, &'static str> {
        Table::find(text, 20, MAX_ROWS)
    }

    /// Kept rows and the whole output for a text.
    fn ionized(text: &str, user: &str) -> (Vec<usize>, String) {
        let table = table(text).unwrap();
        let words = user.split(' ').filter(|w| w.len() >= 4).map(|w| hash(w.as_bytes())).collect();
        let facts = Facts::of(&table, &words);
        let kept = choose::rows(&facts, 20, hash(text.as_bytes()));
        let line = facts.line(&table, &kept) + "\n";
        let out = table.write(line, &kept, facts.has_ids());
        (kept, out)
    }

    fn rows(count: usize, row: impl Fn(usize) -> String) -> String {
        format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn telling_rows_stay_and_counts_are_exact() {
        let text = rows(400, |n| match n {
            77 => r#"{"host":"h77","code":503,"load":5}"#.to_owned(),
            123 => r#"{"host":"h123","code":200,"load":5,"extra":true}"#.to_owned(),
            210 => r#"{"host":"h210","code":200,"load":-4}"#.to_owned(),
            211 => r#"{"host":"h211","code":200,"load":99.5}"#.to_owned(),
            300 => r#"{"host":"h300","code":200,"load":5,"note":"permission denied"}"#.to_owned(),
            n => format!(r#"{{"host":"h{n}","code":200,"load":5}}"#),
        });
        let (kept, out) = ionized(&text, "what about h333 please");
        for row in [0, 1, 2, 77, 123, 210, 211, 300, 333, 397, 398, 399] {
            assert!(kept.contains(&row), "row {row} of {kept:?}");
        }
        assert!(kept.is_sorted() && kept.len() <= 26, "{}", kept.len());
        let (facts, json) = out.split_once('\n').unwrap();
        assert_eq!(
            facts,
            "all 400 rows: 2 tell of errors, all shown; host: more than 20 values; code: numbers 200..503, 200 x399, \
             503 x1; load: numbers -4..99.5, 5 x398, -4 x1, 99.5 x1; extra: in 1 rows, true x1; note: in 1 rows, \
             \"permission denied\" x1"
        );
        let shown: Vec<serde_json::Value> = serde_json::from_str(json).unwrap();
        assert_eq!(shown.len(), kept.len());
        let numbers: Vec<usize> = shown.iter().map(|row| row["#"].as_u64().unwrap() as usize).collect();
        assert_eq!(numbers, kept, "each row says which one it is");
        assert_eq!(ionized(&text, "what about h333 please").1, out, "the same text, the same rows");
    }

    #[test]
    fn rows_with_ids_are_not_numbered_and_the_rest_of_a_document_stays() {
        let list = rows(60, |n| format!(r#"{{"id":{n},"v":"x"}}"#));
        let text = format!(r#"{{"total": 60, "items": {list}, "next": null}}"#);
        let (kept, out) = ionized(&text, "");
        let json = out.split_once('\n').unwrap().1;
        assert!(json.starts_with(r#"{"total": 60, "items": [{"id":0,"v":"x"},"#), "{json}");
        assert!(json.ends_with(r#"], "next": null}"#) && !json.contains("\"#\""));
        let lines = (0..60).map(|n| format!("{{\"id\":{n}}}\n")).collect::<String>();
        assert_eq!(ionized(&lines, "").0.len(), kept.len());
    }

    #[test]
    fn many_errors_take_half_of_the_room_and_are_counted() {
        let text = rows(300, |n| {
            format!(r#"{{"n":{n},"level":"{}"}}"#, if n.is_multiple_of(2) { "error" } else { "info" })
        });
        let (kept, out) = ionized(&text, "");
        assert!(kept.len() <= 30, "{}", kept.len());
        let shown = kept.iter().filter(|n| n.is_multiple_of(2)).count();
        assert!(out.starts_with(&format!("all 300 rows: 150 tell of errors, {shown} shown; ")), "{out}");
    }

    #[test]
    fn what_is_no_list_of_records_is_left_alone() {
        let numbers = rows(90, |n| n.to_string());
        let mixed = rows(90, |n| if n.is_multiple_of(5) { "1".to_owned() } else { r#"{"a":1}"#.to_owned() });
        for (text, reason) in [
            ("[1, 2", "not_json"),
            ("{\"a\": 1}\nnot json", "not_json"),
            ("{\"a\": [1, 2]}", "few_rows"),
            (numbers.as_str(), "mixed_rows"),
            (mixed.as_str(), "mixed_rows"),
        ] {
            assert_eq!(table(text).err(), Some(reason), "{text:.40}");
        }
    }

    /// Time is bound to the bytes: the rows looked at by the choice never exceed a few passes.
    #[test]
    fn wide_and_long_lists_end() {
        let wide = rows(40, |n| {
            let row: Vec<String> = (0..200).map(|k| format!("\"k{n}_{k}\":{k}")).collect();
            format!("{{{}}}", row.join(","))
        });
        let (kept, out) = ionized(&wide, "");
        assert!(kept.len() <= 40 && out.lines().next().unwrap().len() < 2_200);
    }
}
