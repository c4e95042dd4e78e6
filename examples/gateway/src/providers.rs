//! `omniroute providers`: who is in the catalogue, by what right, and what can be called.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use omniroute_providers::{
    Access, Catalog, Kind, ProviderFilter, ProviderLine, Terms, WireId, provider_table,
};
use serde::Serialize;

use crate::exit::{Failure, Written, note, write_out};
use crate::terminal::fit;

/// Options of `omniroute providers`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute providers --free --built --terms ok
  omniroute providers mistral --json | jq -r '.providers[].base_url'")]
pub(crate) struct ProvidersArgs {
    /// Part of an id, an alias or a name
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// By what right it is reached
    #[arg(long, value_name = "ACCESS", value_parser = word(Access::ALL, Access::word, Access::from_word))]
    access: Option<Access>,
    /// What its terms say about programs
    #[arg(long, value_name = "TERMS", value_parser = word(Terms::ALL, Terms::word, Terms::from_word))]
    terms: Option<Terms>,
    /// A wire format that it speaks
    #[arg(long, value_name = "WIRE", value_parser = word(WireId::ALL, WireId::word, WireId::from_word))]
    wire: Option<WireId>,
    /// A service that it offers
    #[arg(long, value_name = "KIND", value_parser = word(Kind::ALL, Kind::word, Kind::from_word))]
    kind: Option<Kind>,
    /// Only those with a free tier
    #[arg(long)]
    free: bool,
    /// Only those that omniroute can call
    #[arg(long)]
    built: bool,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Print no line about how many there are
    #[arg(long, short)]
    quiet: bool,
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Document<'a> {
    as_of: &'a str,
    count: usize,
    providers: &'a [ProviderLine],
}

/// Runs the command.
pub(crate) fn run(args: &ProvidersArgs) -> Result<(), Failure> {
    let catalog = Catalog::embedded();
    let filter = ProviderFilter {
        text: args.text.as_deref(),
        access: args.access,
        terms: args.terms,
        wire: args.wire,
        kind: args.kind,
        free: args.free,
        built: args.built,
    };
    let lines = catalog.list_providers(&filter);
    let document = Document { as_of: catalog.as_of(), count: lines.len(), providers: &lines };
    let data = match args.json {
        true => serde_json::to_string(&document).map_err(Failure::failed)? + "\n",
        false => fit(&provider_table(&lines)),
    };
    if write_out(data.as_bytes())? == Written::All && !args.json && !args.quiet {
        let all = catalog.providers().count();
        note(&format!("{} of {all} providers, as of {}", lines.len(), document.as_of));
    }
    Ok(())
}

/// One word of a closed set, all of them in the help.
fn word<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    word: fn(T) -> &'static str,
    from: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(move |value| word(*value)))
        .try_map(move |text| from(&text).ok_or("not a word of the set"))
}
