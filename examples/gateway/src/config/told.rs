//! Mistakes as people and programs read them. No text of a file is shown unless it is known to be no secret.

use serde_json::{Map, Value, json};

use super::Sources;
use super::mistake::{Mistake, codes};
use super::schema;
use super::tree::{Source, Spot};
use crate::terminal::{Colour, Paint};

/// Most mistakes that are told.
const MOST: usize = 50;
/// Longest part of a line that is shown, in characters.
const WIDTH: usize = 120;

impl Sources {
    /// All mistakes in the order of the files, and a line that counts them.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let mut out = String::new();
        for mistake in self.mistakes.iter().take(MOST) {
            self.one(mistake, paint, &mut out);
        }
        out.push_str(&self.summary());
        out
    }

    /// How many there are.
    pub(crate) fn summary(&self) -> String {
        let errors = self.mistakes.iter().filter(|mistake| mistake.is_error()).count();
        let warnings = self.mistakes.len() - errors;
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let more = self.mistakes.len().saturating_sub(MOST);
        let more = if more == 0 { String::new() } else { format!(" ({more} of them not shown)") };
        match (errors, warnings) {
            (0, 0) => "no errors\n".to_owned(),
            (0, some) => format!("no errors, {}{more}\n", count(some, "warning")),
            (some, 0) => format!("{}{more}\n", count(some, "error")),
            (some, others) => format!("{}, {}{more}\n", count(some, "error"), count(others, "warning")),
        }
    }

    fn one(&self, mistake: &Mistake, paint: Paint, out: &mut String) {
        let head = if mistake.is_error() { "error" } else { "warning" };
        let colour = if mistake.is_error() { Colour::Red } else { Colour::Yellow };
        let head = paint.bold(colour, &format!("{head}[{}]", mistake.code));
        out.push_str(&format!("{head}: {}\n", clean(&mistake.message)));
        let meant = mistake.suggestion.as_ref().map(|name| format!("did you mean {name:?}?"));
        let mut meant = meant;
        if let Some((source, spot)) = mistake.spot.and_then(|spot| Some((self.list.get(spot.source)?, spot)))
        {
            let (line, column) = source.line_column(spot.start);
            out.push_str(&format!("  --> {}", clean(&source.name)));
            if !source.variable && spot != (Spot { source: spot.source, start: 0, end: 0 }) {
                out.push_str(&format!(":{}:{column}", line + 1));
                match self.snippet(source, spot, mistake) {
                    None => out.push_str("      (the value is not shown)\n"),
                    Some((text, before, under)) => {
                        let number = (line + 1).to_string();
                        let bar = " ".repeat(number.len());
                        let hint = meant.take().map_or_else(String::new, |hint| format!(" {hint}"));
                        let under = "^".repeat(under);
                        out.push_str(&format!(
                            "\n{bar} |\n{number} | {text}\n{bar} | {}{under}{hint}\n",
                            " ".repeat(before)
                        ));
                    }
                }
            } else {
                out.push('\n');
            }
        }
        let allowed = mistake.allowed.as_ref().map(|allowed| format!("allowed: {}", clean(allowed)));
        let path = (!mistake.path.is_empty()).then(|| clean(&mistake.path));
        let rest: Vec<String> = [path, meant, allowed, mistake.help.clone()].into_iter().flatten().collect();
        if !rest.is_empty() {
            out.push_str(&format!("   = {}\n", rest.join("; ")));
        }
        out.push('\n');
    }

    /// The line with what is wrong, its place in it and its length; none: it may not be shown.
    fn snippet(&self, source: &Source, spot: Spot, mistake: &Mistake) -> Option<(String, usize, usize)> {
        let (number, _) = source.line_column(spot.start);
        let line = source.line(number);
        let end = spot.end.clamp(spot.start.min(line.end), line.end);
        let syntax = mistake.code == codes::SYNTAX;
        if !syntax
            && self.hidden.iter().any(|hidden| {
                hidden.start <= spot.start && spot.end <= hidden.end && hidden.source == spot.source
            })
        {
            return None;
        }
        let mut text = String::new();
        let (mut before, mut under) = (None, 0);
        let mut masked = false;
        let damaged = self.damaged.contains(&spot.source);
        let words =
            if damaged { unknown_words(source.text.get(line.clone())?, line.start) } else { Vec::new() };
        let comment = if damaged { None } else { self.comment(source, spot.source, line.clone()) };
        for (at, letter) in source.text.get(line.clone())?.char_indices() {
            let at = line.start + at;
            if comment.is_some_and(|comment| at >= comment) {
                break;
            }
            let secret = if damaged {
                words.iter().any(|word| word.contains(&at))
            } else {
                self.hidden
                    .iter()
                    .any(|hidden| hidden.source == spot.source && (hidden.start..hidden.end).contains(&at))
            };
            if at == spot.start {
                before = Some(text.chars().count());
            }
            let start = text.chars().count();
            match (secret, masked) {
                (true, true) => {}
                (true, false) => text.push_str("***"),
                (false, _) => text.push(if letter.is_control() { ' ' } else { letter }),
            }
            masked = secret;
            if (spot.start..end).contains(&at) {
                under += text.chars().count() - start;
            }
        }
        let before = before.unwrap_or_else(|| text.trim_end().chars().count());
        let text = text.trim_end().to_owned();
        // A window around what is wrong.
        let from = if before > WIDTH / 2 && text.chars().count() > WIDTH { before - WIDTH / 2 } else { 0 };
        let cut: String = text.chars().skip(from).take(WIDTH).collect();
        let before = before - from;
        let under = under.clamp(1, WIDTH.saturating_sub(before).max(1));
        Some((cut, before, under))
    }

    /// Where the comment of a line begins: it may hold anything.
    fn comment(&self, source: &Source, number: usize, line: std::ops::Range<usize>) -> Option<usize> {
        let text = source.text.get(line.clone())?;
        text.char_indices().filter(|(_, letter)| *letter == '#').map(|(at, _)| line.start + at).find(|at| {
            !self.texts.iter().any(|text| text.source == number && (text.start..text.end).contains(at))
        })
    }

    /// The document for programs.
    pub(crate) fn json(&self) -> Value {
        let of = |errors: bool| -> Vec<Value> {
            let some = self.mistakes.iter().take(MOST).filter(|mistake| mistake.is_error() == errors);
            some.map(|mistake| self.object(mistake)).collect()
        };
        json!({ "errors": of(true), "warnings": of(false) })
    }

    fn object(&self, mistake: &Mistake) -> Value {
        let mut out = Map::new();
        out.insert("code".to_owned(), json!(mistake.code));
        out.insert("message".to_owned(), json!(mistake.message));
        out.insert("path".to_owned(), json!(mistake.path));
        if let Some((source, spot)) = mistake.spot.and_then(|spot| Some((self.list.get(spot.source)?, spot)))
        {
            let (line, column) = source.line_column(spot.start);
            let end = spot.end.clamp(spot.start, source.line(line).end.max(spot.start));
            out.insert("file".to_owned(), json!(source.name));
            out.insert("line".to_owned(), json!(line + 1));
            out.insert("column".to_owned(), json!(column));
            out.insert("end_column".to_owned(), json!(source.line_column(end).1.max(column)));
        }
        for (key, value) in
            [("allowed", &mistake.allowed), ("suggestion", &mistake.suggestion), ("help", &mistake.help)]
        {
            if let Some(value) = value {
                out.insert(key.to_owned(), json!(value));
            }
        }
        Value::Object(out)
    }
}

/// Words of a line of a damaged file that are no keys of ours: any of them may be a secret.
fn unknown_words(line: &str, start: usize) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    let mut begun = None;
    for (at, letter) in line.char_indices().chain([(line.len(), ' ')]) {
        let inside = letter.is_alphanumeric()
            || matches!(letter, '_' | '-' | '+' | '/' | ':' | '@' | '%' | '$')
            || !letter.is_ascii();
        match (inside, begun) {
            (true, None) => begun = Some(at),
            (false, Some(from)) => {
                let word = line.get(from..at).unwrap_or_default();
                let short =
                    word.len() <= 2 || (word.len() <= 6 && word.bytes().all(|byte| byte.is_ascii_digit()));
                if !short && !schema::is_known(word) {
                    out.push(start + from..start + at);
                }
                begun = None;
            }
            _ => {}
        }
    }
    out
}

/// A text without control characters.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
