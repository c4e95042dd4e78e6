//! Writing findings: by file below a heading, or once with a list of positions.

use std::collections::{HashMap, HashSet};

use crate::rtk::kit::{Draft, Level, Output};

use super::groups::{Groups, Role, different, groups, note_key};
use super::model::{Bound, Finding, Hash, Kind, Parsed, hash};
use super::parse::{MORE, lead_path};
use super::scan::{is_caret, is_gutter, squeeze};

/// What may be done to findings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// Findings of one file stand below its name.
    pub(crate) by_file: bool,
    /// Code frames of findings that are no errors go.
    pub(crate) drop_frames: bool,
    /// How much may go.
    pub(crate) level: Level,
}

/// Marks the draft for the findings. Other lines stay.
pub(crate) fn emit(out: &Output<'_>, draft: &mut Draft, parsed: &Parsed<'_>, policy: Policy) {
    if parsed.is_rendered || parsed.findings.is_empty() || policy.level == Level::Minimal {
        return;
    }
    let groups = groups(&parsed.findings);
    let ends = ends(parsed);
    let mut emitter = Emitter { out, parsed, groups, ends, policy };
    emitter.runs(draft);
    emitter.notes(draft);
    emitter.rest(draft);
}

/// For every finding the line behind its frame and details.
fn ends(parsed: &Parsed<'_>) -> Vec<usize> {
    let mut ends: Vec<usize> = parsed.findings.iter().map(|f| f.at + 1).collect();
    for (i, kind) in parsed.kinds.iter().enumerate() {
        if let Kind::Frame(n) | Kind::Detail(n) = kind
            && let Some(end) = ends.get_mut(*n as usize)
        {
            *end = i + 1;
        }
    }
    ends
}

struct Emitter<'a, 't> {
    out: &'a Output<'t>,
    parsed: &'a Parsed<'t>,
    groups: Groups,
    ends: Vec<usize>,
    policy: Policy,
}

impl Emitter<'_, '_> {
    fn role(&self, i: usize) -> Role {
        self.groups.roles.get(i).copied().unwrap_or(Role::Alone)
    }

    /// The lines of finding `i` with frame and details.
    fn lines(&self, i: usize) -> std::ops::Range<usize> {
        let start = self.parsed.findings.get(i).map_or(0, |f| f.at);
        start..self.ends.get(i).copied().unwrap_or(start)
    }

    /// Run by run: first what stands for several findings, then the heading, then the rows.
    fn runs(&mut self, draft: &mut Draft) {
        let findings = &self.parsed.findings;
        let mut start = 0;
        while let Some(first) = findings.get(start) {
            let len = findings.iter().skip(start).take_while(|f| f.run == first.run).count();
            let range = start..start + len;
            for i in range.clone() {
                match self.role(i) {
                    Role::Head(group) => self.head(draft, i, group, first.at),
                    Role::Member => self.lines(i).for_each(|line| draft.cover(line)),
                    Role::Alone => {}
                }
            }
            self.rows(draft, range);
            start += len;
        }
    }

    /// The line for all findings of a group, before line `before` unless its form is bound.
    fn head(&self, draft: &mut Draft, i: usize, group: u32, before: usize) {
        let (Some(first), Some(members)) =
            (self.parsed.findings.get(i), self.groups.members.get(group as usize))
        else {
            return;
        };
        let line = self.out.line(first.at).trim_end();
        if matches!(first.bound, Bound::Line | Bound::Row) {
            draft.replace(first.at, &format!("{line} (x{})", members.len()));
            return;
        }
        let more = members.len() - 1;
        let lines = self.lines(i);
        lines.clone().for_each(|line| draft.cover(line));
        draft.insert_with(before, |text| {
            if first.is_row || first.own {
                text.push_str(first.pos.path);
                text.push(':');
                row_text(text, first);
            } else {
                squeeze(text, line);
            }
            text.push_str(&format!(" (+{more}{MORE}"));
            for detail in lines.filter(|l| matches!(self.parsed.kinds.get(*l), Some(Kind::Detail(_)))) {
                text.push_str("\n  ");
                squeeze(text, self.out.line(detail));
            }
            self.list(text, first, members);
        });
    }

