//! What a filter must pass before it is loaded: its size, its own tests, the engine's laws, the samples.

use super::canaries::CANARIES;
use super::compile::Options;
use super::diff::unified;
use super::entry::Entry;
use super::error::{FilterErrorKind, FilterSource, short};
use super::limits::{CACHE_BYTES, COMPILED_BYTES};
use super::model::InlineTest;
use super::run::{Ellipsis, exact};
use crate::rtk::kit::{Draft, Level, Output, Render, Severity, Verdict, assemble, severity};
use crate::terminal::normalise;

/// Words of the command of a test that has none.
const NO_WORDS: &[&str] = &[];

/// Behind the name of a test whose result is changed again.
pub(crate) const TWICE: &str = " (filtered twice)";

/// Looks a renderer up by its id.
pub(crate) type Renderers<'r> = &'r dyn Fn(&str) -> Option<Render>;

/// Result of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tested {
    pub(crate) bytes_in: usize,
    pub(crate) bytes_out: usize,
    pub(crate) failure: Option<FilterErrorKind>,
}

/// Compiles every pattern by itself and checks its size.
pub(crate) fn sizes(entry: &Entry) -> Option<FilterErrorKind> {
    let options =
        Options { ignore_case: entry.def.dialect.ignore_case(), multi_line: true, cache: CACHE_BYTES };
    let fails = entry.def.patterns().any(|p| options.one(p).is_err());
    (fails || entry.ready().is_none()).then_some(FilterErrorKind::PatternTooLarge {
        what: "compiled pattern",
        size: COMPILED_BYTES,
        limit: COMPILED_BYTES,
    })
}

/// Runs one test as its file says.
pub(crate) fn test(entry: &Entry, test: &InlineTest, renderers: Renderers<'_>) -> Tested {
    let input = normalise(&test.input).text;
    let words = words(test);
    let actual = if test.guarded || entry.def.renderer.is_some() {
        run_guarded(entry, &input, &words, test.exit_code, test.level, renderers)
    } else {
        run_exact(entry, &input, test)
    };
    let same = if test.guarded {
        trimmed(&actual) == trimmed(&test.expected)
    } else {
        alike(&actual, &test.expected)
    };
    let failure = (!same).then(|| FilterErrorKind::TestFailed {
        name: test.name.clone(),
        expected: test.expected.clone(),
        diff: unified(trimmed(&test.expected), trimmed(&actual)),
        actual: actual.clone(),
    });
    Tested { bytes_in: input.len(), bytes_out: actual.len(), failure }
}

/// Checks the engine's laws on the input of a test: no error line is hidden, and a result is not changed again.
pub(crate) fn laws(entry: &Entry, test: &InlineTest) -> Option<FilterErrorKind> {
    let input = normalise(&test.input).text;
    let words = words(test);
    let run = |text: &str| run_guarded(entry, text, &words, test.exit_code, test.level, &|_| None);
    let once = run(&input);
    let hidden: Vec<String> = input
        .lines()
        .filter(|line| severity(line) == Severity::Error && !shows(&once, line, entry))
        .map(|line| short(line, 80))
        .take(3)
        .collect();
    if !hidden.is_empty() && !may_hide(entry) {
        return Some(FilterErrorKind::HidesErrors { sample: test.name.clone(), lines: hidden });
    }
    if once.contains("[rtk: ") {
        return None; // such a text is not filtered again
    }
    let twice = run(&once);
    (twice != once).then(|| FilterErrorKind::TestFailed {
        name: format!("{}{TWICE}", test.name),
        diff: unified(&once, &twice),
        expected: once,
        actual: twice,
    })
}

/// Feeds the samples that the filter would be chosen for.
pub(crate) fn canaries(entry: &Entry) -> Option<FilterErrorKind> {
    if may_hide(entry) {
        return None;
    }
    for canary in CANARIES {
        let line = canary.words.join(" ");
        let chosen = entry.is_for_command(canary.words, &line)
            || entry.def.matching.classes.iter().any(|c| c == canary.class)
            || entry.is_for_text(canary.text);
        if !chosen || entry.is_vetoed(&line, None) {
            continue;
        }
        for level in [Level::Standard, Level::Aggressive] {
            let result = run_guarded(entry, canary.text, canary.words, None, level, &|_| None);
            let hidden: Vec<String> =
                canary.errors.iter().filter(|e| !result.contains(**e)).map(|e| short(e, 80)).collect();
            if !hidden.is_empty() {
                return Some(FilterErrorKind::HidesErrors { sample: canary.name.to_owned(), lines: hidden });
            }
        }
    }
    None
}

fn may_hide(entry: &Entry) -> bool {
    entry.def.allow_hiding_errors && entry.def.source == FilterSource::User
}

/// Whether an error line is in the result: whole, or cut as the filter says.
fn shows(result: &str, line: &str, entry: &Entry) -> bool {
    let line = line.trim();
    result.contains(line)
        || entry.def.rules.truncate_at > 0 && {
            let start: String = line.chars().take(entry.def.rules.truncate_at.saturating_sub(3)).collect();
            result.contains(start.trim())
        }
}

fn words(test: &InlineTest) -> Vec<&str> {
    test.command.as_deref().map_or_else(Vec::new, |c| c.split_ascii_whitespace().collect())
}

fn run_exact(entry: &Entry, input: &str, test: &InlineTest) -> String {
    let Some(ready) = entry.ready() else { return input.to_owned() };
    let single = exact(ready, input, test.level, Ellipsis::Single);
    if entry.def.rules.truncate_at == 0 || alike(&single, &test.expected) {
        return single;
    }
    exact(ready, input, test.level, Ellipsis::Dots)
}

/// As production runs the filter, the never-larger rule included.
fn run_guarded(
    entry: &Entry,
    input: &str,
    words: &[&str],
    exit_code: Option<i32>,
    level: Level,
    renderers: Renderers<'_>,
) -> String {
    let words = if words.is_empty() { NO_WORDS } else { words };
    let out = Output { words, exit_code, ..Output::new(input, level) };
    let mut draft = Draft::new(out.len());
    match entry.def.renderer.as_deref().map(renderers) {
        Some(Some(render)) => {
            if render(&out, &mut draft) == Verdict::NotMine {
                draft.reset();
            }
        }
        Some(None) => {}
        None => entry.run(&out, &mut draft),
    }
    let result = assemble(&out, &mut draft, &mut || None).text;
    if result.len() < input.len() { result } else { input.to_owned() }
}

fn trimmed(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// Equal but for final line ends and for how an ellipsis and a count are written.
fn alike(actual: &str, expected: &str) -> bool {
    let plain = |text: &str| trimmed(text).replace('\u{2026}', "...").replace(" (\u{d7}", " (x");
    plain(actual) == plain(expected)
}
