//! `omniroute key`: keys for callers of the endpoint. The file holds hashes only.

use std::io::Read;

use clap::{Args, Subcommand};
use sha2::{Digest, Sha256};

use crate::exit::{Failure, Written, note, write_out};

/// What keys begin with.
const PREFIX: &str = "or_";
/// Longest key that is hashed, in bytes.
const MOST: u64 = 4_096;

/// Options of `omniroute key`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute key new
  omniroute key hash < key.txt")]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a new key and its hash; the key is shown this once
    New(NewArgs),
    /// Print the hash of a key that standard input holds
    ///
    /// The key is no argument, because other programs can see those.
    #[command(verbatim_doc_comment)]
    Hash(HashArgs),
}

/// Options of `omniroute key new`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute key new
  omniroute key new --json | jq -r .hash")]
struct NewArgs {
    /// Print one JSON document: key and hash
    #[arg(long)]
    json: bool,
}

/// Options of `omniroute key hash`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute key hash < key.txt
  printf %s \"$KEY\" | omniroute key hash")]
struct HashArgs {}

/// Runs the command.
pub(crate) fn run(args: &KeyArgs) -> Result<(), Failure> {
    match &args.command {
        KeyCommand::New(args) => new(args),
        KeyCommand::Hash(HashArgs {}) => {
            let mut text = String::new();
            let read = std::io::stdin().lock().take(MOST + 1).read_to_string(&mut text);
            read.map_err(|error| Failure::io("read", "standard input", &error))?;
            let key = text.trim_end_matches(['\r', '\n']);
            if key.is_empty() || key.len() as u64 > MOST {
                return Err(Failure::failed(format!("a key has 1 to {MOST} bytes")));
            }
            write_out(format!("{}\n", hash(key)).as_bytes()).map(|_| ())
        }
    }
}

fn new(args: &NewArgs) -> Result<(), Failure> {
    let mut random = [0u8; 32];
    getrandom::fill(&mut random).map_err(|error| Failure::failed(format!("no random numbers: {error}")))?;
    let key = format!("{PREFIX}{}", hex(&random));
    let hash = hash(&key);
    if args.json {
        let document = serde_json::json!({ "key": key, "hash": hash });
        return write_out(format!("{document}\n").as_bytes()).map(|_| ());
    }
    if write_out(format!("key   {key}\nhash  {hash}\n").as_bytes())? == Written::All {
        note("the hash goes into [[gateway.keys]], the key to the caller; it is kept nowhere");
    }
    Ok(())
}

/// The hash as the configuration has it.
fn hash(key: &str) -> String {
    format!("sha256:{}", hex(&Sha256::digest(key.as_bytes())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
