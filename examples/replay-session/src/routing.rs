//! The same session once more, through a router that compresses: call by call to `auto`, against played vendors that limit
//! the rate, break and recover.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use omniroute_compress::Compress;
use omniroute_core::{ChatRequest, FailureKind, ModelFacts, SessionId};
use omniroute_providers::Catalog;
use omniroute_route::{Connection, Router};
use scripted_vendors::{Does, Phase, Script, Stage, Turn, minutes, why};

use crate::Failure;
use crate::figures::grouped;
use crate::session::Session;

/// What clients ask for.
const ASKED: &str = "auto/coding";
/// Time between two calls.
const EVERY: Duration = Duration::from_secs(20);
/// Random numbers start here.
const SEED: u64 = 7;
/// Tokens of each played answer.
const ANSWER: u64 = 300;

/// A connection with its model, and what happens to it: from and to in hundredths of the session.
struct Part {
    provider: &'static str,
    connection: &'static str,
    model: &'static str,
    trouble: Option<(u32, u32, FailureKind, Option<Duration>)>,
}

const CAST: [Part; 3] = [
    Part { provider: "anthropic", connection: "team", model: "claude-sonnet-4-5", trouble: None },
    Part {
        provider: "openai",
        connection: "work",
        model: "gpt-5",
        trouble: Some((20, 50, FailureKind::RateLimited, Some(Duration::from_secs(60)))),
    },
    Part {
        provider: "gemini",
        connection: "home",
        model: "gemini-2.5-pro",
        trouble: Some((35, 75, FailureKind::Unavailable, None)),
    },
];

/// What became of every call.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) turns: Vec<Turn>,
    troubles: Vec<String>,
}

impl Routed {
    /// Sends the session's calls one after the other. `calm`: nobody is in trouble.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a bad plan, [`Failure::Broken`] if a router cannot be built or a body cannot be read.
    pub(crate) fn of(session: &Session, plan: &str, calm: bool) -> Result<Routed, Failure> {
        let compressor = Compress::builder().plan(plan).max_body_bytes(usize::MAX).build();
        let compressor = compressor.map_err(|e| Failure::Usage(format!("--plan {plan:?}: {e}")))?;
        let stage = Stage::new();
        let catalog = Catalog::embedded();
        let whole = EVERY * u32::try_from(session.calls.len()).unwrap_or(u32::MAX);
        let mut builder = Router::builder(stage.env()).seed(SEED).compressor(Arc::new(compressor));
        let mut troubles = Vec::new();
        for part in &CAST {
            let Part { provider, connection, model, trouble } = part;
            let mut script =
                Script { latency: Duration::from_secs(2), answer_tokens: ANSWER, phases: Vec::new() };
            if let Some((from, until, kind, retry_after)) = trouble.filter(|_| !calm) {
                let (from, until) = (whole * from / 100, whole * until / 100);
                script.phases.push(Phase { from, until, does: Does::Fail(kind), retry_after });
                let (from, until) = (minutes(from), minutes(until));
                troubles.push(format!("{provider}/{connection} {} {from}-{until}", kind.code()));
            }
            let facts = catalog.lookup(provider, model).unwrap_or_default();
            builder = builder
                .connection(
                    Connection::new(*provider, *connection),
                    stage.vendor(provider, connection, script),
                )
                .model(provider, model, facts);
        }
        let router = builder.build().map_err(|e| Failure::Broken(e.to_string()))?;
        let mut turns = Vec::new();
        for (number, call) in (0..).zip(&session.calls) {
            stage.wait_until(EVERY * number);
            let request = request(session, call.sent)?;
            turns.push(stage.chat(&router, request));
        }
        Ok(Routed { turns, troubles })
    }

