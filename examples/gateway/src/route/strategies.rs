//! `omniroute route strategies`: the list.

use std::collections::BTreeMap;

use clap::Args;
use omniroute_route::STRATEGIES;
use serde::Serialize;

use crate::columns::columns;
use crate::exit::{Failure, write_out};
use crate::terminal::width;

/// Options of `omniroute route strategies`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute route strategies
  omniroute route strategies --json | jq '.strategies[] | select(.id == \"auto\") | .options'")]
pub(super) struct StrategiesArgs {
    /// Print one JSON document instead of the table, with the settings of each
    #[arg(long)]
    json: bool,
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Document {
    strategies: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    summary: &'static str,
    aliases: &'static [&'static str],
    for_accounts: bool,
    options: BTreeMap<&'static str, &'static str>,
}

/// Runs the command.
pub(super) fn run(args: &StrategiesArgs) -> Result<(), Failure> {
    let data = if args.json {
        let row = |entry: &&omniroute_route::StrategyEntry| Row {
            id: entry.id,
            summary: entry.summary,
            aliases: entry.aliases,
            for_accounts: entry.for_accounts,
            options: entry.options.iter().copied().collect(),
        };
        let document = Document { strategies: STRATEGIES.iter().map(row).collect() };
        serde_json::to_string(&document).map_err(Failure::failed)? + "\n"
    } else {
        let lines: Vec<[String; 2]> =
            STRATEGIES.iter().map(|entry| [entry.id.to_owned(), entry.summary.to_owned()]).collect();
        columns(&lines, &[], &[1], width())
    };
    write_out(data.as_bytes()).map(|_| ())
}
