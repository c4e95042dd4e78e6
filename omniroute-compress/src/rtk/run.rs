//! One tool result from raw text to what is sent: class, terminal, renderer or filter, assembly, judgement.

use std::borrow::Cow;
use std::ops::Range;

use super::detect::{self, Call, Detected, Detection};
use super::dsl::FilterSet;
use super::kit::{Assembled, Draft, Level, Output, Verdict, What, assemble};
use super::render;
use crate::shell::class::ResultClass;
use crate::terminal;

/// Least saving, in percent of the bytes and in bytes.
const MIN_PERCENT: usize = 3;
const MIN_BYTES: usize = 60;
/// So many overwritten lines are a progress display.
const MIN_OVERWRITES: u32 = 3;

/// What is known about a tool result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) text: &'a str,
    pub(crate) tool: Option<&'a str>,
    pub(crate) command: Option<&'a str>,
    pub(crate) argv: Option<&'a [String]>,
    pub(crate) exit_code: Option<i32>,
    /// What the class of the whole result allows.
    pub(crate) class: ResultClass,
}

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) text: String,
    /// Class of the largest part.
    pub(crate) class: &'static str,
    /// What was used, for the receipt.
    pub(crate) techniques: Vec<(&'static str, u32)>,
    /// Lines behind markers.
    pub(crate) omitted: Vec<(What, u64)>,
    /// Repeats, blanks, decoration.
    pub(crate) folded: u64,
}

impl Ran {
    fn add(&mut self, done: Assembled) {
        self.folded += done.folded.lines + done.folded.blanks + done.noise;
        for (what, n) in done.omitted {
            match self.omitted.iter_mut().find(|(w, _)| *w == what) {
                Some((_, count)) => *count += n,
                None => self.omitted.push((what, n)),
            }
        }
        self.text.push_str(&done.text);
    }

    fn used(&mut self, technique: &'static str) {
        match self.techniques.iter_mut().find(|(t, _)| *t == technique) {
            Some((_, n)) => *n += 1,
            None => self.techniques.push((technique, 1)),
        }
    }
}

/// Works on one result. `keep` stores the original once it is clear that records of a log or other lines are left
/// out, and gives its handle, if originals of this class are kept. The reason if the text stays.
pub(crate) fn run(
    input: &Input<'_>,
    level: Level,
    filters: &FilterSet,
    keep: &mut dyn FnMut(&'static str) -> Option<String>,
) -> Result<Ran, &'static str> {
    let call = Call { tool: input.tool, command: input.command, argv: input.argv };
    let known = call.tool.is_some() || call.command.is_some() || call.argv.is_some();
    let normal = terminal::normalise(input.text);
    // A text in which lines were overwritten is no file, whoever printed it.
    let is_screen = normal.overwrites >= MIN_OVERWRITES && input.class == ResultClass::Unknown;
    let input = &Input { class: if is_screen { ResultClass::Command } else { input.class }, ..*input };
    let shown = normal.text;
    let detected = detect::detect(known.then_some(call), &shown, &|words| filters.class_of(words));
    let mut ran = Ran::default();
    match &detected {
        Detected::One(one) => part(input, one, &shown, level, filters, keep, &mut ran)?,
        // A part that must stay byte for byte cannot be taken from a text in which something was overwritten.
        Detected::Sections(parts)
            if matches!(shown, Cow::Owned(_))
                && parts.iter().any(|part| stays(input, part, &shown, filters)) =>
        {
            return Err("unknown_class");
        }
        Detected::Sections(parts) => sections(input, &shown, parts, level, filters, keep, &mut ran),
    }
    if matches!(shown, Cow::Owned(_)) {
        ran.used("rtk-terminal");
    }
    let saved = input.text.len().saturating_sub(ran.text.len());
    if saved < MIN_BYTES || saved * 100 < input.text.len() * MIN_PERCENT {
        return Err("no_gain");
    }
    Ok(ran)
}

