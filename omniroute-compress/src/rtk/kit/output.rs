//! What a renderer is given.

use super::level::Level;

/// The text of one tool result as a terminal would show it, with what is known about the command behind it.
#[derive(Debug, Clone)]
pub(crate) struct Output<'t> {
    /// The text.
    pub(crate) text: &'t str,
    /// Its lines, without line ends (neither `\n` nor `\r\n`). A final line end makes no empty last line.
    pub(crate) lines: Vec<&'t str>,
    /// Program (without its directory) and arguments behind wrappers; empty if the command is not known.
    pub(crate) words: &'t [&'t str],
    /// Exit code, if known.
    pub(crate) exit_code: Option<i32>,
    /// Lines may be missing: the output went through `head`, `tail`, `grep` or the like.
    pub(crate) partial: bool,
    /// The caller asked for details (`-v`, `--nocapture`, `-l`).
    pub(crate) detail: bool,
    /// How much may be left out.
    pub(crate) level: Level,
}

impl<'t> Output<'t> {
    /// An output of an unknown command at `level`.
    pub(crate) fn new(text: &'t str, level: Level) -> Self {
        Output { text, lines: split(text), words: &[], exit_code: None, partial: false, detail: false, level }
    }

    /// The program's name, empty if unknown.
    pub(crate) fn program(&self) -> &'t str {
        self.words.first().copied().unwrap_or("")
    }

    /// The arguments before `--`.
    pub(crate) fn args(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.words.iter().skip(1).copied().take_while(|w| *w != "--")
    }

    /// Whether an option stands among the arguments, alone or as `--option=value`.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.args()
            .any(|w| w.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    }

    /// Whether a cluster of one-letter options (`-rn`) holds `letter`.
    pub(crate) fn has_letter(&self, letter: char) -> bool {
        self.args().any(|w| {
            let cluster = w.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            cluster.is_some_and(|c| c.chars().take_while(char::is_ascii_alphabetic).any(|c| c == letter))
        })
    }

    /// The first argument that is no option: the subcommand of `git`, `cargo`, `kubectl`. Global options with
    /// separate values were removed before.
    pub(crate) fn subcommand(&self) -> &'t str {
        self.args().find(|w| !w.starts_with('-')).unwrap_or("")
    }

    /// Whether the command is known to have failed.
    pub(crate) fn failed(&self) -> bool {
        self.exit_code.is_some_and(|code| code != 0)
    }

    /// Number of lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The line, empty beyond the end.
    pub(crate) fn line(&self, i: usize) -> &'t str {
        self.lines.get(i).copied().unwrap_or("")
    }
}

/// Lines without `\n` and without a `\r` before it.
fn split(text: &str) -> Vec<&str> {
    let mut lines = Vec::with_capacity(text.len() / 40 + 1);
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\n', rest.as_bytes()) {
        let (line, tail) = rest.split_at(at);
        lines.push(line.strip_suffix('\r').unwrap_or(line));
        rest = tail.get(1..).unwrap_or("");
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_lines() {
        assert_eq!(split("a\nb\r\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(split("a\n"), ["a"]);
        assert_eq!(split("\n"), [""]);
        assert!(split("").is_empty());
    }

    #[test]
    fn reads_options() {
        let words = ["grep", "-rn", "--color=never", "x", "--", "-v"];
        let out = Output { words: &words, ..Output::new("", Level::Standard) };
        assert!(out.has("--color") && out.has_letter('n') && !out.has_letter('v') && !out.has("-v"));
        assert_eq!((out.program(), out.subcommand()), ("grep", "x"));
    }
}
