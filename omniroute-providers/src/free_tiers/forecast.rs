//! What the headline is worth some days from now, if pools go on vanishing as they did.

use serde::Serialize;

use super::chance::{Draws, exp_minus};
use super::day::Day;
use super::file::FreeTiers;
use super::headline::{Headline, Selection};
use super::history::Survival;
use super::row::{Evidence, FreeTerms};

/// What to forecast.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ForecastSettings {
    /// Days after the snapshot; 30.
    pub horizon_days: u32,
    /// Deaths assumed before any was seen, in halves; 1, that is 0.5.
    pub prior_half_deaths: u32,
    /// Pool-days assumed before any was watched; 30.
    pub prior_pool_days: u32,
    /// Draws for `low` and `high`; 2000.
    pub draws: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// What makes a pool more or less likely to vanish; nothing.
    pub multipliers: Multipliers,
    /// What to leave out.
    pub selection: Selection,
}

impl Default for ForecastSettings {
    fn default() -> ForecastSettings {
        ForecastSettings {
            horizon_days: 30,
            prior_half_deaths: 1,
            prior_pool_days: 30,
            draws: 2000,
            seed: 0x0f_0e_ca_57,
            multipliers: Multipliers::NONE,
            selection: Selection::default(),
        }
    }
}

/// Factors on the rate at which a pool vanishes, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Multipliers {
    /// Its evidence is older than 60 days at the snapshot, or it has none.
    pub old_evidence: u32,
    /// Its terms say `avoid`.
    pub avoid: u32,
    /// It is given by somebody who resells others.
    pub aggregator: u32,
    /// Its number was seen in the console of an account.
    pub console_verified: u32,
}

impl Multipliers {
    /// All pools alike.
    pub const NONE: Multipliers =
        Multipliers { old_evidence: 100, avoid: 100, aggregator: 100, console_verified: 100 };
    /// 150, 200, 150 and 70 %.
    pub const USUAL: Multipliers =
        Multipliers { old_evidence: 150, avoid: 200, aggregator: 150, console_verified: 70 };
}

/// One budget in a forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// Tokens a month today.
    pub monthly: u64,
    /// Factor on its rate of vanishing.
    pub factor: f64,
}

/// What is left of a headline, in tokens a month. Not a promise: three or four events in one summer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FreeForecast {
    /// Day from which the forecast runs.
    pub as_of: Day,
    /// Days it runs.
    pub horizon_days: u32,
    /// Today's figure.
    pub today: u64,
    /// Expected on the last day.
    pub expected_at_end: u64,
    /// Expected on average over all days.
    pub expected_over_period: u64,
    /// One of ten draws ends at or below.
    pub low: u64,
    /// One of ten draws ends above.
    pub high: u64,
    /// Expected on the last day without the largest budget.
    pub without_largest: u64,
    /// Pools that vanish of a million in a day, before factors.
    pub hazard_ppm: u64,
    /// What that was learned from.
    pub learned_from: Survival,
}

impl FreeForecast {
    /// Forecasts a snapshot. `aggregator` says who resells others; it matters only with a multiplier for it.
    /// None if there is no snapshot of that day.
    pub fn of(
        tiers: &FreeTiers,
        as_of: Day,
        settings: &ForecastSettings,
        aggregator: impl Fn(&str) -> bool,
    ) -> Option<FreeForecast> {
        let headline: Headline = tiers.headline(as_of)?;
        let units: Vec<Unit> = headline
            .selected(settings.selection)
            .into_iter()
            .map(|(budget, monthly)| {
                let m = settings.multipliers;
                let evidence = budget.evidence.as_deref().map(Evidence::parse);
                let checked = evidence.as_ref().and_then(|e| e.day);
                // A day after the snapshot is as fresh as can be.
                let fresh = checked.is_some_and(|day| as_of.days_since(day).is_none_or(|age| age <= 60));
                let factors = [
                    (m.old_evidence, !fresh),
                    (m.avoid, budget.terms == FreeTerms::Avoid),
                    (m.aggregator, budget.providers.iter().any(|p| aggregator(p))),
                    (m.console_verified, evidence.is_some_and(|e| e.console_verified())),
                ];
                let factor = factors
                    .iter()
                    .filter(|(_, holds)| *holds)
                    .map(|(percent, _)| f64::from(*percent) / 100.0);
                Unit { monthly, factor: factor.product() }
            })
            .collect();
        Some(FreeForecast::from_units(as_of, &units, Survival::of(tiers), settings))
    }

