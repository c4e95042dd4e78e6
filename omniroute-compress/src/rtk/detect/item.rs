//! What each printing command of a script may have left in the text.

use super::classes::{self, Set};
use super::needle::Needle;

/// What has to be seen in the text before a known command gets its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// The command is enough.
    Nothing,
    /// One anchor, when the text has more than three lines: the program may also print what it was given.
    Anchor,
    /// One anchor in any case: only chosen lines are there.
    Chosen,
    /// The log grammar.
    Records,
}

/// What a command prints, as far as its words tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expect {
    /// One line that is known, between other outputs.
    Separator(Needle),
    /// Contents of files; `log` when whole lines from the start stand there.
    View {
        /// Whether the text may turn out to be a log.
        log: bool,
    },
    /// The output of a filter's tool.
    Known {
        /// The filter.
        id: &'static str,
        /// The subcommand was part of the match.
        sub: bool,
        /// What must be seen.
        need: Need,
    },
    /// A machine format, or an error message instead of it.
    Machine,
    /// A patch made by a tool that is no diff tool.
    Patch,
    /// Another program ran whose name is not known: the text decides.
    Runner {
        /// The classes it may be.
        allowed: Set,
        /// The filter of the runner itself, when nothing else is found.
        own: Option<&'static str>,
        /// Whether `own` needs no anchor.
        sure: bool,
        /// The script of a package manager that was named.
        script: Option<String>,
    },
    /// Nothing is known; `crash` when a trace or a log may still be recognised.
    Opaque {
        /// No table knows the program.
        crash: bool,
    },
}

/// One printing command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// What it prints.
    pub(super) expect: Expect,
    /// Program and arguments.
    pub(super) words: Vec<String>,
    /// Lines may be missing.
    pub(super) partial: bool,
    /// Detail was asked for.
    pub(super) detail: bool,
    /// It usually prints nothing.
    pub(super) quiet: bool,
}

/// Options of a log that put statistics or patches below its commits.
fn patches(word: &str) -> bool {
    const OPTIONS: &[&str] =
        &["-p", "-u", "--patch", "--cc", "-c", "-m", "--summary", "--name-only", "--name-status", "--raw"];
    OPTIONS.contains(&word)
        || [
            "--stat",
            "--numstat",
            "--shortstat",
            "--dirstat",
            "-U",
            "--unified",
            "--word-diff",
            "--color-words",
            "-L",
        ]
        .iter()
        .any(|head| word.starts_with(head))
}

impl Item {
    /// A command that is not known.
    pub(super) fn opaque(words: Vec<String>, crash: bool) -> Self {
        Self { expect: Expect::Opaque { crash }, words, partial: false, detail: false, quiet: false }
    }

    /// The classes whose anchors may stand in its output.
    pub(super) fn accepts(&self) -> Set {
        match &self.expect {
            Expect::Known { id: "git-log", .. } if !self.words.iter().any(|word| patches(word)) => {
                classes::Class::GitLog.bit()
            }
            Expect::Known { id, .. } => classes::accepted(id),
            Expect::Patch => classes::DIFFS,
            Expect::Runner { own: Some(id), .. } => classes::accepted(id),
            _ => 0,
        }
    }

    /// The filter, where the words name one.
    pub(super) fn id(&self) -> Option<&'static str> {
        match self.expect {
            Expect::Known { id, .. } => Some(id),
            _ => None,
        }
    }

    /// True for a line between outputs.
    pub(super) fn is_separator(&self) -> bool {
        matches!(self.expect, Expect::Separator(_))
    }

    /// True when both would be treated alike: sections next to each other need no edge.
    pub(super) fn alike(&self, other: &Self) -> bool {
        match (&self.expect, &other.expect) {
            (Expect::Known { id: a, .. }, Expect::Known { id: b, .. }) => {
                a == b || classes::cover(a, b).is_some()
            }
            (Expect::View { log: a }, Expect::View { log: b }) => a == b,
            (Expect::Machine, Expect::Machine) | (Expect::Patch, Expect::Patch) => true,
            (Expect::Opaque { .. }, Expect::Opaque { .. }) => true,
            _ => false,
        }
    }

    /// Takes in `other`, which is alike.
    pub(super) fn merge(&mut self, other: Self) {
        let (partial, detail) = (self.partial || other.partial, self.detail || other.detail);
        let same = self.words.iter().zip(&other.words).take_while(|(a, b)| a == b).count();
        let covers = match (&self.expect, &other.expect) {
            (Expect::Known { id, .. }, Expect::Known { id: next, .. }) => {
                id != next && classes::cover(id, next) == Some(*next)
            }
            _ => false,
        };
        // Arguments of one command say nothing about the other.
        if covers {
            self.expect = other.expect;
            self.words = other.words;
            self.words.truncate(2);
        } else {
            let least = if self.id() == other.id() { 1 } else { 2 };
            self.words.truncate(same.max(least));
        }
        if let Expect::Opaque { crash } = &mut self.expect {
            *crash = false;
        }
        (self.partial, self.detail) = (partial, detail);
        self.quiet = false;
    }
}
