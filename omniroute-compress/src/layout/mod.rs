//! The layout rules of engine `lite`: blanks, repeats and control sequences.
//!
//! Every rule keeps what a reader can see: no word, number or sign of the
//! visible text disappears. Fenced blocks, diffs and patches stay as they are,
//! and white space inside a line is never touched (indentation is code).

#[cfg(test)]
mod laws;
mod lines;
mod pass;
mod region;

use std::borrow::Cow;

pub(crate) use region::fence;

use crate::terminal;

/// Which layout rules run. All are on by default.
///
/// They run in the order `ansi`, `trim_eol`, `blank_lines`, `dup_consecutive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent switches of the configuration")]
pub(crate) struct Rules {
    /// Remove blanks and tabs before a line end. Exactly two blanks stay in a
    /// text with Markdown structure, where they are a hard break.
    pub(crate) trim_eol: bool,
    /// More than two line ends in a row become two.
    pub(crate) blank_lines: bool,
    /// Show the text as a terminal would, see [`terminal::normalise`].
    pub(crate) ansi: bool,
    /// Three or more equal lines in a row become one with ` (x<n>)`.
    pub(crate) dup_consecutive: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { trim_eol: true, blank_lines: true, ansi: true, dup_consecutive: true }
    }
}

impl Rules {
    /// No rule.
    pub(crate) fn none() -> Self {
        Self { trim_eol: false, blank_lines: false, ansi: false, dup_consecutive: false }
    }
}

/// What each technique did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Escape sequences removed.
    pub(crate) escapes: u32,
    /// Overwritten frames removed.
    pub(crate) overwrites: u32,
    /// Overwritten frames with an error word that became lines of their own.
    pub(crate) kept_frames: u32,
    /// Lines that lost blanks at their end and stayed.
    pub(crate) trimmed_lines: u32,
    /// Blank lines removed.
    pub(crate) blank_lines: u32,
    /// Runs of equal lines folded, that is lines that got ` (x<n>)`.
    pub(crate) folded_runs: u32,
    /// Lines that went into those runs, the one that stays included.
    pub(crate) folded_lines: u32,
}

/// A text after the layout rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout<'a> {
    /// The text; borrowed when no rule changed it.
    pub(crate) text: Cow<'a, str>,
    /// What was done.
    pub(crate) counts: Counts,
}

