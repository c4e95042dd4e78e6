//! The sums as a table for people, as JSON and as CSV.

use omniroute_core::escape;

use super::receipts::{EngineTotals, RequestTotals};
use super::share::Share;
use super::tally::{By, Gain, Row};

impl Gain {
    /// A table with a total under it; `no data yet` if there is none.
    pub fn to_table(&self, by: By) -> String {
        if self.is_empty() {
            return "no data yet\n".to_owned();
        }
        let mut out = String::new();
        let requests = self.requests();
        if requests.count > 0 {
            self.request_table(requests, &mut out);
        }
        let rows = self.rows(by);
        if !rows.is_empty() {
            self.result_table(by, &rows, &mut out);
        }
        out
    }

    fn request_table(&self, requests: &RequestTotals, out: &mut String) {
        let tenths = |n: Option<i64>| n.map_or_else(|| "-".to_owned(), |n| Share::new(n, 1000).to_string());
        out.push_str(&format!(
            "{} requests, {} changed: {} -> {} tokens{}, saved {} ({}); per request: median {}, p90 {}\n",
            requests.count,
            requests.applied,
            requests.tokens_before,
            requests.tokens_after,
            if requests.estimated > 0 { " (estimated)" } else { "" },
            requests.saved(),
            requests.share(),
            tenths(self.percentile(50)),
            tenths(self.percentile(90)),
        ));
        let mut table =
            Table::new(["engine", "texts", "changed", "tokens in", "tokens out", "saved", "share"]);
        for (engine, sum) in self.engines().filter(|(_, sum)| had_a_say(sum)) {
            let numbers = [sum.seen, sum.changed, sum.tokens_in, sum.tokens_out].map(|n| n.to_string());
            let [seen, changed, tokens_in, tokens_out] = numbers;
            let saved = sum.saved().to_string();
            table.push([
                engine.to_owned(),
                seen,
                changed,
                tokens_in,
                tokens_out,
                saved,
                sum.share().to_string(),
            ]);
        }
        table.print(out);
    }

    fn result_table(&self, by: By, rows: &[(String, Row)], out: &mut String) {
        let head = match by {
            By::Class => "class",
            By::Filter => "class, filter",
            By::Day => "day",
        };
        let mut table =
            Table::new([head, "results", "changed", "baseline", "sent", "saved", "share", "reruns", "net"]);
        let total = ("total".to_owned(), self.total());
        for (name, row) in rows.iter().chain([&total]) {
            table.push([
                name.clone(),
                row.count.to_string(),
                row.changed.to_string(),
                row.tokens_in_capped.to_string(),
                row.tokens_out_capped.to_string(),
                row.saved().to_string(),
                row.share().to_string(),
                row.reruns.to_string(),
                row.net().to_string(),
            ]);
        }
        table.print(out);
        if total.1.estimated > 0 {
            out.push_str("tokens are estimates\n");
        }
    }

    /// One JSON document: totals, then rows. Percentages have one digit behind the point.
    pub fn to_json(&self, by: By) -> String {
        let rows: Vec<String> = self.rows(by).iter().map(|(name, row)| row_json(Some(name), row)).collect();
        let engines: Vec<String> = self.engines().map(|(engine, sum)| engine_json(engine, sum)).collect();
        let r = self.requests();
        let tenths = |n: Option<i64>| {
            n.and_then(|n| Share::new(n, 1000).number()).unwrap_or_else(|| "null".to_owned())
        };
        format!(
            "{{\"requests\":{{\"count\":{},\"applied\":{},\"skipped\":{},\"reverted\":{},\"tokens_before\":{},\
             \"tokens_after\":{},\"bytes_before\":{},\"bytes_after\":{},\"saved\":{},\"saved_percent\":{},\
             \"median_percent\":{},\"p90_percent\":{},\"estimated\":{}}},\"engines\":[{}],\"results\":{},\"rows\":[{}]}}",
            r.count,
            r.applied,
            r.skipped,
            r.reverted,
            r.tokens_before,
            r.tokens_after,
            r.bytes_before,
            r.bytes_after,
            r.saved(),
            percent(r.share()),
            tenths(self.percentile(50)),
            tenths(self.percentile(90)),
            r.estimated,
            engines.join(","),
            row_json(None, &self.total()),
            rows.join(","),
        )
    }

