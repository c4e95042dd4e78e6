//! From a marked draft to the text that is sent.

use std::collections::HashSet;

use super::draft::{Draft, Mark};
use super::fold::{Folded, fold};
use super::guard::{Severity, is_hiding, severity};
use super::output::Output;
use super::template::template;
use super::what::{What, marker};

/// Beyond this share of dropped lines taken back, errors of one template are taken back once.
const MAX_TAKEN_BACK: usize = 2_000;
/// Lines of the end that are shown when a command failed and nothing that is left says why.
const LAST_LINES: usize = 10;

/// The text and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assembled {
    /// The text.
    pub(crate) text: String,
    /// Lines left out, by what they were. Only those behind markers.
    pub(crate) omitted: Vec<(What, u64)>,
    /// Decoration left out without a marker.
    pub(crate) noise: u64,
    /// Repeats and blanks.
    pub(crate) folded: Folded,
    /// Lines that the guard put back.
    pub(crate) put_back: u64,
}

/// Puts protected lines back, folds repeats and writes the text. `handle` names the kept original; it is asked for
/// once, only if lines are left out, and stands in the first marker.
pub(crate) fn assemble(
    out: &Output<'_>,
    draft: &mut Draft,
    handle: &mut dyn FnMut() -> Option<String>,
) -> Assembled {
    let put_back = guard(out, draft);
    let folded = fold(out, draft);
    restore_small_gaps(out, draft);
    let mut writer = Writer {
        out,
        text: String::with_capacity(out.text.len() / 2),
        gap: Gap::default(),
        handle,
        asked: false,
        omitted: Vec::new(),
        noise: 0,
    };
    writer.write(draft);
    let Writer { mut text, omitted, noise, .. } = writer;
    if !out.text.ends_with('\n') && text.ends_with('\n') {
        text.pop();
    }
    Assembled { text, omitted, noise, folded, put_back }
}

/// Takes back the drop of every line that tells of an error or hides something, and of the first warning of each
/// template. A command that failed without a line that says so keeps its last lines.
fn guard(out: &Output<'_>, draft: &mut Draft) -> u64 {
    let mut put_back = 0_usize;
    let mut seen = HashSet::new();
    for i in 0..draft.len() {
        let known = match draft.mark(i) {
            Mark::Drop { known, .. } => known,
            Mark::Noise => false,
            _ => continue,
        };
        let line = out.line(i);
        let back = match severity(line) {
            Severity::None => is_hiding(line) && (put_back < MAX_TAKEN_BACK || seen.insert(template(line))),
            Severity::Warning => !known && seen.insert(template(line)),
            Severity::Weak => !known && (put_back < MAX_TAKEN_BACK || seen.insert(template(line))),
            Severity::Error => put_back < MAX_TAKEN_BACK || seen.insert(template(line)),
        };
        if back {
            draft.keep(i);
            put_back += 1;
        }
    }
    if out.failed() && put_back == 0 && !says_why(out, draft) {
        for i in out.len().saturating_sub(LAST_LINES)..out.len() {
            if matches!(draft.mark(i), Mark::Drop { .. }) {
                draft.keep(i);
                put_back += 1;
            }
        }
    }
    put_back as u64
}

/// Whether a line that stays or a text in its place tells of an error.
fn says_why(out: &Output<'_>, draft: &mut Draft) -> bool {
    let kept = (0..draft.len()).filter(|i| draft.stays(*i)).any(|i| severity(out.line(i)) >= Severity::Weak);
    kept || draft.inserts().any(|(_, text)| text.lines().any(|l| severity(l) >= Severity::Weak))
}

/// A gap whose lines are not longer than its marker stays.
fn restore_small_gaps(out: &Output<'_>, draft: &mut Draft) {
    let texts: HashSet<usize> = draft.inserts().map(|(line, _)| line).collect();
    let mut i = 0;
    while i < draft.len() {
        if !matches!(draft.mark(i), Mark::Drop { .. }) {
            i += 1;
            continue;
        }
        let (mut end, mut bytes, mut count) = (i, 0, 0_u64);
        let mut what = None;
        while end < draft.len() && (end == i || !texts.contains(&end)) {
            match draft.mark(end) {
                Mark::Drop { what: w, .. } => {
                    let line = out.line(end).trim_end();
                    bytes += line.len() + 1;
                    count += u64::from(!line.is_empty());
                    what = Some(what.map_or(w, |before| if before == w { w } else { What::Lines }));
                }
                Mark::Noise | Mark::Cover => {}
                Mark::Keep if out.line(end).trim_end().is_empty() => {}
                _ => break,
            }
            end += 1;
        }
        let cost = marker(count, what.unwrap_or(What::Lines), None).len() + 1;
        if bytes <= cost {
            for j in i..end {
                if matches!(draft.mark(j), Mark::Drop { .. }) {
                    draft.keep(j);
                }
            }
        }
        i = end.max(i + 1);
    }
}

/// Lines left out since the last line that was written.
#[derive(Default)]
struct Gap {
    counts: Vec<(What, u64)>,
    blank: bool,
}

