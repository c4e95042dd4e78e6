//! Checks what the markers of a sent body claim, against a body without them: each must name one earlier text,
//! and the lines it names must be there and be the lines that are missing.

use omniroute_core::wire::Wire;
use serde_json::Value;

use super::transcripts::{Item, items};

/// How many markers of each kind were found and are true.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub unchanged: usize,
    pub runs: usize,
    pub inputs: usize,
}

impl Found {
    pub fn add(&mut self, more: Found) {
        self.unchanged += more.unchanged;
        self.runs += more.runs;
        self.inputs += more.inputs;
    }
}

/// Checks all markers in `sent`, made from `body`. `plain` is what would be sent without the two engines that refer
/// back: what they leave alone is sent like that.
pub fn check(wire: Wire, sent: &[u8], plain: &[u8], body: &[u8]) -> Result<Found, String> {
    let [sent, plain, body] = [sent, plain, body].map(|b| serde_json::from_slice::<Value>(b).unwrap());
    let (items, originals) = (items(wire, &sent, &plain), items(wire, &sent, &body));
    let mut found = Found::default();
    for (i, (item, original)) in items.iter().zip(&originals).enumerate() {
        for (k, ((sent, plain), (_, came))) in item.texts.iter().zip(&original.texts).enumerate() {
            if sent == plain {
                continue;
            }
            // Earlier texts of the same result stand above, too.
            let upto = |items: &[Item]| {
                let mut upto = items[..i].to_vec();
                let texts = items[i].texts[..k].to_vec();
                upto.extend((k > 0).then(|| Item { texts, ..items[i].clone() }));
                upto
            };
            let earlier = upto(&items);
            match sent.strip_prefix("[unchanged: identical to ").and_then(|s| s.strip_suffix(" lines)]")) {
                Some(claim) => check_repeat(claim, came, &earlier, &upto(&originals), &mut found),
                None => check_runs(sent, plain, &earlier, &mut found),
            }
            .map_err(|e| format!("item {i}, {}: {e}", item.tool))?;
        }
    }
    Ok(found)
}

/// A whole text: the result that is named came with the same text, and shows it, be it as a table.
fn check_repeat(
    claim: &str,
    text: &str,
    earlier: &[Item],
    originals: &[Item],
    found: &mut Found,
) -> Result<(), String> {
    let (name, count) = claim.rsplit_once(" above (").ok_or("bad marker")?;
    let (at, _, shown) = source(name, earlier)?;
    let came = &originals[at].texts;
    if !shown.iter().any(|(sent, plain)| sent == plain && came.iter().any(|(s, o)| s == sent && o == text)) {
        return Err(format!("\"{name}\" does not show the same text"));
    }
    if text.lines().count().to_string() != count {
        return Err(format!("{count} lines are not the number of lines"));
    }
    found.unchanged += 1;
    Ok(())
}

fn check_runs(sent: &str, plain: &str, earlier: &[Item], found: &mut Found) -> Result<(), String> {
    let original: Vec<&str> = plain.split('\n').collect();
    let mut at = 0;
    for line in sent.split('\n') {
        let Some(claim) = line.strip_prefix("[same as ").and_then(|l| l.strip_suffix(" lines omitted]"))
        else {
            if original.get(at) != Some(&line) {
                return Err(format!("line {at} is another: {line:.60}"));
            }
            at += 1;
            continue;
        };
        let (rest, omitted) = claim.rsplit_once(", ").ok_or("bad marker")?;
        let (name, range) = rest.rsplit_once(" above, lines ").ok_or("bad marker")?;
        let (a, b) = range.split_once('-').ok_or("bad marker")?;
        let number = |t: &str| t.parse::<usize>().map_err(|e| e.to_string());
        let (a, b, omitted) = (number(a)?, number(b)?, number(omitted)?);
        let anchors = match (b + 1 - a).checked_sub(omitted) {
            Some(2) => 1,
            Some(4) => 2,
            other => return Err(format!("{other:?} lines of lines {a}-{b} are kept")),
        };
        let (_, is_input, texts) = source(name, earlier)?;
        let wanted =
            original.get(at - anchors..at + omitted + anchors).ok_or("the text ends before the run")?;
        let matches = |text: &str| {
            let lines: Vec<&str> = text.split('\n').collect();
            lines.get(a - 1..b).is_some_and(|have| have.iter().zip(wanted).all(|(x, y)| same_content(x, y)))
        };
        if !texts.iter().any(|(sent, _)| matches(sent)) {
            return Err(format!("lines {a}-{b} of \"{name}\" are not the lines left out"));
        }
        found.runs += usize::from(!is_input);
        found.inputs += usize::from(is_input);
        at += omitted;
    }
    if at == original.len() { Ok(()) } else { Err("lines are missing at the end".to_owned()) }
}