/// Several commands in one result: each part by its class; what must stay, stays byte for byte.
fn sections(
    input: &Input<'_>,
    shown: &str,
    parts: &[(Range<usize>, Detection)],
    level: Level,
    filters: &FilterSet,
    keep: &mut dyn FnMut(&'static str) -> Option<String>,
    ran: &mut Ran,
) {
    let mut largest = 0;
    let last = parts.len().saturating_sub(1);
    for (n, (range, one)) in parts.iter().enumerate() {
        let Some(text) = shown.get(range.clone()) else { continue };
        // The exit code is that of the last command.
        let exit_code = input.exit_code.filter(|code| n == last || *code == 0);
        let own = Input { exit_code, ..*input };
        if part(&own, one, text, level, filters, keep, ran).is_err() {
            ran.text.push_str(text);
        }
        if !ran.text.is_empty() && !ran.text.ends_with('\n') && text.ends_with('\n') {
            ran.text.push('\n');
        }
        if text.len() > largest {
            largest = text.len();
            ran.class = one.class;
        }
    }
}

/// One part: adds its new text to `ran`.
fn part(
    input: &Input<'_>,
    one: &Detection,
    text: &str,
    level: Level,
    filters: &FilterSet,
    keep: &mut dyn FnMut(&'static str) -> Option<String>,
    ran: &mut Ran,
) -> Result<(), &'static str> {
    let one = &refined(one);
    ran.class = one.class;
    if let Some(reason) = reason_to_stay(input, one, text, filters) {
        return Err(reason);
    }
    let level = if one.detail && !render::is_lossless(one.class) { level.gentler() } else { level };
    let words: Vec<&str> = one.words.iter().map(String::as_str).collect();
    let out = Output {
        words: &words,
        exit_code: input.exit_code,
        partial: one.partial,
        detail: one.detail,
        ..Output::new(text, level)
    };
    let mut draft = Draft::new(out.len());
    let technique = mark(one, &out, &mut draft, filters);
    let done = assemble(&out, &mut draft, &mut || keep(one.class));
    ran.used(technique);
    ran.used(one.class);
    ran.add(done);
    Ok(())
}

/// Why a part must stay byte for byte, if it must.
fn reason_to_stay(
    input: &Input<'_>,
    one: &Detection,
    text: &str,
    filters: &FilterSet,
) -> Option<&'static str> {
    let certain = matches!(input.class, ResultClass::Command | ResultClass::Log);
    match one.class {
        detect::FILE_VIEW => Some("file_view"),
        detect::UNKNOWN if !certain && !is_claimed(input, one, text, filters) => Some("unknown_class"),
        detect::STRUCTURED if input.command.is_none() && input.argv.is_none() => Some("structured"),
        _ => None,
    }
}

/// Whether a filter of the user or the project is for an output that nothing else knows.
fn is_claimed(input: &Input<'_>, one: &Detection, text: &str, filters: &FilterSet) -> bool {
    if !filters.has_custom() {
        return false;
    }
    let words: Vec<&str> = one.words.iter().map(String::as_str).collect();
    let out = Output { words: &words, exit_code: input.exit_code, ..Output::new(text, Level::Minimal) };
    filters.choose(one.class, &out).is_some()
}

fn stays(input: &Input<'_>, part: &(Range<usize>, Detection), shown: &str, filters: &FilterSet) -> bool {
    let (range, one) = part;
    let text = shown.get(range.clone()).unwrap_or("");
    reason_to_stay(input, &refined(one), text, filters).is_some()
}

/// What a renderer shows although its form says otherwise: `blame` prints lines of a file, each with its origin;
/// `go test -json` prints the events of a test run.
fn refined(one: &Detection) -> Detection {
    let words: Vec<&str> = one.words.iter().map(String::as_str).take(3).collect();
    let class = match (one.class, words.as_slice()) {
        (detect::FILE_VIEW, ["git", "blame" | "annotate", ..]) if !one.partial => "git-blame",
        (detect::STRUCTURED, ["go", "test", ..]) => "test-go",
        _ => return one.clone(),
    };
    Detection { class, confidence: 90, ..one.clone() }
}

/// Outputs up to this size keep every line: a reader takes them in at a glance.
const SMALL: usize = 600;

/// Lets the filter of the class mark the draft. Where nothing fits, only repeats and blanks are folded.
fn mark(one: &Detection, out: &Output<'_>, draft: &mut Draft, filters: &FilterSet) -> &'static str {
    if out.text.len() <= SMALL && !one.class.starts_with("git-") {
        return "rtk-layout";
    }
    if one.class == detect::UNKNOWN {
        // The user's and the project's filters may know the command all the same.
        match filters.run_custom(one.class, out, draft) {
            Some(Verdict::Done) => return "rtk-filter",
            Some(Verdict::NotMine) => draft.reset(),
            None => {}
        }
        return if render::any_form(out, draft) == Verdict::Done { "rtk-render" } else { reset(draft) };
    }
    if one.confidence < detect::FOLD {
        return "rtk-layout";
    }
    let permitted = filters.builtin_entry(one.class, out).is_some() || !filters.is_builtin(one.class);
    let verdict = match filters.run_custom(one.class, out, draft) {
        Some(verdict) => (verdict, "rtk-filter"),
        None if !permitted => (Verdict::NotMine, ""),
        None => match render::renderer(one.class) {
            Some(render) => (render(out, draft), "rtk-render"),
            None => (filters.run_builtin(one.class, out, draft), "rtk-filter"),
        },
    };
    match verdict {
        (Verdict::Done, technique) => technique,
        (Verdict::NotMine, _) => reset(draft),
    }
}

fn reset(draft: &mut Draft) -> &'static str {
    draft.reset();
    "rtk-layout"
}
