//! Detection: from a tool result to "which filter, how sure".
//!
//! The words of the command decide where it is known; anchors in the text make that surer, split the output of several
//! commands, and decide alone where the command is unknown or only a runner. Text never gives a known command another
//! tool's filter. Everything that is not certain is [`model::UNKNOWN`], and unknown text is only ever treated without
//! loss.

mod align;
mod board;
mod classes;
mod command;
mod envelope;
mod flags;
mod item;
mod judge;
mod line;
mod model;
mod needle;
mod rules;
mod runner;
mod sample;
mod sections;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod veto;
mod words;

pub(crate) use model::{By, Detected, Detection, Evidence, FILE_VIEW, FOLD, Kind, STRUCTURED, UNKNOWN};
#[cfg(test)]
pub(crate) use model::{DROP, LOG, TRACE};
pub(crate) use words::Lookup;

use crate::shell::lex;
use crate::shell::script::Script;
use crate::shell::tools::{ToolKind, tool_kind};

/// The call behind a tool result, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Call<'c> {
    /// Name of the tool; without one a command is taken as a shell's.
    pub(crate) tool: Option<&'c str>,
    /// The command line.
    pub(crate) command: Option<&'c str>,
    /// The argument vector.
    pub(crate) argv: Option<&'c [String]>,
}

/// Finds the class of `text`, or of its sections when several commands printed it.
///
/// `is_command` is the registry's lookup: the id of the filter whose `commands` entry is the longest prefix of the
/// words. The text is already free of escape sequences.
pub(crate) fn detect(call: Option<Call<'_>>, text: &str, is_command: &Lookup<'_>) -> Detected {
    let Some(call) = call else {
        return Detected::One(text::decide(&text::Looked::at(text, runner::ANY), runner::ANY));
    };
    match call.tool.map(tool_kind) {
        Some(ToolKind::Read | ToolKind::Write) => Detected::One(by_tool(FILE_VIEW, 90)),
        Some(ToolKind::Other) if shape::is_structured(text) => Detected::One(by_tool(STRUCTURED, 80)),
        Some(ToolKind::Other) => Detected::One(Detection::unknown()),
        Some(ToolKind::Shell) | None => match (call.argv, call.command) {
            (Some([line]), _) => scripted(&lex::parse(line), Some(line), text, is_command),
            (Some(argv), _) if !argv.is_empty() => scripted(&Script::from_argv(argv), None, text, is_command),
            (_, Some(command)) => scripted(&lex::parse(command), Some(command), text, is_command),
            _ => Detected::One(text::decide(&text::Looked::at(text, runner::ANY), runner::ANY)),
        },
    }
}

fn by_tool(class: &'static str, confidence: u8) -> Detection {
    let evidence = vec![Evidence { kind: Kind::Tool, rule: class, line: None }];
    Detection { class, confidence, by: By::Tool, evidence, ..Detection::unknown() }
}

/// The sections that the commands of a script left.
fn scripted(script: &Script<'_>, command: Option<&str>, text: &str, is_command: &Lookup<'_>) -> Detected {
    let structured = || {
        let class = if shape::is_structured(text) { STRUCTURED } else { UNKNOWN };
        Detected::One(Detection {
            class,
            confidence: if class == UNKNOWN { 0 } else { 80 },
            ..Detection::unknown()
        })
    };
    if !script.certain {
        return structured();
    }
    let Some(items) = command::items(script, is_command).filter(|items| items.len() <= command::MAX_ITEMS)
    else {
        return structured();
    };
    let inside = envelope::inside(text, command);
    let inner = text.get(inside.clone()).unwrap_or(text);
    let mut parts = judge::resolve(&items, inner, is_command, 0);
    if inner.len() < text.len() && !inner.trim_ascii().is_empty() {
        for (range, _) in &mut parts {
            *range = range.start + inside.start..range.end + inside.start;
        }
        if inside.start > 0 {
            parts.insert(0, (0..inside.start, Detection::unknown()));
        }
        if inside.end < text.len() {
            parts.push((inside.end..text.len(), Detection::unknown()));
        }
    }
    let mut parts = judge::merged(parts);
    match parts.len() {
        0 => Detected::One(Detection::unknown()),
        1 => Detected::One(parts.swap_remove(0).1),
        _ => Detected::Sections(parts),
    }
}
