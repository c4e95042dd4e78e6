//! Sums over events, by class, filter and day.

use std::collections::{BTreeMap, VecDeque};

use super::event::{CommandId, SavingsEvent, signed};
use super::receipts::Requests;
use super::share::Share;

/// A command that is run again within so many calls after a compressed result counts as a rerun.
const RERUN_WINDOW: usize = 3;
const DAY_MS: i64 = 86_400_000;

/// What rows are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// One row a class.
    #[default]
    Class,
    /// One row a class and filter.
    Filter,
    /// One row a day.
    Day,
}

/// Sums over some events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Results.
    pub count: u64,
    /// Results that were changed.
    pub changed: u64,
    /// Bytes as they came.
    pub bytes_in: u64,
    /// Bytes as sent.
    pub bytes_out: u64,
    /// Tokens as they came.
    pub tokens_in: u64,
    /// Tokens as sent.
    pub tokens_out: u64,
    /// Tokens that the harness would have shown of the originals: the baseline.
    pub tokens_in_capped: u64,
    /// Tokens that the harness shows of the results.
    pub tokens_out_capped: u64,
    /// Results whose tokens were estimated.
    pub estimated: u64,
    /// Microseconds, of the results that have a time.
    pub micros: u64,
    /// Lines that the failure guard put back.
    pub guard_reinserted: u64,
    /// Commands that were run again within three calls after a result of theirs was compressed.
    pub reruns: u64,
    /// Tokens of what those reruns gave.
    pub rerun_tokens: u64,
    /// Raw outputs that were fetched back.
    pub retrievals: u64,
}

impl Row {
    /// Tokens saved against the baseline.
    pub fn saved(&self) -> i64 {
        signed(self.tokens_in_capped) - signed(self.tokens_out_capped)
    }

    /// Tokens saved after what reruns cost.
    pub fn net(&self) -> i64 {
        self.saved() - signed(self.rerun_tokens)
    }

    /// Saved part of the baseline: the average over results, weighted by their tokens.
    pub fn share(&self) -> Share {
        Share::new(self.saved(), self.tokens_in_capped)
    }

    /// Adds another row.
    pub fn add(&mut self, other: &Row) {
        self.count += other.count;
        self.changed += other.changed;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.tokens_in_capped += other.tokens_in_capped;
        self.tokens_out_capped += other.tokens_out_capped;
        self.estimated += other.estimated;
        self.micros += other.micros;
        self.guard_reinserted += other.guard_reinserted;
        self.reruns += other.reruns;
        self.rerun_tokens += other.rerun_tokens;
        self.retrievals += other.retrievals;
    }

    fn of(event: &SavingsEvent) -> Row {
        Row {
            count: 1,
            changed: u64::from(event.changed),
            bytes_in: event.bytes_in,
            bytes_out: event.bytes_out,
            tokens_in: event.tokens_in,
            tokens_out: event.tokens_out,
            tokens_in_capped: event.tokens_in_capped,
            tokens_out_capped: event.tokens_out_capped,
            estimated: u64::from(!event.exact),
            micros: event.micros.unwrap_or(0),
            guard_reinserted: event.guard_reinserted.into(),
            ..Row::default()
        }
    }
}

/// Class, filter (empty: none), day since 1970 (none: unknown).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    class: String,
    filter: String,
    day: Option<i64>,
}

impl Key {
    fn name(&self, by: By) -> String {
        match by {
            By::Class => self.class.clone(),
            By::Filter if self.filter.is_empty() => self.class.clone(),
            By::Filter => format!("{} {}", self.class, self.filter),
            By::Day => self.day.map_or_else(|| "unknown".to_owned(), date),
        }
    }
}

/// What compression saved and cost.
///
/// Events of one session come in order; [`Gain::end_session`] stands between sessions.
#[derive(Debug, Clone, Default)]
pub struct Gain {
    rows: BTreeMap<Key, Row>,
    recent: VecDeque<(Option<CommandId>, Option<Key>)>,
    pub(super) requests: Requests,
}

impl Gain {
    /// Nothing yet.
    pub fn new() -> Self {
        Gain::default()
    }

    /// Adds a result.
    pub fn add(&mut self, event: &SavingsEvent) {
        let key = Key {
            class: event.class.clone(),
            filter: event.filter.clone().unwrap_or_default(),
            day: event.at.map(|at| at.0.div_euclid(DAY_MS)),
        };
        // The row of the compressed result pays for the rerun, not the row of the rerun.
        let same = |(command, key): &(Option<CommandId>, Option<Key>)| {
            key.clone().filter(|_| *command == event.command)
        };
        if let Some(earlier) = event.command.and_then(|_| self.recent.iter().rev().find_map(same)) {
            let row = self.rows.entry(earlier).or_default();
            row.reruns += 1;
            row.rerun_tokens += event.tokens_out_capped;
        }
        self.recent.push_back((event.command, event.changed.then(|| key.clone())));
        if self.recent.len() > RERUN_WINDOW {
            self.recent.pop_front();
        }
        self.rows.entry(key).or_default().add(&Row::of(event));
    }

    /// Counts that the raw output behind a result of this class and filter was fetched back.
    pub fn add_retrieval(&mut self, class: &str, filter: Option<&str>) {
        let key = Key { class: class.to_owned(), filter: filter.unwrap_or_default().to_owned(), day: None };
        let known = self.rows.keys().rfind(|k| k.class == key.class && k.filter == key.filter).cloned();
        self.rows.entry(known.unwrap_or(key)).or_default().retrievals += 1;
    }

    /// What comes next belongs to another session: commands before it are not run again by it.
    pub fn end_session(&mut self) {
        self.recent.clear();
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.requests.totals.count == 0
    }

    /// Rows with their names, largest saving first, then by name; days in order.
    pub fn rows(&self, by: By) -> Vec<(String, Row)> {
        let mut sums: BTreeMap<String, Row> = BTreeMap::new();
        for (key, row) in &self.rows {
            sums.entry(key.name(by)).or_default().add(row);
        }
        let mut rows: Vec<(String, Row)> = sums.into_iter().collect();
        if by != By::Day {
            rows.sort_by_key(|(_, row)| -row.saved());
        }
        rows
    }

    /// The sum of all rows.
    pub fn total(&self) -> Row {
        let mut total = Row::default();
        self.rows.values().for_each(|row| total.add(row));
        total
    }
}

/// A day since 1970 as `2026-01-31` (Gregorian calendar).
fn date(day: i64) -> String {
    // Years that start in March, in eras of 400 years.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (day, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (20_453, "2025-12-31"),
            (11_016, "2000-02-29"),
        ] {
            assert_eq!(date(day), expected, "{day}");
        }
    }
}
