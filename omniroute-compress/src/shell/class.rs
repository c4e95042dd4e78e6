//! The class of a tool result: what may be done to its text.

use omniroute_core::SegmentView;

use super::lex;
use super::logs;
use super::print::{self, Printed};
use super::programs::{self, Kind, Pass};
use super::script::Script;
use super::tools::{ToolKind, tool_kind};

/// What a tool result is, as far as it decides which passes may touch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ResultClass {
    /// Certain output of a tool that is neither file content nor a diff: layout rules may be used.
    Command,
    /// A log that was shown raw and whose text passes the log grammar: layout rules may be used.
    Log,
    /// Patch text: only escape sequences may be removed.
    Diff,
    /// Contents of files, pages or search hits: every byte stays.
    View,
    /// One JSON document that is no view: columns may be used, layout rules not.
    Structured,
    /// Nothing is certain: no layout rules.
    Unknown,
}

/// The class of the result in `view`, from its call and its original text. Worked out once a text, whoever asks.
pub(crate) fn of(view: &SegmentView<'_, '_>) -> ResultClass {
    const ALL: [ResultClass; 6] = [
        ResultClass::Command,
        ResultClass::Log,
        ResultClass::Diff,
        ResultClass::View,
        ResultClass::Structured,
        ResultClass::Unknown,
    ];
    let number = view.this().class(|| {
        let call = view.call();
        let class = classify(
            call.map(|c| c.tool.as_str()),
            call.and_then(|c| c.command.as_deref()),
            call.and_then(|c| c.argv.as_deref()),
            view.this().original(),
        );
        ALL.iter().position(|c| *c == class).unwrap_or(5) as u8
    });
    ALL.get(usize::from(number)).copied().unwrap_or(ResultClass::Unknown)
}

/// Classifies a tool result from the linked call and its text.
///
/// Without a tool name, a command alone is taken as a shell's. A command of a tool that is no shell says nothing.
pub(crate) fn classify(
    tool: Option<&str>,
    command: Option<&str>,
    argv: Option<&[String]>,
    text: &str,
) -> ResultClass {
    let kind = tool.map(tool_kind);
    match (kind, argv, command) {
        (Some(ToolKind::Read | ToolKind::Write), ..) => ResultClass::View,
        (Some(ToolKind::Shell) | None, Some(argv), _) if !argv.is_empty() => match argv {
            [line] => of_script(&lex::parse(line), text),
            _ => of_script(&Script::from_argv(argv), text),
        },
        (Some(ToolKind::Shell) | None, _, Some(command)) => of_script(&lex::parse(command), text),
        _ => structured_or_unknown(text),
    }
}

fn of_script(script: &Script<'_>, text: &str) -> ResultClass {
    if !script.certain {
        return ResultClass::Unknown;
    }
    let printed = print::printing(script);
    let mut seen = Seen::default();
    for printed in &printed {
        seen.add(shown(printed));
    }
    seen.class(script, text)
}

/// The kinds that met in one result.
#[derive(Debug, Default)]
struct Seen {
    kinds: Vec<Kind>,
    echoed: bool,
    sourced: bool,
}

impl Seen {
    fn add(&mut self, kind: Kind) {
        match kind {
            Kind::Silent => {}
            Kind::Separator => self.echoed = true,
            Kind::Sourced => self.sourced = true,
            kind if self.kinds.contains(&kind) => {}
            kind => self.kinds.push(kind),
        }
    }

