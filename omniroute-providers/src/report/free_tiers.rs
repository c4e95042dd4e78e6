//! The report of `omniroute free-tiers`.

use serde::Serialize;

use super::Style;
use super::bar::bar;
use super::numbers::{grouped, percent, short};
use super::table::{Column, Table, harmless};
use crate::free_tiers::{
    Budget, Day, ForecastSettings, FreeForecast, FreeStatus, FreeTiers, Headline, STALE_AFTER_DAYS, Selection,
};

/// The figures of a snapshot with their age, and a forecast if one was asked for. This is the JSON document, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FreeTiersReport {
    /// Day, age and staleness of everything here.
    #[serde(flatten)]
    pub status: FreeStatus,
    /// Whose facts these are.
    pub source: String,
    /// What is left out of `monthly`.
    pub selection: Selection,
    /// The figure: free tokens a month.
    pub monthly: u64,
    /// All figures; these mean the same whatever the selection is.
    pub headline: Headline,
    /// What is left some days later, of what the selection leaves.
    pub forecast: Option<FreeForecast>,
}

impl FreeTiersReport {
    /// The report on a snapshot, seen from `today`; none if there is no snapshot of that day.
    pub fn new(
        tiers: &FreeTiers,
        as_of: Day,
        today: Day,
        selection: Selection,
        forecast: Option<&ForecastSettings>,
    ) -> Option<FreeTiersReport> {
        let headline = tiers.headline(as_of)?;
        let forecast = forecast.and_then(|settings| {
            let settings = ForecastSettings { selection, ..settings.clone() };
            FreeForecast::of(tiers, as_of, &settings, |_| false)
        });
        Some(FreeTiersReport {
            status: FreeStatus::new(as_of, today),
            source: tiers.snapshots.get(&as_of).cloned().unwrap_or_default(),
            selection,
            monthly: headline.monthly(selection),
            headline,
            forecast,
        })
    }

    /// The report as text: figure and age, pools with bars, what stands apart, forecast. Ends with a line break.
    pub fn text(&self, style: Style) -> String {
        let mut out = self.head(style);
        out.push('\n');
        out.push_str(&self.pools(style));
        out.push('\n');
        out.push_str(&self.figures(style));
        if let Some(forecast) = &self.forecast {
            out.push('\n');
            out.push_str(&forecast_text(forecast, style));
        }
        out
    }

    fn head(&self, style: Style) -> String {
        let mut figure = format!("{} free tokens a month ({})", grouped(self.monthly), short(self.monthly));
        if self.selection.exclude_avoid {
            figure.push_str(", without terms avoid");
        }
        if self.selection.without_largest {
            figure.push_str(", without the largest");
        }
        let as_of = self.status.as_of;
        let age = match self.status.age_days {
            None => style.warn(&format!("as of {as_of}: a day to come, check the clock")),
            Some(age) => {
                let days = if age == 1 { "day" } else { "days" };
                let age = format!("as of {as_of}, {age} {days} old");
                match self.status.stale {
                    true => style.warn(&format!("{age}: stale, that is older than {STALE_AFTER_DAYS} days")),
                    false => age,
                }
            }
        };
        format!("{}\n{age}\n", style.bold(&figure))
    }

    fn pools(&self, style: Style) -> String {
        let selected = self.headline.selected(self.selection);
        let most = selected.first().map_or(0, |(_, tokens)| *tokens);
        let mut table = Table::new([
            Column::left("pool").shrinks(),
            Column::right("tokens a month"),
            Column::right("share"),
            Column::left(""),
            Column::left("terms"),
        ]);
        for (budget, tokens) in selected {
            table.row([
                name(budget),
                grouped(tokens),
                percent(tokens, self.monthly),
                bar(tokens, most, BAR, style.ascii),
                budget.terms.as_str().to_owned(),
            ]);
        }
        table.text(style.width)
    }

