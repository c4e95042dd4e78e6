//! Replays a recorded session call by call, as an agent would send it, and prints what compression saves, and who answers
//! when vendors fail.

mod figures;
mod market;
mod options;
mod replay;
mod report;
mod routing;
mod session;
mod transmission;
mod untouched;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use crate::market::Market;
use crate::options::{Options, USAGE};
use crate::replay::{Clock, Replay};
use crate::routing::Routed;
use crate::session::Session;

fn main() -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "a program that reports how long calls take reads the clock itself"
    )]
    let start = Instant::now();
    let micros = move || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    match run(std::env::args().skip(1), &mut io::stdout().lock(), &micros) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody is left to tell if this fails too.
            let _ = writeln!(io::stderr(), "replay-session: {failure}");
            failure.exit_code()
        }
    }
}

/// The whole program: arguments in, report out. `micros` reads a clock in microseconds.
///
/// # Errors
/// [`Failure`]; what was found out before it has been written.
fn run(
    args: impl Iterator<Item = String>,
    out: &mut dyn Write,
    micros: &dyn Fn() -> u64,
) -> Result<(), Failure> {
    let Some(options) = Options::parse(args)? else {
        return out.write_all(USAGE.as_bytes()).map_err(Failure::Output);
    };
    let clock: Option<&Clock<'_>> = options.times.then_some(micros);
    for session in Session::read_file(&options.file)? {
        let market = Market::choose(options.model.as_deref(), session.model().as_deref())?;
        let replay = Replay::of(&session, &options.plan, &market, clock)?;
        let other = market.other();
        let elsewhere = Replay::of(&session, &options.plan, &other, None)?;
        report::write(out, &session, &replay, &elsewhere).map_err(Failure::Output)?;
        Routed::of(&session, &options.plan, false)?.write(out).map_err(Failure::Output)?;
    }
    Ok(())
}

/// Why the program ends early.
#[derive(Debug)]
enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The file holds no session that can be replayed.
    Input(String),
    /// Compression broke one of its promises.
    Broken(String),
    /// The report could not be written.
    Output(io::Error),
}

impl Failure {
    fn exit_code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Failure::Usage(_)) { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(what) => write!(f, "{what}\n{USAGE}"),
            Failure::Input(what) => f.write_str(what),
            Failure::Broken(what) => write!(f, "BROKEN: {what}"),
            Failure::Output(error) => write!(f, "output: {error}"),
        }
    }
}
