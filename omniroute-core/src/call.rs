//! What a tool call asked for: tool, command line, path, texts it carries.

use std::borrow::Cow;
use std::fmt;

use crate::conversation::{Arguments, ToolCall};
use crate::doc::{Doc, Kind, NodeId};

/// Members that hold a command line, in the order in which they are tried.
const COMMAND_KEYS: [&str; 9] = [
    "command",
    "cmd",
    "commands",
    "script",
    "shell_command",
    "bash_command",
    "commandLine",
    "command_line",
    "args",
];

/// Members that hold the path of the file a tool works on.
const PATH_KEYS: [&str; 11] = [
    "path",
    "file_path",
    "filePath",
    "filename",
    "file",
    "target_file",
    "absolute_path",
    "relative_path",
    "notebook_path",
    "uri",
    "url",
];

/// A tool call, decoded.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Name of the tool; empty if the wire does not say.
    pub tool: String,
    /// The command line, where an argument holds one.
    pub command: Option<String>,
    /// The command as a list of words, where the argument is a list.
    pub argv: Option<Vec<String>>,
    /// The file the tool works on, where an argument names one.
    pub path: Option<String>,
    label: Option<String>,
}

impl fmt::Debug for Call {
    /// The tool only: a command may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl Call {
    /// Decodes the call.
    pub fn read(doc: &Doc, call: &ToolCall<'_>) -> Call {
        Call::from_arguments(call, &Opened::of(doc, call.arguments))
    }

    pub(crate) fn from_arguments(call: &ToolCall<'_>, arguments: &Opened<'_>) -> Call {
        let tool = call.name.map(|n| n.decode().into_owned()).unwrap_or_default();
        let mut out = Call { tool, ..Call::default() };
        match arguments {
            Opened::Json(doc, node) => out.arguments(doc, *node),
            Opened::Free(text) => out.free_text(text),
            Opened::Nothing => {}
        }
        out.label = out.subject().map(|subject| out.with_tool(&subject));
        out
    }

    /// What to call the result in a marker: the tool and its path or command, on one line. None if the call names
    /// neither.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn with_tool(&self, subject: &str) -> String {
        let tool: String = self.tool.chars().filter(|c| !c.is_control() && *c != ']').take(40).collect();
        format!("{tool} {subject}").trim_start().to_owned()
    }

    /// Path or command on one line, at most 60 characters.
    fn subject(&self) -> Option<String> {
        let whole = self.path.as_deref().or(self.command.as_deref())?;
        let flat = whole.chars().map(|c| if c.is_control() || c == ']' { ' ' } else { c });
        let mut subject: String = flat.take(60).collect();
        subject.truncate(subject.trim_end().len());
        let subject = subject.trim_start().to_owned();
        (!subject.is_empty()).then_some(subject)
    }

    fn arguments(&mut self, doc: &Doc, node: NodeId) {
        if let Some(text) = doc.str(node) {
            self.free_text(&text);
            return;
        }
        for key in COMMAND_KEYS {
            let Some(value) = doc.get(node, key) else { continue };
            if let Some(text) = doc.str(value) {
                self.command = Some(text.into_owned());
                break;
            }
            let words: Vec<String> =
                doc.elements(value).filter_map(|w| doc.str(w)).map(|w| w.into_owned()).collect();
            if key == "commands" && !words.is_empty() {
                self.command = Some(words.join("\n")); // a list of lines, not of words
                break;
            }
            if !words.is_empty() {
                self.command = Some(command_line(&words));
                self.argv = Some(words);
                break;
            }
        }
        for key in PATH_KEYS {
            if let Some(path) = doc.get(node, key).and_then(|n| doc.str(n)).filter(|p| !p.is_empty()) {
                self.path = Some(path.into_owned());
                break;
            }
        }
    }

    /// A custom tool's input: a patch names its file, anything else may be a command.
    fn free_text(&mut self, text: &str) {
        let file = text.lines().take(8).find_map(|line| {
            let rest = line.strip_prefix("*** ")?;
            let (verb, path) = rest.split_once(" File: ")?;
            matches!(verb, "Update" | "Add" | "Delete").then(|| path.trim().to_owned())
        });
        match file {
            Some(path) => self.path = Some(path),
            None if text.trim().is_empty() => {}
            None => self.command = Some(text.to_owned()),
        }
    }
}

/// `["bash", "-lc", "pytest -q"]` is the line `pytest -q`; other lists are joined.
fn command_line(words: &[String]) -> String {
    match words {
        [shell, flag, line] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => {
            line.clone()
        }
        _ => words.join(" "),
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "bash" | "sh" | "zsh" | "dash")
}

/// Arguments of a call, parsed.
pub(crate) enum Opened<'d> {
    /// A JSON value: in the body, or a document of its own inside a string.
    Json(Cow<'d, Doc>, NodeId),
    /// Free text, or a string that should be JSON and is not.
    Free(Cow<'d, str>),
    /// None.
    Nothing,
}

impl<'d> Opened<'d> {
    pub(crate) fn of(doc: &'d Doc, arguments: Arguments<'d>) -> Self {
        match arguments {
            Arguments::None => Opened::Nothing,
            Arguments::Json(node) => Opened::Json(Cow::Borrowed(doc), node),
            Arguments::Free(_, text) => Opened::Free(text.decode()),
            Arguments::Text(_, text) => match Doc::parse(text.decode().into_owned()) {
                Ok(inner) => {
                    let root = inner.root();
                    Opened::Json(Cow::Owned(inner), root)
                }
                Err(_) => Opened::Nothing,
            },
        }
    }

    /// Every string, decoded, in document order.
    pub(crate) fn leaves(&self) -> Vec<String> {
        let mut out = Vec::new();
        match self {
            Opened::Json(doc, node) => collect(doc, *node, &mut out),
            Opened::Free(text) => out.push(text.clone().into_owned()),
            Opened::Nothing => {}
        }
        out
    }
}

fn collect(doc: &Doc, node: NodeId, out: &mut Vec<String>) {
    match doc.kind(node) {
        Kind::String => out.extend(doc.str(node).map(|s| s.into_owned())),
        Kind::Array => doc.elements(node).for_each(|n| collect(doc, n, out)),
        Kind::Object => doc.members(node).for_each(|(_, n)| collect(doc, n, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> Call {
        let doc = Doc::parse(arguments.to_owned()).unwrap();
        let mut out = Call::default();
        out.arguments(&doc, doc.root());
        out
    }

    #[test]
    fn finds_commands_and_paths() {
        assert_eq!(call(r#"{"command":"ls -la"}"#).command.unwrap(), "ls -la");
        assert_eq!(call(r#"{"cmd":["bash","-lc","pytest -q"]}"#).command.unwrap(), "pytest -q");
        assert_eq!(call(r#"{"command":["git","status"]}"#).argv.unwrap().len(), 2);
        assert_eq!(call(r#"{"file_path":"src/a.rs","old_string":"x"}"#).path.unwrap(), "src/a.rs");
        assert_eq!(call(r#""*** Begin Patch\n*** Update File: src/b.rs\n""#).path.unwrap(), "src/b.rs");
        assert_eq!(call("{}"), Call::default());
    }

    #[test]
    fn subject_is_one_short_line() {
        let mut c = call(r#"{"command":"echo a\nb]c"}"#);
        assert_eq!(c.subject().unwrap(), "echo a b c");
        c.command = Some("é".repeat(100));
        assert_eq!(c.subject().unwrap().chars().count(), 60);
        assert_eq!(Call::default().subject(), None);
    }
}