    /// Writes the part of the report.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "routed: {} calls to {ASKED} of one conversation, {} s apart, played vendors, virtual clock, seed {SEED}",
            self.turns.len(),
            EVERY.as_secs()
        )?;
        writeln!(out, "trouble: {}\n", self.troubles.join(", "))?;
        let rows = self.rows();
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2)];
        for [calls, at, by, why] in &rows {
            let [a, b, c] = widths;
            writeln!(out, "{}", format!("{calls:>a$}  {at:>b$}  {by:<c$}  {why}").trim_end())?;
        }
        writeln!(out)?;
        self.totals(out)
    }

    /// One row for calls one after the other with the same answerer for the same reason.
    fn rows(&self) -> Vec<[String; 4]> {
        let mut rows = vec![["calls", "at", "answered by", "why"].map(str::to_owned)];
        let mut first = 1;
        for (number, turn) in (1..).zip(&self.turns) {
            let by = answered(turn).map_or_else(|| "nobody".to_owned(), str::to_owned);
            let why = turn.receipt.as_ref().map(why).unwrap_or_default();
            match rows.last_mut() {
                Some([calls, _, last_by, last_why]) if number > 1 && *last_by == by && *last_why == why => {
                    *calls = format!("{first}-{number}");
                }
                _ => {
                    first = number;
                    rows.push([number.to_string(), minutes(turn.at), by, why]);
                }
            }
        }
        rows
    }

    fn totals(&self, out: &mut dyn Write) -> io::Result<()> {
        let receipts = || self.turns.iter().filter_map(|turn| turn.receipt.as_ref());
        let mut by: BTreeMap<&str, u64> = BTreeMap::new();
        for key in self.turns.iter().filter_map(answered) {
            *by.entry(key).or_default() += 1;
        }
        let by: Vec<String> = by.iter().map(|(key, count)| format!("{key} {count}")).collect();
        let attempts: usize = receipts().map(|receipt| receipt.attempts.len()).sum();
        let failed =
            receipts().flat_map(|receipt| &receipt.attempts).filter(|one| one.kind.is_some()).count();
        let lost = self.turns.iter().filter(|turn| answered(turn).is_none()).count();
        writeln!(
            out,
            "answered by {}; {attempts} attempts, {failed} failed, {lost} calls lost",
            by.join(", ")
        )?;
        let tokens = |of: fn(&omniroute_route::Tokens) -> u64| -> u64 {
            receipts().map(|receipt| of(&receipt.tokens)).sum()
        };
        let micro: u64 = receipts().map(|receipt| receipt.micro_usd).sum();
        writeln!(
            out,
            "paid {}.{:06} USD at list prices: {} tokens in ({} from caches), {} out\n",
            grouped(micro / 1_000_000),
            micro % 1_000_000,
            grouped(tokens(|tokens| tokens.input)),
            grouped(tokens(|tokens| tokens.cached)),
            grouped(tokens(|tokens| tokens.output)),
        )
    }
}

/// Who answered a call; none: nobody.
pub(crate) fn answered(turn: &Turn) -> Option<&str> {
    turn.receipt.as_ref()?.answered.as_deref()
}

/// A request of the session that asks for `auto` instead of its model.
fn request(session: &Session, messages: usize) -> Result<ChatRequest, Failure> {
    let broken = |what: String| Failure::Broken(format!("{}, {messages} messages: {what}", session.name));
    let wire = session.request.wire();
    let body = session.body(messages);
    let request = ChatRequest::parse(wire, body.clone()).map_err(|e| broken(e.to_string()))?;
    let doc = request.doc();
    let mut named = Vec::with_capacity(body.len());
    match doc.get(doc.root(), "model") {
        Some(node) => {
            let span = doc.span(node);
            named.extend_from_slice(body.get(..span.start).unwrap_or_default());
            named.extend_from_slice(format!("\"{ASKED}\"").as_bytes());
            named.extend_from_slice(body.get(span.end..).unwrap_or_default());
        }
        None => {
            let open = doc.span(doc.root()).start + 1;
            named.extend_from_slice(body.get(..open).unwrap_or_default());
            named.extend_from_slice(format!("\"model\": \"{ASKED}\", ").as_bytes());
            named.extend_from_slice(body.get(open..).unwrap_or_default());
        }
    }
    let request = ChatRequest::parse(wire, named).map_err(|e| broken(e.to_string()))?;
    Ok(request.with_session(SessionId::new(session.name.as_str())))
}
