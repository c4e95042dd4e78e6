//! The command line: commands, options and help.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use omniroute_compress::Plan;
use omniroute_core::wire::{self, WIRES, Wire};

use crate::free_tiers::FreeTiersArgs;
use crate::models::ModelsArgs;
use crate::providers::ProvidersArgs;

use crate::gain::GainArgs;
use crate::route::RouteArgs;
use crate::rtk::{FolderArgs, RtkArgs};

/// Makes requests to language models shorter without losing a fact or a cached prefix.
#[derive(Debug, Parser)]
#[command(name = "omniroute", version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  kubectl get pods -o json | omniroute compress
  omniroute count request.json

Data goes to standard output, everything else to standard error.
Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 file not allowed, 78 configuration.")]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compress a request body, or one text that a tool printed
    ///
    /// Reads FILE or standard input and writes the result to standard output. What cannot be read or made shorter
    /// comes out as the same bytes, with exit code 0 and the reason on standard error. With --as auto an input that
    /// looks like a request is one, anything else is a text. Counts with a ~ are estimates.
    #[command(verbatim_doc_comment)]
    Compress(CompressArgs),
    /// Count the characters and tokens of each message
    ///
    /// Prints one row a message (place in the list, role, tools called or answered, characters, tokens) and the
    /// total. Counts under ~tokens are estimates. Images and other media are not counted.
    #[command(verbatim_doc_comment)]
    Count(CountArgs),
    /// Show what is free each month, and how long that may last
    ///
    /// Adds up what providers give away, each shared pool once. Credits that are given once, offers behind an identity
    /// check and offers without a published number stand apart. The facts came with this release: their day and age
    /// are shown, and nothing is asked over a network.
    #[command(verbatim_doc_comment)]
    FreeTiers(FreeTiersArgs),
    /// List models with windows, prices and abilities
    ///
    /// All filters must hold. What is not known is a question mark and passes no filter on it.
    #[command(verbatim_doc_comment)]
    Models(ModelsArgs),
    /// List providers and what can be called
    ///
    /// All filters must hold. State says whether omniroute can call it: built, needs-base-url, listed-only, not-yet, or
    /// by-policy for those that are never called.
    #[command(verbatim_doc_comment)]
    Providers(ProvidersArgs),
    /// Add up what compression saved
    ///
    /// Reads receipts that `compress --receipt` or `--json` wrote. Prints one table of requests and engines and, for
    /// receipts of single texts, one of their classes. What a harness would have cut anyway is not counted as saved.
    #[command(verbatim_doc_comment)]
    Gain(GainArgs),
    /// Who would answer a request and why: explain, simulate, strategies
    Route(RouteArgs),
    /// Answer requests for models on this machine's port 20128
    ///
    /// Speaks the APIs of OpenAI (chat and responses), Anthropic and Gemini, whoever answers. Without a configuration
    /// every provider whose usual variable is set is used. Without keys only this machine is served.
    #[cfg(feature = "serve")]
    #[command(verbatim_doc_comment)]
    Serve(crate::serve::ServeArgs),
    /// The configuration: check, show, schema, init
    Config(crate::config::command::ConfigCommandArgs),
    /// Keys of callers: make one, hash one
    Key(crate::config::key::KeyArgs),
    /// Look for what is in the way of `omniroute serve`, and say what to do about it
    ///
    /// Looks at the configuration, its secrets, the store, the port, the clock and other programs of this name. Works
    /// without a server and uses no network but with --online. Exit code 1 if something is in the way, 78 if it is the
    /// configuration.
    #[command(verbatim_doc_comment)]
    Doctor(crate::doctor::DoctorArgs),
    /// Filters of command output: list, test, trust
    Rtk(RtkArgs),
    /// Texts that were left out of requests: list, show, remove
    ///
    /// Reads the file that `compress --blobs` or a program with the library keeps.
    #[cfg(feature = "blobs")]
    #[command(verbatim_doc_comment)]
    Blobs(crate::blobs::BlobsArgs),
}

/// Options of `omniroute compress`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo test 2>&1 | omniroute compress --command \"cargo test\"
  omniroute compress request.json --receipt receipt.json > smaller.json")]
pub(crate) struct CompressArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Plan by name, or engines in order.
    #[arg(long, value_name = "PLAN", default_value = "safe", value_parser = Plan::parse, help = plans())]
    pub(crate) plan: Plan,
    /// Command line that printed the text; the input is then a text, whatever it looks like
    #[arg(long, value_name = "LINE")]
    pub(crate) command: Option<String>,
    #[command(flatten)]
    pub(crate) folders: FolderArgs,
    /// Keep what is left out in this file, for a model that has the tool omniroute_ccr_retrieve
    #[cfg(feature = "blobs")]
    #[arg(long, value_name = "FILE")]
    pub(crate) blobs: Option<PathBuf>,
    /// Say what the input costs at the model's list prices, before and after
    #[arg(long, conflicts_with = "json")]
    pub(crate) cost: bool,
    /// Time of the request in milliseconds since 1970, for the receipt: gain finds cold caches by it
    #[arg(long, value_name = "MS")]
    pub(crate) at: Option<u64>,
    /// Write the receipt to this file as JSON, readable by you alone
    #[arg(long, value_name = "FILE")]
    pub(crate) receipt: Option<PathBuf>,
    /// Print the receipt instead of the summary: one JSON document, on standard error
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Fail if the input cannot be read, instead of passing it on
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print no summary and no progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Options of `omniroute count`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute count request.json --model claude-sonnet-4-5
  omniroute count request.json --json | jq .total.tokens")]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no line about the counter and no progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where the input comes from and what it is.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// File to read; standard input if it is left out or -
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// What the input is
    #[arg(long = "as", value_name = "FORM", default_value = "auto", value_parser = forms())]
    pub(crate) form: Form,
    /// Model whose tokens are counted; by default the one that the request names
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

/// What the user says the input is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Nothing: it is to be found out.
    Auto,
    /// What a tool printed.
    Text,
    /// A request in this wire format.
    Wire(Wire),
}

/// All forms with their short names.
fn forms() -> impl TypedValueParser<Value = Form> {
    let wires = WIRES.iter().map(|w| PossibleValue::new(w.id()).aliases(w.aliases().iter().copied()));
    let names = [PossibleValue::new("auto"), PossibleValue::new("text")].into_iter().chain(wires);
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "text" => Form::Text,
        name => wire::by_id(name).map_or(Form::Auto, Form::Wire),
    })
}

fn plans() -> String {
    let names: Vec<&str> = Plan::names().collect();
    format!("Plan by name ({}), or engines in order, separated by commas", names.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn short_names_of_wires_are_accepted() {
        for (name, id) in [
            ("openai", "openai-chat"),
            ("responses", "openai-responses"),
            ("anthropic", "anthropic-messages"),
        ] {
            let cli = Cli::try_parse_from(["omniroute", "count", "--as", name]).unwrap();
            let Command::Count(CountArgs { source: SourceArgs { form: Form::Wire(wire), .. }, .. }) =
                cli.command
            else {
                panic!("{name}");
            };
            assert_eq!(wire.id(), id);
        }
    }
}
