//! `rows`: lists of JSON objects as tables, without loss.
//!
//! A list of objects repeats its keys in every row. The block written here names them once, in a
//! header, and keeps values apart that look alike: null and absent, the empty string and null, the
//! text `-` and null, `1` and `"1"`. The law is `decode(encode(x)) = x` as ordered JSON with number
//! spelling; [`encode`] proves it on every output before it returns.
//!
//! # Grammar
//!
//! UTF-8, lines end with a line feed, none after the last.
//!
//! ```text
//! block  = table | outer *( NL "@" k SP table )
//! outer  = compact JSON; the k-th converted array is replaced by @k (k = 1,2,.. in order)
//! table  = "[" N " rows] " col *( "|" col ) [ " ; " legend ] *( NL row )
//! col    = name ":" type [ "?" ]     cells; "?" = the key may be absent
//!        | name "=" value            same value in every row, no cells
//! type   = "n" | "s" | "b" | "j"     numbers, strings, booleans, any JSON; each may hold null
//! name   = step *( "." step )        path into nested objects that every row has
//!        | JSON string               a key that is no step, never a path
//! step   = [A-Za-z_][A-Za-z0-9_-]*
//! value  = "-" | compact JSON        "-" = null
//! row    = cell *( "|" cell )        one cell for each column with cells, in header order
//! cell   = "~"                       key absent
//!        | "-"                       null
//!        | number, as in the source  type n
//!        | "true" | "false"          type b
//!        | bare | JSON string        type s
//!        | compact JSON              type j, strings always quoted
//! legend = "-=null" | "~=absent" | "-=null ~=absent"
//! ```
//!
//! * `bare` is one character or more; not exactly `-` or `~`; does not begin with `"`, `@`, `[`, `{`;
//!   neither begins nor ends with white space (Unicode's, not only ASCII); holds no `|`, no `"`, no
//!   control character (U+0000-001F, U+007F-009F) and no U+2028 or U+2029. A backslash is itself.
//! * A cell that begins with `"` (types s and j), `{` or `[` (type j) is one JSON value to its end.
//! * Columns stand in row 1's key order; a key that shows up later stands right after the key that
//!   precedes it in that row. All rows agree with that order.
//! * A column of nulls only is a constant `-`; with absent keys among them it has type j. The legend
//!   lists what occurs, constants included; readers may ignore it.
//! * A nested object becomes columns `a.x` when every row has it with the same keys (one or more), up
//!   to three steps, and no key of the table needs quotes. Such columns are never absent.
//! * Without cells there are no row lines; N alone says how many rows there are.
//! * JSON Lines become one table and decode to the list of their values.

mod block;
mod columns;
mod decode;
mod emit;
mod encode;
mod engine;
mod fmt;
mod header;
mod json;
mod locate;
mod strings;
mod survey;
mod verify;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use decode::{DecodeError, decode, decode_with_limit};
pub use encode::encode;
pub(crate) use engine::ENTRY;
pub use fmt::{Escapes, Layout, Printer};

/// Largest text that is looked at, and largest document that [`decode`] writes: 16 MiB.
pub const MAX_BYTES: usize = 16 << 20;

/// Limits and gates of [`encode`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Fewer rows are no table. Default 8.
    pub min_rows: u32,
    /// Smaller documents are left alone, in bytes. Default 512.
    pub min_chars: usize,
    /// Larger texts are left alone, in bytes. Default [`MAX_BYTES`].
    pub max_bytes: usize,
    /// Most columns of a table. Default 64.
    pub max_columns: usize,
    /// Most cells of all tables. Default 4,000,000.
    pub max_cells: u64,
    /// Least saving in per cent of the document's tokens. Default 10.
    pub min_saving_percent: u32,
    /// Least saving in tokens. Default 40.
    pub min_saving_tokens: u32,
    /// Decode the block and compare it with the source before it is returned. Default true.
    pub verify: bool,
    /// Refuse texts that hold one of our markers. Default true; a caller that has looked at the
    /// original already turns it off.
    pub refuse_marked: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            min_rows: 8,
            min_chars: 512,
            max_bytes: MAX_BYTES,
            max_columns: 64,
            max_cells: 4_000_000,
            min_saving_percent: 10,
            min_saving_tokens: 40,
            verify: true,
            refuse_marked: true,
        }
    }
}

