//! `omniroute rtk trust`: what filter files can do, and writing down that they may.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use omniroute_compress::rtk::trust::{
    Decision, DiskReader, EnvView, FilterSources, Preview, Refusal, RiskSummary, Scope, load,
};
use omniroute_compress::rtk::{FilterSource, risks};
use serde::Serialize;

use super::FolderArgs;
use super::folders::now;
use crate::exit::{Failure, Written, note, write_out};
use crate::terminal::harmless;

/// Options of `omniroute rtk trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute rtk trust
  omniroute rtk trust --root ../shop --yes .rtk/filters.toml")]
pub(super) struct TrustArgs {
    /// Only these, by the names that are shown: .rtk/filters.toml, rtk/filters.json
    #[arg(value_name = "FILES")]
    files: Vec<String>,
    #[command(flatten)]
    folders: FolderArgs,
    /// Trust without asking; needed where nobody can be asked
    #[arg(long, short)]
    yes: bool,
    /// Print one JSON document and ask nothing
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &TrustArgs) -> Result<(), Failure> {
    // What the environment trusts for now is no reason not to look.
    let sources = args.folders.sources(EnvView::default())?;
    let mut decisions = load(&sources, &DiskReader, now()).decisions;
    for name in &args.files {
        if !decisions.iter().any(|d| d.path == *name) {
            let there: Vec<&str> = decisions.iter().map(|d| d.path.as_str()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            return Err(Failure::failed(format!("there is no filter file \"{name}\"; there is {there}")));
        }
    }
    decisions.retain(|d| args.files.is_empty() || args.files.contains(&d.path));

    let mut files = Vec::with_capacity(decisions.len());
    for decision in &decisions {
        let mut file = File::new(decision);
        let preview = file.look(decision, &sources);
        if !args.json && write_out(file.text().as_bytes())? == Written::Closed {
            return Ok(());
        }
        if let Some(preview) = preview
            && (args.yes || !args.json && confirmed(&file)?)
        {
            file.trust(&preview, &sources);
            if !args.json {
                note(&file.told());
            }
        }
        files.push(file);
    }
    if args.json {
        let document = serde_json::to_string(&Document { files: &files }).map_err(Failure::failed)?;
        write_out((document + "\n").as_bytes())?;
    } else if files.is_empty() {
        note("there are no filter files");
    }
    let left = files.iter().filter(|f| matches!(f.status, Status::Untrusted | Status::Refused)).count();
    if left == 0 {
        return Ok(());
    }
    let all = files.len();
    Err(Failure::failed(format!(
        "{left} of {all} filter file{} not trusted",
        if all == 1 { "" } else { "s" }
    )))
}

/// Asks on the terminal. Where nobody can be asked the answer is no.
fn confirmed(file: &File) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        note("standard input is no terminal, so nobody was asked; --yes trusts the file");
        return Ok(false);
    }
    let mut err = io::stderr().lock();
    let asked = write!(err, "trust {}? [y/N] ", file.path).and_then(|()| err.flush());
    drop(err);
    let mut answer = String::new();
    asked
        .and_then(|()| io::stdin().read_line(&mut answer))
        .map_err(|e| Failure::io("read", "standard input", &e))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The JSON document of the command.
#[derive(Debug, Serialize)]
struct Document<'a> {
    files: &'a [File],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// It was so before.
    AlreadyTrusted,
    /// It is from now on.
    Trusted,
    /// Nobody said yes.
    Untrusted,
    /// It cannot be.
    Refused,
}

#[derive(Debug, Serialize)]
struct File {
    scope: &'static str,
    format: String,
    path: String,
    /// None if it could not be read.
    sha256: Option<String>,
    status: Status,
    /// Why it has this status.
    reason: String,
    bytes: Option<usize>,
    risk: Option<Risk>,
}

