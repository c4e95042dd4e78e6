//! `omniroute gain`: what compression saved, from receipts.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use omniroute_compress::gain::{By, Gain, JsonLines};

use crate::exit::{Failure, Written, note, write_out};
use crate::input;
use crate::money::Market;
use crate::progress::Progress;

/// Options of `omniroute gain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo test 2>&1 | omniroute compress --command \"cargo test\" --json 2>> receipts.jsonl
  omniroute gain --file receipts.jsonl --by filter")]
pub(crate) struct GainArgs {
    /// Receipts, one JSON document a line, or one receipt; - is standard input
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// What the rows of single texts are
    #[arg(long, value_name = "WHAT", default_value = "class", value_parser = rows())]
    by: By,
    /// Show what the input costs at this model's list prices, with and without compression
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["json", "csv"])]
    model: Option<String>,
    /// Print one JSON document instead of the tables
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the rows of single texts as CSV
    #[arg(long)]
    csv: bool,
}

/// Runs the command.
pub(crate) fn run(args: &GainArgs) -> Result<(), Failure> {
    let market = args.model.as_deref().map(Market::of).transpose()?;
    let mut progress = Progress::new(true);
    let bytes = input::read(Some(&args.file), false, &mut progress)?;
    progress.working("adding up");
    let mut gain = Gain::new();
    let found = gain.add_jsonl(&bytes);
    progress.done();
    if found.read == 0 && found.unreadable > 0 {
        tell(&found, args);
        return Err(Failure::failed("there is no receipt in the file"));
    }
    let data = match (args.json, args.csv) {
        (true, _) => gain.to_json(args.by) + "\n",
        (_, true) => gain.to_csv(args.by),
        _ => gain.to_table(args.by) + &market.map_or(String::new(), |market| market.bill(&gain)),
    };
    if write_out(data.as_bytes())? == Written::All {
        tell(&found, args);
        if args.csv && gain.rows(args.by).is_empty() && !gain.is_empty() {
            note(
                "no rows: these receipts are of requests, which do not tell classes apart; --json has their sums",
            );
        }
    }
    Ok(())
}

/// Names the lines that were left out.
fn tell(found: &JsonLines, args: &GainArgs) {
    for bad in &found.bad {
        note(&format!("{}:{}: left out, {}", args.file.display(), bad.line, bad.why));
    }
    let more = found.unreadable.saturating_sub(found.bad.len());
    if more > 0 {
        note(&format!("{more} more lines were left out"));
    }
}

fn rows() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(["class", "filter", "day"]).map(|word| match word.as_str() {
        "filter" => By::Filter,
        "day" => By::Day,
        _ => By::Class,
    })
}