    /// ` path: 3:5 name, 6:5 name`, one line for each file; the file of the head is not named again.
    fn list(&self, text: &mut String, first: &Finding<'_>, members: &[u32]) {
        let members = members.iter().skip(1).filter_map(|i| self.parsed.findings.get(*i as usize));
        let mut path = "";
        for finding in members {
            let part = different(first.pos.rest, finding.pos.rest);
            if path != finding.pos.path {
                text.push_str("\n ");
                if !path.is_empty() || finding.pos.path != first.pos.path {
                    text.push_str(finding.pos.path);
                    text.push_str(": ");
                }
                path = finding.pos.path;
            } else {
                text.push_str(", ");
            }
            place(text, finding);
            if !part.is_empty() {
                text.push(' ');
                squeeze(text, part);
            }
        }
    }

    /// The findings of a run that stand for themselves, below the name of their file.
    fn rows(&self, draft: &mut Draft, range: std::ops::Range<usize>) {
        let findings = &self.parsed.findings;
        let alone = |i: &usize| matches!(self.role(*i), Role::Alone) || self.is_repeat_head(*i);
        let movable = |i: &usize| {
            findings
                .get(*i)
                .is_some_and(|f| !f.is_note && matches!(f.bound, Bound::Free | Bound::Words | Bound::Row))
        };
        let rows = range.clone().filter(alone).filter(|i| findings.get(*i).is_some_and(|f| f.is_row)).count();
        let free = range.clone().filter(alone).filter(movable).count();
        if rows == 0 && (free < 2 || !self.policy.by_file) {
            let own = range
                .filter(alone)
                .filter(movable)
                .filter_map(|i| Some((i, findings.get(i).filter(|f| f.own)?)));
            for (i, finding) in own {
                draft.cover(finding.at);
                draft.insert_with(finding.at, |text| {
                    text.push_str(finding.pos.path);
                    text.push(':');
                    row_text(text, finding);
                });
                self.own_details(draft, i);
            }
            return;
        }
        let mut has_heading = false;
        for i in range.filter(alone) {
            let Some(finding) = findings.get(i) else { continue };
            if !movable(&i) && !finding.is_row {
                continue;
            }
            if !has_heading {
                draft.insert(finding.at, &format!("{}:", finding.pos.path));
                has_heading = true;
            }
            if movable(&i) && matches!(self.role(i), Role::Alone) {
                draft.cover(finding.at);
                draft.insert_with(finding.at, |text| {
                    text.push(' ');
                    row_text(text, finding);
                });
                if finding.own {
                    self.own_details(draft, i);
                }
            }
        }
    }

    /// Details of block formats stand at the margin; below a row they are indented.
    fn own_details(&self, draft: &mut Draft, i: usize) {
        for line in self.lines(i).filter(|l| matches!(self.parsed.kinds.get(*l), Some(Kind::Detail(_)))) {
            draft.cover(line);
            draft.insert_with(line, |text| {
                text.push_str("  ");
                squeeze(text, self.out.line(line));
            });
        }
    }

    fn is_repeat_head(&self, i: usize) -> bool {
        let bound = self.parsed.findings.get(i).map(|f| f.bound);
        matches!(self.role(i), Role::Head(_)) && matches!(bound, Some(Bound::Line | Bound::Row))
    }

    /// Notes at the line of the finding they explain lose the position; equal ones are counted.
    fn notes(&self, draft: &mut Draft) {
        let mut seen: HashMap<u64, (usize, usize)> = HashMap::new();
        let mut parent: Option<&Finding<'_>> = None;
        let mut notes = Vec::new();
        for finding in &self.parsed.findings {
            match parent {
                Some(p)
                    if finding.is_note
                        && finding.bound != Bound::Line
                        && p.run == finding.run
                        && is_same_place(p, finding) =>
                {
                    let key = note_key(p, finding);
                    seen.entry(key).or_insert((0, finding.at)).0 += 1;
                    notes.push((finding, key));
                }
                _ if finding.is_note => {}
                _ => parent = Some(finding),
            }
        }
        for (note, key) in notes {
            let (count, first) = seen.get(&key).copied().unwrap_or((1, note.at));
            if !draft.stays(note.at) {
                continue;
            }
            draft.cover(note.at);
            if count < 3 || first == note.at {
                draft.insert_with(note.at, |text| {
                    text.push_str("  ");
                    squeeze(text, note.pos.rest);
                    if count >= 3 {
                        text.push_str(&format!(" (x{count})"));
                    }
                });
            }
        }
    }