    fn figures(&self, style: Style) -> String {
        let headline = &self.headline;
        let mut table =
            Table::new([Column::left("").shrinks(), Column::right(""), Column::left("").shrinks()]);
        let mut line = |what: String, tokens: u64, remark: String| table.row([what, grouped(tokens), remark]);
        if self.selection != Selection::default() {
            line("everything".to_owned(), headline.steady, String::new());
        }
        let largest = headline.largest().map(Budget::name).unwrap_or_default();
        line("without the largest".to_owned(), headline.without_largest, format!("that is {largest}"));
        let avoid = format!("{} providers are labelled so", headline.avoid_providers);
        line("without terms avoid".to_owned(), headline.without_avoid, avoid);
        let credits = format!(
            "with {} given once, {} each month as credit",
            short(headline.one_time),
            short(headline.recurring_credit)
        );
        line("first month".to_owned(), headline.first_month, credits);
        if headline.gated > 0 {
            line(
                "behind a gate".to_owned(),
                headline.gated,
                "not counted: an identity check or the like".to_owned(),
            );
        }
        for boost in &headline.boosts {
            let remark = format!("not counted: {}, {}", boost.pool, boost.condition);
            line("after a deposit".to_owned(), boost.monthly, remark);
        }
        let mut out = table.text(style.width);
        if !headline.uncapped.is_empty() {
            let names = format!("no number published: {}", headline.uncapped.join(", "));
            out.push_str(&wrapped(&harmless(&names), style.width));
        }
        out
    }
}

const BAR: usize = 20;

fn name(budget: &Budget) -> String {
    match (&budget.pool, budget.models) {
        (Some(pool), _) => pool.clone(),
        (None, 1) => format!("{}, 1 model", budget.name()),
        (None, models) => format!("{}, {models} models", budget.name()),
    }
}

fn forecast_text(forecast: &FreeForecast, style: Style) -> String {
    let head = format!(
        "{} days after {}, if pools go on vanishing as they did",
        forecast.horizon_days, forecast.as_of
    );
    let mut table = Table::new([Column::left("").shrinks(), Column::right(""), Column::right("")]);
    for (what, tokens) in [
        ("expected on the last day", forecast.expected_at_end),
        ("expected on average until then", forecast.expected_over_period),
        ("one case in ten ends at or below", forecast.low),
        ("one case in ten ends above", forecast.high),
        ("expected without the largest", forecast.without_largest),
    ] {
        table.row([what.to_owned(), grouped(tokens), percent(tokens, forecast.today)]);
    }
    let learned = forecast.learned_from;
    let source = format!(
        "learned from {} pools that vanished in {} pool-days; of a million pools {} vanish in a day",
        learned.deaths,
        grouped(learned.pool_days),
        grouped(forecast.hazard_ppm)
    );
    format!("{}\n{}{}", style.bold(&head), table.text(style.width), wrapped(&source, style.width))
}

