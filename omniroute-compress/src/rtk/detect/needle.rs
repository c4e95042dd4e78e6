//! The line that `echo` or `printf` leaves in a text, as far as the command tells it.

use crate::shell::script::{Expands, Word};

/// How one known line looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Needle {
    /// Exactly this.
    Line(String),
    /// This, and a number where the status stood.
    Status(String),
    /// Starts with this.
    Prefix(String),
    /// The banner of a package manager's script with this name.
    Banner(String),
}

/// Shortest known start of a line that is looked for.
const MIN_PREFIX: usize = 3;

/// What `echo` or `printf` printed: `Ok(None)` for blank lines only.
///
/// # Errors
/// Nothing when the text is not known well enough to be found again.
pub(super) fn echoed(words: &[Word<'_>]) -> Result<Option<Needle>, ()> {
    let (first, mut args) = words.split_first().ok_or(())?;
    let printf = first.text == "printf";
    let mut escapes = printf;
    if printf {
        // Only the format is looked at; with a directive in it the line has to start before that.
        args = args.get(..1).unwrap_or_default();
    } else {
        while let Some(flag) =
            args.first().filter(|word| matches!(word.text.as_ref(), "-e" | "-n" | "-ne" | "-en" | "-E"))
        {
            escapes |= flag.text.contains('e');
            args = args.get(1..).unwrap_or_default();
        }
    }
    let expands = args.iter().map(|word| word.expands).max().unwrap_or_default();
    let mut text = args.iter().map(|word| word.text.as_ref()).collect::<Vec<_>>().join(" ");
    // Not every shell's `echo` reads escapes; a leading `\n` alone is nearly always meant as one.
    if escapes || text.starts_with("\\n") {
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\");
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    let line = text.split('\n').map(str::trim).max_by_key(|line| line.len()).unwrap_or_default();
    let stop = if printf { line.find(['%', '$', '`']) } else { None };
    let stop = stop.or_else(|| if expands == Expands::No { None } else { line.find(['$', '`']) });
    match stop {
        None => Ok(Some(Needle::Line(line.to_owned()))),
        Some(at) => {
            let head = line.get(..at).unwrap_or_default().to_owned();
            let status = expands == Expands::Status && !printf;
            if status {
                Ok(Some(Needle::Status(head)))
            } else if head.trim().len() >= MIN_PREFIX {
                Ok(Some(Needle::Prefix(head)))
            } else {
                Err(())
            }
        }
    }
}

impl Needle {
    /// True when `raw` (trailing blanks removed) is this line.
    pub(super) fn is(&self, raw: &[u8]) -> bool {
        match self {
            Self::Line(line) => raw.trim_ascii() == line.as_bytes(),
            Self::Prefix(head) => raw.starts_with(head.as_bytes()),
            Self::Status(head) => {
                raw.trim_ascii().strip_prefix(head.trim_start().as_bytes()).is_some_and(|rest| {
                    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    (1..=3).contains(&digits) && rest.len() <= 40
                })
            }
            Self::Banner(script) => raw
                .strip_prefix(b"> ")
                .and_then(|rest| memchr::memchr(b'@', rest.get(1..)?).and(Some(rest)))
                .is_some_and(|rest| rest.split(|byte| *byte == b' ').nth(1) == Some(script.as_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Needle, echoed};
    use crate::shell::lex;

    fn needle(command: &str) -> Result<Option<Needle>, ()> {
        let script = lex::parse(command);
        echoed(&script.segments.first().expect("one command").words)
    }

    #[test]
    fn lines_that_commands_announce() {
        assert_eq!(needle("echo ---"), Ok(Some(Needle::Line("---".into()))));
        assert_eq!(needle("echo -e '\\n=== a b ==='"), Ok(Some(Needle::Line("=== a b ===".into()))));
        assert_eq!(needle("printf '\\n# x\\n'"), Ok(Some(Needle::Line("# x".into()))));
        assert_eq!(needle("echo \"exit $?\""), Ok(Some(Needle::Status("exit ".into()))));
        assert_eq!(needle("echo $?"), Ok(Some(Needle::Status(String::new()))));
        assert_eq!(needle("echo \"== $f\""), Err(()));
        assert_eq!(needle("echo \"=== $f\""), Ok(Some(Needle::Prefix("=== ".into()))));
        assert_eq!(needle("echo"), Ok(None));
        assert_eq!(needle("printf '%s' x"), Err(()));
    }

    #[test]
    fn lines_are_found() {
        assert!(Needle::Status("exit ".into()).is(b"exit 101"));
        assert!(!Needle::Status("exit ".into()).is(b"exit now"));
        assert!(Needle::Banner("test".into()).is(b"> a@1.0.0 test"));
        assert!(!Needle::Banner("test".into()).is(b"> vitest run"));
    }
}
