//! What is played: how many requests, how often, and what vendors do meanwhile.

use std::path::Path;
use std::time::Duration;

use scripted_vendors::{Does, Phase, Script};
use serde::Deserialize;

use super::config::{Config, text, wrong};
use super::time;
use crate::exit::Failure;

/// A play.
#[derive(Debug)]
pub(super) struct Play {
    pub(super) requests: u32,
    pub(super) every: Duration,
    /// All requests are of this conversation.
    pub(super) session: Option<String>,
    vendors: Vec<(String, Script)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    requests: u32,
    every: String,
    session: Option<String>,
    #[serde(default)]
    vendors: Vec<VendorLine>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorLine {
    connection: String,
    latency: Option<String>,
    answer_tokens: Option<u32>,
    #[serde(default)]
    phases: Vec<PhaseLine>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseLine {
    from: String,
    until: String,
    does: String,
    retry_after: Option<String>,
}

/// How long an answer takes and how long it is if the script does not say.
const USUAL: (Duration, u64) = (Duration::from_millis(500), 200);
/// Requests of a play at most.
const MOST: u32 = 10_000;

impl Play {
    /// Reads a script for the connections of a configuration.
    pub(super) fn read(path: &Path, config: &Config) -> Result<Play, Failure> {
        let text = text(path)?;
        let file: File = toml::from_str(&text).map_err(|error| wrong(path, &text, &error))?;
        play(&file, config).map_err(|what| Failure::failed(format!("\"{}\": {what}", path.display())))
    }

    /// What a connection does.
    pub(super) fn script(&self, id: &str) -> Script {
        let found = self.vendors.iter().find(|(connection, _)| connection == id);
        found.map_or_else(usual, |(_, script)| script.clone())
    }
}

fn usual() -> Script {
    Script { latency: USUAL.0, answer_tokens: USUAL.1, phases: Vec::new() }
}

fn play(file: &File, config: &Config) -> Result<Play, String> {
    if !(1..=MOST).contains(&file.requests) {
        return Err(format!("requests is {}, allowed is 1 to {MOST}", file.requests));
    }
    let every = time::parse(&file.every).map_err(|what| format!("every: {what}"))?;
    let mut vendors: Vec<(String, Script)> = Vec::new();
    for (number, line) in (1..).zip(&file.vendors) {
        let place = format!("vendors[{number}]");
        let known: Vec<&str> = config.connections.iter().map(|connection| connection.id.as_str()).collect();
        if !known.contains(&line.connection.as_str()) {
            return Err(format!(
                "{place}.connection is {:?}, which is not configured; there are {}",
                line.connection,
                known.join(", ")
            ));
        }
        if vendors.iter().any(|(other, _)| *other == line.connection) {
            return Err(format!("{place}.connection is {:?}, which is there twice", line.connection));
        }
        let mut script = usual();
        if let Some(latency) = &line.latency {
            script.latency = time::parse(latency).map_err(|what| format!("{place}.latency: {what}"))?;
        }
        script.answer_tokens = line.answer_tokens.map_or(USUAL.1, u64::from);
        for (number, line) in (1..).zip(&line.phases) {
            script.phases.push(phase(line).map_err(|what| format!("{place}.phases[{number}].{what}"))?);
        }
        vendors.push((line.connection.clone(), script));
    }
    Ok(Play { requests: file.requests, every, session: file.session.clone(), vendors })
}

fn phase(line: &PhaseLine) -> Result<Phase, String> {
    let at = |key: &str, text: &str| time::parse(text).map_err(|what| format!("{key}: {what}"));
    let does = Does::parse(&line.does).ok_or_else(|| {
        let all: Vec<&str> = Does::ALL.iter().map(|(word, _)| *word).collect();
        format!("does is {:?}, allowed is one of {}", line.does, all.join(", "))
    })?;
    let (from, until) = (at("from", &line.from)?, at("until", &line.until)?);
    if until <= from {
        return Err(format!("until is {:?}, which is not after {:?}", line.until, line.from));
    }
    let retry_after = line.retry_after.as_deref().map(|text| at("retry_after", text)).transpose()?;
    Ok(Phase { from, until, does, retry_after })
}