    /// Frames, headings, lead lines, decoration and the blank lines between findings.
    fn rest(&self, draft: &mut Draft) {
        let mut shown: HashSet<u64> = HashSet::new();
        let mut folded: HashSet<u64> = HashSet::new();
        let has_leads = self.parsed.kinds.contains(&Kind::Lead);
        for (i, finding) in self.parsed.findings.iter().enumerate().filter(|_| has_leads) {
            let paths = if self.role(i) == Role::Member { &mut folded } else { &mut shown };
            paths.insert(hash(finding.pos.path));
        }
        let is_gone =
            |line: &str| !shown.contains(&hash(lead_path(line))) && folded.contains(&hash(lead_path(line)));
        let mut blanks: Vec<usize> = Vec::new();
        let mut after_finding = false;
        for (i, kind) in self.parsed.kinds.iter().enumerate() {
            match kind {
                Kind::Blank => {
                    blanks.push(i);
                    continue;
                }
                Kind::Heading => draft.cover(i),
                Kind::Decoration => draft.noise(i),
                Kind::Frame(n) if self.drops_frame(*n) => draft.cover(i),
                Kind::Lead if is_gone(self.out.line(i)) => draft.cover(i),
                _ => {}
            }
            let is_finding = !matches!(kind, Kind::Other | Kind::Decoration);
            if self.policy.by_file && after_finding && is_finding {
                blanks.iter().for_each(|b| draft.noise(*b));
            }
            blanks.clear();
            after_finding = is_finding;
        }
        self.chains(draft);
        if !self.policy.by_file {
            self.frames(draft);
        }
    }

    /// Include chains that were shown before.
    fn chains(&self, draft: &mut Draft) {
        let mut seen: HashSet<u64> = HashSet::new();
        let is_chain = |i: usize| {
            matches!(self.parsed.kinds.get(i), Some(Kind::Lead)) && lead_path(self.out.line(i)).is_empty()
        };
        let mut i = 0;
        while i < self.out.len() {
            let len = (i..self.out.len()).take_while(|j| is_chain(*j)).count();
            let mut chain = Hash::new();
            (i..i + len).for_each(|j| chain.text(self.out.line(j)));
            if len > 0 && !seen.insert(chain.0) {
                (i..i + len).for_each(|j| draft.cover(j));
            }
            i += len.max(1);
        }
    }

    /// Of a frame that is a source line with marks below it the marks go (the position says the column), and the
    /// source if it was just shown.
    fn frames(&self, draft: &mut Draft) {
        let mut last = "";
        let is_frame = |i: usize| matches!(self.parsed.kinds.get(i), Some(Kind::Frame(_)));
        for (n, finding) in self.parsed.findings.iter().enumerate() {
            let source = finding.at + 1;
            if !is_frame(source) || self.role(n) == Role::Member || finding.pos.col.is_empty() {
                continue;
            }
            let (code, marks) = (self.out.line(source), self.out.line(source + 1));
            let plain = is_gutter(code) && is_frame(source + 1) && !is_frame(source + 2) && is_mark(marks);
            if plain {
                draft.cover(source + 1);
                let is_warning = finding.bound != Bound::Line;
                if code == last || is_warning && self.policy.level == Level::Aggressive {
                    draft.cover(source);
                }
                last = code;
            }
        }
    }

    fn drops_frame(&self, finding: u32) -> bool {
        let bound = self.parsed.findings.get(finding as usize).map_or(Bound::Line, |f| f.bound);
        self.policy.drop_frames && !matches!(bound, Bound::Line | Bound::Row | Bound::First)
    }
}

/// `      |     ^~~~`.
fn is_mark(line: &str) -> bool {
    line.trim_start().strip_prefix('|').is_some_and(is_caret)
}

/// `3:5 text`.
fn row_text(text: &mut String, finding: &Finding<'_>) {
    place(text, finding);
    text.push(' ');
    if !finding.pos.tag.is_empty() {
        text.push_str(finding.pos.tag);
        text.push(' ');
    }
    squeeze(text, finding.pos.rest);
}

/// `3:5`, `3`.
fn place(text: &mut String, finding: &Finding<'_>) {
    text.push_str(finding.pos.line);
    if !finding.pos.col.is_empty() {
        text.push(':');
        text.push_str(finding.pos.col);
    }
}

fn is_same_place(a: &Finding<'_>, b: &Finding<'_>) -> bool {
    a.pos.path == b.pos.path && a.pos.line == b.pos.line && (a.pos.col == b.pos.col || b.pos.col.is_empty())
}
