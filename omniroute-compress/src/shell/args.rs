//! Looking at the words of one command: program name, options, operands, subcommands.

use super::script::{Expands, Word};

/// The words of a command behind its program name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Args<'w, 'a>(pub(crate) &'w [Word<'a>]);

impl<'w, 'a> Args<'w, 'a> {
    /// The texts of all words.
    pub(crate) fn texts(self) -> impl Iterator<Item = &'w str> {
        self.0.iter().map(|word| word.text.as_ref())
    }

    /// True when one of the options is given, alone or as `--option=value`.
    pub(crate) fn has(self, options: &[&str]) -> bool {
        self.texts()
            .take_while(|text| *text != "--")
            .any(|text| options.iter().any(|option| is_option(text, option)))
    }

    /// True when a cluster of one-letter options contains `letter` (`-rn`, `-nr`).
    pub(crate) fn flag(self, letter: char) -> bool {
        self.texts().take_while(|text| *text != "--").any(|text| {
            let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            cluster.is_some_and(|cluster| {
                cluster.chars().take_while(char::is_ascii_alphabetic).any(|c| c == letter)
            })
        })
    }

    /// The value of an option, separate or attached by `=` (or directly, for one-letter options).
    pub(crate) fn value(self, options: &[&str]) -> Option<&'w str> {
        let mut texts = self.texts();
        while let Some(text) = texts.next() {
            for option in options {
                if text == *option {
                    return texts.next();
                }
                if let Some(rest) = text.strip_prefix(option) {
                    match rest.strip_prefix('=') {
                        Some(value) => return Some(value),
                        None if option.len() == 2 => return Some(rest),
                        None => {}
                    }
                }
            }
        }
        None
    }

    /// The words that are no options and no values of `value_options`, with their indices.
    pub(crate) fn operands(self, value_options: &'w [&'w str]) -> impl Iterator<Item = (usize, &'w str)> {
        let mut only_operands = false;
        let mut is_value = false;
        self.texts().enumerate().filter(move |(_, text)| {
            if std::mem::take(&mut is_value) {
                return false;
            }
            if only_operands || *text == "-" || !text.starts_with('-') {
                return true;
            }
            only_operands = *text == "--";
            is_value = value_options.contains(text);
            false
        })
    }

    /// The first operand and the words behind it; global options before it are skipped.
    pub(crate) fn subcommand(self, value_options: &[&str]) -> Option<(&'w str, Args<'w, 'a>)> {
        let mut index = 0;
        while let Some(word) = self.0.get(index) {
            let text = word.text.as_ref();
            if value_options.contains(&text) {
                index += 2;
            } else if text.starts_with(['-', '+']) {
                index += 1;
            } else {
                return Some((text, Args(self.0.get(index + 1..).unwrap_or_default())));
            }
        }
        None
    }
}

fn is_option(text: &str, option: &str) -> bool {
    text.strip_prefix(option)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('=') && option.starts_with("--"))
}

/// `NAME=value` or `NAME+=value`.
pub(crate) fn is_assignment(word: &Word<'_>) -> bool {
    let Some((name, _)) = word.text.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The name under which a program is known, or `None` when it cannot be told what it runs.
///
/// A directory is dropped only where tools live (`/usr/bin`, `node_modules/.bin`, a virtual environment); `./script`
/// and `scripts/test` are programs of the project, whatever their name.
pub(crate) fn program_name<'w>(word: &'w Word<'_>) -> Option<&'w str> {
    let text = word.text.as_ref();
    let (directory, name) =
        text.rsplit_once('/').map_or((None, text), |(directory, name)| (Some(directory), name));
    let name = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name);
    if name.is_empty() || name.contains(['$', '`']) {
        return None;
    }
    let Some(directory) = directory else {
        return (word.expands == Expands::No).then_some(name);
    };
    if matches!(name, "gradlew" | "mvnw" | "configure") {
        return Some(name);
    }
    let (parents, last) = directory.rsplit_once('/').unwrap_or(("", directory));
    let parent = parents.rsplit('/').next().unwrap_or(parents);
    let tools = match last {
        ".bin" => parent == "node_modules",
        "bin" | "Scripts"
            if matches!(
                parent,
                ".venv" | "venv" | "env" | ".env" | "vendor" | ".tox" | ".cargo" | ".local"
            ) =>
        {
            true
        }
        "bin" | "sbin" => {
            directory == "bin"
                || directory == "./bin"
                || text.starts_with(['/', '~', '$']) && !text.starts_with("$(")
        }
        _ => false,
    };
    // What a shell builtin does silently, a file of the same name need not.
    (tools && !text.starts_with("/tmp/")).then_some(name)
}
