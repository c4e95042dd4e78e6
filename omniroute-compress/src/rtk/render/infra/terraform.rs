//! `terraform` and `tofu`: plan, apply, destroy. Every address with its verb, every changed value, every error. What a
//! block repeats of the one before it is said once.

use std::ops::Range;

use crate::rtk::kit::{Draft, Level, Output, Verdict, What, marker};

/// Plans, and applies with the plan in front.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_mine = |l: &&str| {
        address(l).is_some()
            || state(l).is_some()
            || l.starts_with("Plan: ")
            || l.starts_with("No changes.")
            || l.starts_with("Apply complete!")
            || l.starts_with("Destroy complete!")
    };
    if !out.lines.iter().any(is_mine) {
        return Verdict::NotMine;
    }
    let mut blocks = Vec::new();
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i);
        let mut next = i + 1;
        if address(line).is_some() {
            next = (i + 1..out.len()).find(|j| out.line(*j).trim_end().is_empty()).unwrap_or(out.len());
            blocks.push(i..next);
        } else if state(line) == Some(State::Passing) && settled(out, i) {
            draft.drop(i, What::Steps);
        } else if is_legend(line) {
            draft.noise(i);
        }
        i = next;
    }
    if out.level > Level::Minimal {
        shorten(out, draft, &blocks);
    }
    Verdict::Done
}

/// `# aws_instance.web[0] will be created`, with the words in front of the address left out.
fn address(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("# ")?;
    let (address, verb) = rest.split_once(' ')?;
    let verb = ["will be ", "must be ", "has been ", "has changed", "has moved", "is tainted"]
        .iter()
        .any(|v| verb.starts_with(v));
    (verb && address.contains('.')).then_some(address)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Reading, refreshing, on the way.
    Passing,
    /// Done.
    Final,
}

/// `aws_instance.web[0]: Creating...`.
fn state(line: &str) -> Option<State> {
    let (address, what) = line.split_once(": ")?;
    if !address.contains('.') || address.contains(' ') {
        return None;
    }
    let passing = [
        "Refreshing state...",
        "Reading...",
        "Read complete after ",
        "Creating...",
        "Modifying...",
        "Destroying...",
        "Preparing import...",
        "Still ",
    ];
    let done = [
        "Creation complete after ",
        "Modifications complete after ",
        "Destruction complete after ",
        "Import complete",
    ];
    if passing.iter().any(|p| what.starts_with(p)) {
        Some(State::Passing)
    } else {
        done.iter().any(|d| what.starts_with(d)).then_some(State::Final)
    }
}

/// Whether the step of line `i` is known to have ended well: reading does not matter, anything else has a final line.
fn settled(out: &Output<'_>, i: usize) -> bool {
    let Some((address, what)) = out.line(i).split_once(": ") else { return false };
    if what.starts_with("Refreshing") || what.starts_with("Read") {
        return true;
    }
    // What changed last is near the end; a window bounds the search.
    let ends = |j: usize| {
        out.line(j).strip_prefix(address).is_some_and(|rest| rest.starts_with(": "))
            && state(out.line(j)) == Some(State::Final)
    };
    (i + 1..(i + 400).min(out.len())).any(ends)
}

fn is_legend(line: &str) -> bool {
    let line = line.trim();
    const LINES: [&str; 11] = [
        "plan. Resource actions are indicated with the following symbols:",
        "+ create",
        "~ update in-place",
        "- destroy",
        "-/+ destroy and then create replacement",
        "+/- create replacement and then destroy",
        "<= read (data resources)",
        "Terraform will perform the following actions:",
        "OpenTofu will perform the following actions:",
        "guarantee to take exactly these actions if you run \"terraform apply\" now.",
        "guarantee to take exactly these actions if you run \"tofu apply\" now.",
    ];
    LINES.contains(&line)
        || line.ends_with("used the selected providers to generate the following execution")
        || line.starts_with("Note: You didn't use the -out option to save this plan")
        || line.len() > 60 && line.chars().all(|c| c == '\u{2500}')
}

