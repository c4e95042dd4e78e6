//! `omniroute rtk filters`: the catalogue.

use clap::Args;
use omniroute_compress::rtk::FilterInfo;
use serde::Serialize;

use super::FolderArgs;
use crate::columns::columns;
use crate::exit::{Failure, Written, note, write_out};
use crate::terminal::{harmless, width};

/// Options of `omniroute rtk filters`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute rtk filters | grep git-
  omniroute rtk filters --json | jq -r '.filters[] | select(.renderer) | .id'")]
pub(super) struct FiltersArgs {
    #[command(flatten)]
    folders: FolderArgs,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Document<'a> {
    filters: Vec<Row<'a>>,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    id: &'a str,
    owner: &'static str,
    category: &'static str,
    priority: u8,
    description: &'a str,
    commands: &'a [String],
    renderer: Option<&'a str>,
    capture: Option<&'a str>,
    tests: usize,
}

/// Runs the command.
pub(super) fn run(args: &FiltersArgs) -> Result<(), Failure> {
    let loaded = args.folders.load()?;
    if !args.json {
        loaded.tell();
    }
    let catalogue = loaded.set.catalogue();
    let data = match args.json {
        true => {
            let document = Document { filters: catalogue.iter().map(row).collect() };
            serde_json::to_string(&document).map_err(Failure::failed)? + "\n"
        }
        false => table(&catalogue),
    };
    if write_out(data.as_bytes())? == Written::All && !args.json {
        note(&format!("{} filters", catalogue.len()));
    }
    Ok(())
}

fn row(filter: &FilterInfo) -> Row<'_> {
    Row {
        id: &filter.id,
        owner: filter.source.name(),
        category: filter.category.name(),
        priority: filter.priority,
        description: &filter.description,
        commands: &filter.commands,
        renderer: filter.renderer.as_deref(),
        capture: filter.capture.as_deref(),
        tests: filter.tests,
    }
}

/// Files of others are shown without what could steer the terminal.
fn table(catalogue: &[FilterInfo]) -> String {
    let heading = ["filter", "owner", "category", "priority", "tests", "renderer", "capture", "commands"]
        .map(str::to_owned);
    let cells = |filter: &FilterInfo| {
        let or_dash = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), harmless);
        [
            harmless(&filter.id),
            filter.source.name().to_owned(),
            filter.category.name().to_owned(),
            filter.priority.to_string(),
            filter.tests.to_string(),
            or_dash(&filter.renderer),
            or_dash(&filter.capture),
            harmless(&filter.commands.join(", ")),
        ]
    };
    let lines: Vec<[String; 8]> = [heading].into_iter().chain(catalogue.iter().map(cells)).collect();
    columns(&lines, &[3, 4], &[7, 6, 5], width())
}