/// Equal lines, apart from a line number in front of each.
fn same_content(a: &str, b: &str) -> bool {
    a == b || content(a).any(|x| content(b).any(|y| x == y))
}

/// What may be the content of a line: all of it, or what stands behind a number.
fn content(line: &str) -> impl Iterator<Item = &str> {
    let digits = line.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.trim_start_matches(' ').len();
    let behind =
        ["\t", "→ ", "→", ": ", ":", "| ", "|"].into_iter().filter_map(move |s| digits.strip_prefix(s));
    std::iter::once(line).chain(behind.filter(move |_| numbered))
}

/// Texts as they are sent and as they would be.
type Texts = Vec<(String, String)>;

/// The one earlier text that a marker names: its place, whether it is the input of a call, and its texts.
fn source(name: &str, earlier: &[Item]) -> Result<(usize, bool, Texts), String> {
    let (name, numbers) = match name.strip_suffix(')').and_then(|n| n.rsplit_once(" (")) {
        Some((start, numbers)) if ["result ", "call ", "text "].iter().any(|w| numbers.starts_with(w)) => {
            (start, numbers)
        }
        _ => (name, ""),
    };
    let rank = numbers.split_once(' ').and_then(|(_, n)| n.split(',').next()?.split_once(" of "));
    let text = numbers.rsplit_once("text ").map(|(_, n)| n.parse::<usize>().unwrap_or(0));
    let input = name.strip_prefix("input of ");
    let wanted = input.unwrap_or(name);
    let fits = |(_, item): &(usize, &Item)| {
        item.is_call == input.is_some() && names(item).iter().any(|n| n == wanted)
    };
    let candidates: Vec<(usize, &Item)> = earlier.iter().enumerate().filter(fits).collect();
    let (at, item) = match (rank, candidates.as_slice()) {
        (_, []) => return Err(format!("\"{name}\" names nothing above")),
        (None, [one]) => *one,
        (None, many) => return Err(format!("\"{name}\" names {} texts", many.len())),
        (Some((k, n)), many) => {
            if n != many.len().to_string() {
                return Err(format!("\"{name}\": {} results have this name, not {n}", many.len()));
            }
            let k: usize = k.parse().map_err(|_| "bad rank")?;
            many.get(k.wrapping_sub(1)).copied().ok_or("no such rank")?
        }
    };
    let mut texts: Texts = match item.is_call {
        true => item
            .arguments
            .iter()
            .filter(|t| t.trim_end().contains('\n'))
            .map(|t| (t.clone(), t.clone()))
            .collect(),
        false => item.texts.clone(),
    };
    if let Some((_, start)) = wanted.split_once(", starting \"").filter(|_| !item.is_call && text.is_none()) {
        texts.retain(|(sent, _)| flat(sent.trim_start(), 24) == start.strip_suffix('"').unwrap_or(start));
    }
    match text {
        None if texts.len() > 1 => {
            return Err(format!("\"{name}\" does not say which of {} texts", texts.len()));
        }
        None => {}
        Some(n) => texts = texts.get(n.wrapping_sub(1)).cloned().into_iter().collect(),
    }
    Ok((at, item.is_call, texts))
}

/// The first characters on one line.
fn flat(text: &str, n: usize) -> String {
    let flat = text.chars().map(|c| if c.is_control() || c == ']' { ' ' } else { c });
    flat.take(n).collect::<String>().trim().to_owned()
}

/// Everything a call or result may be called, by the rules of the markers and nothing of their code.
fn names(item: &Item) -> Vec<String> {
    let subjects = item.arguments.iter().flat_map(|argument| {
        let patched = argument
            .lines()
            .filter_map(|l| l.strip_prefix("*** ")?.split_once(" File: "))
            .map(|(_, path)| path);
        patched.chain([argument.as_str()]).collect::<Vec<_>>()
    });
    let mut out: Vec<String> =
        subjects.map(|s| format!("{} {}", item.tool, flat(s, 60)).trim().to_owned()).collect();
    let call = item.call.map_or_else(|| "a result".to_owned(), |n| format!("result of call {n}"));
    for (sent, _) in &item.texts {
        out.push(format!("{call}, starting \"{}\"", flat(sent.trim_start(), 24)));
    }
    if item.is_call {
        out.extend(item.call.map(|n| format!("call {n}")));
    }
    out
}
