//! `omniroute free-tiers`: what is free each month, since when that is known, and how long it may last.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use omniroute_core::UnixMs;
use omniroute_providers::free_tiers::{Day, ForecastSettings, FreeTiers, Selection};
use omniroute_providers::report::{FreeTiersReport, Style};

use crate::exit::{Failure, write_out};
use crate::terminal::{Paint, width};

/// Options of `omniroute free-tiers`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute free-tiers --exclude-avoid --without-largest
  omniroute free-tiers --forecast=90 --json | jq .forecast.expected_at_end")]
pub(crate) struct FreeTiersArgs {
    /// Leave out offers whose terms say that programs should stay away
    #[arg(long)]
    exclude_avoid: bool,
    /// Leave out the largest of what remains: one provider gives most of the sum
    #[arg(long)]
    without_largest: bool,
    /// Show what is left after so many days, if offers go on vanishing as they did
    #[arg(long, value_name = "DAYS", num_args = 0..=1, require_equals = true, default_missing_value = "30")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3650))]
    forecast: Option<u32>,
    /// Day of the facts, such as 2026-08-20; by default the newest
    #[arg(long, value_name = "DAY")]
    snapshot: Option<Day>,
    /// Count the age of the facts to this day instead of to now
    #[arg(long, value_name = "DAY")]
    today: Option<Day>,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &FreeTiersArgs) -> Result<(), Failure> {
    let tiers = FreeTiers::embedded();
    let newest = || tiers.newest().ok_or_else(|| Failure::failed("there is no snapshot"));
    let snapshot = args.snapshot.map_or_else(newest, Ok)?;
    let selection = Selection { exclude_avoid: args.exclude_avoid, without_largest: args.without_largest };
    let forecast = args.forecast.map(|days| {
        let mut settings = ForecastSettings::default();
        settings.horizon_days = days;
        settings
    });
    let today = args.today.unwrap_or_else(today);
    let report = FreeTiersReport::new(tiers, snapshot, today, selection, forecast.as_ref());
    let report = report.ok_or_else(|| {
        let days: Vec<String> = tiers.snapshots.keys().map(Day::to_string).collect();
        Failure::not_found(format!("there is no snapshot of {snapshot}; there are {}", days.join(", ")))
    })?;
    let data = match args.json {
        true => serde_json::to_string(&report).map_err(Failure::failed)? + "\n",
        false => report.text(Style { width: width(), colour: Paint::stdout().is_on(), ..Style::default() }),
    };
    write_out(data.as_bytes()).map(drop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program has its own clock; only the age of the facts depends on it"
)]
fn today() -> Day {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Day::of(UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}