    /// Forecasts budgets, largest first, from what is known of how such budgets fare.
    pub fn from_units(
        as_of: Day,
        units: &[Unit],
        learned_from: Survival,
        settings: &ForecastSettings,
    ) -> FreeForecast {
        let horizon = f64::from(settings.horizon_days);
        let shape = f64::from(settings.prior_half_deaths) / 2.0 + f64::from(learned_from.deaths);
        let days = (f64::from(settings.prior_pool_days) + learned_from.pool_days as f64).max(1.0);
        let hazard = shape / days;

        let at_end = |units: &[Unit]| -> f64 {
            units.iter().map(|unit| unit.monthly as f64 * exp_minus(hazard * unit.factor * horizon)).sum()
        };
        let over_period: f64 =
            units.iter().map(|unit| unit.monthly as f64 * average(hazard * unit.factor * horizon)).sum();
        let mut ends = ends(units, shape, days, settings);
        ends.sort_unstable();
        let part = |tenths: usize| match ends.len() {
            0 => 0,
            n => ends[(n * tenths).div_ceil(10).max(1) - 1],
        };
        FreeForecast {
            as_of,
            horizon_days: settings.horizon_days,
            today: units.iter().fold(0, |sum, unit| sum.saturating_add(unit.monthly)),
            expected_at_end: tokens(at_end(units)),
            expected_over_period: tokens(over_period),
            low: part(1),
            high: part(9),
            without_largest: tokens(at_end(units.get(1..).unwrap_or_default())),
            hazard_ppm: tokens(hazard * 1e6),
            learned_from,
        }
    }
}

/// Mean of `e^-y` for `y` from 0 to `x`.
fn average(x: f64) -> f64 {
    // Below this the quotient would lose its digits.
    if x < 1e-6 { 1.0 - x / 2.0 } else { (1.0 - exp_minus(x)) / x }
}

fn tokens(value: f64) -> u64 {
    value.round() as u64
}

