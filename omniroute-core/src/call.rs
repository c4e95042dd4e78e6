//! What a tool call asked for: tool, command line, path, texts it carries.

use crate::conversation::{Arguments, ToolCall};
use crate::doc::{Doc, Kind, NodeId};

/// Members that hold a command line, in the order in which they are tried.
const COMMAND_KEYS: [&str; 9] =
    ["command", "cmd", "commands", "script", "shell_command", "bash_command", "commandLine", "command_line", "args"];

/// Members that hold the path of the file a tool works on.
const PATH_KEYS: [&str; 11] = [
    "path", "file_path", "filePath", "filename", "file", "target_file", "absolute_path", "relative_path",
    "notebook_path", "uri", "url",
];

/// A tool call, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    subject: Option<String>,
}

impl Call {
    /// Decodes the call.
    pub fn read(doc: &Doc, call: &ToolCall<'_>) -> Call {
        let tool = call.name.map(|n| n.decode().into_owned()).unwrap_or_default();
        let mut out = Call { tool, ..Call::default() };
        match call.arguments {
            Arguments::None => {}
            Arguments::Json(node) => out.arguments(doc, node),
            Arguments::Text(_, text) => {
                let text = text.decode();
                if let Ok(inner) = Doc::parse(text.into_owned()) {
                    out.arguments(&inner, inner.root());
                }
            }
            Arguments::Free(_, text) => out.free_text(&text.decode()),
        }
        out.subject = out.find_subject();
        out
    }

    /// What to call the source of a result in a marker: path or command on one line, at most 60 characters.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    fn find_subject(&self) -> Option<String> {
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
            let words: Vec<String> = doc.elements(value).filter_map(|w| doc.str(w)).map(|w| w.into_owned()).collect();
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
        [shell, flag, line] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => line.clone(),
        _ => words.join(" "),
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "bash" | "sh" | "zsh" | "dash")
}

/// Every string in the arguments of a call, decoded, in document order.
pub(crate) fn leaves(doc: &Doc, arguments: Arguments<'_>) -> Vec<String> {
    let mut out = Vec::new();
    match arguments {
        Arguments::None => {}
        Arguments::Json(node) => collect(doc, node, &mut out),
        Arguments::Text(_, text) => {
            let text = text.decode();
            match Doc::parse(text.clone().into_owned()) {
                Ok(inner) => collect(&inner, inner.root(), &mut out),
                Err(_) => out.push(text.into_owned()),
            }
        }
        Arguments::Free(_, text) => out.push(text.decode().into_owned()),
    }
    out
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
        assert_eq!(c.find_subject().unwrap(), "echo a b c");
        c.command = Some("é".repeat(100));
        assert_eq!(c.find_subject().unwrap().chars().count(), 60);
        assert_eq!(Call::default().find_subject(), None);
    }
}