struct Writer<'a, 't> {
    out: &'a Output<'t>,
    text: String,
    gap: Gap,
    handle: &'a mut dyn FnMut() -> Option<String>,
    asked: bool,
    omitted: Vec<(What, u64)>,
    noise: u64,
}

impl Writer<'_, '_> {
    fn write(&mut self, draft: &mut Draft) {
        let marks: Vec<Mark> = (0..draft.len()).map(|i| draft.mark(i)).collect();
        let mut inserts = draft.inserts().peekable();
        for (i, mark) in marks.iter().enumerate() {
            while let Some((_, text)) = inserts.next_if(|(line, _)| *line <= i) {
                self.close_gap();
                self.push(text);
            }
            let line = self.out.line(i);
            match mark {
                Mark::Keep if line.trim_end().is_empty() => self.blank(),
                Mark::Keep => {
                    self.close_gap();
                    self.push(line.trim_end());
                }
                Mark::Pin => {
                    self.close_gap();
                    self.push(line);
                }
                Mark::Noise => self.noise += 1,
                Mark::Cover => {}
                Mark::Drop { what, .. } if !line.trim_ascii().is_empty() => {
                    add(&mut self.gap.counts, *what, 1)
                }
                Mark::Drop { .. } => {}
            }
        }
        for (_, text) in inserts {
            self.close_gap();
            self.push(text);
        }
        self.close_gap();
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A blank line inside a gap belongs to the gap.
    fn blank(&mut self) {
        if self.gap.counts.is_empty() {
            self.text.push('\n');
        } else {
            self.gap.blank = true;
        }
    }

    /// Writes the marker of the gap, if there is one: one kind by its name, several as lines.
    fn close_gap(&mut self) {
        let counts = std::mem::take(&mut self.gap.counts);
        let blank = std::mem::take(&mut self.gap.blank);
        let total: u64 = counts.iter().map(|(_, n)| n).sum();
        let what = match counts.as_slice() {
            [] => return,
            [(what, _)] => *what,
            _ => What::Lines,
        };
        let handle = match std::mem::replace(&mut self.asked, true) {
            false => (self.handle)(),
            true => None,
        };
        self.push(&marker(total, what, handle.as_deref()));
        if blank {
            self.text.push('\n');
        }
        for (what, n) in counts {
            add(&mut self.omitted, what, n);
        }
    }
}

fn add(counts: &mut Vec<(What, u64)>, what: What, n: u64) {
    match counts.iter_mut().find(|(w, _)| *w == what) {
        Some((_, count)) => *count += n,
        None => counts.push((what, n)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::Level;
    use super::*;

    fn run(text: &str, exit_code: Option<i32>, mark: impl FnOnce(&mut Draft)) -> String {
        let out = Output { exit_code, ..Output::new(text, Level::Standard) };
        let mut draft = Draft::new(out.len());
        mark(&mut draft);
        assemble(&out, &mut draft, &mut || Some("ab".into())).text
    }

    fn lines(count: usize) -> String {
        (0..count).map(|n| format!("this is the line with number {n}\n")).collect()
    }

    #[test]
    fn an_untouched_draft_gives_the_text_back() {
        for text in ["", "a", "a\n", "a\n\nb\n", "a\r\nb"] {
            assert_eq!(run(text, None, |_| {}), text.replace("\r\n", "\n"));
        }
    }

    #[test]
    fn gaps_get_exact_counts_and_one_handle() {
        let text = run(&lines(30), None, |d| {
            d.drop_range(1..11, What::Steps);
            d.drop_range(12..14, What::Steps);
            d.drop_range(14..20, What::Progress);
        });
        let markers: Vec<&str> = text.lines().filter(|l| l.starts_with('[')).collect();
        assert_eq!(markers, ["[rtk: 10 steps omitted, id=ab]", "[rtk: 8 lines omitted]"]);
        assert_eq!(text.lines().count(), 14);
    }

    #[test]
    fn errors_come_back_and_small_gaps_stay() {
        let text = format!("{}error: broken\nok\n{}", lines(9), lines(9));
        let shown = run(&text, None, |d| d.drop_range(0..20, What::Lines));
        assert_eq!(shown, "[rtk: 9 lines omitted, id=ab]\nerror: broken\n[rtk: 10 lines omitted]\n");
        assert_eq!(run("a\nb\nc\n", None, |d| d.drop(1, What::Lines)), "a\nb\nc\n");
    }

    #[test]
    fn a_failure_without_a_reason_shows_its_end() {
        let shown = run(&lines(30), Some(3), |d| d.drop_range(0..30, What::Lines));
        assert_eq!(shown.lines().count(), 11);
        assert!(shown.ends_with("number 29\n"));
        let shown = run(&lines(30), Some(0), |d| d.drop_range(0..30, What::Lines));
        assert_eq!(shown, "[rtk: 30 lines omitted, id=ab]\n");
    }

    #[test]
    fn repeats_fold_and_pins_do_not() {
        let text = "same line\nsame line\nsame line\nsame line\n\n\n\nend\n";
        assert_eq!(run(text, None, |_| {}), "same line (x4)\n\nend\n");
        assert_eq!(run(text, None, |d| (0..8).for_each(|i| d.pin(i))), text);
    }
}
