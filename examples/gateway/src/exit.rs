//! Exit codes, failures, and the one way to write to standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::terminal::{Colour, Paint};

/// The operation failed.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong. The argument parser uses it by itself.
pub(crate) const USAGE: u8 = 2;
/// A file, or what was named, is not there.
pub(crate) const NOT_FOUND: u8 = 3;
/// A file may not be read or written.
pub(crate) const NOT_ALLOWED: u8 = 4;

/// The configuration is wrong.
pub(crate) const CONFIG: u8 = 78;

/// Why a command ended without success.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// The message is a whole report, with heads of its own.
    whole: bool,
}

impl Failure {
    /// The operation failed.
    pub(crate) fn failed(message: impl Display) -> Failure {
        Failure { code: FAILED, message: message.to_string(), whole: false }
    }

    /// The configuration is wrong.
    pub(crate) fn config(message: impl Display) -> Failure {
        Failure { code: CONFIG, message: message.to_string(), whole: false }
    }

    /// The configuration is wrong, as a report with all its mistakes says.
    pub(crate) fn told(report: String) -> Failure {
        Failure { code: CONFIG, message: report.trim_end().to_owned(), whole: true }
    }

    /// The program has said all there is to say, and ends with this code.
    pub(crate) fn silent(code: u8) -> Failure {
        Failure { code, message: String::new(), whole: true }
    }

    /// What was named is not there.
    pub(crate) fn not_found(message: impl Display) -> Failure {
        Failure { code: NOT_FOUND, message: message.to_string(), whole: false }
    }

    /// Options that do not go together.
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure { code: USAGE, message: message.to_string(), whole: false }
    }

    /// A file or stream could not be used: `doing` is what was tried, such as "read".
    pub(crate) fn io(doing: &str, name: &str, error: &io::Error) -> Failure {
        let message = format!("cannot {doing} {name}: {}", reason(error));
        Failure { code: code_of(error.kind()), message, whole: false }
    }

    /// As [`Failure::io`] for a path.
    pub(crate) fn path(doing: &str, path: &Path, error: &io::Error) -> Failure {
        Failure::io(doing, &format!("\"{}\"", path.display()), error)
    }

    /// Tells the user and gives the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        let paint = Paint::stderr();
        if self.whole {
            if !self.message.is_empty() {
                note(&self.message);
            }
            return ExitCode::from(self.code);
        }
        note(&format!("{} {}", paint.bold(Colour::Red, "error:"), self.message));
        ExitCode::from(self.code)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

fn code_of(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::NotFound => NOT_FOUND,
        ErrorKind::PermissionDenied => NOT_ALLOWED,
        _ => FAILED,
    }
}

/// The system's reason in our style: lower case, no number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string().to_lowercase(),
    }
}

/// One line on standard error. Nobody is told if nobody listens.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether everything written was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// All of it.
    All,
    /// The reader went away: it had what it wanted, so this is no failure and there is nothing left to say.
    Closed,
}

/// Writes data to standard output.
pub(crate) fn write_out(data: &[u8]) -> Result<Written, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Ok(()) => Ok(Written::All),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Written::Closed),
        Err(error) => Err(Failure::io("write", "standard output", &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_errors_have_their_codes() {
        for (kind, code) in
            [(ErrorKind::NotFound, 3), (ErrorKind::PermissionDenied, 4), (ErrorKind::IsADirectory, 1)]
        {
            assert_eq!(Failure::io("read", "x", &kind.into()).code, code, "{kind:?}");
        }
        assert_eq!((Failure::usage("x").code, Failure::failed("x").code), (2, 1));
    }
}