/// Words in lines of at most `width` columns; further lines are set in.
fn wrapped(text: &str, width: Option<usize>) -> String {
    use unicode_width::UnicodeWidthStr;
    let most = width.unwrap_or(usize::MAX);
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let wide = word.width();
        if used > 0 && used + 1 + wide > most {
            out.push_str("\n  ");
            used = 2;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    fn report(selection: Selection, forecast: bool) -> FreeTiersReport {
        let settings = ForecastSettings::default();
        let forecast = forecast.then_some(&settings);
        let tiers = FreeTiers::embedded();
        FreeTiersReport::new(tiers, day("2026-09-12"), day("2026-09-20"), selection, forecast).unwrap()
    }

    #[test]
    fn text_of_the_newest_snapshot() {
        let text = report(Selection::default(), true).text(Style { ascii: true, ..Style::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "1 473 225 000 free tokens a month (1.47B)",
                "as of 2026-09-12, 8 days old",
                "",
                "pool             tokens a month   share                        terms",
                "mistral           1 000 000 000  67.9 %  ####################  caution",
                "nara-free           210 000 000  14.3 %  #####                 caution",
            ],
            "{text}"
        );
        for part in [
            "\ngroq, 5 models       30 000 000   2.0 %  #                     caution\n",
            "\nkiro                     25 000   0.0 %  #                     avoid\n",
            "\nwithout the largest    473 225 000  that is mistral\n",
            "\nwithout terms avoid  1 473 200 000  13 providers are labelled so\n",
            "\nfirst month          2 074 725 000  with 601M given once, 1.00M each month as credit\n",
            "\nbehind a gate            6 000 000  not counted: an identity check or the like\n",
            "\nafter a deposit         24 000 000  not counted: openrouter-free, one-time 10 USD top-up",
            "\nno number published: agnes, agnes-cn, ainative, ",
            "\n30 days after 2026-09-12, if pools go on vanishing as they did\n",
            "\nexpected on the last day          1 189 066 043   80.7 %\n",
            "\nlearned from 3 pools that vanished in 460 pool-days; of a million pools 7 143 vanish in a day\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn selections_say_what_they_leave_out() {
        let both = Selection { exclude_avoid: true, without_largest: true };
        let report = report(both, false);
        let text = report.text(Style::default());
        assert!(
            text.starts_with(
                "473 200 000 free tokens a month (473M), without terms avoid, without the largest\n"
            ),
            "{text}"
        );
        assert!(!text.contains("\nkiro") && !text.contains("\nmistral"), "{text}");
        assert!(text.contains("\neverything           1 473 225 000\n"), "{text}");
        // Shares are those of the figure above them: nara's 210M of 473.2M.
        assert!(text.contains("\nnara-free           210 000 000  44.4 %  \u{2588}"), "{text}");
    }

    #[test]
    fn age_is_shown_and_staleness_stands_out() {
        let tiers = FreeTiers::embedded();
        let head = |today: &str, colour: bool| {
            let none = Selection::default();
            let report = FreeTiersReport::new(tiers, day("2026-09-12"), day(today), none, None).unwrap();
            report.head(Style { colour, ..Style::default() }).lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(head("2026-09-13", true), "as of 2026-09-12, 1 day old");
        assert_eq!(
            head("2026-10-12", false),
            "as of 2026-09-12, 30 days old: stale, that is older than 14 days"
        );
        assert!(head("2026-10-12", true).starts_with("\u{1b}[33mas of 2026-09-12"));
        assert_eq!(head("2026-09-11", false), "as of 2026-09-12: a day to come, check the clock");
        assert!(
            FreeTiersReport::new(tiers, day("2026-09-13"), day("2026-09-13"), Selection::default(), None)
                .is_none()
        );
    }

    #[test]
    fn lines_fit_the_screen() {
        let report = report(Selection::default(), true);
        for width in [72, 80, 100] {
            let text = report.text(Style { width: Some(width), ..Style::default() });
            assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
        }
    }

    /// Whether all numbers are whole.
    fn whole(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::Number(number) => number.is_u64(),
            serde_json::Value::Array(list) => list.iter().all(whole),
            serde_json::Value::Object(members) => members.values().all(whole),
            _ => true,
        }
    }

    #[test]
    fn json_holds_the_same_figures() {
        let json = serde_json::to_value(report(Selection::default(), true)).unwrap();
        assert_eq!(json["as_of"], "2026-09-12");
        assert_eq!((&json["age_days"], &json["stale"]), (&8.into(), &false.into()));
        assert_eq!(
            (&json["monthly"], &json["headline"]["steady"]),
            (&1_473_225_000_u64.into(), &1_473_225_000_u64.into())
        );
        assert_eq!(json["headline"]["budgets"][0]["pool"], "mistral");
        assert_eq!(json["forecast"]["expected_at_end"], 1_189_066_043_u64);
        assert_eq!(json["forecast"]["learned_from"]["deaths"], 3);
        assert!(whole(&json), "no fractions");
        assert_eq!(
            serde_json::to_value(report(Selection::default(), false)).unwrap()["forecast"],
            serde_json::Value::Null
        );
    }
}
