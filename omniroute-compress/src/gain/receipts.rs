//! Sums over receipts: whole requests, engines, techniques.

use std::collections::BTreeMap;

use omniroute_core::{CompressReceipt, DEFAULT_MAX_BYTES, Doc, Kind, NodeId};

use super::event::signed;
use super::money::Size;
use super::share::Share;
use super::tally::Gain;
use super::texts;

/// No more unreadable lines than this are named; all are counted.
const MAX_NAMED: usize = 20;

/// Sums over whole requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestTotals {
    /// Requests.
    pub count: u64,
    /// Requests that were changed.
    pub applied: u64,
    /// Requests that nothing was attempted on.
    pub skipped: u64,
    /// Requests whose edits were all taken back.
    pub reverted: u64,
    /// Tokens as they came.
    pub tokens_before: u64,
    /// Tokens as sent.
    pub tokens_after: u64,
    /// Bytes as they came.
    pub bytes_before: u64,
    /// Bytes as sent.
    pub bytes_after: u64,
    /// Requests whose tokens were estimated.
    pub estimated: u64,
}

impl RequestTotals {
    /// Tokens saved.
    pub fn saved(&self) -> i64 {
        signed(self.tokens_before) - signed(self.tokens_after)
    }

    /// Saved part of all tokens: the average over requests, weighted by their tokens.
    pub fn share(&self) -> Share {
        Share::new(self.saved(), self.tokens_before)
    }
}

/// Sums over the steps of one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineTotals {
    /// Requests in whose plan it was.
    pub requests: u64,
    /// Texts it was offered.
    pub seen: u64,
    /// Texts it changed.
    pub changed: u64,
    /// Tokens of the texts it was offered.
    pub tokens_in: u64,
    /// Tokens of these texts after it.
    pub tokens_out: u64,
    /// What it did and how often, for instance `rtk-render:pytest`.
    pub techniques: BTreeMap<String, u64>,
    /// Why it left texts alone and how often.
    pub skips: BTreeMap<String, u64>,
}

impl EngineTotals {
    /// Tokens saved.
    pub fn saved(&self) -> i64 {
        signed(self.tokens_in) - signed(self.tokens_out)
    }

    /// Saved part of what it was offered.
    pub fn share(&self) -> Share {
        Share::new(self.saved(), self.tokens_in)
    }

    /// Renderers that ran, by the id in `rtk-render:<id>`, and how often.
    pub fn renderers(&self) -> impl Iterator<Item = (&str, u64)> {
        self.techniques.iter().filter_map(|(name, count)| Some((name.strip_prefix("rtk-render:")?, *count)))
    }
}

/// What is known from receipts.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    pub(super) totals: RequestTotals,
    pub(super) engines: BTreeMap<String, EngineTotals>,
    /// Saved tenths of a percent, one a request, in order.
    pub(super) shares: Vec<i64>,
    /// Sizes of requests, in order.
    pub(super) sizes: Vec<Size>,
}

/// A line of a receipts file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// What was found in a file of receipts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonLines {
    /// Receipts.
    pub read: usize,
    /// Lines that could not be read.
    pub unreadable: usize,
    /// The first 20 of those.
    pub bad: Vec<BadLine>,
}