    /// Rows of results as CSV with a header and a line `total`; CRLF line ends as in RFC 4180.
    pub fn to_csv(&self, by: By) -> String {
        let mut out = format!("name,{},saved,saved_percent,net\r\n", COLUMNS.map(|(name, _)| name).join(","));
        let total = ("total".to_owned(), self.total());
        for (name, row) in self.rows(by).iter().chain([&total]) {
            let numbers = COLUMNS.map(|(_, get)| get(row).to_string()).join(",");
            let share = row.share().number().unwrap_or_default();
            out.push_str(&format!("{},{numbers},{},{share},{}\r\n", quoted(name), row.saved(), row.net()));
        }
        out
    }
}

type Column = (&'static str, fn(&Row) -> u64);

/// Columns that are plain sums.
const COLUMNS: [Column; 14] = [
    ("count", |r| r.count),
    ("changed", |r| r.changed),
    ("bytes_in", |r| r.bytes_in),
    ("bytes_out", |r| r.bytes_out),
    ("tokens_in", |r| r.tokens_in),
    ("tokens_out", |r| r.tokens_out),
    ("tokens_in_capped", |r| r.tokens_in_capped),
    ("tokens_out_capped", |r| r.tokens_out_capped),
    ("estimated", |r| r.estimated),
    ("micros", |r| r.micros),
    ("guard_reinserted", |r| r.guard_reinserted),
    ("reruns", |r| r.reruns),
    ("rerun_tokens", |r| r.rerun_tokens),
    ("retrievals", |r| r.retrievals),
];

fn row_json(name: Option<&String>, row: &Row) -> String {
    let mut fields: Vec<String> = name.map(|name| format!("\"name\":{}", escape(name))).into_iter().collect();
    fields.extend(COLUMNS.map(|(column, get)| format!("\"{column}\":{}", get(row))));
    fields.push(format!("\"saved\":{},\"saved_percent\":{}", row.saved(), percent(row.share())));
    fields.push(format!("\"net\":{}", row.net()));
    format!("{{{}}}", fields.join(","))
}

fn engine_json(engine: &str, sum: &EngineTotals) -> String {
    let counts = |counts: &std::collections::BTreeMap<String, u64>| {
        counts.iter().map(|(name, count)| format!("{}:{count}", escape(name))).collect::<Vec<_>>().join(",")
    };
    format!(
        "{{\"engine\":{},\"requests\":{},\"seen\":{},\"changed\":{},\"tokens_in\":{},\"tokens_out\":{},\"saved\":{},\
         \"saved_percent\":{},\"techniques\":{{{}}},\"skips\":{{{}}}}}",
        escape(engine),
        sum.requests,
        sum.seen,
        sum.changed,
        sum.tokens_in,
        sum.tokens_out,
        sum.saved(),
        percent(sum.share()),
        counts(&sum.techniques),
        counts(&sum.skips),
    )
}

fn percent(share: Share) -> String {
    share.number().unwrap_or_else(|| "null".to_owned())
}

/// A field of CSV: quoted when it must be.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Whether the engine was asked about any text: not one that only works on older turns and was not asked, nor one whose
/// retrieval tool was not there.
fn had_a_say(sum: &EngineTotals) -> bool {
    sum.seen > sum.skips.get("ccr_unreachable").copied().unwrap_or(0)
}

/// Columns of text: the first to the left, the others to the right.
struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    fn new(head: [&str; N]) -> Self {
        Table { rows: vec![head.map(str::to_owned)] }
    }

    fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    fn print(&self, out: &mut String) {
        let mut widths = [0usize; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &self.rows {
            for (n, (cell, width)) in row.iter().zip(widths).enumerate() {
                let cell = if n == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
                out.push_str(&cell);
            }
            out.push('\n');
        }
    }
}
