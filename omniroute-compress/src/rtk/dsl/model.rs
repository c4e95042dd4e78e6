//! The one internal form of a filter, whatever file it comes from.

use super::error::{FilterFormat, FilterSource};
use super::pattern::Pattern;
use super::spot::Spot;
use crate::rtk::kit::{Level, What};

/// What kind of tool an output comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Version control.
    Git,
    /// Test runners.
    Test,
    /// Compilers, linters, build tools.
    Build,
    /// Package managers.
    Package,
    /// Shell utilities.
    Shell,
    /// Containers.
    Docker,
    /// Infrastructure as code, services.
    Infra,
    /// Cloud clients and network tools.
    Cloud,
    /// Everything else.
    Generic,
}

impl Category {
    /// All categories, in the order of reports.
    pub const ALL: [Category; 9] = [
        Category::Git,
        Category::Test,
        Category::Build,
        Category::Package,
        Category::Shell,
        Category::Docker,
        Category::Infra,
        Category::Cloud,
        Category::Generic,
    ];

    /// The lower-case name used in filter files.
    pub fn name(self) -> &'static str {
        match self {
            Category::Git => "git",
            Category::Test => "test",
            Category::Build => "build",
            Category::Package => "package",
            Category::Shell => "shell",
            Category::Docker => "docker",
            Category::Infra => "infra",
            Category::Cloud => "cloud",
            Category::Generic => "generic",
        }
    }
}

/// Which language a filter is written in. It decides about limits and about what its authors expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// JSON packs: case aside, budgets scaled by the level.
    Json,
    /// TOML with `schema_version = 1`: case matters, exact numbers of lines.
    TomlV1,
    /// TOML with `schema_version = 2`: like JSON packs, in snake case.
    TomlV2,
}

impl Dialect {
    pub(crate) fn format(self) -> FilterFormat {
        match self {
            Dialect::Json => FilterFormat::Json,
            Dialect::TomlV1 | Dialect::TomlV2 => FilterFormat::Toml,
        }
    }

    /// Whether upper and lower case are the same in patterns.
    pub(crate) fn ignore_case(self) -> bool {
        self != Dialect::TomlV1
    }
}

/// A filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FilterDef {
    pub(crate) id: String,
    /// Shown to people; the id if the file has none.
    pub(crate) label: String,
    pub(crate) description: String,
    pub(crate) category: Category,
    /// 0 to 100, higher first.
    pub(crate) priority: u8,
    pub(crate) source: FilterSource,
    pub(crate) dialect: Dialect,
    pub(crate) matching: Matching,
    pub(crate) rules: Rules,
    /// Id of the dedicated renderer that does the work; built-in files only.
    pub(crate) renderer: Option<String>,
    /// The recorded output the filter was written from, or `none`; built-in files only.
    pub(crate) capture: Option<String>,
    /// The user wants error lines gone; honoured in the user's own files only.
    pub(crate) allow_hiding_errors: bool,
    pub(crate) tests: Vec<InlineTest>,
    /// Where it stands in its file, for errors that are found later.
    pub(crate) at: Spot,
}

/// When a filter is chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Matching {
    /// Classes of outputs.
    pub(crate) classes: Vec<String>,
    /// Patterns for the command.
    pub(crate) commands: Vec<Pattern>,
    /// First words of the command, such as `["git", "status"]`.
    pub(crate) words: Vec<Vec<String>>,
    /// Patterns for the text; all of them, at least two, are needed.
    pub(crate) texts: Vec<Pattern>,
    /// Patterns for the command that forbid the filter.
    pub(crate) not_commands: Vec<Pattern>,
    pub(crate) exit: ExitRule,
}

/// Which exit codes a filter is for. Only a known code can exclude it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ExitRule {
    /// All.
    #[default]
    Any,
    /// Success only.
    Zero,
    /// Failure only.
    Nonzero,
    /// These only.
    Codes(Vec<i32>),
}

impl ExitRule {
    pub(crate) fn allows(&self, code: Option<i32>) -> bool {
        match (self, code) {
            (ExitRule::Any, _) | (_, None) => true,
            (ExitRule::Zero, Some(code)) => code == 0,
            (ExitRule::Nonzero, Some(code)) => code != 0,
            (ExitRule::Codes(codes), Some(code)) => codes.contains(&code),
        }
    }
}

/// What a filter does, in the order of its steps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    /// Takes `stderr:` and `err|` from the start of lines.
    pub(crate) filter_stderr: bool,
    pub(crate) replace: Vec<ReplaceRule>,
    pub(crate) match_output: Vec<OutputRule>,
    pub(crate) drop: Vec<Pattern>,
    /// Dropped lines that carry no fact, such as hints: no marker counts them. Built-in files only.
    pub(crate) noise: Vec<Pattern>,
    /// What markers call dropped lines.
    pub(crate) counted_as: What,
    pub(crate) keep: Vec<Pattern>,
    pub(crate) collapse: Vec<Pattern>,
    pub(crate) preserve: Vec<Pattern>,
    pub(crate) deduplicate: bool,
    /// Characters in a line; 0 for no limit.
    pub(crate) truncate_at: usize,
    /// Lines of the whole; 0 for no limit.
    pub(crate) max_lines: usize,
    /// First lines that stay when there are too many.
    pub(crate) head: Option<usize>,
    /// Last lines that stay when there are too many.
    pub(crate) tail: Option<usize>,
    pub(crate) on_empty: Option<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            filter_stderr: false,
            replace: Vec::new(),
            match_output: Vec::new(),
            drop: Vec::new(),
            noise: Vec::new(),
            counted_as: What::Lines,
            keep: Vec::new(),
            collapse: Vec::new(),
            preserve: Vec::new(),
            deduplicate: false,
            truncate_at: 0,
            max_lines: 0,
            head: None,
            tail: None,
            on_empty: None,
        }
    }
}

/// Replaces every match in every line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReplaceRule {
    pub(crate) pattern: Pattern,
    pub(crate) replacement: String,
}

/// Answers with a message when the whole text matches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutputRule {
    pub(crate) pattern: Pattern,
    pub(crate) message: String,
    pub(crate) unless: Option<Pattern>,
}

/// A sample that a filter must turn into what its author expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InlineTest {
    pub(crate) name: String,
    pub(crate) input: String,
    pub(crate) expected: String,
    pub(crate) command: Option<String>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) level: Level,
    /// As production runs it, not as the dialect's authors know it.
    pub(crate) guarded: bool,
    /// Where it stands in its file.
    pub(crate) at: Spot,
}

impl FilterDef {
    /// All patterns, those for commands included.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        let (m, r) = (&self.matching, &self.rules);
        let single =
            [&m.commands, &m.texts, &m.not_commands, &r.drop, &r.noise, &r.keep, &r.collapse, &r.preserve];
        let outputs = r.match_output.iter().flat_map(|o| std::iter::once(&o.pattern).chain(&o.unless));
        single.into_iter().flatten().chain(r.replace.iter().map(|r| &r.pattern)).chain(outputs)
    }

    /// Work of all tests: bytes of input times states of patterns.
    pub(crate) fn test_work(&self) -> u64 {
        let bytes: u64 = self.tests.iter().map(|t| t.input.len() as u64).sum();
        bytes.saturating_mul(self.patterns().map(Pattern::states).sum::<u64>() + 1)
    }
}
