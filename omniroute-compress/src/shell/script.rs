//! The parsed form of a shell command: an arena of simple commands, pipelines and compound commands.

use std::borrow::Cow;

/// What a word contains that only the shell could have expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Expands {
    /// Nothing: the text is what the program received.
    #[default]
    No,
    /// Only shell status parameters (`$?`, `$!`, `$$`, `$#`), which are numbers.
    Status,
    /// A variable of unknown content.
    Variable,
    /// A command or process substitution.
    Command,
}

/// One word of a command, quotes and escapes removed; expansions stay as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word<'a> {
    /// The text, borrowed from the command line where no quote had to be removed.
    pub(crate) text: Cow<'a, str>,
    /// Some part was quoted or escaped: never a keyword.
    pub(crate) quoted: bool,
    /// The strongest expansion in it.
    pub(crate) expands: Expands,
}

impl<'a> Word<'a> {
    /// A literal word, as it comes from an argument vector.
    pub(crate) fn literal(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), quoted: true, expands: Expands::No }
    }

    /// The same word without a borrow.
    pub(crate) fn into_owned(self) -> Word<'static> {
        Word { text: Cow::Owned(self.text.into_owned()), quoted: self.quoted, expands: self.expands }
    }
}

/// The file descriptor a redirection acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fd {
    /// Standard input.
    In,
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// Both outputs (`&>`).
    Both,
    /// Any other number.
    Other,
}

/// The kind of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectOp {
    /// `>`, `>>`, `>|`, `&>`: into a file.
    Write,
    /// `>&`: onto another descriptor (or a file, when the target is no number).
    Dup,
    /// `<`, `<&`, `<>`: from a file or descriptor.
    Read,
    /// `<<` and `<<-`: from the lines below.
    Heredoc,
    /// `<<<`: from one word.
    HereString,
}

/// One redirection of a command or compound command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect<'a> {
    /// Descriptor that is moved.
    pub(crate) fd: Fd,
    /// What happens to it.
    pub(crate) op: RedirectOp,
    /// File, descriptor or delimiter.
    pub(crate) target: Word<'a>,
    /// The lines of a heredoc, without the delimiter line.
    pub(crate) body: Option<&'a str>,
}

/// A simple command: its words and redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Segment<'a> {
    /// Assignments, program and arguments in order.
    pub(crate) words: Vec<Word<'a>>,
    /// Redirections in order.
    pub(crate) redirects: Vec<Redirect<'a>>,
}

/// One stage of a pipeline, by index into the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Index into [`Script::segments`].
    Segment(usize),
    /// Index into [`Script::groups`].
    Group(usize),
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pipeline {
    /// The stages, and whether standard error goes into the next pipe too (`|&`).
    pub(crate) stages: Vec<(Stage, bool)>,
}

/// A compound command (`( )`, `{ }`, `if`, loops, `case`); group 0 is the whole script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Group<'a> {
    /// Indices into [`Script::pipelines`], in order.
    pub(crate) pipelines: Vec<usize>,
    /// Redirections behind the closing word.
    pub(crate) redirects: Vec<Redirect<'a>>,
    /// The body of a function: runs only when called.
    pub(crate) definition: bool,
}

/// A lexed command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Script<'a> {
    /// Simple commands in the order of the text.
    pub(crate) segments: Vec<Segment<'a>>,
    /// Pipelines.
    pub(crate) pipelines: Vec<Pipeline>,
    /// Compound commands, nested at most [`super::lex::MAX_DEPTH`] deep.
    pub(crate) groups: Vec<Group<'a>>,
    /// False when a quote or heredoc had no end, a bracket no partner, or nesting was too deep.
    pub(crate) certain: bool,
    /// Bytes the lexer looked at: the measure of its work.
    pub(crate) steps: usize,
}

impl<'a> Script<'a> {
    /// The script of one argument vector: a single command of literal words.
    pub(crate) fn from_argv(argv: &'a [String]) -> Self {
        let words = argv.iter().map(|word| Word::literal(word)).collect();
        Self {
            segments: vec![Segment { words, redirects: Vec::new() }],
            pipelines: vec![Pipeline { stages: vec![(Stage::Segment(0), false)] }],
            groups: vec![Group { pipelines: vec![0], ..Group::default() }],
            certain: true,
            steps: 0,
        }
    }
}
