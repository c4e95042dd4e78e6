//! `omniroute blobs`: what was left out of requests and is kept in a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use omniroute_compress::SqliteBlobs;
use omniroute_compress::ccr::{Ask, RetrieveError, retrieve};
use omniroute_core::{BlobLimits, BlobStore, Principal};

use crate::exit::{Failure, note, write_out};
use crate::time;

/// Options of `omniroute blobs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute compress request.json --blobs kept.db > smaller.json
  omniroute blobs --store kept.db get '[CCR retrieve hash=0123456789abcdef01234567 chars=21034]'")]
pub(crate) struct BlobsArgs {
    /// The file
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Tenant whose texts these are
    #[arg(long, value_name = "NAME", default_value = "embedded")]
    principal: String,
    #[command(subcommand)]
    act: Act,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum Act {
    /// List what is kept, the latest first
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
    },
    /// Print a text, or a part of it
    Get {
        /// Its hash, or the whole handle
        hash: String,
        /// What the retrieval tool is asked, as JSON: mode (full, head, tail, lines, grep, stats), n, start, end,
        /// pattern, ignore_case, context, offset
        #[arg(long, value_name = "JSON")]
        ask: Option<String>,
    },
    /// Forget a text
    Remove {
        /// Its hash, or the whole handle
        hash: String,
    },
}

/// Runs the command.
pub(crate) fn run(args: &BlobsArgs) -> Result<(), Failure> {
    if !args.store.exists() {
        return Err(Failure::not_found(format!(
            "cannot read \"{}\": it does not exist",
            args.store.display()
        )));
    }
    let store = open(&args.store)?;
    let principal = Principal::new(args.principal.as_str());
    let out = match &args.act {
        Act::List { limit } => list(&store, &principal, usize::from(*limit))?,
        Act::Get { hash, ask } => {
            let ask = asked(hash, ask.as_deref().unwrap_or("{}"))?;
            retrieve(&store, &principal, &ask, time::now()).map_err(|error| refused(&error))?.text
        }
        Act::Remove { hash } => {
            let id = asked(hash, "{}")?.id;
            match store.remove(&principal, id).map_err(Failure::failed)? {
                true => format!("removed {id}\n"),
                false => return Err(refused(&RetrieveError::NotFound(id))),
            }
        }
    };
    write_out(out.as_bytes())?;
    Ok(())
}

/// Opens the file, or makes it.
pub(crate) fn open(path: &Path) -> Result<SqliteBlobs, Failure> {
    SqliteBlobs::open(path, BlobLimits::default()).map_err(Failure::failed)
}

/// The arguments that a model would have given.
fn asked(hash: &str, ask: &str) -> Result<Ask, Failure> {
    let shown: String = ask.chars().take(60).collect();
    let wrong = |why: String| Failure::usage(format!("--ask {shown:?}: {why}"));
    let mut value: serde_json::Value = serde_json::from_str(ask)
        .map_err(|e| wrong(format!("not JSON at line {} column {}", e.line(), e.column())))?;
    let Some(members) = value.as_object_mut() else { return Err(wrong("not a JSON object".to_owned())) };
    members.insert("hash".to_owned(), hash.into());
    Ask::from_json(&value.to_string()).map_err(Failure::usage)
}

/// What a person can do is not what a model can do.
fn refused(error: &RetrieveError) -> Failure {
    match error {
        RetrieveError::NotFound(id) => Failure::not_found(format!(
            "nothing is kept under {id} for this --principal; `list` shows what is"
        )),
        RetrieveError::Expired(id) => {
            Failure::not_found(format!("the text behind {id} is not kept any more"))
        }
        RetrieveError::Argument { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

fn list(store: &SqliteBlobs, principal: &Principal, limit: usize) -> Result<String, Failure> {
    let now = time::now().wall;
    store.tick(now);
    let mut blobs = store.list(principal, limit + 1).map_err(Failure::failed)?;
    if blobs.is_empty() {
        note(&format!("nothing is kept for {:?}", principal.as_str()));
    }
    if blobs.len() > limit {
        blobs.truncate(limit);
        note(&format!("more than {limit} are kept; --limit shows more"));
    }
    let mut out = String::new();
    for blob in blobs {
        let _ = write!(out, "{}  {:>9} bytes", blob.id, blob.bytes);
        // Programs need not tell a store the time.
        if blob.kept.0 > 0 {
            let _ = write!(out, "  {} ago", time::span(now.0.saturating_sub(blob.kept.0)));
        }
        out.push('\n');
    }
    Ok(out)
}
