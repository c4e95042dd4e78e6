//! The command line.

use std::path::PathBuf;

use crate::Failure;

/// The session that is replayed when no other is named.
const BUNDLED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../omniroute-compress/tests/sessions/ledger.openai.json");

/// Help text.
pub(crate) const USAGE: &str = "\
usage: replay-session [FILE] [--plan PLAN] [--model MODEL] [--no-times]
  FILE      a session: the request body of its last call; default: the bundled one
  --plan    name of a plan or a list of engines; default: safe
  --model   whose prices, cache and tokens; default: the session's if it has a price, else claude-sonnet-4-5
  --no-times  leaves out the microseconds, so that equal input gives equal output
";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) file: PathBuf,
    pub(crate) plan: String,
    pub(crate) model: Option<String>,
    pub(crate) times: bool,
}

impl Options {
    /// Reads the arguments after the program's name; `None` if help was asked for.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown option, a missing value or a second file.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Options>, Failure> {
        let mut file = None;
        let mut options =
            Options { file: PathBuf::from(BUNDLED), plan: "safe".to_owned(), model: None, times: true };
        while let Some(arg) = args.next() {
            let mut value =
                || args.next().ok_or_else(|| Failure::Usage(format!("{arg}: a value is missing")));
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--plan" => options.plan = value()?,
                "--model" => options.model = Some(value()?),
                "--no-times" => options.times = false,
                _ if arg.starts_with('-') => return Err(Failure::Usage(format!("{arg}: not an option"))),
                _ if file.is_some() => return Err(Failure::Usage(format!("{arg}: only one file is read"))),
                _ => file = Some(PathBuf::from(&arg)),
            }
        }
        options.file = file.unwrap_or(options.file);
        Ok(Some(options))
    }
}
