//! `omniroute route simulate`: requests one after the other, against vendors that follow a script.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use omniroute_core::{Provider, SessionId};
use omniroute_route::RouteReceipt;
use scripted_vendors::{Stage, Turn, minutes, why};
use serde::Serialize;

use super::config::ConfigArgs;
use super::market::router;
use super::request::RequestArgs;
use super::script::Play;
use crate::columns::columns;
use crate::exit::{Failure, write_out};
use crate::report::grouped;
use crate::terminal::width;

/// Options of `omniroute route simulate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute route simulate daily --config omniroute.toml --script outage.toml
  omniroute route simulate auto --config omniroute.toml --script outage.toml --json | jq '.turns[].answered'")]
pub(super) struct SimulateArgs {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// What vendors do, and when
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// One line for each request
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print one JSON document instead of the table, with the receipt of each request
    #[arg(long)]
    json: bool,
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Document<'a> {
    model: &'a str,
    seed: u64,
    turns: Vec<TurnRow<'a>>,
    answered: BTreeMap<&'a str, u32>,
    attempts: usize,
    micro_usd: u64,
}

#[derive(Debug, Serialize)]
struct TurnRow<'a> {
    at_ms: u128,
    answered: Option<&'a str>,
    why: String,
    error: Option<&'a str>,
    receipt: Option<&'a RouteReceipt>,
}

/// Runs the command.
pub(super) fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let config = args.config.read()?;
    let play = Play::read(&args.script, &config)?;
    let mut request = args.request.read()?;
    if let Some(session) = &play.session {
        request = request.with_session(SessionId::new(session.as_str()));
    }
    let stage = Stage::new();
    let vendor = |provider: &str, name: &str| -> Arc<dyn Provider> {
        stage.vendor(provider, name, play.script(&format!("{provider}/{name}")))
    };
    let router = router(&config, stage.env(), false, vendor)?;
    let turns: Vec<Turn> = (0..play.requests)
        .map(|number| {
            stage.wait_until(play.every * number);
            stage.chat(&router, request.clone())
        })
        .collect();
    let data = match args.json {
        true => document(args, config.routing.seed, &turns)?,
        false => table(&turns, args.all),
    };
    write_out(data.as_bytes()).map(|_| ())
}

fn document(args: &SimulateArgs, seed: u64, turns: &[Turn]) -> Result<String, Failure> {
    let rows = turns.iter().map(|turn| TurnRow {
        at_ms: turn.at.as_millis(),
        answered: answered(turn),
        why: turn.receipt.as_ref().map(why).unwrap_or_default(),
        error: turn.error.as_ref().map(|error| error.code.as_str()),
        receipt: turn.receipt.as_ref(),
    });
    let document = Document {
        model: &args.request.model,
        seed,
        turns: rows.collect(),
        answered: counts(turns),
        attempts: attempts(turns),
        micro_usd: micro_usd(turns),
    };
    Ok(serde_json::to_string(&document).map_err(Failure::failed)? + "\n")
}

fn table(turns: &[Turn], all: bool) -> String {
    let mut lines = vec![["requests", "at", "answered by", "why"].map(str::to_owned)];
    let mut first = 1;
    for (number, turn) in (1..).zip(turns) {
        let by = match (answered(turn), &turn.error) {
            (Some(by), _) => by.to_owned(),
            (None, Some(error)) => format!("nobody: {} {}", error.status, error.code),
            (None, None) => "nobody: it never ends".to_owned(),
        };
        let why = turn.receipt.as_ref().map(why).unwrap_or_default();
        if !all
            && let Some([requests, _, last_by, last_why]) = lines.last_mut()
            && number > 1
            && (&*last_by, &*last_why) == (&by, &why)
        {
            *requests = format!("{first}-{number}");
            continue;
        }
        first = number;
        lines.push([number.to_string(), minutes(turn.at), by, why]);
    }
    let mut text = columns(&lines, &[0, 1], &[3], width());
    let counts: Vec<String> = counts(turns).iter().map(|(by, count)| format!("{by} {count}")).collect();
    let failed = turns.iter().filter(|turn| answered(turn).is_none()).count();
    text.push_str(&format!(
        "\n{} requests, {} attempts, {failed} without an answer; {} USD at list prices\n",
        turns.len(),
        attempts(turns),
        usd(micro_usd(turns)),
    ));
    text.push_str(&format!(
        "answered by {}\n",
        if counts.is_empty() { "nobody".to_owned() } else { counts.join(", ") }
    ));
    text
}

fn answered(turn: &Turn) -> Option<&str> {
    turn.receipt.as_ref()?.answered.as_deref()
}

fn counts(turns: &[Turn]) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for by in turns.iter().filter_map(answered) {
        *counts.entry(by).or_default() += 1;
    }
    counts
}

fn attempts(turns: &[Turn]) -> usize {
    turns.iter().filter_map(|turn| turn.receipt.as_ref()).map(|receipt| receipt.attempts.len()).sum()
}

fn micro_usd(turns: &[Turn]) -> u64 {
    turns.iter().filter_map(|turn| turn.receipt.as_ref()).map(|receipt| receipt.micro_usd).sum()
}

/// Millionths of a dollar as dollars.
fn usd(micro: u64) -> String {
    format!("{}.{:06}", grouped(micro / 1_000_000), micro % 1_000_000)
}
