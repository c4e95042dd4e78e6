//! `omniroute models`: what is served where, with windows, abilities and prices.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use omniroute_core::Capability;
use omniroute_providers::{Catalog, ModelFilter, ModelLine, model_table};
use serde::Serialize;

use crate::exit::{Failure, Written, note, write_out};
use crate::terminal::fit;

/// Options of `omniroute models`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute models sonnet --provider anthropic --can tools,image
  omniroute models --free --min-context 200000 --json | jq -r '.models[].model'")]
pub(crate) struct ModelsArgs {
    /// Part of provider/id, an alias or a name
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Only models of this provider, by id or alias
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// What it is known to be able to do; all of them, separated by commas
    #[arg(long, value_name = "ABILITY", value_delimiter = ',', value_parser = abilities())]
    can: Vec<Capability>,
    /// Smallest window in tokens
    #[arg(long, value_name = "TOKENS")]
    min_context: Option<u64>,
    /// Highest price of a million input tokens in USD, such as 0.50; models without a known price are left out
    #[arg(long, value_name = "USD", value_parser = pico_of_usd)]
    max_price: Option<u64>,
    /// Only those with something free
    #[arg(long)]
    free: bool,
    /// Only those whose price is known
    #[arg(long)]
    priced: bool,
    /// Also those that are no longer served
    #[arg(long)]
    removed: bool,
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
    models: &'a [ModelLine],
}

/// Runs the command.
pub(crate) fn run(args: &ModelsArgs) -> Result<(), Failure> {
    let catalog = Catalog::embedded();
    if let Some(provider) = args.provider.as_deref()
        && catalog.provider(provider).is_none()
    {
        let shown: String = provider.chars().take(80).collect();
        let advice = "omniroute providers TEXT searches for one";
        return Err(Failure::not_found(format!("there is no provider {shown:?}; {advice}")));
    }
    let filter = ModelFilter {
        text: args.text.as_deref(),
        provider: args.provider.as_deref(),
        can: &args.can,
        min_context: args.min_context,
        max_input_price: args.max_price,
        free: args.free,
        priced: args.priced,
        removed: args.removed,
    };
    let lines = catalog.list_models(&filter);
    let document = Document { as_of: catalog.as_of(), count: lines.len(), models: &lines };
    let data = match args.json {
        true => serde_json::to_string(&document).map_err(Failure::failed)? + "\n",
        false => fit(&model_table(&lines)),
    };
    if write_out(data.as_bytes())? == Written::All && !args.json && !args.quiet {
        let all = catalog.models().count();
        let prices = "prices in USD for a million tokens, ? is unknown";
        note(&format!("{} of {all} models, as of {}; {prices}", lines.len(), document.as_of));
    }
    Ok(())
}

/// Names as the table prints them.
const ABILITIES: [(&str, Capability); 10] = [
    ("tools", Capability::Tools),
    ("parallel-tools", Capability::ParallelTools),
    ("json-schema", Capability::JsonSchema),
    ("reasoning", Capability::Reasoning),
    ("cache", Capability::PromptCache),
    ("image", Capability::ImageInput),
    ("pdf", Capability::PdfInput),
    ("audio", Capability::AudioInput),
    ("video", Capability::VideoInput),
    ("speech", Capability::AudioOutput),
];

fn abilities() -> impl TypedValueParser<Value = Capability> {
    PossibleValuesParser::new(ABILITIES.map(|(name, _)| name)).try_map(|text| {
        let found = ABILITIES.iter().find(|(name, _)| *name == text);
        found.map(|(_, capability)| *capability).ok_or("not an ability")
    })
}

/// USD for a million tokens as 1e-12 USD for one: digits, at most six of them behind the point.
fn pico_of_usd(text: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let fits = !whole.is_empty() && whole.len() <= 9 && decimals.len() <= 6;
    if !fits || !digits(whole) || !digits(decimals) || text.ends_with('.') {
        return Err("a price is a number such as 3 or 0.50".to_owned());
    }
    format!("{whole}{decimals:0<6}").parse().map_err(|_| "the price is too high".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_without_rounding() {
        for (text, pico) in [
            ("3", Ok(3_000_000)),
            ("0.50", Ok(500_000)),
            ("0.000001", Ok(1)),
            ("0", Ok(0)),
            ("999999999.999999", Ok(999_999_999_999_999)),
        ] {
            assert_eq!(pico_of_usd(text), pico, "{text}");
        }
        for text in ["", ".5", "5.", "-1", "1e3", "0.0000001", "1,5", "$3", "1000000000", "\u{663}"] {
            assert!(pico_of_usd(text).is_err(), "{text}");
        }
    }

    /// Every ability that the table prints can be asked for, and finds the models that print it.
    #[test]
    fn abilities_are_those_of_the_table() {
        let catalog = Catalog::embedded();
        let all = catalog.list_models(&ModelFilter { removed: true, ..ModelFilter::default() });
        for (name, capability) in ABILITIES {
            let can = [capability];
            let filter = ModelFilter { can: &can, removed: true, ..ModelFilter::default() };
            let printing = all.iter().filter(|line| line.can.contains(&name)).count();
            assert_eq!(catalog.list_models(&filter).len(), printing, "{name}");
        }
        assert!(
            all.iter().flat_map(|line| &line.can).all(|can| ABILITIES.iter().any(|(name, _)| name == can))
        );
    }
}