/// What is left at the end in each draw: one rate for all, each budget lives or dies on its own.
fn ends(units: &[Unit], shape: f64, days: f64, settings: &ForecastSettings) -> Vec<u64> {
    let mut draws = Draws::new(settings.seed);
    let horizon = f64::from(settings.horizon_days);
    (0..settings.draws)
        .map(|_| {
            let hazard = draws.gamma(shape) / days;
            let mut left = 0_u64;
            for unit in units {
                if draws.uniform() < exp_minus(hazard * unit.factor * horizon) {
                    left = left.saturating_add(unit.monthly);
                }
            }
            left
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    fn forecast(as_of: &str, settings: &ForecastSettings) -> FreeForecast {
        FreeForecast::of(FreeTiers::embedded(), day(as_of), settings, |_| false).unwrap()
    }

    /// Computed with forty digits from the rate 3.5 / 490 a day: `e^(-30 * 3.5 / 490)` = 0.80711774700538928864.
    #[test]
    fn the_published_vector() {
        let new = forecast("2026-09-12", &ForecastSettings::default());
        assert_eq!(new.learned_from, Survival { pool_days: 460, deaths: 3 });
        assert_eq!(new.hazard_ppm, 7143);
        assert_eq!(new.today, 1_473_225_000);
        assert_eq!(new.expected_at_end, 1_189_066_043);
        assert_eq!(new.expected_over_period, 1_326_075_133);
        assert_eq!(new.without_largest, 381_948_296);
        // 1 189.1M at day 30, 1 326.1M over the month.
        assert_eq!((new.expected_at_end + 50_000) / 100_000, 11_891);
        assert_eq!((new.expected_over_period + 50_000) / 100_000, 13_261);

        let old = forecast("2026-08-20", &ForecastSettings::default());
        assert_eq!((old.expected_at_end, old.expected_over_period), (1_217_315_164, 1_357_579_235));
        assert_eq!(old.without_largest, 410_197_417);
        assert!(
            FreeForecast::of(FreeTiers::embedded(), day("2026-08-21"), &ForecastSettings::default(), |_| {
                true
            })
            .is_none()
        );
    }

    /// What must hold between the figures of a forecast. `run` is the function under test.
    fn laws(run: fn(&[Unit], Survival, &ForecastSettings) -> FreeForecast) -> Result<(), String> {
        let survival = Survival { pool_days: 460, deaths: 3 };
        for list in [&[][..], &[1000][..], &[1_000_000_000, 210_000_000, 150_000_000, 30_000_000, 25_000][..]]
        {
            let units: Vec<Unit> =
                list.iter().map(|monthly| Unit { monthly: *monthly, factor: 1.0 }).collect();
            let mut before = u64::MAX;
            for horizon_days in [0, 1, 7, 30, 90, 365, 100_000] {
                let settings = ForecastSettings { horizon_days, ..ForecastSettings::default() };
                let f = run(&units, survival, &settings);
                let total: u64 = list.iter().sum();
                if run(&units, survival, &settings) != f {
                    return Err(format!("the same seed gives two answers: {f:?}"));
                }
                if f.low > f.high || f.high > total || f.today != total {
                    return Err(format!("low, high and today are out of order: {f:?}"));
                }
                if f.expected_at_end > f.expected_over_period || f.expected_over_period > total {
                    return Err(format!("a hope above today's figure: {f:?}"));
                }
                if f.expected_at_end > before {
                    return Err(format!("pools come back: {f:?}"));
                }
                if horizon_days == 0 && (f.expected_at_end, f.low, f.high) != (total, total, total) {
                    return Err(format!("today is not today: {f:?}"));
                }
                before = f.expected_at_end;
            }
        }
        Ok(())
    }

    #[test]
    fn the_figures_are_in_order() {
        fn right(units: &[Unit], survival: Survival, settings: &ForecastSettings) -> FreeForecast {
            FreeForecast::from_units(Day::new(2026, 9, 12).unwrap(), units, survival, settings)
        }
        fn swapped(units: &[Unit], survival: Survival, settings: &ForecastSettings) -> FreeForecast {
            let f = right(units, survival, settings);
            FreeForecast { low: f.high, high: f.low, ..f }
        }
        fn linear(units: &[Unit], survival: Survival, settings: &ForecastSettings) -> FreeForecast {
            let f = right(units, survival, settings);
            FreeForecast { expected_over_period: f.expected_at_end / 2, ..f }
        }
        fn grows(units: &[Unit], survival: Survival, settings: &ForecastSettings) -> FreeForecast {
            let early = ForecastSettings { horizon_days: settings.horizon_days % 31, ..settings.clone() };
            right(units, survival, &early)
        }
        laws(right).unwrap();
        for (wrong, caught) in [
            (swapped as fn(&[Unit], Survival, &ForecastSettings) -> FreeForecast, "out of order"),
            (linear, "a hope above"),
            (grows, "pools come back"),
        ] {
            let error = laws(wrong).unwrap_err();
            assert!(error.contains(caught), "{caught}: {error}");
        }
    }

    #[test]
    fn seeds_agree_about_low_and_high() {
        let base = forecast("2026-09-12", &ForecastSettings::default());
        assert!(base.low < base.expected_at_end && base.expected_at_end < base.high, "{base:?}");
        for seed in 1..6 {
            let other = forecast("2026-09-12", &ForecastSettings { seed, ..ForecastSettings::default() });
            assert_eq!(other.expected_at_end, base.expected_at_end);
            for (a, b) in [(other.low, base.low), (other.high, base.high)] {
                assert!(a.abs_diff(b) < base.today / 10, "seed {seed}: {other:?} {base:?}");
            }
        }
    }

    /// One budget of 1000 for one day, rate 1/10 a day (one half and a half of deaths in ten days), hand-made factors.
    #[test]
    fn factors_change_the_rate() {
        let settings = ForecastSettings {
            horizon_days: 10,
            prior_half_deaths: 0,
            prior_pool_days: 10,
            ..ForecastSettings::default()
        };
        let survival = Survival { pool_days: 10, deaths: 2 };
        // Rate 2 / 20 = 0.1 a day, ten days: e^-1 = 0.36788, twice: e^-2 = 0.13534; mean 0.63212 and 0.43233.
        for (factor, end, mean) in [(1.0, 36_788, 63_212), (2.0, 13_534, 43_233), (0.5, 60_653, 78_694)] {
            let f = FreeForecast::from_units(
                day("2026-09-12"),
                &[Unit { monthly: 100_000, factor }],
                survival,
                &settings,
            );
            assert_eq!(
                (f.expected_at_end, f.expected_over_period, f.without_largest),
                (end, mean, 0),
                "{factor}"
            );
        }
        let usual = ForecastSettings { multipliers: Multipliers::USUAL, ..ForecastSettings::default() };
        let plain = forecast("2026-09-12", &ForecastSettings::default());
        let risky =
            FreeForecast::of(FreeTiers::embedded(), day("2026-09-12"), &usual, |p| p == "llm7").unwrap();
        // Mistral's figure was seen in a console: 0.7 of the rate holds two thirds of the sum up.
        assert!(risky.expected_at_end > plain.expected_at_end);
        assert!(risky.without_largest < plain.without_largest);
        let excluded = Selection { exclude_avoid: true, without_largest: true };
        let rest =
            forecast("2026-09-12", &ForecastSettings { selection: excluded, ..ForecastSettings::default() });
        assert_eq!(rest.today, 473_200_000);
    }
}
