//! Writes rows back to the text and decides which overwritten frames stay.

use super::Replay;
use crate::terminal::held::{self, REACH};
use crate::terminal::row::{End, Row, WIDEST_GAP};

impl Replay<'_> {
    /// Writes the first `count` rows out.
    pub(super) fn flush(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(row) = self.rows.pop_front() {
                let end = if row.end == End::Open { End::Line(0) } else { row.end };
                self.emit(&row, end);
            }
        }
        self.row = self.row.saturating_sub(count);
        self.saved = self.saved.and_then(|(row, col)| Some((row.checked_sub(count)?, col)));
        if self.rows.is_empty() {
            self.since_vertical = None;
        }
    }

    /// Writes all rows out at the end of the text.
    pub(super) fn finish(&mut self) {
        while self.rows.len() > self.row + 1 && self.rows.back().is_some_and(Row::is_blank) {
            let Some(row) = self.rows.pop_back() else {
                return;
            };
            if let Some(above) = self.rows.back_mut() {
                above.held.absorb(&row.held);
            }
        }
        let below = self.rows.len() > self.row + 1;
        while let Some(row) = self.rows.pop_front() {
            let last = self.rows.is_empty();
            let end = match row.end {
                End::Line(_) if last && !below => End::Open,
                End::Open if !last => End::Line(0),
                end => end,
            };
            self.emit(&row, end);
        }
    }

    fn emit(&mut self, row: &Row, end: End) {
        let mut shown = String::new();
        let shortened = row.render_gaps(0, usize::MAX, if self.tight { 1 } else { WIDEST_GAP }, &mut shown);
        let returns = if let End::Line(returns) = end { returns } else { 0 };
        let mut solid = shortened || end == End::Joined || !row.raw.is_empty();
        for frame in row.held.missing(&shown) {
            self.kept = self.kept.saturating_add(1);
            self.out.push_str(frame);
            self.out.push('\n');
            solid = true;
        }
        if row.passed && shown.is_empty() && row.raw.is_empty() {
            return;
        }
        self.out.push_str(&shown);
        self.out.push_str(&row.raw);
        if solid {
            self.floor = self.out.len();
        }
        if matches!(end, End::Line(_)) {
            self.out.extend(std::iter::repeat_n('\r', returns));
            self.out.push('\n');
        }
    }
}

/// Keeps the state of a row about to change when it names an error.
///
/// A frame written from the first column leaves the row at once: what the next
/// frame does not cover would only repeat it. With `tight` every kept state
/// does, so that no cell is written out twice. The cells `written` already
/// belong to the next frame and stay.
pub(super) fn hold(row: &mut Row, written: (usize, usize), tight: bool) {
    let (from, to) = row.fresh;
    if from >= to {
        return;
    }
    if !row.has_letters(from, to) {
        return;
    }
    let mut text = String::with_capacity(to - from + 2 * REACH);
    row.render(from.saturating_sub(REACH), to + REACH, &mut text);
    if !held::names_error(&text) {
        return;
    }
    text.clear();
    row.render(0, to, &mut text);
    if from == 0 && held::names_error(&text) {
        row.held.keep(&text);
        row.erase(written.1, to);
        row.erase(0, written.0);
        return;
    }
    text.clear();
    row.render(0, usize::MAX, &mut text);
    row.held.keep(&text);
    if tight {
        row.erase(written.1, usize::MAX);
        row.erase(0, written.0);
    }
}