/// [`RiskSummary`] as JSON.
#[derive(Debug, Serialize)]
struct Risk {
    filters: usize,
    uses_replace: Vec<String>,
    uses_match_output: Vec<String>,
    matches_everything: Vec<String>,
    hides_error_samples: Vec<String>,
    on_empty_messages: Vec<String>,
}

impl File {
    fn new(decision: &Decision) -> File {
        let (status, reason) = match &decision.result {
            Ok(reason) => (Status::AlreadyTrusted, reason.to_string()),
            Err(refusal @ (Refusal::Untrusted | Refusal::Changed)) => {
                (Status::Untrusted, refusal.to_string())
            }
            Err(refusal) => (Status::Refused, refusal.to_string()),
        };
        let notes: String = decision.notes.iter().map(|note| format!("; {note}")).collect();
        File {
            scope: decision.scope.name(),
            format: decision.format.to_string(),
            path: decision.path.clone(),
            sha256: decision.sha256.map(|hash| hash.to_string()),
            status,
            reason: reason + &notes,
            bytes: None,
            risk: None,
        }
    }

    /// Reads what is not trusted and finds out what it can do. `None` if there is nothing to decide.
    fn look(&mut self, decision: &Decision, sources: &FilterSources) -> Option<Preview> {
        if self.status != Status::Untrusted {
            return None;
        }
        let source = match decision.scope {
            Scope::Project => FilterSource::Project,
            Scope::User => FilterSource::User,
        };
        let inspect = |format, bytes: &[u8]| risks(source, format, bytes);
        match Preview::open(sources, decision.scope, decision.format, &DiskReader, inspect) {
            Ok(preview) => {
                self.sha256 = Some(preview.sha256.to_string());
                self.bytes = Some(preview.bytes);
                self.risk = Some(risk(&preview.risk));
                Some(preview)
            }
            Err(error) => {
                (self.status, self.reason) = (Status::Refused, error.to_string());
                None
            }
        }
    }

    /// Writes the hash down.
    fn trust(&mut self, preview: &Preview, sources: &FilterSources) {
        (self.status, self.reason) = match preview.trust(sources, &DiskReader, &preview.sha256, now()) {
            Ok(()) => (Status::Trusted, "trusted".to_owned()),
            Err(error) => (Status::Refused, error.to_string()),
        };
    }

    /// One line about what became of it.
    fn told(&self) -> String {
        harmless(&format!("{}: {}", self.path, self.reason))
    }

    /// What people need to know before they say yes.
    fn text(&self) -> String {
        let mut lines = vec![format!("{} filters {}: {}", self.scope, self.path, self.reason)];
        let mut item = |name: &str, value: &str| lines.push(format!("  {name:<28}{value}"));
        if let Some(hash) = &self.sha256 {
            item("SHA-256", hash);
        }
        if let (Some(bytes), Some(risk)) = (self.bytes, &self.risk) {
            item("bytes, filters", &format!("{bytes}, {}", risk.filters));
            let messages: Vec<String> = risk.on_empty_messages.iter().map(|m| format!("{m:?}")).collect();
            for (name, list) in [
                ("rewrite parts of lines", &risk.uses_replace),
                ("answer in place of outputs", &risk.uses_match_output),
                ("apply to every command", &risk.matches_everything),
                ("hide errors of the samples", &risk.hides_error_samples),
                ("say if nothing is left", &messages),
            ] {
                item(name, &if list.is_empty() { "none".to_owned() } else { list.join(", ") });
            }
        }
        lines.iter().map(|line| harmless(line) + "\n").collect()
    }
}

fn risk(risk: &RiskSummary) -> Risk {
    Risk {
        filters: risk.filters,
        uses_replace: risk.uses_replace.clone(),
        uses_match_output: risk.uses_match_output.clone(),
        matches_everything: risk.matches_everything.clone(),
        hides_error_samples: risk.hides_error_canaries.clone(),
        on_empty_messages: risk.on_empty_messages.clone(),
    }
}