/// Applies the layout rules to one text.
///
/// # Behavior
///
/// * The result is never longer than `text`, and applying the same rules twice
///   changes nothing.
/// * Line ends stay as they are; a line that ends in `\r\r\n` is neither blank
///   nor trimmed.
/// * Not folded: lines of fences, diffs and JSON, lines that already end in
///   ` (x<digits>)`, and runs whose folding would not make the text shorter.
#[must_use]
pub(crate) fn apply(text: &str, rules: Rules) -> Layout<'_> {
    let mut counts = Counts::default();
    let mut shown = Cow::Borrowed(text);
    if rules.ansi {
        let normal = terminal::normalise(text);
        counts.escapes = normal.escapes;
        counts.overwrites = normal.overwrites;
        counts.kept_frames = normal.kept;
        shown = normal.text;
    }
    if let Some(changed) = pass::run(&shown, rules, &mut counts) {
        shown = Cow::Owned(changed);
    }
    Layout { text: shown, counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay(text: &str) -> String {
        apply(text, Rules::default()).text.into_owned()
    }

    #[test]
    fn trims_line_ends() {
        let rows = [
            ("a \nb\t\n", "a\nb\n"),
            ("a \r\nb  \t\r\n", "a\r\nb\r\n"),
            ("a \r\r\n", "a \r\r\n"),
            ("last ", "last "),
            ("all:\n\tcc -o x  y \n\t@echo\tz\t\n", "all:\n\tcc -o x  y\n\t@echo\tz\n"),
            ("  indented  \n", "  indented\n"),
            ("# Title\nhard  \nsoft   \none \n", "# Title\nhard  \nsoft\none\n"),
            ("# Title\n  \nx\n", "# Title\n\nx\n"),
            ("```\nkeep \n```\ncut \n", "```\nkeep \n```\ncut\n"),
            ("~~~ sh\nkeep \n```\nkeep \n~~~\ncut \n", "~~~ sh\nkeep \n```\nkeep \n~~~\ncut\n"),
            ("```\nnever closed \n", "```\nnever closed \n"),
        ];
        for (text, expected) in rows {
            assert_eq!(lay(text), expected, "{text:?}");
        }
    }

    #[test]
    fn leaves_diffs_alone() {
        for diff in [
            "diff --git a/x b/x\n@@ -1,3 +1,3 @@\n a \n\n-b \n+c \n",
            "--- a/x \n+++ b/x \n@@ -1 +1 @@\n-b \n+c \n\\ No newline at end of file\n",
            "@@ -1,4 +1,4 @@\n-x\n-x\n-x\n-x\n+y\n+y\n+y\n+y\n",
            "@@ -1,4 +1,4 @@\n\n\n\n\n",
            "3c3\n< a \n---\n> b \n",
            "*** a/x \n--- b/x \n***************\n*** 1,2 ****\n! a \n--- 1,2 ----\n! b \n",
        ] {
            assert_eq!(lay(diff), diff);
        }
        let mixed = "one \n@@ -1 +1 @@\n-a \n+b \nnot a diff \n";
        assert_eq!(lay(mixed), "one\n@@ -1 +1 @@\n-a \n+b \nnot a diff\n");
    }

    #[test]
    fn joins_blank_lines() {
        let rows = [
            ("a\n\nb\n", "a\n\nb\n"),
            ("a\n\n\nb\n", "a\n\nb\n"),
            ("a\n \n\t\n\nb", "a\n\nb"),
            ("a\r\n\r\n\r\n\r\nb\r\n", "a\r\n\r\nb\r\n"),
            ("a\r\r\n\r\r\n\r\r\n\r\r\n", "a\r\r\n\r\r\n\r\r\n\r\r\n"),
            ("\n\n\n\na", "\n\na"),
            ("a\n\n\n\n", "a\n\n"),
            ("```\na\n\n\n\nb\n```\n", "```\na\n\n\n\nb\n```\n"),
        ];
        for (text, expected) in rows {
            assert_eq!(lay(text), expected, "{text:?}");
        }
    }

    #[test]
    fn folds_equal_lines() {
        let rows = [
            ("retry x\nretry x\nretry x\n", "retry x (x3)\n"),
            ("retry x\nretry x\n", "retry x\nretry x\n"),
            ("retry x\nretry x\nretry x", "retry x (x3)"),
            ("retry x \nretry x\nretry x\t\nend", "retry x (x3)\nend"),
            ("a\na\na\n", "a\na\na\n"),
            ("a\na\na\na\na\n", "a (x5)\n"),
            ("go 1 (x3)\ngo 1 (x3)\ngo 1 (x3)\n", "go 1 (x3)\ngo 1 (x3)\ngo 1 (x3)\n"),
            ("retry 1\nretry 2\nretry 3\n", "retry 1\nretry 2\nretry 3\n"),
            ("retry x\r\nretry x\r\nretry x\r\n", "retry x (x3)\r\n"),
            ("retry x\r\nretry x\nretry x\r\n", "retry x\r\nretry x\nretry x\r\n"),
            ("    0.125,\n    0.125,\n    0.125,\n", "    0.125,\n    0.125,\n    0.125,\n"),
            ("{\"a\": 12}\n{\"a\": 12}\n{\"a\": 12}\n", "{\"a\": 12}\n{\"a\": 12}\n{\"a\": 12}\n"),
            ("[INFO] up\n[INFO] up\n[INFO] up\n", "[INFO] up (x3)\n"),
            ("```\nretry x\nretry x\nretry x\n```\n", "```\nretry x\nretry x\nretry x\n```\n"),
        ];
        for (text, expected) in rows {
            assert_eq!(lay(text), expected, "{text:?}");
        }
    }

    #[test]
    fn each_rule_can_be_switched_off() {
        let text = "\x1b[1ma\x1b[0m \n\n\n\nretry x\nretry x\nretry x\n";
        let all = Rules::default();
        let off = [
            Rules { ansi: false, ..all },
            Rules { trim_eol: false, ..all },
            Rules { blank_lines: false, ..all },
            Rules { dup_consecutive: false, ..all },
        ];
        for rules in off {
            assert_ne!(apply(text, rules), apply(text, all), "{rules:?}");
        }
    }

    #[test]
    fn counts_say_what_happened() {
        let layout =
            apply("\x1b[1ma\x1b[0m \n\n\n\n10 %\r90 %\nretry x\nretry x\nretry x\n", Rules::default());
        let expected = Counts {
            escapes: 2,
            overwrites: 1,
            kept_frames: 0,
            trimmed_lines: 1,
            blank_lines: 2,
            folded_runs: 1,
            folded_lines: 3,
        };
        assert_eq!(layout.counts, expected);
        assert_eq!(layout.text, "a\n\n90 %\nretry x (x3)\n");
    }

    #[test]
    fn clean_text_is_borrowed() {
        let text = "plain\n\n  text\r\n\twith tab\nend";
        assert!(matches!(apply(text, Rules::default()).text, Cow::Borrowed(_)));
    }
}
