//! `omniroute route`: who would answer, and why. Nothing is sent.

pub(crate) mod config;
mod explain;
pub(crate) mod market;
mod request;
mod script;
mod simulate;
mod strategies;
mod time;

use clap::{Args, Subcommand};

use crate::exit::Failure;

/// Options of `omniroute route`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute route explain auto/coding --connection openai/work --connection groq/work
  omniroute route simulate daily --config omniroute.toml --script outage.toml")]
pub(crate) struct RouteArgs {
    #[command(subcommand)]
    command: RouteCommand,
}

#[derive(Debug, Subcommand)]
enum RouteCommand {
    /// Show who would be asked for MODEL, in which order and why, and who was dropped
    ///
    /// Decides as a router does that has just started: nothing is measured, nobody rests, no network is used. Shows
    /// each candidate with the rule that put it there and the factors that added most to its score, and every dropped
    /// one with its reason. No text of the request is shown. Exit code 1 if nobody is left.
    #[command(verbatim_doc_comment)]
    Explain(explain::ExplainArgs),
    /// Play requests against vendors that follow a script, and show who answers and why
    ///
    /// The router is the real one; vendors, clock and random numbers are played, so that the same script gives the same
    /// lines. Requests one after the other with the same answerer for the same reason are one line.
    #[command(verbatim_doc_comment)]
    Simulate(simulate::SimulateArgs),
    /// List all strategies, one line each
    Strategies(strategies::StrategiesArgs),
}

/// Runs the command.
pub(crate) fn run(args: &RouteArgs) -> Result<(), Failure> {
    match &args.command {
        RouteCommand::Explain(args) => explain::run(args),
        RouteCommand::Simulate(args) => simulate::run(args),
        RouteCommand::Strategies(args) => strategies::run(args),
    }
}