impl Gain {
    /// Adds a receipt.
    pub fn add_receipt(&mut self, receipt: &CompressReceipt) {
        let mut reading = Reading {
            is_text: receipt.wire == texts::WIRE,
            applied: receipt.applied,
            skipped: receipt.skipped.is_some(),
            reverted: receipt.reverted.is_some(),
            exact: receipt.counter.exact,
            tokens: [receipt.tokens_before, receipt.tokens_after],
            bytes: [receipt.bytes_before, receipt.bytes_after],
            at: None,
            steps: Vec::new(),
        };
        for step in &receipt.steps {
            let named = |counts: &BTreeMap<&'static str, u32>| {
                counts.iter().map(|(name, count)| ((*name).to_owned(), u64::from(*count))).collect()
            };
            reading.steps.push((
                step.engine.clone(),
                EngineTotals {
                    requests: 1,
                    seen: step.segments_seen.into(),
                    changed: step.segments_changed.into(),
                    tokens_in: step.tokens_in,
                    tokens_out: step.tokens_out,
                    techniques: named(&step.techniques),
                    skips: named(&step.skips),
                },
            ));
        }
        self.take(reading);
    }

    /// Adds the receipts of a file, one JSON document a line; a file that is one document is taken as well. A line
    /// that cannot be read is counted and named, and the others are read.
    pub fn add_jsonl(&mut self, bytes: &[u8]) -> JsonLines {
        let mut found = JsonLines::default();
        let whole = (bytes.len() <= DEFAULT_MAX_BYTES).then(|| Doc::parse(bytes.to_vec()).ok()).flatten();
        if let Some(reading) = whole.and_then(|doc| Reading::of(&doc, doc.root()).ok()) {
            self.take(reading);
            found.read = 1;
            return found;
        }
        for (n, line) in bytes.split(|b| *b == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let parsed = Doc::parse(line.to_vec());
            let parsed = parsed.map_err(|e| format!("not JSON, column {}", e.column()));
            match parsed.and_then(|doc| Reading::of(&doc, doc.root())) {
                Ok(reading) => {
                    self.take(reading);
                    found.read += 1;
                }
                Err(why) => {
                    found.unreadable += 1;
                    if found.bad.len() < MAX_NAMED {
                        found.bad.push(BadLine { line: n + 1, why });
                    }
                }
            }
        }
        found
    }

    /// Sums over the requests whose receipts were added.
    pub fn requests(&self) -> &RequestTotals {
        &self.requests.totals
    }

    /// Sums by engine, sorted by its id.
    pub fn engines(&self) -> impl Iterator<Item = (&str, &EngineTotals)> {
        self.requests.engines.iter().map(|(engine, totals)| (engine.as_str(), totals))
    }

    /// Saved tenths of a percent, one a request with tokens, in the order in which they were added.
    pub fn request_shares(&self) -> &[i64] {
        &self.requests.shares
    }

    /// The share that `percent` of the requests do not exceed (nearest rank), in tenths of a percent: 50 is the
    /// median.
    pub fn percentile(&self, percent: u8) -> Option<i64> {
        let mut sorted = self.requests.shares.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * usize::from(percent.min(100))).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied()
    }

    pub(super) fn sizes(&self) -> &[Size] {
        &self.requests.sizes
    }

    fn take(&mut self, reading: Reading) {
        if reading.is_text && !reading.skipped {
            self.add(&texts::event(reading.tokens, reading.bytes, reading.exact, &reading.steps));
        }
        let ([before, after], [bytes_before, bytes_after]) = (reading.tokens, reading.bytes);
        let Requests { totals, engines, shares, sizes } = &mut self.requests;
        if !reading.is_text {
            sizes.push(Size { tokens: reading.tokens, at: reading.at });
        }
        totals.count += 1;
        totals.applied += u64::from(reading.applied);
        totals.skipped += u64::from(reading.skipped);
        totals.reverted += u64::from(reading.reverted);
        totals.estimated += u64::from(!reading.exact);
        totals.tokens_before += before;
        totals.tokens_after += after;
        totals.bytes_before += bytes_before;
        totals.bytes_after += bytes_after;
        shares.extend(Share::new(signed(before) - signed(after), before).tenths());
        for (engine, step) in reading.steps {
            let sum = engines.entry(engine).or_default();
            sum.requests += step.requests;
            sum.seen += step.seen;
            sum.changed += step.changed;
            sum.tokens_in += step.tokens_in;
            sum.tokens_out += step.tokens_out;
            let add = |to: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>| {
                from.into_iter().for_each(|(name, count)| *to.entry(name).or_default() += count);
            };
            add(&mut sum.techniques, step.techniques);
            add(&mut sum.skips, step.skips);
        }
    }
}

/// What is taken from one receipt.
struct Reading {
    /// It is about one text, not about a request.
    is_text: bool,
    applied: bool,
    skipped: bool,
    reverted: bool,
    exact: bool,
    tokens: [u64; 2],
    bytes: [u64; 2],
    /// When the request was sent, if whoever wrote the receipt said so.
    at: Option<u64>,
    steps: Vec<(String, EngineTotals)>,
}

impl Reading {
    /// Reads a receipt written as JSON. Token counts must be there; what else is missing counts as nothing.
    fn of(doc: &Doc, root: NodeId) -> Result<Reading, String> {
        if doc.kind(root) != Kind::Object {
            return Err("not an object".to_owned());
        }
        let field = |node: NodeId, name: &str| doc.get(node, name);
        let flag = |node: Option<NodeId>| node.and_then(|node| doc.bool(node)).unwrap_or(false);
        let set = |name: &str| field(root, name).is_some_and(|node| doc.kind(node) != Kind::Null);
        let number =
            |node: NodeId, name: &str| field(node, name).and_then(|n| u64::try_from(doc.integer(n)?).ok());
        let need = |name: &str| number(root, name).ok_or_else(|| format!("{name} is not a number of tokens"));
        let counter = field(root, "counter");
        let mut steps = Vec::new();
        for step in field(root, "steps").into_iter().flat_map(|steps| doc.elements(steps)) {
            let Some(engine) = field(step, "engine").and_then(|node| doc.str(node)) else { continue };
            let some = |name: &str| number(step, name).unwrap_or(0);
            let counts = |name: &str| {
                let members = field(step, name).into_iter().flat_map(|node| doc.members(node));
                let read = |(key, value)| {
                    Some((doc.str(key)?.into_owned(), u64::try_from(doc.integer(value)?).ok()?))
                };
                members.filter_map(read).collect::<BTreeMap<String, u64>>()
            };
            let totals = EngineTotals {
                requests: 1,
                seen: some("segments_seen"),
                changed: some("segments_changed"),
                tokens_in: some("tokens_in"),
                tokens_out: some("tokens_out"),
                techniques: counts("techniques"),
                skips: counts("skips"),
            };
            steps.push((engine.into_owned(), totals));
        }
        let wire = field(root, "wire").and_then(|node| doc.str(node));
        Ok(Reading {
            is_text: wire.as_deref() == Some(texts::WIRE),
            applied: flag(field(root, "applied")),
            skipped: set("skipped"),
            reverted: set("reverted"),
            exact: flag(counter.and_then(|counter| field(counter, "exact"))),
            tokens: [need("tokens_before")?, need("tokens_after")?],
            bytes: ["bytes_before", "bytes_after"].map(|name| number(root, name).unwrap_or(0)),
            at: number(root, "at_ms"),
            steps,
        })
    }
}
