//! `omniroute config`: check, show, schema, init.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Sources, schema_json, show};
use crate::exit::{CONFIG, Failure, Written, note, write_out};
use crate::route::config::ConfigArgs;
use crate::terminal::Paint;

/// A file to begin with.
const STARTER: &str = include_str!("starter.toml");

/// Options of `omniroute config`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute config check --config omniroute.toml
  omniroute config show --origin")]
pub(crate) struct ConfigCommandArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check the configuration and tell every mistake at once
    ///
    /// Exit code 78 if there is an error. Warnings are told and are no errors. No secret is shown.
    #[command(verbatim_doc_comment)]
    Check(CheckArgs),
    /// Print every value that holds
    ///
    /// What is not said anywhere has its built-in value. Secrets are shown as ***.
    #[command(verbatim_doc_comment)]
    Show(ShowArgs),
    /// Print the JSON Schema of the file, for editors
    Schema(SchemaArgs),
    /// Write a file to begin with
    Init(InitArgs),
}

/// Options of `omniroute config check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute config check
  omniroute config check --config omniroute.toml --json | jq -r '.errors[] | .path'")]
struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print one JSON document: errors and warnings
    #[arg(long)]
    json: bool,
    /// Print nothing if there is no error
    #[arg(long, short)]
    quiet: bool,
}

/// Options of `omniroute config show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute config show --origin | grep -v built-in
  omniroute config show --json | jq '.values[] | select(.origin != \"built-in\")'")]
struct ShowArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Say of each value where it comes from: an option, a variable, a line of a file, built in
    #[arg(long)]
    origin: bool,
    /// Print one JSON document: path, value and origin of each
    #[arg(long)]
    json: bool,
}

/// Options of `omniroute config schema`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute config schema > omniroute.schema.json
  omniroute config schema | jq '.properties | keys'")]
struct SchemaArgs {}

/// Options of `omniroute config init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute config init
  omniroute config init ./omniroute.toml")]
struct InitArgs {
    /// File to write; by default omniroute/omniroute.toml in your folder for configurations. It must not be there yet
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &ConfigCommandArgs) -> Result<(), Failure> {
    match &args.command {
        ConfigCommand::Check(args) => check(args),
        ConfigCommand::Show(args) => shown(args),
        ConfigCommand::Schema(SchemaArgs {}) => {
            let text = serde_json::to_string_pretty(&schema_json::document()).map_err(Failure::failed)?;
            write_out((text + "\n").as_bytes()).map(|_| ())
        }
        ConfigCommand::Init(args) => init(args),
    }
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let sources = args.config.sources()?;
    let wrong = sources.mistakes.iter().any(super::Mistake::is_error);
    if args.json {
        write_out((sources.json().to_string() + "\n").as_bytes())?;
    } else if wrong || !args.quiet {
        write_out(sources.text(Paint::stdout()).as_bytes())?;
    }
    if wrong { Err(Failure::silent(CONFIG)) } else { Ok(()) }
}

fn shown(args: &ShowArgs) -> Result<(), Failure> {
    let sources = right(args.config.sources()?)?;
    let mut values = show::values(&sources);
    show::options(&mut values, args.config.seed, &args.config.connection);
    let text =
        if args.json { show::json(&values).to_string() + "\n" } else { show::text(&values, args.origin) };
    write_out(text.as_bytes()).map(|_| ())
}

/// Sources without errors.
fn right(sources: Sources) -> Result<Sources, Failure> {
    if sources.mistakes.iter().any(super::Mistake::is_error) {
        return Err(Failure::told(sources.text(Paint::stderr())));
    }
    Ok(sources)
}

fn init(args: &InitArgs) -> Result<(), Failure> {
    let nowhere = || Failure::usage("name a file: neither XDG_CONFIG_HOME nor HOME is set");
    let path = args.file.clone().or_else(super::user_file).ok_or_else(nowhere)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| Failure::path("make", folder, &error))?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::failed(format!("\"{}\" is there already, and stays as it is", path.display()))
        }
        _ => Failure::path("write", &path, &error),
    })?;
    file.write_all(STARTER.as_bytes()).map_err(|error| Failure::path("write", &path, &error))?;
    if write_out(format!("{}\n", path.display()).as_bytes())? == Written::All {
        note("fill it in, then: omniroute config check; omniroute serve");
    }
    Ok(())
}
