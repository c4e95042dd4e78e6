//! `omniroute rtk`: the filters of command output, and whose are trusted.

mod filters;
mod folders;
mod trust;
mod verify;

use clap::{Args, Subcommand};

use crate::exit::Failure;

pub(crate) use folders::{FolderArgs, Loaded};

/// Options of `omniroute rtk`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute rtk filters
  omniroute rtk verify .rtk/filters.toml")]
pub(crate) struct RtkArgs {
    #[command(subcommand)]
    command: RtkCommand,
}

#[derive(Debug, Subcommand)]
enum RtkCommand {
    /// Show what filter files of the project and of yours can do, and trust them
    ///
    /// Shows each file that is not trusted yet with its hash, asks, and writes the hash down: in your trust store, and
    /// for a file of the project in .rtk/trust.json too. Any later change of the file needs a new look. Exit code 1
    /// if a file stays untrusted.
    #[command(verbatim_doc_comment)]
    Trust(trust::TrustArgs),
    /// Run the tests inside filter files
    ///
    /// Runs the tests of the built-in filters and of FILES; without FILES of your own filters and of the project's, if
    /// you trust them. Prints totals by category and every mistake with file, line and column. Exit code 1 if there
    /// is one.
    #[command(verbatim_doc_comment)]
    Verify(verify::VerifyArgs),
    /// List all filters in the order in which they are asked
    ///
    /// The project's (if you trust them) come first, then yours, then the built-in ones. A filter with a renderer is
    /// done by code; one whose capture is none may fold repeats but leaves nothing out.
    #[command(verbatim_doc_comment)]
    Filters(filters::FiltersArgs),
}

/// Runs the command.
pub(crate) fn run(args: &RtkArgs) -> Result<(), Failure> {
    match &args.command {
        RtkCommand::Trust(args) => trust::run(args),
        RtkCommand::Verify(args) => verify::run(args),
        RtkCommand::Filters(args) => filters::run(args),
    }
}
