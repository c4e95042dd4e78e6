//! `omniroute route explain`: one decision, told.

use std::sync::Arc;

use clap::Args;
use omniroute_core::Provider;
use omniroute_core::route::RouteOptions;
use omniroute_route::{ChatOptions, Explanation, ToldDrop, ToldPick};
use scripted_vendors::{Script, Stage};
use serde::Serialize;

use super::config::ConfigArgs;
use super::market::router;
use super::request::RequestArgs;
use crate::columns::columns;
use crate::exit::{Failure, Written, note, write_out};
use crate::terminal::width;

/// Options of `omniroute route explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute route explain auto/coding --connection openai/work --request request.json
  omniroute route explain daily --config omniroute.toml --json | jq -r '.dropped[] | .reason'")]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// USD that the request may cost
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Candidates that are shown, dropped ones aside; --json has all
    #[arg(long, value_name = "N", default_value = "10")]
    top: usize,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Print no notes
    #[arg(long, short)]
    quiet: bool,
}

/// The JSON document when nobody is left.
#[derive(Debug, Serialize)]
struct Nobody<'a> {
    error: &'a str,
    status: u16,
    message: &'a str,
    dropped: &'a [ToldDrop],
}

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let config = args.config.read()?;
    let request = args.request.read()?;
    let stage = Stage::new();
    let nobody =
        |provider: &str, name: &str| -> Arc<dyn Provider> { stage.vendor(provider, name, Script::default()) };
    let router = router(&config, stage.env(), true, nobody)?;
    let mut options = ChatOptions::default();
    let mut wishes = RouteOptions::default();
    wishes.budget = args.budget;
    options.route = Some(wishes);
    match router.explain_with(&request, &options) {
        Ok(told) => {
            let data = match args.json {
                true => serde_json::to_string(&told).map_err(Failure::failed)? + "\n",
                false => table(&told, args.top),
            };
            if write_out(data.as_bytes())? == Written::All && !args.json && !args.quiet {
                tell(&told, &args.request.model, args.top);
            }
            Ok(())
        }
        Err(error) => {
            let dropped = error.receipt().map(|receipt| receipt.skipped).unwrap_or_default();
            let document = Nobody {
                error: &error.code,
                status: error.status,
                message: &error.message,
                dropped: &dropped,
            };
            let data = match args.json {
                true => serde_json::to_string(&document).map_err(Failure::failed)? + "\n",
                false => {
                    columns(&dropped.iter().map(drop_cells).collect::<Vec<_>>(), &[0, 2, 5], &[6, 1], width())
                }
            };
            write_out(data.as_bytes())?;
            // What was named does not exist; everything else is a decision.
            let gone = matches!(error.code.as_str(), "unknown_model" | "model_not_found");
            if gone { Err(Failure::not_found(&error)) } else { Err(Failure::failed(&error)) }
        }
    }
}

fn table(told: &Explanation, top: usize) -> String {
    let head = ["#", "candidate", "rank", "layer", "reason", "score", "factors"].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend((1..).zip(told.picks.iter().take(top)).map(|(place, pick)| pick_cells(place, pick)));
    lines.extend(told.dropped.iter().map(drop_cells));
    let mut text = format!(
        "{} by {}, decided by layer {}, seed {}\n",
        told.kind,
        told.strategy,
        word(&told.layer),
        told.seed
    );
    text.push_str(&columns(&lines, &[0, 2, 5], &[6, 1], width()));
    text
}

fn pick_cells(place: usize, pick: &ToldPick) -> [String; 7] {
    let factors: Vec<String> =
        pick.factors.iter().map(|(name, added)| format!("{name} {added:.4}")).collect();
    [
        place.to_string(),
        pick.key.to_string(),
        pick.rank.to_string(),
        word(&pick.layer),
        word(&pick.reason),
        pick.score.map_or(String::new(), |score| format!("{score:.4}")),
        factors.join(", "),
    ]
}

fn drop_cells(dropped: &ToldDrop) -> [String; 7] {
    let empty = String::new;
    [
        "-".to_owned(),
        dropped.key.to_string(),
        empty(),
        "dropped".to_owned(),
        dropped.reason.code().to_owned(),
        empty(),
        empty(),
    ]
}

/// What has to be known beside the table.
fn tell(told: &Explanation, model: &str, top: usize) {
    let all = told.picks.len() + told.unlisted as usize;
    let shown = if all > top { format!(", shown: {top}") } else { String::new() };
    note(&format!("may be asked: {all}{shown}; dropped: {}", told.dropped.len()));
    let lower = model.trim().to_ascii_lowercase();
    if lower == "auto" || lower.starts_with("auto/") {
        note("auto chooses among connections, never among combos");
    }
    for remark in &told.notes {
        note(&format!("note: {}", word(remark)));
    }
}

/// The stable name of something that has one when it is serialised.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