/// Renders the resource blocks: no braces of the block itself, no values that are not known yet, no unchanged ones.
fn shorten(out: &Output<'_>, draft: &mut Draft, blocks: &[Range<usize>]) {
    let mut before: Option<(String, usize, Vec<&str>)> = None;
    let mut left_out = 0;
    for block in blocks {
        let head = out.line(block.start);
        let lines: Vec<(usize, &str)> = body(out, block);
        left_out += (block.start + 1..block.end).count() - lines.len();
        for i in block.start + 1..block.end {
            draft.cover(i);
        }
        let texts: Vec<&str> = lines.iter().map(|(_, l)| *l).collect();
        let kind = kind(head);
        let new: Vec<&str> = match &before {
            Some((k, _, old)) if *k == kind => texts.iter().copied().filter(|l| !old.contains(l)).collect(),
            _ => texts.clone(),
        };
        draft.cover(block.start);
        match &before {
            Some((k, shown, old))
                if *k == kind && texts.len() > new.len() + 1 && missing(old, &texts) <= new.len() =>
            {
                let like = address(out.line(*shown)).unwrap_or("");
                let like = like.rsplit('.').next().unwrap_or(like);
                let suffix = if new.is_empty() { "" } else { ", but" };
                draft.insert(block.start, &format!("{} (as {like}{suffix})", head.trim_start()));
                new.iter().for_each(|l| draft.insert(block.start, l));
            }
            _ => {
                draft.insert(block.start, head.trim_start());
                texts.iter().for_each(|l| draft.insert(block.start, l));
                before = Some((kind, block.start, texts));
            }
        }
    }
    if let (Some(last), true) = (blocks.last(), left_out > 0) {
        draft.insert(last.end, &marker(left_out as u64, What::Lines, None));
    }
}

/// Lines of the block before that this one does not have.
fn missing(old: &[&str], texts: &[&str]) -> usize {
    old.iter().filter(|l| !texts.contains(l)).count()
}

/// The lines of a block that say something, less deeply indented.
fn body<'t>(out: &Output<'t>, block: &Range<usize>) -> Vec<(usize, &'t str)> {
    let mut lines = Vec::new();
    for i in block.start + 1..block.end {
        let line = out.line(i).trim_end();
        let text = line.trim_start();
        let first = i == block.start + 1
            && text.ends_with('{')
            && (text.contains("resource \"") || text.contains("data \""));
        let last = i + 1 == block.end && text == "}";
        let unknown = text.starts_with('+')
            && (text.ends_with("= (known after apply)") || text.ends_with("(known after apply),"));
        let hidden = text.starts_with("# (") && text.ends_with(" hidden)");
        let indent = line.len() - text.len();
        let unchanged = indent <= 8
            && !text.starts_with(['+', '-', '~', '#', '}', ']', ')', '<'])
            && text.contains(" = ");
        let opens = text.ends_with(['{', '[', '(']);
        if !(first || last || unknown || hidden || unchanged && !opens) {
            // Four blanks belong to the block that is not shown; every further level keeps two.
            let at = line.char_indices().nth(indent.min(4)).map_or(0, |(at, _)| at);
            lines.push((i, line.get(at..).unwrap_or(text)));
        }
    }
    lines
}

/// Resource type and verb: blocks of one kind may be alike.
fn kind(head: &str) -> String {
    let address = address(head).unwrap_or("");
    let verb = head.split_once(address).map_or("", |(_, verb)| verb);
    let path = address.split('[').next().unwrap_or(address);
    format!("{path}{verb}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str) -> (Verdict, String) {
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        let verdict = render(&out, &mut draft);
        (verdict, assemble(&out, &mut draft, &mut || None).text)
    }

    #[test]
    fn alike_blocks_are_shown_once_and_every_address_stays() {
        let block = |n: usize, size: &str| {
            format!(
                "  # a_b.web[{n}] will be created\n  + resource \"a_b\" \"web\" {{\n      + id   = (known after apply)\n      + size = \"{size}\"\n      + env  = \"prod\"\n      + zone = \"eu-1\"\n    }}\n\n"
            )
        };
        let text = format!(
            "a_b.x: Refreshing state... [id=1]\na_b.y: Refreshing state... [id=2]\n\nTerraform will perform the following actions:\n\n{}{}{}Plan: 3 to add, 0 to change, 0 to destroy.\n",
            block(0, "s"),
            block(1, "s"),
            block(2, "xl")
        );
        let (_, shown) = run(&text);
        assert_eq!(
            shown,
            "[rtk: 2 steps omitted]\n\n# a_b.web[0] will be created\n  + size = \"s\"\n  + env  = \"prod\"\n  + zone = \"eu-1\"\n\n# a_b.web[1] will be created (as web[0])\n\n# a_b.web[2] will be created (as web[0], but)\n  + size = \"xl\"\n[rtk: 9 lines omitted]\n\nPlan: 3 to add, 0 to change, 0 to destroy.\n"
        );
    }

    #[test]
    fn a_step_that_never_ended_stays() {
        let text = "a.b: Creating...\na.c: Creating...\na.b: Still creating... [10s elapsed]\na.b: Creation complete after 12s [id=7]\n\nError: timeout\n";
        let (_, shown) = run(text);
        assert!(shown.contains("a.c: Creating...") && !shown.contains("Still"), "{shown}");
    }

    #[test]
    fn other_text_is_not_mine() {
        assert_eq!(run("terraform is a tool\n# a heading that will be here\n").0, Verdict::NotMine);
    }
}
