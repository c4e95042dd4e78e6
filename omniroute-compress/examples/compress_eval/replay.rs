//! One session, request by request, under one plan.

use std::fmt::Write as _;
use std::sync::Arc;

use omniroute_compress::ccr::Handle;
use omniroute_compress::cost::Request;
use omniroute_compress::{CompressBuilder, expand};
use omniroute_core::{
    BlobId, BlobStore, ChatRequest, MemoryBlobs, Moment, Principal, SegmentKind, SessionId, Transcript,
};

use crate::common::Session;
use crate::common::bodies::{paired, raw_messages};
use crate::money::{Counter, cost};
use crate::queries::needles;
use crate::words::{Words, words};

/// Sums of one session or of many.
#[derive(Debug, Default, Clone)]
pub(crate) struct Row {
    requests: u64,
    tokens: [u64; 2],
    results: [u64; 2],
    money: [[u128; 2]; 2],
    /// Kept in sight, fetchable, asked for.
    needles: [u64; 3],
    /// In sight, after taking references back, asked for.
    quotes: [u64; 3],
    /// In sight, fetchable, made use of.
    steps: [u64; 3],
    violations: u64,
    /// What was needed and was not in sight, in words.
    pub(crate) misses: Vec<String>,
}

impl Row {
    pub(crate) const HEAD: &str = "| session | requests | tokens at the end | saved of request | saved of tool results | cost, writes priced | cost, writes free | needles | quotes | next steps | violations |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

    pub(crate) fn add(&mut self, other: &Row) {
        self.requests += other.requests;
        self.violations += other.violations;
        let sums = [(&mut self.tokens, &other.tokens), (&mut self.results, &other.results)];
        for (sum, add) in sums {
            sum.iter_mut().zip(add).for_each(|(a, b)| *a += b);
        }
        let sums = [
            (&mut self.needles, &other.needles),
            (&mut self.quotes, &other.quotes),
            (&mut self.steps, &other.steps),
        ];
        for (sum, add) in sums {
            sum.iter_mut().zip(add).for_each(|(a, b)| *a += b);
        }
        for (sum, add) in self.money.iter_mut().flatten().zip(other.money.iter().flatten()) {
            *sum += add;
        }
    }

    /// Of a thousand tokens of results, those that were sent.
    pub(crate) fn kept_per_mille(&self) -> usize {
        usize::try_from((self.results[1] * 1000).checked_div(self.results[0]).unwrap_or(1000)).unwrap_or(1000)
    }

    /// One line of the table.
    pub(crate) fn line(&self, name: &str) -> String {
        let saved = |[before, after]: [u64; 2]| match before {
            0 => "-".to_owned(),
            _ => format!("{:.1} %", 100.0 * (before as f64 - after as f64) / before as f64),
        };
        let mut out = format!(
            "| {name} | {} | {} | {} | {} |",
            self.requests,
            self.tokens[0],
            saved(self.tokens),
            saved(self.results)
        );
        for [before, after] in self.money {
            let usd = |pico: u128| pico as f64 / 1e12;
            let share =
                if before == 0 { 0.0 } else { 100.0 * (after as f64 - before as f64) / before as f64 };
            let _ = write!(out, " {:.3} to {:.3} USD ({share:+.1} %) |", usd(before), usd(after));
        }
        let [seen, fetched, asked] = self.needles;
        let _ = write!(out, " {seen} + {fetched} of {asked} |");
        let [seen, referred, asked] = self.quotes;
        let _ = write!(out, " {seen} + {referred} of {asked} |");
        let [seen, fetched, asked] = self.steps;
        let _ = write!(out, " {seen} + {fetched} of {asked} | {} |", self.violations);
        out
    }
}

/// The start of a session as a body, without building it anew for every request.
struct Bodies {
    head: String,
    messages: Vec<String>,
    tail: String,
}

impl Bodies {
    fn of(session: &Session) -> Bodies {
        let mut frame = session.body.clone();
        frame[session.list()] = "\u{1}".into();
        let frame = frame.to_string();
        let (head, tail) = frame.split_once("\"\\u0001\"").unwrap();
        let messages = session.messages().iter().map(ToString::to_string).collect();
        Bodies { head: format!("{head}["), messages, tail: format!("]{tail}") }
    }

    fn first(&self, n: usize) -> Vec<u8> {
        let mut out = self.head.clone();
        for (at, message) in self.messages.iter().take(n).enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            out.push_str(message);
        }
        out.push_str(&self.tail);
        out.into_bytes()
    }
}

/// Requests between two checks that every result still answers its call; the last one is always checked.
const PAIRS_EVERY: usize = 16;