    fn class(&self, script: &Script<'_>, text: &str) -> ResultClass {
        let is_file = |kind: &Kind| matches!(kind, Kind::File { .. });
        match self.kinds.as_slice() {
            [] if self.echoed || self.sourced || script.segments.is_empty() => ResultClass::Unknown,
            // Only silent commands ran: what is shown are their error messages.
            [] => ResultClass::Command,
            [Kind::Diff] => ResultClass::Diff,
            [Kind::Unknown | Kind::Data] => structured_or_unknown(text),
            [Kind::Logs] if logs::is_log(text) => ResultClass::Log,
            [Kind::Logs] => structured_or_unknown(text),
            [Kind::File { log: true }] if logs::is_log(text) => ResultClass::Log,
            kinds if kinds.iter().all(is_file) => ResultClass::View,
            kinds if kinds.iter().all(|kind| matches!(kind, Kind::Command | Kind::Journal)) => {
                own_output(text)
            }
            kinds
                if kinds
                    .iter()
                    .all(|kind| matches!(kind, Kind::Logs | Kind::Journal | Kind::File { log: true }))
                    && logs::is_log(text) =>
            {
                ResultClass::Log
            }
            kinds if kinds.iter().any(is_file) => ResultClass::Unknown,
            _ => structured_or_unknown(text),
        }
    }
}

/// What one command shows when its streams and filters are taken into account.
pub(crate) fn shown(printed: &Printed<'_>) -> Kind {
    let own = programs::kind(&printed.words, printed.input);
    if !printed.out {
        // Only error messages are left.
        return match own {
            Kind::Command | Kind::Journal | Kind::Logs | Kind::Data => Kind::Command,
            Kind::Unknown | Kind::Sourced => Kind::Unknown,
            _ => Kind::Silent,
        };
    }
    let own = match own {
        // Its input is a group whose output is not followed.
        Kind::Pass(_) => Kind::Unknown,
        kind => kind,
    };
    let noisy = printed.err && own == Kind::Unknown;
    printed
        .filters
        .iter()
        .fold(own, |kind, filter| through(kind, programs::kind(filter, print::Input::Pipe), noisy))
}

/// What is left of `kind` behind a filter; `noisy` says that an unknown program writes errors past it.
fn through(kind: Kind, filter: Kind, noisy: bool) -> Kind {
    match (filter, kind) {
        (Kind::Pass(Pass::Ends), kind) => kind,
        (Kind::Pass(Pass::Lines), Kind::File { .. } | Kind::Diff) => Kind::File { log: false },
        (Kind::Pass(Pass::Lines), Kind::Separator) => Kind::Unknown,
        (Kind::Pass(Pass::Lines), kind) => kind,
        (_, _) if noisy => Kind::Unknown,
        (Kind::Pass(Pass::Nothing), _) => Kind::Silent,
        (Kind::Pass(Pass::Count), _) => Kind::Command,
        // A program of its own that eats its input.
        (Kind::Separator | Kind::Sourced, _) => Kind::Unknown,
        (filter, _) => filter,
    }
}

fn structured_or_unknown(text: &str) -> ResultClass {
    if is_json_document(text) { ResultClass::Structured } else { ResultClass::Unknown }
}

/// A tool's own output: JSON in one document or one object a line has no layout, nor have several documents.
fn own_output(text: &str) -> ResultClass {
    let first = text.trim_ascii_start().lines().next().unwrap_or_default().trim_ascii_end();
    if is_json_document(text) || first.starts_with('{') && is_json_document(first) {
        ResultClass::Structured
    } else if matches!(first, "{" | "[" | "[{") {
        ResultClass::Unknown
    } else {
        ResultClass::Command
    }
}

/// A cheap check for one JSON object or array: brackets balance, close at the end only, and nothing but JSON stands outside strings.
pub(crate) fn is_json_document(text: &str) -> bool {
    let bytes = text.trim_ascii().as_bytes();
    if !matches!((bytes.first(), bytes.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))) {
        return false;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == bytes.len();
                }
            }
            b'"' => match string_end(bytes, at) {
                Some(end) => at = end,
                None => return false,
            },
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'E' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => {}
            b't' | b'r' | b'u' | b'e' | b'f' | b'a' | b'l' | b's' | b'n' => {}
            _ => return false,
        }
        at += 1;
    }
    false
}

/// Index of the quote that ends the string opened at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