/// What stands in place of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A block of tables.
    Table,
    /// The document without white space: it saves nearly as much, and is read more easily.
    CompactJson,
}

impl Form {
    /// Name of the technique in receipts: `"rows"` or `"json-compact"`.
    pub fn technique(self) -> &'static str {
        match self {
            Form::Table => "rows",
            Form::CompactJson => "json-compact",
        }
    }
}

/// A text whose document has been replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The whole text; what surrounds the document is byte for byte as it was.
    pub text: String,
    /// What stands in place of the document.
    pub form: Form,
    /// Rows of all tables.
    pub rows: u32,
    /// Number of tables.
    pub tables: u32,
    /// Bytes of the original that were replaced.
    pub place: Range<usize>,
    /// Bytes of [`Encoded::text`] that replace them.
    pub block: Range<usize>,
    /// How the document was printed, when printing it again gives the original bytes.
    pub printer: Option<Printer>,
    /// Tokens of the document.
    pub tokens_before: u32,
    /// Tokens of what stands in its place.
    pub tokens_after: u32,
}

impl Encoded {
    /// What [`restore`] needs besides the text.
    pub fn edit(&self) -> Edit {
        Edit { block: self.block.clone(), printer: self.printer }
    }
}

/// Where a block stands in a text and how its document was printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the encoded text.
    pub block: Range<usize>,
    /// Printer of the document.
    pub printer: Option<Printer>,
}

/// The original text, byte for byte; `None` when its printer is not known or the block does not decode.
///
/// ```
/// # use omniroute_compress::rows::{self, Options};
/// let rows: Vec<_> = (0..50).map(|i| format!(r#"{{"id": {i}, "state": "open", "score": {i}.50}}"#)).collect();
/// let original = format!("HTTP/1.1 200 OK\n\n[{}]\n", rows.join(", "));
/// let encoded = rows::encode(&original, &|text| text.len() as u32 / 4, &Options::default())?;
/// assert!(encoded.text.starts_with("HTTP/1.1 200 OK\n\n[50 rows] id:n|state=\"open\"|score:n\n0|0.50\n1|1.50\n"));
/// assert_eq!(rows::restore(&encoded.text, &encoded.edit()).as_deref(), Some(original.as_str()));
/// # Ok::<(), rows::Refusal>(())
/// ```
pub fn restore(encoded: &str, edit: &Edit) -> Option<String> {
    let printed = fmt::print(&decode(encoded.get(edit.block.clone())?).ok()?, edit.printer?);
    Some([encoded.get(..edit.block.start)?, &printed, encoded.get(edit.block.end..)?].concat())
}

/// Why a text is left as it is.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No JSON document fills the text or whole lines of it.
    NotJson,
    /// The document is smaller than the least size.
    TooSmall,
    /// No list has enough rows.
    TooFewRows,
    /// The list holds something else than objects.
    NotObjects,
    /// An object names a key twice.
    DuplicateKey,
    /// A `\u` escape names half of a surrogate pair.
    Surrogate,
    /// Containers are nested more than 32 deep.
    TooDeep,
    /// The text is larger than the limit.
    TooLarge,
    /// The rows have more keys than the limit.
    TooManyColumns,
    /// The tables have more cells than the limit.
    TooManyCells,
    /// Keys are present in less than 60 % of the rows on average.
    SparseColumns,
    /// Rows disagree on the order of keys.
    KeyOrder,
    /// The table saves too little.
    NoGain,
    /// The table did not decode to its source: a bug of ours, found in time.
    VerifyFailed,
    /// The text holds one of our markers.
    AlreadyCompressed,
}

impl Refusal {
    /// Stable code for receipts.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::NotJson => "not_json",
            Refusal::TooSmall => "too_small",
            Refusal::TooFewRows => "too_few_rows",
            Refusal::NotObjects => "not_objects",
            Refusal::DuplicateKey => "duplicate_key",
            Refusal::Surrogate => "surrogate",
            Refusal::TooDeep => "too_deep",
            Refusal::TooLarge => "too_large",
            Refusal::TooManyColumns => "too_many_columns",
            Refusal::TooManyCells => "too_many_cells",
            Refusal::SparseColumns => "sparse_columns",
            Refusal::KeyOrder => "key_order",
            Refusal::NoGain => "no_gain",
            Refusal::VerifyFailed => "verify_failed",
            Refusal::AlreadyCompressed => "already_compressed",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

impl std::error::Error for Refusal {}
