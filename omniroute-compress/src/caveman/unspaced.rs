//! Finds what rules change in languages whose words are written together.

use super::Condenser;
use super::edit::Edit;
use super::pack::{At, Next, Pack};
use crate::protect::{Paragraph, Scan};

/// Adds the edits of a paragraph.
pub(super) fn edits<'p>(
    text: &str,
    scan: &Scan,
    paragraph: &Paragraph,
    pack: &'p Pack,
    condenser: &Condenser,
    out: &mut Vec<Edit<'p>>,
) {
    let Some(finder) = &pack.finder else { return };
    let mut from = paragraph.bytes.start;
    let spans = scan.spans.get(paragraph.spans.clone()).unwrap_or(&[]);
    let ends = spans.iter().map(|s| (s.start, s.end)).chain([(paragraph.bytes.end, paragraph.bytes.end)]);
    let whole = text.get(..paragraph.bytes.end).unwrap_or("");
    let mut floor = from;
    for (to, next) in ends {
        let part = text.get(from..to).unwrap_or("");
        for found in finder.phrases.find_iter(part) {
            let (start, end) = (from + found.start(), from + found.end());
            let rule = finder.rule.get(found.pattern().as_usize()).and_then(|at| pack.rules.get(*at));
            let Some(rule) = rule.filter(|r| condenser.allows(&r.id, r.class(), r.level())) else { continue };
            let before = whole.get(paragraph.bytes.start..start).unwrap_or("");
            let after = whole.get(end..).unwrap_or("");
            let (starts, stops) = (starts(before), stops(after));
            let place = match rule.at {
                At::Any => true,
                At::Start => starts,
                At::End => stops,
                At::Edge => starts || stops,
                At::Sentence => starts && stops,
            };
            let comma = ["，", "、", ","].iter().find(|c| after.starts_with(**c));
            let place = place && (rule.next != Some(Next::Comma) || comma.is_some());
            let banned = rule.unless_next.iter().any(|w| after.starts_with(w.as_str()))
                || rule.unless_prev.iter().any(|w| before.ends_with(w.as_str()));
            // Nothing goes from behind a word that is kept: it may belong to it.
            let sign = |c: Option<char>| c.is_some_and(|c| c.is_ascii_graphic());
            // Two numbers must not become one.
            let joins = rule.to.is_empty() && sign(before.chars().next_back()) && sign(after.chars().next());
            if !place || banned || joins || start < floor || pack.kept_at_end(before) {
                continue;
            }
            let mut end = end;
            if rule.to.is_empty() {
                end += match comma {
                    Some(comma) if starts => comma.len(),
                    _ => 0,
                };
                let stop = ["。", "！", "!"].iter().find(|c| after.starts_with(**c));
                if let (At::Sentence, Some(stop)) = (rule.at, stop) {
                    end += stop.len();
                }
            }
            floor = end;
            out.push(Edit {
                start,
                end,
                to: rule.to.clone(),
                rule: &rule.id,
                takes: &rule.takes,
                gives: &rule.gives,
            });
        }
        from = next;
    }
}

fn starts(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '　']);
    before.is_empty() || before.ends_with(['。', '！', '？', '\n', '.', '!', '?', '；'])
}

fn stops(after: &str) -> bool {
    after.trim_end().is_empty() || after.starts_with(['。', '！', '？', '\n', '!', '?'])
}