/// Sends requests of the session as an agent did: all of them, or so many.
pub(crate) fn replay(session: &Session, builder: CompressBuilder, most: usize) -> Row {
    let bodies = Bodies::of(session);
    let blobs = Arc::new(MemoryBlobs::default());
    let compressor = builder.blobs(blobs.clone()).build().unwrap();
    let model = session.body["model"].as_str().unwrap_or_default().to_owned();
    let (mut before, mut after) = (Counter::new(&model), Counter::new(&model));
    let (mut given, mut sent_words) = (Words::default(), Words::default());
    let mut bills: [Vec<Request>; 2] = [Vec::new(), Vec::new()];
    let mut row = Row::default();
    let mut last: Vec<String> = Vec::new();
    let cuts = session.cuts(most);
    let needles = needles(session);
    let mut open: Vec<_> = needles.iter().collect();
    for (number, &cut) in cuts.iter().enumerate() {
        let body = bodies.first(cut);
        let raw = ChatRequest::parse(session.wire, body).unwrap();
        let named = SessionId::new(&*session.name);
        let out = compressor.compress(&mut raw.clone(), Some(&named), Moment::default());
        let sent = ChatRequest::parse(session.wire, out.body.clone()).unwrap();
        let (was, is) = (Transcript::of(&raw).unwrap(), Transcript::of(&sent).unwrap());
        bills[0].push(before.request(&was));
        bills[1].push(after.request(&is));
        given.add(&was);
        sent_words.add(&is);
        row.requests += 1;

        let messages = raw_messages(&out.body);
        let extra = messages.len().abs_diff(cut);
        let grown = messages.get(..last.len()) == Some(last.as_slice());
        row.violations += u64::from(!grown) + u64::from(extra > 1);
        if number % PAIRS_EVERY == 0 || number + 1 == cuts.len() {
            row.violations += u64::from(paired(raw.doc().bytes()) != paired(&out.body));
        }
        row.violations +=
            u64::from(out.receipt.tokens_after > out.receipt.tokens_before && out.receipt.added.is_empty());
        last = messages;

        let texts: Vec<&str> = is.segments().iter().map(|s| s.original()).collect();
        // What the answer to this request made use of.
        open.retain(|needle| {
            if needle.used > cut && Some(&cut) != cuts.last() {
                return true;
            }
            row.needles[2] += 1;
            if texts.iter().any(|text| text.contains(&needle.fact)) {
                row.needles[0] += 1;
                return false;
            }
            let behind = fetched(&blobs, &texts).iter().any(|text| text.contains(&needle.fact));
            row.needles[1] += u64::from(behind);
            row.misses.push(miss(session, cut, "needle", &needle.fact, behind));
            false
        });
        next_calls(session, &bodies, cut, &raw, |call| {
            for word in call.iter().flat_map(|text| words(text)).filter(|word| given.in_results(word)) {
                row.steps[2] += 1;
                if sent_words.has(word) {
                    row.steps[0] += 1;
                    continue;
                }
                let behind = fetched(&blobs, &texts).iter().any(|text| text.contains(word));
                row.steps[1] += u64::from(behind);
                row.misses.push(miss(session, cut, "word", word, behind));
            }
            let results = || was.segments().iter().filter(|s| s.kind == SegmentKind::ToolResult);
            for old in call.iter().filter(|text| text.len() >= 20) {
                if !results().any(|s| s.original().contains(old.as_str())) {
                    continue;
                }
                row.quotes[2] += 1;
                if texts.iter().any(|text| text.contains(old.as_str())) {
                    row.quotes[0] += 1;
                    continue;
                }
                let referred = expanded_has(&sent, &out.receipt.edits, old);
                row.quotes[1] += u64::from(referred);
                row.misses.push(miss(session, cut, "quote", old, referred));
            }
        });
        if Some(&cut) == cuts.last() {
            let totals = out.receipt.by_kind.get(&SegmentKind::ToolResult).copied().unwrap_or_default();
            row.tokens = [out.receipt.tokens_before, out.receipt.tokens_after];
            row.results = [totals.tokens_before, totals.tokens_after];
        }
    }
    let (without, with) = (cost(&bills[0]), cost(&bills[1]));
    row.money = [[without[0], with[0]], [without[1], with[1]]];
    row
}

fn miss(session: &Session, cut: usize, what: &str, text: &str, found: bool) -> String {
    let start: String = text.chars().take(60).collect();
    let how = if found { "not in sight, but can be had" } else { "lost" };
    format!("{}, {cut} messages, {what} {start:?}: {how}", session.name)
}

/// The strings in the arguments of the calls with which the recorded agent answered the request of `cut` messages.
fn next_calls(
    session: &Session,
    bodies: &Bodies,
    cut: usize,
    raw: &ChatRequest,
    mut each: impl FnMut(&[String]),
) {
    let next = (cut + 1..=session.messages().len()).take_while(|n| {
        let message = &session.messages()[n - 1];
        let kind = message["type"].as_str().unwrap_or_default();
        matches!(message["role"].as_str(), Some("assistant" | "model"))
            || kind.ends_with("_call")
            || kind == "reasoning"
    });
    let Some(end) = next.last() else { return };
    let answered = ChatRequest::parse(raw.wire(), bodies.first(end)).unwrap();
    let transcript = Transcript::of(&answered).unwrap();
    for segment in transcript.segments().iter().filter(|s| s.kind == SegmentKind::ToolCall) {
        let new = usize::try_from(segment.id.message).is_ok_and(|message| message >= cut && message < end);
        if new {
            each(&segment.argument_leaves());
        }
    }
}

/// Everything behind the handles in these texts.
fn fetched(blobs: &MemoryBlobs, texts: &[&str]) -> Vec<String> {
    let me = Principal::default();
    let rtk = |text: &str| -> Vec<BlobId> {
        text.split("id=").skip(1).filter_map(|rest| BlobId::parse(rest.get(..24)?)).collect()
    };
    let ids =
        texts.iter().flat_map(|text| Handle::all_in(text).map(|h| h.id).chain(rtk(text)).collect::<Vec<_>>());
    let blob = |id| blobs.get(&me, id).unwrap().map(|blob| String::from_utf8_lossy(&blob).into_owned());
    ids.filter_map(blob).collect()
}

fn expanded_has(sent: &ChatRequest, edits: &omniroute_core::EditLog, text: &str) -> bool {
    let Ok(back) = expand(sent, edits) else { return false };
    let Ok(request) = ChatRequest::parse(sent.wire(), back.body) else { return false };
    Transcript::of(&request).is_ok_and(|t| t.segments().iter().any(|s| s.original().contains(text)))
}
