//! `omniroute blobs`: what was left out of requests and is kept in a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use omniroute_compress::SqliteBlobs;
use omniroute_compress::ccr::{Ask, retrieve};
use omniroute_core::{BlobId, BlobLimits, BlobStore, Moment, Principal};

use crate::exit::{Failure, write_out};

/// Options of `omniroute blobs`.
#[derive(Debug, Args)]
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
        #[arg(long, value_name = "N", default_value_t = 25)]
        limit: usize,
    },
    /// Print a text, or a part of it
    Get {
        /// Its hash, or the whole handle
        hash: String,
        /// The arguments of the retrieval tool as JSON, instead of only the hash: mode, n, start, end, pattern
        #[arg(long, value_name = "JSON")]
        ask: Option<String>,
    },
    /// Forget a text
    Remove {
        /// Its hash
        hash: String,
    },
}

/// Runs the command.
pub(crate) fn run(args: &BlobsArgs) -> Result<(), Failure> {
    if !args.store.exists() {
        return Err(Failure::not_found(format!("there is no file \"{}\"", args.store.display())));
    }
    let store = open(&args.store)?;
    let principal = Principal::new(args.principal.as_str());
    let out = match &args.act {
        Act::List { limit } => list(&store, &principal, *limit)?,
        Act::Get { hash, ask } => {
            let plain = serde_json::json!({"hash": hash}).to_string();
            let mut value: serde_json::Value =
                serde_json::from_str(ask.as_deref().unwrap_or(&plain)).map_err(Failure::usage)?;
            if let Some(members) = value.as_object_mut() {
                members.insert("hash".to_owned(), hash.as_str().into());
            }
            let ask = Ask::from_json(&value.to_string()).map_err(Failure::usage)?;
            retrieve(&store, &principal, &ask, Moment::default()).map_err(Failure::not_found)?.text
        }
        Act::Remove { hash } => {
            let wrong = || Failure::usage(format!("{hash:?} is not 24 hex digits"));
            let id = BlobId::parse(hash).ok_or_else(wrong)?;
            match store.remove(&principal, id).map_err(Failure::failed)? {
                true => format!("removed {id}\n"),
                false => return Err(Failure::not_found(format!("nothing is kept under {id}"))),
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

fn list(store: &SqliteBlobs, principal: &Principal, limit: usize) -> Result<String, Failure> {
    let mut out = String::new();
    for blob in store.list(principal, limit).map_err(Failure::failed)? {
        let _ = writeln!(out, "{}  {:>9} bytes", blob.id, blob.bytes);
    }
    if out.is_empty() {
        out.push_str("nothing is kept\n");
    }
    Ok(out)
}
